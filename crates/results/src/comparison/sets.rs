//! Levels that a person sets: the runs between two changes of the level are a set, and a set is one observation. The
//! error is the spread between the sets of a level: runs of one set share what else changed when the level was set
//! (docs/decisions/0044).

use std::collections::BTreeMap;

use spec::ExperimentRecord;
use spec::plan::{ByHand, OrderScheme};
use stats::{Estimate, GridEstimate, Verdict};

use super::pairs::{Cell, CellRuns};
use super::{ArmComparison, CellComparison, Metric, unpaired};

/// Logarithms of the means of sets, by set.
pub(super) type Logs = BTreeMap<u32, f64>;

/// `runs` has one value for each set.
pub(super) fn compare_cell(
    cell: Cell,
    runs: &CellRuns,
    base: &str,
    arm: &str,
    metric: Metric,
) -> CellComparison {
    let logs =
        |arm: &str| -> Logs { runs.of(arm).0.iter().map(|(set, value)| (*set, value.value.ln())).collect() };
    let compared = unpaired::compare_cell(cell, runs, base, arm, metric);
    CellComparison { sets: [logs(base), logs(arm)], differences: BTreeMap::new(), ..compared }
}

/// The change over some cells.
pub(super) fn mean(cells: &[&CellComparison]) -> Option<GridEstimate> {
    let judged: Vec<&&CellComparison> = cells.iter().filter(|cell| cell.estimate.is_some()).collect();
    let sets: Vec<&[Logs; 2]> = judged.iter().map(|cell| &cell.sets).collect();
    let squares: f64 = judged.iter().map(|cell| cell.least_error.powi(2)).sum();
    let estimate = change(&sets)?.at_least(squares.sqrt() / judged.len() as f64);
    let counts = |at: usize| sets.iter().map(move |cell| cell[at].len());
    let complete = (0..2).all(|at| counts(at).min() == counts(at).max());
    Some(GridEstimate { estimate, cells: judged.len(), complete })
}

/// The change between two sides over all cells, from the mean over the cells of each set that has them all: so the
/// error includes what the cells of a set share.
pub(super) fn change(cells: &[&[Logs; 2]]) -> Option<Estimate> {
    let side = |at: usize| -> Vec<f64> {
        let mut sums: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
        for (set, log) in cells.iter().flat_map(|cell| &cell[at]) {
            let (sum, count) = sums.entry(*set).or_default();
            (*sum, *count) = (*sum + log, *count + 1);
        }
        let whole = sums.values().filter(|(_, count)| *count == cells.len());
        whole.map(|(sum, count)| sum / *count as f64).collect()
    };
    stats::difference(&side(0), &side(1))
}

/// The mean logarithm of each set of some positive values by round.
pub(super) fn logs(values: &BTreeMap<u32, f64>, by_hand: ByHand) -> Logs {
    let mut sets: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (round, value) in values {
        sets.entry(by_hand.set_of(*round)).or_default().push(value.ln());
    }
    sets.into_iter().map(|(set, logs)| (set, logs.iter().sum::<f64>() / logs.len() as f64)).collect()
}

/// The factor that a person sets, if its levels are the arms of this experiment.
pub(super) fn by_hand(experiment: &ExperimentRecord) -> Option<ByHand> {
    let by_hand = experiment.plan.plan().and_then(|plan| plan.content.by_hand());
    by_hand.filter(|_| experiment.order_scheme == OrderScheme::Sets).map(|(_, by_hand)| by_hand)
}

/// Completes verdicts without an error: whether both levels have one set.
pub(super) fn tell_each(arm: &mut ArmComparison) {
    let once =
        |cells: &[&CellComparison]| cells.iter().all(|cell| cell.sets.iter().all(|sets| sets.len() <= 1));
    let told = |verdict: Verdict, each: bool| match verdict {
        Verdict::OneSet { .. } => Verdict::OneSet { each },
        other => other,
    };
    let all: Vec<&CellComparison> = arm.cells.iter().collect();
    if let Some(grid) = &mut arm.grid {
        grid.verdict = told(grid.verdict, once(&all));
    }
    for (name, figure) in &mut arm.workloads {
        let own: Vec<&CellComparison> =
            all.iter().copied().filter(|cell| cell.cell.workload == *name).collect();
        figure.verdict = told(figure.verdict, once(&own));
    }
    for cell in &mut arm.cells {
        cell.verdict = told(cell.verdict, once(&[cell]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Comparison;
    use crate::fixture::{experiment, run};
    use spec::plan::{Content, Plan};

    /// Sets of two rounds in turn, at 1 and 4 clients. Runs of a set differ from its logarithm by 0.001.
    fn compared(sets: &[(&str, f64)]) -> Comparison {
        let mut content = Content::default();
        content.named.by_hand.insert("memory".to_owned(), ByHand { rounds: 2 });
        let mut record = experiment(&["2133", "3200"]);
        record.plan = Plan { content, ..Plan::default() }.into();
        record.order_scheme = OrderScheme::Sets;
        let mut runs = Vec::new();
        for (set, (level, log)) in (1_u32..).zip(sets) {
            for (round, off) in [(2 * set - 1, -0.001), (2 * set, 0.001)] {
                for (clients, rate) in [(1, 10_000.0), (4, 30_000.0)] {
                    runs.push(run("reads", clients, Some(level), round, rate * f64::exp(log + off)));
                }
            }
        }
        Comparison::of(&record, &runs, Metric::Tps).unwrap()
    }

    /// The cells of a set were averaged as if they were independent.
    #[test]
    fn the_error_is_the_spread_between_sets_of_one_level() {
        let sets =
            [("2133", 0.0), ("3200", 0.05), ("2133", 0.04), ("3200", 0.11), ("2133", -0.01), ("3200", 0.08)];
        let compared = compared(&sets);
        let by_hand = stats::difference(&[0.0, 0.04, -0.01], &[0.05, 0.11, 0.08]).unwrap();
        let arm = &compared.arms[0];
        let grid = arm.grid.unwrap().grid;
        let near = |one: f64, other: f64| (one - other).abs() < 1e-3;
        for estimate in arm.cells.iter().filter_map(|cell| cell.estimate).chain([grid.estimate]) {
            assert!(near(estimate.log_ratio, by_hand.log_ratio), "{estimate:?}");
            assert!(near(estimate.standard_error.unwrap(), by_hand.standard_error.unwrap()), "{estimate:?}");
        }
        assert_eq!(
            (grid.estimate.n, grid.complete, compared.rests_on().as_str()),
            (3, true, "3 sets of each level")
        );
        assert!(!compared.paired && compared.by_sets);
    }

    #[test]
    fn one_set_has_no_error_however_many_runs_it_has() {
        let once = compared(&[("2133", 0.0), ("3200", 0.5)]);
        let arm = &once.arms[0];
        assert_eq!(arm.grid.unwrap().verdict, Verdict::OneSet { each: true });
        assert!(arm.cells.iter().all(|cell| cell.verdict == Verdict::OneSet { each: true }));
        let twice = compared(&[("2133", 0.0), ("3200", 0.5), ("2133", 0.0)]);
        assert_eq!(twice.arms[0].grid.unwrap().verdict, Verdict::OneSet { each: false });
        assert_eq!(twice.rests_on(), "2 and 1 set");
    }
}
