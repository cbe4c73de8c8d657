//! How far arms answer otherwise than the base, as rows.

use std::collections::BTreeSet;

use record::{AnswerDifference, ColumnDifference, ColumnError, Run, RunEvent};
use results::{Table, Value};

use crate::data::ReportData;

/// A line for each column whose values are others, of each script of each arm; one without a column where only rows are. Empty where
/// all that was compared was the same.
#[must_use]
pub fn answers(data: &ReportData) -> Table {
    let mut table = Table::new(&[
        "workload",
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
    // Each run of an arm says it; an option of a workload may make another question of it.
    let mut told: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    for run in data.measured_runs() {
        for event in run.events.iter().filter(|event| event.kind == RunEvent::ANSWER_DIFFERENCE) {
            let arm = run.arm.as_deref().unwrap_or_default();
            let Ok(found) = serde_json::from_str::<AnswerDifference>(&event.detail) else { continue };
            if told.insert((&run.workload, arm, &event.detail)) {
                push(&mut table, run, &found);
            }
        }
    }
    table
}

fn push(table: &mut Table, run: &Run, found: &AnswerDifference) {
    let columns: Vec<Option<&ColumnDifference>> = match found.columns.is_empty() {
        true => vec![None],
        false => found.columns.iter().map(Some).collect(),
    };
    for column in columns {
        let error: Option<ColumnError> = column.and_then(|column| column.error);
        let percent = |share: Option<f64>| share.map_or(Value::Null, |share| Value::Real(100.0 * share));
        table.push(vec![
            run.workload.clone().into(),
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
