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

/// A number of about this size, two digits: `6,900`.
#[must_use]
pub fn about(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return ABSENT.to_owned();
    }
    let step = 10_f64.powf(value.log10().floor() - 1.0);
    fixed((value / step).round() * step, if step < 1.0 { (-step.log10()).round() as usize } else { 0 })
}

/// Milliseconds with their unit, from microseconds: whole from 10 ms on.
#[must_use]
pub fn milliseconds(us: u64) -> String {
    let ms = us as f64 / 1e3;
    format!("{} ms", fixed(ms, if ms >= 10.0 { 0 } else { 1 }))
}

/// A number that somebody chose, with the digits they gave it: `0.05`, `300`.
#[must_use]
pub fn as_given(value: f64) -> String {
    // What arithmetic in binary fractions added is far behind the point.
    format!("{}", (value * 1e6).round() / 1e6)
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

/// From this ratio on a change is told as a factor: `52 times` says more than `+5,088 %`.
const TIMES: f64 = 4.0;
/// Larger factors are not told apart.
const MOST_TIMES: f64 = 10_000.0;

/// A change in percent with its sign, e.g. `+0.8 %`; a large one as a factor, e.g. `52 times`.
#[must_use]
pub fn change(percent: f64) -> String {
    if percent.is_nan() || percent == f64::NEG_INFINITY {
        ABSENT.to_owned()
    } else if is_factor(percent) {
        format!("{} times", factor(percent))
    } else {
        format!("{} %", signed(percent))
    }
}

/// Whether [`change`] tells this change as a factor.
#[must_use]
pub fn is_factor(percent: f64) -> bool {
    1.0 + percent / 100.0 >= TIMES
}

/// An interval of changes in percent without the unit, e.g. `[-0.4, +2.0]`, or of factors, e.g. `[38, 71] times`; where
/// the ends are of both kinds, each with its unit.
#[must_use]
pub fn change_interval(low: f64, high: f64) -> String {
    match (low.is_nan() || high.is_nan() || low == f64::NEG_INFINITY, is_factor(low), is_factor(high)) {
        (true, ..) => format!("[{ABSENT}]"),
        (_, true, true) => format!("{} times", factors(low, high)),
        (_, _, true) => format!("[{}, {}]", change(low), change(high)),
        _ => format!("[{}, {}]", signed(low), signed(high)),
    }
}

/// A change with its interval, e.g. `+0.8 % [-0.4, +2.0]` or `52 times [38, 71]`; the interval only where there is one.
#[must_use]
pub fn change_with_interval(percent: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) if is_factor(percent) && low >= 0.0 => {
            format!("{} {}", change(percent), factors(low, high))
        }
        Some((low, high)) => format!("{} {}", change(percent), change_interval(low, high)),
        None => change(percent),
    }
}

/// An end of an interval beside its change, which has the unit: `-1.8`; a large one as a factor, e.g. `52 times`.
#[must_use]
pub fn change_end(percent: f64) -> String {
    let text = change(percent);
    text.strip_suffix(" %").map_or(text.clone(), str::to_owned)
}

/// A change for the tick of an axis: no more digits than it has.
#[must_use]
pub fn change_tick(percent: f64) -> String {
    if is_factor(percent) {
        return format!("{} times", figure_short(1.0 + percent / 100.0));
    }
    let text = figure_short((percent * 1e6).round() / 1e6);
    if percent > 0.0 { format!("+{text}") } else { text }
}

/// `[38, 71]`: an interval of ratios.
fn factors(low: f64, high: f64) -> String {
    format!("[{}, {}]", factor(low), factor(high))
}

/// The ratio that a change in percent means, with two digits at least.
fn factor(percent: f64) -> String {
    match 1.0 + percent / 100.0 {
        ratio if ratio > MOST_TIMES => format!("over {}", fixed(MOST_TIMES, 0)),
        ratio => fixed(ratio, if ratio < 9.95 { 1 } else { 0 }),
    }
}

/// A length of time in seconds, with the digits it needs: `400 ms`, `1.25 s`, `12.5 s`, `45 s`, `3 min 20 s`, `1 h 02 min`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return ABSENT.to_owned();
    }
    let whole = seconds.round().max(0.0) as u64;
    let text = match seconds {
        _ if seconds <= 0.0 => return "0 s".to_owned(),
        _ if seconds < 0.9995 => latency_ns(seconds * 1e9),
        _ if seconds < 9.995 => format!("{} s", fixed(seconds, 2)),
        _ if seconds < 59.95 => format!("{} s", fixed(seconds, 1)),
        _ if whole < 3600 => return format!("{} min {:02} s", whole / 60, whole % 60),
        _ => return format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    };
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
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
    let decimals = match percent {
        // What is left is told as long as there is anything: -99.97, not -100.
        _ if percent > -99.995 && percent <= -98.0 => 2,
        _ if percent.abs() >= 99.95 => 0,
        _ => 1,
    };
    let text = fixed(percent, decimals);
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
        assert_eq!(change(-99.97), "-99.97 %");
        assert_eq!(change(-100.0), "-100 %");
    }

    /// `+5,088 %` is 52 times.
    #[test]
    fn large_changes_are_factors() {
        assert_eq!(change(5088.0), "52 times");
        assert_eq!(change(320.0), "4.2 times");
        assert_eq!(change(299.0), "+299 %");
        assert_eq!(change(f64::INFINITY), "over 10,000 times");
        for (percent, interval, text) in [
            (5088.0, (3700.0, 7000.0), "52 times [38, 71]"),
            (420.0, (30.0, 2000.0), "5.2 times [1.3, 21]"),
            (420.0, (-30.0, 4000.0), "5.2 times [-30.0 %, 41 times]"),
            (12.0, (-80.0, 5088.0), "+12.0 % [-80.0 %, 52 times]"),
            (-80.0, (-99.98, f64::INFINITY), "-80.0 % [-99.98 %, over 10,000 times]"),
        ] {
            assert_eq!(change_with_interval(percent, Some(interval)), text);
        }
        assert_eq!(change_interval(3700.0, 7000.0), "[38, 71] times");
        for (percent, text) in
            [(-99.0, "-99"), (-2.5, "-2.5"), (0.0, "0"), (100.0, "+100"), (900.0, "10 times")]
        {
            assert_eq!(change_tick(percent), text);
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
        for (value, text) in
            [(6939.6, "6,900"), (32_149.0, "32,000"), (0.1234, "0.12"), (99.7, "100"), (5.26, "5.3")]
        {
            assert_eq!(about(value), text);
        }
        // "above the 0.1 ms latency limit" for 0.05.
        for (value, text) in [(0.05, "0.05"), (0.1 + 0.2, "0.3"), (300.0, "300"), (12.5, "12.5")] {
            assert_eq!(as_given(value), text);
        }
        assert_eq!(milliseconds(374_200), "374 ms");
        assert_eq!(milliseconds(1_260), "1.3 ms");
    }
}
