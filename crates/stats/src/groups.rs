//! Detects runs that should be alike and fall into two groups.

use crate::paired::mean;

/// Smallest factor between neighbouring members of two groups.
const FACTOR: f64 = 1.3;
/// Fewest values that can form groups.
const FEWEST: usize = 3;

/// Values that are close together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueGroup {
    pub n: usize,
    /// Geometric mean.
    pub center: f64,
}

/// Two groups of values with a clear gap between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoGroups {
    pub low: ValueGroup,
    pub high: ValueGroup,
    /// The middle of the gap: larger values belong to `high`.
    pub boundary: f64,
}

/// The two groups that positive values fall into, if any; `None` for fewer than three values, or if one is
/// not positive.
///
/// The rule: sort the logarithms and cut at the largest gap between neighbours. The values on both sides are
/// two groups when that gap is a factor of at least 1.3, and at least 3 times as wide as the wider group; 5
/// times with four values and 10 times with three, of which two are easily close together by chance. Of
/// 20,000 sets of runs with normal noise of 5 % none is split; with noise of 10 % at most 1.4 in 100 (three
/// runs; 0.1 with six).
#[must_use]
pub fn two_groups(values: &[f64]) -> Option<TwoGroups> {
    if values.len() < FEWEST || !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return None;
    }
    let mut logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    logs.sort_by(f64::total_cmp);
    let gap_before = |at: usize| logs[at] - logs[at - 1];
    let cut = (1..logs.len()).max_by(|&a, &b| gap_before(a).total_cmp(&gap_before(b)))?;
    let (low, high) = logs.split_at(cut);
    let width = |group: &[f64]| group[group.len() - 1] - group[0];
    let wanted = times_the_width(values.len()) * width(low).max(width(high));
    if gap_before(cut) < wanted.max(FACTOR.ln()) {
        return None;
    }
    let group = |logs: &[f64]| Some(ValueGroup { n: logs.len(), center: mean(logs)?.exp() });
    let boundary = f64::midpoint(logs[cut - 1], logs[cut]).exp();
    Some(TwoGroups { low: group(low)?, high: group(high)?, boundary })
}

/// Required width of the gap, in widths of a group.
fn times_the_width(values: usize) -> f64 {
    match values {
        3 => 10.0,
        4 => 5.0,
        _ => 3.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Select-only, one client, 2 CPUs: five runs with client and server on separate CPUs, one with both on
    /// the same.
    #[test]
    fn five_runs_alike_and_one_five_times_as_fast_are_two_groups() {
        let found = two_groups(&[6674.0, 7592.0, 7393.0, 6580.0, 6459.0, 32_149.0]).unwrap();
        assert_eq!((found.low.n, found.high.n), (5, 1));
        assert!((found.low.center - 6925.0).abs() < 5.0, "{}", found.low.center);
        assert!((found.high.center - 32_149.0).abs() < 1e-6);
        assert!(found.boundary > 7592.0 && found.boundary < 32_149.0);
    }

    #[test]
    fn groups_of_several_runs_are_found_whatever_their_order() {
        let values = [32_700.0, 15_700.0, 33_100.0, 15_400.0, 32_000.0, 16_000.0];
        let found = two_groups(&values).unwrap();
        assert_eq!((found.low.n, found.high.n), (3, 3));
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        assert_eq!(two_groups(&sorted), Some(found));
        assert_eq!(two_groups(&[700.0, 705.0, 2000.0]).map(|found| found.high.n), Some(1));
    }

    #[test]
    fn ordinary_noise_is_not_two_groups() {
        for values in [
            &[1000.0, 1030.0, 980.0, 1010.0, 995.0, 1020.0][..],
            &[100.0, 104.0, 95.0, 140.0], // one run off, but not far enough against the spread of the others
            &[100.0, 130.0, 170.0, 220.0, 290.0], // widely spread, evenly
            &[100.0, 100.0, 100.0, 120.0], // a clear gap, but a small one
            &[1000.0, 1050.0, 1500.0],    // three runs say little
            &[5.0, 9.0],
            &[],
            &[0.0, 1.0, 100.0],
            &[f64::NAN, 1.0, 100.0],
            &[7.0, 7.0, 7.0, 7.0],
        ] {
            assert_eq!(two_groups(values), None, "{values:?}");
        }
    }

    /// Normal noise of 5 % on 2,000 cells each of 3 to 12 runs raises no alarm; noise of 10 % hardly any.
    #[test]
    fn noise_of_ten_percent_raises_few_alarms() {
        let mut state = 7u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut noise = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        for (deviation, most) in [(0.05, 0), (0.1, 40)] {
            for n in [3, 4, 5, 6, 8, 12] {
                let alarms = (0..2000)
                    .filter(|_| {
                        let values: Vec<f64> = (0..n).map(|_| (deviation * noise()).exp() * 900.0).collect();
                        two_groups(&values).is_some()
                    })
                    .count();
                assert!(alarms <= most, "{alarms} of 2000 cells with {n} runs, deviation {deviation}");
            }
        }
    }
}
