//! Crosstabs: one factor down, the arms across, and what every figure covers.

use std::collections::{BTreeMap, BTreeSet};

use super::pairs::{Cell, Level};
use super::{CellComparison, Comparison, Metric, Summary};
use spec::count;
use spec::{ExperimentRecord, Run, RunKind, Validity};

const RATE: &str = "rate";

/// One level of the factor of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CrosstabRow {
    pub level: String,
    pub cells: Vec<Option<Summary>>,
    /// Change of each column but the base's in percent, by the estimator of the verdicts over the cells of
    /// this row; for one cell it is the change of its verdict.
    pub changes: Vec<Option<f64>>,
}

/// A workload's figures: `factor` down, arms across.
#[derive(Debug, Clone, PartialEq)]
pub struct Crosstab {
    pub workload: String,
    pub factor: String,
    pub columns: Vec<String>,
    pub rows: Vec<CrosstabRow>,
    /// Change of each column but the base's in percent, over all rows: the change of the workload's
    /// verdict.
    pub changes: Vec<Option<f64>>,
    /// Whether rates are offered on a schedule: then a mean over rows would be a mean of requested values.
    pub open: bool,
    /// Whether jobs were timed: figures are then seconds, changes still of the speed.
    pub job: bool,
    pub over: String,
}

impl Crosstab {
    /// Geometric mean over the rows of each column's means (or maxima); `None` if a row lacks a value. None
    /// at all for a single row or offered rates.
    #[must_use]
    pub fn geometric_means(&self, of: impl Fn(&Summary) -> Option<f64>) -> Option<Vec<Option<f64>>> {
        if self.rows.len() < 2 || self.open {
            return None;
        }
        let means = (0..self.columns.len())
            .map(|column| {
                let values: Option<Vec<f64>> =
                    self.rows.iter().map(|row| row.cells[column].as_ref().and_then(&of)).collect();
                stats::geometric_mean(&values?)
            })
            .collect();
        Some(means)
    }
}

/// One crosstab per workload. Its rows are offered rates if these vary, else `clients` if these vary, else
/// the factor with most levels. Invalid runs are left out; if a cell has no others, `over` lists it.
#[must_use]
pub fn crosstabs(experiment: &ExperimentRecord, runs: &[Run], metric: Metric) -> Vec<Crosstab> {
    let mut by_workload: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.is_measured()) {
        by_workload.entry(&run.workload).or_default().push(run);
    }
    let comparison = Comparison::of(experiment, runs, metric);
    by_workload
        .into_iter()
        .map(|(workload, runs)| crosstab(experiment, comparison.as_ref(), workload, &runs, metric))
        .collect()
}

fn crosstab(
    experiment: &ExperimentRecord,
    comparison: Option<&Comparison>,
    workload: &str,
    runs: &[&Run],
    metric: Metric,
) -> Crosstab {
    let factor = factor_down(runs);
    let columns = columns(experiment, runs);
    let changes = |of_row: &dyn Fn(&CellComparison) -> bool| -> Vec<Option<f64>> {
        columns
            .iter()
            .skip(1)
            .map(|column| change(comparison?, column, |cell| cell.cell.workload == workload && of_row(cell)))
            .collect()
    };
    let levels: BTreeSet<Level> = runs.iter().map(|run| level(run, &factor)).collect();
    let usable: Vec<&Run> = runs.iter().copied().filter(|run| run.validity != Validity::Invalid).collect();
    let rows = levels
        .into_iter()
        .map(|wanted| CrosstabRow {
            cells: columns
                .iter()
                .map(|column| {
                    let values = usable
                        .iter()
                        .filter(|run| {
                            level(run, &factor) == wanted && run.arm.as_deref().unwrap_or_default() == column
                        })
                        .filter_map(|run| {
                            run.took_s().filter(|_| metric == Metric::Tps).or_else(|| metric.of(run))
                        });
                    Some(values.collect::<Summary>()).filter(|summary| summary.n > 0)
                })
                .collect(),
            changes: changes(&|cell| cell.cell.factors.get(&factor).cloned().unwrap_or_default() == wanted),
            level: wanted.0,
        })
        .collect();
    Crosstab {
        workload: workload.to_owned(),
        over: over(runs, &usable, &factor),
        changes: changes(&|_| true),
        open: runs.iter().any(|run| run.is_open()),
        job: runs.iter().any(|run| run.kind == RunKind::Job),
        factor,
        columns,
        rows,
    }
}

fn columns(experiment: &ExperimentRecord, runs: &[&Run]) -> Vec<String> {
    if runs.iter().all(|run| run.arm.is_none()) {
        return vec![String::new()];
    }
    let mut columns: Vec<String> = experiment.arms.iter().map(|arm| arm.name.clone()).collect();
    columns.sort_by_key(|column| experiment.base.as_ref() != Some(column));
    columns
}

fn change(comparison: &Comparison, arm: &str, wanted: impl Fn(&CellComparison) -> bool) -> Option<f64> {
    let arm = comparison.arms.iter().find(|compared| compared.arm == arm)?;
    let cells: Vec<&CellComparison> = arm.cells.iter().filter(|cell| wanted(cell)).collect();
    comparison.change_over(&cells)
}

fn level(run: &Run, factor: &str) -> Level {
    Level(run.factors.get(factor).cloned().unwrap_or_default())
}

fn levels<'a>(runs: &[&'a Run]) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut levels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, level) in runs.iter().flat_map(|run| &run.factors).filter(|(name, _)| *name != "workload") {
        levels.entry(name).or_default().insert(level);
    }
    levels
}

fn factor_down(runs: &[&Run]) -> String {
    let levels = levels(runs);
    let widest = levels.iter().max_by_key(|(name, levels)| (levels.len(), **name == "clients"));
    let varies = |name: &str| levels.get(name).is_some_and(|levels| levels.len() > 1);
    if varies(RATE) && runs.iter().any(|run| run.is_open()) {
        RATE.to_owned()
    } else if varies("clients") {
        "clients".to_owned()
    } else {
        widest.map_or_else(|| "clients".to_owned(), |(name, _)| (*name).to_owned())
    }
}

fn over(runs: &[&Run], usable: &[&Run], factor: &str) -> String {
    if usable.is_empty() {
        return "no valid run".to_owned();
    }
    let mut parts = vec![rounds(usable, factor)];
    for (name, levels) in levels(usable) {
        if name != factor && levels.len() > 1 {
            parts.push(format!("{name} {}", levels.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    let cells: BTreeSet<Cell> = runs.iter().copied().map(Cell::of).collect();
    let lacking = lacking(runs, usable).len();
    let incomplete = if lacking == 0 {
        String::new()
    } else {
        format!("; incomplete: {} of {}", cells.len() - lacking, count(cells.len() as u64, "cell"))
    };
    let left_out = match runs.len() - usable.len() {
        0 => String::new(),
        invalid => format!("; {invalid} invalid"),
    };
    format!("{}{incomplete}{left_out}", parts.join(" and "))
}

/// The rounds of each figure: levels that a person sets, and arms that failed, have not all rounds of the experiment.
fn rounds(usable: &[&Run], factor: &str) -> String {
    let mut rounds: BTreeMap<(Level, Option<&str>), BTreeSet<u32>> = BTreeMap::new();
    for run in usable {
        rounds.entry((level(run, factor), run.arm.as_deref())).or_default().insert(run.round);
    }
    let each = || rounds.values().map(|rounds| rounds.len() as u64);
    let (least, most) = (each().min().unwrap_or(0), each().max().unwrap_or(0));
    if least == most { count(most, "round") } else { format!("{least} to {}", count(most, "round")) }
}

fn lacking(runs: &[&Run], usable: &[&Run]) -> BTreeSet<Cell> {
    let of = |runs: &[&Run]| -> BTreeSet<(Cell, Option<String>)> {
        runs.iter().map(|run| (Cell::of(run), run.arm.clone())).collect()
    };
    of(runs).difference(&of(usable)).map(|(cell, _)| cell.clone()).collect()
}
