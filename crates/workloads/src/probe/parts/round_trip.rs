//! How long the way to the server and back takes.

use protocol::postgres::sql::SqlError;

use super::{Work, list};
use crate::error::WorkloadError;
use crate::probe::figures::Figure;
use crate::probe::record::Found;
use crate::probe::shots::Shot;

/// Statement and figure.
const ASKED: [(&Figure, &str); 2] = [(list::ROUND_TRIP, ";"), (list::SELECT_1, "SELECT 1")];
/// Round trips that do not count: the first ones find caches and clocks asleep.
const WARM_UP: usize = 20;
/// More tell no more.
const MOST: usize = 2000;

/// Both by turns, so that what disturbs one disturbs the other.
pub(super) fn measure(work: &mut Work<'_>) -> Result<Vec<Found>, WorkloadError> {
    let Some(time) = work.time(0.05) else {
        return Ok(ASKED.iter().map(|(figure, _)| work.too_late(figure)).collect());
    };
    let start = work.now_us();
    let mut shots = [Vec::new(), Vec::new()];
    for number in 0..MOST + WARM_UP {
        for ((_, statement), shots) in ASKED.iter().zip(&mut shots) {
            let us = once(work, statement).map_err(WorkloadError::sql("measuring round trips"))?;
            if number >= WARM_UP {
                shots.push(Shot { at_us: (work.now_us() - start) as i64, us });
            }
        }
        if work.now_us() - start >= time.as_micros() as u64 {
            break;
        }
    }
    let found = ASKED.iter().zip(&shots);
    Ok(found.map(|((figure, _), shots)| Found::new(figure, (start, shots), |us| us, "")).collect())
}

fn once(work: &mut Work<'_>, statement: &str) -> Result<f64, SqlError> {
    let start = work.runtime.now_us();
    work.session.sql().query(statement)?;
    Ok((work.runtime.now_us() - start) as f64)
}
