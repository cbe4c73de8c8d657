//! What was decided about an experiment, and why.

use results::{ReportData, Table};

/// A line for each decision; none for single and imported runs.
#[must_use]
pub fn decisions(data: &ReportData) -> Table {
    let mut table = Table::new(["decision", "value", "reason", "open_until"]);
    let plan = data.experiment.plan.plan();
    for row in plan.into_iter().flat_map(|plan| plan.decisions.rows()) {
        let open_until = row.needs_words();
        table.push([row.what.into(), row.value.into(), row.why.into(), open_until.into()]);
    }
    table
}
