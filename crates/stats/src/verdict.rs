//! From an estimate to a verdict, with a margin; and how many pairs a clearer one would need.

use statrs::distribution::{ChiSquared, Continuous, ContinuousCDF, Normal};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
#[must_use]
pub fn stein_pairs(deviation: f64, pilot: usize, half_width: f64) -> usize {
    let t = t_quantile(0.975, pilot as f64 - 1.0);
    let wanted = (t * deviation / half_width).powi(2).ceil();
    // `as` saturates, which is right for an absurd wish.
    (wanted as usize).max(pilot)
}

/// Power of a paired two-sided t test at 5 %: the chance to see a change of `effect` (in logs) with `n` >= 2 pairs whose
/// differences have standard deviation `deviation`. Exact, by the non-central t distribution.
#[must_use]
pub fn power(effect: f64, deviation: f64, n: usize) -> f64 {
    let df = n as f64 - 1.0;
    let shift = effect / deviation * (n as f64).sqrt();
    let t = t_quantile(0.975, df);
    1.0 - noncentral_t_cdf(t, df, shift) + noncentral_t_cdf(-t, df, shift)
}

/// Fewest pairs (up to 10,000) that see `effect` with at least this power.
#[must_use]
pub fn pairs_for_power(effect: f64, deviation: f64, wanted: f64) -> Option<usize> {
    (2..=10_000).find(|&n| power(effect, deviation, n) >= wanted)
}

/// Smallest gain (a share: 0.02 = 2 %) that `n` >= 2 pairs see with at least this power (0..1, above 0.05).
#[must_use]
pub fn smallest_gain(n: usize, deviation: f64, wanted: f64) -> f64 {
    // Power rises with the effect; 20 standard errors are enough even for n = 2.
    let (mut low, mut high) = (0.0, deviation * 20.0);
    for _ in 0..24 {
        let middle = (low + high) / 2.0;
        if power(middle, deviation, n) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    high.exp_m1()
}

/// P(T <= t) of the non-central t: the normal probability averaged over the chi-squared distribution of the variance.
fn noncentral_t_cdf(t: f64, df: f64, shift: f64) -> f64 {
    let chi = ChiSquared::new(df).expect("positive degrees of freedom");
    let normal = Normal::standard();
    // Substituting x = df·u² keeps the integrand smooth at 0 for few degrees of freedom.
    let top = 1.0 + 12.0 / df.sqrt() + 4.0;
    let steps = 2_000;
    let width = top / f64::from(steps);
    let value = |u: f64| {
        if u == 0.0 { 0.0 } else { normal.cdf(t * u - shift) * chi.pdf(df * u * u) * 2.0 * df * u }
    };
    let inner: f64 =
        (1..steps).map(|i| value(width * f64::from(i)) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (inner + value(0.0) + value(top)) * width / 3.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::paired;

    /// Power to see +3 % by a paired t test, computed once by another program from the non-central t.
    #[test]
    fn power_is_the_published_one() {
        let published: &[(f64, [f64; 5])] = &[
            (0.01, [0.74, 1.0, 1.0, 1.0, 1.0]),
            (0.02, [0.31, 0.70, 0.95, 0.99, 1.0]),
            (0.03, [0.18, 0.39, 0.67, 0.79, 0.94]),
            (0.05, [0.10, 0.18, 0.30, 0.39, 0.57]),
        ];
        for (deviation, row) in published {
            for (n, wanted) in [3, 5, 8, 10, 15].into_iter().zip(row) {
                let got = power(1.03f64.ln(), *deviation, n);
                assert!((got - wanted).abs() < 0.012, "s {deviation}, n {n}: {got}, published {wanted}");
            }
        }
    }

    #[test]
    fn pairs_for_power_are_the_published_ones() {
        for (deviation, row) in [(0.02, [6, 8, 9]), (0.03, [11, 13, 16]), (0.05, [25, 33, 40])] {
            for (wanted, pairs) in [0.8, 0.9, 0.95].into_iter().zip(row) {
                let got = pairs_for_power(1.03f64.ln(), deviation, wanted).unwrap();
                assert!(got.abs_diff(pairs) <= 1, "s {deviation}, power {wanted}: {got}, published {pairs}");
            }
        }
    }

    #[test]
    fn smallest_gains_are_the_published_ones() {
        for (deviation, row) in [
            (0.01, [3.3, 1.7, 1.2, 1.0, 0.8]),
            (0.02, [6.7, 3.4, 2.3, 2.0, 1.6]),
            (0.03, [10.3, 5.2, 3.5, 3.0, 2.4]),
            (0.05, [17.7, 8.8, 6.0, 5.1, 4.0]),
        ] {
            for (n, percent) in [3, 5, 8, 10, 15].into_iter().zip(row) {
                let got = 100.0 * smallest_gain(n, deviation, 0.8);
                assert!((got - percent).abs() <= 0.06, "s {deviation}, n {n}: {got}, published {percent}");
            }
        }
    }

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
