//! Cells whose runs fall into two groups: a finding about the cell, computed on reading. It excludes
//! nothing.

use std::collections::BTreeSet;

use stats::TwoGroups;

use super::pairs::{Cell, by_cell_and_arm};
use spec::{Run, figures};

/// A cell and arm whose runs fall into two groups by their throughput.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouped {
    pub cell: Cell,
    pub arm: Option<String>,
    pub groups: TwoGroups,
    /// Set if all runs of one group came before all of the other, and neither is a single run: the first
    /// round after the change. Then something changed permanently, not from run to run.
    pub since_round: Option<u32>,
    /// Placement of clients and backends in both; `None` if that was not recorded in every run.
    pub same_cpu: Option<SameCpu>,
}

/// How often a client thread and a busy backend had the same CPU in the runs of two groups, percent of the
/// samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SameCpu {
    /// Mean of the slower runs.
    pub low_pct: f64,
    /// Mean of the faster runs.
    pub high_pct: f64,
    /// Whether it distinguishes the groups: every run of one had more of it than any of the other, and much
    /// more.
    pub explains: bool,
}

/// From this difference on, in percentage points, placement distinguishes groups.
const APART_PCT: f64 = 20.0;

/// Cells and arms whose runs fall into two groups ([`stats::two_groups`]). Left out: offered rates, since
/// throughput follows the schedule; and arms that took turns if the same rounds are slow in all of them.
/// Then the cause (other tiles, the machine) was common to all, and cancels in the ratios.
#[must_use]
pub fn two_groups(runs: &[Run]) -> Vec<Grouped> {
    let by_arm: Vec<OfArm> = by_cell_and_arm(runs).into_iter().collect();
    by_arm.chunk_by(|((one, _), _), ((other, _), _)| one == other).flat_map(of_cell).collect()
}

type OfArm<'a> = ((Cell, Option<String>), Vec<&'a Run>);

fn of_cell(arms: &[OfArm]) -> Vec<Grouped> {
    let (found, slow): (Vec<Grouped>, Vec<Option<BTreeSet<u32>>>) = arms.iter().filter_map(of_arm).unzip();
    let of_rounds = arms.len() > 1
        && found.len() == arms.len()
        && slow.windows(2).all(|pair| pair[0].is_some() && pair[0] == pair[1]);
    if of_rounds { Vec::new() } else { found }
}

fn of_arm(((cell, arm), runs): &OfArm) -> Option<(Grouped, Option<BTreeSet<u32>>)> {
    let runs: Vec<(&Run, f64)> =
        runs.iter().filter(|run| !run.is_paced()).filter_map(|run| Some((*run, run.tps()?))).collect();
    let values: Vec<f64> = runs.iter().map(|(_, tps)| *tps).collect();
    let groups = stats::two_groups(&values)?;
    let since_round = since(&runs, &groups);
    let same_cpu = same_cpu(&runs, &groups);
    let slow = slow_rounds(&runs, &groups);
    Some((Grouped { cell: cell.clone(), arm: arm.clone(), groups, since_round, same_cpu }, slow))
}

/// The rounds of the slower group; `None` if arms did not take turns.
fn slow_rounds(runs: &[(&Run, f64)], groups: &TwoGroups) -> Option<BTreeSet<u32>> {
    let slow = runs.iter().filter(|(_, tps)| *tps <= groups.boundary);
    runs.iter().all(|(run, _)| run.is_sliced()).then(|| slow.map(|(run, _)| run.round).collect())
}

/// The round of the one change from one group to the other; `runs` are in order of execution.
fn since(runs: &[(&Run, f64)], groups: &TwoGroups) -> Option<u32> {
    let is_high = |tps: f64| tps > groups.boundary;
    let mut changes = runs.windows(2).filter(|pair| is_high(pair[0].1) != is_high(pair[1].1));
    let first = changes.next()?;
    let lasting = changes.next().is_none() && groups.low.n > 1 && groups.high.n > 1;
    lasting.then_some(first[1].0.round)
}

fn same_cpu(runs: &[(&Run, f64)], groups: &TwoGroups) -> Option<SameCpu> {
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for (run, tps) in runs {
        let group = if *tps > groups.boundary { &mut high } else { &mut low };
        group.push(run.figures.get(figures::SAME_CPU_PCT)?);
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |all: &[f64]| all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low_pct, high_pct) = (mean(&low), mean(&high));
    let overlap = least(&low) <= most(&high) && least(&high) <= most(&low);
    Some(SameCpu { low_pct, high_pct, explains: !overlap && (high_pct - low_pct).abs() >= APART_PCT })
}
