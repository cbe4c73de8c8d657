//! Figures and charts of each workload.

use record::Run;

use crate::arrivals::{self, Columns};
use crate::chart::{Figure, clients, ladder, latency, time};
use crate::data::{Curve, ReportData, cell_label};
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::{Cell, Sheet};
use crate::tables::CellFigures;
use crate::words;

/// Combinations of other factors whose charts stand open; the rest is folded.
const OPEN: usize = 3;

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    for workload in data.workloads() {
        out.tag("h3").text(workload);
        let runs = || data.grid_runs().filter(|run| run.workload == workload);
        figures(runs(), &data.arms()).write(out);
        groups(data, workload, out);
        in_time(runs(), &data.arms(), out);
        write_figures(&ladder::figures(data, workload), out);
        let curves = data.curves(workload);
        let (open, folded) = curves.split_at(curves.len().min(OPEN));
        charts(data, workload, open, out);
        if !folded.is_empty() {
            out.tag("details").with(|out| {
                out.tag("summary").text(format_args!("Charts of {} more", folded.len()));
                charts(data, workload, folded, out);
            });
        }
    }
}

/// Cells whose runs fall into two groups.
fn groups(data: &ReportData, workload: &str, out: &mut Markup) {
    let found = data.groups.iter().filter(|found| found.cell.workload == workload);
    for line in found.map(words::grouped_cell) {
        out.tag("p").class("notice").text(line);
    }
}

fn charts(data: &ReportData, workload: &str, curves: &[Curve<'_>], out: &mut Markup) {
    let drawn: Vec<Figure> = curves
        .iter()
        .flat_map(|curve| {
            let title = if curve.name.is_empty() {
                workload.to_owned()
            } else {
                format!("{workload}, {}", curve.name)
            };
            [
                clients::throughput(data, &title, curve),
                clients::response(data, &title, curve),
                latency::figure(data, &title, curve),
                time::figure(data, &title, curve),
            ]
        })
        .flatten()
        .collect();
    write_figures(&drawn, out);
}

fn write_figures(drawn: &[Figure], out: &mut Markup) {
    if drawn.is_empty() {
        return;
    }
    out.tag("div").class("charts").with(|out| {
        for figure in drawn {
            figure.write(out);
        }
    });
}

/// Throughput and response times per cell and arm.
pub(super) fn figures<'a>(runs: impl Iterator<Item = &'a Run>, arms: &[Option<&'a str>]) -> Sheet {
    let figures = CellFigures::of(runs, arms);
    let cells: Vec<_> = figures.iter().map(|figures| figures.cell.clone()).collect();
    let mut factors = ReportData::varying(&cells);
    if factors.is_empty() {
        factors.push("clients".to_owned());
    }
    let with_arms = arms.iter().any(Option::is_some);
    let started_only = figures.iter().any(is_of_started_only);
    let with_invalid = figures.iter().any(|figures| figures.invalid > 0);
    let with_bytes = figures.iter().any(|figures| figures.bytes_per_transaction.is_some());
    let mut sheet = Sheet::new(
        "Transactions per second over rounds, and response times of all rounds together; invalid runs left out",
    )
    .text(["cell"])
    .text(with_arms.then_some("arm"))
    .numbers(started_only.then_some("times of"))
    .numbers(["runs", "tps mean", "tps max", "p50", "p95", "p99", "max", "failed"])
    .numbers(with_invalid.then_some("invalid runs"))
    .numbers(with_bytes.then_some("bytes per transaction"));
    for figures in &figures {
        let mut row: Vec<Cell> = vec![cell_label(&figures.cell, &factors).into()];
        if with_arms {
            row.push(figures.arm.unwrap_or(numbers::ABSENT).into());
        }
        row.extend(started_only.then(|| times_of(figures)));
        row.extend(numbers_of(figures));
        row.extend(with_invalid.then(|| counted(Some(figures.invalid))));
        if with_bytes {
            let size = figures.bytes_per_transaction.map(|bytes| numbers::bytes(bytes as u64));
            row.push(size.unwrap_or(numbers::ABSENT.to_owned()).into());
        }
        sheet.row(row);
    }
    sheet
}

fn is_of_started_only(figures: &CellFigures<'_>) -> bool {
    figures.in_time.arrivals.is_some_and(|arrivals| arrivals.started_only)
}

fn times_of(figures: &CellFigures<'_>) -> Cell {
    let class = if is_of_started_only(figures) { "doubt" } else { "" };
    Cell::classed(figures.in_time.arrivals.as_ref().map_or("", arrivals::percentiles_of), class)
}

/// What was offered and what of it was done in time, and what was late, per cell and arm; nothing where no load is open
/// and nothing was promised.
pub(super) fn in_time<'a>(runs: impl Iterator<Item = &'a Run>, arms: &[Option<&'a str>], out: &mut Markup) {
    let figures = CellFigures::of(runs, arms);
    let Some(columns) = Columns::of(figures.iter().map(|figures| figures.in_time)) else { return };
    if figures.iter().any(is_of_started_only) {
        out.tag("p").class("remark").text(arrivals::STARTED_ONLY);
    }
    let with_arms = arms.iter().any(Option::is_some);
    let mut sheet = Sheet::new(if columns.is_open() {
        "What was offered, per second, and what was done in time; what was not: counts of all rounds together"
    } else {
        "How the promise was kept: what was done, but late; counts of all rounds together"
    })
    .text(["cell"])
    .text(with_arms.then_some("arm"))
    .numbers(columns.heads());
    for figures in &figures {
        let factors: Vec<String> = figures.cell.factors.keys().cloned().collect();
        let mut row: Vec<Cell> = vec![cell_label(&figures.cell, &factors).into()];
        row.extend(with_arms.then(|| Cell::from(figures.arm.unwrap_or(numbers::ABSENT))));
        row.extend(columns.cells(figures.in_time));
        sheet.row(row);
    }
    sheet.write(out);
}

fn numbers_of(figures: &CellFigures<'_>) -> Vec<Cell> {
    let or_absent = |value: Option<f64>, written: fn(f64) -> String| -> Cell {
        value.map_or(numbers::ABSENT.to_owned(), written).into()
    };
    let quantile = |q| or_absent(figures.quantile_ns(q), numbers::latency_ns);
    vec![
        numbers::count(figures.tps.n as u64).into(),
        or_absent(figures.tps.mean(), numbers::tps),
        or_absent(figures.tps.max(), numbers::tps),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        quantile(1.0),
        counted(figures.failed),
    ]
}

/// A number that should be 0.
fn counted(number: Option<u64>) -> Cell {
    let class = if number.is_some_and(|number| number > 0) { "doubt" } else { "" };
    Cell::classed(number.map_or(numbers::ABSENT.to_owned(), numbers::count), class)
}
