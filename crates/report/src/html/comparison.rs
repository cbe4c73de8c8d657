//! A verdict per cell: forest plot and table, an arm at a time.

use results::comparison::{ArmComparison, CellComparison, Comparison, Metric};
use stats::Better;

use super::answer::strong;
use crate::chart::forest::{Forest, Row};
use crate::data::{ReportData, cell_text};
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::{Cell, Sheet};
use crate::words::{self, Tone};

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    for found in data.comparisons() {
        one(data, found, out);
    }
}

fn one(data: &ReportData, found: &Comparison, out: &mut Markup) {
    let from =
        if found.paired { "pairs of runs of the same round" } else { "all runs of both arms (Welch's t)" };
    out.tag("p").text(format_args!(
        "{} in each cell against {}, with 95 % intervals from {from}. \"Same\" means: \
         surely within the margin of {}. Verdicts of single cells allow for there being many of them (Holm).",
        words::sentence(found.metric.noun()),
        found.base,
        numbers::percent(found.margin)
    ));
    for arm in found.arms.iter().filter(|arm| !arm.cells.is_empty()) {
        if found.arms.len() > 1 {
            out.tag("h3").text(format_args!("{} against {}", arm.arm, found.base));
        }
        if let Some(figure) = forest(found, arm) {
            figure.write(out);
        }
        table(data, found, arm).write(out);
        excluded(arm, out);
    }
}

fn forest(found: &Comparison, arm: &ArmComparison) -> Option<crate::chart::Figure> {
    let cell = |cell: &CellComparison| {
        let estimate = cell.estimate?;
        Some(Row {
            label: cell_text(&cell.cell),
            change: estimate.change_pct(),
            interval: estimate.interval_pct(),
            tone: Tone::of(cell.verdict),
            total: false,
        })
    };
    let mut rows: Vec<Row> = arm.cells.iter().filter_map(cell).collect();
    rows.extend(
        arm.grid.iter().map(|figure| Row {
            label: words::incomplete(figure)
                .map_or("whole grid".to_owned(), |lacks| format!("whole grid ({lacks})")),
            change: figure.grid.estimate.change_pct(),
            interval: figure.grid.estimate.interval_pct(),
            tone: Tone::of(figure.verdict),
            total: true,
        }),
    );
    let noun = found.metric.noun();
    let mut data = Sheet::new(format_args!("Change of {noun}, with its 95 % interval"))
        .text(["cell"])
        .numbers(["change", "interval"])
        .text(["verdict"]);
    for (row, verdict) in rows.iter().zip(verdicts(found, arm)) {
        let interval = row
            .interval
            .map_or(numbers::ABSENT.to_owned(), |(low, high)| numbers::change_interval(low, high));
        data.row(vec![
            row.label.clone().into(),
            numbers::change(row.change).into(),
            interval.into(),
            verdict.into(),
        ]);
    }
    Forest {
        title: format!("{} against {}: change of {noun}", arm.arm, found.base),
        caption: format!(
            "{}. Each line is a cell's 95 % interval, the band is the margin of {}; {}.",
            words::tally(arm),
            numbers::percent(found.margin),
            marks(found.metric, arm)
        ),
        x_name: format!("change of {noun} against {}", found.base),
        margin: found.margin * 100.0,
        rows,
        data,
    }
    .figure()
}

/// What the marks mean; those of a whole grid only where there is one.
fn marks(metric: Metric, arm: &ArmComparison) -> String {
    let better = match metric.better() {
        Better::Larger => "▲ faster, ▼ slower",
        Better::Smaller => "▲ faster (to the left), ▼ slower",
    };
    let grid = if arm.grid.is_some() { ", ◆ the whole grid" } else { "" };
    format!("{better}, ■ same, ● inconclusive{grid}")
}

/// Verdicts of the rows that are drawn, in the same order.
fn verdicts(found: &Comparison, arm: &ArmComparison) -> Vec<String> {
    let cells = arm.cells.iter().filter(|cell| cell.estimate.is_some()).map(|cell| cell.verdict);
    cells
        .chain(arm.grid.iter().map(|figure| figure.verdict))
        .map(|v| words::verdict(v, found.margin))
        .collect()
}

fn table(data: &ReportData, found: &Comparison, arm: &ArmComparison) -> Sheet {
    let what = match found.metric {
        Metric::Tps => "transactions per second, mean over rounds".to_owned(),
        other => format!("{} of all rounds together", other.noun()),
    };
    let from = if found.paired { "changes from pairs of the same round" } else { "changes from all runs" };
    let mut sheet = Sheet::new(format_args!("{} against {}: {what}; {from}", arm.arm, found.base))
        .text(["cell"])
        .numbers([found.base.as_str(), arm.arm.as_str(), "change [95 %]"])
        .text(["verdict"])
        .numbers(["p (Holm)", "pairs"]);
    for cell in &arm.cells {
        let change = cell.estimate.map_or(0.0, |estimate| estimate.change_pct());
        sheet.row(vec![
            cell_text(&cell.cell).into(),
            words::value(found.metric, cell.base).into(),
            words::value(found.metric, cell.new).into(),
            cell.estimate.as_ref().map_or(numbers::ABSENT.to_owned(), words::estimate).into(),
            Cell::classed(
                verdict(data, found, arm, cell),
                Tone::of(cell.verdict).cell_class(change, strong(found)),
            ),
            cell.holm_p.map_or(numbers::ABSENT.to_owned(), probability).into(),
            pairs(cell).into(),
        ]);
    }
    sheet
}

/// The verdict, with what else is to be known of the cell.
fn verdict(data: &ReportData, found: &Comparison, arm: &ArmComparison, cell: &CellComparison) -> String {
    let mut parts = vec![words::verdict_with_advice(cell.verdict, found.margin)];
    parts.extend(
        cell.second_opinion.map(|other| {
            format!("by ranks {} (p {})", numbers::change(other.change_pct), probability(other.p))
        }),
    );
    parts.extend(words::groups_of_pair(&data.groups, &cell.cell, [&found.base, &arm.arm]));
    parts.join("; ")
}

/// Pairs used, and how many were left out.
fn pairs(cell: &CellComparison) -> String {
    match cell.excluded.len() {
        0 => cell.differences.len().to_string(),
        left_out => format!("{} (-{left_out})", cell.differences.len()),
    }
}

fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { numbers::fixed(p, 3) }
}

fn excluded(arm: &ArmComparison, out: &mut Markup) {
    if arm.excluded() == 0 {
        return;
    }
    out.tag("details").with(|out| {
        out.tag("summary")
            .text(format_args!("{} left out", numbers::counted(arm.excluded(), "pair", "pairs")));
        out.tag("ul").with(|out| {
            for cell in &arm.cells {
                for pair in &cell.excluded {
                    out.tag("li").text(format_args!(
                        "{}, round {}: {}",
                        cell_text(&cell.cell),
                        pair.round,
                        pair.why
                    ));
                }
            }
        });
    });
}
