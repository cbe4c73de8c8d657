//! The verdicts of a comparison: a line per arm, or per workload, script or cell if these differ, and the
//! judgement of all lines together.

use std::collections::HashMap;

use spec::{ExperimentRecord, Judgement, Run};
use stats::{Estimate, Verdict};

use super::doubts::SuspectRuns;
use super::{judgement, values};
use crate::comparison::{
    ArmComparison, ByLevels, Cell, CellComparison, Comparison, GridFigure, ScriptComparison, TakenApart,
};

/// The verdicts of a comparison; every output and the exit code use these.
#[derive(Debug, Clone)]
pub struct Verdicts {
    /// By arm in file order; within an arm by workload, then by cell.
    pub lines: Vec<VerdictLine>,
    pub judgement: Judgement,
}

/// A verdict, and its figures.
#[derive(Debug, Clone)]
pub struct VerdictLine {
    pub arm: String,
    pub scope: LineScope,
    /// The figure over the cells of an arm or workload; `None` for a cell, and without one.
    pub figure: Option<GridFigure>,
    pub estimate: Option<Estimate>,
    pub verdict: Verdict,
    /// Set if the cells of an arm or workload differ by more than their noise.
    pub levels: Option<ByLevels>,
    /// The compared values of the base and the arm: `work_mem 4MB → 64MB`.
    pub values: String,
    /// Set if a third or more of the runs are suspect.
    pub suspect: Option<SuspectRuns>,
}

/// The cells and scripts that a line covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineScope {
    /// All cells of an arm.
    Whole,
    /// All cells of a workload, if workloads differ.
    Workload(String),
    /// One cell, if a cell of its workload changes in another direction.
    Cell(Cell),
    /// One script of a workload, over its cells, if its scripts differ. The change is the change of its
    /// time.
    Script { workload: String, script: String },
}

impl LineScope {
    /// Whether a line covers this cell.
    #[must_use]
    pub fn has(&self, cell: &Cell) -> bool {
        match self {
            Self::Whole => true,
            Self::Workload(name) | Self::Script { workload: name, .. } => cell.workload == *name,
            Self::Cell(own) => own == cell,
        }
    }
}

impl Verdicts {
    /// Of a comparison of these runs. Parts of an arm that is taken apart have no line.
    #[must_use]
    pub fn of(compared: &Comparison, experiment: &ExperimentRecord, runs: &[Run]) -> Self {
        let apart = TakenApart::of(experiment);
        let is_part = |arm: &ArmComparison| apart.as_ref().is_some_and(|apart| apart.is_part(&arm.arm));
        let mut lines: Vec<VerdictLine> =
            compared.arms.iter().filter(|arm| !is_part(arm)).flat_map(lines_of).collect();
        let measured: Vec<(Cell, &Run)> =
            runs.iter().filter(|run| counts(run)).map(|run| (Cell::of(run), run)).collect();
        let of_all = SuspectRuns::of(measured.iter().map(|(_, run)| *run));
        let mut by_cell: HashMap<&Cell, Vec<&Run>> = HashMap::new();
        measured.iter().for_each(|(cell, run)| by_cell.entry(cell).or_default().push(run));
        for line in &mut lines {
            line.values = values::values(experiment, runs, &compared.base, &line.arm);
            let arms = [&*compared.base, &*line.arm];
            let is_its = |run: &&&Run| run.arm.as_deref().is_some_and(|arm| arms.contains(&arm));
            let cells: Vec<&Vec<&Run>> = match &line.scope {
                LineScope::Cell(cell) => by_cell.get(cell).into_iter().collect(),
                scope => by_cell.iter().filter(|(cell, _)| scope.has(cell)).map(|(_, runs)| runs).collect(),
            };
            let own = SuspectRuns::of(cells.into_iter().flatten().filter(is_its).copied());
            line.suspect = own.or(of_all);
        }
        let judgement = judgement::of_lines(lines.iter().map(|line| line.verdict));
        Self { lines, judgement }
    }

    /// In the order of [`Self::lines`].
    pub fn of_arm<'a>(&'a self, arm: &'a str) -> impl Iterator<Item = &'a VerdictLine> {
        self.lines.iter().filter(move |line| line.arm == arm)
    }
}

/// Most scripts of an arm whose lines are all shown to people.
const ALL_SHOWN: usize = 30;

/// The lines of an arm that people are shown, and the number of the others: of many scripts those that are decided, as
/// far as there is room.
#[must_use]
pub fn shown<'a>(of_arm: impl Iterator<Item = &'a VerdictLine>) -> (Vec<&'a VerdictLine>, usize) {
    let is_script = |line: &VerdictLine| matches!(line.scope, LineScope::Script { .. });
    let mut lines: Vec<&VerdictLine> = of_arm.collect();
    let all = lines.len();
    if lines.iter().filter(|line| is_script(line)).count() > ALL_SHOWN {
        let mut room = ALL_SHOWN;
        lines.retain(|line| {
            let is_shown = !is_script(line) || line.verdict.is_decided() && room > 0;
            room -= usize::from(is_shown && is_script(line));
            is_shown
        });
    }
    let left_out = all - lines.len();
    (lines, left_out)
}

/// Whether a run may be one of the suspect ones.
fn counts(run: &Run) -> bool {
    run.is_measured() && run.arm.is_some() && run.set_aside.is_none()
}

fn lines_of(arm: &ArmComparison) -> Vec<VerdictLine> {
    match &arm.grid {
        Some(figure) if figure.verdict == Verdict::PartsDiffer => {
            arm.workload_names().into_iter().flat_map(|name| of_workload(arm, name)).collect()
        }
        figure => vec![of_figure(arm, LineScope::Whole, figure.as_ref())],
    }
}

fn of_workload(arm: &ArmComparison, name: &str) -> Vec<VerdictLine> {
    let cells = || arm.cells.iter().filter(|cell| cell.cell.workload == name && !cell.scheduled);
    match arm.workloads.get(name) {
        Some(figure) if figure.verdict == Verdict::PartsDiffer => {
            // The parts of a cell are its scripts.
            if cells().any(|cell| cell.verdict == Verdict::PartsDiffer) {
                let own = arm.scripts.iter().filter(|script| script.workload == name);
                return own.map(|script| of_script(arm, script)).collect();
            }
            cells().map(|cell| of_cell(arm, cell)).collect()
        }
        // Offered rates set its throughput: it is no part of the figure that differs.
        None if cells().next().is_none() => Vec::new(),
        figure => vec![of_figure(arm, LineScope::Workload(name.to_owned()), figure)],
    }
}

fn of_figure(arm: &ArmComparison, scope: LineScope, figure: Option<&GridFigure>) -> VerdictLine {
    let workload = match &scope {
        LineScope::Workload(name) => Some(name.as_str()),
        LineScope::Whole | LineScope::Cell(_) | LineScope::Script { .. } => None,
    };
    // If offered rates set the throughput of all cells, nothing is invalid, and nothing decided.
    let none = arm.without_figure(workload).unwrap_or(match arm.is_invalid() {
        true => Verdict::Invalid,
        false => Verdict::Inconclusive { more_pairs: None },
    });
    VerdictLine {
        estimate: figure.map(|figure| figure.grid.estimate),
        verdict: figure.map_or(none, |figure| figure.verdict),
        figure: figure.copied(),
        levels: workload.map_or(arm.grid_levels.as_ref(), |name| arm.workload_levels.get(name)).cloned(),
        ..VerdictLine::empty(arm, scope)
    }
}

fn of_cell(arm: &ArmComparison, cell: &CellComparison) -> VerdictLine {
    VerdictLine {
        estimate: cell.estimate,
        verdict: cell.verdict,
        ..VerdictLine::empty(arm, LineScope::Cell(cell.cell.clone()))
    }
}

fn of_script(arm: &ArmComparison, of: &ScriptComparison) -> VerdictLine {
    let scope = LineScope::Script { workload: of.workload.clone(), script: of.script.clone() };
    VerdictLine { estimate: of.estimate, verdict: of.verdict, ..VerdictLine::empty(arm, scope) }
}

impl VerdictLine {
    fn empty(arm: &ArmComparison, scope: LineScope) -> Self {
        Self {
            arm: arm.arm.clone(),
            scope,
            figure: None,
            estimate: None,
            verdict: Verdict::Invalid,
            levels: None,
            values: String::new(),
            suspect: None,
        }
    }
}
