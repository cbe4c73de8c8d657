//! The verdict of each cell: one table, in parts if there are several arms or metrics.

use std::collections::BTreeSet;

use results::comparison::{ArmComparison, CellComparison, Comparison, Metric};
use results::data::{cell_label, varying};
use results::{CellValue, ReportData, Table};
use stats::{Estimate, Verdict};

use super::WIDTH;
use super::ascii::ascii;
use crate::compared::{indicative, shown_figures, value_of, verdict_by};
use crate::format::text_of_width;
use crate::lines::wrapped;
use crate::numbers;
use crate::sections::verdicts::sentence;
use crate::spread::{repeats, spread_in_words};
use crate::work::by_reliability;

/// Longer names of arms do not fit above a number.
const LONGEST_HEAD: usize = 14;
const CLIENTS: &str = "clients";

/// An arm by one metric.
struct Part<'a> {
    of: &'a Comparison,
    arm: &'a ArmComparison,
}

/// The table with its caption; empty if there is none. Without a comparison: mean and interval of each cell.
pub(super) fn table(data: &ReportData) -> String {
    if data.limits().is_some() {
        return String::new();
    }
    let compared = by_reliability(data);
    if compared.is_empty() {
        let found = repeats(data, Metric::Tps);
        let caption = "Mean of each cell, with its 95 % interval.";
        let table = in_ascii(spread_in_words(&found, Metric::Tps));
        let shown = || wrapped(caption, WIDTH) + &text_of_width(&table, WIDTH);
        return if found.is_empty() { String::new() } else { shown() };
    }
    let parts = compared.iter().flat_map(|of| of.arms.iter().map(move |arm| Part { of, arm }));
    let parts: Vec<Part<'_>> = parts.filter(|part| !part.arm.cells.is_empty()).collect();
    if parts.is_empty() { String::new() } else { of_parts(&parts) }
}

/// What names a cell: its workload, or a level of a factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    Workload,
    Factor(String),
}

/// What is needed to tell the cells apart, clients last.
pub(super) fn names(cells: &[&CellComparison]) -> Vec<Name> {
    let factors = varying(cells.iter().map(|cell| &cell.cell));
    let workloads: BTreeSet<&str> = cells.iter().map(|cell| cell.cell.workload.as_str()).collect();
    let (clients, others): (Vec<String>, Vec<String>) = factors.into_iter().partition(|name| name == CLIENTS);
    let workload = (workloads.len() > 1 || others.is_empty() && clients.is_empty()).then_some(Name::Workload);
    workload.into_iter().chain(others.into_iter().chain(clients).map(Name::Factor)).collect()
}

/// A column for each name, or as few of the first ones as possible in lines above the rows. If that is too wide,
/// one column of text, which is wrapped.
fn of_parts(parts: &[Part<'_>]) -> String {
    let cells: Vec<&CellComparison> = parts.iter().flat_map(|part| &part.arm.cells).collect();
    let names = names(&cells);
    let is_narrow = |text: &String| text.lines().all(|line| line.len() <= WIDTH);
    let in_columns = (0..names.len()).map(|above| in_columns(parts, names.split_at(above))).find(is_narrow);
    let clients = clients_everywhere(&cells, &names);
    wrapped(&ascii(&caption(parts, clients)), WIDTH) + &in_columns.unwrap_or_else(|| in_text(parts, &names))
}

fn in_columns(parts: &[Part<'_>], (above, beside): (&[Name], &[Name])) -> String {
    let mut table = Table::default();
    for name in beside {
        table = match name {
            Name::Workload => table.text(["workload"]),
            Name::Factor(factor) => table.numbers([factor]),
        };
    }
    table = with_figures(table, parts);
    let mut rows: Vec<(usize, String)> = Vec::new();
    for part in parts {
        let mut groups: Vec<(String, Vec<&CellComparison>)> = Vec::new();
        for cell in &part.arm.cells {
            let group = in_words(cell, above);
            match groups.iter_mut().find(|(known, _)| *known == group) {
                Some((_, own)) => own.push(cell),
                None => groups.push((group, vec![cell])),
            }
        }
        for (group, cells) in groups {
            let group = Some(group).filter(|group| !group.is_empty());
            let line: Vec<String> = group.into_iter().chain([subhead(parts, part)]).collect();
            rows.push((cells.len(), line.join(", ")));
            for cell in cells {
                let levels = beside.iter().map(|name| match name {
                    Name::Workload => cell.cell.workload.as_str().into(),
                    Name::Factor(factor) => level(cell, factor),
                });
                table.push(levels.chain(figures(part.of, cell)));
            }
        }
    }
    divided(&text_of_width(&in_ascii(table), WIDTH), &rows)
}

fn in_text(parts: &[Part<'_>], names: &[Name]) -> String {
    let mut table = with_figures(Table::default().text(["cell"]), parts);
    for part in parts {
        for cell in &part.arm.cells {
            table.push([CellValue::from(in_words(cell, names))].into_iter().chain(figures(part.of, cell)));
        }
    }
    let rows: Vec<(usize, String)> =
        parts.iter().map(|part| (part.arm.cells.len(), subhead(parts, part))).collect();
    divided(&text_of_width(&in_ascii(table), WIDTH), &rows)
}

fn with_figures(table: Table, parts: &[Part<'_>]) -> Table {
    table.numbers(heads(parts)).numbers(["change [95 %]"]).text(["verdict"])
}

fn level(cell: &CellComparison, factor: &str) -> CellValue {
    cell.cell.factors.get(factor).map_or(numbers::ABSENT, |level| level.0.as_str()).into()
}

/// `select-only, 4 clients`.
pub(super) fn in_words(cell: &CellComparison, names: &[Name]) -> String {
    let workload = names.contains(&Name::Workload).then(|| cell.cell.workload.clone());
    let factors = names.iter().filter_map(|name| match name {
        Name::Workload => None,
        Name::Factor(factor) => Some(factor.clone()),
    });
    let levels = cell_label(&cell.cell, &factors.collect::<Vec<_>>());
    workload
        .into_iter()
        .chain(Some(levels).filter(|levels| !levels.is_empty()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The names of the compared arms, if they are short and the same in all parts.
fn heads(parts: &[Part<'_>]) -> [String; 2] {
    let [base, arm] = [ascii(&parts[0].of.base), ascii(&parts[0].arm.arm)];
    let is_one = parts.iter().all(|part| part.arm.arm == parts[0].arm.arm);
    let short = |name: String, otherwise: &str| match name.len() <= LONGEST_HEAD {
        true => name,
        false => otherwise.to_owned(),
    };
    [short(base, "base"), if is_one { short(arm, "arm") } else { "arm".to_owned() }]
}

fn figures(of: &Comparison, cell: &CellComparison) -> [CellValue; 4] {
    let verdict = match cell.verdict {
        Verdict::Same => "same".to_owned(),
        other => verdict_by(other, of),
    };
    let [base, new] = shown_figures(cell);
    [
        value_of(cell, of.metric, base).into(),
        value_of(cell, of.metric, new).into(),
        cell.estimate.as_ref().map_or(numbers::ABSENT.to_owned(), change).into(),
        verdict.into(),
    ]
}

pub(super) fn change(of: &Estimate) -> String {
    numbers::change_with_interval(of.change_pct(), of.interval_pct())
}

/// `4 clients`, if the number of clients is the same in all cells.
pub(super) fn clients_everywhere(cells: &[&CellComparison], names: &[Name]) -> Option<String> {
    let clients: BTreeSet<&str> =
        cells.iter().filter_map(|cell| Some(cell.cell.factors.get(CLIENTS)?.0.as_str())).collect();
    let only = clients
        .first()
        .filter(|_| clients.len() == 1 && !names.contains(&Name::Factor(CLIENTS.to_owned())))?;
    Some(if *only == "1" { "1 client".to_owned() } else { format!("{only} clients") })
}

/// What the numbers are, and how sure: once for all parts.
fn caption(parts: &[Part<'_>], clients: Option<String>) -> String {
    let Part { of, arm } = &parts[0];
    let what = if parts.len() == 1 { format!("{}; ", subhead(parts, &parts[0])) } else { String::new() };
    let cells = || parts.iter().flat_map(|part| &part.arm.cells);
    let means = cells().all(|cell| cell.compared.iter().all(Option::is_some));
    let means = if means { "geometric means over rounds; " } else { "" };
    let lines = arm.cells.iter().filter_map(|cell| cell.estimate).map(|of| of.lines).max().unwrap_or(1);
    let is_several = parts.iter().any(|part| part.of.metric != of.metric);
    let from = if of.paired { "from pairs of a round" } else { "from all runs" };
    let doubts: BTreeSet<&str> =
        cells().filter_map(|cell| cell.estimate.as_ref().and_then(indicative)).collect();
    let notes: Vec<String> = clients.into_iter().chain(doubts.into_iter().map(str::to_owned)).collect();
    let notes = notes.iter().map(|note| format!("; {note}")).collect::<String>();
    let together = together(lines, is_several);
    let text = format!("{what}{means}95 % intervals {from}{together}{notes}.");
    sentence(&text)
}

/// `, all 9 of a metric together`: how many intervals hold with 95 % confidence.
pub(super) fn together(lines: usize, is_several: bool) -> String {
    let of_a_metric = if is_several { " of a metric" } else { "" };
    match lines {
        0 | 1 => String::new(),
        2 => format!(", both{of_a_metric} together"),
        lines => format!(", all {lines}{of_a_metric} together"),
    }
}

fn subhead(parts: &[Part<'_>], Part { of, arm }: &Part<'_>) -> String {
    let what = match (of.metric, arm.cells.iter().all(|cell| cell.job)) {
        (Metric::Tps, true) => "time from start to end (changes of speed)".to_owned(),
        (Metric::Tps, false) => "throughput per second".to_owned(),
        (Metric::Cpu, _) => "server CPU per transaction (less is better)".to_owned(),
        (other, _) => other.noun().to_owned(),
    };
    let [base, new] = heads(parts);
    match (base == ascii(&of.base), new == ascii(&arm.arm)) {
        (_, true) => what,
        (true, false) => format!("{what}, {}", arm.arm),
        (false, false) => format!("{what}, {} against {}", arm.arm, of.base),
    }
}

/// Puts a line above the rows of each part, if there are several parts. If rows were wrapped, the parts are listed
/// above all of them, in their order.
fn divided(printed: &str, above: &[(usize, String)]) -> String {
    if above.len() < 2 {
        return printed.to_owned();
    }
    let lines: Vec<&str> = printed.lines().collect();
    let ruler = lines.iter().position(|line| line.starts_with("---")).unwrap_or(0);
    let (head, mut body) = lines.split_at(ruler + 1);
    if body.len() != above.iter().map(|(rows, _)| rows).sum::<usize>() {
        let parts: Vec<String> = above.iter().map(|(rows, what)| format!("{rows} of {what}")).collect();
        return wrapped(&ascii(&format!("Cells: {}.", parts.join("; "))), WIDTH) + printed;
    }
    let mut out = head.join("\n") + "\n";
    for (rows, what) in above {
        let (own, rest) = body.split_at(*rows);
        out += &wrapped(&ascii(&format!("{what}:")), WIDTH);
        own.iter().for_each(|line| out += &format!("{line}\n"));
        body = rest;
    }
    out
}

/// Made ASCII before it is printed, so that its columns stay aligned.
fn in_ascii(mut table: Table) -> Table {
    for value in table.rows.iter_mut().flatten() {
        if let CellValue::Text(text) = value {
            *text = ascii(text);
        }
    }
    for column in &mut table.columns {
        column.name = ascii(&column.name);
    }
    table
}
