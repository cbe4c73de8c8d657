//! From an estimate to a verdict, with a margin; and how many pairs a clearer one would need.

use crate::paired::{Estimate, t_quantile};

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Throughput.
    Larger,
    /// Latency, CPU per transaction, size.
    Smaller,
}

/// What an estimate says. *Faster* always means better, whatever the metric's direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub enum Verdict {
    /// The change lies inside the margin: the 90 % interval is within it (two one-sided tests at 5 %).
    Same,
    /// The 95 % interval excludes "no change", on the good side.
    Faster,
    /// The 95 % interval excludes "no change", on the bad side.
    Slower,
    /// None of these.
    Inconclusive {
        /// About how many more pairs would narrow the interval to the margin; `None` when it cannot be said.
        more_pairs: Option<u32>,
    },
    /// There is nothing to judge: not one valid pair.
    Invalid,
}

/// Verdict of an estimate with a margin (a share: 0.03 = 3 %). Precedence: same, then faster or slower, then
/// inconclusive.
#[must_use]
pub fn verdict(estimate: &Estimate, margin: f64, better: Better) -> Verdict {
    let (Some(narrow), Some(wide)) = (estimate.interval(0.90), estimate.interval(0.95)) else {
        return Verdict::Inconclusive { more_pairs: None };
    };
    if narrow.0 > (1.0 - margin).ln() && narrow.1 < margin.ln_1p() {
        return Verdict::Same;
    }
    match (wide.0 > 0.0, wide.1 < 0.0, better) {
        (true, _, Better::Larger) | (_, true, Better::Smaller) => Verdict::Faster,
        (true, _, Better::Smaller) | (_, true, Better::Larger) => Verdict::Slower,
        _ => Verdict::Inconclusive { more_pairs: more_pairs(estimate, margin) },
    }
}

/// More pairs until the half-width of the 95 % interval is the margin, from this estimate's spread; at least 1.
///
/// Where it is as narrow already and still nothing is decided, the change lies between 0 and the margin: then half the
/// margin is asked for, since from any change either 0 or the margin is at least that far away.
fn more_pairs(estimate: &Estimate, margin: f64) -> Option<u32> {
    if estimate.n < 3 || margin <= 0.0 {
        return None;
    }
    let deviation = estimate.deviation()?;
    let wanted = [margin, margin / 2.0]
        .map(|width| stein_pairs(deviation, estimate.n, width.ln_1p()))
        .into_iter()
        .find(|&pairs| pairs > estimate.n)
        .unwrap_or(estimate.n);
    Some(u32::try_from(wanted - estimate.n).unwrap_or(u32::MAX).max(1))
}

/// Stein's two-stage size (Ann. Math. Stat. 1945): N = max(n0, ceil(t²(.975, n0 - 1) s0² / w²)) for a 95 % interval of
/// half-width `half_width`, from a pilot of `pilot` >= 2 values with standard deviation `deviation`.
fn stein_pairs(deviation: f64, pilot: usize, half_width: f64) -> usize {
    let t = t_quantile(0.975, pilot as f64 - 1.0);
    let wanted = (t * deviation / half_width).powi(2).ceil();
    // `as` saturates, which is right for an absurd wish.
    (wanted as usize).max(pilot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::paired;

    /// Inconclusive with an interval already narrower than the margin: more pairs are still asked for, in earnest.
    #[test]
    fn a_change_between_nothing_and_the_margin_needs_half_its_width() {
        let values: Vec<f64> = (0..8).map(|i| 0.02 + if i % 2 == 0 { 0.027 } else { -0.027 }).collect();
        let estimate = paired(&values).unwrap();
        let Verdict::Inconclusive { more_pairs: Some(more) } = verdict(&estimate, 0.03, Better::Larger)
        else {
            panic!("neither inside 3 % nor apart from 0")
        };
        // s = 0.02886: (2.365 · 0.02886 / ln 1.015)² = 21.01, rounded up, of which there are 8.
        assert_eq!(more, 14);
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

    /// s = 2 %, half-width 1.5 %, pilot of 8: t = 2.365, (2.365 · 2 / 1.5)² = 9.94.
    #[test]
    fn steins_size_by_hand() {
        assert_eq!(stein_pairs(0.02, 8, 0.015), 10);
        assert_eq!(stein_pairs(0.001, 8, 0.015), 8);
    }
}
