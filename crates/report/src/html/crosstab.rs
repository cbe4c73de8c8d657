//! Crosstabs: levels of a factor across, arms down, mean and maximum, and the change against the base.

use record::{Arrivals, Validity};
use results::comparison::{Crosstab, Summary};

use crate::data::ReportData;
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::{Cell, Sheet};
use crate::tables::{Show, of_grid};

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    let tabs: Vec<Crosstab> = of_grid(data).into_iter().filter(tells_something).collect();
    if tabs.is_empty() {
        return;
    }
    out.tag("p").text("Plain means and maxima, as a spreadsheet would give them.");
    if data.compares() {
        out.tag("p").text(
            "The changes are those of the verdicts above, from runs that belong together; the quotient of two means can \
             differ from them.",
        );
    }
    if tabs.iter().any(|tab| tab.open) {
        out.tag("p").text("No mean is taken over offered rates: it would be one over what was asked for.");
    }
    if data
        .grid_runs()
        .any(|run| run.validity != Validity::Invalid && run.count("late") > 0 && !run.is_open())
    {
        out.tag("p").text("Late transactions are in them; how many were late is told above.");
    }
    if data.grid_runs().any(|run| Arrivals::of(run).is_some()) {
        out.tag("p").text(
            "Where the load was open, late transactions are in them; what was offered and done in time is told above.",
        );
    }
    out.tag("div").class("pair").with(|out| {
        for tab in &tabs {
            sheet(tab).write(out);
        }
    });
}

/// One figure alone stands among the workload's figures already.
fn tells_something(tab: &Crosstab) -> bool {
    !tab.rows.is_empty() && tab.rows.len() + tab.columns.len() > 2
}

fn sheet(tab: &Crosstab) -> Sheet {
    let mut sheet = Sheet::new(format_args!(
        "{}: transactions per second by {}; mean and maximum over {}",
        tab.workload, tab.factor, tab.over
    ))
    .text([tab.factor.as_str()])
    .numbers(tab.rows.iter().map(|row| row.level.as_str()))
    .numbers(tab.geometric_means(Summary::mean).map(|_| "geometric mean"));
    for show in [Show::Mean, Show::Max] {
        add(&mut sheet, tab, show);
    }
    sheet
}

/// A row per arm, then a row of changes per arm but the base: of means, as maxima have none.
fn add(sheet: &mut Sheet, tab: &Crosstab, show: Show) {
    let mut by_level: Vec<Vec<Option<f64>>> = tab
        .rows
        .iter()
        .map(|row| row.cells.iter().map(|cell| cell.as_ref().and_then(|summary| show.of(summary))).collect())
        .collect();
    let means = tab.geometric_means(|summary| show.of(summary));
    let averaged = means.is_some();
    by_level.extend(means);
    for (column, arm) in tab.columns.iter().enumerate() {
        let name = if arm.is_empty() { show.word().to_owned() } else { format!("{arm}, {}", show.word()) };
        let values = by_level.iter().map(|values| values.get(column).copied().flatten());
        sheet.row(row(name, values, numbers::tps, ""));
    }
    if show == Show::Max {
        return;
    }
    let levels = tab.rows.iter().map(|row| &row.changes).chain(averaged.then_some(&tab.changes));
    let changed: Vec<&Vec<Option<f64>>> = levels.collect();
    for (column, arm) in tab.columns.iter().skip(1).enumerate() {
        let values = changed.iter().map(|values| values.get(column).copied().flatten());
        sheet.row(row(format!("{arm}, change"), values, numbers::change, "strong"));
    }
}

fn row(
    name: String,
    values: impl Iterator<Item = Option<f64>>,
    written: fn(f64) -> String,
    class: &'static str,
) -> Vec<Cell> {
    let cells = values.map(|value| Cell::classed(value.map_or(numbers::ABSENT.to_owned(), written), class));
    std::iter::once(name.into()).chain(cells).collect()
}
