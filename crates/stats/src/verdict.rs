//! Judges an estimate with a margin, and estimates how many more pairs would decide.

use crate::paired::{Estimate, t_quantile};

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Throughput.
    Larger,
    /// Latency, CPU per transaction, size.
    Smaller,
}

/// *Faster* always means better, whatever the metric's direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The 95 % interval of the change is within the margin (two one-sided tests at 2.5 %).
    Same,
    /// The 95 % interval excludes "no change", on the good side.
    Faster,
    /// The 95 % interval excludes "no change", on the bad side.
    Slower,
    /// The 95 % interval excludes "no change", but the two were measured at different times. Other changes in
    /// between may be the reason, so neither is called faster.
    Differs,
    /// A level that a person sets was set once: the error of setting it is unknown, and so is the error of the change.
    OneSet {
        /// Whether that is true of both levels.
        each: bool,
    },
    /// None of the others.
    Inconclusive {
        /// About how many more pairs would probably decide; `None` when unknown.
        more_pairs: Option<u32>,
    },
    /// The change is a mean of parts that differ by more than their noise, or of which one has another
    /// verdict: see the parts' verdicts.
    PartsDiffer,
    /// A percentile of runs with too few transactions for it.
    TooFew(TooFew),
    /// No valid pair.
    Invalid,
}

impl Verdict {
    /// Whether it is a change.
    #[must_use]
    pub fn is_change(self) -> bool {
        matches!(self, Self::Faster | Self::Slower | Self::Differs)
    }

    /// The verdict for two that were measured at different times.
    #[must_use]
    pub fn measured_apart(self) -> Self {
        if self.is_change() { Self::Differs } else { self }
    }

    /// Whether a part is surely slower and its whole is not, or surely faster and its whole surely is not.
    #[must_use]
    pub fn contradicts(self, whole: Self) -> bool {
        match self {
            Self::Slower => whole != Self::Slower,
            Self::Faster => matches!(whole, Self::Slower | Self::Same),
            _ => false,
        }
    }

    /// Faster, slower or the same.
    #[must_use]
    pub fn is_decided(self) -> bool {
        matches!(self, Self::Same | Self::Faster | Self::Slower)
    }
}

/// Fewer values than a percentile needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TooFew {
    /// The percentile, in tenths of a percent: 990 for p99.
    pub per_mille: u16,
    pub count: u64,
    /// Values needed: ten beyond the percentile.
    pub needed: u64,
}

impl std::fmt::Display for TooFew {
    /// `too few for p99: 2 of at least 1,000`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percentile = f64::from(self.per_mille) / 10.0;
        write!(f, "too few for p{percentile}: {} of at least {}", grouped(self.count), grouped(self.needed))
    }
}

/// With a comma between thousands.
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1000), number % 1000),
    }
}

impl TooFew {
    /// `Some` if fewer than ten values lie beyond the quantile; never for the smallest and the largest value
    /// (0 and 1).
    #[must_use]
    pub fn of(quantile: f64, count: u64) -> Option<Self> {
        if !(quantile > 0.0 && quantile < 1.0) {
            return None;
        }
        // Rounded, as 1 - 0.99 is not exactly 0.01.
        let needed = (10.0 / (1.0 - quantile)).round() as u64;
        (count < needed).then_some(Self { per_mille: (quantile * 1000.0).round() as u16, count, needed })
    }
}

/// Verdict of an estimate with a margin (a share: 0.03 = 3 %). Precedence: same, then faster or slower, then
/// inconclusive. All follow from the printed 95 % interval.
#[must_use]
pub fn verdict(estimate: &Estimate, margin: f64, better: Better) -> Verdict {
    let Some((low, high)) = estimate.interval(0.95) else {
        return Verdict::Inconclusive { more_pairs: None };
    };
    if low > (1.0 - margin).ln() && high < margin.ln_1p() {
        return Verdict::Same;
    }
    match (low > 0.0, high < 0.0, better) {
        (true, _, Better::Larger) | (_, true, Better::Smaller) => Verdict::Faster,
        (true, _, Better::Smaller) | (_, true, Better::Larger) => Verdict::Slower,
        _ => Verdict::Inconclusive { more_pairs: more_pairs(estimate, margin) },
    }
}

/// More pairs until the answer is probably decided, if mean and spread stay the same; at least 1.
///
/// Whichever comes first, four times in five: the 95 % interval excludes "no change", or lies inside the
/// margin. As in Stein's two-stage size (Ann. Math. Stat. 1945) the quantiles are those for the current
/// number of pairs.
fn more_pairs(estimate: &Estimate, margin: f64) -> Option<u32> {
    if estimate.n < 3 || margin <= 0.0 {
        return None;
    }
    let deviation = estimate.deviation()?;
    let t = |q| t_quantile(q, estimate.n as f64 - 1.0);
    let end = estimate.upper(0.95);
    let change = estimate.log_ratio.abs();
    let inside = margin.ln_1p() - change;
    // A change of 0 cannot be detected, and one beyond the margin is never inside it.
    let pairs = |distance: f64| match distance > 0.0 {
        true => ((t(end) + t(0.8)) * deviation / distance).powi(2).ceil(),
        false => f64::INFINITY,
    };
    let wanted = pairs(change).min(pairs(inside));
    // `as` saturates, which is right for an absurd number.
    let wanted = wanted as usize;
    Some(u32::try_from(wanted.saturating_sub(estimate.n)).unwrap_or(u32::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::paired;

    /// By hand, with t(.975, 7) = 2.365, t(.8, 7) = 0.896 and s = 2.886 %: 2 % are detected with (3.261 ·
    /// 2.886 / 2)² = 22.1 pairs, half a per cent is inside ln 1.03 with (3.261 · 2.886 / 2.456)² = 14.7, of
    /// which there are 8.
    #[test]
    fn more_pairs_are_those_of_the_nearer_answer() {
        for (mean, wanted) in [(0.02, 15), (0.005, 7), (-0.02, 15)] {
            let values: Vec<f64> = (0..8).map(|i| mean + if i % 2 == 0 { 0.027 } else { -0.027 }).collect();
            let estimate = paired(&values).unwrap();
            assert_eq!(more_pairs(&estimate, 0.03), Some(wanted), "{mean}");
        }
    }

    /// The interval had to be as narrow as the margin, which decided only one answer in two.
    #[test]
    fn as_many_more_pairs_as_are_asked_for_decide() {
        let mut state = 11u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut pair = |mean: f64| mean + 0.06 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0);
        for mean in [0.0, 0.01, 0.03, 0.05] {
            let (mut asked, mut decided) = (0, 0);
            while asked < 200 {
                let mut values: Vec<f64> = (0..12).map(|_| pair(mean)).collect();
                let judged = |values: &[f64]| verdict(&paired(values).unwrap(), 0.03, Better::Larger);
                let Verdict::Inconclusive { more_pairs: Some(more) } = judged(&values) else { continue };
                asked += 1;
                values.extend((0..more.min(1000)).map(|_| pair(mean)));
                decided += usize::from(!matches!(judged(&values), Verdict::Inconclusive { .. }));
            }
            assert!(decided >= 160, "{mean}: {decided} of 200");
        }
    }

    /// "same within 3 %: -1.4 % [-3.9, +1.1]": the verdict used a narrower interval than the output.
    #[test]
    fn what_is_called_the_same_has_its_whole_printed_interval_inside_the_margin() {
        for spread in 1..200 {
            let spread = f64::from(spread) / 1000.0;
            let values: Vec<f64> =
                (0..12).map(|i| if i % 2 == 0 { spread - 0.01 } else { -spread }).collect();
            let estimate = paired(&values).unwrap();
            let (low, high) = estimate.interval_pct().unwrap();
            let is_same = verdict(&estimate, 0.03, Better::Larger) == Verdict::Same;
            assert_eq!(is_same, low > -3.0 && high < 3.0, "{spread}: [{low}, {high}]");
        }
    }

    #[test]
    fn percentiles_need_ten_values_beyond_them() {
        for (quantile, needed) in [(0.5, 20), (0.95, 200), (0.99, 1000), (0.999, 10_000)] {
            assert_eq!(TooFew::of(quantile, needed), None, "{quantile}");
            let few = TooFew::of(quantile, needed - 1).unwrap();
            assert_eq!((few.count, few.needed), (needed - 1, needed));
        }
        assert_eq!(TooFew::of(0.99, 2).unwrap().to_string(), "too few for p99: 2 of at least 1,000");
        assert_eq!(
            TooFew::of(0.999, 1030).unwrap().to_string(),
            "too few for p99.9: 1,030 of at least 10,000"
        );
        assert_eq!(TooFew::of(1.0, 1), None, "the greatest value is known from the first on");
    }

    #[test]
    fn verdicts_follow_their_precedence() {
        let cases: &[(&[f64], Better, Verdict)] = &[
            (&[0.010, 0.011, 0.009, 0.010], Better::Larger, Verdict::Same), // inside 3 %, though surely above 0
            (&[0.10, 0.11, 0.09, 0.10], Better::Larger, Verdict::Faster),
            (&[0.10, 0.11, 0.09, 0.10], Better::Smaller, Verdict::Slower),
            (&[-0.10, -0.11, -0.09, -0.10], Better::Larger, Verdict::Slower),
            (&[-0.10, -0.11, -0.09, -0.10], Better::Smaller, Verdict::Faster),
            (&[0.1], Better::Larger, Verdict::Inconclusive { more_pairs: None }),
            (&[0.1, 0.2], Better::Larger, Verdict::Inconclusive { more_pairs: None }),
        ];
        for (differences, better, wanted) in cases {
            let estimate = paired(differences).unwrap();
            assert_eq!(verdict(&estimate, 0.03, *better), *wanted, "{differences:?}");
        }
        let noisy = paired(&[0.2, -0.15, 0.1, -0.2]).unwrap();
        let Verdict::Inconclusive { more_pairs: Some(more) } = verdict(&noisy, 0.03, Better::Larger) else {
            panic!("noise decides nothing")
        };
        assert!(more > 100, "{more}");
    }
}
