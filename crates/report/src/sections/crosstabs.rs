//! Crosstabs: levels of a factor across, arms down, mean and maximum, and the change against the base.

use results::comparison::{self, Crosstab, Metric, Summary};
use results::{CellValue, Table};

use crate::block::Block;
use crate::numbers::{self, real_cell};
use results::ReportData;

const OPEN: &str =
    "open load: late ones are in it, what was offered and done in time is in the table of cells";

const LATE: &str = "late ones are in it, how many is in the table of cells";

struct Tab {
    workload: String,
    factor: String,
    arms: Vec<String>,
    /// In the order of their levels, then the geometric mean over all of them, if there is one.
    rows: Vec<LevelRow>,
    over: String,
    open: bool,
    /// Whether figures are the seconds of jobs.
    job: bool,
    /// Whether the fate of arrivals is known, and whether some transactions were late.
    has_arrivals: bool,
    has_late: bool,
}

struct LevelRow {
    /// `None` for the geometric mean over all of them.
    level: Option<String>,
    mean: Vec<Option<f64>>,
    max: Vec<Option<f64>>,
    changes: Vec<Option<f64>>,
}

impl Tab {
    fn of(data: &ReportData, tab: Crosstab) -> Self {
        let averages = tab.geometric_means(|of| of.mean).zip(tab.geometric_means(|of| of.max));
        let average = averages.map(|(mean, max)| LevelRow { level: None, mean, max, changes: tab.changes });
        let rows = tab.rows.into_iter().map(|row| {
            let figures = |of: fn(&Summary) -> Option<f64>| {
                row.cells.iter().map(|cell| cell.as_ref().and_then(of)).collect()
            };
            LevelRow {
                mean: figures(|of| of.mean),
                max: figures(|of| of.max),
                level: Some(row.level),
                changes: row.changes,
            }
        });
        let in_time = || {
            let of_it = data.grid().iter().filter(|figures| figures.cell.workload == tab.workload);
            of_it.map(|figures| figures.in_time)
        };
        Self {
            rows: rows.chain(average).collect(),
            has_arrivals: in_time().any(|own| own.arrivals.is_some()),
            has_late: in_time().any(|own| own.promise.is_some_and(|promise| promise.late > 0)),
            workload: tab.workload,
            factor: tab.factor,
            arms: tab.columns,
            over: tab.over,
            open: tab.open,
            job: tab.job,
        }
    }

    fn all(data: &ReportData) -> Vec<Self> {
        let workloads = data.workloads();
        comparison::crosstabs(&data.experiment, &data.runs, Metric::Tps)
            .into_iter()
            .filter(|tab| workloads.contains(&tab.workload.as_str()))
            .map(|tab| Self::of(data, tab))
            .collect()
    }

    fn tells_something(&self) -> bool {
        let levels = self.rows.iter().filter(|row| row.level.is_some()).count();
        levels > 0 && levels + self.arms.len() > 2
    }
}

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let tabs: Vec<Tab> = Tab::all(data).into_iter().filter(Tab::tells_something).collect();
    let any = |of: fn(&Tab) -> bool| tabs.iter().any(of);
    let said = [
        (!tabs.is_empty(), "Plain means and maxima, as a spreadsheet would give them."),
        (
            !tabs.is_empty() && data.compares(),
            "The changes are those of the verdicts above, from runs that belong together; the quotient of two means can differ \
             from them.",
        ),
        (
            any(|tab| tab.open),
            "No mean is taken over offered rates: it would be a mean of the requested rates.",
        ),
        (
            any(|tab| tab.has_late && !tab.has_arrivals),
            "Late transactions are in them; the number of late ones is shown above.",
        ),
        (
            any(|tab| tab.has_arrivals),
            "Where the load was open, late transactions are in them; what was offered and done in time is shown above.",
        ),
    ];
    let said = said.into_iter().filter(|(is_said, _)| *is_said).map(|(_, text)| Block::text(text));
    said.chain(Block::group("pair", tabs.iter().map(|tab| on_page(tab).into()))).collect()
}

fn on_page(tab: &Tab) -> Table {
    // A job may have a single cell without a level.
    let varies = tab.rows.iter().any(|row| row.level.as_deref() != Some(""));
    let what = if tab.job { "time from start to end" } else { "transactions per second" };
    let by = if varies { format!(" by {}", tab.factor) } else { String::new() };
    let caption = format!("{}: {what}{by}; mean and maximum over {}", tab.workload, tab.over);
    let table = of_tabs(&[tab], &tab.arms);
    Table {
        caption,
        ..table.only(|table, at| !["workload", "over"].contains(&table.columns[at].name.as_str()))
    }
}

/// Mean and maximum throughput per level and arm, with their geometric mean, and the change against the
/// base in percent: the change of the verdicts, next to means only.
///
/// The column `over` lists what each figure covers.
#[must_use]
pub fn crosstab(data: &ReportData) -> Table {
    let tabs = Tab::all(data);
    let arms = tabs.iter().map(|tab| tab.arms.clone()).max_by_key(Vec::len).unwrap_or_default();
    let of_arms: Vec<&Tab> = tabs.iter().filter(|tab| tab.arms == arms).collect();
    of_tabs(&of_arms, &arms)
}

/// Of tabs with these arms.
fn of_tabs(tabs: &[&Tab], arms: &[String]) -> Table {
    let named =
        |arm: &String, unit: &str| if arm.is_empty() { unit.to_owned() } else { format!("{arm}_{unit}") };
    let of_unit = |unit: &'static str| arms.iter().map(move |arm| named(arm, unit)).collect::<Vec<_>>();
    // A workload has one of both.
    let has_jobs = tabs.iter().any(|tab| tab.job);
    let took = if has_jobs { of_unit("took_s") } else { Vec::new() };
    let changes = arms.iter().skip(1).map(|arm| format!("{arm}_change_pct"));
    let mut table = Table::new(["workload", "figure", "level"])
        .named(of_unit("tps"))
        .named(&took)
        .named(changes)
        .named(["over"]);
    if has_jobs {
        table.optional(of_unit("tps").iter().chain(&took));
    }
    for tab in tabs {
        let over = match **tab {
            Tab { has_arrivals: true, .. } => format!("{}; {OPEN}", tab.over),
            Tab { has_late: true, .. } => format!("{}; {LATE}", tab.over),
            _ => tab.over.clone(),
        };
        let means = tab.rows.iter().map(|row| ("mean", row, &row.mean, row.changes.clone()));
        let maxima = tab.rows.iter().map(|row| ("max", row, &row.max, vec![None; row.changes.len()]));
        for (word, row, values, changes) in means.chain(maxima) {
            let name = |level: &String| match level.as_str() {
                "" => "all".to_owned(),
                level => format!("{} {level}", tab.factor),
            };
            let level = row.level.as_ref().map(name);
            let level = level.unwrap_or("geometric mean".to_owned());
            let nothing = vec![None; values.len()];
            let (tps, took) = if tab.job { (&nothing, values) } else { (values, &nothing) };
            let took = took.iter().filter(|_| has_jobs);
            let figures = tps.iter().chain(took).copied().map(real_cell);
            let change = |pct| CellValue::worded(real_cell(Some(pct)), numbers::change(pct), "strong");
            let changes = changes.into_iter().map(|pct: Option<f64>| pct.map(change).into());
            let head = [tab.workload.clone().into(), word.into(), level.into()];
            table.push(head.into_iter().chain(figures).chain(changes).chain([over.clone().into()]));
        }
    }
    table
}
