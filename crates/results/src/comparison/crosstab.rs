//! Crosstabs: one factor down, the arms across, and what every figure is taken over.

use std::collections::{BTreeMap, BTreeSet};

use super::pairs::Level;
use super::{Cell, Metric};
use crate::record::{Experiment, Run, RunKind, Validity};

/// Mean, maximum and count of some values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Summary {
    /// How many.
    pub n: usize,
    sum: f64,
    max: f64,
}

impl Summary {
    /// Arithmetic mean; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / self.n as f64)
    }

    /// Largest; `None` without values.
    #[must_use]
    pub fn max(&self) -> Option<f64> {
        (self.n > 0).then_some(self.max)
    }
}

impl FromIterator<f64> for Summary {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        values.into_iter().fold(Self::default(), |all, value| Self {
            n: all.n + 1,
            sum: all.sum + value,
            max: if all.n == 0 { value } else { all.max.max(value) },
        })
    }
}

/// One level of the factor that runs down.
#[derive(Debug, Clone, PartialEq)]
pub struct CrosstabRow {
    /// The level.
    pub level: String,
    /// One summary per column; `None` where nothing was measured.
    pub cells: Vec<Option<Summary>>,
}

/// A workload's figures: `factor` down, arms across.
#[derive(Debug, Clone, PartialEq)]
pub struct Crosstab {
    /// Workload's name.
    pub workload: String,
    /// The factor that runs down.
    pub factor: String,
    /// Arms, base first; one unnamed column when nothing is compared.
    pub columns: Vec<String>,
    /// Rows in the order of their levels.
    pub rows: Vec<CrosstabRow>,
    /// What each figure is taken over, in words.
    pub over: String,
}

impl Crosstab {
    /// Geometric mean over the rows of each column's means (or maxima); `None` where a row lacks a value.
    #[must_use]
    pub fn geometric_means(&self, of: impl Fn(&Summary) -> Option<f64>) -> Vec<Option<f64>> {
        (0..self.columns.len())
            .map(|column| {
                let values: Option<Vec<f64>> =
                    self.rows.iter().map(|row| row.cells[column].as_ref().and_then(&of)).collect();
                stats::geometric_mean(&values?)
            })
            .collect()
    }
}

/// One crosstab per workload, with `clients` down where it varies (else the factor with most levels). Invalid runs are
/// left out.
#[must_use]
pub fn crosstabs(experiment: &Experiment, runs: &[Run], metric: Metric) -> Vec<Crosstab> {
    let usable = |run: &&Run| run.kind == RunKind::Client && run.validity != Validity::Invalid;
    let mut by_workload: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(usable) {
        by_workload.entry(&run.workload).or_default().push(run);
    }
    by_workload.into_iter().map(|(workload, runs)| crosstab(experiment, workload, &runs, metric)).collect()
}

fn crosstab(experiment: &Experiment, workload: &str, runs: &[&Run], metric: Metric) -> Crosstab {
    let factor = factor_down(runs);
    let with_arms = runs.iter().any(|run| run.arm.is_some());
    let columns: Vec<String> = if with_arms {
        experiment.arms.iter().map(|arm| arm.name.clone()).collect()
    } else {
        vec![String::new()]
    };
    let levels: BTreeSet<Level> = runs.iter().map(|run| level(run, &factor)).collect();
    let rows = levels
        .into_iter()
        .map(|wanted| CrosstabRow {
            cells: columns
                .iter()
                .map(|column| {
                    let values = runs
                        .iter()
                        .filter(|run| {
                            level(run, &factor) == wanted && run.arm.as_deref().unwrap_or_default() == column
                        })
                        .filter_map(|run| metric.of(run));
                    Some(values.collect::<Summary>()).filter(|summary| summary.n > 0)
                })
                .collect(),
            level: wanted.0,
        })
        .collect();
    Crosstab { workload: workload.to_owned(), over: over(runs, &factor), factor, columns, rows }
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
    let clients = levels.get("clients").is_some_and(|levels| levels.len() > 1);
    if clients {
        "clients".to_owned()
    } else {
        widest.map_or_else(|| "clients".to_owned(), |(name, _)| (*name).to_owned())
    }
}

fn over(runs: &[&Run], factor: &str) -> String {
    let rounds: BTreeSet<u32> = runs.iter().map(|run| run.round).collect();
    let mut parts = vec![match rounds.len() {
        1 => "1 round".to_owned(),
        n => format!("{n} rounds"),
    }];
    for (name, levels) in levels(runs) {
        if name != factor && levels.len() > 1 {
            parts.push(format!("{name} {}", levels.into_iter().collect::<Vec<_>>().join(", ")));
        }
    }
    parts.join(" and ")
}

/// A cell's values by arm, for charts: cell → arm → summary over rounds.
#[must_use]
pub fn by_cell(runs: &[Run], metric: Metric) -> BTreeMap<Cell, BTreeMap<String, Summary>> {
    let mut values: BTreeMap<Cell, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.kind == RunKind::Client && run.validity != Validity::Invalid) {
        if let Some(value) = metric.of(run) {
            let arm = run.arm.clone().unwrap_or_default();
            values.entry(Cell::of(run)).or_default().entry(arm).or_default().push(value);
        }
    }
    let summary = |arms: BTreeMap<String, Vec<f64>>| {
        arms.into_iter().map(|(arm, values)| (arm, values.into_iter().collect())).collect()
    };
    values.into_iter().map(|(cell, arms)| (cell, summary(arms))).collect()
}
