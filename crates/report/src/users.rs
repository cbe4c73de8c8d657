//! What users did: sessions and transactions per hour and day, how long sessions took, active users, think times.

use std::collections::BTreeMap;

use results::comparison::Cell;
use results::data::{cell_text, levels};
use results::{CellValue, ReportData, Table};
use spec::figures::{self, Figure};
use spec::users::{UserSummary, registered_words};
use spec::{OfferedLoad, Run, Validity};
use stats::Histogram;

use crate::block::{Block, Paragraph};
use crate::numbers::{self, real_cell};

/// Users of a cell and arm, over all rounds.
struct CellUsers<'a> {
    cell: Cell,
    arm: Option<&'a str>,
    users: u32,
    each: Vec<UserSummary>,
    duration: Histogram,
    response: Histogram,
    /// Response times of transactions.
    transactions: Histogram,
}

impl<'a> CellUsers<'a> {
    fn all(data: &'a ReportData) -> Vec<Self> {
        let arms = data.arms();
        let mut by_cell: BTreeMap<(Cell, usize), Vec<&Run>> = BTreeMap::new();
        for run in data.measured_runs().filter(|run| run.load == OfferedLoad::Users) {
            let arm = arms.iter().position(|arm| run.arm.as_deref() == *arm);
            if let Some(arm) = arm.filter(|_| run.validity != Validity::Invalid) {
                by_cell.entry((Cell::of(run), arm)).or_default().push(run);
            }
        }
        let of = |((cell, arm), runs): ((Cell, usize), Vec<&Run>)| Self::of(cell, arms[arm], &runs);
        by_cell.into_iter().filter_map(of).collect()
    }

    fn of(cell: Cell, arm: Option<&'a str>, runs: &[&Run]) -> Option<Self> {
        let each: Vec<UserSummary> = runs.iter().filter_map(|run| UserSummary::of(run)).collect();
        let users = each.iter().map(|own| own.users).max()?;
        let (mut duration, mut response, mut transactions) =
            (Histogram::new(), Histogram::new(), Histogram::new());
        for run in runs {
            transactions.add(&run.response());
            if let Some(times) = &run.sessions {
                duration.add(&times.duration);
                response.add(&times.response);
            }
        }
        Some(Self { cell, arm, users, each, duration, response, transactions })
    }

    fn mean(&self, of: impl Fn(&UserSummary) -> Option<f64>) -> Option<f64> {
        let found: Vec<f64> = self.each.iter().filter_map(of).collect();
        (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
    }

    fn sum(&self, of: impl Fn(&UserSummary) -> u64) -> u64 {
        self.each.iter().map(of).sum()
    }
}

fn ms(ns: Option<f64>) -> CellValue {
    real_cell(ns.map(|ns| ns / 1e6))
}

fn quantile(times: &Histogram, q: f64) -> Option<f64> {
    times.percentile_ns(q).map(|ns| ns as f64)
}

/// One line per cell and arm of users: means over rounds, percentiles of all rounds together.
#[must_use]
pub fn users(data: &ReportData) -> Table {
    let name = |of: Figure| of.row().name;
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        "users",
        "sessions_per_hour",
        "sessions_per_day",
        "transactions_per_hour",
        "transactions_per_day",
        "session_mean_ms",
        "session_p50_ms",
        "session_p95_ms",
        "session_p99_ms",
        "session_response_mean_ms",
        "session_response_p95_ms",
        "response_p50_ms",
        "response_p95_ms",
        "response_p99_ms",
        name(figures::ACTIVE_USERS_MEAN),
        name(figures::IN_FLIGHT_MEAN),
        name(figures::THINK_WANTED_MEAN_MS),
        name(figures::THINK_ACTUAL_MEAN_MS),
        figures::SESSIONS_BEGUN.row().name,
        figures::SESSIONS_FINISHED.row().name,
        figures::SESSIONS_FAILED.row().name,
        figures::SESSIONS_CUT.row().name,
        figures::USERS_WAITING.row().name,
        "runs",
    ]);
    table.optional(["arm"]);
    for own in CellUsers::all(data) {
        table.push([
            (&own.cell.workload).into(),
            levels(&own.cell).into(),
            own.arm.map(str::to_owned).into(),
            own.users.into(),
            real_cell(own.mean(|of| Some(of.sessions_per_hour))),
            real_cell(own.mean(|of| Some(of.sessions_per_day()))),
            real_cell(own.mean(|of| Some(of.transactions_per_hour))),
            real_cell(own.mean(|of| Some(of.transactions_per_day()))),
            ms(own.duration.mean_ns()),
            ms(quantile(&own.duration, 0.5)),
            ms(quantile(&own.duration, 0.95)),
            ms(quantile(&own.duration, 0.99)),
            ms(own.response.mean_ns()),
            ms(quantile(&own.response, 0.95)),
            ms(quantile(&own.transactions, 0.5)),
            ms(quantile(&own.transactions, 0.95)),
            ms(quantile(&own.transactions, 0.99)),
            real_cell(own.mean(|of| Some(of.active))),
            real_cell(own.mean(|of| Some(of.in_flight))),
            real_cell(own.mean(|of| of.think_wanted_ms)),
            real_cell(own.mean(|of| of.think_actual_ms)),
            own.sum(|of| of.begun).into(),
            own.sum(|of| of.finished).into(),
            own.sum(|of| of.failed).into(),
            own.sum(|of| of.cut).into(),
            own.sum(|of| of.waiting).into(),
            (own.each.len() as u64).into(),
        ]);
    }
    table
}

const HOW: &str = "Means over rounds; percentiles of all rounds together. A session counts where it ended with its last transaction, \
    and takes from its intended start to that end; a response time counts from the end of the think time before it. Per hour and per \
    day are the measured pace, not a forecast: data grow, and nights are calm.";

/// A table with a line for each cell and arm, whose first cells name it.
fn of_cells<'a>(
    data: &ReportData,
    all: &[CellUsers<'a>],
    table: Table,
    numbers: &[&str],
    of: impl Fn(&CellUsers<'a>) -> Vec<CellValue>,
) -> Table {
    let several = data.workloads().len() > 1;
    // The number of users has its own column.
    let name = |own: &CellUsers<'_>| {
        let mut cell = own.cell.clone();
        cell.factors.remove("clients");
        if several { cell_text(&cell) } else { levels(&cell) }
    };
    let is_named = all.iter().any(|own| !name(own).is_empty());
    let mut names: Vec<&str> = is_named.then_some("cell").into_iter().collect();
    names.extend(data.compares().then_some("arm"));
    let mut table = table.text(names).numbers(numbers);
    for own in all {
        let cell: Option<CellValue> = is_named.then(|| name(own).into());
        let arm = data.compares().then(|| own.arm.map(str::to_owned).into());
        table.push(cell.into_iter().chain(arm).chain(of(own)));
    }
    table
}

fn figure(value: Option<f64>) -> CellValue {
    value.map_or_else(|| "-".to_owned(), numbers::figure_text).into()
}

fn time(ns: Option<f64>) -> CellValue {
    ns.map_or_else(|| "-".to_owned(), numbers::latency_ns).into()
}

fn by_hour(data: &ReportData, all: &[CellUsers<'_>]) -> Table {
    let columns = [
        "users",
        "sessions/h",
        "sessions/day",
        "transactions/h",
        "transactions/day",
        "active",
        "in flight",
        "failed",
        "cut",
    ];
    of_cells(data, all, Table::captioned("users, sessions and transactions"), &columns, |own| {
        vec![
            own.users.into(),
            figure(own.mean(|of| Some(of.sessions_per_hour))),
            figure(own.mean(|of| Some(of.sessions_per_day()))),
            figure(own.mean(|of| Some(of.transactions_per_hour))),
            figure(own.mean(|of| Some(of.transactions_per_day()))),
            figure(own.mean(|of| Some(of.active))),
            figure(own.mean(|of| Some(of.in_flight))),
            own.sum(|of| of.failed).into(),
            own.sum(|of| of.cut).into(),
        ]
    })
}

fn by_time(data: &ReportData, all: &[CellUsers<'_>]) -> Table {
    let columns = [
        "users",
        "p50",
        "p95",
        "without thinking",
        "response p50",
        "response p95",
        "think time drawn",
        "actual",
    ];
    of_cells(data, all, Table::captioned("time of a session, and of a transaction"), &columns, |own| {
        let think = |of: fn(&UserSummary) -> Option<f64>| time(own.mean(of).map(|ms| ms * 1e6));
        vec![
            own.users.into(),
            time(quantile(&own.duration, 0.5)),
            time(quantile(&own.duration, 0.95)),
            time(own.response.mean_ns()),
            time(quantile(&own.transactions, 0.5)),
            time(quantile(&own.transactions, 0.95)),
            think(|of| of.think_wanted_ms),
            think(|of| of.think_actual_ms),
        ]
    })
}

/// The same for people; empty without users.
#[must_use]
pub fn users_in_words(data: &ReportData) -> Vec<Block> {
    let all = CellUsers::all(data);
    if all.is_empty() {
        return Vec::new();
    }
    let mut blocks =
        vec![by_hour(data, &all).into(), by_time(data, &all).into(), Block::remark(HOW.to_owned())];
    let waiting: u64 = all.iter().map(|own| own.sum(|of| of.waiting)).sum();
    if waiting > 0 {
        blocks.push(Block::remark(format!(
            "{} found no free connection until the end: the number of clients is how many can be there at once.",
            numbers::counted(waiting as usize, "user")
        )));
    }
    let plan = data.experiment.plan.plan();
    let share = plan.and_then(|plan| plan.content.measure.load.users()?.active_share);
    let most = all.iter().map(|own| own.users).max().unwrap_or_default();
    if let Some(share) = share.filter(|_| data.limits().is_none()) {
        let words = registered_words(f64::from(most), share);
        blocks.push(
            Paragraph::new("")
                .plain(format!("{} : {words}.", numbers::counted(most as usize, "user")))
                .into(),
        );
    }
    blocks
}
