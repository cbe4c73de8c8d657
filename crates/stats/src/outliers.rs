//! Outliers by the generalized extreme Studentized deviate test (Rosner 1983, DOI
//! 10.1080/00401706.1983.10487848). They are reported and never removed.

use crate::paired::{mean, t_quantile, variance};

/// Probability of an outlier among values of one normal distribution.
const FALSE_ALARM: f64 = 0.05;
/// Fewest values among which one can be an outlier.
const FEWEST: usize = 3;
/// With fewer values the test for several outliers raises false alarms, so only one is tested.
const SEVERAL: usize = 15;

/// Indexes of the outliers, ascending: at most one of fewer than 15 values, otherwise at most a fifth of
/// them.
#[must_use]
pub fn outliers(values: &[f64]) -> Vec<usize> {
    if values.len() < FEWEST {
        return Vec::new();
    }
    let mut left: Vec<usize> = (0..values.len()).collect();
    let (mut taken, mut found) = (Vec::new(), 0);
    let most = if values.len() < SEVERAL { 1 } else { values.len() / 5 };
    for _ in 0..most {
        let those: Vec<f64> = left.iter().map(|&at| values[at]).collect();
        let Some(center) = mean(&those) else { break };
        let deviation = variance(&those, center).sqrt();
        let distance = |at: usize| (values[at] - center).abs();
        let Some(place) = (0..left.len()).max_by(|&a, &b| distance(left[a]).total_cmp(&distance(left[b])))
        else {
            break;
        };
        let at = left.remove(place);
        taken.push(at);
        if deviation > 0.0 && distance(at) / deviation > critical(those.len()) {
            found = taken.len();
        }
    }
    taken.truncate(found);
    taken.sort_unstable();
    taken
}

/// Smallest distance to the mean, in standard deviations, at which the farthest of `n` values is an outlier.
fn critical(n: usize) -> f64 {
    let n = n as f64;
    let t = t_quantile(1.0 - FALSE_ALARM / (2.0 * n), n - 2.0);
    (n - 1.0) * t / ((n - 2.0 + t * t) * n).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosner's own example (1983, table 1): three outliers among 54 values.
    #[test]
    fn the_published_example() {
        let values = [
            -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65,
            1.69, 1.70, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24,
            2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21, 3.26, 3.30, 3.59,
            3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
        ];
        assert_eq!(outliers(&values), [51, 52, 53]);
        assert!((critical(54) - 3.158).abs() < 0.002, "{}", critical(54));
    }

    #[test]
    fn few_values_have_an_outlier_only_where_it_is_far_away() {
        assert_eq!(outliers(&[1000.0, 1001.0, 300.0]), [2]);
        for quiet in [&[1000.0, 1010.0, 950.0][..], &[5.0, 5.0, 5.0], &[1.0, 900.0], &[]] {
            assert_eq!(outliers(quiet), [0; 0], "{quiet:?}");
        }
    }

    #[test]
    fn values_of_one_kind_rarely_have_an_outlier() {
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        for n in [3, 5, 8, 20] {
            let with = (0..1000)
                .filter(|_| !outliers(&(0..n).map(|_| normal()).collect::<Vec<f64>>()).is_empty())
                .count();
            assert!(with < 80, "{n} values: {with} of 1000");
        }
    }
}
