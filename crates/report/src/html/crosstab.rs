//! Crosstabs: a factor down, arms across, mean and maximum, and the change against the base.

use results::comparison::Crosstab;

use crate::data::{ReportData, level_in_words};
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::{Cell, Sheet};
use crate::tables::{Show, changes, of_grid};

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    let tabs = of_grid(data);
    if tabs.iter().all(|tab| tab.rows.is_empty()) {
        return;
    }
    out.tag("p").text(
        "Plain means and maxima as a spreadsheet would give them. They do not know which runs belong together: the \
         verdicts above do.",
    );
    out.tag("div").class("pair").with(|out| {
        for tab in tabs.iter().filter(|tab| !tab.rows.is_empty()) {
            sheet(tab, Show::Mean).write(out);
            sheet(tab, Show::Max).write(out);
        }
    });
}

fn sheet(tab: &Crosstab, show: Show) -> Sheet {
    let caption = format!(
        "{}: {} of transactions per second, {} down, over {}",
        tab.workload,
        show.word(),
        tab.factor,
        tab.over
    );
    let names = tab.columns.iter().map(|arm| if arm.is_empty() { "tps" } else { arm.as_str() });
    let mut sheet = Sheet::new(caption)
        .text([tab.factor.as_str()])
        .numbers(names)
        .numbers(tab.columns.iter().skip(1).map(|arm| format!("{arm} change")));
    for row in &tab.rows {
        let values: Vec<Option<f64>> =
            row.cells.iter().map(|cell| cell.as_ref().and_then(|summary| show.of(summary))).collect();
        sheet.row(cells(level_in_words(&tab.factor, &row.level), &values));
    }
    if tab.rows.len() > 1 {
        let means = tab.geometric_means(|summary| show.of(summary));
        sheet.row(cells("geometric mean".to_owned(), &means));
    }
    sheet
}

fn cells(level: String, values: &[Option<f64>]) -> Vec<Cell> {
    let or_absent = |value: &Option<f64>, written: fn(f64) -> String| -> Cell {
        value.map_or(numbers::ABSENT.to_owned(), written).into()
    };
    let mut row: Vec<Cell> = vec![level.into()];
    row.extend(values.iter().map(|value| or_absent(value, numbers::tps)));
    row.extend(changes(values).iter().map(|change| or_absent(change, numbers::change)));
    row
}
