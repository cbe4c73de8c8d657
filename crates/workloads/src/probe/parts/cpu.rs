//! How fast backends compute: a sum over numbers that are made on the way, row by row. Nothing is read, kept or allocated.

use std::time::Duration;

use super::{Work, list};
use crate::error::WorkloadError;
use crate::probe::record::Found;
use crate::probe::shots::{LAST, Query, Shot};
use crate::probe::spread::Spread;
use crate::probe::together;

/// Rows of a shot; 2 to 10 ms on processors of the last ten years.
const ROWS: f64 = 100_000.0;
/// A set-returning function among the columns gives its rows one by one; in FROM they would be put aside first.
const SUM: &str = "(SELECT sum(i) FROM (SELECT generate_series(1, 100000 + shot * 0) AS i) AS rows)";
/// Where the CPUs are not known: twice the backends must do so much more to be worth it.
const WORTH: f64 = 1.05;
/// Most backends tried by growing.
const GROWN: u32 = 256;

fn query(time: Duration) -> Query<'static> {
    Query { doing: "computing", settings: "", work: SUM, gives: "5000050000", from: "", last: LAST, time }
}

/// One backend, then all.
pub(super) fn measure(work: &mut Work<'_>) -> Result<Vec<Found>, WorkloadError> {
    let one = match work.time_for(list::CPU_ONE, 0.08) {
        Ok(time) => work.shoot(list::CPU_ONE, &query(time), |us| ROWS / us * 1e6, "")?,
        Err(late) => *late,
    };
    let all = all(work, one.spread())?;
    Ok(vec![one, all])
}

fn all(work: &mut Work<'_>, one: Option<Spread>) -> Result<Found, WorkloadError> {
    let figure = list::CPU_ALL;
    let time = match work.time_for(figure, 0.14) {
        Ok(time) => time,
        Err(late) => return Ok(*late),
    };
    // Our own connection is one of those that are not free any more.
    let free = work.server.free_connections.saturating_sub(1).max(1);
    let (backends, whose) = match (work.options.backends, work.host.cpus) {
        (Some(asked), _) => (asked, "as asked for"),
        (None, Some(cpus)) if cpus <= free => (cpus, "one for each CPU"),
        (None, Some(_)) => (free, "all that the server has connections for"),
        (None, None) => return grown(work, one, (time, free)),
    };
    work.backends = Some(backends);
    let shots = shoot(work, backends, time);
    let mut found = work.found(figure, shots, |rate| rate * ROWS, "")?;
    let gain =
        one.zip(found.spread()).map(|(one, all)| format!(": {:.2} times one", all.median / one.median));
    found.detail =
        format!("{}, {whose}{}", ::record::count(backends.into(), "backend"), gain.unwrap_or_default());
    Ok(found)
}

/// Twice as many again and again, until that adds nothing.
fn grown(
    work: &mut Work<'_>,
    one: Option<Spread>,
    (time, free): (Duration, u32),
) -> Result<Found, WorkloadError> {
    let mut best = (1, one.map_or(0.0, |one| one.median), None);
    let mut why = "more were not tried".to_owned();
    for backends in (0..).map(|power| 1 << power).take_while(|backends| *backends <= GROWN) {
        if backends > free {
            why = format!("the server has no connections for {backends}");
            break;
        }
        // A fifth of the time for each: few servers need more steps.
        let Some(step) = work.time(1.0).map(|left| left.min(time / 5)) else { break };
        let shots = shoot(work, backends, step);
        let found = work.found(list::CPU_ALL, shots, |rate| rate * ROWS, "")?;
        let Some(spread) = found.spread() else {
            if best.2.is_none() {
                return Ok(found);
            }
            why = format!("{backends} could not be had");
            break;
        };
        if best.2.is_some() && spread.median < best.1 * WORTH {
            why = format!("{backends} added nothing");
            break;
        }
        best = (backends, spread.median, Some(found));
    }
    let (backends, _, found) = best;
    work.backends = Some(backends);
    let Some(found) = found else { return Ok(work.too_late(list::CPU_ALL)) };
    let detail =
        format!("{}; the host's CPUs are not known, {why}", ::record::count(backends.into(), "backend"));
    Ok(Found { detail, ..found })
}

fn shoot(work: &Work<'_>, backends: u32, time: Duration) -> Result<(u64, Vec<Shot>), WorkloadError> {
    let start = work.now_us();
    let ends = together::shoot(work.runtime, backends, &query(time), work.server.is_read_only())?;
    Ok((start, together::rates(&ends)))
}
