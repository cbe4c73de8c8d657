//! How the answers of arms differ from the base's, as rows.

use std::collections::BTreeSet;

use results::comparison::Cell;
use results::{CellValue, Table};
use spec::{AnswerDifference, ColumnDifference, ColumnError, Run, RunEvent};

use results::ReportData;
use results::data::levels;

/// Factors that change how something is requested, never what. Arms are sampled once for all levels of
/// these.
const OF_THE_LOAD: [&str; 8] =
    ["cache", "clients", "connection", "placement", "promise", "rate", "rate_per_client", "threads"];

/// A line for each column with different values, by arm and script; one without a column if only the rows
/// differ. Empty if all compared answers are equal. `cell` has the levels that change the question or the
/// data.
#[must_use]
pub fn answers(data: &ReportData) -> Table {
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        "script",
        "transactions",
        "differ",
        "rows",
        "base_rows",
        "rows_differ",
        "column",
        "column_differ",
        "error_median_pct",
        "error_greatest_pct",
        "error_undefined",
    ]);
    table.optional(["cell"]);
    // Each run of an arm repeats the same facts.
    let mut seen: BTreeSet<(Cell, &str, &str)> = BTreeSet::new();
    for run in data.measured_runs() {
        for event in run.events.iter().filter(|event| event.kind == RunEvent::ANSWER_DIFFERENCE) {
            let arm = run.arm.as_deref().unwrap_or_default();
            let Ok(found) = serde_json::from_str::<AnswerDifference>(&event.detail) else { continue };
            let cell = asked_in(run);
            if seen.insert((cell.clone(), arm, &event.detail)) {
                push_row(&mut table, run, &cell, &found);
            }
        }
    }
    table
}

/// The cell of a run without the factors of the load, whether for all workloads or for one
/// (`WORKLOAD.rate`).
fn asked_in(run: &Run) -> Cell {
    let mut cell = Cell::of(run);
    cell.factors.retain(|name, _| !OF_THE_LOAD.iter().any(|own| name.rsplit('.').next() == Some(own)));
    cell
}

fn push_row(table: &mut Table, run: &Run, cell: &Cell, found: &AnswerDifference) {
    let columns: Vec<Option<&ColumnDifference>> = match found.columns.is_empty() {
        true => vec![None],
        false => found.columns.iter().map(Some).collect(),
    };
    for column in columns {
        let error: Option<ColumnError> = column.and_then(|column| column.error);
        let percent =
            |share: Option<f64>| share.map_or(CellValue::Null, |share| CellValue::Real(100.0 * share));
        table.push(vec![
            run.workload.clone().into(),
            Some(levels(cell)).filter(|levels| !levels.is_empty()).into(),
            run.arm.clone().into(),
            found.script.clone().into(),
            found.transactions.into(),
            found.differ.into(),
            found.rows.into(),
            found.base_rows.into(),
            found.rows_differ.into(),
            column.map(|column| column.column.clone()).into(),
            column.map(|column| column.differ).into(),
            percent(error.and_then(|error| error.median)),
            percent(error.and_then(|error| error.greatest)),
            error.map(|error| error.undefined).into(),
        ]);
    }
}
