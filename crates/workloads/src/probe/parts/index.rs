//! How fast an index is built: integers in no order, in a temporary table, sorted in memory.

use std::time::Duration;

use protocol::postgres::sql::ResultSet;

use super::{Work, list};
use crate::error::WorkloadError;
use crate::probe::record::Found;
use crate::probe::shots::{CLOCK_US, Shot, between};

const ROWS: f64 = 200_000.0;
/// Builds that are enough.
const MOST: usize = 20;
/// The table goes with the transaction, whatever ends that.
const TABLE: &str = "CREATE TEMPORARY TABLE pgdyno_probe_rows ON COMMIT DROP AS \
     SELECT hashint4(n) AS key FROM generate_series(1, 200000) AS n";
/// Enough to sort without a file.
const SETTINGS: &str = "SET LOCAL maintenance_work_mem = '64MB'; ";

/// Builds of one message; all of them are on the disk until its end.
const AT_ONCE: usize = 3;

/// One transaction at a time: the table, and the index on it made and dropped again and again. The first one does not count: it
/// finds the rows unread.
pub(super) fn measure(work: &mut Work<'_>) -> Result<Vec<Found>, WorkloadError> {
    let figure = list::INDEX;
    let time = match work.time_for(figure, 0.1) {
        Ok(time) => time,
        Err(late) => return Ok(vec![*late]),
    };
    let mut shots = Vec::new();
    let start = work.now_us();
    while shots.len() < MOST && (shots.is_empty() || work.now_us() - start < time.as_micros() as u64) {
        let at_us = (work.now_us() - start) as i64;
        let clocks = builds(work, time)?;
        let built = clocks.chunks_exact(2).flat_map(between).map(|shot| Shot { at_us, ..shot });
        let before = shots.len();
        shots.extend(built);
        if shots.len() == before {
            break;
        }
    }
    let detail = format!("{ROWS} integers, sorted in memory, without WAL");
    Ok(vec![Found::new(figure, (start, &shots), |us| ROWS / us * 1e6, detail)])
}

/// The server's clock before each build and after it.
fn builds(work: &mut Work<'_>, time: Duration) -> Result<Vec<i64>, WorkloadError> {
    let index = "CREATE INDEX pgdyno_probe_index ON pgdyno_probe_rows (key)";
    let drop = "DROP INDEX pgdyno_probe_index";
    let timed = format!("; SELECT {CLOCK_US}; {index}; SELECT {CLOCK_US}; {drop}").repeat(AT_ONCE);
    let text = format!("{TABLE}; {index}; {drop}{timed}");
    let bound = time * 2 + Duration::from_secs(10);
    let sets = work.session.ask(SETTINGS, &text, bound).map_err(WorkloadError::sql("building an index"))?;
    let clock = |set: &ResultSet| set.rows.first()?.first()?.as_deref()?.parse::<i64>().ok();
    Ok(sets.iter().filter_map(clock).collect())
}
