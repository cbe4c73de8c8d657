//! Cells whose runs fall into two groups: a finding about the cell, made when reading. It excludes nothing.

use stats::TwoGroups;

use super::pairs::{Cell, by_cell_and_arm};
use record::Run;

/// A cell and arm whose runs fall into two groups by their throughput.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Grouped {
    pub cell: Cell,
    pub arm: Option<String>,
    pub groups: TwoGroups,
    /// Where all runs of one group came before all of the other, and neither is a single run: the round from which on it
    /// was so. Then something changed for good, instead of from run to run.
    pub since_round: Option<u32>,
}

/// Cells and arms whose runs fall into two groups ([`stats::two_groups`]). Where a schedule offers the rate, throughput
/// follows it, and nothing is said.
#[must_use]
pub fn two_groups(runs: &[Run]) -> Vec<Grouped> {
    by_cell_and_arm(runs)
        .into_iter()
        .filter_map(|((cell, arm), runs)| {
            let runs: Vec<(&Run, f64)> = runs
                .into_iter()
                .filter(|run| !run.is_open())
                .filter_map(|run| Some((run, run.tps()?)))
                .collect();
            let values: Vec<f64> = runs.iter().map(|(_, tps)| *tps).collect();
            let groups = stats::two_groups(&values)?;
            let since_round = since(&runs, &groups);
            Some(Grouped { cell, arm, groups, since_round })
        })
        .collect()
}

/// The round of the one change from one group to the other; `runs` are in order of execution.
fn since(runs: &[(&Run, f64)], groups: &TwoGroups) -> Option<u32> {
    let is_high = |tps: f64| tps > groups.boundary;
    let mut changes = runs.windows(2).filter(|pair| is_high(pair[0].1) != is_high(pair[1].1));
    let first = changes.next()?;
    let lasting = changes.next().is_none() && groups.low.n > 1 && groups.high.n > 1;
    lasting.then_some(first[1].0.round)
}
