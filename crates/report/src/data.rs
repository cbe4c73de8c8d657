//! What every view reads: one experiment with its runs, and plain questions asked of them.

use std::collections::BTreeSet;

use record::{Experiment, Host, Run, RunKind, Target, Validity};
use results::comparison::{Cell, Comparison, Grouped, Metric, two_groups};
use results::{ExperimentId, Store, StoreError};

/// One experiment as it was stored, with all its runs in order of execution.
#[derive(Debug, Clone)]
pub struct ReportData {
    /// The experiment.
    pub experiment: Experiment,
    /// The machine it ran on.
    pub host: Host,
    /// What was measured.
    pub target: Target,
    /// All runs, by [`Run::sequence`].
    pub runs: Vec<Run>,
    /// Arms compared by transactions per second; `None` when nothing is compared.
    pub throughput: Option<Comparison>,
    /// Arms compared by the 99th percentile of response times.
    pub latency: Option<Comparison>,
    /// Cells whose runs fall into two groups.
    pub groups: Vec<Grouped>,
}

impl ReportData {
    /// Reads an experiment; [`Store::find`] picks one by name or number.
    ///
    /// # Errors
    /// When there is no such experiment, or the file cannot be read.
    pub fn load(store: &Store, experiment: ExperimentId) -> Result<Self, StoreError> {
        let stored = store.experiment(experiment)?;
        Ok(Self::new(stored.experiment, stored.host, stored.target, store.runs(experiment)?))
    }

    /// The same from records at hand.
    #[must_use]
    pub fn new(experiment: Experiment, host: Host, target: Target, mut runs: Vec<Run>) -> Self {
        runs.sort_by_key(|run| run.sequence);
        let comparison = |metric| {
            Comparison::of(&experiment, &runs, metric)
                .filter(|found| found.arms.iter().any(|arm| !arm.cells.is_empty()))
        };
        let (throughput, latency) = (comparison(Metric::Tps), comparison(Metric::P99));
        let groups = two_groups(&runs);
        Self { experiment, host, target, runs, throughput, latency, groups }
    }

    /// The comparison that answers the question: by throughput; by response times where schedules set the throughput of
    /// every cell.
    #[must_use]
    pub fn answer(&self) -> Option<&Comparison> {
        let scheduled = |found: &&Comparison| found.has_scheduled() && !found.has_grid();
        match (&self.throughput, &self.latency) {
            (Some(throughput), Some(latency)) if scheduled(&throughput) => Some(latency),
            (throughput, _) => throughput.as_ref(),
        }
    }

    /// What stands below the answer cell by cell: the comparison that answers, and where only some cells have their
    /// throughput set by a schedule, their response times too.
    #[must_use]
    pub fn comparisons(&self) -> Vec<&Comparison> {
        let answer = self.answer();
        let partly = answer.is_some_and(Comparison::has_scheduled);
        answer.into_iter().chain(self.latency.as_ref().filter(|_| partly)).collect()
    }

    /// Whether the runs of this cell and arm fall into two groups.
    #[must_use]
    pub fn grouped(&self, cell: &Cell, arm: Option<&str>) -> Option<&Grouped> {
        self.groups.iter().find(|found| found.cell == *cell && found.arm.as_deref() == arm)
    }

    /// Whether arms are compared.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.experiment.arms.len() > 1
    }

    /// The base arm: the named one, else the first.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        let first = self.experiment.arms.first().map(|arm| arm.name.as_str());
        self.experiment.base.as_deref().or(first)
    }

    /// Arms in file order, as runs name them; one nameless arm when nothing is compared.
    #[must_use]
    pub fn arms(&self) -> Vec<Option<&str>> {
        if self.compares() {
            self.experiment.arms.iter().map(|arm| Some(arm.name.as_str())).collect()
        } else {
            let mut arms: Vec<_> = self.grid_runs().map(|run| run.arm.as_deref()).collect();
            arms.sort_unstable();
            arms.dedup();
            arms
        }
    }

    /// Client runs of the grid.
    pub fn grid_runs(&self) -> impl Iterator<Item = &Run> {
        self.client_runs().filter(|run| !run.beside)
    }

    /// Client runs beside the grid.
    pub fn runs_beside(&self) -> impl Iterator<Item = &Run> {
        self.client_runs().filter(|run| run.beside)
    }

    /// Runs of jobs (OSM loads, initialisation).
    pub fn jobs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.kind == RunKind::Job)
    }

    fn client_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.kind == RunKind::Client)
    }

    /// Workloads of the grid, in the order they first ran.
    #[must_use]
    pub fn workloads(&self) -> Vec<&str> {
        let mut seen = Vec::new();
        for run in self.grid_runs() {
            if !seen.contains(&run.workload.as_str()) {
                seen.push(run.workload.as_str());
            }
        }
        seen
    }

    /// Cells of some runs, in order.
    #[must_use]
    pub fn cells<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<Cell> {
        runs.map(Cell::of).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Names of the factors that vary within some cells; those with one level only are left out.
    #[must_use]
    pub fn varying(cells: &[Cell]) -> Vec<String> {
        let names: BTreeSet<&String> = cells.iter().flat_map(|cell| cell.factors.keys()).collect();
        names
            .into_iter()
            .filter(|name| {
                cells.iter().map(|cell| cell.factors.get(*name)).collect::<BTreeSet<_>>().len() > 1
            })
            .cloned()
            .collect()
    }

    /// Runs of a workload that can be believed, split by every factor but arm and clients: one scaling curve each.
    #[must_use]
    pub fn curves(&self, workload: &str) -> Vec<Curve<'_>> {
        let runs: Vec<&Run> = self
            .grid_runs()
            .filter(|run| run.workload == workload && run.validity != Validity::Invalid)
            .collect();
        let cells = Self::cells(runs.iter().copied());
        let varying: Vec<String> =
            Self::varying(&cells).into_iter().filter(|name| name != "clients").collect();
        let mut curves: Vec<Curve<'_>> = Vec::new();
        for cell in &cells {
            let name = cell_label(cell, &varying);
            if !curves.iter().any(|curve| curve.name == name) {
                let own =
                    runs.iter().copied().filter(|run| cell_label(&Cell::of(run), &varying) == name).collect();
                curves.push(Curve { name, runs: own });
            }
        }
        curves
    }

    /// The promise that was asked for, ms: from the plan, for files in which runs do not name it.
    #[must_use]
    pub fn promise_ms(&self) -> Option<f64> {
        let plan: serde_json::Value = serde_json::from_str(&self.experiment.plan_json).ok()?;
        let limit = plan.pointer("/content/limit_s").or_else(|| plan.get("limit_s"))?;
        limit.as_f64().map(|seconds| seconds * 1e3)
    }

    /// Number of runs that are not valid, per verdict: (suspect, invalid).
    #[must_use]
    pub fn doubtful(&self) -> (usize, usize) {
        let of = |validity| self.runs.iter().filter(|run| run.validity == validity).count();
        (of(Validity::Suspect), of(Validity::Invalid))
    }
}

/// Runs that differ only in clients, arm and round.
#[derive(Debug, Clone)]
pub struct Curve<'a> {
    /// Levels of the other factors, in words; empty when none varies.
    pub name: String,
    /// The runs, in order of execution.
    pub runs: Vec<&'a Run>,
}

impl<'a> Curve<'a> {
    /// Runs of one arm.
    pub fn of_arm(&self, arm: Option<&str>) -> impl Iterator<Item = &'a Run> {
        self.runs.iter().copied().filter(move |run| run.arm.as_deref() == arm)
    }

    /// Numbers of clients, ascending.
    #[must_use]
    pub fn clients(&self) -> Vec<u32> {
        self.runs.iter().map(|run| run.clients).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The same with the most clients only.
    #[must_use]
    pub fn at_most_clients(&self) -> Self {
        let most = self.clients().last().copied();
        let runs = self.runs.iter().copied().filter(|run| Some(run.clients) == most).collect();
        Self { name: self.name.clone(), runs }
    }
}

/// A cell in words by some of its factors, e.g. `zoom 14, 4 clients`; clients last.
#[must_use]
pub fn cell_label(cell: &Cell, factors: &[String]) -> String {
    let named = |name: &&String| cell.factors.contains_key(*name);
    let others = factors.iter().filter(named).filter(|name| *name != "clients");
    let clients = factors.iter().filter(named).filter(|name| *name == "clients");
    let words = others.chain(clients).map(|name| level_in_words(name, &cell.factors[name].0));
    words.collect::<Vec<_>>().join(", ")
}

/// A cell in words with all its factors, e.g. `polygons, zoom 14, 4 clients`.
#[must_use]
pub fn cell_text(cell: &Cell) -> String {
    let factors: Vec<String> = cell.factors.keys().cloned().collect();
    let label = cell_label(cell, &factors);
    if label.is_empty() { cell.workload.clone() } else { format!("{}, {label}", cell.workload) }
}

/// `4 clients`, `1 client`, `zoom 14`.
#[must_use]
pub fn level_in_words(factor: &str, level: &str) -> String {
    match (factor, level) {
        ("clients", "1") => "1 client".to_owned(),
        ("clients", level) => format!("{level} clients"),
        (factor, level) => format!("{factor} {level}"),
    }
}
