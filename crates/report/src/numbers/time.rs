//! Latencies and durations.

use super::{ABSENT, figure_short, figure_text, fixed};

/// A latency in nanoseconds, with a suitable unit: ns, µs, ms or s.
pub(crate) fn latency_ns(ns: f64) -> String {
    if !ns.is_finite() {
        return ABSENT.to_owned();
    }
    let (number, unit) = latency(ns);
    format!("{number} {unit}")
}

fn latency(ns: f64) -> (String, &'static str) {
    let (size, unit) = unit(ns);
    (if size == 1.0 { format!("{ns:.0}") } else { figure_text(ns / size) }, unit)
}

/// Both with the unit of the larger: `0.94 to 10.7 ms`.
pub(crate) fn range_ns(least: f64, most: f64) -> String {
    format!("{} to {}", figure_text(least / unit(most).0), latency_ns(most))
}

/// Nanoseconds of a suitable unit, and its name.
fn unit(ns: f64) -> (f64, &'static str) {
    match ns.abs() {
        size if size < 999.5 => (1.0, "ns"),
        size if size < 999_500.0 => (1e3, "µs"),
        size if size < 999_500_000.0 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

pub(crate) fn latency_tick(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", figure_short(value))
}

/// A latency in microseconds, with a suitable unit.
#[must_use]
pub fn latency_us(us: f64) -> String {
    latency_ns(us * 1e3)
}

/// Milliseconds with their unit, from microseconds: whole from 10 ms on.
pub(crate) fn milliseconds(us: u64) -> String {
    let ms = us as f64 / 1e3;
    format!("{} ms", fixed(ms, if ms >= 10.0 { 0 } else { 1 }))
}

/// A duration in seconds, with the digits it needs: `400 ms`, `1.25 s`, `12.5 s`, `45 s`, `3 min 20 s`, `1
/// h 02 min`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return ABSENT.to_owned();
    }
    let short = |number: String, unit: &str| {
        let number =
            if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
        format!("{number} {unit}")
    };
    let whole = seconds.round().max(0.0) as u64;
    match seconds {
        _ if seconds <= 0.0 => "0 s".to_owned(),
        _ if seconds < 0.9995 => {
            let (number, unit) = latency(seconds * 1e9);
            short(number, unit)
        }
        _ if seconds < 9.995 => short(fixed(seconds, 2), "s"),
        _ if seconds < 59.95 => short(fixed(seconds, 1), "s"),
        _ if whole < 3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_choose_their_unit() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (640.0, "640 ns"),
            (999.9, "1.00 µs"),
            (25_000.0, "25.0 µs"),
            (999_600.0, "1.00 ms"),
            (62_581_000.0, "62.6 ms"),
            (3.6e12, "3,600 s"),
            (f64::NAN, "n/a"),
        ] {
            assert_eq!(latency_ns(ns), text);
        }
    }

    #[test]
    fn durations_read_like_a_clock_with_the_digits_they_need() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (0.4, "400 ms"),
            (0.0625, "62.5 ms"),
            (0.9999, "1 s"),
            (1.5, "1.5 s"),
            (1.25, "1.25 s"),
            (2.0003, "2 s"),
            (12.5, "12.5 s"),
            (45.2, "45.2 s"),
            (59.97, "1 min 00 s"),
            (200.0, "3 min 20 s"),
            (3720.0, "1 h 02 min"),
            (-1.0, "0 s"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!(milliseconds(374_200), "374 ms");
        assert_eq!(milliseconds(1_260), "1.3 ms");
    }
}
