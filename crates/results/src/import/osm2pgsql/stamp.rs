//! The time stamps of a log: local time, whole seconds.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Format of a stamp; two blanks follow it.
const FORM: &[u8] = b"0000-00-00 00:00:00  ";
/// Bytes without the blanks.
const LENGTH: usize = 19;
/// Latest start of a stamp: another program's stamp or a progress display may precede it.
const LATEST: usize = 300;

/// A line from its stamp on, if it has one.
pub(super) fn stamped(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let last = bytes.len().checked_sub(FORM.len())?.min(LATEST);
    let fits = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
    let at = (0..=last).find(|at| bytes[*at..].iter().zip(FORM).all(fits))?;
    text.get(at..)
}

/// Turns stamps into µs since the first one.
#[derive(Debug, Clone, Default)]
pub(super) struct StampClock {
    first: Option<DateTime>,
    last: String,
    at_us: u64,
}

impl StampClock {
    /// Time of a line with a stamp; without one, of the line before.
    pub(super) fn at_us(&mut self, line: &str) -> u64 {
        let Some(stamp) = line.get(..LENGTH).filter(|stamp| *stamp != self.last) else { return self.at_us };
        let Ok(time) = DateTime::strptime("%Y-%m-%d %H:%M:%S", stamp) else { return self.at_us };
        stamp.clone_into(&mut self.last);
        let first = *self.first.get_or_insert(time);
        let since = time.duration_since(first).as_micros();
        let at_us = u64::try_from(since).unwrap_or(0);
        // Threads may overtake each other, and clocks are set back in autumn.
        self.at_us = at_us.max(self.at_us);
        self.at_us
    }

    pub(super) fn span_us(&self) -> u64 {
        self.at_us
    }

    /// The first stamp, taken as UTC, µs since 1970.
    pub(super) fn began_us(&self) -> Option<i64> {
        let time = self.first?.to_zoned(TimeZone::UTC).ok()?;
        Some(time.timestamp().as_microsecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_at_their_stamp() {
        let line = "2026-11-21 02:42:26  osm2pgsql version 1.8.0";
        for before in
            ["", "17 ", "osm_1  | ", "Processing: Node(7k 7.0k/s) Way(1k 1.00k/s) Relation(0 0.0/s)"]
        {
            assert_eq!(stamped(&format!("{before}{line}")), Some(line));
        }
        for none in ["2026-11-21 02:42:26 pgbench", "2026-11-21", "", "é2026-11-21 02:42:2"] {
            assert_eq!(stamped(none), None, "{none}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_run_back() {
        let mut clock = StampClock::default();
        let mut at = |time: &str| clock.at_us(&format!("{time}  x")) / 1_000_000;
        assert_eq!(at("2026-10-24 23:59:58"), 0);
        assert_eq!(at("2026-10-25 02:59:59"), 3 * 3600 + 1);
        assert_eq!(at("2026-10-25 02:00:01"), 3 * 3600 + 1);
        assert_eq!(at("2026-10-27 00:00:00"), 48 * 3600 + 2);
        assert_eq!(at("2026-99-99 00:00:00"), 48 * 3600 + 2);
        assert_eq!(clock.began_us(), Some(1_792_886_398_000_000));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,40}( 2026-11-21 02:42:26  x)?") {
            if let Some(line) = stamped(&text) {
                let _ = StampClock::default().at_us(line);
            }
        }
    }
}
