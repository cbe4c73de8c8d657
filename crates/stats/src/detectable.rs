//! The change that a number of pairs can detect, from the spread of earlier pairs.

use crate::paired::{percent_change, t_quantile};

/// The change that this many pairs of this spread can detect, four times in five.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectableChange {
    /// Expected half-width of the 95 % interval, percent.
    pub half_width_pct: f64,
    /// Smallest difference that is called faster or slower, percent.
    pub differences_pct: f64,
    /// Whether no difference is called the same within the margin.
    pub can_show_same: bool,
}

impl DetectableChange {
    /// For `pairs` pairs whose log ratios have the standard deviation `deviation`, with a margin (a share);
    /// `None` below two.
    #[must_use]
    pub fn of(deviation: f64, pairs: u32, margin: f64) -> Option<Self> {
        let df = f64::from(pairs.checked_sub(1).filter(|df| *df > 0)?);
        let error = deviation / f64::from(pairs).sqrt();
        let times = |quantiles: &[f64]| quantiles.iter().map(|q| t_quantile(*q, df)).sum::<f64>() * error;
        Some(Self {
            half_width_pct: percent_change(times(&[0.975])),
            differences_pct: percent_change(times(&[0.975, 0.8])),
            // Both ends of the interval may miss by a tenth.
            can_show_same: times(&[0.975, 0.9]) < margin.ln_1p(),
        })
    }

    /// The smallest even number of pairs that shows no difference as the same within the margin; `None` above
    /// `most`.
    #[must_use]
    pub fn pairs_for_same(deviation: f64, margin: f64, most: u32) -> Option<u32> {
        let sees =
            |pairs: &u32| Self::of(deviation, *pairs, margin).is_some_and(|change| change.can_show_same);
        (2..=most).step_by(2).find(sees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// t(.975, 11) = 2.201, t(.8, 11) = 0.876, for a standard error of 1 %.
    #[test]
    fn twelve_pairs_by_hand() {
        let sight = DetectableChange::of(0.01 * 12f64.sqrt(), 12, 0.03).unwrap();
        assert!((sight.half_width_pct - 2.225).abs() < 0.01, "{sight:?}");
        assert!((sight.differences_pct - 3.125).abs() < 0.01, "{sight:?}");
        assert!(!sight.can_show_same, "(2.201 + 1.363) % are more than 2.96");
        assert_eq!(DetectableChange::pairs_for_same(0.01 * 12f64.sqrt(), 0.03, 100), Some(18));
        assert_eq!(DetectableChange::pairs_for_same(0.5, 0.03, 100), None);
        assert_eq!(DetectableChange::of(0.1, 1, 0.03), None);
    }
}
