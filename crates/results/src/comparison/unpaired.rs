//! Sets that were not measured together: no pairs, and drift cannot be distinguished from change.

use std::collections::BTreeMap;

use stats::{Estimate, GridEstimate, Verdict};

use super::pairs::{Cell, CellRuns, least_error};
use super::{CellComparison, Metric, SecondOpinion, geometric_means};

const ENOUGH: usize = 4;

pub(super) fn compare_cell(
    cell: Cell,
    runs: &CellRuns,
    base: &str,
    arm: &str,
    metric: Metric,
) -> CellComparison {
    let ((of_base, mut excluded), (of_arm, also)) = (runs.of(base), runs.of(arm));
    excluded.extend(also);
    let [old, new] = [&of_base, &of_arm].map(|arm| arm.values().map(|of| of.value).collect::<Vec<f64>>());
    let least_error = least_error(of_base.values()).hypot(least_error(of_arm.values()));
    let estimate = stats::welch(&old, &new).map(|estimate| estimate.at_least(least_error));
    let too_few = runs.too_few([base, arm]);
    let estimate = estimate.filter(|_| too_few.is_none());
    // Shown with the estimate, which does not rest on them.
    let ratio = |round: &u32, old: f64| Some((*round, (of_arm.get(round)?.value / old).ln()));
    let differences: BTreeMap<u32, f64> =
        of_base.iter().filter_map(|(round, old)| ratio(round, old.value)).collect();
    CellComparison {
        cell,
        second_opinion: estimate.and_then(|estimate| second_opinion(&old, &new, &estimate)),
        base: runs.figure(base),
        new: runs.figure(arm),
        compared: geometric_means(metric, [&old, &new]),
        scheduled: metric == Metric::Tps && runs.open,
        job: runs.job,
        differences,
        sets: Default::default(),
        least_error,
        estimate,
        verdict: too_few.map_or(Verdict::Invalid, Verdict::TooFew),
        excluded,
        sliced: None,
    }
}

/// The Mann-Whitney U test with the median of all ratios, if it takes the other side of "p < 0.05" or has
/// the other sign.
fn second_opinion(old: &[f64], new: &[f64], estimate: &Estimate) -> Option<SecondOpinion> {
    let mut ratios: Vec<f64> =
        old.iter().flat_map(|old| new.iter().map(move |new| (new / old).ln())).collect();
    ratios.sort_by(f64::total_cmp);
    let (middle, odd) = (ratios.len() / 2, ratios.len() % 2 == 1);
    let center =
        if odd { *ratios.get(middle)? } else { (ratios.get(middle - 1)? + ratios.get(middle)?) / 2.0 };
    let p = stats::rank_sum_p(old, new)?;
    let other_sign = center.signum() != estimate.log_ratio.signum();
    let enough = old.len().min(new.len()) >= ENOUGH;
    let other_side = enough && (p < 0.05) != (estimate.p()? < 0.05);
    (other_sign || other_side).then(|| SecondOpinion { change_pct: stats::percent_change(center), p })
}

pub(super) fn mean(cells: &[&CellComparison]) -> Option<GridEstimate> {
    let estimates: Vec<Estimate> = cells.iter().filter_map(|cell| cell.estimate).collect();
    stats::combined(&estimates)
}
