//! What happened to the arrivals of an open load, and how a promise was kept in any load: the text and
//! columns that all outputs share.

use std::fmt::Display;

use results::{CellValue, InTime, Table};
use spec::{Arrivals, Promise, figures};

use crate::numbers;

/// `offered 23,816/s, in time 399/s (1.6 %), late 42,900, skipped 50,769, unfinished 0`; then the number
/// that completed after the end, if any.
#[must_use]
pub fn words(arrivals: &Arrivals) -> String {
    let drained = match arrivals.drained {
        0 => String::new(),
        drained => format!(", started only after the end {}", numbers::count(drained)),
    };
    format!(
        "offered {}/s, in time {}/s ({}), late {}, skipped {}, unfinished {}{drained}",
        numbers::figure_text(arrivals.offered_per_s()),
        numbers::figure_text(arrivals.achieved_per_s()),
        share(arrivals),
        numbers::count(arrivals.late),
        numbers::count(arrivals.skipped),
        numbers::count(arrivals.unfinished)
    )
}

/// `1.6 % of the offered 23,816/s in time`.
pub(crate) fn share_of_offered(arrivals: &Arrivals) -> String {
    format!("{} of the offered {}/s in time", share(arrivals), numbers::figure_text(arrivals.offered_per_s()))
}

/// Share done in time, `1.6 %`; never rounded up past the required share.
#[must_use]
pub fn share(arrivals: &Arrivals) -> String {
    numbers::percent((arrivals.share() * 1000.0).floor() / 1000.0)
}

/// `late 11,202 of 11,202 (100 %), promise 0.05 ms`.
#[must_use]
pub fn promise_words(promise: &Promise) -> String {
    let limit = promise.ms.map(|ms| format!(", promise {} ms", numbers::as_given(ms))).unwrap_or_default();
    format!(
        "late {} of {} ({}){limit}",
        numbers::count(promise.late),
        numbers::count(promise.done),
        late_share(promise)
    )
}

/// Share that was late, `1.6 %`; never rounded to none or all.
fn late_share(promise: &Promise) -> String {
    match promise.late_share() {
        share if share > 0.0 && share < 0.0005 => "below 0.1 %".to_owned(),
        share if (0.9995..1.0).contains(&share) => "over 99.9 %".to_owned(),
        share => numbers::percent(share),
    }
}

/// Which transactions the percentiles cover, as a value of a column.
#[must_use]
pub fn percentiles_of(arrivals: &Arrivals) -> &'static str {
    if arrivals.started_only { "started only" } else { "all" }
}

pub(crate) const STARTED_ONLY: &str = "Overloaded: response times are those of the transactions that were started; \
                                       what was skipped or never taken has none.";

pub(crate) const CAPTION_OF_STARTED: &str = " Overloaded: of the transactions that were started only.";

/// How runs were in time; `None` if the load is not open and has no promise.
pub(crate) fn in_time(of: &InTime) -> Option<String> {
    of.arrivals.as_ref().map(words).or_else(|| of.promise.as_ref().map(promise_words))
}

const ACHIEVED_SHARE: &str = "achieved_share_pct";

/// All columns, in the order of a page.
pub(crate) const ON_PAGE: [&str; 10] = [
    figures::PROMISE_MS.row().name,
    "offered_tps",
    "achieved_tps",
    ACHIEVED_SHARE,
    "late",
    "late_share_pct",
    "skipped",
    "unfinished",
    "drained",
    "percentiles_of",
];

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Columns {
    open: bool,
    drained: bool,
    promise: bool,
}

struct Column {
    needed: bool,
    name: &'static str,
    of: fn(&InTime) -> Option<CellValue>,
}

fn doubtful(value: impl Into<CellValue>, text: impl Display, is_doubtful: bool) -> Option<CellValue> {
    Some(CellValue::worded(value, text, if is_doubtful { "doubt" } else { "" }))
}

impl Columns {
    /// Columns that these rows need; `None` if no load is open and no promise was given.
    pub(crate) fn of(rows: impl IntoIterator<Item = InTime>) -> Option<Self> {
        let columns = rows.into_iter().fold(Self::default(), |columns, InTime { arrivals, promise }| Self {
            open: columns.open || arrivals.is_some(),
            drained: columns.drained || arrivals.is_some_and(|arrivals| arrivals.drained > 0),
            promise: columns.promise || promise.is_some(),
        });
        (columns.open || columns.promise).then_some(columns)
    }

    fn needed(self) -> impl Iterator<Item = Column> {
        let Self { open, drained, promise } = self;
        let column = |needed, name, of| Column { needed, name, of };
        let columns: [Column; 10] = [
            column(promise, figures::PROMISE_MS.name, |row| {
                row.promise?.ms.map(|ms| CellValue::worded(ms, format!("{} ms", numbers::as_given(ms)), ""))
            }),
            column(open, "offered_tps", |row| Some(row.arrivals?.offered_per_s().into())),
            column(open, "achieved_tps", |row| Some(row.arrivals?.achieved_per_s().into())),
            column(true, figures::LATE.name, |row| Some(row.late()?.into())),
            column(promise, "late_share_pct", |row| {
                let promise = row.promise?;
                doubtful(promise.late_share() * 100.0, late_share(&promise), promise.late > 0)
            }),
            column(open, figures::SKIPPED.name, |row| Some(row.arrivals?.skipped.into())),
            column(open, figures::UNFINISHED.name, |row| Some(row.arrivals?.unfinished.into())),
            column(drained, figures::DRAINED.name, |row| Some(row.arrivals?.drained.into())),
            column(open, ACHIEVED_SHARE, |row| {
                let arrivals = row.arrivals?;
                doubtful(arrivals.share() * 100.0, share(&arrivals), row.overload().is_some())
            }),
            column(open, "percentiles_of", |row| {
                let arrivals = row.arrivals?;
                doubtful(percentiles_of(&arrivals), percentiles_of(&arrivals), arrivals.started_only)
            }),
        ];
        columns.into_iter().filter(|column| column.needed)
    }

    /// Terminals have no room for the share, which follows from the rates.
    pub(crate) fn columns(self, before: &str) -> Vec<results::Column> {
        let names = self.needed().map(|column| format!("{before}{}", column.name));
        let mut table = Table::new(names);
        table.hide([format!("{before}{ACHIEVED_SHARE}")]);
        table.columns
    }

    pub(crate) fn values(self, row: &InTime) -> Vec<CellValue> {
        self.needed().map(|column| (column.of)(row).into()).collect()
    }
}

/// Adds the columns of arrivals and promise after the column `after`; adds none if no load is open and no
/// promise was given.
pub(crate) fn insert_columns(table: &mut Table, after: &str, rows: &[InTime]) {
    let Some(columns) = Columns::of(rows.iter().copied()) else { return };
    let at = table.at(after).map_or(table.columns.len(), |at| at + 1);
    table.columns.splice(at..at, columns.columns(""));
    for (row, in_time) in table.rows.iter_mut().zip(rows) {
        row.splice(at..at, columns.values(in_time));
    }
}
