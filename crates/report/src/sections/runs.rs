//! Every run in order of execution.

use results::comparison::Cell;
use results::{CellValue, LongTable, Table};
use spec::{Doubt, Run, Validity};

use crate::arrivals;
use crate::block::Block;
use crate::numbers::{self, real_cell};
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
    let label = |cell: &Cell| cell_label(cell, &cell.factors.keys().cloned().collect::<Vec<_>>());
    let figures = ["run", "workload", "cell", "arm", "round", "place_in_pair", "tps", "p99_us", "measured_s"];
    let columns =
        figures.into_iter().chain(arrivals::ON_PAGE).chain(["validity", "doubts", "started", "seed"]);
    let mut table = runs_of(data, runs.to_vec(), label).table().select(&columns.collect::<Vec<_>>());
    table.optional(["arm", "doubts"]);
    Table { caption: caption.to_owned(), ..table }
}

fn p99_ns(run: &Run) -> Option<f64> {
    run.response().percentile_ns(0.99).map(|ns| ns as f64)
}

/// Its validity, or that another run has taken its place.
pub(crate) fn validity(data: &ReportData, run: &Run) -> &'static str {
    match run.validity {
        _ if data.again.contains(&run.uuid) => "measured again",
        Validity::Valid => "valid",
        Validity::Suspect => "suspect",
        Validity::Invalid => "invalid",
    }
}

/// Its number; empty for preparations, which have none.
pub(crate) fn number(run: &Run) -> CellValue {
    run.is_measured().then_some(run.sequence).into()
}

/// With their figures: `throttled: CPU probe 12 % slower; steal: 4 %`.
fn doubts(of: &[Doubt]) -> String {
    of.iter().map(Doubt::to_string).collect::<Vec<_>>().join("; ")
}

/// Every run in order of execution, with its validity and doubts. Response times in µs; for an open load
/// the fate of its arrivals; with a promise, how much was late.
#[must_use]
pub fn runs(data: &ReportData) -> LongTable<'_> {
    runs_of(data, data.runs.iter().collect(), levels)
}

fn runs_of<'d>(
    data: &'d ReportData,
    runs: Vec<&'d Run>,
    label: impl Fn(&Cell) -> String + 'd,
) -> LongTable<'d> {
    let for_programs = ["place_in_pair", "measured_s", "started", "seed"];
    let mut table = Table::new([
        "run", "round", "workload", "cell", "arm", "tps", "took_s", "p99_us", "sliced", "validity", "doubts",
    ])
    .named(for_programs);
    table.optional(["took_s", "sliced"]);
    table.hide(for_programs);
    let in_time = |run: &Run| InTime::of(&[run]);
    let fates = arrivals::Columns::of(runs.iter().map(|run| in_time(run)));
    let after_p99 = table.at("p99_us").map_or(table.columns.len(), |at| at + 1);
    table.columns.splice(after_p99..after_p99, fates.map(|fates| fates.columns("")).unwrap_or_default());
    LongTable::new(table.columns, move |take| {
        for run in &runs {
            let class = if run.validity == Validity::Valid { "" } else { "doubt" };
            let mut row = vec![
                number(run),
                run.round.into(),
                (&run.workload).into(),
                label(&Cell::of(run)).into(),
                run.arm.clone().into(),
                real_cell(run.tps()),
                real_cell(run.took_s().filter(|_| run.is_measured())),
                real_cell(p99_ns(run).map(|ns| ns / 1e3)),
                numbers::sliced(run.is_sliced()),
                CellValue::marked(validity(data, run), class),
                CellValue::marked(doubts(&run.doubts), class),
                run.position_in_pair.into(),
                real_cell(Some(run.measured_s)),
                CellValue::worded(&run.started_at, when(&run.started_at), ""),
                CellValue::shown(run.seed),
            ];
            let fate = fates.map(|fates| fates.values(&in_time(run)));
            row.splice(after_p99..after_p99, fate.unwrap_or_default());
            take(&row);
        }
    })
}
