//! Each script of a mix, for programs.

use results::Table;
use spec::figures;

use crate::numbers::{self, real};
use results::ReportData;
use results::cells::CellFigures;
use results::data::levels;

/// One line per cell, arm and script, if a workload has several: transactions and their share in percent,
/// throughput as the mean over rounds, response times of all rounds together.
#[must_use]
pub fn scripts(data: &ReportData) -> Table {
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
    let micros = |ns: Option<f64>| real(ns.map(|ns| ns / 1e3));
    let of_cell =
        |cell: &CellFigures| cell.scripts.iter().map(|own| (cell.clone(), own.clone())).collect::<Vec<_>>();
    for (cell, own) in data.grid.iter().chain(&data.beside).flat_map(of_cell) {
        let quantile = |ns: Option<u64>| micros(ns.map(|ns| ns as f64));
        table.push(vec![
            cell.cell.workload.clone().into(),
            levels(&cell.cell).into(),
            cell.arm.clone().into(),
            own.name.into(),
            own.weight.into(),
            own.transactions.into(),
            real(own.share.map(|share| share * 100.0)),
            real(own.tps),
            micros(own.mean_ns),
            quantile(own.p50_ns),
            quantile(own.p95_ns),
            quantile(own.p99_ns),
            own.failed.into(),
            cell.is_of_started_only().then_some("started only").into(),
            numbers::sliced(cell.sliced),
        ]);
    }
    table
}
