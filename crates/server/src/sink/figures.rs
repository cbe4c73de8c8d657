//! A histogram as one line of text, on its way from a sink to its owner.

use stats::Histogram;

/// Sum, sum of squares, least, greatest (ns), then the histogram in hexadecimal.
pub(super) fn write(histogram: &Histogram) -> String {
    let bytes = spec::hex(&histogram.encode());
    let (least, greatest) = (histogram.min_ns().unwrap_or(0), histogram.max_ns().unwrap_or(0));
    format!("{} {} {least} {greatest} {bytes}", histogram.sum_ns(), histogram.sum_squares())
}

/// What [`write`] wrote; `None` for anything else.
pub(super) fn read(text: &str) -> Option<Histogram> {
    let mut words = text.split(' ');
    let sum = words.next()?.parse().ok()?;
    let squares = words.next()?.parse().ok()?;
    let least = words.next()?.parse().ok()?;
    let greatest = words.next()?.parse().ok()?;
    let digits = words.next()?;
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    Histogram::decode(&bytes?, sum, squares, least, greatest).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_survive_the_way() {
        let mut histogram = Histogram::new();
        assert_eq!(read(&write(&histogram)).unwrap().count(), 0);
        for ns in [1_000, 2_000, 1_000_000] {
            histogram.record(ns);
        }
        let back = read(&write(&histogram)).unwrap();
        assert_eq!((back.count(), back.sum_ns(), back.max_ns()), (3, 1_003_000, Some(1_000_000)));
        assert_eq!(back.quantile_ns(0.5), histogram.quantile_ns(0.5));
        for wrong in ["", "1 2 3 4", "a b c d e", "1 1 1 1 zz"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }
}
