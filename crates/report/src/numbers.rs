//! How numbers are written, in one place: units, digits, signs.
//!
//! Everywhere: four significant digits at most, a comma between thousands, `n/a` for what is not a number.

use std::fmt::Write;

/// What stands where there is no number.
pub const ABSENT: &str = "n/a";

/// A whole number with a comma between thousands.
#[must_use]
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A figure with four significant digits below 1000 and none after the point above.
#[must_use]
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let decimals = match value.abs() {
        size if size >= 999.95 || size == 0.0 => 0,
        size if size >= 99.995 => 1,
        size if size >= 9.9995 => 2,
        _ => 3,
    };
    fixed(value, decimals)
}

/// Throughput per second, without its unit.
#[must_use]
pub fn tps(per_second: f64) -> String {
    figure(per_second)
}

/// A figure for the tick of an axis: at most two decimals, none that are nought.
#[must_use]
pub fn figure_short(value: f64) -> String {
    let text = fixed(
        value,
        if value.abs() < 10.0 {
            2
        } else if value.abs() < 100.0 {
            1
        } else {
            0
        },
    );
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A latency in nanoseconds, with the unit that suits it: ns, µs, ms or s.
#[must_use]
pub fn latency_ns(ns: f64) -> String {
    if !ns.is_finite() {
        return ABSENT.to_owned();
    }
    let (value, unit) = match ns.abs() {
        size if size < 999.5 => return format!("{ns:.0} ns"),
        size if size < 999_500.0 => (ns / 1e3, "µs"),
        size if size < 999_500_000.0 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A latency for the tick of an axis, from nanoseconds: no more digits than it has.
#[must_use]
pub fn latency_tick(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", figure_short(value))
}

/// A latency in microseconds, with the unit that suits it.
#[must_use]
pub fn latency_us(us: f64) -> String {
    latency_ns(us * 1e3)
}

/// Milliseconds with their unit, from microseconds: whole from 10 ms on.
#[must_use]
pub fn milliseconds(us: u64) -> String {
    let ms = us as f64 / 1e3;
    format!("{} ms", fixed(ms, if ms >= 10.0 { 0 } else { 1 }))
}

/// Bytes in PostgreSQL's units (1 kB = 1024 bytes), three digits.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 999.5 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{} {unit}", three_digits(value))
}

/// A share as a percentage without sign, e.g. `3 %` for 0.03.
#[must_use]
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return ABSENT.to_owned();
    }
    let text = fixed(share * 100.0, 1);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A change in percent with its sign, e.g. `+0.8 %`.
#[must_use]
pub fn change(percent: f64) -> String {
    if percent.is_finite() { format!("{} %", signed(percent)) } else { ABSENT.to_owned() }
}

/// An interval of changes in percent, e.g. `[-0.4, +2.0]`, without the unit.
#[must_use]
pub fn change_interval(low: f64, high: f64) -> String {
    if low.is_finite() && high.is_finite() {
        format!("[{}, {}]", signed(low), signed(high))
    } else {
        format!("[{ABSENT}]")
    }
}

/// A change with its interval, e.g. `+0.8 % [-0.4, +2.0]`; the interval only where there is one.
#[must_use]
pub fn change_with_interval(percent: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) => format!("{} {}", change(percent), change_interval(low, high)),
        None => change(percent),
    }
}

/// A length of time in seconds: `2.5 s`, `45 s`, `3 min 20 s`, `1 h 02 min`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return ABSENT.to_owned();
    }
    let whole = seconds.round().max(0.0) as u64;
    match whole {
        _ if seconds < 9.95 => {
            let text = fixed(seconds.max(0.0), 1);
            format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
        }
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// `1 run`, `2 runs`.
#[must_use]
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number as u64), if number == 1 { one } else { many })
}

/// A real number with a fixed number of decimals and a comma between thousands; never `-0`.
#[must_use]
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{value:.decimals$}");
    let zero = text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
    grouped(if zero { text.trim_start_matches('-') } else { &text })
}

fn signed(percent: f64) -> String {
    let text = fixed(percent, if percent.abs() >= 99.95 { 0 } else { 1 });
    let nothing = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    if percent > 0.0 && !nothing { format!("+{text}") } else { text }
}

fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    fixed(value, decimals)
}

/// Puts a comma between thousands of a number written in digits.
fn grouped(digits: &str) -> String {
    let (sign, rest) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(whole, part)| (whole, Some(part)));
    let mut out = String::from(sign);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        let _ = write!(out, ".{fraction}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.1234, "0.123"),
            (17.332_670, "17.33"),
            (620.65, "620.6"),
            (885.33, "885.3"),
            (999.96, "1,000"),
            (219_186.4, "219,186"),
            (-0.0001, "0.000"),
            (f64::NAN, "n/a"),
            (f64::INFINITY, "n/a"),
        ] {
            assert_eq!(figure(value), text);
        }
    }

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
    fn sizes_use_postgres_units() {
        for (size, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1_992 << 10, "1.95 MB"),
            (33 << 20, "33.0 MB"),
            (1023 << 20, "1.00 GB"),
            (u64::MAX, "16,384 PB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn changes_carry_their_sign() {
        assert_eq!(change_with_interval(0.8, Some((-0.4, 2.0))), "+0.8 % [-0.4, +2.0]");
        assert_eq!(change(-0.01), "0.0 %");
        assert_eq!(change(150.0), "+150 %");
        assert_eq!(change(f64::NAN), "n/a");
        assert_eq!(percent(0.03), "3 %");
        assert_eq!(percent(0.025), "2.5 %");
        assert_eq!(change_interval(f64::NEG_INFINITY, 10.0), "[n/a]");
    }

    #[test]
    fn durations_read_like_a_clock() {
        for (seconds, text) in [
            (2.0, "2 s"),
            (2.5, "2.5 s"),
            (45.2, "45 s"),
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
