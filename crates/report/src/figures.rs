//! Every figure and counter of every run, with its unit, label and source from the table of figures.

use results::comparison::Cell;
use results::data::levels;
use results::{CellValue, LongTable, ReportData, Table};
use spec::Run;
use spec::figures::{self, FigureRow};

use crate::sections::runs::{number, validity};

/// A line for each figure of each run. Figures of a newer version, which the table lacks, have a name and a
/// value only.
#[must_use]
pub fn figures(data: &ReportData) -> LongTable<'_> {
    let table = Table::new([
        "run", "round", "workload", "cell", "arm", "figure", "value", "unit", "per", "better", "source",
        "label", "validity",
    ]);
    LongTable::new(table.columns, |take| data.runs.iter().for_each(|run| of_run(data, run, take)))
}

fn of_run(data: &ReportData, run: &Run, take: &mut dyn FnMut(&[CellValue])) {
    let cell = CellValue::from(levels(&Cell::of(run)));
    let counters = run.counts.iter().map(|(name, count)| (name, CellValue::from(count)));
    let figures = run.figures.iter().map(|(name, value)| (name, CellValue::from(value)));
    for (name, value) in counters.chain(figures) {
        let row = figures::row(name);
        let text = |of: fn(&FigureRow) -> &'static str| CellValue::from(row.map(of));
        take(&[
            number(run),
            run.round.into(),
            run.workload.clone().into(),
            cell.clone(),
            run.arm.clone().into(),
            name.into(),
            value,
            text(|row| row.unit.name()),
            text(|row| row.per.name()),
            text(|row| row.better.name()),
            text(|row| row.source.name()),
            text(|row| row.label),
            validity(data, run).into(),
        ]);
    }
}
