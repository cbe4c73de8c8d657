//! Two arms measured in pairs: the log of the ratio, its interval and its p.
//!
//! A pair's difference is d = ln(new / base). Logs make ratios symmetric; pairing removes slow drift (Abedi &
//! Brecht 2017, DOI 10.1145/3030207.3030229). Estimates are t intervals on the mean of d.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Mean of log ratios with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Mean of ln(new / base).
    pub log_ratio: f64,
    /// Standard error of `log_ratio`; `None` with a single value.
    pub standard_error: Option<f64>,
    /// Degrees of freedom of the t distribution; meaningless without a standard error.
    pub df: f64,
    /// Number of independent values (pairs, rounds).
    pub n: usize,
    /// Number of lines that are read together with this one, itself included; at least 1. Interval and p are
    /// adjusted for all.
    pub lines: usize,
}

impl Estimate {
    /// Change in percent, from the geometric mean of the ratios.
    #[must_use]
    pub fn change_pct(&self) -> f64 {
        percent_change(self.log_ratio)
    }

    /// The estimate as one of this many lines that are read together.
    #[must_use]
    pub fn among(self, lines: usize) -> Self {
        Self { lines: lines.max(1), ..self }
    }

    /// Two-sided interval in logs; `None` with a single value. The intervals of all its lines hold together
    /// with this confidence (0..1; Bonferroni: Dunn, J. Am. Stat. Assoc. 1961): a single line has the usual
    /// interval.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let half = self.standard_error? * t_quantile(self.upper(confidence), self.df);
        Some((self.log_ratio - half, self.log_ratio + half))
    }

    /// The quantile at the interval's upper end.
    pub(crate) fn upper(&self, confidence: f64) -> f64 {
        1.0 - (1.0 - confidence) / (2.0 * self.lines as f64)
    }

    /// 95 % interval of the change, in percent; `None` with a single value.
    #[must_use]
    pub fn interval_pct(&self) -> Option<(f64, f64)> {
        self.interval(0.95).map(|(low, high)| (percent_change(low), percent_change(high)))
    }

    /// Sets a lower bound for the standard error, in logs, for a measurement that is coarser than its
    /// scatter. A single value still has none.
    #[must_use]
    pub fn at_least(mut self, error: f64) -> Self {
        self.standard_error = self.standard_error.map(|own| own.max(error));
        self
    }

    /// [`Estimate::p`] times the number of lines, at most 1: below 0.05 where the interval excludes "no change".
    #[must_use]
    pub fn p_adjusted(&self) -> Option<f64> {
        self.p().map(|p| (p * self.lines as f64).min(1.0))
    }

    /// Two-sided p of "no change", as if it were the only line; `None` with a single value.
    #[must_use]
    pub fn p(&self) -> Option<f64> {
        let error = self.standard_error?;
        if error == 0.0 {
            return Some(if self.log_ratio == 0.0 { 1.0 } else { 0.0 });
        }
        let t = (self.log_ratio / error).abs();
        Some(2.0 * student(self.df).sf(t))
    }

    /// Standard deviation of the values; `None` with a single value.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        self.standard_error.map(|error| error * (self.n as f64).sqrt())
    }
}

/// A log ratio in percent: 100 (e^x - 1).
#[must_use]
pub fn percent_change(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

pub(crate) fn student(df: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, df.max(f64::MIN_POSITIVE)).expect("positive degrees of freedom")
}

/// Quantile `q` (0..1) of Student's t with `df` degrees of freedom.
#[must_use]
pub(crate) fn t_quantile(q: f64, df: f64) -> f64 {
    student(df).inverse_cdf(q)
}

/// Mean and standard error of paired differences; `None` when there are none.
#[must_use]
pub fn paired(differences: &[f64]) -> Option<Estimate> {
    let n = differences.len();
    let mean = mean(differences)?;
    let standard_error = (n > 1).then(|| (variance(differences, mean) / n as f64).sqrt());
    Some(Estimate { log_ratio: mean, standard_error, df: n as f64 - 1.0, n, lines: 1 })
}

/// Mean of plain values and its 95 % t interval; no interval for a single value, `None` without values.
#[must_use]
pub fn mean_with_interval(values: &[f64]) -> Option<(f64, Option<(f64, f64)>)> {
    let Estimate { log_ratio: mean, standard_error, df, .. } = paired(values)?;
    let half = standard_error.map(|error| error * t_quantile(0.975, df));
    Some((mean, half.map(|half| (mean - half, mean + half))))
}

/// Correlation of values with their successors (lag 1), each series about its own mean; `None` below 8 pairs
/// of neighbours in all, or where nothing varies.
#[must_use]
pub fn autocorrelation(series: &[Vec<f64>]) -> Option<f64> {
    let (mut neighbours, mut products, mut squares) = (0, 0.0, 0.0);
    for values in series {
        let Some(mean) = mean(values) else { continue };
        squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        products += values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        neighbours += values.len() - 1;
    }
    (neighbours >= 8 && squares > 0.0).then(|| products / squares)
}

/// Two sets that were not measured together: Welch's t on logs. It cannot separate drift from change.
#[must_use]
pub fn welch(base: &[f64], new: &[f64]) -> Option<Estimate> {
    difference(&logs(base)?, &logs(new)?)
}

/// Welch's t on the logarithms of two sets that were not measured together: how much the mean of `new`
/// exceeds the mean of `base`. `None` when one is empty.
#[must_use]
pub fn difference(base: &[f64], new: &[f64]) -> Option<Estimate> {
    let (mean_base, mean_new) = (mean(base)?, mean(new)?);
    let part = |values: &[f64], mean: f64| variance(values, mean) / values.len() as f64;
    let n = base.len().min(new.len());
    if n < 2 {
        return Some(Estimate {
            log_ratio: mean_new - mean_base,
            standard_error: None,
            df: 0.0,
            n,
            lines: 1,
        });
    }
    let (a, b) = (part(base, mean_base), part(new, mean_new));
    let df = if a + b == 0.0 {
        (base.len() + new.len() - 2) as f64
    } else {
        (a + b).powi(2) / (a * a / (base.len() - 1) as f64 + b * b / (new.len() - 1) as f64)
    };
    let standard_error = Some((a + b).sqrt());
    Some(Estimate { log_ratio: mean_new - mean_base, standard_error, df, n, lines: 1 })
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|&value| (value > 0.0).then(|| value.ln())).collect()
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

pub(crate) fn variance(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

/// Geometric mean of positive values; `None` when there are none, or one is not positive.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    mean(&logs(values)?).map(f64::exp)
}

/// Hodges-Lehmann estimate: the median of the means of all pairs of differences, each with itself included.
#[must_use]
pub fn hodges_lehmann(differences: &[f64]) -> Option<f64> {
    let mut walsh = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (at, first) in differences.iter().enumerate() {
        walsh.extend(differences[at..].iter().map(|second| (first + second) / 2.0));
    }
    median(&mut walsh)
}

fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    // Thousands of rounds have millions of means of pairs: too many to sort.
    let (middle, is_odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| !is_odd);
    Some(lower.map_or(upper, |lower| (lower + upper) / 2.0))
}

/// Most differences for the exact test (2^n sums).
const EXACT_FLIPS: usize = 20;

/// Two-sided p of the sign-flip test: under "no change" every difference could have had the other sign.
///
/// Exact over all 2^n flips up to 20 differences; with more, the normal approximation of the flipped sum,
/// whose variance is the sum of squares.
#[must_use]
pub fn sign_flip_p(differences: &[f64]) -> Option<f64> {
    let n = differences.len();
    if n == 0 {
        return None;
    }
    let observed = differences.iter().sum::<f64>().abs();
    if n > EXACT_FLIPS {
        let spread = differences.iter().map(|d| d * d).sum::<f64>().sqrt();
        return Some(if spread == 0.0 { 1.0 } else { 2.0 * Normal::standard().sf(observed / spread) });
    }
    // Sums that differ only by rounding count as equal.
    let size: f64 = differences.iter().map(|d| d.abs()).sum();
    let bound = observed - size * 1e-12;
    let reached = flipped_sums(differences).filter(|sum| sum.abs() >= bound).count();
    Some(reached as f64 / f64::from(1u32 << n))
}

/// The sums for all 2^n choices of signs. In Gray code order one sign changes at a time, so that each sum
/// costs one addition.
fn flipped_sums(differences: &[f64]) -> impl Iterator<Item = f64> {
    let mut signed = differences.to_vec();
    let mut sum: f64 = signed.iter().sum();
    let flips = (1u32..1 << differences.len()).map(|step| step.trailing_zeros() as usize);
    std::iter::once(sum).chain(flips.map(move |at| {
        signed[at] = -signed[at];
        sum += 2.0 * signed[at];
        sum
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::Normals;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
    }

    /// t(.975) for n = 3, 4, 5, 6, 8, 10, 12, 15, 20 values, as printed in every table.
    #[test]
    fn quantiles_of_t_are_the_published_ones() {
        let published = [
            (3, 4.303),
            (4, 3.182),
            (5, 2.776),
            (6, 2.571),
            (8, 2.365),
            (10, 2.262),
            (12, 2.201),
            (15, 2.145),
            (20, 2.093),
        ];
        for (n, t) in published {
            close(t_quantile(0.975, f64::from(n - 1)), t, 0.0006);
        }
    }

    /// Student's own example (Biometrika 1908, sleep data): extra hours under two drugs, t = 4.062, p = 0.00283.
    #[test]
    fn students_sleep_data_give_students_answer() {
        let extra = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let estimate = paired(&extra).unwrap();
        close(estimate.log_ratio, 1.58, 1e-12);
        close(estimate.log_ratio / estimate.standard_error.unwrap(), 4.0621, 1e-4);
        close(estimate.p().unwrap(), 0.002_833, 1e-6);
        let (low, high) = estimate.interval(0.95).unwrap();
        close(low, 0.7001, 1e-4);
        close(high, 2.4599, 1e-4);
    }

    /// Student's data: the 28th of the 55 Walsh averages in order is 1.3.
    #[test]
    fn hodges_lehmann_is_the_median_of_walsh_averages() {
        let extra = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        close(hodges_lehmann(&extra).unwrap(), 1.3, 1e-12);
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 3.0]), Some(2.0));
        assert_eq!(hodges_lehmann(&[]), None);
    }

    /// With all differences of one sign only two of the 2^n flips are as far out.
    #[test]
    fn smallest_sign_flip_p_is_two_in_two_to_the_n() {
        for (n, p) in [(3, 0.25), (5, 0.0625), (6, 0.03125), (8, 2.0 / 256.0)] {
            let differences: Vec<f64> = (1..=n).map(f64::from).collect();
            close(sign_flip_p(&differences).unwrap(), p, 1e-12);
        }
        close(sign_flip_p(&[1.0, -1.0]).unwrap(), 1.0, 1e-12);
        // Sums by hand: ±6 twice, ±4, ±2, 0 twice; 4 of 8 are at least 4 away from 0.
        close(sign_flip_p(&[1.0, 2.0, 3.0]).unwrap(), 0.25, 1e-12);
        close(sign_flip_p(&[-1.0, 2.0, 3.0]).unwrap(), 0.5, 1e-12);
        let many: Vec<f64> = (0..30).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        close(sign_flip_p(&many).unwrap(), 1.0, 1e-9);
    }

    /// t(.99375, 9) = 3.111, by R's `qt`: each of four lines misses once in 80 cases, so all hold in 95 of
    /// 100.
    #[test]
    fn intervals_of_lines_that_are_read_together_hold_together() {
        let extra = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let alone = paired(&extra).unwrap();
        let (low, high) = alone.among(4).interval(0.95).unwrap();
        let half = 3.111 * alone.standard_error.unwrap();
        close(low, 1.58 - half, 1e-3);
        close(high, 1.58 + half, 1e-3);
        close(alone.among(4).p_adjusted().unwrap(), 4.0 * 0.002_833, 1e-5);
        for lines in 1..200 {
            let one = alone.among(lines);
            let excludes_0 = one.interval(0.95).unwrap().0 > 0.0;
            assert_eq!(one.p_adjusted().unwrap() < 0.05, excludes_0, "{lines}");
        }
    }

    #[test]
    fn one_value_has_no_interval_and_none_no_estimate() {
        assert!(paired(&[]).is_none());
        let one = paired(&[0.03]).unwrap();
        assert_eq!((one.interval(0.95), one.p()), (None, None));
    }

    /// Student's sleep data as two groups (R's `t.test(extra ~ group)`): t = 1.8608, df = 17.776, p = 0.07939.
    #[test]
    fn welch_weighs_unequal_variances() {
        let base = [0.7f64, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let new = [1.9f64, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let exponentiated = |values: &[f64]| values.iter().map(|v| v.exp()).collect::<Vec<_>>();
        let estimate = welch(&exponentiated(&base), &exponentiated(&new)).unwrap();
        close(estimate.log_ratio / estimate.standard_error.unwrap(), 1.8608, 1e-4);
        close(estimate.df, 17.776, 1e-3);
        close(estimate.p().unwrap(), 0.079_39, 1e-5);
    }

    #[test]
    fn geometric_mean_of_positive_values_only() {
        close(geometric_mean(&[1.0, 4.0, 16.0]).unwrap(), 4.0, 1e-12);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(geometric_mean(&[]), None);
    }

    /// The largest |t| of several arms against one base, in each of many comparisons in which nothing differs.
    fn largest_t(arms: usize, cells: usize, rounds: usize) -> Vec<f64> {
        let mut normals = Normals::new(3);
        let largest = |_| {
            let mut largest = 0.0_f64;
            for _ in 0..cells {
                let base: Vec<f64> = (0..rounds).map(|_| normals.next()).collect();
                for _ in 0..arms {
                    let differences: Vec<f64> = base.iter().map(|base| normals.next() - base).collect();
                    let estimate = paired(&differences).unwrap();
                    largest = largest.max((estimate.log_ratio / estimate.standard_error.unwrap()).abs());
                }
            }
            largest
        };
        let mut all: Vec<f64> = (0..4000).map(largest).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// All intervals of several arms hold together in 95 of 100 comparisons and a little more, since the arms share
    /// their base; Dunnett's would be narrower by a few percent (docs/decisions/0054).
    #[test]
    fn the_intervals_of_several_arms_against_one_base_hold_together() {
        for (arms, cells) in [(2, 1), (4, 1), (3, 4), (5, 3)] {
            for rounds in [6, 12] {
                let half = t_quantile(1.0 - 0.025 / (arms * cells) as f64, rounds as f64 - 1.0);
                let all = largest_t(arms, cells, rounds);
                let wrong = all.iter().filter(|t| **t > half).count() as f64 / all.len() as f64;
                assert!(
                    (0.025..0.055).contains(&wrong),
                    "{arms} arms, {cells} cells, {rounds} rounds: {wrong}"
                );
                let exact = all[all.len() * 95 / 100];
                assert!(half / exact < 1.15, "{half} instead of {exact}");
            }
        }
    }
}
