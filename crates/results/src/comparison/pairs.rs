//! Pairing of runs.

use std::collections::BTreeMap;

use super::{Metric, TooFew};
use spec::plan::ByHand;
use spec::{Reason, Run, RunKind, Validity};

/// One combination of the factors that are not compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    pub workload: String,
    /// All other factors; numbers sort as numbers.
    pub factors: BTreeMap<String, Level>,
}

/// A level of a factor, ordered as a number if it is one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Level(pub String);

impl Ord for Level {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (self.0.parse::<f64>(), other.0.parse::<f64>()) {
            (Ok(a), Ok(b)) => a.total_cmp(&b).then_with(|| self.0.cmp(&other.0)),
            (Ok(_), Err(_)) => std::cmp::Ordering::Less,
            (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
            (Err(_), Err(_)) => self.0.cmp(&other.0),
        }
    }
}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Cell {
    /// The cell a run belongs to.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let others = run.factors.iter().filter(|(name, _)| *name != "workload");
        Self {
            workload: run.workload.clone(),
            factors: others.map(|(name, level)| (name.clone(), Level(level.clone()))).collect(),
        }
    }

    /// Whether a run belongs to it.
    #[must_use]
    pub fn holds(&self, run: &Run) -> bool {
        let others = run.factors.iter().filter(|(name, _)| *name != "workload");
        self.workload == run.workload && others.eq(self.factors.iter().map(|(name, level)| (name, &level.0)))
    }

    /// As text: `polygons, clients 8`.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.workload.clone();
        for (name, level) in &self.factors {
            text += &format!(", {name} {}", level.0);
        }
        text
    }
}

/// A pair of runs that does not count, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    pub round: u32,
    pub why: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RunValue {
    pub(super) value: f64,
    /// Variance of its logarithm from counting whole transactions: each client is in the middle of one at
    /// both ends of a run.
    pub(super) counting: f64,
}

impl RunValue {
    fn of(run: &Run, metric: Metric, value: f64) -> Self {
        let done = run.completed();
        let counts = matches!(metric, Metric::Tps | Metric::Cpu) && done > 0;
        // The part that is cut off is uniform between 0 and 1, at both ends.
        let variance = f64::from(run.clients.max(1)) / 6.0;
        Self { value, counting: if counts { variance / (done as f64).powi(2) } else { 0.0 } }
    }
}

impl RunValue {
    /// The geometric mean; `None` of none.
    fn mean(values: &[Self]) -> Option<Self> {
        let all: Vec<f64> = values.iter().map(|value| value.value).collect();
        let counting = values.iter().map(|value| value.counting).sum::<f64>();
        Some(Self { value: stats::geometric_mean(&all)?, counting: counting / (all.len() as f64).powi(2) })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) round: u32,
    pub(super) base: RunValue,
    pub(super) new: RunValue,
}

impl Pair {
    pub(super) fn difference(&self) -> f64 {
        (self.new.value / self.base.value).ln()
    }
}

/// Lower limit of the standard error, in logs, of these values of one arm, since transactions are whole.
pub(super) fn least_error<'v>(values: impl Iterator<Item = &'v RunValue>) -> f64 {
    let (n, sum) = values.fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value.counting));
    if n > 0.0 { f64::sqrt(sum) / n } else { 0.0 }
}

/// Values of one cell, by arm and round; `Err` is the reason why a run has none.
#[derive(Debug, Default)]
pub(super) struct CellRuns {
    values: BTreeMap<(String, u32), Result<RunValue, String>>,
    /// By arm the run with fewest transactions, if these are too few for the percentile.
    too_few: BTreeMap<String, TooFew>,
    figures: BTreeMap<String, f64>,
    pub(super) open: bool,
    pub(super) job: bool,
}

/// Why a run in slices has no percentile to compare: a slice empties the queues.
const SLICED: &str = "percentiles are compared in uncut runs only (slices = false)";
const NOTHING: &str = "nothing was measured";

/// Why a run has no server CPU per transaction.
fn no_cpu(run: &Run) -> &'static str {
    if !run.is_whole_load() {
        return "server CPU per transaction is not available: the run is a share of the server's load";
    }
    match (run.kind, run.completed()) {
        (RunKind::Job, _) => "server CPU per transaction is not available: a job has no transactions",
        (RunKind::Client, 0) => NOTHING,
        (RunKind::Client, _) => {
            "server CPU per transaction is not available: the server is not on this machine, or its processes \
             could not be read"
        }
    }
}

pub(super) fn cells_of(runs: &[Run], metric: Metric) -> BTreeMap<Cell, CellRuns> {
    let mut cells: BTreeMap<Cell, CellRuns> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.is_measured()) {
        let Some(arm) = &run.arm else { continue };
        let value = usable(run, metric);
        let cell = cells.entry(Cell::of(run)).or_default();
        cell.values.insert((arm.clone(), run.round), value);
        if let Some(found) = too_few(run, metric) {
            let least = cell.too_few.entry(arm.clone()).or_insert(found);
            least.count = least.count.min(found.count);
        }
        cell.open |= run.is_paced();
        cell.job |= run.kind == RunKind::Job;
    }
    for ((cell, arm), runs) in by_cell_and_arm(runs) {
        let (Some(figure), Some(arm)) = (metric.of_runs(&runs), arm) else { continue };
        if let Some(cell) = cells.get_mut(&cell) {
            cell.figures.insert(arm, figure);
        }
    }
    cells
}

/// Runs that are not invalid, by cell and arm, each in order of execution.
pub(super) fn by_cell_and_arm(runs: &[Run]) -> BTreeMap<(Cell, Option<String>), Vec<&Run>> {
    let mut groups: BTreeMap<(Cell, Option<String>), Vec<&Run>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.is_measured() && run.validity != Validity::Invalid) {
        groups.entry((Cell::of(run), run.arm.clone())).or_default().push(run);
    }
    groups.values_mut().for_each(|runs| runs.sort_by_key(|run| run.sequence));
    groups
}

/// Runs that are not invalid, by cell, arm and round.
pub(super) struct RunsByRound<'r>(BTreeMap<(Cell, &'r str), BTreeMap<u32, &'r Run>>);

impl<'r> RunsByRound<'r> {
    pub(super) fn of(runs: &'r [Run]) -> Self {
        let mut by_round: BTreeMap<_, BTreeMap<u32, &Run>> = BTreeMap::new();
        for run in runs.iter().filter(|run| run.validity != Validity::Invalid) {
            let Some(arm) = run.arm.as_deref() else { continue };
            by_round.entry((Cell::of(run), arm)).or_default().insert(run.round, run);
        }
        Self(by_round)
    }

    /// The runs of the base and of an arm in each round of a cell that has both.
    pub(super) fn pairs(&self, cell: &Cell, base: &'r str, arm: &'r str) -> Vec<(&'r Run, &'r Run)> {
        let of = |arm: &'r str| self.0.get(&(cell.clone(), arm));
        let (Some(base), Some(new)) = (of(base), of(arm)) else { return Vec::new() };
        base.iter().filter_map(|(round, base)| Some((*base, *new.get(round)?))).collect()
    }
}

/// Set if a run has too few transactions for the percentile. Runs in slices have none to compare anyway.
fn too_few(run: &Run, metric: Metric) -> Option<TooFew> {
    let counts = run.validity != Validity::Invalid && !run.is_sliced();
    let quantile = metric.quantile().filter(|_| counts)?;
    TooFew::of(quantile, run.response().count()).filter(|few| few.count > 0)
}

fn usable(run: &Run, metric: Metric) -> Result<RunValue, String> {
    if run.validity == Validity::Invalid {
        let reasons: Vec<&str> = run.doubts.iter().map(|doubt| Reason::text(doubt.reason)).collect();
        // A run set aside with a disturbed one may have no reason itself.
        let reasons =
            if reasons.is_empty() { run.set_aside.as_deref().into_iter().collect() } else { reasons };
        return Err(format!("{}: {}", run.arm.as_deref().unwrap_or_default(), reasons.join(", ")));
    }
    if metric.quantile().is_some() && run.is_sliced() {
        return Err(SLICED.to_owned());
    }
    if let Some(few) = too_few(run, metric) {
        return Err(few.to_string());
    }
    let without = || if metric == Metric::Cpu { no_cpu(run) } else { NOTHING };
    let value = metric.of(run).filter(|value| *value > 0.0).ok_or_else(|| without().to_owned())?;
    Ok(RunValue::of(run, metric, value))
}

impl CellRuns {
    /// Replaces the values of a set's rounds by their geometric mean: a set is one observation. A set that lacks a round
    /// has the mean of the others.
    pub(super) fn gather(&mut self, by_hand: ByHand) {
        let mut sets: BTreeMap<(String, u32), Vec<Result<RunValue, String>>> = BTreeMap::new();
        for ((arm, round), value) in std::mem::take(&mut self.values) {
            sets.entry((arm, by_hand.set_of(round))).or_default().push(value);
        }
        for (key, values) in sets {
            let usable: Vec<RunValue> = values.iter().filter_map(|value| value.clone().ok()).collect();
            let of_none = || values.into_iter().next().unwrap_or_else(|| Err(NOTHING.to_owned()));
            let value = RunValue::mean(&usable).map_or_else(of_none, Ok);
            self.values.insert(key, value);
        }
    }

    pub(super) fn figure(&self, arm: &str) -> Option<f64> {
        self.figures.get(arm).copied()
    }

    /// Why no run of these arms has its percentile compared: leaving out only the runs with few
    /// transactions would leave out the slow ones.
    pub(super) fn too_few(&self, arms: [&str; 2]) -> Option<TooFew> {
        arms.into_iter().filter_map(|arm| self.too_few.get(arm)).min_by_key(|found| found.count).copied()
    }

    /// Usable values of an arm by round, and the excluded invalid runs.
    pub(super) fn of(&self, arm: &str) -> (BTreeMap<u32, RunValue>, Vec<Excluded>) {
        let (mut values, mut excluded) = (BTreeMap::new(), Vec::new());
        for ((_, round), value) in self.values.iter().filter(|((own, _), _)| own == arm) {
            match value {
                Ok(value) => drop(values.insert(*round, *value)),
                Err(why) if why == NOTHING => {}
                Err(why) => excluded.push(Excluded { round: *round, why: why.clone() }),
            }
        }
        (values, excluded)
    }

    /// Usable pairs of two arms, and the excluded ones. A round that lacks one arm is not yet a pair, and
    /// not counted.
    pub(super) fn pairs(&self, base: &str, new: &str) -> (Vec<Pair>, Vec<Excluded>) {
        let (mut pairs, mut excluded) = (Vec::new(), Vec::new());
        for ((arm, round), value) in &self.values {
            let Some(other) = self.values.get(&(new.to_owned(), *round)).filter(|_| arm == base) else {
                continue;
            };
            match (value, other) {
                (Ok(base), Ok(new)) => pairs.push(Pair { round: *round, base: *base, new: *new }),
                (Err(why), _) | (_, Err(why)) => excluded.push(Excluded { round: *round, why: why.clone() }),
            }
        }
        (pairs, excluded)
    }
}
