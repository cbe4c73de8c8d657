//! Values of a probe in units that suit their size.

use report::numbers::{latency_us, tps};
use spec::figures::Unit;
use workloads::probe::Spread;

/// A value with its unit: `34.0 µs`, `24.9 M rows/s`, `8.31 GB/s`.
pub(in crate::commands) fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::RowsPerSecond | Unit::PagesPerSecond => {
            let (divisor, prefix) = scale(value, &[(1e9, "G "), (1e6, "M "), (1e3, "k ")]);
            let noun = if unit == Unit::RowsPerSecond { "rows" } else { "pages" };
            format!("{} {prefix}{noun}/s", tps(value / divisor))
        }
        Unit::BytesPerSecond => {
            let steps = [(f64::from(1 << 30), "GB/s"), (f64::from(1 << 20), "MB/s")];
            let (divisor, name) = scale(value, &steps);
            format!("{} {}", tps(value / divisor), if name.is_empty() { "bytes/s" } else { name })
        }
        _ => latency_us(value),
    }
}

fn scale(value: f64, steps: &[(f64, &'static str)]) -> (f64, &'static str) {
    steps.iter().copied().find(|(size, _)| value >= *size).unwrap_or((1.0, ""))
}

/// The range of most shots.
pub(super) fn range(unit: Unit, spread: &Spread) -> String {
    let [low, high] = [spread.low, spread.high].map(|end| value(unit, end));
    let same = |low: &str, high: &str| {
        let (number, name) = low.split_once(' ')?;
        (high.split_once(' ')?.1 == name).then(|| number.to_owned())
    };
    format!("{} to {high}", same(&low, &high).unwrap_or_else(|| low.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_unit_that_suits_them() {
        let cases = [
            (Unit::RowsPerSecond, 24.9e6, "24.9 M rows/s"),
            (Unit::RowsPerSecond, 12.0, "12.0 rows/s"),
            (Unit::BytesPerSecond, 8.5 * 1024.0 * 1024.0 * 1024.0, "8.50 GB/s"),
            (Unit::BytesPerSecond, 100.0, "100 bytes/s"),
        ];
        for (unit, number, wanted) in cases {
            assert_eq!(value(unit, number), wanted);
        }
        let spread = Spread::of(&[1e6, 2e6]).unwrap();
        assert_eq!(range(Unit::RowsPerSecond, &spread), "1.00 to 2.00 M rows/s");
        let spread = Spread::of(&[1e5, 2e6]).unwrap();
        assert_eq!(range(Unit::RowsPerSecond, &spread), "100 k rows/s to 2.00 M rows/s");
    }
}
