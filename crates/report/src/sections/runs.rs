//! Every run in order of execution.

use results::comparison;
use results::{Table, Value};
use spec::{Doubt, Run, Validity};

use crate::arrivals::{self, Columns};
use crate::block::Block;
use crate::numbers::{self, real};
use results::InTime;
use results::ReportData;
use results::data::{cell_label, levels, when};

/// Runs in the table of a page, at most; the rest is in the results file.
const MOST: usize = 2000;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let doubtful: Vec<&Run> = data.runs.iter().filter(|run| run.validity != Validity::Valid).collect();
    let shown: Vec<&Run> = data.runs.iter().take(MOST).collect();
    let mut blocks = Vec::new();
    if !doubtful.is_empty() {
        blocks.push(sheet(data, "Runs that are suspect or invalid", &doubtful).into());
    }
    let mut all = Vec::new();
    if !shown.is_empty() {
        all.push(sheet(data, "All runs in order of execution", &shown).into());
    }
    all.extend((data.runs.len() > MOST).then(|| Block::text(format!("Only the first {MOST} are shown."))));
    let summary = format!("{} in order of execution", numbers::counted(data.runs.len(), "run"));
    blocks.extend(Block::details(summary, all));
    blocks
}

fn sheet(data: &ReportData, caption: &str, runs: &[&Run]) -> Table {
    let in_time: Vec<InTime> = runs.iter().map(|run| InTime::of(&[run])).collect();
    let columns = Columns::of(&in_time);
    let mut sheet = Table::captioned(caption)
        .numbers(["run"])
        .text(["workload", "cell", "arm"])
        .numbers(["round", "place in pair", "tps", "p99", "seconds"])
        .numbers(columns.into_iter().flat_map(Columns::heads))
        .text(["validity", "started"])
        .numbers(["seed"]);
    for (run, in_time) in runs.iter().zip(&in_time) {
        let cell = comparison::Cell::of(run);
        let factors: Vec<String> = cell.factors.keys().cloned().collect();
        let mut row: Vec<Value> = vec![
            run.sequence.into(),
            (&run.workload).into(),
            cell_label(&cell, &factors).into(),
            run.arm.as_deref().unwrap_or("").into(),
            run.round.into(),
            run.position_in_pair.into(),
            run.tps().map_or(String::new(), numbers::tps).into(),
            p99_ns(run).map_or(String::new(), numbers::latency_ns).into(),
            numbers::fixed(run.measured_s, 1).into(),
        ];
        row.extend(columns.into_iter().flat_map(|columns| columns.cells(in_time)));
        row.extend([believed(data, run), when(&run.started_at).into(), Value::shown(run.seed)]);
        sheet.push(row);
    }
    sheet
}

fn p99_ns(run: &Run) -> Option<f64> {
    run.response().percentile_ns(0.99).map(|ns| ns as f64)
}

fn believed(data: &ReportData, run: &Run) -> Value {
    let word = validity(data, run);
    let text = match doubts(&run.doubts) {
        doubts if doubts.is_empty() => word.to_owned(),
        doubts => format!("{word} ({doubts})"),
    };
    Value::marked(text, if run.validity == Validity::Valid { "" } else { "doubt" })
}

fn validity(data: &ReportData, run: &Run) -> &'static str {
    match run.validity {
        _ if data.again.contains(&run.uuid) => "measured again",
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

/// Every run in order of execution, with its validity and doubts. Response times in µs; for an open load
/// the fate of its arrivals; with a promise, how much was late.
#[must_use]
pub fn runs(data: &ReportData) -> Table {
    let mut table = Table::new([
        "run", "round", "workload", "cell", "arm", "tps", "took_s", "p99_us", "sliced", "validity", "doubts",
    ]);
    table.optional(["took_s", "sliced"]);
    for run in &data.runs {
        table.push([
            run.sequence.into(),
            run.round.into(),
            (&run.workload).into(),
            levels(&comparison::Cell::of(run)).into(),
            run.arm.clone().into(),
            real(run.tps()),
            real(run.took_s().filter(|_| run.is_measured())),
            real(p99_ns(run).map(|ns| ns / 1e3)),
            numbers::sliced(run.is_sliced()),
            validity(data, run).into(),
            doubts(&run.doubts).into(),
        ]);
    }
    let in_time: Vec<InTime> = data.runs.iter().map(|run| InTime::of(&[run])).collect();
    arrivals::insert(&mut table, "p99_us", &in_time);
    table
}
