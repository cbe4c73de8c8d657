//! What became of the arrivals of an open load, in the words and columns that all outputs share.

use results::{Arrivals, Run, Table, Value};

use crate::numbers;
use crate::sheet::Cell;

/// `offered 23,816/s, in time 399/s (1.6 %), late 42,900, skipped 50,769, unfinished 0`.
#[must_use]
pub fn words(arrivals: &Arrivals) -> String {
    let per_second = |rate| format!("{}/s", numbers::figure(rate));
    format!(
        "offered {}, in time {} ({}), {}",
        per_second(arrivals.offered_per_s()),
        per_second(arrivals.achieved_per_s()),
        share(arrivals),
        counts(arrivals)
    )
}

/// `late 42,900, skipped 50,769, unfinished 0`; what was done only after the end, where there is any.
#[must_use]
pub fn counts(arrivals: &Arrivals) -> String {
    let drained = match arrivals.drained {
        0 => String::new(),
        drained => format!(", started only after the end {}", numbers::count(drained)),
    };
    format!(
        "late {}, skipped {}, unfinished {}{drained}",
        numbers::count(arrivals.late),
        numbers::count(arrivals.skipped),
        numbers::count(arrivals.unfinished)
    )
}

/// Share done in time, `1.6 %`; never rounded up to what would have been enough.
#[must_use]
pub fn share(arrivals: &Arrivals) -> String {
    numbers::percent((arrivals.share() * 1000.0).floor() / 1000.0)
}

/// What percentiles speak of, as a value of a column.
#[must_use]
pub fn percentiles_of(arrivals: &Arrivals) -> &'static str {
    if arrivals.started_only { "started only" } else { "all" }
}

/// What is said of response times that leave out arrivals.
pub(crate) const STARTED_ONLY: &str = "Overloaded: response times are those of the transactions that were started; \
                                       what was skipped or never taken has none.";

/// The same behind a caption, where any of these runs is such a one.
pub(crate) fn caption(runs: &[&Run]) -> &'static str {
    const BEHIND: &str = " Overloaded: of the transactions that were started only.";
    if runs.iter().any(|run| of_started_only(run)) { BEHIND } else { "" }
}

/// Whether the response times of a run leave out arrivals.
pub(crate) fn of_started_only(run: &Run) -> bool {
    Arrivals::of(run).is_some_and(|arrivals| arrivals.started_only)
}

/// Columns for tables in which some rows are of an open load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns {
    drained: bool,
}

impl Columns {
    /// Columns that these rows need; `None` when no load is open.
    pub(crate) fn of(rows: impl IntoIterator<Item = Option<Arrivals>>) -> Option<Self> {
        Arrivals::together(rows.into_iter().flatten()).map(|all| Self { drained: all.drained > 0 })
    }

    /// Their names, each with this before it.
    pub(crate) fn names(self, before: &str) -> Vec<String> {
        let names = ["offered_tps", "achieved_tps", "late", "skipped", "unfinished"];
        let more = [("drained", self.drained), ("percentiles_of", true)];
        let all = names.into_iter().chain(more.into_iter().filter(|(_, there)| *there).map(|(name, _)| name));
        all.map(|name| format!("{before}{name}")).collect()
    }

    /// A row's values.
    pub(crate) fn values(self, arrivals: Option<&Arrivals>) -> Vec<Value> {
        let count = |of: fn(&Arrivals) -> u64| Value::from(arrivals.map(of));
        let rate = |of: fn(&Arrivals) -> f64| Value::from(arrivals.map(of));
        let mut values = vec![
            rate(Arrivals::offered_per_s),
            rate(Arrivals::achieved_per_s),
            count(|arrivals| arrivals.late),
            count(|arrivals| arrivals.skipped),
            count(|arrivals| arrivals.unfinished),
        ];
        values.extend(self.drained.then(|| count(|arrivals| arrivals.drained)));
        values.push(arrivals.map(percentiles_of).into());
        values
    }

    /// Heads of the numbers on a page.
    pub(crate) fn heads(self) -> impl Iterator<Item = &'static str> {
        ["offered/s", "in time/s", "share", "late", "skipped", "unfinished"]
            .into_iter()
            .chain(self.drained.then_some("after the end"))
            .chain(["times of"])
    }

    /// A row's cells on a page.
    pub(crate) fn cells(self, arrivals: Option<&Arrivals>) -> Vec<Cell> {
        let Some(arrivals) = arrivals else { return self.heads().map(|_| Cell::from("")).collect() };
        let overloaded = if arrivals.is_overloaded() { "doubt" } else { "" };
        let mut cells = vec![
            numbers::figure(arrivals.offered_per_s()).into(),
            numbers::figure(arrivals.achieved_per_s()).into(),
            Cell::classed(share(arrivals), overloaded),
            numbers::count(arrivals.late).into(),
            numbers::count(arrivals.skipped).into(),
            numbers::count(arrivals.unfinished).into(),
        ];
        cells.extend(self.drained.then(|| Cell::from(numbers::count(arrivals.drained))));
        cells.push(Cell::classed(percentiles_of(arrivals), if arrivals.started_only { "doubt" } else { "" }));
        cells
    }
}

/// Adds to a table, behind its column `after`, what became of the arrivals of each row; nothing where no load is open.
pub(crate) fn insert(table: &mut Table, after: &str, rows: &[Option<Arrivals>]) {
    let Some(columns) = Columns::of(rows.iter().copied()) else { return };
    let at = table.columns.iter().position(|name| name == after).map_or(table.columns.len(), |at| at + 1);
    table.columns.splice(at..at, columns.names(""));
    for (row, arrivals) in table.rows.iter_mut().zip(rows) {
        row.splice(at..at, columns.values(arrivals.as_ref()));
    }
}
