//! The control of two experiments that were measured separately: an arm that both have. Changes between the
//! two measurements changed the control too, so the other arms are compared relative to it.

use std::collections::BTreeMap;

use stats::{Estimate, Verdict};

use super::pairs::{Cell, CellRuns, Level, least_error};
use super::{CellComparison, GridFigure, How, Judge, Metric, Rule, lines, unpaired};
use spec::{ControlArm, ExperimentRecord};

/// How the control itself changed from one experiment to the other.
#[derive(Debug, Clone)]
pub struct ControlChange {
    pub arm: String,
    /// Whether it is the base of both.
    pub is_base: bool,
    pub cells: Vec<CellComparison>,
    /// One figure over its cells; `None` without a valid run in both.
    pub figure: Option<GridFigure>,
    which: ControlArm,
}

/// The cell of the control with the other levels of this one.
fn cell_like(control: &ControlArm, cell: &Cell) -> Cell {
    let mut cell = cell.clone();
    if control.factor == "workload" {
        cell.workload.clone_from(&control.arm);
    } else {
        cell.factors.insert(control.factor.clone(), Level(control.arm.clone()));
    }
    cell
}

impl ControlChange {
    /// The control of an experiment that is made of two; `None` for every other.
    pub(super) fn of(
        experiment: &ExperimentRecord,
        cells: &BTreeMap<Cell, CellRuns>,
        (base, new): (&str, &str),
        metric: Metric,
    ) -> Option<Self> {
        let which = experiment.control.clone()?;
        let rule = Rule {
            how: How::Unpaired,
            judge: Judge::MeasuredApart,
            margin: experiment.margin,
            metric,
            looks: 1,
        };
        let own = cells.iter().filter(|(cell, _)| cell_like(&which, cell) == **cell);
        let compared = own.map(|(cell, runs)| unpaired::compare_cell(cell.clone(), runs, base, new, metric));
        let mut cells: Vec<CellComparison> = compared.collect();
        let figure = lines::judge_cells(&mut cells, rule);
        Some(Self { arm: which.arm.clone(), is_base: which.is_base, cells, figure, which })
    }

    pub(super) fn is_own(&self, cell: &Cell) -> bool {
        cell_like(&self.which, cell) == *cell
    }

    /// Whether the control itself changed: then the other arms have no verdict.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.figure.is_some_and(|figure| figure.verdict == Verdict::Differs)
            || self.cells.iter().any(|cell| cell.verdict == Verdict::Differs)
    }

    /// Its change: over all its cells, or the largest of a single cell if only single cells changed.
    #[must_use]
    pub fn change(&self) -> Option<Estimate> {
        let whole = self.figure.map(|figure| figure.grid.estimate);
        let whole_differs = self.figure.is_some_and(|figure| figure.verdict == Verdict::Differs);
        let of_cells = self.cells.iter().filter(|cell| cell.verdict == Verdict::Differs);
        let most = of_cells
            .filter_map(|cell| cell.estimate)
            .max_by(|one, other| one.log_ratio.abs().total_cmp(&other.log_ratio.abs()));
        if whole_differs { whole } else { most.or(whole) }
    }

    /// Another arm relative to the control: by how much ln(arm / control) differs between the experiments.
    /// The ratio is taken round by round, because a round measures both arms together.
    pub(super) fn compare_cell(
        &self,
        cell: Cell,
        cells: &BTreeMap<Cell, CellRuns>,
        base: &str,
        new: &str,
        rule: Rule,
    ) -> CellComparison {
        let (runs, control) = (&cells[&cell], cells.get(&cell_like(&self.which, &cell)));
        let mut excluded = Vec::new();
        let mut sides = [base, new].map(|label| {
            let (own, left_out) = runs.of(label);
            excluded.extend(left_out);
            let (mut of_control, left_out) = control.map(|control| control.of(label)).unwrap_or_default();
            excluded.extend(left_out);
            of_control.retain(|round, _| own.contains_key(round));
            (own, of_control)
        });
        for (own, of_control) in &mut sides {
            own.retain(|round, _| of_control.contains_key(round));
        }
        let [old, now] = sides.each_ref().map(|(own, of_control)| -> Vec<f64> {
            own.iter().map(|(round, own)| (own.value / of_control[round].value).ln()).collect()
        });
        let errors = sides.iter().flat_map(|(own, of_control)| [own, of_control]);
        let least_error = errors.map(|side| least_error(side.values()).powi(2)).sum::<f64>().sqrt();
        let estimate = stats::difference(&old, &now).map(|estimate| estimate.at_least(least_error));
        CellComparison {
            base: runs.figure(base),
            new: runs.figure(new),
            compared: [None; 2],
            scheduled: rule.metric == Metric::Tps && runs.open,
            job: runs.job,
            differences: BTreeMap::new(),
            sets: Default::default(),
            least_error,
            estimate,
            verdict: Verdict::Invalid,
            second_opinion: None,
            excluded,
            sliced: None,
            cell,
        }
    }
}
