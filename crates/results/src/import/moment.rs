//! Times that other programs put before the lines of a log: dates, times of the day, seconds.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// How a time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `2026-11-01T10:00:00.123Z`, `2026/11/01 10:00:00,123`, `2026-11-01 10:00:00+02:00`.
    Date,
    /// `Nov  1 10:00:00`, as of syslog and `ts`.
    Syslog,
    /// `1793527200.123`, seconds since 1970.
    Epoch,
    /// `10:00:00.123`.
    Clock,
    /// `12.345`, seconds since the start.
    Seconds,
}

/// Forms by how much they say; a prefix with several has the first of these.
const FORMS: [Form; 5] = [Form::Date, Form::Syslog, Form::Epoch, Form::Clock, Form::Seconds];

/// A time, µs since an origin that depends on its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) form: Form,
    pub(super) us: i64,
}

impl Moment {
    /// The time at the start of a text, in any form, and its length in bytes.
    pub(super) fn at_start(text: &str, form: Form) -> Option<(Self, usize)> {
        let (us, length) = match form {
            Form::Date => date(text),
            Form::Syslog => syslog(text),
            Form::Epoch => epoch(text),
            Form::Clock => clock(text).map(|(time, length)| (micros_of_day(time), length)),
            Form::Seconds => seconds(text),
        }?;
        let ends = !text[length..].starts_with(|c: char| c.is_ascii_alphanumeric());
        ends.then_some((Self { form, us }, length))
    }

    /// The time within a text that says most, and where it begins.
    pub(super) fn within(text: &str) -> Option<(usize, Self, usize)> {
        let starts = || {
            let begins = |at: &usize| !text[..*at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
            text.char_indices().map(|(at, _)| at).filter(begins)
        };
        FORMS.into_iter().find_map(|form| {
            starts()
                .find_map(|at| Self::at_start(&text[at..], form).map(|(moment, length)| (at, moment, length)))
        })
    }

    /// µs after which times of this form begin again.
    fn cycle_us(self) -> Option<i64> {
        match self.form {
            Form::Clock => Some(DAY),
            Form::Syslog => Some(366 * DAY),
            _ => None,
        }
    }

    /// Whether it says a date with its year.
    fn is_dated(self) -> bool {
        matches!(self.form, Form::Date | Form::Epoch)
    }
}

/// Turns times into µs since the first one.
#[derive(Debug, Clone, Default)]
pub(super) struct LogClock {
    first: Option<Moment>,
    /// Days or years that have passed, µs.
    cycles_us: i64,
    last_us: i64,
    at_us: u64,
    was_set_back: bool,
}

impl LogClock {
    /// Time of a line with a time; without one, of the line before.
    pub(super) fn at_us(&mut self, moment: Option<Moment>) -> u64 {
        let Some(moment) = moment else { return self.at_us };
        let first = *self.first.get_or_insert(moment);
        if first.form != moment.form {
            return self.at_us;
        }
        if let Some(cycle_us) = moment.cycle_us()
            && self.last_us.saturating_sub(moment.us) > cycle_us / 2
        {
            self.cycles_us = self.cycles_us.saturating_add(cycle_us);
        }
        if moment.form == Form::Date
            && self.last_us.saturating_sub(moment.us) > OVERTAKEN_US
            && self.last_us != 0
        {
            self.cycles_us = self.cycles_us.saturating_add(set_back_us(self.last_us, moment.us));
            self.was_set_back = true;
        }
        self.last_us = moment.us;
        let since_us = moment.us.saturating_add(self.cycles_us).saturating_sub(first.us);
        // Threads may overtake each other.
        self.at_us = u64::try_from(since_us).unwrap_or(0).max(self.at_us);
        self.at_us
    }

    pub(super) fn span_us(&self) -> u64 {
        self.at_us
    }

    /// Whether the times went back, as in the night in which summer time ends.
    pub(super) fn was_set_back(&self) -> bool {
        self.was_set_back
    }

    /// Whether any line had a time.
    pub(super) fn has_times(&self) -> bool {
        self.first.is_some()
    }

    /// The first time, taken as UTC where it has no zone, µs since 1970; `None` if it has no date.
    pub(super) fn began_us(&self) -> Option<i64> {
        self.first.filter(|first| first.is_dated()).map(|first| first.us)
    }
}

/// By more than this the lines of threads do not overtake each other.
const OVERTAKEN_US: i64 = 60 * SECOND;
const HOUR: i64 = 3600 * SECOND;

/// By how much a clock was set back between two times: an hour on the morning of a Sunday, when summer time may
/// end; else at least as much as it shows.
fn set_back_us(before_us: i64, after_us: i64) -> i64 {
    let (day, hour) = (before_us.div_euclid(DAY), before_us.rem_euclid(DAY) / HOUR);
    // 1970 began with a Thursday.
    let is_sunday = day.rem_euclid(7) == 3;
    let shown_us = before_us.saturating_sub(after_us);
    if is_sunday && hour < 4 && shown_us <= HOUR { HOUR } else { shown_us }
}

fn date(text: &str) -> Option<(i64, usize)> {
    const LENGTH: usize = "2026-11-01".len();
    let day = text.get(..LENGTH).filter(|_| text.starts_with(|c: char| c.is_ascii_digit()))?;
    let [year, month, day] = numbers(day, &['-', '/'])?;
    let gap = text[LENGTH..].find(|c: char| c.is_ascii_digit()).filter(|gap| (1..=2).contains(gap))?;
    let between = &text[LENGTH..LENGTH + gap];
    if !matches!(between, "T" | "t" | " " | "\t" | "_" | "  ") {
        return None;
    }
    let (time, length) = clock(&text[LENGTH + gap..])?;
    let until = LENGTH + gap + length;
    let day =
        jiff::civil::Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    let (zone_s, zone) = zone(&text[until..]);
    let us = micros(day.ok()?.to_datetime(time))?;
    Some((us.saturating_sub(zone_s * SECOND), until + zone))
}

/// Seconds east of UTC, and the length: `Z`, `+02:00`, `+0200`, or nothing.
fn zone(text: &str) -> (i64, usize) {
    if text.starts_with('Z') {
        return (0, 1);
    }
    let sign = match text.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return (0, 0),
    };
    let digits: Vec<i64> = text[1..]
        .chars()
        .filter(|c| *c != ':')
        .map_while(|c| c.to_digit(10))
        .take(4)
        .map(i64::from)
        .collect();
    let [a, b, c, d] = digits[..] else { return (0, 0) };
    let length = 5 + usize::from(text[1..].find(':') == Some(2));
    (sign * ((a * 10 + b) * 3600 + (c * 10 + d) * 60), length)
}

fn syslog(text: &str) -> Option<(i64, usize)> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|month| text.starts_with(month))?;
    let rest = text[3..].trim_start();
    let (day, rest) = rest.split_once(' ').filter(|_| rest.len() < text.len() - 3)?;
    let day: i8 = day.parse().ok()?;
    let (time, length) = clock(rest)?;
    // A leap year, since the year is not known.
    let date = jiff::civil::Date::new(2000, i8::try_from(month + 1).ok()?, day).ok()?;
    Some((micros(date.to_datetime(time))?, text.len() - rest.len() + length))
}

fn epoch(text: &str) -> Option<(i64, usize)> {
    let whole = text.get(..10).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let us: i64 = whole.parse::<i64>().ok()?.checked_mul(SECOND)?;
    let (fraction, length) = fraction(&text[10..]);
    (whole.starts_with(['1', '2'])).then_some((us.saturating_add(fraction), 10 + length))
}

/// `10:00:00.123`; not a part of a longer list such as an address.
fn clock(text: &str) -> Option<(Time, usize)> {
    let time = text.get(..8).filter(|time| time.as_bytes()[2] == b':' && time.as_bytes()[5] == b':')?;
    let [hour, minute, second] = numbers(time, &[':'])?;
    let (fraction, length) = fraction(&text[8..]);
    let [hour, minute, second] = [hour, minute, second].map(|part| i8::try_from(part).unwrap_or(-1));
    let time = Time::new(hour, minute, second, i32::try_from(fraction * 1000).ok()?).ok()?;
    (!text[8 + length..].starts_with(':')).then_some((time, 8 + length))
}

fn seconds(text: &str) -> Option<(i64, usize)> {
    let whole = text.find(|c: char| !c.is_ascii_digit()).filter(|digits| (1..=9).contains(digits))?;
    let (fraction, length) = fraction(&text[whole..]);
    let us = text[..whole].parse::<i64>().ok()? * SECOND + fraction;
    (length > 1 && !text[whole + length..].starts_with('.')).then_some((us, whole + length))
}

/// µs of `.123456789`, and the length.
fn fraction(text: &str) -> (i64, usize) {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return (0, 0) };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let padded: String = rest[..digits].chars().chain("000000".chars()).take(6).collect();
    if digits == 0 { (0, 0) } else { (padded.parse().unwrap_or(0), digits + 1) }
}

fn numbers(text: &str, between: &[char]) -> Option<[u32; 3]> {
    let parts: Vec<u32> = text.split(between).map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()?;
    parts.try_into().ok()
}

fn micros_of_day(time: Time) -> i64 {
    let seconds = i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    seconds * SECOND + i64::from(time.subsec_nanosecond()) / 1000
}

fn micros(time: DateTime) -> Option<i64> {
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(text: &str) -> Option<(Form, i64, &str)> {
        let (at, moment, length) = Moment::within(text)?;
        Some((moment.form, moment.us, &text[at..at + length]))
    }

    #[test]
    fn times_are_found_in_all_forms() {
        let ten = 1_793_527_200 * SECOND;
        let cases = [
            ("2026-11-01T10:00:00Z ", Form::Date, ten, "2026-11-01T10:00:00Z"),
            (
                "web | 2026-11-01T10:00:00.2500000Z ",
                Form::Date,
                ten + 250_000,
                "2026-11-01T10:00:00.2500000Z",
            ),
            ("[2026/11/01 10:00:00,5] ", Form::Date, ten + 500_000, "2026/11/01 10:00:00,5"),
            ("2026-11-01T12:00:00+02:00 ", Form::Date, ten, "2026-11-01T12:00:00+02:00"),
            ("2026-11-01T07:30:00-0230 ", Form::Date, ten, "2026-11-01T07:30:00-0230"),
            ("1793527200\t2026-11-01\t10:00:00\t", Form::Date, ten, "2026-11-01\t10:00:00"),
            ("1793527200.5 ", Form::Epoch, ten + 500_000, "1793527200.5"),
            ("[10:00:00] ", Form::Clock, 36_000 * SECOND, "10:00:00"),
            ("#12 3.25 ", Form::Seconds, 3 * SECOND + 250_000, "3.25"),
        ];
        for (text, form, us, part) in cases {
            assert_eq!(within(text), Some((form, us, part)), "{text}");
        }
        assert_eq!(
            within("Nov  1 10:00:00 host osm2pgsql[7]: ").map(|found| found.2),
            Some("Nov  1 10:00:00")
        );
        for text in
            ["> ", "import_1  | ", "10.0.0.1 ", "2026-13-41T10:00:00 ", "a1.5 ", "10:00 ", "99:00:00 "]
        {
            assert_eq!(within(text), None, "{text}");
        }
    }

    #[test]
    fn clocks_pass_midnight_and_the_end_of_the_year() {
        let mut clock = LogClock::default();
        let mut at = |text: &str| clock.at_us(Moment::within(text).map(|(_, moment, _)| moment)) / 1_000_000;
        assert_eq!(at("[23:59:58] "), 0);
        assert_eq!(at("[23:59:59] "), 1);
        assert_eq!(at("[00:00:03] "), 5);
        assert_eq!(at("nothing"), 5);
        assert_eq!(at("[00:00:02] "), 5);
        assert_eq!(at("2026-11-01T10:00:00Z"), 5, "another clock");
        assert_eq!(clock.began_us(), None);
        let mut clock = LogClock::default();
        let mut at = |text: &str| clock.at_us(Moment::within(text).map(|(_, moment, _)| moment)) / 1_000_000;
        assert_eq!((at("Dec 31 23:59:59 "), at("Jan  1 00:00:01 ")), (0, 2));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_run_back() {
        let mut clock = LogClock::default();
        let mut at = |time: &str| {
            clock.at_us(Moment::at_start(time, Form::Date).map(|(moment, _)| moment)) / 1_000_000
        };
        assert_eq!(at("2026-10-24 23:59:58"), 0);
        assert_eq!(at("2026-10-25 02:59:59"), 3 * 3600 + 1);
        assert_eq!(at("2026-10-25 02:00:01"), 3 * 3600 + 3, "the end of summer time");
        assert_eq!(at("2026-10-27 00:00:00"), 49 * 3600 + 2);
        assert_eq!(at("2026-99-99 00:00:00"), 49 * 3600 + 2);
        assert_eq!(at("2026-10-26 23:00:00"), 49 * 3600 + 2, "set back on a Monday");
        assert_eq!(at("2026-10-26 23:00:09"), 49 * 3600 + 11);
        assert_eq!(clock.began_us(), Some(1_792_886_398_000_000));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,30}(2026-11-01[T ])?([0-9:.+-]{0,20})\\PC{0,10}") {
            let mut clock = LogClock::default();
            if let Some((at, moment, length)) = Moment::within(&text) {
                let _ = (&text[at..at + length], clock.at_us(Some(moment)));
            }
        }
    }
}
