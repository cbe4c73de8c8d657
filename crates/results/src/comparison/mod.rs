//! Comparisons of arms: pairs of runs, verdicts per cell, per workload and for the grid.
//!
//! Pairs are the runs of one cell in one round. A run that is invalid takes its whole pair out, and the reasons are
//! kept; nothing else excludes a run. Imported runs have no pairs, and are compared set by set.

mod crosstab;
mod pairs;
mod unpaired;

use std::collections::{BTreeMap, BTreeSet};

use stats::{Better, Estimate, GridEstimate, Heterogeneity, Verdict};

pub use crosstab::{Crosstab, CrosstabRow, Summary, by_cell, crosstabs};
pub use pairs::{Cell, Excluded, Level};
use pairs::{CellRuns, cells_of};

use crate::record::{Experiment, Run};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Transactions per second.
    Tps,
    /// Median response time.
    P50,
    /// 95th percentile of response time.
    P95,
    /// 99th percentile of response time.
    P99,
}

impl Metric {
    /// Its value for a run: per second, or µs; `None` when the run has none.
    #[must_use]
    pub fn of(self, run: &Run) -> Option<f64> {
        match self {
            Self::Tps => run.tps(),
            Self::P50 => run.response_us(0.5),
            Self::P95 => run.response_us(0.95),
            Self::P99 => run.response_us(0.99),
        }
    }

    /// Which direction is better.
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

/// One cell's comparison.
#[derive(Debug, Clone)]
pub struct CellComparison {
    /// Which cell.
    pub cell: Cell,
    /// Values of the base arm in the pairs used, by round.
    pub base: Summary,
    /// Values of the other arm in the pairs used.
    pub new: Summary,
    /// ln(new / base) of each pair, by round.
    pub differences: BTreeMap<u32, f64>,
    /// The estimate; `None` without a pair.
    pub estimate: Option<Estimate>,
    /// p after Holm's adjustment over the cells of this comparison.
    pub holm_p: Option<f64>,
    /// Verdict, from the adjusted p where that is stricter.
    pub verdict: Verdict,
    /// Hodges-Lehmann estimate (percent) and sign-flip p, only when they disagree with the estimate.
    pub second_opinion: Option<SecondOpinion>,
    /// Pairs left out, with why.
    pub excluded: Vec<Excluded>,
}

/// What the rank-based estimate says where it differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondOpinion {
    /// Hodges-Lehmann change, percent.
    pub change_pct: f64,
    /// Sign-flip p.
    pub p: f64,
}

/// One figure over several cells.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// The estimate over rounds.
    pub grid: GridEstimate,
    /// What it says.
    pub verdict: Verdict,
}

/// One arm against the base.
#[derive(Debug, Clone)]
pub struct ArmComparison {
    /// The arm.
    pub arm: String,
    /// What in it (and not in the base) weakens crash safety.
    pub unsafe_settings: Vec<String>,
    /// Cells in the order of their names.
    pub cells: Vec<CellComparison>,
    /// One figure per workload.
    pub workloads: BTreeMap<String, Figure>,
    /// One figure for the whole grid.
    pub grid: Option<Figure>,
    /// How much cells differ beyond their errors.
    pub heterogeneity: Option<Heterogeneity>,
}

/// All arms against the base, by one metric.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What is compared.
    pub metric: Metric,
    /// The base arm.
    pub base: String,
    /// Margin for "same", a share.
    pub margin: f64,
    /// Rounds that have at least one pair.
    pub rounds: usize,
    /// The other arms, in file order.
    pub arms: Vec<ArmComparison>,
}

/// How many cells have which verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Better.
    pub faster: usize,
    /// Worse.
    pub slower: usize,
    /// Within the margin.
    pub same: usize,
    /// Undecided.
    pub inconclusive: usize,
}

impl ArmComparison {
    /// Verdicts of the cells, counted.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for cell in &self.cells {
            match cell.verdict {
                Verdict::Faster => tally.faster += 1,
                Verdict::Slower => tally.slower += 1,
                Verdict::Same => tally.same += 1,
                Verdict::Inconclusive { .. } => tally.inconclusive += 1,
            }
        }
        tally
    }

    /// The cells with the largest improvement and the largest loss.
    #[must_use]
    pub fn extremes(&self, better: Better) -> Option<(&CellComparison, &CellComparison)> {
        let gain = |cell: &CellComparison| {
            let change = cell.estimate.map_or(0.0, |estimate| estimate.log_ratio);
            if better == Better::Larger { change } else { -change }
        };
        let with = || self.cells.iter().filter(|cell| cell.estimate.is_some());
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
        let base_unsafe: BTreeSet<&String> = experiment
            .arms
            .iter()
            .filter(|arm| arm.name == base)
            .flat_map(|arm| &arm.unsafe_settings)
            .collect();
        let arms: Vec<_> = experiment
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
                let way = Way {
                    paired: experiment.is_interleaved(),
                    margin: experiment.margin,
                    better: metric.better(),
                };
                compare_arm(&cells, &base, &arm.name, unsafe_settings, way)
            })
            .collect();
        let rounds: BTreeSet<u32> = arms
            .iter()
            .flat_map(|arm| &arm.cells)
            .flat_map(|cell| cell.differences.keys().copied())
            .collect();
        Some(Self { metric, base, margin: experiment.margin, rounds: rounds.len(), arms })
    }
}

/// How arms are compared.
#[derive(Clone, Copy)]
struct Way {
    /// Whether the runs of a round belong together.
    paired: bool,
    margin: f64,
    better: Better,
}

fn compare_arm(
    cells: &BTreeMap<Cell, CellRuns>,
    base: &str,
    arm: &str,
    unsafe_settings: Vec<String>,
    Way { paired, margin, better }: Way,
) -> ArmComparison {
    let compare = if paired { compare_cell } else { unpaired::compare_cell };
    let mut compared: Vec<_> = cells
        .iter()
        .map(|(cell, runs)| compare(cell.clone(), runs, base, arm, margin, better))
        .filter(|cell| cell.estimate.is_some() || !cell.excluded.is_empty())
        .collect();
    adjust(&mut compared);
    let workloads: BTreeSet<String> = compared.iter().map(|cell| cell.cell.workload.clone()).collect();
    let figure = |chosen: &[&CellComparison]| {
        if paired { figure(chosen, margin, better) } else { unpaired::figure(chosen, margin, better) }
    };
    let workloads = workloads
        .into_iter()
        .filter_map(|name| {
            let of_it: Vec<_> = compared.iter().filter(|cell| cell.cell.workload == name).collect();
            Some((name, figure(&of_it)?))
        })
        .collect();
    let grid = figure(&compared.iter().collect::<Vec<_>>());
    let estimates: Vec<Estimate> = compared.iter().filter_map(|cell| cell.estimate).collect();
    let heterogeneity = stats::heterogeneity(&estimates);
    ArmComparison { arm: arm.to_owned(), unsafe_settings, cells: compared, workloads, grid, heterogeneity }
}

fn compare_cell(
    cell: Cell,
    runs: &CellRuns,
    base: &str,
    arm: &str,
    margin: f64,
    better: Better,
) -> CellComparison {
    let (pairs, excluded) = runs.pairs(base, arm);
    let differences: BTreeMap<u32, f64> =
        pairs.iter().map(|pair| (pair.round, (pair.new / pair.base).ln())).collect();
    let values: Vec<f64> = differences.values().copied().collect();
    let estimate = stats::paired(&values);
    let verdict = estimate.map_or(Verdict::Inconclusive { more_pairs: None }, |estimate| {
        stats::verdict(&estimate, margin, better)
    });
    CellComparison {
        cell,
        base: pairs.iter().map(|pair| pair.base).collect(),
        new: pairs.iter().map(|pair| pair.new).collect(),
        second_opinion: estimate.and_then(|estimate| second_opinion(&values, &estimate)),
        differences,
        estimate,
        holm_p: None,
        verdict,
        excluded,
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

/// Holm's adjustment; a cell that is faster or slower only without it becomes inconclusive.
fn adjust(cells: &mut [CellComparison]) {
    let tested: Vec<usize> = (0..cells.len())
        .filter(|&at| cells[at].estimate.and_then(|estimate| estimate.p()).is_some())
        .collect();
    let raw: Vec<f64> =
        tested.iter().filter_map(|&at| cells[at].estimate.and_then(|estimate| estimate.p())).collect();
    for (&at, p) in tested.iter().zip(stats::holm(&raw)) {
        let cell = &mut cells[at];
        cell.holm_p = Some(p);
        if matches!(cell.verdict, Verdict::Faster | Verdict::Slower) && p >= 0.05 {
            cell.verdict = Verdict::Inconclusive { more_pairs: None };
        }
    }
}

fn figure(cells: &[&CellComparison], margin: f64, better: Better) -> Option<Figure> {
    let rounds: BTreeSet<u32> = cells.iter().flat_map(|cell| cell.differences.keys().copied()).collect();
    let values: Vec<Vec<Option<f64>>> = cells
        .iter()
        .map(|cell| rounds.iter().map(|round| cell.differences.get(round).copied()).collect())
        .collect();
    let grid = stats::grid(&values)?;
    Some(Figure { grid, verdict: stats::verdict(&grid.estimate, margin, better) })
}

#[cfg(test)]
mod tests;
