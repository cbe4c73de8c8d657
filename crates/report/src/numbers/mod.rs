//! How numbers are written, in one place: units, digits, signs.
//!
//! Figures, times and rates have three significant digits. A comma separates thousands, and `n/a` is a missing number.

mod change;
mod time;

use std::fmt::Write;

pub(crate) use spec::bytes;

pub use change::change;
pub(crate) use change::{
    as_long, change_and_interval, change_end, change_tick, change_with_interval, is_factor, longer,
};
pub use time::{duration, latency_us};
pub(crate) use time::{latency_ns, latency_tick, milliseconds, range_ns};

/// As text: `1.2 ms`; with too few transactions `n/a (2 of 1,000 transactions)`.
pub(crate) fn percentile(of: &results::cells::Response, quantile: f64) -> String {
    let few = stats::TooFew::of(quantile, of.count).filter(|few| few.count > 0);
    match (of.ns(quantile), few) {
        (Some(ns), _) => latency_ns(ns),
        (None, Some(few)) => {
            format!("n/a ({} of {} transactions)", count(few.count), count(few.needed))
        }
        (None, None) => ABSENT.to_owned(),
    }
}

/// In µs for programs; for people, why there is none.
pub(crate) fn percentile_us(of: &results::cells::Response, quantile: f64) -> results::CellValue {
    let missing = || {
        (of.count > 0)
            .then(|| results::CellValue::worded(results::CellValue::Null, percentile(of, quantile), ""))
    };
    of.ns(quantile).map_or_else(|| missing().into(), |ns| (ns / 1e3).into())
}

/// A count that is a reason for doubt.
pub(crate) fn should_be_0(number: Option<u64>) -> results::CellValue {
    number
        .map(|number| {
            results::CellValue::worded(number, count(number), if number > 0 { "doubt" } else { "" })
        })
        .into()
}

/// A number for programs; empty if it is missing or not finite.
pub(crate) fn real_cell(value: Option<f64>) -> results::CellValue {
    value.filter(|number| number.is_finite()).into()
}

/// Whether percentiles are from slices, for programs: `yes`, or empty.
pub(crate) fn sliced(is_sliced: bool) -> results::CellValue {
    is_sliced.then_some("yes").into()
}

pub(crate) const ABSENT: &str = "n/a";

pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A figure with three significant digits: `19,400`, `138`, `2.04`, `0.00123`, `6.35e-6`.
pub(crate) fn figure_text(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    match value.abs() {
        size if size >= 999.5 => {
            let step = 10_f64.powf(size.log10().floor() - 2.0);
            fixed((value / step).round() * step, 0)
        }
        size if size == 0.0 || size >= 99.95 => fixed(value, 0),
        size if size >= 9.995 => fixed(value, 1),
        size if size >= 0.9995 => fixed(value, 2),
        size if size >= 0.0001 => fixed(value, (2.0 - size.log10().floor()) as usize),
        // Seconds of CPU of a short transaction.
        _ => format!("{value:.2e}"),
    }
}

/// A value with four significant digits below 1000, and no decimals above.
pub(crate) fn four_digits(value: f64) -> String {
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
    figure_text(per_second)
}

/// A figure for the tick of an axis: at most two decimals, and three digits below 0.1; without trailing zeros.
pub(crate) fn figure_short(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        0.1.. | 0.0 => 2,
        small => (2.0 - small.log10().floor()).clamp(2.0, 9.0) as usize,
    };
    let text = fixed(value, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// An amount of money: two decimals, more for small amounts.
pub(crate) fn money(amount: f64) -> String {
    match amount {
        100_000.0.. => count(amount.round() as u64),
        0.1.. => fixed(amount, 2),
        0.001.. => fixed(amount, 4),
        _ => format!("{amount:.2e}"),
    }
}

/// An approximate number, two digits: `6,900`.
pub(crate) fn about(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return ABSENT.to_owned();
    }
    let step = 10_f64.powf(value.log10().floor() - 1.0);
    fixed((value / step).round() * step, if step < 1.0 { (-step.log10()).round() as usize } else { 0 })
}

/// A number that a user chose, with its digits: `0.05`, `300`.
#[must_use]
pub fn as_given(value: f64) -> String {
    // Removes the error of binary fractions.
    format!("{}", (value * 1e6).round() / 1e6)
}

/// A share as a percentage without sign, e.g. `3 %` for 0.03.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return ABSENT.to_owned();
    }
    let text = fixed(share * 100.0, 1);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// `1 run`, `2 runs`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

/// A real number with a fixed number of decimals and a comma between thousands; never `-0`.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{value:.decimals$}");
    let zero = text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
    grouped(if zero { text.trim_start_matches('-') } else { &text })
}

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
    fn amounts_keep_what_matters() {
        for (amount, said) in [
            (260.89, "260.89"),
            (3.0732, "3.07"),
            (0.01234, "0.0123"),
            (1e-6, "1.00e-6"),
            (1.5e6, "1,500,000"),
        ] {
            assert_eq!(money(amount), said);
        }
    }

    #[test]
    fn ticks_of_small_values_differ() {
        let ticks = [0.0, 0.005, 0.0075, 0.0125, 0.25, 2.5, 12.5, 250.0].map(figure_short);
        assert_eq!(ticks, ["0", "0.005", "0.0075", "0.0125", "0.25", "2.5", "12.5", "250"]);
    }

    #[test]
    fn figures_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.1234, "0.123"),
            (0.001_234, "0.00123"),
            (17.332_670, "17.3"),
            (620.65, "621"),
            (999.4, "999"),
            (999.96, "1,000"),
            (19_386.0, "19,400"),
            (219_186.4, "219,000"),
            (-0.000_001, "-1.00e-6"),
            (f64::NAN, "n/a"),
            (f64::INFINITY, "n/a"),
        ] {
            assert_eq!(figure_text(value), text);
        }
    }

    #[test]
    fn rough_and_chosen_numbers_keep_their_digits() {
        for (value, text) in
            [(6939.6, "6,900"), (32_149.0, "32,000"), (0.1234, "0.12"), (99.7, "100"), (5.26, "5.3")]
        {
            assert_eq!(about(value), text);
        }
        assert_eq!((percent(0.03).as_str(), percent(0.025).as_str()), ("3 %", "2.5 %"));
        // Regression: "above the 0.1 ms latency limit" for 0.05.
        for (value, text) in [(0.05, "0.05"), (0.1 + 0.2, "0.3"), (300.0, "300"), (12.5, "12.5")] {
            assert_eq!(as_given(value), text);
        }
    }
}
