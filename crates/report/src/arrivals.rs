//! What became of the arrivals of an open load, and how a promise was kept in any load, in the words and columns that
//! all outputs share.

use record::{Arrivals, Promise, Run};
use results::{Table, Value};

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

/// Share that was late, `1.6 %`; neither none nor all where it is not.
fn late_share(promise: &Promise) -> String {
    match promise.late_share() {
        share if share > 0.0 && share < 0.0005 => "below 0.1 %".to_owned(),
        share if (0.9995..1.0).contains(&share) => "over 99.9 %".to_owned(),
        share => numbers::percent(share),
    }
}

/// All that is known of a row of runs about being in time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InTime {
    /// What became of its arrivals, where the load is open.
    pub(crate) arrivals: Option<Arrivals>,
    /// How its promise was kept, where there is one.
    pub(crate) promise: Option<Promise>,
}

impl InTime {
    /// Of a run.
    pub(crate) fn of(run: &Run) -> Self {
        Self { arrivals: Arrivals::of(run), promise: Promise::of(run) }
    }

    /// Of several runs taken together.
    pub(crate) fn together(runs: &[&Run]) -> Self {
        Self {
            arrivals: Arrivals::together(runs.iter().filter_map(|run| Arrivals::of(run))),
            promise: Promise::together(runs.iter().filter_map(|run| Promise::of(run))),
        }
    }

    /// How many were late; `None` where nobody asked.
    fn late(&self) -> Option<u64> {
        self.promise.map(|promise| promise.late).or(self.arrivals.map(|arrivals| arrivals.late))
    }

    /// In words; `None` where the load is not open and nothing was promised.
    pub(crate) fn words(&self) -> Option<String> {
        self.arrivals.as_ref().map(words).or_else(|| self.promise.as_ref().map(promise_words))
    }
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

/// Columns for tables in which some rows are of an open load, or have a promise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns {
    open: bool,
    drained: bool,
    promise: bool,
}

impl Columns {
    /// Columns that these rows need; `None` when no load is open and nothing was promised.
    pub(crate) fn of(rows: impl IntoIterator<Item = InTime>) -> Option<Self> {
        let columns = rows.into_iter().fold(
            Self { open: false, drained: false, promise: false },
            |columns, InTime { arrivals, promise }| Self {
                open: columns.open || arrivals.is_some(),
                drained: columns.drained || arrivals.is_some_and(|arrivals| arrivals.drained > 0),
                promise: columns.promise || promise.is_some(),
            },
        );
        (columns.open || columns.promise).then_some(columns)
    }

    /// Whether a load is open.
    pub(crate) fn is_open(self) -> bool {
        self.open
    }

    /// Of something for each possible column, in their order, what these columns need.
    fn chosen<T>(self, all: [T; 9]) -> impl Iterator<Item = T> {
        let Self { open, drained, promise } = self;
        let needed = [promise, open, open, true, promise, open, open, drained, open];
        all.into_iter().zip(needed).filter(|(_, needed)| *needed).map(|(one, _)| one)
    }

    /// Their names, each with this before it.
    pub(crate) fn names(self, before: &str) -> Vec<String> {
        let names = [
            "promise_ms",
            "offered_tps",
            "achieved_tps",
            "late",
            "late_share_pct",
            "skipped",
            "unfinished",
            "drained",
            "percentiles_of",
        ];
        self.chosen(names).map(|name| format!("{before}{name}")).collect()
    }

    /// A row's values.
    pub(crate) fn values(self, row: InTime) -> Vec<Value> {
        let InTime { arrivals, promise } = row;
        let count = |of: fn(&Arrivals) -> u64| Value::from(arrivals.as_ref().map(of));
        let rate = |of: fn(&Arrivals) -> f64| Value::from(arrivals.as_ref().map(of));
        let values = [
            promise.and_then(|promise| promise.ms).into(),
            rate(Arrivals::offered_per_s),
            rate(Arrivals::achieved_per_s),
            row.late().into(),
            promise.map(|promise| promise.late_share() * 100.0).into(),
            count(|arrivals| arrivals.skipped),
            count(|arrivals| arrivals.unfinished),
            count(|arrivals| arrivals.drained),
            arrivals.as_ref().map(percentiles_of).into(),
        ];
        self.chosen(values).collect()
    }

    /// Heads of the numbers on a page.
    pub(crate) fn heads(self) -> impl Iterator<Item = &'static str> {
        let heads: [&[&str]; 9] = [
            &["promise"],
            &["offered/s"],
            &["in time/s", "share"],
            &["late"],
            &["late share"],
            &["skipped"],
            &["unfinished"],
            &["after the end"],
            &["times of"],
        ];
        self.chosen(heads).flatten().copied()
    }

    /// A row's cells on a page.
    pub(crate) fn cells(self, row: InTime) -> Vec<Cell> {
        let InTime { arrivals, promise } = row;
        let blank = || Cell::from("");
        let of = |cell: fn(&Arrivals) -> Cell| arrivals.as_ref().map_or_else(blank, cell);
        let doubt = |it_is: bool| if it_is { "doubt" } else { "" };
        let share = arrivals
            .as_ref()
            .map_or_else(blank, |arrivals| Cell::classed(share(arrivals), doubt(arrivals.is_overloaded())));
        let late = row.late();
        let cells =
            [
                vec![
                    promise
                        .and_then(|promise| promise.ms)
                        .map_or_else(blank, |ms| Cell::from(format_args!("{} ms", numbers::as_given(ms)))),
                ],
                vec![of(|arrivals| numbers::figure(arrivals.offered_per_s()).into())],
                vec![of(|arrivals| numbers::figure(arrivals.achieved_per_s()).into()), share],
                vec![late.map_or_else(blank, |late| numbers::count(late).into())],
                vec![promise.map_or_else(blank, |promise| {
                    Cell::classed(late_share(&promise), doubt(promise.late > 0))
                })],
                vec![of(|arrivals| numbers::count(arrivals.skipped).into())],
                vec![of(|arrivals| numbers::count(arrivals.unfinished).into())],
                vec![of(|arrivals| numbers::count(arrivals.drained).into())],
                vec![arrivals.as_ref().map_or_else(blank, |arrivals| {
                    Cell::classed(percentiles_of(arrivals), doubt(arrivals.started_only))
                })],
            ];
        self.chosen(cells).flatten().collect()
    }
}

/// Adds to a table, behind its column `after`, what became of the arrivals of each row and how its promise was kept;
/// nothing where no load is open and nothing was promised.
pub(crate) fn insert(table: &mut Table, after: &str, rows: &[InTime]) {
    let Some(columns) = Columns::of(rows.iter().copied()) else { return };
    let at = table.columns.iter().position(|name| name == after).map_or(table.columns.len(), |at| at + 1);
    table.columns.splice(at..at, columns.names(""));
    for (row, in_time) in table.rows.iter_mut().zip(rows) {
        row.splice(at..at, columns.values(*in_time));
    }
}
