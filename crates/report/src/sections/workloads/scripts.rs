//! The figures of each script of a mix.

use results::comparison::Cell;
use results::{CellValue, ReportData, Table};
use spec::figures;

use crate::numbers::{self, real_cell, should_be_0};
use results::cells::CellFigures;
use results::data::levels;

/// One line per cell, arm and script, if a workload has several: transactions and their share in percent,
/// throughput as the mean over rounds, response times of all rounds together.
#[must_use]
pub fn scripts(data: &ReportData) -> Table {
    scripts_of(&data.grid().iter().chain(data.beside()).collect::<Vec<_>>(), levels)
}

pub(super) fn scripts_of(cells: &[&CellFigures], label: impl Fn(&Cell) -> String) -> Table {
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        "script",
        "weight",
        "transactions",
        "share_pct",
        "tps_mean",
        "mean_us",
        "p50_us",
        "p95_us",
        "p99_us",
        figures::FAILED.name,
        "times_of",
        "sliced",
    ]);
    table.optional(["arm", figures::FAILED.name, "times_of", "sliced"]);
    let micros = |ns: Option<f64>| real_cell(ns.map(|ns| ns / 1e3));
    let quantile = |ns: Option<u64>| micros(ns.map(|ns| ns as f64));
    let lines = cells.iter().flat_map(|cell| cell.scripts.iter().map(move |own| (cell, own)));
    for (cell, own) in lines {
        table.push([
            (&cell.cell.workload).into(),
            label(&cell.cell).into(),
            cell.arm.clone().into(),
            (&own.name).into(),
            own.weight.into(),
            own.transactions.into(),
            real_cell(own.share.map(|share| share * 100.0)),
            real_cell(own.tps),
            micros(own.mean_ns),
            quantile(own.p50_ns),
            quantile(own.p95_ns),
            quantile(own.p99_ns),
            should_be_0(Some(own.failed)),
            cell.is_of_started_only().then(|| CellValue::marked("started only", "doubt")).into(),
            numbers::sliced(cell.sliced),
        ]);
    }
    table
}
