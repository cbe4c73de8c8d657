//! Whether a few requests rule a mean: then the median says more of what a tile takes.

use std::collections::BTreeMap;

use stats::Histogram;

use super::PlaceRequests;

/// Requests below which nobody can tell which of them are outliers.
const ENOUGH: u64 = 100;
/// Share of the slowest requests that are left out for comparison.
const SLOWEST: f64 = 0.01;
/// Number of quantiles whose mean represents the others.
const QUANTILES: u32 = 99;

/// Whether the slowest hundredth of the requests takes more than half of the time.
pub(super) fn rule_the_mean(rounds: &BTreeMap<u32, &PlaceRequests>) -> bool {
    let mut all = Histogram::new();
    rounds.values().for_each(|own| all.add(&own.service));
    let Some(mean_ns) = all.mean_ns().filter(|_| all.count() >= ENOUGH) else { return false };
    let at = |number: u32| (f64::from(number) + 0.5) / f64::from(QUANTILES) * (1.0 - SLOWEST);
    let quantiles = (0..QUANTILES).filter_map(|number| all.quantile_ns(at(number)));
    let others_ns = quantiles.map(|ns| ns as f64).sum::<f64>() / f64::from(QUANTILES);
    others_ns * (1.0 - SLOWEST) < mean_ns / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(times_us: &[(u64, u64)]) -> PlaceRequests {
        let mut own = PlaceRequests::default();
        for (count, us) in times_us {
            (0..*count).for_each(|_| own.service.record(us * 1000));
        }
        own
    }

    #[test]
    fn one_tile_in_two_hundred_may_rule_a_mean() {
        for (what, times, wanted) in [
            ("one of 5 s", &[(199, 1_000), (1, 5_000_000)][..], true),
            ("a wide spread", &[(100, 1_000), (100, 9_000)], false),
            ("a slow twentieth", &[(190, 1_000), (10, 100_000)], false),
            ("too few to tell", &[(9, 1_000), (1, 5_000_000)], false),
            ("none", &[], false),
        ] {
            let own = requests(times);
            assert_eq!(rule_the_mean(&BTreeMap::from([(1, &own)])), wanted, "{what}");
        }
    }
}
