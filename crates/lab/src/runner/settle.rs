//! The same state before every run: a checkpoint just done, no autovacuum in progress.

use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, SqlError, long};

const AUTOVACUUM_BOUND: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Settled {
    /// Duration of the checkpoint, seconds; `None` without the right to request one.
    pub(crate) checkpoint_s: Option<f64>,
    /// Time waited for autovacuum, seconds.
    pub(crate) autovacuum_s: f64,
    /// Whether autovacuum was still running when the wait ended.
    pub(crate) autovacuum_at_work: bool,
}

pub(crate) fn settle(sql: &mut dyn Sql, stopped: &dyn Fn() -> bool) -> Result<Settled, SqlError> {
    let mut settled = Settled::default();
    let start = Instant::now();
    while autovacuum_works(sql)? {
        settled.autovacuum_s = start.elapsed().as_secs_f64();
        if start.elapsed() >= AUTOVACUUM_BOUND || stopped() {
            settled.autovacuum_at_work = true;
            break;
        }
        std::thread::sleep(GLANCE);
    }
    let start = Instant::now();
    settled.checkpoint_s = match long(sql).execute("CHECKPOINT") {
        Ok(()) => Some(start.elapsed().as_secs_f64()),
        // Only superusers and members of pg_checkpoint may.
        Err(error) if error.is("42501") => None,
        Err(error) => return Err(error),
    };
    Ok(settled)
}

fn autovacuum_works(sql: &mut dyn Sql) -> Result<bool, SqlError> {
    let workers = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity \
                   WHERE backend_type = 'autovacuum worker' AND datname = current_database()";
    Ok(sql.scalar(workers)?.is_some_and(|count| count != "0"))
}
