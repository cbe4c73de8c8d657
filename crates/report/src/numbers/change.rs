//! Changes in percent, and as factors where they are large.

use super::{ABSENT, about, figure_short, fixed};

/// From this ratio on a change is printed as a factor: `52 times` is clearer than `+5,088 %`.
const TIMES: f64 = 4.0;
/// Upper limit of printed factors.
const MOST_TIMES: f64 = 10_000.0;
/// Upper limit of printed changes in percent.
const MOST_PCT: f64 = 1_000_000.0;

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

/// Whether [`change`] prints this change as a factor.
pub(crate) fn is_factor(percent: f64) -> bool {
    1.0 + percent / 100.0 >= TIMES
}

/// An interval in the unit of its change: percent, e.g. `[-0.4, +2.0]`, or factors, e.g. `[38, 71]`.
fn change_interval(in_factors: bool, low: f64, high: f64) -> String {
    match (low.is_nan() || high.is_nan() || low == f64::NEG_INFINITY, in_factors) {
        (true, _) => format!("[{ABSENT}]"),
        (_, true) => factors(low, high),
        _ => format!("[{}, {}]", signed(low), signed(high)),
    }
}

/// A change with its interval, e.g. `+0.8 % [-0.4, +2.0]` or `52 times [38, 71]`; without one if there is
/// none.
pub(crate) fn change_with_interval(percent: f64, interval: Option<(f64, f64)>) -> String {
    match change_and_interval(percent, interval) {
        (change, Some(interval)) => format!("{change} {interval}"),
        (change, None) => change,
    }
}

pub(crate) fn change_and_interval(percent: f64, interval: Option<(f64, f64)>) -> (String, Option<String>) {
    let interval = interval.map(|(low, high)| change_interval(is_factor(percent), low, high));
    (change(percent), interval)
}

/// A change of speed as a change of time: `1.7 times as long [1.5, 1.9]`.
pub(crate) fn as_long(speed_pct: f64, interval: Option<(f64, f64)>) -> String {
    let time = |pct: f64| 100.0 * (1.0 / (1.0 + pct / 100.0) - 1.0);
    longer(time(speed_pct), interval.map(|(low, high)| (time(high), time(low))))
}

/// A change of a time as a ratio: `1.7 times as long [1.5, 1.9]`; never rounded to zero.
pub(crate) fn longer(percent: f64, interval: Option<(f64, f64)>) -> String {
    let ratio = |percent: f64| match 1.0 + percent / 100.0 {
        ratio if ratio > 0.0 && ratio < 0.0995 => about(ratio),
        _ => factor(percent),
    };
    let interval = interval.map(|(low, high)| format!(" [{}, {}]", ratio(low), ratio(high)));
    format!("{} times as long{}", ratio(percent), interval.unwrap_or_default())
}

/// An end of an interval next to its change, which has the unit: `-1.8`; a large one as a factor, e.g. `52
/// times`.
pub(crate) fn change_end(percent: f64) -> String {
    if percent.is_finite() && !is_factor(percent) { signed(percent) } else { change(percent) }
}

/// A change for the tick of an axis, with the digits it needs.
pub(crate) fn change_tick(percent: f64) -> String {
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

/// The ratio of a change in percent, with at least two digits.
fn factor(percent: f64) -> String {
    match 1.0 + percent / 100.0 {
        ratio if ratio > MOST_TIMES => format!("over {}", fixed(MOST_TIMES, 0)),
        ratio if ratio < 0.995 => fixed(ratio, 2),
        ratio => fixed(ratio, if ratio < 9.95 { 1 } else { 0 }),
    }
}

fn signed(percent: f64) -> String {
    let decimals = match percent {
        _ if percent > MOST_PCT => return format!("over {}", fixed(MOST_PCT, 0)),
        // Never rounded to a loss of everything: -99.97, not -100.
        _ if percent > -99.995 && percent <= -98.0 => 2,
        _ if percent.abs() >= 99.95 => 0,
        _ => 1,
    };
    let text = fixed(percent, decimals);
    let nothing = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    if percent > 0.0 && !nothing { format!("+{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_carry_their_sign() {
        assert_eq!(change_with_interval(0.8, Some((-0.4, 2.0))), "+0.8 % [-0.4, +2.0]");
        assert_eq!(change(-0.01), "0.0 %");
        assert_eq!(change(150.0), "+150 %");
        assert_eq!(change(f64::NAN), "n/a");
        assert_eq!(change_interval(false, f64::NEG_INFINITY, 10.0), "[n/a]");
        assert_eq!(change(-99.97), "-99.97 %");
        assert_eq!(change(-100.0), "-100 %");
    }

    #[test]
    fn a_loss_of_speed_is_a_longer_time() {
        assert_eq!(as_long(-66.9, Some((-68.0, -65.5))), "3.0 times as long [2.9, 3.1]");
        assert_eq!(as_long(-100.0, None), "over 10,000 times as long");
        assert_eq!(longer(-52.0, Some((-55.0, -48.0))), "0.48 times as long [0.45, 0.52]");
        assert_eq!(longer(-99.85, Some((-99.89, -99.77))), "0.0015 times as long [0.0011, 0.0023]");
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
            // Regression: one bracket had both units.
            (420.0, (-30.0, 4000.0), "5.2 times [0.70, 41]"),
            (420.0, (-99.98, f64::INFINITY), "5.2 times [0.00, over 10,000]"),
            (222.0, (9.2, 860.0), "+222 % [+9.2, +860]"),
            (12.0, (-80.0, 5088.0), "+12.0 % [-80.0, +5,088]"),
            (-80.0, (-99.98, f64::INFINITY), "-80.0 % [-99.98, over 1,000,000]"),
        ] {
            assert_eq!(change_with_interval(percent, Some(interval)), text);
        }
        for (percent, text) in
            [(-99.0, "-99"), (-2.5, "-2.5"), (0.0, "0"), (100.0, "+100"), (900.0, "10 times")]
        {
            assert_eq!(change_tick(percent), text);
        }
    }
}
