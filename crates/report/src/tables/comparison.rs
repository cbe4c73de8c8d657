use results::comparison::{ArmComparison, Comparison, Metric};
use results::{Table, Value};
use stats::{Estimate, Verdict};

use super::{levels, real};
use crate::words;

/// Every arm against the base: a line per cell, one per workload (cell empty), one for the whole grid.
///
/// Means per second or in µs, as the metric is; changes and intervals (95 %) in percent; p after Holm's adjustment,
/// for cells only.
#[must_use]
pub fn comparison(found: &Comparison) -> Table {
    let unit = match found.metric {
        Metric::Tps => "tps",
        Metric::P50 => "p50_us",
        Metric::P95 => "p95_us",
        Metric::P99 => "p99_us",
    };
    let base = format!("base_{unit}");
    let mut table = Table::new(&[
        "arm",
        "workload",
        "cell",
        &base,
        unit,
        "change_pct",
        "low_pct",
        "high_pct",
        "p_holm",
        "n",
        "verdict",
    ]);
    for arm in &found.arms {
        add_arm(&mut table, found, arm);
    }
    table
}

fn add_arm(table: &mut Table, found: &Comparison, arm: &ArmComparison) {
    for cell in &arm.cells {
        let means = [real(cell.base.mean()), real(cell.new.mean())];
        let head = [arm.arm.clone().into(), cell.cell.workload.clone().into(), levels(&cell.cell)];
        table.push(row(
            head,
            means,
            cell.estimate.as_ref(),
            cell.holm_p,
            words::verdict(cell.verdict, found.margin),
        ));
    }
    let workloads = arm.workloads.iter().map(|(name, figure)| (name.as_str(), figure));
    let grid = arm.grid.iter().map(|figure| ("whole grid", figure));
    for (name, figure) in workloads.chain(grid) {
        let head = [arm.arm.clone().into(), name.into(), "".into()];
        let verdict: Verdict = figure.verdict;
        let words = words::verdict(verdict, found.margin);
        table.push(row(head, [Value::Null, Value::Null], Some(&figure.grid.estimate), None, words));
    }
}

fn row(
    head: [Value; 3],
    means: [Value; 2],
    estimate: Option<&Estimate>,
    holm_p: Option<f64>,
    verdict: String,
) -> Vec<Value> {
    let interval = estimate.and_then(Estimate::interval_pct);
    let tail = [
        real(estimate.map(Estimate::change_pct)),
        real(interval.map(|(low, _)| low)),
        real(interval.map(|(_, high)| high)),
        real(holm_p),
        (estimate.map_or(0, |estimate| estimate.n) as u64).into(),
        verdict.into(),
    ];
    head.into_iter().chain(means).chain(tail).collect()
}
