//! Comparisons of arms: pairs of runs, verdicts per cell, per workload and for the grid.
//!
//! Pairs are the runs of one cell in one round. A run that is invalid takes its whole pair out, and the reasons are
//! kept; nothing else excludes a run. Imported runs have no pairs, and are compared set by set.
//!
//! Verdicts are made in one place (`lines`), from intervals that allow for all lines of a kind.

mod apart;
mod control;
mod crosstab;
mod differences;
mod groups;
mod lines;
mod pairs;
mod scripts;
mod sliced;
mod spread;
mod taken_apart;
mod unpaired;
pub mod zooms;

use std::collections::{BTreeMap, BTreeSet};

use stats::{Better, Estimate, GridEstimate, Heterogeneity, Histogram, TooFew, Verdict};

pub use apart::{Apart, ApartError, Measured};
pub use control::Control;
pub use crosstab::{Crosstab, CrosstabRow, Summary, crosstabs};
pub use differences::{Difference, Quantity, differences, largest};
pub use groups::{Grouped, SameCpu, two_groups};
pub use pairs::{Cell, Excluded, Level};
use pairs::{CellRuns, cells_of, least_error};
pub use scripts::ScriptComparison;
pub use sliced::{CORRELATED, Sliced};
pub use spread::Spread;
pub use taken_apart::{Setting, TakenApart};

use spec::{Experiment, OrderScheme, Run, Validity};

/// The figure that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    Tps,
    P50,
    P95,
    P99,
}

impl Metric {
    /// Its value for a run: per second, or µs; `None` when the run has none. Of a job it is how many of them would fit into
    /// a second.
    #[must_use]
    pub fn of(self, run: &Run) -> Option<f64> {
        match self.quantile() {
            None => run.speed(),
            Some(quantile) => run.response_us(quantile),
        }
    }

    /// The one figure of several runs of a cell and arm, wherever it is shown: throughput is the mean of the runs', a
    /// percentile that of all their response times together, never a mean of percentiles; of jobs, the one that belongs to
    /// the mean of their times. `None` when none was measured.
    #[must_use]
    pub fn of_runs(self, runs: &[&Run]) -> Option<f64> {
        match self.quantile() {
            None if runs.iter().any(|run| run.took_s().is_some()) => {
                runs.iter().filter_map(|run| run.took_s()).collect::<Summary>().mean.map(f64::recip)
            }
            None => runs.iter().filter_map(|run| run.speed()).collect::<Summary>().mean,
            Some(quantile) => {
                let mut all = Histogram::new();
                runs.iter().flat_map(|run| &run.scripts).for_each(|script| all.add(&script.response));
                all.percentile_ns(quantile).map(|ns| ns as f64 / 1000.0)
            }
        }
    }

    /// The quantile of response times that it is, if it is one.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::Tps => None,
            Self::P50 => Some(0.5),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
        }
    }

    /// What changes, in a sentence.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Tps => "throughput",
            Self::P50 => "p50 response time",
            Self::P95 => "p95 response time",
            Self::P99 => "p99 response time",
        }
    }

    /// Whether a higher or a lower value is better.
    #[must_use]
    pub fn better(self) -> Better {
        match self {
            Self::Tps => Better::Larger,
            Self::P50 | Self::P95 | Self::P99 => Better::Smaller,
        }
    }

    /// In words, with the unit.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Tps => "throughput, transactions per second",
            Self::P50 => "median response time (p50), µs",
            Self::P95 => "95th percentile of response time (p95), µs",
            Self::P99 => "99th percentile of response time (p99), µs",
        }
    }
}

/// An arm against the base in one cell.
#[derive(Debug, Clone)]
pub struct CellComparison {
    pub cell: Cell,
    /// The cell's figure in the base arm: [`Metric::of_runs`] over all its runs that are not invalid.
    pub base: Option<f64>,
    /// The same in the other arm.
    pub new: Option<f64>,
    /// Whether an offered rate sets what is compared: it is averaged with no other cell.
    pub scheduled: bool,
    /// Whether jobs were timed: `base` and `new` are then the reciprocals of their mean times, per second.
    pub job: bool,
    /// ln(new / base) of each pair, by round.
    pub differences: BTreeMap<u32, f64>,
    /// What the standard error of `estimate` is at least, in logs: transactions are whole.
    pub least_error: f64,
    /// The estimate, as one of all cells that are read together; `None` without a pair.
    pub estimate: Option<Estimate>,
    /// Read from the interval of `estimate`.
    pub verdict: Verdict,
    /// Hodges-Lehmann estimate (percent) and sign-flip p, only when they disagree with the estimate.
    pub second_opinion: Option<SecondOpinion>,
    /// Pairs left out, with why.
    pub excluded: Vec<Excluded>,
    /// How the arms took turns in slices, where they did.
    pub sliced: Option<Sliced>,
}

/// What the rank-based estimate says where it differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondOpinion {
    /// Hodges-Lehmann.
    pub change_pct: f64,
    /// Sign-flip p.
    pub p: f64,
}

/// One figure over several cells.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    pub grid: GridEstimate,
    pub verdict: Verdict,
    /// Cells that belong in it; [`GridEstimate::cells`] of them have a valid pair.
    pub cells: usize,
}

impl Figure {
    /// Whether a cell that belongs in it has no valid pair, or a round of a cell is missing.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.grid.cells < self.cells || !self.grid.complete
    }
}

/// An arm against the base in all cells.
#[derive(Debug, Clone)]
pub struct ArmComparison {
    pub arm: String,
    /// What in it (and not in the base) weakens crash safety.
    pub unsafe_settings: Vec<String>,
    /// Cells in the order of their names.
    pub cells: Vec<CellComparison>,
    /// Scripts of the workloads whose runs mix several, by workload and name.
    pub scripts: Vec<ScriptComparison>,
    /// One figure per workload, over the cells that are averaged.
    pub workloads: BTreeMap<String, Figure>,
    /// One figure for the whole grid, over the cells that are averaged.
    pub grid: Option<Figure>,
    /// Cells that are not averaged, because an offered rate sets their throughput. Response times leave none out.
    pub scheduled: usize,
    /// How much cells differ beyond their errors.
    pub heterogeneity: Option<Heterogeneity>,
}

/// All arms against the base, by one metric.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub metric: Metric,
    pub base: String,
    /// Margin for "same", a share.
    pub margin: f64,
    /// Rounds that have at least one pair.
    pub rounds: usize,
    /// Whether the runs of a round belong together; else whole sets are compared.
    pub paired: bool,
    /// Which verdicts an estimate may have.
    pub judge: Judge,
    /// What the arms of two experiments are compared relative to, where both have an arm in common.
    pub control: Option<Control>,
    /// The other arms, in file order.
    pub arms: Vec<ArmComparison>,
}

/// How many cells have which verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub faster: usize,
    pub slower: usize,
    pub same: usize,
    /// Changed, but measured apart.
    pub differs: usize,
    pub inconclusive: usize,
    pub parts_differ: usize,
    /// With too few transactions for the percentile.
    pub too_few: usize,
    /// Without a valid pair.
    pub invalid: usize,
}

impl ArmComparison {
    /// Counts the verdicts of the cells.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for cell in &self.cells {
            match cell.verdict {
                Verdict::Faster => tally.faster += 1,
                Verdict::Slower => tally.slower += 1,
                Verdict::Same => tally.same += 1,
                Verdict::Differs => tally.differs += 1,
                Verdict::Inconclusive { .. } => tally.inconclusive += 1,
                Verdict::PartsDiffer => tally.parts_differ += 1,
                Verdict::TooFew(_) => tally.too_few += 1,
                Verdict::Invalid => tally.invalid += 1,
            }
        }
        tally
    }

    /// The cells with the largest improvement and the largest loss, of those that are averaged.
    #[must_use]
    pub fn extremes(&self, better: Better) -> Option<(&CellComparison, &CellComparison)> {
        let gain = |cell: &CellComparison| {
            let change = cell.estimate.map_or(0.0, |estimate| estimate.log_ratio);
            if better == Better::Larger { change } else { -change }
        };
        let with = || self.cells.iter().filter(|cell| cell.estimate.is_some() && !cell.scheduled);
        let best = with().max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
        let worst = with().min_by(|a, b| gain(a).total_cmp(&gain(b)))?;
        Some((best, worst))
    }

    /// Cells whose verdict is the opposite of the grid's.
    #[must_use]
    pub fn against(&self) -> Vec<&CellComparison> {
        let opposite = match self.grid.map(|figure| figure.verdict) {
            Some(Verdict::Faster) => Verdict::Slower,
            Some(Verdict::Slower) => Verdict::Faster,
            _ => return Vec::new(),
        };
        self.cells.iter().filter(|cell| cell.verdict == opposite).collect()
    }

    /// Names of the workloads that have a cell, also of those without a figure.
    #[must_use]
    pub fn workload_names(&self) -> BTreeSet<&str> {
        self.cells.iter().map(|cell| cell.cell.workload.as_str()).collect()
    }

    /// How many cells belong in the figure of a workload, or of the whole grid (`None`).
    #[must_use]
    pub fn averaged(&self, workload: Option<&str>) -> usize {
        let of_it = |cell: &&CellComparison| workload.is_none_or(|name| cell.cell.workload == name);
        self.cells.iter().filter(of_it).filter(|cell| !cell.scheduled).count()
    }

    /// Whether nothing at all can be said of this arm: no cell has a valid pair.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.cells.iter().all(|cell| cell.verdict == Verdict::Invalid)
    }

    /// Why cells that belong in the figure of a workload, or of the whole grid (`None`), have none; `Invalid` without a
    /// better reason, `None` where no cell belongs in it.
    #[must_use]
    pub fn without_figure(&self, workload: Option<&str>) -> Option<Verdict> {
        let of_it = |cell: &&CellComparison| workload.is_none_or(|name| cell.cell.workload == name);
        let mut cells = self.cells.iter().filter(of_it).filter(|cell| !cell.scheduled).peekable();
        cells.peek()?;
        let too_few = cells.map(|cell| cell.verdict).find(|verdict| matches!(verdict, Verdict::TooFew(_)));
        Some(too_few.unwrap_or(Verdict::Invalid))
    }

    /// Pairs left out, over all cells.
    #[must_use]
    pub fn excluded(&self) -> usize {
        self.cells.iter().map(|cell| cell.excluded.len()).sum()
    }
}

impl Comparison {
    /// Compares every other arm with the base; `None` when the experiment compares nothing.
    #[must_use]
    pub fn of(experiment: &Experiment, runs: &[Run], metric: Metric) -> Option<Self> {
        let base = experiment.base.clone()?;
        let cells = cells_of(runs, metric);
        let paired = experiment.is_interleaved();
        let new = experiment.arms.iter().map(|arm| &arm.name).find(|arm| **arm != base);
        let control = new.and_then(|new| Control::of(experiment, &cells, (&base, new), metric));
        let way =
            Way { paired, judge: Judge::of(experiment, control.as_ref()), margin: experiment.margin, metric };
        let base_unsafe: BTreeSet<&String> = experiment
            .arms
            .iter()
            .filter(|arm| arm.name == base)
            .flat_map(|arm| &arm.unsafe_settings)
            .collect();
        let mut arms: Vec<_> = experiment
            .arms
            .iter()
            .filter(|arm| arm.name != base)
            .map(|arm| {
                let unsafe_settings = arm
                    .unsafe_settings
                    .iter()
                    .filter(|setting| !base_unsafe.contains(setting))
                    .cloned()
                    .collect();
                let sides = (base.as_str(), arm.name.as_str());
                let mut compared = compare_arm(&cells, sides, unsafe_settings, control.as_ref(), way);
                // Quads that were measured apart have nothing in common.
                for cell in compared.cells.iter_mut().filter(|_| way.paired) {
                    cell.sliced = Sliced::of(&pairs_of(runs, &cell.cell, &base, &arm.name));
                }
                compared.scripts = scripts::of(&compared, runs, &base, way);
                compared
            })
            .collect();
        lines::judge(&mut arms, TakenApart::of(experiment).as_ref(), way);
        let rounds: BTreeSet<u32> = arms
            .iter()
            .flat_map(|arm| &arm.cells)
            .flat_map(|cell| cell.differences.keys().copied())
            .collect();
        let rounds = match &control {
            // Rounds of two experiments do not form pairs: count those that the estimates rest on.
            Some(_) => estimates_rest_on(&arms),
            None => rounds.len(),
        };
        Some(Self {
            metric,
            base,
            margin: experiment.margin,
            rounds,
            paired,
            judge: way.judge,
            control,
            arms,
        })
    }

    /// The change of some cells of an arm in percent, by the estimator of this comparison's verdicts; for a single cell it is
    /// the cell's own. Cells whose throughput is set by an offered rate are averaged with no other.
    #[must_use]
    pub fn change_over(&self, cells: &[&CellComparison]) -> Option<f64> {
        let way = Way { paired: self.paired, judge: self.judge, margin: self.margin, metric: self.metric };
        let mean = if let [_] = cells { way.mean(cells) } else { way.mean(&averaged(cells)) };
        Some(mean?.estimate.change_pct())
    }

    /// What changes, in a sentence: jobs have no throughput, but a speed.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        let jobs = self.arms.iter().flat_map(|arm| &arm.cells).any(|cell| cell.job);
        if jobs && self.metric == Metric::Tps { "speed" } else { self.metric.noun() }
    }

    /// Whether an arm has a figure for the whole grid. It has none before there is a pair, and none for the throughput of
    /// offered rates.
    #[must_use]
    pub fn has_grid(&self) -> bool {
        self.arms.iter().any(|arm| arm.grid.is_some())
    }

    /// Whether an arm has cells whose throughput is set by an offered rate.
    #[must_use]
    pub fn has_scheduled(&self) -> bool {
        self.arms.iter().any(|arm| arm.scheduled > 0)
    }
}

/// The runs of a cell that both count, by rounds.
fn pairs_of<'r>(runs: &'r [Run], cell: &Cell, base: &str, arm: &str) -> Vec<(&'r Run, &'r Run)> {
    let of = |name: &str| -> BTreeMap<u32, &'r Run> {
        let own =
            runs.iter().filter(|run| run.arm.as_deref() == Some(name) && run.validity != Validity::Invalid);
        own.filter(|run| Cell::of(run) == *cell).map(|run| (run.round, run)).collect()
    };
    let new = of(arm);
    of(base).into_iter().filter_map(|(round, base)| Some((base, *new.get(&round)?))).collect()
}

/// The fewest rounds on which an estimate rests, over all cells.
fn estimates_rest_on(arms: &[ArmComparison]) -> usize {
    let cells = arms.iter().flat_map(|arm| &arm.cells);
    cells.filter_map(|cell| cell.estimate).map(|estimate| estimate.n).min().unwrap_or(0)
}

/// Which verdicts an estimate may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// As the estimate says: arms were measured together, or relative to a control.
    Estimate,
    /// Measured apart, without a control: a change is no more than a difference.
    MeasuredApart,
    /// The control itself changed: nothing can be said.
    ControlDiffers,
}

impl Judge {
    fn of(experiment: &Experiment, control: Option<&Control>) -> Self {
        match control {
            Some(control) if control.differs() => Self::ControlDiffers,
            None if experiment.order_scheme == OrderScheme::Apart => Self::MeasuredApart,
            _ => Self::Estimate,
        }
    }
}

/// How arms are compared.
#[derive(Clone, Copy)]
struct Way {
    /// Whether the runs of a round belong together.
    paired: bool,
    judge: Judge,
    margin: f64,
    metric: Metric,
}

impl Way {
    fn verdict(self, estimate: &Estimate) -> Verdict {
        let verdict = stats::verdict(estimate, self.margin, self.metric.better());
        match self.judge {
            Judge::Estimate => verdict,
            Judge::MeasuredApart => verdict.measured_apart(),
            Judge::ControlDiffers => Verdict::Inconclusive { more_pairs: None },
        }
    }

    fn mean(self, cells: &[&CellComparison]) -> Option<GridEstimate> {
        if self.paired { mean(cells) } else { unpaired::mean(cells) }
    }
}

fn averaged<'c>(cells: &[&'c CellComparison]) -> Vec<&'c CellComparison> {
    cells.iter().copied().filter(|cell| !cell.scheduled).collect()
}

/// Changes without verdicts: [`lines::judge`] makes these, and the figures.
fn compare_arm(
    cells: &BTreeMap<Cell, CellRuns>,
    (base, arm): (&str, &str),
    unsafe_settings: Vec<String>,
    control: Option<&Control>,
    way: Way,
) -> ArmComparison {
    let compare = if way.paired { compare_cell } else { unpaired::compare_cell };
    let compared: Vec<_> = cells
        .iter()
        .filter(|(cell, _)| !control.is_some_and(|control| control.is_own(cell)))
        .map(|(cell, runs)| match control {
            Some(control) => control.compare_cell(cell.clone(), cells, base, arm, way),
            None => compare(cell.clone(), runs, base, arm, way.metric),
        })
        .filter(|cell| {
            cell.verdict != Verdict::Invalid || cell.estimate.is_some() || !cell.excluded.is_empty()
        })
        .collect();
    let estimates: Vec<Estimate> =
        compared.iter().filter(|cell| !cell.scheduled).filter_map(|cell| cell.estimate).collect();
    ArmComparison {
        arm: arm.to_owned(),
        unsafe_settings,
        scripts: Vec::new(),
        workloads: BTreeMap::new(),
        grid: None,
        scheduled: compared.iter().filter(|cell| cell.scheduled).count(),
        heterogeneity: stats::heterogeneity(&estimates),
        cells: compared,
    }
}

fn compare_cell(cell: Cell, runs: &CellRuns, base: &str, arm: &str, metric: Metric) -> CellComparison {
    let (pairs, excluded) = runs.pairs(base, arm);
    let too_few = runs.too_few([base, arm]).filter(|_| !(pairs.is_empty() && excluded.is_empty()));
    // With too few transactions in one of them, none of its runs is compared.
    let compared = || pairs.iter().filter(|_| too_few.is_none());
    let differences: BTreeMap<u32, f64> = compared().map(|pair| (pair.round, pair.difference())).collect();
    let values: Vec<f64> = differences.values().copied().collect();
    let least_error =
        least_error(compared().map(|pair| &pair.base)).hypot(least_error(compared().map(|pair| &pair.new)));
    let estimate = stats::paired(&values).map(|estimate| estimate.at_least(least_error));
    CellComparison {
        cell,
        base: runs.figure(base),
        new: runs.figure(arm),
        scheduled: metric == Metric::Tps && runs.open,
        job: runs.job,
        second_opinion: estimate.and_then(|estimate| second_opinion(&values, &estimate)),
        differences,
        least_error,
        estimate,
        verdict: too_few.map_or(Verdict::Invalid, Verdict::TooFew),
        excluded,
        sliced: None,
    }
}

/// The rank-based estimate, when it takes the other side of "p < 0.05" or the other sign. Below six pairs the
/// sign-flip test cannot reach 0.05, so there only the sign counts.
fn second_opinion(differences: &[f64], estimate: &Estimate) -> Option<SecondOpinion> {
    let (center, p) = (stats::hodges_lehmann(differences)?, stats::sign_flip_p(differences)?);
    let other_sign = center.signum() != estimate.log_ratio.signum();
    let other_side = differences.len() >= 6 && (p < 0.05) != (estimate.p()? < 0.05);
    (other_sign || other_side).then(|| SecondOpinion { change_pct: stats::percent(center), p })
}

fn mean(cells: &[&CellComparison]) -> Option<GridEstimate> {
    let rounds: BTreeSet<u32> = cells.iter().flat_map(|cell| cell.differences.keys().copied()).collect();
    let values: Vec<Vec<Option<f64>>> = cells
        .iter()
        .map(|cell| rounds.iter().map(|round| cell.differences.get(round).copied()).collect())
        .collect();
    let mut grid = stats::grid(&values)?;
    let squares: f64 = cells.iter().map(|cell| cell.least_error.powi(2)).sum();
    grid.estimate = grid.estimate.at_least(squares.sqrt() / grid.cells as f64);
    Some(grid)
}

#[cfg(test)]
mod tests;
