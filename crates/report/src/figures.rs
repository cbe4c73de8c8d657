//! Every figure and counter of every run, with its unit, label and source from the table of figures.

use results::{Table, Value};
use spec::figures;

use results::ReportData;
use results::data::levels;

/// A line for each figure of each run. Figures of a newer version, which the table does not have, have a name and a value only.
#[must_use]
pub fn figures(data: &ReportData) -> Table {
    let mut table = Table::new(&[
        "run", "round", "workload", "cell", "arm", "figure", "value", "unit", "per", "better", "source",
        "label",
    ]);
    for run in &data.runs {
        let counters = run.counts.iter().map(|(name, count)| (name, Value::from(count)));
        let figures = run.figures.iter().map(|(name, value)| (name, Value::from(value)));
        let cell = levels(&results::comparison::Cell::of(run));
        for (name, value) in counters.chain(figures) {
            let head: [Value; 7] = [
                run.sequence.into(),
                run.round.into(),
                run.workload.clone().into(),
                cell.clone().into(),
                run.arm.clone().into(),
                name.into(),
                value,
            ];
            let said = match figures::row(name) {
                Some(row) => {
                    [row.unit.name(), row.per.name(), row.better.name(), row.source.name(), row.label]
                        .map(Value::from)
                }
                None => [const { Value::Null }; 5],
            };
            table.push(head.into_iter().chain(said));
        }
    }
    table
}
