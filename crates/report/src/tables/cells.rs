//! Every cell and arm with its figures.

use record::{Run, Validity};
use results::Table;
use results::comparison::{Cell, Summary};
use stats::Histogram;

use super::{levels, real};
use crate::arrivals::{self, InTime};
use crate::data::ReportData;
use crate::words;

/// What the runs of one cell and arm gave together; of invalid runs only their number.
pub(crate) struct CellFigures<'a> {
    pub(crate) arm: Option<&'a str>,
    pub(crate) cell: Cell,
    /// Runs that are invalid, and in no figure.
    pub(crate) invalid: u64,
    /// Throughput over rounds.
    pub(crate) tps: Summary,
    /// Response times of all rounds.
    pub(crate) response: Histogram,
    /// What became of the arrivals of all rounds, where the load is open, and how their promise was kept.
    pub(crate) in_time: InTime,
    /// Transactions that failed; `None` where all runs are invalid.
    pub(crate) failed: Option<u64>,
    /// Bytes received per transaction, where counted.
    pub(crate) bytes_per_transaction: Option<f64>,
}

impl<'a> CellFigures<'a> {
    /// Figures of these runs by cell, then arm, in order.
    pub(crate) fn of(runs: impl Iterator<Item = &'a Run>, arms: &[Option<&'a str>]) -> Vec<Self> {
        let runs: Vec<&Run> = runs.collect();
        let cells = ReportData::cells(runs.iter().copied());
        let one = |cell: &Cell, arm: Option<&'a str>| {
            let own: Vec<&Run> = runs
                .iter()
                .copied()
                .filter(|run| run.arm.as_deref() == arm && Cell::of(run) == *cell)
                .collect();
            (!own.is_empty()).then(|| Self::gathered(cell.clone(), arm, &own))
        };
        cells.iter().flat_map(|cell| arms.iter().filter_map(|arm| one(cell, *arm))).collect()
    }

    fn gathered(cell: Cell, arm: Option<&'a str>, all: &[&Run]) -> Self {
        let runs: Vec<&Run> = all.iter().copied().filter(|run| run.validity != Validity::Invalid).collect();
        let mut response = Histogram::new();
        for script in runs.iter().flat_map(|run| &run.scripts) {
            response.add(&script.response);
        }
        let sum = |name: &str| runs.iter().map(|run| run.count(name)).sum::<u64>();
        let done = sum("ok") + sum("late");
        let bytes = sum("bytes");
        Self {
            arm,
            cell,
            invalid: (all.len() - runs.len()) as u64,
            tps: runs.iter().filter_map(|run| run.tps()).collect(),
            response,
            in_time: InTime::together(&runs),
            failed: (!runs.is_empty()).then(|| sum("failed")),
            bytes_per_transaction: (done > 0 && bytes > 0).then(|| bytes as f64 / done as f64),
        }
    }

    /// Quantile of the response times of all rounds together, in nanoseconds, as `Metric::of_runs` has it.
    pub(crate) fn quantile_ns(&self, q: f64) -> Option<f64> {
        self.response.quantile_ns(q).map(|ns| ns as f64)
    }
}

/// One line per cell and arm: throughput as mean and maximum over rounds, percentiles of all rounds together, how many
/// runs are invalid and in no figure, and a word where the others fall into two groups.
#[must_use]
pub fn cells(data: &ReportData) -> Table {
    let mut table = Table::new(&[
        "workload", "cell", "arm", "runs", "tps_mean", "tps_max", "p50_us", "p99_us", "failed", "invalid",
        "groups",
    ]);
    table.optional.extend(["invalid", "groups"].map(str::to_owned));
    let mut of_cells = Vec::new();
    let mut add = |figures: CellFigures<'_>| {
        of_cells.push(figures.in_time);
        let micros = |q| real(figures.quantile_ns(q).map(|ns| ns / 1e3));
        table.push(vec![
            figures.cell.workload.clone().into(),
            levels(&figures.cell),
            figures.arm.into(),
            (figures.tps.n as u64).into(),
            real(figures.tps.mean()),
            real(figures.tps.max()),
            micros(0.5),
            micros(0.99),
            figures.failed.into(),
            figures.invalid.into(),
            data.grouped(&figures.cell, figures.arm).map(words::groups).into(),
        ]);
    };
    CellFigures::of(data.grid_runs(), &data.arms()).into_iter().for_each(&mut add);
    CellFigures::of(data.runs_beside(), &[None]).into_iter().for_each(&mut add);
    arrivals::insert(&mut table, "p99_us", &of_cells);
    table
}
