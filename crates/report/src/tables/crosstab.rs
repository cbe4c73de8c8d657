//! Levels of a factor against arms.

use record::{Promise, Run, Validity};
use results::comparison::{Crosstab, Metric, Summary, crosstabs};
use results::{Table, Value};

use super::real;
use crate::arrivals::InTime;
use crate::data::ReportData;

/// What must be said of the throughput of an open load.
const OPEN: &str =
    "open load: late ones are in it, what was offered and done in time is in the table of cells";

/// The same where a promise was not always kept.
const LATE: &str = "late ones are in it, how many is in the table of cells";

/// What a crosstab shows of the runs behind each of its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    Mean,
    Max,
}

impl Show {
    /// The figure itself.
    pub(crate) fn of(self, summary: &Summary) -> Option<f64> {
        match self {
            Self::Mean => summary.mean(),
            Self::Max => summary.max(),
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Max => "max",
        }
    }
}

/// Crosstabs of the grid's runs by throughput, one per workload.
pub(crate) fn of_grid(data: &ReportData) -> Vec<Crosstab> {
    let all = crosstabs(&data.experiment, &data.runs, Metric::Tps);
    let workloads = data.workloads();
    all.into_iter().filter(|tab| workloads.contains(&tab.workload.as_str())).collect()
}

/// Mean and maximum throughput per level and arm, with their geometric mean, and the change against the base in percent:
/// that of the verdicts, beside means only.
///
/// The column `over` says what each figure is taken over.
#[must_use]
pub fn crosstab(data: &ReportData) -> Table {
    let tabs = of_grid(data);
    let arms = tabs.iter().map(|tab| tab.columns.clone()).max_by_key(Vec::len).unwrap_or_default();
    let mut names = vec!["workload".to_owned(), "figure".to_owned(), "level".to_owned()];
    names.extend(arms.iter().map(|arm| if arm.is_empty() { "tps".to_owned() } else { format!("{arm}_tps") }));
    names.extend(arms.iter().skip(1).map(|arm| format!("{arm}_change_pct")));
    names.push("over".to_owned());
    let mut table = Table { columns: names, ..Table::default() };
    for tab in tabs.iter().filter(|tab| tab.columns == arms) {
        let usable: Vec<&Run> = data
            .grid_runs()
            .filter(|run| run.workload == tab.workload && run.validity != Validity::Invalid)
            .collect();
        let in_time = InTime::together(&usable);
        let over = match in_time {
            InTime { arrivals: Some(_), .. } => format!("{}; {OPEN}", tab.over),
            InTime { promise: Some(Promise { late: 1.., .. }), .. } => format!("{}; {LATE}", tab.over),
            _ => tab.over.clone(),
        };
        for show in [Show::Mean, Show::Max] {
            add(&mut table, tab, show, &over);
        }
    }
    table
}

fn add(table: &mut Table, tab: &Crosstab, show: Show, over: &str) {
    let mut push = |level: String, values: Vec<Option<f64>>, changes: &[Option<f64>]| {
        let mut row: Vec<Value> = vec![tab.workload.clone().into(), show.word().into(), level.into()];
        row.extend(values.into_iter().map(real));
        row.extend(changes.iter().map(|change| real(change.filter(|_| show == Show::Mean))));
        row.push(over.into());
        table.push(row);
    };
    for row in &tab.rows {
        let values =
            row.cells.iter().map(|cell| cell.as_ref().and_then(|summary| show.of(summary))).collect();
        push(format!("{} {}", tab.factor, row.level), values, &row.changes);
    }
    if let Some(means) = tab.geometric_means(|summary| show.of(summary)) {
        push("geometric mean".to_owned(), means, &tab.changes);
    }
}
