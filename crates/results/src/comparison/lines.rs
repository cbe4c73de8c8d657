//! The verdicts: cells, workloads and whole grids are three kinds of lines, and the lines of a kind, of all
//! arms, are judged together. So the interval of each allows for all of them, and each verdict is read from
//! that interval (docs/decisions/0036).

use std::collections::BTreeSet;

use stats::{Estimate, Verdict};

use super::{
    ArmComparison, CellComparison, GridFigure, Judge, Rule, TakenApart, averaged, levels, scripts, sets,
};

/// Gives every line its interval and verdict. Parts of an arm that is taken apart are judged separately.
pub(super) fn judge(arms: &mut [ArmComparison], apart: Option<&TakenApart>, rule: Rule) {
    let (parts, whole): (Vec<_>, Vec<_>) =
        arms.iter_mut().partition(|arm| apart.is_some_and(|apart| apart.is_part(&arm.arm)));
    for mut together in [parts, whole] {
        let lines = cells(&mut together, rule);
        figures(&mut together, rule);
        if matches!(rule.judge, Judge::ControlDiffers) {
            continue;
        }
        scripts::judge(&mut together, rule);
        for arm in together {
            for name in arm.workloads.keys().cloned().collect::<Vec<_>>() {
                let scripts_differ = scripts_differ(arm, &name);
                for cell in arm.cells.iter_mut().filter(|cell| scripts_differ && cell.cell.workload == name) {
                    cell.verdict = without_answer(cell.verdict);
                }
                let verdict = if scripts_differ { Verdict::PartsDiffer } else { of_workload(arm, &name) };
                arm.workloads.entry(name).and_modify(|figure| figure.verdict = verdict);
            }
            let verdict = of_grid(arm);
            if let Some(grid) = &mut arm.grid {
                grid.verdict = verdict;
            }
            sets::tell_each(arm);
            levels::find(arm, lines, rule);
            tell_undecided_cells(arm);
        }
    }
}

fn counted<'e>(estimates: impl Iterator<Item = &'e Estimate>) -> usize {
    estimates.filter(|estimate| estimate.standard_error.is_some()).count()
}

/// The number of cells that are read together.
fn cells(arms: &mut [&mut ArmComparison], rule: Rule) -> usize {
    let lines = counted(arms.iter().flat_map(|arm| &arm.cells).filter_map(|cell| cell.estimate.as_ref()));
    arms.iter_mut().flat_map(|arm| &mut arm.cells).for_each(|cell| read_cell(cell, lines, rule));
    lines
}

/// Verdicts of some cells that are judged separately, and the figure over them.
pub(super) fn judge_cells(cells: &mut [CellComparison], rule: Rule) -> Option<GridFigure> {
    let lines = counted(cells.iter().filter_map(|cell| cell.estimate.as_ref()));
    cells.iter_mut().for_each(|cell| read_cell(cell, lines, rule));
    let mut figure = figure(&cells.iter().collect::<Vec<_>>(), rule)?;
    read(&mut figure, the_one(cells.iter()), 1, rule);
    Some(figure)
}

fn read_cell(cell: &mut CellComparison, lines: usize, rule: Rule) {
    let Some(estimate) = &mut cell.estimate else { return };
    *estimate = rule.among(*estimate, lines);
    cell.verdict = rule.verdict(estimate);
}

fn figures(arms: &mut [&mut ArmComparison], rule: Rule) {
    for arm in arms.iter_mut() {
        let names: BTreeSet<String> = arm.cells.iter().map(|cell| cell.cell.workload.clone()).collect();
        let of_workload = |name: String| {
            let of_it = arm.cells.iter().filter(|cell| cell.cell.workload == name);
            let figure = figure(&of_it.collect::<Vec<_>>(), rule)?;
            Some((name, figure))
        };
        arm.workloads = names.into_iter().filter_map(of_workload).collect();
        arm.grid = figure(&arm.cells.iter().collect::<Vec<_>>(), rule);
    }
    let workloads = counted(arms.iter().flat_map(|arm| arm.workloads.values()).map(|of| &of.grid.estimate));
    let grids = counted(arms.iter().filter_map(|arm| arm.grid.as_ref()).map(|of| &of.grid.estimate));
    for arm in arms {
        let ArmComparison { cells, workloads: of_workloads, grid, .. } = &mut **arm;
        for (name, figure) in of_workloads.iter_mut() {
            let only = the_one(cells.iter().filter(|cell| cell.cell.workload == *name));
            read(figure, only, workloads, rule);
        }
        let Some(figure) = grid else { continue };
        read(figure, None, grids, rule);
        let mut all = of_workloads.values();
        if let (Some(only), None) = (all.next(), all.next()) {
            (figure.grid.estimate, figure.verdict) = (only.grid.estimate, only.verdict);
        }
    }
}

fn figure(cells: &[&CellComparison], rule: Rule) -> Option<GridFigure> {
    let averaged = averaged(cells);
    let grid = rule.mean(&averaged)?;
    Some(GridFigure { grid, verdict: Verdict::Invalid, cells: averaged.len(), no_cell_decided: false })
}

/// The only cell of a figure; `None` if there are several.
fn the_one<'c>(cells: impl Iterator<Item = &'c CellComparison>) -> Option<&'c CellComparison> {
    let mut with = cells.filter(|cell| cell.estimate.is_some() && !cell.scheduled);
    with.next().filter(|_| with.next().is_none())
}

/// A figure of a single cell has the cell's interval and verdict.
fn read(figure: &mut GridFigure, only: Option<&CellComparison>, lines: usize, rule: Rule) {
    let estimate = &mut figure.grid.estimate;
    match only.and_then(|cell| Some((cell.estimate?, cell.verdict))) {
        Some((of_cell, verdict)) => (*estimate, figure.verdict) = (of_cell, verdict),
        None => {
            *estimate = rule.among(*estimate, lines);
            figure.verdict = rule.verdict(estimate);
        }
    }
}

/// Marks figures that are decided while none of their cells is: a mean over cells has a narrower interval than each.
fn tell_undecided_cells(arm: &mut ArmComparison) {
    let ArmComparison { cells, workloads, grid, .. } = arm;
    let mark = |figure: &mut GridFigure, name: Option<&str>| {
        let of_it = |cell: &&CellComparison| name.is_none_or(|name| cell.cell.workload == name);
        let own: Vec<&CellComparison> = cells.iter().filter(of_it).filter(|cell| !cell.scheduled).collect();
        let is_said = |verdict: Verdict| verdict.is_decided() || verdict.is_change();
        figure.no_cell_decided =
            own.len() > 1 && is_said(figure.verdict) && !own.iter().any(|cell| is_said(cell.verdict));
    };
    workloads.iter_mut().for_each(|(name, figure)| mark(figure, Some(name)));
    grid.iter_mut().for_each(|figure| mark(figure, None));
}

/// Whether the scripts of a workload differ: its throughput is a mean over them, and does not hold for any
/// of them.
fn scripts_differ(arm: &ArmComparison, workload: &str) -> bool {
    let whole = arm.workloads[workload].verdict;
    let own = || arm.scripts.iter().filter(|script| script.workload == workload);
    let estimates: Vec<Estimate> = own().filter_map(|script| script.estimate).collect();
    own().any(|script| script.verdict.contradicts(whole)) || are_unlike(&estimates)
}

fn without_answer(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Invalid | Verdict::TooFew(_) => verdict,
        _ => Verdict::PartsDiffer,
    }
}

/// A mean over cells does not hold for a cell that surely changes in another direction.
fn of_workload(arm: &ArmComparison, name: &str) -> Verdict {
    let own = arm.workloads[name].verdict;
    let mut cells = arm.cells.iter().filter(|cell| cell.cell.workload == name && !cell.scheduled);
    if cells.any(|cell| cell.verdict.contradicts(own)) { Verdict::PartsDiffer } else { own }
}

/// A mean over workloads that differ does not hold for any of them.
fn of_grid(arm: &ArmComparison) -> Verdict {
    let Some(own) = arm.grid.map(|figure| figure.verdict) else { return Verdict::Invalid };
    let mut workloads = arm.workloads.values();
    if let (Some(only), None) = (workloads.next(), workloads.next()) {
        return only.verdict;
    }
    let estimates: Vec<Estimate> = arm.workloads.values().map(|figure| figure.grid.estimate).collect();
    // Workloads are few: a different decision is reported, even if it could be chance.
    let decided_otherwise = |verdict: Verdict| {
        verdict == Verdict::PartsDiffer || verdict.is_decided() && !same_kind(verdict, own)
    };
    let differ = arm.workloads.values().any(|figure| decided_otherwise(figure.verdict));
    if differ || are_unlike(&estimates) { Verdict::PartsDiffer } else { own }
}

fn are_unlike(estimates: &[Estimate]) -> bool {
    stats::heterogeneity(estimates).is_some_and(|spread| spread.is_beyond_noise())
}

fn same_kind(one: Verdict, other: Verdict) -> bool {
    std::mem::discriminant(&one) == std::mem::discriminant(&other)
}
