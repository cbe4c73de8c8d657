//! What users did, for people.

use std::fmt::Write;

use results::CellValue;
use spec::Run;
use spec::figures;
use spec::users::{OpenUsers, UserSummary, registered, registered_line};
use stats::Histogram;

use super::{BenchArgs, QUANTILES};
use crate::commands::bench::user_args::GivenUsers;

pub(super) fn text(out: &mut String, args: &BenchArgs, run: &Run) {
    let Some(users) = UserSummary::of(run) else { return };
    let _ = writeln!(
        out,
        "sessions: {} begun, {} finished, {} failed, {} cut by the end of the run",
        users.begun, users.finished, users.failed, users.cut
    );
    let given = args.users.given().ok().flatten();
    let arrivals = given.as_ref().map(GivenUsers::arrivals).unwrap_or_default();
    let open = users.open(&arrivals);
    if let Some(open) = &open {
        came(out, open);
    }
    let is_overloaded = open.is_some_and(|open| open.is_overloaded());
    let too_low = users.missing_ends().filter(|_| !is_overloaded);
    let _ = writeln!(
        out,
        "sessions per hour = {:.0}, per day = {:.0}{}",
        users.sessions_per_hour,
        users.sessions_per_day(),
        too_low.map(|_| " (too low)").unwrap_or_default()
    );
    if let Some(share) = too_low {
        let _ = writeln!(
            out,
            "note: {:.0} % fewer sessions ended than began: use a warm-up of one session or more (--warmup), and measure for several",
            share * 100.0
        );
    }
    let _ = writeln!(
        out,
        "transactions per hour = {:.0}, per day = {:.0}",
        users.transactions_per_hour,
        users.transactions_per_day()
    );
    if users.finished == 0 {
        let _ =
            writeln!(out, "no session ended in the measured part: measure for the time of several sessions");
    }
    if let Some(times) = &run.sessions {
        times_of(out, "session duration, with think times", &times.duration);
        times_of(out, "session response time, without think times", &times.response);
    }
    let _ = writeln!(
        out,
        "active users: {:.1} on average; transactions in flight: {:.2}",
        users.active, users.in_flight
    );
    if let (Some(wanted), Some(actual)) = (users.think_wanted_ms, users.think_actual_ms) {
        let _ = writeln!(out, "think time: {wanted:.1} ms drawn, {actual:.1} ms actual (means)");
    }
    if let Some(share) = given.and_then(|given| given.active_share()) {
        let _ = writeln!(
            out,
            "{}",
            registered_line(users.present(&arrivals), !arrivals.are_always_there(), share)
        );
    }
}

/// Users who came openly.
fn came(out: &mut String, open: &OpenUsers) {
    let share = open.begun as f64 / open.came().max(1) as f64;
    let _ = writeln!(
        out,
        "users offered = {:.1} per minute, achieved = {:.1} per minute ({})",
        open.offered_per_minute(),
        open.achieved_per_minute(),
        report::numbers::percent((share * 1000.0).floor() / 1000.0)
    );
    if open.waiting > 0 {
        let _ = writeln!(
            out,
            "users who found no free connection until the end: {} of {} (-c is how many can be there at once); no time includes them",
            open.waiting,
            open.came()
        );
    }
}

/// Columns of users for programs; none in other loads.
pub(super) fn of_run(run: &Run, args: &BenchArgs) -> Vec<(&'static str, CellValue)> {
    let Some(users) = UserSummary::of(run) else { return Vec::new() };
    let given = args.users.given().ok().flatten();
    let arrivals = given.as_ref().map(GivenUsers::arrivals).unwrap_or_default();
    let open = users.open(&arrivals);
    let share = given.and_then(|given| given.active_share());
    let times = run.sessions.clone().unwrap_or_default();
    let ms = |ns: Option<f64>| CellValue::from(ns.map(|ns| ns / 1e6));
    let quantile = |of: &Histogram, q| ms(of.percentile_ns(q).map(|ns| ns as f64));
    vec![
        ("users", users.users.into()),
        ("sessions_per_hour", users.sessions_per_hour.into()),
        ("sessions_per_day", users.sessions_per_day().into()),
        ("transactions_per_hour", users.transactions_per_hour.into()),
        ("transactions_per_day", users.transactions_per_day().into()),
        (figures::SESSIONS_BEGUN.row().name, users.begun.into()),
        (figures::SESSIONS_FINISHED.row().name, users.finished.into()),
        (figures::SESSIONS_FAILED.row().name, users.failed.into()),
        (figures::SESSIONS_CUT.row().name, users.cut.into()),
        (figures::USERS_WAITING.row().name, users.waiting.into()),
        ("session_mean_ms", ms(times.duration.mean_ns())),
        ("session_p50_ms", quantile(&times.duration, 0.5)),
        ("session_p95_ms", quantile(&times.duration, 0.95)),
        ("session_p99_ms", quantile(&times.duration, 0.99)),
        ("session_response_mean_ms", ms(times.response.mean_ns())),
        ("session_response_p95_ms", quantile(&times.response, 0.95)),
        (figures::ACTIVE_USERS_MEAN.row().name, users.active.into()),
        (figures::IN_FLIGHT_MEAN.row().name, users.in_flight.into()),
        (figures::THINK_WANTED_MEAN_MS.row().name, users.think_wanted_ms.into()),
        (figures::THINK_ACTUAL_MEAN_MS.row().name, users.think_actual_ms.into()),
        ("users_offered_per_minute", open.map(|open| open.offered_per_minute()).into()),
        ("users_achieved_per_minute", open.map(|open| open.achieved_per_minute()).into()),
        ("registered_people", share.map(|share| registered(users.present(&arrivals), share)).into()),
    ]
}

fn times_of(out: &mut String, what: &str, times: &Histogram) {
    let (Some(mean), Some(most)) = (times.mean_ns(), times.max_ns()) else { return };
    let quantile =
        |(q, name): &(f64, &str)| Some(format!("{name} {:.3}", times.percentile_ns(*q)? as f64 / 1e9));
    let mut parts = vec![format!("average {:.3}", mean / 1e9)];
    parts.extend(QUANTILES.iter().filter_map(quantile));
    parts.push(format!("max {:.3}", most as f64 / 1e9));
    let _ = writeln!(out, "{what} (s): {}", parts.join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_that_are_not_known_leave_no_comma() {
        let mut times = Histogram::new();
        times.record(2_000_000_000);
        let mut out = String::new();
        times_of(&mut out, "session duration", &times);
        assert!(!out.contains(", ,") && out.starts_with("session duration (s): average 2.000, "), "{out}");
    }
}
