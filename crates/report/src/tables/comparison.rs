//! Arms against the base, cell by cell.

use results::comparison::{ArmComparison, Comparison, Figure, Grouped, Metric};
use results::{Table, Value};
use stats::{Estimate, Verdict};

use super::{CellFigures, levels, real};
use crate::arrivals::{Columns, InTime};
use crate::data::ReportData;
use crate::{numbers, words};

/// Name of the line for all workloads together.
const WHOLE: &str = "whole grid";

/// The comparison, with what became of the arrivals of both arms where a load is open, and how their promise was kept: of the runs that
/// [`cells()`](super::cells()) shows, per cell.
#[must_use]
pub fn compared(data: &ReportData, found: &Comparison) -> Table {
    with_arrivals(data, found, comparison(found, &data.groups))
}

/// The same for people: change and interval in one column, verdict and groups in another, as the page writes them.
#[must_use]
pub fn compared_in_words(data: &ReportData, found: &Comparison) -> Table {
    with_arrivals(data, found, comparison_in_words(found, &data.groups))
}

fn with_arrivals(data: &ReportData, found: &Comparison, mut table: Table) -> Table {
    let cells = CellFigures::of(data.grid_runs(), &data.arms());
    let of = |arm: &Value, row: &[Value]| {
        let is_it = |figures: &&CellFigures<'_>| {
            Value::from(figures.arm) == *arm
                && row[1] == figures.cell.workload.as_str().into()
                && row[2] == levels(&figures.cell)
        };
        cells.iter().find(is_it).map_or_else(InTime::default, |figures| figures.in_time)
    };
    // Rows for a workload or the grid have no cell.
    let (base, new): (Vec<_>, Vec<_>) =
        table.rows.iter().map(|row| (of(&found.base.as_str().into(), row), of(&row[0], row))).unzip();
    let Some(columns) = Columns::of(base.iter().chain(&new).copied()) else { return table };
    table.columns.extend(columns.names("base_").into_iter().chain(columns.names("")));
    for ((row, base), new) in table.rows.iter_mut().zip(&base).zip(&new) {
        row.extend(columns.values(*base).into_iter().chain(columns.values(*new)));
    }
    table
}

/// Every arm against the base: a line per cell, one per workload (cell empty), one for the whole grid.
///
/// The cells' own figures per second or in µs, as the metric is; changes and intervals (95 %) in percent; p after Holm's
/// adjustment, for cells only. `groups` speaks where the runs of a cell fall into two of them.
fn comparison(found: &Comparison, groups: &[Grouped]) -> Table {
    let unit = match found.metric {
        Metric::Tps => "tps",
        Metric::P50 => "p50_us",
        Metric::P95 => "p95_us",
        Metric::P99 => "p99_us",
    };
    let base = format!("base_{unit}");
    let mut table = Table::new(&[
        "arm",
        "workload",
        "cell",
        &base,
        unit,
        "change_pct",
        "low_pct",
        "high_pct",
        "p_holm",
        "n",
        "verdict",
        "groups",
    ]);
    table.optional.push("groups".to_owned());
    for arm in &found.arms {
        add_arm(&mut table, found, arm, groups);
    }
    table
}

/// [`comparison`] for people.
fn comparison_in_words(found: &Comparison, groups: &[Grouped]) -> Table {
    let mut table = comparison(found, groups);
    let at = table.columns.iter().position(|name| name == "change_pct").expect("it was just made");
    table.columns.splice(at..at + 3, ["change, 95 %".to_owned()]);
    for row in &mut table.rows {
        let number = |value: &Value| if let Value::Real(number) = value { Some(*number) } else { None };
        let change = number(&row[at]).map(|change| {
            numbers::change_with_interval(change, number(&row[at + 1]).zip(number(&row[at + 2])))
        });
        row.splice(at..at + 3, [Value::from(change)]);
        if let (Some(Value::Text(groups)), Some(Value::Text(verdict))) = (row.pop(), row.last_mut()) {
            *verdict = format!("{verdict}; {groups}");
        }
    }
    table.columns.pop();
    table
}

fn add_arm(table: &mut Table, found: &Comparison, arm: &ArmComparison, groups: &[Grouped]) {
    for cell in &arm.cells {
        let means = [real(cell.base), real(cell.new)];
        let head = [arm.arm.clone().into(), cell.cell.workload.clone().into(), levels(&cell.cell)];
        table.push(row(
            head,
            means,
            cell.estimate.as_ref(),
            cell.holm_p,
            words::verdict(cell.verdict, found.margin),
            words::groups_of_pair(groups, &cell.cell, [&found.base, &arm.arm]).into(),
        ));
    }
    let workloads = arm.workload_names();
    for name in workloads.into_iter().map(Some).chain([None]) {
        let figure = name.map_or(arm.grid.as_ref(), |name| arm.workloads.get(name));
        // A workload of offered rates only has no figure, as the line of the whole grid says.
        let verdict = match figure {
            Some(figure) => words::verdict(figure.verdict, found.margin),
            None if arm.averaged(name) > 0 => words::verdict(Verdict::Invalid, found.margin),
            None if name.is_none() && arm.scheduled > 0 => words::no_figure(arm, name),
            None => continue,
        };
        let head = [arm.arm.clone().into(), name.unwrap_or(WHOLE).into(), left_out(arm, name, figure).into()];
        let estimate = figure.map(|figure| &figure.grid.estimate);
        table.push(row(head, [Value::Null, Value::Null], estimate, None, verdict, Value::Null));
    }
}

/// Which cells are in the figure of a workload or of the whole grid (`None`), where not all of them are.
fn left_out(arm: &ArmComparison, name: Option<&str>, figure: Option<&Figure>) -> String {
    let lacks = match (figure, arm.averaged(name)) {
        (Some(figure), _) => words::incomplete(figure),
        (None, 0) => None,
        (None, all) => Some(words::incomplete_cells(0, all)),
    };
    let offered = (name.is_none() && arm.scheduled > 0 && arm.averaged(None) > 0)
        .then(|| format!("without {} of offered rates", numbers::counted(arm.scheduled, "cell", "cells")));
    offered.into_iter().chain(lacks).collect::<Vec<_>>().join("; ")
}

fn row(
    head: [Value; 3],
    means: [Value; 2],
    estimate: Option<&Estimate>,
    holm_p: Option<f64>,
    verdict: String,
    groups: Value,
) -> Vec<Value> {
    let interval = estimate.and_then(Estimate::interval_pct);
    let tail = [
        real(estimate.map(Estimate::change_pct)),
        real(interval.map(|(low, _)| low)),
        real(interval.map(|(_, high)| high)),
        real(holm_p),
        (estimate.map_or(0, |estimate| estimate.n) as u64).into(),
        verdict.into(),
        groups,
    ];
    head.into_iter().chain(means).chain(tail).collect()
}
