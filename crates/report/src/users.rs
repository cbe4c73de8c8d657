//! What users did: sessions and transactions per hour and day, how long sessions took, active users, think times.

use std::collections::BTreeMap;

use results::comparison::Cell;
use results::data::{cell_text, levels};
use results::{CellValue, ReportData, Table};
use spec::figures::{self, Figure};
use spec::users::{OpenUsers, UserArrivals, UserSummary, registered, registered_line};
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

    /// Mean of a count over rounds, to a tenth.
    fn per_run(&self, of: impl Fn(&UserSummary) -> u64) -> CellValue {
        let mean = self.sum(of) as f64 / self.each.len() as f64;
        ((mean * 10.0).round() / 10.0).into()
    }

    /// The arrivals of all rounds, if users come openly.
    fn open(&self, arrivals: &UserArrivals) -> Option<OpenUsers> {
        let all = self.each.iter().map(|own| own.open(arrivals));
        all.reduce(|sum, one| Some(sum?.and(&one?))).flatten()
    }

    /// How many users are there at a time.
    fn present(&self, arrivals: &UserArrivals) -> f64 {
        self.mean(|own| Some(own.present(arrivals))).unwrap_or_default()
    }
}

/// When users come, and the share of active people, as the experiment has them.
fn asked(data: &ReportData) -> (UserArrivals, Option<f64>) {
    let plan = data.experiment.plan.plan();
    let users = plan.and_then(|plan| plan.content.measure.load.users());
    let arrivals = users.and_then(|users| users.sessions.as_ref()).map(|sessions| sessions.arrivals.clone());
    (arrivals.unwrap_or_default(), users.and_then(|users| users.active_share))
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
        "users_offered_per_minute",
        "users_achieved_per_minute",
        "registered_people",
        "runs",
    ]);
    table.optional(["arm", "users_offered_per_minute", "users_achieved_per_minute", "registered_people"]);
    let (arrivals, share) = asked(data);
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
            own.per_run(|of| of.begun),
            own.per_run(|of| of.finished),
            own.per_run(|of| of.failed),
            own.per_run(|of| of.cut),
            own.sum(|of| of.waiting).into(),
            real_cell(own.open(&arrivals).map(|open| open.offered_per_minute())),
            real_cell(own.open(&arrivals).map(|open| open.achieved_per_minute())),
            real_cell(share.map(|share| registered(own.present(&arrivals), share))),
            (own.each.len() as u64).into(),
        ]);
    }
    table
}

const HOW: [&str; 5] = [
    "means over rounds, also of counts; percentiles of all rounds together",
    "per hour and per day: the measured pace, not a forecast",
    "sessions count where they ended, from the intended start to that end",
    "a response time counts from the end of the think time before it",
    "w/o think: a session without its think times, with its waiting for a connection",
];

/// The cell without the number of users, which has its own column.
fn named(data: &ReportData, own: &CellUsers<'_>) -> String {
    let mut cell = own.cell.clone();
    cell.factors.remove("clients");
    if data.workloads().len() > 1 { cell_text(&cell) } else { levels(&cell) }
}

/// A table with a line for each cell and arm, whose first cells name it.
fn of_cells<'a>(
    data: &ReportData,
    all: &[CellUsers<'a>],
    table: Table,
    numbers: &[&str],
    of: impl Fn(&CellUsers<'a>) -> Vec<CellValue>,
) -> Table {
    let name = |own: &CellUsers<'_>| named(data, own);
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
    let columns = ["users", "sess/h", "sess/day", "tx/h", "tx/day", "active", "in flight", "failed", "cut"];
    of_cells(data, all, Table::captioned("users, sessions (sess) and transactions (tx)"), &columns, |own| {
        vec![
            own.users.into(),
            figure(own.mean(|of| Some(of.sessions_per_hour))),
            figure(own.mean(|of| Some(of.sessions_per_day()))),
            figure(own.mean(|of| Some(of.transactions_per_hour))),
            figure(own.mean(|of| Some(of.transactions_per_day()))),
            figure(own.mean(|of| Some(of.active))),
            figure(own.mean(|of| Some(of.in_flight))),
            own.per_run(|of| of.failed),
            own.per_run(|of| of.cut),
        ]
    })
}

fn by_time(data: &ReportData, all: &[CellUsers<'_>]) -> Table {
    let columns = ["users", "p50", "p95", "w/o think", "tx p50", "tx p95", "think drawn", "actual"];
    of_cells(
        data,
        all,
        Table::captioned("times of sessions, of transactions (tx) and of thinking"),
        &columns,
        |own| {
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
        },
    )
}

/// The same for people; empty without users.
#[must_use]
pub fn users_in_words(data: &ReportData) -> Vec<Block> {
    let all = CellUsers::all(data);
    if all.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![by_hour(data, &all).into(), by_time(data, &all).into()];
    blocks.push(Block::List(HOW.map(str::to_owned).to_vec()));
    blocks.extend(all.iter().filter_map(|own| missing_line(data, own)).map(Block::remark));
    let (arrivals, share) = asked(data);
    blocks.extend(all.iter().filter_map(|own| open_line(data, own, &arrivals)).map(Block::remark));
    if let Some(share) = share.filter(|_| data.limits().is_none()) {
        let come_and_go = !arrivals.are_always_there();
        let line = |own: &CellUsers<'_>| {
            let words = registered_line(own.present(&arrivals), come_and_go, share);
            // A mean does not tell which number of clients it belongs to.
            let clients = match come_and_go && all.len() > 1 {
                true => format!("clients {}: ", own.users),
                false => String::new(),
            };
            Paragraph::new("").plain(format!("{}{clients}{words}.", place(data, own, all.len()))).into()
        };
        blocks.extend(all.iter().map(line));
    }
    blocks
}

/// The cell and arm of a line among several, and a colon.
fn place(data: &ReportData, own: &CellUsers<'_>, lines: usize) -> String {
    let cell = named(data, own);
    let arm = own.arm.filter(|_| data.compares()).unwrap_or_default();
    match [cell.as_str(), arm].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(", ")
    {
        place if place.is_empty() || lines < 2 => String::new(),
        place => format!("{place}: "),
    }
}

/// Fewer sessions that ended than that began, where no overload explains it.
fn missing_line(data: &ReportData, own: &CellUsers<'_>) -> Option<String> {
    let (arrivals, _) = asked(data);
    let is_overloaded = own.open(&arrivals).is_some_and(|open| open.is_overloaded());
    let share = own.mean(UserSummary::missing_ends).filter(|_| !is_overloaded)?;
    let users = numbers::counted(own.users as usize, "user");
    Some(format!(
        "{users}: sessions per hour are too low ({} fewer ended than began): warm up longer",
        numbers::percent(share)
    ))
}

/// Users who came openly, and those who never began.
fn open_line(data: &ReportData, own: &CellUsers<'_>, arrivals: &UserArrivals) -> Option<String> {
    let open = own.open(arrivals)?;
    let (came, connections) = (open.came(), numbers::counted(own.users as usize, "connection"));
    let began = match open.waiting {
        0 => "all began".to_owned(),
        _ => format!("{:.0} began; no time includes the others", open.achieved_per_minute()),
    };
    let line = format!(
        "{connections}: {:.0} users per minute came ({came} in all), {began}.",
        open.offered_per_minute()
    );
    Some(place(data, own, 2) + &line)
}
