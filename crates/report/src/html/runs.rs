//! Every run in order of execution.

use record::{Run, Validity};
use results::comparison::Cell as GridCell;

use super::when;
use crate::arrivals::{Columns, InTime};
use crate::data::{ReportData, cell_label};
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::{Cell, Sheet};
use crate::tables::{doubts, validity};

/// Runs in the table at most; the rest is in the results file.
const MOST: usize = 2000;

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    if data.runs.is_empty() {
        return;
    }
    let doubtful: Vec<&Run> = data.runs.iter().filter(|run| run.validity != Validity::Valid).collect();
    if !doubtful.is_empty() {
        sheet("Runs that are suspect or invalid", doubtful.into_iter()).write(out);
    }
    out.tag("details").with(|out| {
        let all = numbers::counted(data.runs.len(), "run", "runs");
        out.tag("summary").text(format_args!("{all} in order of execution"));
        sheet("All runs in order of execution", data.runs.iter().take(MOST)).write(out);
        if data.runs.len() > MOST {
            out.tag("p").text(format_args!("Only the first {MOST} are shown."));
        }
    });
}

fn sheet<'a>(caption: &str, runs: impl Iterator<Item = &'a Run>) -> Sheet {
    let runs: Vec<&Run> = runs.collect();
    let in_time = Columns::of(runs.iter().map(|run| InTime::of(run)));
    let mut sheet = Sheet::new(caption)
        .numbers(["run"])
        .text(["workload", "cell", "arm"])
        .numbers(["round", "place in pair", "tps", "p99", "seconds"])
        .numbers(in_time.into_iter().flat_map(Columns::heads))
        .text(["validity", "started"])
        .numbers(["seed"]);
    for run in runs {
        sheet.row(row(run, in_time));
    }
    sheet
}

fn row(run: &Run, in_time: Option<Columns>) -> Vec<Cell> {
    let cell = GridCell::of(run);
    let factors: Vec<String> = cell.factors.keys().cloned().collect();
    let p99 = run.response().quantile_ns(0.99).map(|ns| numbers::latency_ns(ns as f64));
    let mut cells = vec![
        run.sequence.into(),
        (&run.workload).into(),
        cell_label(&cell, &factors).into(),
        run.arm.as_deref().unwrap_or("").into(),
        run.round.into(),
        run.position_in_pair.into(),
        run.tps().map_or(String::new(), numbers::tps).into(),
        p99.unwrap_or_default().into(),
        numbers::fixed(run.measured_s, 1).into(),
    ];
    cells.extend(in_time.into_iter().flat_map(|columns| columns.cells(InTime::of(run))));
    cells.extend([believed(run), when(&run.started_at).into(), run.seed.into()]);
    cells
}

/// Validity with its doubts.
fn believed(run: &Run) -> Cell {
    let word = validity(run.validity);
    let text = match doubts(run) {
        doubts if doubts.is_empty() => word.to_owned(),
        doubts => format!("{word} ({doubts})"),
    };
    Cell::classed(text, if run.validity == Validity::Valid { "" } else { "doubt" })
}
