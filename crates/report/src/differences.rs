//! In what arms differ besides speed, as text.

use results::comparison::{Comparison, Difference, largest};
use results::{CellValue, Table};
use spec::figures::Unit;

use crate::numbers::{self, real_cell};
use results::ReportData;

/// Differences listed below an answer, at most.
const MOST_PHRASES: usize = 3;

pub(crate) fn amount(unit: Unit, value: f64) -> String {
    match unit {
        // Less than one byte on average is not a size.
        Unit::Bytes => numbers::bytes(value.round() as u64),
        Unit::Seconds => numbers::latency_ns(value * 1e9),
        _ => numbers::figure_text(value),
    }
}

/// `WAL per transaction: stock 2.20 kB, gis 9.10 kB (4.1 times)`: always a ratio, also below 1.
fn words(of: &Difference, [base, arm]: [&str; 2]) -> String {
    let ratio = of.ratio().map(|ratio| format!(" ({} times)", numbers::about(ratio)));
    format!(
        "{} per {}: {base} {}, {} {}{}",
        of.of.row.label,
        of.per.name(),
        amount(of.of.row.unit, of.base),
        arm,
        amount(of.of.row.unit, of.new),
        ratio.unwrap_or_default()
    )
}

/// The surest differences of an arm in a workload, a phrase each, beginning with a small letter except for
/// names.
pub(crate) fn phrases(all: &[Difference], workload: &str, arm: &str, base: &str) -> Vec<String> {
    largest(all, workload, arm, MOST_PHRASES).into_iter().map(|of| words(of, [base, arm])).collect()
}

/// The surest one, with these names of both sides.
pub(crate) fn largest_in_words(
    all: &[Difference],
    workload: &str,
    arm: &str,
    names: [&str; 2],
) -> Option<String> {
    largest(all, workload, arm, 1).into_iter().next().map(|of| words(of, names))
}

/// The same for every arm and workload of a comparison, for the text below its table; empty if nothing
/// differs much.
#[must_use]
pub fn table_in_words(data: &ReportData, found: &Comparison) -> Table {
    let mut table = Table::new(["arm", "workload", "what differs most besides"]);
    for arm in &found.arms {
        for workload in arm.workload_names() {
            for line in phrases(data.differences(), workload, &arm.arm, &found.base) {
                table.push(vec![arm.arm.as_str().into(), workload.into(), line.into()]);
            }
        }
    }
    table
}

/// All counters of each arm and workload, large or not; the surest difference first.
#[must_use]
pub fn differences(data: &ReportData) -> Table {
    let mut table = Table::new([
        "arm",
        "workload",
        "figure",
        "unit",
        "per",
        "base",
        "new",
        "ratio",
        "mean_ratio",
        "mean_ratio_low",
        "mean_ratio_high",
        "rounds",
        "over_noise",
        "large",
    ]);
    for own in data.differences() {
        let ratios = [own.ratio()].into_iter().chain(own.mean_ratio());
        let head = [own.arm.as_str(), &own.workload, own.of.row.name, own.of.row.unit.name(), own.per.name()]
            .map(CellValue::from);
        let figures = [Some(own.base), Some(own.new)].into_iter().chain(ratios).map(real_cell);
        let judged = [
            (own.estimate.n as u64).into(),
            real_cell(own.over_noise()),
            if own.large { "yes" } else { "no" }.into(),
        ];
        table.push(head.into_iter().chain(figures).chain(judged));
    }
    table
}

/// All large ones of an arm in a workload, for programs; empty if none.
pub(crate) fn raw(all: &[Difference], workload: &str, arm: &str) -> CellValue {
    let own = all.iter().filter(|own| own.large && own.workload == workload && own.arm == arm);
    let own: Vec<serde_json::Value> =
        own.map(|own| serde_json::to_value(own).expect("differences are plain data")).collect();
    if own.is_empty() { CellValue::Null } else { CellValue::Data(own.into()) }
}
