//! What users did, for people.

use std::fmt::Write;

use results::CellValue;
use spec::Run;
use spec::figures;
use spec::users::{UserSummary, registered_words};
use stats::Histogram;

use super::{BenchArgs, QUANTILES};

pub(super) fn text(out: &mut String, args: &BenchArgs, run: &Run) {
    let Some(users) = UserSummary::of(run) else { return };
    let _ = writeln!(
        out,
        "sessions: {} begun, {} finished, {} failed, {} cut by the end of the run",
        users.begun, users.finished, users.failed, users.cut
    );
    if users.waiting > 0 {
        let _ = writeln!(
            out,
            "users who found no free connection until the end: {} (-c is how many can be there at once)",
            users.waiting
        );
    }
    let _ = writeln!(
        out,
        "sessions per hour = {:.0}, per day = {:.0}",
        users.sessions_per_hour,
        users.sessions_per_day()
    );
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
    let share = args.users.given().ok().flatten().and_then(|users| users.active_share());
    if let Some(share) = share {
        let there = if users.waiting == 0 && users.active > f64::from(users.users) {
            users.active
        } else {
            f64::from(users.users)
        };
        let _ = writeln!(out, "{} users: {}", there.round(), registered_words(there, share));
    }
}

/// Columns of users for programs; none in other loads.
pub(super) fn of_run(run: &Run) -> Vec<(&'static str, CellValue)> {
    let Some(users) = UserSummary::of(run) else { return Vec::new() };
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
    ]
}

fn times_of(out: &mut String, what: &str, times: &Histogram) {
    let (Some(mean), Some(most)) = (times.mean_ns(), times.max_ns()) else { return };
    let quantile =
        |(q, name): &(f64, &str)| Some(format!("{name} {:.3}", times.percentile_ns(*q)? as f64 / 1e9));
    let quantiles: Vec<String> = QUANTILES.iter().filter_map(quantile).collect();
    let _ = writeln!(
        out,
        "{what} (s): average {:.3}, {}, max {:.3}",
        mean / 1e9,
        quantiles.join(", "),
        most as f64 / 1e9
    );
}
