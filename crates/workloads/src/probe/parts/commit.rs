//! How long COMMIT takes after a row was inserted: by itself, and without waiting for the disk.

use std::time::Duration;

use protocol::postgres::sql::ResultSet;

use super::{Work, list};
use crate::error::WorkloadError;
use crate::probe::figures::Figure;
use crate::probe::record::Found;
use crate::probe::shots::{CLOCK_US, Shot};
use crate::probe::spread::Spread;

/// Figure and `synchronous_commit`.
const WAYS: [(&Figure, &str); 2] = [(list::COMMIT, "on"), (list::COMMIT_ASYNC, "off")];
/// More tell no more.
const MOST: usize = 1000;
/// Longest time for one commit.
const BOUND: Duration = Duration::from_secs(20);

/// Both by turns.
pub(super) fn measure(work: &mut Work<'_>) -> Result<Vec<Found>, WorkloadError> {
    let Some(time) = work.time(0.08) else {
        return Ok(WAYS.iter().map(|(figure, _)| work.too_late(figure)).collect());
    };
    let table = work.scratch.table("commits");
    let failed = || WorkloadError::sql("making a table to write to");
    let make = format!("CREATE TABLE {table} (number integer NOT NULL, filler text NOT NULL)");
    work.session.ask("", &make, BOUND).map_err(failed())?;
    let start = work.now_us();
    let mut shots = [Vec::new(), Vec::new()];
    // The first of each does not count.
    for number in 0..=MOST {
        for ((_, way), shots) in WAYS.iter().zip(&mut shots) {
            let us = once(work, &table, way)?;
            if number > 0 {
                shots.push(Shot { at_us: (work.now_us() - start) as i64, us });
            }
        }
        if work.now_us() - start >= time.as_micros() as u64 {
            break;
        }
    }
    let [waited, not] = shots.each_ref().map(|shots| median(shots));
    let details =
        [waited.zip(not).map(|(waited, not)| flush(waited - not)).unwrap_or_default(), String::new()];
    let found = WAYS.iter().zip(&shots).zip(details);
    Ok(found
        .map(|(((figure, _), shots), detail)| Found::new(figure, (start, shots), |us| us, detail))
        .collect())
}

/// Between the server's clock before COMMIT and after it; all of it is one message.
fn once(work: &mut Work<'_>, table: &str, way: &str) -> Result<f64, WorkloadError> {
    // The last BEGIN meets the COMMIT that ends every message.
    let settings = format!("SET LOCAL synchronous_commit = {way}; ");
    let insert = format!(
        "INSERT INTO {table} VALUES (1, repeat('x', 100)); SELECT {CLOCK_US}; COMMIT; SELECT {CLOCK_US}; BEGIN"
    );
    let sets = work.session.ask(&settings, &insert, BOUND).map_err(WorkloadError::sql("committing"))?;
    let clock = |set: &ResultSet| set.rows.first()?.first()?.as_deref()?.parse::<i64>().ok();
    match sets.iter().map(clock).collect::<Option<Vec<i64>>>().as_deref() {
        Some([before, after]) => Ok((after - before) as f64),
        _ => Err(WorkloadError::Answer {
            doing: "committing".to_owned(),
            wanted: "two times".to_owned(),
            got: "something else".to_owned(),
        }),
    }
}

fn median(shots: &[Shot]) -> Option<f64> {
    let values: Vec<f64> = shots.iter().map(|shot| shot.us).collect();
    Some(Spread::of(&values)?.median)
}

/// What waiting for the disk takes of it.
fn flush(us: f64) -> String {
    match us {
        us if us <= 0.0 => "nothing of it is waiting for the disk".to_owned(),
        us if us < 1000.0 => format!("{us:.0} µs of it waiting for the disk"),
        us => format!("{:.2} ms of it waiting for the disk", us / 1000.0),
    }
}
