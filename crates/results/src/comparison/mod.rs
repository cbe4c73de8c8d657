//! Comparisons of arms: pairs of runs, verdicts per cell, per workload and for the grid.
//!
//! Pairs are the runs of one cell in one round. An invalid run excludes its whole pair, and the reasons are
//! kept; nothing else excludes a run. Imported runs have no pairs: all runs of one arm are compared with all of the
//! other. Of levels that are set by hand, the means of their sets are compared.
//!
//! Verdicts are made in one place (`lines`), from intervals that allow for all lines of a kind.

mod apart;
mod control;
mod crosstab;
mod differences;
mod groups;
pub(crate) mod hosts;
mod levels;
mod lines;
mod metric;
mod pairs;
mod scripts;
mod sets;
mod sliced;
mod spread;
mod summary;
mod taken_apart;
mod unpaired;
pub mod zooms;

use std::collections::{BTreeMap, BTreeSet};

use stats::{Better, Estimate, GridEstimate, TooFew, Verdict};

pub use apart::{Apart, ApartError, MeasuredExperiment};
pub use control::ControlChange;
pub use crosstab::{Crosstab, CrosstabRow, crosstabs};
pub use differences::{Difference, Quantity, differences, largest};
pub use groups::{Grouped, SameCpu, two_groups};
pub use levels::{ByLevels, LevelFigure};
pub use metric::Metric;
pub use pairs::{Cell, Excluded, Level};
use pairs::{CellRuns, RunsByRound, cells_of, least_error};
pub use scripts::ScriptComparison;
pub use sliced::{CORRELATED, Sliced};
pub use spread::Spread;
pub use summary::Summary;
pub use taken_apart::{MeasuredSetting, TakenApart};

use spec::{ExperimentRecord, OrderScheme, Run};

/// An arm against the base in one cell.
#[derive(Debug, Clone)]
pub struct CellComparison {
    pub cell: Cell,
    /// The cell's figure in the base arm: [`Metric::of_runs`] over all its valid and suspect runs.
    pub base: Option<f64>,
    pub new: Option<f64>,
    /// Geometric means of the values that the estimate is from, of the base and of the arm: their ratio is the change.
    /// `None` for percentiles, which are never averaged, and for changes relative to a control.
    pub compared: [Option<f64>; 2],
    /// Whether an offered rate or think times set the compared figure: it is averaged with no other cell.
    pub scheduled: bool,
    /// Whether jobs were timed: `base` and `new` are then the reciprocals of their mean times, per second.
    pub job: bool,
    /// ln(new / base) of each pair, by round.
    pub differences: BTreeMap<u32, f64>,
    /// ln of the means of the sets of the base and of the arm, by set; empty unless a person sets the levels.
    pub sets: [BTreeMap<u32, f64>; 2],
    /// Lower limit of the standard error of `estimate`, in logs: transactions are whole.
    pub least_error: f64,
    /// The estimate, adjusted for all cells that are judged together; `None` without a pair.
    pub estimate: Option<Estimate>,
    pub verdict: Verdict,
    /// Hodges-Lehmann estimate (percent) and sign-flip p, only if they disagree with the estimate.
    pub second_opinion: Option<SecondOpinion>,
    pub excluded: Vec<Excluded>,
    pub sliced: Option<Sliced>,
}

/// The rank-based estimate, if it differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondOpinion {
    pub change_pct: f64,
    pub p: f64,
}

/// One figure over several cells.
#[derive(Debug, Clone, Copy)]
pub struct GridFigure {
    pub grid: GridEstimate,
    pub verdict: Verdict,
    /// Cells in it; [`GridEstimate::cells`] of them have a valid pair.
    pub cells: usize,
    /// Whether it is decided, and none of its several cells is.
    pub no_cell_decided: bool,
}

impl GridFigure {
    /// Whether one of its cells has no valid pair, or a round of a cell is missing.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.grid.cells < self.cells || !self.grid.complete
    }
}

/// An arm against the base in all cells.
#[derive(Debug, Clone)]
pub struct ArmComparison {
    pub arm: String,
    pub unsafe_settings: Vec<String>,
    pub cells: Vec<CellComparison>,
    pub scripts: Vec<ScriptComparison>,
    pub workloads: BTreeMap<String, GridFigure>,
    pub grid: Option<GridFigure>,
    /// Cells that are not averaged, because an offered rate or think times set their throughput. 0 for response times.
    pub scheduled: usize,
    /// Of workloads whose cells differ by more than their noise.
    pub workload_levels: BTreeMap<String, ByLevels>,
    /// Set if the cells of the whole grid differ by more than their noise.
    pub grid_levels: Option<ByLevels>,
}

/// All arms against the base, by one metric.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub metric: Metric,
    pub base: String,
    /// Margin for "same", a share.
    pub margin: f64,
    /// How often the verdict may be looked at while rounds are added; at least 1.
    pub looks: u32,
    pub rounds: usize,
    /// Whether the runs of a round are paired.
    pub paired: bool,
    /// Whether a person sets the levels: the means of their sets are compared.
    pub by_sets: bool,
    pub judge: Judge,
    /// The reference of a comparison of two experiments, if they share an arm.
    pub control: Option<ControlChange>,
    pub arms: Vec<ArmComparison>,
}

/// Number of cells by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub faster: usize,
    pub slower: usize,
    pub same: usize,
    /// Changed, but measured separately.
    pub differs: usize,
    pub inconclusive: usize,
    /// With a level that a person set only once.
    pub one_set: usize,
    pub parts_differ: usize,
    /// With too few transactions for the percentile.
    pub too_few: usize,
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
                Verdict::OneSet { .. } => tally.one_set += 1,
                Verdict::PartsDiffer => tally.parts_differ += 1,
                Verdict::TooFew(_) => tally.too_few += 1,
                Verdict::Invalid => tally.invalid += 1,
            }
        }
        tally
    }

    /// The cells with the largest improvement and the largest loss, of the averaged ones.
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

    /// Names of the workloads with a cell, including those without a figure.
    #[must_use]
    pub fn workload_names(&self) -> BTreeSet<&str> {
        self.cells.iter().map(|cell| cell.cell.workload.as_str()).collect()
    }

    /// Number of cells in the figure of a workload, or of the whole grid (`None`).
    #[must_use]
    pub fn averaged(&self, workload: Option<&str>) -> usize {
        let of_it = |cell: &&CellComparison| workload.is_none_or(|name| cell.cell.workload == name);
        self.cells.iter().filter(of_it).filter(|cell| !cell.scheduled).count()
    }

    /// Whether no cell of this arm has a valid pair.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.cells.iter().all(|cell| cell.verdict == Verdict::Invalid)
    }

    /// Why cells in the figure of a workload, or of the whole grid (`None`), have none; `Invalid` without a
    /// better reason, `None` if the figure has no cells.
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
    /// Compares every other arm with the base; `None` if the experiment compares nothing.
    #[must_use]
    pub fn of(experiment: &ExperimentRecord, runs: &[Run], metric: Metric) -> Option<Self> {
        let base = experiment.base.clone()?;
        let mut cells = cells_of(runs, metric);
        let by_sets = sets::by_hand(experiment);
        if let Some(by_hand) = by_sets {
            cells.values_mut().for_each(|cell| cell.gather(by_hand));
        }
        let how = match by_sets {
            Some(_) => How::BySets,
            None if experiment.is_interleaved() => How::Paired,
            None => How::Unpaired,
        };
        let new = experiment.arms.iter().map(|arm| &arm.name).find(|arm| **arm != base);
        let control = new.and_then(|new| ControlChange::of(experiment, &cells, (&base, new), metric));
        let judge = Judge::of(experiment, control.as_ref());
        let looks = experiment.planned_looks();
        let rule = Rule { how, judge, margin: experiment.margin, metric, looks };
        let base_unsafe: BTreeSet<&String> = experiment
            .arms
            .iter()
            .filter(|arm| arm.name == base)
            .flat_map(|arm| &arm.unsafe_settings)
            .collect();
        let by_round = RunsByRound::of(runs);
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
                let mut compared = compare_arm(&cells, sides, unsafe_settings, control.as_ref(), rule);
                // Quads that were measured separately have nothing in common.
                for cell in compared.cells.iter_mut().filter(|_| rule.how == How::Paired) {
                    cell.sliced = Sliced::of(&by_round.pairs(&cell.cell, &base, &arm.name), metric);
                }
                compared.scripts = scripts::of(&compared, &by_round, &base, rule);
                compared
            })
            .collect();
        lines::judge(&mut arms, TakenApart::of(experiment).as_ref(), rule);
        let rounds = match &control {
            // Rounds of two experiments, and sets, do not form pairs: count the ones that the estimates rest on.
            Some(_) => estimates_rest_on(&arms),
            None if how == How::BySets => estimates_rest_on(&arms),
            None => paired_rounds(&arms),
        };
        Some(Self {
            metric,
            base,
            margin: experiment.margin,
            looks,
            rounds,
            paired: how == How::Paired,
            by_sets: how == How::BySets,
            judge: rule.judge,
            control,
            arms,
        })
    }

    /// The change of some cells of an arm in percent, by the estimator of this comparison's verdicts; for a
    /// single cell its own. Cells whose throughput is set by an offered rate are averaged with no other.
    #[must_use]
    pub fn change_over(&self, cells: &[&CellComparison]) -> Option<f64> {
        let how = match (self.paired, self.by_sets) {
            (true, _) => How::Paired,
            (_, true) => How::BySets,
            _ => How::Unpaired,
        };
        let rule =
            Rule { how, judge: self.judge, margin: self.margin, metric: self.metric, looks: self.looks };
        let mean = if let [_] = cells { rule.mean(cells) } else { rule.mean(&averaged(cells)) };
        Some(mean?.estimate.change_pct())
    }

    /// What its estimates rest on, as text: `8 rounds`, `3 sets of each level`, `2 and 3 sets`.
    #[must_use]
    pub fn rests_on(&self) -> String {
        if !self.by_sets {
            return spec::count(self.rounds as u64, "round");
        }
        let cells = || self.arms.iter().flat_map(|arm| &arm.cells).filter(|cell| cell.estimate.is_some());
        let sets = |at: usize| cells().map(|cell| cell.sets[at].len()).min().unwrap_or(0);
        match (sets(0), sets(1)) {
            (base, new) if base == new => format!("{} of each level", spec::count(base as u64, "set")),
            (base, new) => format!("{base} and {}", spec::count(new as u64, "set")),
        }
    }

    /// The changed quantity, for a sentence: jobs have a speed, not a throughput.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        let jobs = self.arms.iter().flat_map(|arm| &arm.cells).any(|cell| cell.job);
        if jobs && self.metric == Metric::Tps { "speed" } else { self.metric.noun() }
    }

    /// Why an arm has no pair, if all its pairs lack the figure for one reason.
    #[must_use]
    pub fn why_unavailable<'a>(&self, arm: &'a ArmComparison) -> Option<&'a str> {
        let has_none = arm.cells.iter().all(|cell| cell.estimate.is_none());
        let mut reasons = arm.cells.iter().flat_map(|cell| &cell.excluded).map(|pair| pair.why.as_str());
        let first = reasons.next().filter(|_| has_none)?;
        (self.metric == Metric::Cpu || reasons.all(|why| why == first)).then_some(first)
    }

    /// Whether an arm has a figure for the whole grid. It has none before the first pair, and none for the
    /// throughput of offered rates.
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

/// Rounds that have a pair in any cell.
fn paired_rounds(arms: &[ArmComparison]) -> usize {
    let cells = arms.iter().flat_map(|arm| &arm.cells);
    cells.flat_map(|cell| cell.differences.keys()).collect::<BTreeSet<_>>().len()
}

fn estimates_rest_on(arms: &[ArmComparison]) -> usize {
    let cells = arms.iter().flat_map(|arm| &arm.cells);
    cells.filter_map(|cell| cell.estimate).map(|estimate| estimate.n).min().unwrap_or(0)
}

/// Which verdicts an estimate may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// By the estimate: arms were measured together, or relative to a control.
    Estimate,
    /// Measured separately, without a control: a change is only a difference.
    MeasuredApart,
    /// The control itself changed: no verdict is possible.
    ControlDiffers,
}

impl Judge {
    fn of(experiment: &ExperimentRecord, control: Option<&ControlChange>) -> Self {
        match control {
            Some(control) if control.differs() => Self::ControlDiffers,
            None if experiment.order_scheme == OrderScheme::Apart => Self::MeasuredApart,
            _ => Self::Estimate,
        }
    }
}

/// How the runs of two arms are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// The runs of a round with each other.
    Paired,
    /// All runs of one arm with all of the other.
    Unpaired,
    /// The means of the sets of both arms.
    BySets,
}

#[derive(Clone, Copy)]
struct Rule {
    how: How,
    judge: Judge,
    margin: f64,
    metric: Metric,
    looks: u32,
}

impl Rule {
    /// The estimate as one of this many lines, and as one of all planned looks at it (Bonferroni).
    fn among(self, estimate: Estimate, lines: usize) -> Estimate {
        estimate.among(lines.max(1) * self.looks as usize)
    }

    fn verdict(self, estimate: &Estimate) -> Verdict {
        if self.how == How::BySets && estimate.standard_error.is_none() {
            return Verdict::OneSet { each: false };
        }
        let verdict = stats::verdict(estimate, self.margin, self.metric.better());
        match self.judge {
            Judge::Estimate => verdict,
            Judge::MeasuredApart => verdict.measured_apart(),
            Judge::ControlDiffers => Verdict::Inconclusive { more_pairs: None },
        }
    }

    fn mean(self, cells: &[&CellComparison]) -> Option<GridEstimate> {
        match self.how {
            How::Paired => mean(cells),
            How::Unpaired => unpaired::mean(cells),
            How::BySets => sets::mean(cells),
        }
    }
}

fn averaged<'c>(cells: &[&'c CellComparison]) -> Vec<&'c CellComparison> {
    cells.iter().copied().filter(|cell| !cell.scheduled).collect()
}

/// Changes without verdicts: [`lines::judge`] adds these, and the figures.
fn compare_arm(
    cells: &BTreeMap<Cell, CellRuns>,
    (base, arm): (&str, &str),
    unsafe_settings: Vec<String>,
    control: Option<&ControlChange>,
    rule: Rule,
) -> ArmComparison {
    let compare = match rule.how {
        How::Paired => compare_cell,
        How::Unpaired => unpaired::compare_cell,
        How::BySets => sets::compare_cell,
    };
    let compared: Vec<_> = cells
        .iter()
        .filter(|(cell, _)| !control.is_some_and(|control| control.is_own(cell)))
        .map(|(cell, runs)| match control {
            Some(control) => control.compare_cell(cell.clone(), cells, base, arm, rule),
            None => compare(cell.clone(), runs, base, arm, rule.metric),
        })
        .filter(|cell| {
            cell.verdict != Verdict::Invalid || cell.estimate.is_some() || !cell.excluded.is_empty()
        })
        .collect();
    ArmComparison {
        arm: arm.to_owned(),
        unsafe_settings,
        scripts: Vec::new(),
        workloads: BTreeMap::new(),
        grid: None,
        scheduled: compared.iter().filter(|cell| cell.scheduled).count(),
        workload_levels: BTreeMap::new(),
        grid_levels: None,
        cells: compared,
    }
}

fn compare_cell(cell: Cell, runs: &CellRuns, base: &str, arm: &str, metric: Metric) -> CellComparison {
    let (pairs, excluded) = runs.pairs(base, arm);
    let too_few = runs.too_few([base, arm]).filter(|_| !(pairs.is_empty() && excluded.is_empty()));
    // If one of the arms has too few transactions, none of its runs is compared.
    let compared = || pairs.iter().filter(|_| too_few.is_none());
    let differences: BTreeMap<u32, f64> = compared().map(|pair| (pair.round, pair.difference())).collect();
    let values: Vec<f64> = differences.values().copied().collect();
    let bases: Vec<f64> = compared().map(|pair| pair.base.value).collect();
    let news: Vec<f64> = compared().map(|pair| pair.new.value).collect();
    let least_error =
        least_error(compared().map(|pair| &pair.base)).hypot(least_error(compared().map(|pair| &pair.new)));
    let estimate = stats::paired(&values).map(|estimate| estimate.at_least(least_error));
    CellComparison {
        cell,
        base: runs.figure(base),
        new: runs.figure(arm),
        compared: geometric_means(metric, [&bases, &news]),
        scheduled: metric == Metric::Tps && runs.open,
        job: runs.job,
        second_opinion: estimate.and_then(|estimate| second_opinion(&values, &estimate)),
        differences,
        sets: Default::default(),
        least_error,
        estimate,
        verdict: too_few.map_or(Verdict::Invalid, Verdict::TooFew),
        excluded,
        sliced: None,
    }
}

/// Of both sides; `None` for percentiles.
fn geometric_means(metric: Metric, sides: [&[f64]; 2]) -> [Option<f64>; 2] {
    sides.map(|values| stats::geometric_mean(values).filter(|_| metric.quantile().is_none()))
}

/// The rank-based estimate, if it takes the other side of "p < 0.05" or has the other sign. Below six pairs
/// the sign-flip test cannot reach 0.05, so there only the sign counts.
fn second_opinion(differences: &[f64], estimate: &Estimate) -> Option<SecondOpinion> {
    let (center, p) = (stats::hodges_lehmann(differences)?, stats::sign_flip_p(differences)?);
    let other_sign = center.signum() != estimate.log_ratio.signum();
    let other_side = differences.len() >= 6 && (p < 0.05) != (estimate.p()? < 0.05);
    (other_sign || other_side).then(|| SecondOpinion { change_pct: stats::percent_change(center), p })
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
