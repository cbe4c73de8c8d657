//! Every run in order of execution.

use maud::{Markup, html};
use results::Table;
use results::comparison;
use serde::Serialize;
use spec::{Doubt, Run, Validity};

use super::View;
use crate::arrivals::{self, Columns, InTime};
use crate::data::{ReportData, cell_label, levels, when};
use crate::numbers::{self, real};
use crate::sheet::{Cell, Sheet};

/// Runs in the table of a page at most; the rest is in the results file.
const MOST: usize = 2000;

#[derive(Debug, Serialize)]
pub(super) struct Runs {
    runs: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    sequence: u32,
    cell: comparison::Cell,
    arm: Option<String>,
    round: u32,
    position_in_pair: u32,
    tps: Option<f64>,
    /// Of a job of the grid.
    took_s: Option<f64>,
    p99_ns: Option<f64>,
    sliced: bool,
    measured_s: f64,
    in_time: InTime,
    validity: Validity,
    doubts: Vec<Doubt>,
    /// Whether another one was measured in its place.
    again: bool,
    started_at: String,
    seed: u64,
}

impl Runs {
    fn all(data: &ReportData) -> Self {
        let row = |run: &Run| Row {
            sequence: run.sequence,
            cell: comparison::Cell::of(run),
            arm: run.arm.clone(),
            round: run.round,
            position_in_pair: run.position_in_pair,
            tps: run.tps(),
            took_s: run.took_s().filter(|_| run.is_measured()),
            p99_ns: run.response().percentile_ns(0.99).map(|ns| ns as f64),
            sliced: run.is_sliced(),
            measured_s: run.measured_s,
            in_time: InTime::of(&[run]),
            validity: run.validity,
            doubts: run.doubts.clone(),
            again: data.again.contains(&run.uuid),
            started_at: run.started_at.clone(),
            seed: run.seed,
        };
        Self { runs: data.runs.iter().map(row).collect() }
    }
}

impl View for Runs {
    fn of(data: &ReportData) -> Option<Self> {
        (!data.runs.is_empty()).then(|| Self::all(data))
    }

    fn draw(&self) -> Markup {
        let doubtful: Vec<&Row> = self.runs.iter().filter(|run| run.validity != Validity::Valid).collect();
        let shown: Vec<&Row> = self.runs.iter().take(MOST).collect();
        html! {
            @if !doubtful.is_empty() { (sheet("Runs that are suspect or invalid", &doubtful)) }
            details {
                summary { (numbers::counted(self.runs.len(), "run")) " in order of execution" }
                (sheet("All runs in order of execution", &shown))
                @if self.runs.len() > MOST { p { "Only the first " (MOST) " are shown." } }
            }
        }
    }
}

fn sheet(caption: &str, runs: &[&Row]) -> Sheet {
    let in_time = Columns::of(runs.iter().map(|run| &run.in_time));
    let mut sheet = Sheet::new(caption)
        .numbers(["run"])
        .text(["workload", "cell", "arm"])
        .numbers(["round", "place in pair", "tps", "p99", "seconds"])
        .numbers(in_time.into_iter().flat_map(Columns::heads))
        .text(["validity", "started"])
        .numbers(["seed"]);
    for run in runs {
        let factors: Vec<String> = run.cell.factors.keys().cloned().collect();
        let mut row: Vec<Cell> = vec![
            run.sequence.into(),
            (&run.cell.workload).into(),
            cell_label(&run.cell, &factors).into(),
            run.arm.as_deref().unwrap_or("").into(),
            run.round.into(),
            run.position_in_pair.into(),
            run.tps.map_or(String::new(), numbers::tps).into(),
            run.p99_ns.map_or(String::new(), numbers::latency_ns).into(),
            numbers::fixed(run.measured_s, 1).into(),
        ];
        row.extend(in_time.into_iter().flat_map(|columns| columns.cells(&run.in_time)));
        row.extend([believed(run), when(&run.started_at).into(), run.seed.into()]);
        sheet.row(row);
    }
    sheet
}

/// Validity with its doubts.
fn believed(run: &Row) -> Cell {
    let word = validity(run.validity);
    let word = if run.again { "measured again" } else { word };
    let text = match doubts(&run.doubts) {
        doubts if doubts.is_empty() => word.to_owned(),
        doubts => format!("{word} ({doubts})"),
    };
    Cell::classed(text, if run.validity == Validity::Valid { "" } else { "doubt" })
}

fn validity(of: Validity) -> &'static str {
    match of {
        Validity::Valid => "valid",
        Validity::Suspect => "suspect",
        Validity::Invalid => "invalid",
    }
}

/// With their figures: `throttled: CPU probe 12 % slower; steal: 4 %`.
fn doubts(of: &[Doubt]) -> String {
    let each = of.iter().map(|doubt| match doubt.detail.as_str() {
        "" => doubt.reason.text().to_owned(),
        detail => format!("{}: {detail}", doubt.reason.text()),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Every run in order of execution, with its validity and doubts. Response times in µs; where a load is open, what became
/// of its arrivals; where there is a promise, how much was late.
#[must_use]
pub fn runs(data: &ReportData) -> Table {
    let mut table = Table::new(&[
        "run", "round", "workload", "cell", "arm", "tps", "took_s", "p99_us", "sliced", "validity", "doubts",
    ]);
    table.optional.extend(["took_s", "sliced"].map(str::to_owned));
    let all = Runs::all(data);
    for run in &all.runs {
        table.push(vec![
            run.sequence.into(),
            run.round.into(),
            run.cell.workload.clone().into(),
            levels(&run.cell).into(),
            run.arm.clone().into(),
            real(run.tps),
            real(run.took_s),
            real(run.p99_ns.map(|ns| ns / 1e3)),
            numbers::sliced(run.sliced),
            if run.again { "measured again" } else { validity(run.validity) }.into(),
            doubts(&run.doubts).into(),
        ]);
    }
    let in_time: Vec<InTime> = all.runs.iter().map(|run| run.in_time).collect();
    arrivals::insert(&mut table, "p99_us", &in_time);
    table
}
