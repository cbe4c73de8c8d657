//! Data of answers and reports: one experiment with its runs and their figures, and simple queries on them.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use spec::plan::{NotRun, WorkMetric};
use spec::{
    Error, ExperimentRecord, FileCommand, Host, MeasuredTarget, Reason, Run, RunEvent, RunKind, Text,
    Validity,
};

use crate::aging::{Aging, aging};
use crate::cells::{CellFigures, InTime};
use crate::comparison::{
    Apart, ApartError, ByLevels, Cell, Comparison, Difference, Grouped, LevelFigure, MeasuredExperiment,
    Metric, differences, hosts, two_groups,
};
use crate::limits::Limits;
use crate::store::{
    Course, Distributions, ExperimentId, RunParts, Samples, Store, StoredExperiment, StoredTile,
};

/// What is read of an experiment besides its record, texts and course. What is not read is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// No runs.
    Record,
    /// All runs, with these parts.
    Runs(RunParts),
}

impl Wanted {
    /// All that a page shows.
    pub const ALL: Self = Self::Runs(Self::OF_PAGE);
    /// For tables: all but files.
    pub const FIGURES: Self = Self::Runs(RunParts { artifacts: false, ..Self::OF_PAGE });
    /// For the answer in words, and for tables of comparisons.
    pub const ANSWER: Self =
        Self::Runs(RunParts { artifacts: false, distributions: Distributions::OfAnswer, ..Self::OF_PAGE });
    const OF_PAGE: RunParts = RunParts { samples: Samples::OfBackends, ..RunParts::ALL };
}

/// One stored experiment with all its runs in order of execution.
#[derive(Debug, Clone)]
pub struct ReportData {
    /// Its number in the results file, and its name in a command; `None` if it is not stored.
    pub stored: Option<(ExperimentId, String)>,
    pub experiment: ExperimentRecord,
    pub host: Host,
    pub target: MeasuredTarget,
    /// All runs, by [`Run::sequence`].
    pub runs: Vec<Run>,
    /// The used texts; imported runs have none.
    pub texts: Vec<Text>,
    /// Remarks before any figure, a sentence each: for two experiments, their other differences.
    pub notes: Vec<String>,
    /// The command that measured it, and how often its verdict was seen, and extended.
    pub course: Course,
    /// Commands and programs that the experiment file names, or why that is not known; empty before
    /// [`ReportData::with_commands`].
    pub commands: Result<Vec<FileCommand>, String>,
    /// Single tiles of maps over all rounds of an arm, from runs that are not invalid; empty before
    /// [`ReportData::with_tiles`].
    pub tiles: Vec<StoredTile>,
    /// Identities of runs that the machine disturbed and that were repeated: they no longer count.
    pub again: BTreeSet<String>,
    /// The folder of the experiment file, absolute; `None` if an older pgdyno stored it.
    pub folder: Option<PathBuf>,
    computed: Computed,
}

/// What is computed from the runs when it is first asked for: no output shows all of it, and an experiment may have
/// thousands of runs.
#[derive(Debug, Clone, Default)]
struct Computed {
    throughput: OnceCell<Option<Comparison>>,
    latency: OnceCell<Option<Comparison>>,
    cpu: OnceCell<Option<Comparison>>,
    groups: OnceCell<Vec<Grouped>>,
    differences: OnceCell<Vec<Difference>>,
    aging: OnceCell<Vec<Aging>>,
    grid: OnceCell<Vec<CellFigures>>,
    beside: OnceCell<Vec<CellFigures>>,
    /// Places of the runs of the grid, by cell.
    by_cell: OnceCell<HashMap<Cell, Vec<usize>>>,
}

/// Note on an experiment whose stored plan is damaged or of another version.
pub const UNREADABLE_PLAN: &str = "the stored plan of this experiment cannot be read: its decisions, limits, bounds and prices are missing; \
                                   the runs are not affected";

impl ReportData {
    /// Reads as much of an experiment as is wanted; [`Store::find`] finds one by name or number.
    ///
    /// # Errors
    /// When there is no such experiment, or the file cannot be read.
    pub fn load(store: &Store, id: ExperimentId, wanted: Wanted) -> Result<Self, Error> {
        let stored = store.experiment(id)?;
        let (texts, course) = (store.texts(id)?, store.course(id)?);
        let runs = match wanted {
            Wanted::Record => Vec::new(),
            Wanted::Runs(parts) => store.runs_with(id, parts)?,
        };
        let of_hosts = hosts::notes(&stored.host, &store.experiment_parts(id)?, &runs);
        let mut data = Self::new(stored.experiment, stored.host, stored.target, runs);
        data.notes.extend(of_hosts);
        data.notes.extend(data.experiment.plan.is_unreadable().then(|| UNREADABLE_PLAN.to_owned()));
        // Facts of another version do not prevent a report.
        let folder = store.facts(id).ok().and_then(|facts| facts.folder().map(Path::to_owned));
        Ok(Self { stored: Some((id, store.called(id)?)), texts, course, folder, ..data })
    }

    /// Adds the single tiles, of which there may be very many: only for outputs that show them.
    pub fn with_tiles(self, store: &Store) -> Result<Self, Error> {
        let tiles = match &self.stored {
            Some((id, _)) => store.tiles(*id)?,
            None => Vec::new(),
        };
        Ok(Self { tiles, ..self })
    }

    /// Adds the commands and programs that its file names, or why they are not known.
    #[must_use]
    pub fn with_commands(self, commands: Result<Vec<FileCommand>, String>) -> Self {
        Self { commands, ..self }
    }

    /// Its name in a command.
    #[must_use]
    pub fn called(&self) -> &str {
        self.stored.as_ref().map_or(&self.experiment.name, |(_, called)| called)
    }

    /// The data of an experiment for [`Apart`], under this name.
    ///
    /// # Errors
    /// As [`ReportData::load`].
    pub fn measured(
        store: &Store,
        experiment: ExperimentId,
        label: String,
    ) -> Result<MeasuredExperiment, Error> {
        let StoredExperiment { experiment: of, host, target, .. } = store.experiment(experiment)?;
        let (parts, runs) = (store.experiment_parts(experiment)?, store.runs(experiment)?);
        Ok(MeasuredExperiment { label, experiment: of, host, target, parts, runs })
    }

    /// Two experiments, the second against the first: not interleaved.
    ///
    /// # Errors
    /// When they cannot be compared.
    pub fn apart(base: &MeasuredExperiment, new: &MeasuredExperiment) -> Result<Self, ApartError> {
        let Apart { experiment, runs, notes } = Apart::of(base, new)?;
        let data = Self::new(experiment, base.host.clone(), base.target.clone(), runs);
        Ok(Self { notes, ..data })
    }

    /// The same from given records.
    #[must_use]
    pub fn new(experiment: ExperimentRecord, host: Host, target: MeasuredTarget, mut runs: Vec<Run>) -> Self {
        runs.sort_by_key(|run| run.sequence);
        let again = measured_again(&runs);
        let notes = other_files(&experiment).into_iter().collect();
        Self {
            stored: None,
            experiment,
            host,
            target,
            runs,
            texts: Vec::new(),
            notes,
            course: Course::default(),
            commands: Ok(Vec::new()),
            tiles: Vec::new(),
            again,
            folder: None,
            computed: Computed::default(),
        }
    }

    /// Arms compared by transactions per second; `None` if nothing is compared.
    #[must_use]
    pub fn throughput(&self) -> Option<&Comparison> {
        self.computed.throughput.get_or_init(|| self.comparison(Metric::Tps)).as_ref()
    }

    /// Arms compared by response times. Percentiles of slices are shown, and not compared.
    #[must_use]
    pub fn latency(&self) -> Option<&Comparison> {
        let of_arms = || self.runs.iter().filter(|run| run.arm.is_some());
        let all_are_sliced = || of_arms().any(Run::is_sliced) && of_arms().all(Run::is_sliced);
        let compared = || if all_are_sliced() { None } else { self.comparison(Metric::P99) };
        self.computed.latency.get_or_init(compared).as_ref()
    }

    /// Arms compared by server CPU per transaction; `None` if that is not available, and not asked for.
    #[must_use]
    pub fn cpu(&self) -> Option<&Comparison> {
        let is_asked = self.experiment.metric() == WorkMetric::Cpu;
        let compared = || self.comparison(Metric::Cpu).filter(|found| is_asked || found.has_grid());
        self.computed.cpu.get_or_init(compared).as_ref()
    }

    fn comparison(&self, metric: Metric) -> Option<Comparison> {
        // If limits are searched, their ratio is the answer, not trials at single rates.
        if self.limits().is_some() {
            return None;
        }
        Comparison::of(&self.experiment, &self.runs, metric)
            .filter(|found| found.arms.iter().any(|arm| !arm.cells.is_empty()))
    }

    /// The groups of runs that are faster or slower than the others of their cell and arm.
    #[must_use]
    pub fn groups(&self) -> &[Grouped] {
        self.computed.groups.get_or_init(|| two_groups(&self.runs))
    }

    /// In what arms differ besides speed.
    #[must_use]
    pub fn differences(&self) -> &[Difference] {
        self.computed.differences.get_or_init(|| differences(&self.experiment, &self.runs))
    }

    /// What was tested for a change with the age of sessions; empty without a comparison, and for searches.
    #[must_use]
    pub fn aging(&self) -> &[Aging] {
        self.computed.aging.get_or_init(|| self.aging_of_sessions())
    }

    /// Figures of the grid, by cell and arm.
    #[must_use]
    pub fn grid(&self) -> &[CellFigures] {
        let figures = || CellFigures::of(self.grid_runs(), &self.arms(), self.groups());
        self.computed.grid.get_or_init(figures)
    }

    /// Figures of the runs outside the grid, by cell.
    #[must_use]
    pub fn beside(&self) -> &[CellFigures] {
        self.computed.beside.get_or_init(|| CellFigures::of(self.runs_beside(), &[None], self.groups()))
    }

    fn aging_of_sessions(&self) -> Vec<Aging> {
        let Some((base, of)) = self.base().zip(self.compared()).filter(|_| self.limits().is_none()) else {
            return Vec::new();
        };
        let arms: Vec<&str> = self.arms().into_iter().flatten().collect();
        aging(self.grid_runs(), &arms, base, of.margin)
    }

    /// The same with another base arm.
    #[must_use]
    pub fn against(self, base: &str) -> Self {
        let Self { stored, experiment, host, target, runs, texts, notes, course, tiles, folder, .. } = self;
        let experiment = ExperimentRecord { base: Some(base.to_owned()), ..experiment };
        Self { stored, texts, notes, course, tiles, folder, ..Self::new(experiment, host, target, runs) }
    }

    /// The comparison that answers the question: by the metric that is asked for, throughput if none is; by
    /// response times if schedules set the throughput of every cell.
    #[must_use]
    pub fn compared(&self) -> Option<&Comparison> {
        let cpu = (self.experiment.metric() == WorkMetric::Cpu).then(|| self.cpu()).flatten();
        if cpu.is_some() {
            return cpu;
        }
        let throughput = self.throughput();
        let is_scheduled = throughput.is_some_and(|found| found.has_scheduled() && !found.has_grid());
        is_scheduled.then(|| self.latency()).flatten().or(throughput)
    }

    /// The comparisons below the answer, cell by cell: the answer's and, if schedules set the
    /// throughput of only some cells, their response times too; then the other metric of work.
    pub fn comparisons(&self) -> Vec<&Comparison> {
        let answer = self.compared();
        let partly = answer.is_some_and(Comparison::has_scheduled);
        let other = answer.and_then(|of| self.other_metric(of.metric));
        answer.into_iter().chain(partly.then(|| self.latency()).flatten()).chain(other).collect()
    }

    /// The comparison by the other metric of work; `None` if that is not available, or schedules set it.
    #[must_use]
    pub fn other_metric(&self, metric: Metric) -> Option<&Comparison> {
        let other = if metric == Metric::Cpu { self.throughput() } else { self.cpu() };
        other.filter(|of| of.has_grid())
    }

    /// Whether arms are compared.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.experiment.arms.len() > 1
    }

    /// The base arm: the named one, else the first.
    pub fn base(&self) -> Option<&str> {
        let first = self.experiment.arms.first().map(|arm| arm.name.as_str());
        self.experiment.base.as_deref().or(first)
    }

    /// Arms in file order, as runs name them; one unnamed arm if nothing is compared.
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

    /// The limits, if it searches for these.
    #[must_use]
    pub fn limits(&self) -> Option<Limits<'_>> {
        Limits::of(&self.experiment, &self.runs)
    }

    /// Measured runs of the grid, without the ones outside it.
    pub fn grid_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| self.is_of_grid(run))
    }

    /// Runs of a cell of the grid, in order of execution.
    pub fn runs_of(&self, cell: &Cell) -> impl Iterator<Item = &Run> {
        let by_cell = self.computed.by_cell.get_or_init(|| {
            let mut by_cell: HashMap<Cell, Vec<usize>> = HashMap::new();
            for (at, run) in self.runs.iter().enumerate().filter(|(_, run)| self.is_of_grid(run)) {
                by_cell.entry(Cell::of(run)).or_default().push(at);
            }
            by_cell
        });
        by_cell.get(cell).into_iter().flatten().map(|at| &self.runs[*at])
    }

    /// Client runs outside the grid.
    pub fn runs_beside(&self) -> impl Iterator<Item = &Run> {
        self.measured_runs().filter(|run| run.beside)
    }

    /// Runs of jobs (OSM loads, initialisation).
    pub fn jobs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.kind == RunKind::Job)
    }

    /// Measured runs, without repeated ones.
    pub fn measured_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| self.counts(run))
    }

    fn counts(&self, run: &Run) -> bool {
        run.is_measured() && !self.again.contains(&run.uuid)
    }

    fn is_of_grid(&self, run: &Run) -> bool {
        !run.beside && self.counts(run)
    }

    /// Runs that were repeated, in order of execution.
    pub fn former_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| self.again.contains(&run.uuid))
    }

    /// Workloads of the grid, in the order they first ran.
    pub fn workloads(&self) -> Vec<&str> {
        let mut seen = Vec::new();
        for run in self.grid_runs() {
            if !seen.contains(&run.workload.as_str()) {
                seen.push(run.workload.as_str());
            }
        }
        seen
    }

    /// How the grid's runs of a cell and arm were in time.
    pub fn in_time(&self, cell: &Cell, arm: &str) -> InTime {
        let is_it = |own: &&CellFigures| own.cell == *cell && own.arm.as_deref() == Some(arm);
        self.grid().iter().find(is_it).map_or_else(InTime::default, |figures| figures.in_time)
    }

    /// Remarks on arms, by kind of event: each sentence once.
    pub fn remarks(&self, kind: &str) -> BTreeSet<&str> {
        details(self.measured_runs(), kind).collect()
    }

    /// Whether some arm was found to answer as the base does.
    #[must_use]
    pub fn has_same_answers(&self) -> bool {
        !self.remarks(RunEvent::SAME_ANSWERS).is_empty()
    }

    /// Those of runs of a cell and arm.
    pub fn remarks_of(&self, cell: &Cell, arm: &str) -> BTreeSet<&str> {
        let runs = || self.runs_of(cell).filter(|run| run.arm.as_deref() == Some(arm));
        let kinds =
            [RunEvent::OTHER_ANSWERS, RunEvent::OWN_CHOICE, RunEvent::SLICED_ALL_THE_SAME, RunEvent::REMARK];
        kinds.into_iter().flat_map(|kind| details(runs(), kind)).collect()
    }

    /// Parts of the experiment that could not run on this machine, as stored in its plan.
    pub fn not_run(&self) -> Vec<NotRun> {
        self.experiment.plan.plan().map(|plan| plan.not_run().to_vec()).unwrap_or_default()
    }

    /// The arm that such a part is, or that its name ends with.
    #[must_use]
    pub fn arm_of(&self, part: &NotRun) -> Option<&str> {
        let is_named = |name: &&str| {
            part.what.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with(' '))
        };
        let names = self.experiment.arms.iter().map(|arm| arm.name.as_str());
        names.filter(is_named).max_by_key(|name| name.len())
    }

    /// Share of transactions that may be bad before a ladder breaks, if the file sets it.
    pub fn bound(&self) -> Option<f64> {
        self.experiment.plan.plan()?.content.measure.bound
    }

    /// The requested promise, ms: from the plan, for files in which runs do not record it.
    pub fn promise_ms(&self) -> Option<f64> {
        self.experiment.plan.promise_s().map(|seconds| seconds * 1e3)
    }
}

fn details<'r>(runs: impl Iterator<Item = &'r Run>, kind: &str) -> impl Iterator<Item = &'r str> {
    runs.flat_map(|run| &run.events)
        .filter(move |event| event.kind == kind)
        .map(|event| event.detail.as_str())
}

/// Names of the factors that vary within some cells; factors with one level are left out.
pub fn varying<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> Vec<String> {
    let names: BTreeSet<&String> = cells.clone().flat_map(|cell| cell.factors.keys()).collect();
    let levels = |name: &str| cells.clone().map(|cell| cell.factors.get(name)).collect::<BTreeSet<_>>().len();
    names.into_iter().filter(|name| levels(name) > 1).cloned().collect()
}

/// Figures split by every factor but one, in order: each part with the varying levels of the others, as
/// text; empty text if none varies.
pub fn split_cells<'a>(cells: &[&'a CellFigures], but: &str) -> Vec<(String, Vec<&'a CellFigures>)> {
    let mut varying = varying(cells.iter().map(|figures| &figures.cell));
    varying.retain(|name| name != but);
    let mut parts: Vec<(String, Vec<&CellFigures>)> = Vec::new();
    for figures in cells {
        let name = cell_label(&figures.cell, &varying);
        match parts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, part)) => part.push(figures),
            None => parts.push((name, vec![figures])),
        }
    }
    parts
}

/// A cell as text by some of its factors, e.g. `zoom 14, 4 clients`; clients last.
pub fn cell_label(cell: &Cell, factors: &[String]) -> String {
    let named = |name: &&String| cell.factors.contains_key(*name);
    let others = factors.iter().filter(named).filter(|name| *name != "clients");
    let clients = factors.iter().filter(named).filter(|name| *name == "clients");
    let words = others.chain(clients).map(|name| level_in_words(name, &cell.factors[name].0));
    words.collect::<Vec<_>>().join(", ")
}

/// A remark if the arms are storages with different files: each storage with its content; an unavailable
/// one with its name only.
fn other_files(experiment: &ExperimentRecord) -> Option<String> {
    let held = |arm: &spec::ArmRecord| {
        let storage = arm.settings.get("storage").filter(|storage| **storage != arm.name)?;
        Some(["(its databases)", "(its write-ahead log)"].map(|part| storage.ends_with(part)))
    };
    let held: BTreeSet<_> = experiment.arms.iter().filter_map(held).collect();
    let differ = experiment.compare_factor.as_deref() == Some("storage") && held.len() > 1;
    differ.then(|| {
        "the arms have different files on their storages, and so differ in more than the storage".to_owned()
    })
}

/// A cell as text with all its factors, e.g. `polygons, zoom 14, 4 clients`.
pub fn cell_text(cell: &Cell) -> String {
    let factors: Vec<String> = cell.factors.keys().cloned().collect();
    let label = cell_label(cell, &factors);
    if label.is_empty() { cell.workload.clone() } else { format!("{}, {label}", cell.workload) }
}

/// `4 clients`, `1 client`, `zoom 14`.
fn level_in_words(factor: &str, level: &str) -> String {
    match (factor, level) {
        ("clients", "1") => "1 client".to_owned(),
        ("clients", level) => format!("{level} clients"),
        (factor, level) => format!("{factor} {level}"),
    }
}

/// A level, or a cell: `4 clients`.
pub fn level_name(of: &LevelFigure) -> String {
    let factors: Vec<String> = of.levels.keys().cloned().collect();
    let cell = Cell { workload: String::new(), factors: of.levels.clone() };
    let label = Some(cell_label(&cell, &factors)).filter(|label| !label.is_empty());
    of.workload.clone().into_iter().chain(label).collect::<Vec<_>>().join(", ")
}

/// All of them for one sentence: `4 clients`, `16`, `64`.
pub fn level_names(of: &ByLevels) -> Vec<String> {
    let alone = |level: &LevelFigure| Some(level.levels.get(of.factor.as_ref()?)?.0.clone());
    let name = |(at, level): (usize, &LevelFigure)| match alone(level) {
        Some(alone) if at > 0 => alone,
        _ => level_name(level),
    };
    of.levels.iter().enumerate().map(name).collect()
}

/// All factors of a cell for programs: `clients 4, zoom 14`.
pub fn levels(cell: &Cell) -> String {
    let levels = cell.factors.iter().map(|(name, level)| format!("{name} {}", level.0));
    levels.collect::<Vec<_>>().join(", ")
}

/// Runs that were replaced by others, because the machine disturbed them or their block.
fn measured_again(runs: &[Run]) -> BTreeSet<String> {
    let former = || runs.iter().filter(|run| run.set_aside.is_some());
    if former().next().is_none() {
        return BTreeSet::new();
    }
    let is_again = |run: &&Run| run.events.iter().any(|event| event.kind == RunEvent::AGAIN);
    let repeated: BTreeSet<_> = runs.iter().filter(is_again).map(Run::key).collect();
    let counting: BTreeSet<_> = runs.iter().filter(|run| run.set_aside.is_none()).map(Run::key).collect();
    // If the program was killed before that, the next one does not know; but the former run had no other
    // doubt.
    let alone_for_that = |run: &Run| {
        let grave = [
            Reason::Crashed,
            Reason::Errors,
            Reason::EmptyResults,
            Reason::SettingsNotApplied,
            Reason::TooShort,
        ];
        // A run that is set aside with an invalid one keeps its validity.
        run.validity == Validity::Invalid
            && !run.doubts.iter().any(|doubt| grave.contains(&doubt.reason))
            && counting.contains(&run.key())
    };
    let former = former().filter(|run| repeated.contains(&run.key()) || alone_for_that(run));
    former.map(|run| run.uuid.clone()).collect()
}

/// An RFC 3339 time to the minute, in UTC; other text unchanged.
pub fn when(stored: &str) -> String {
    stored
        .parse::<jiff::Timestamp>()
        .map_or_else(|_| stored.to_owned(), |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn experiment(factor: &str, arms: &[(&str, &str)]) -> ExperimentRecord {
        let arm = |(name, storage): &(&str, &str)| json!({"name": name, "settings": {"storage": storage}, "unsafe_settings": []});
        let arms: Vec<_> = arms.iter().map(arm).collect();
        let experiment = json!({
            "hash": "", "name": "", "question": "", "file_text": "", "seed": 1, "order_scheme": "pairs",
            "rounds": 2, "compare_factor": factor, "base": "a", "arms": arms, "margin": 0.03, "created_at": "",
        });
        serde_json::from_value(experiment).expect("an experiment")
    }

    /// Regression: an unavailable arm has no storage facts, and made all others differ.
    #[test]
    fn storages_with_other_files_are_told() {
        let databases = [("a", "ext4 (its databases)"), ("b", "xfs (its databases)"), ("c", "c")];
        assert_eq!(other_files(&experiment("storage", &databases)), None);
        let log = [("a", "ext4"), ("b", "ext4 (its write-ahead log)")];
        assert!(other_files(&experiment("storage", &log)).is_some());
        assert_eq!(other_files(&experiment("settings", &log)), None);
    }
}
