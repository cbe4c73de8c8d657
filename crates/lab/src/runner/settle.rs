//! The state every run starts from: a checkpoint just done, no autovacuum under way.

use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, SqlError, long};

/// Longest wait for autovacuum.
const AUTOVACUUM_BOUND: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(50);

/// What was done before a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Settled {
    /// How long the checkpoint took, seconds; `None` where we may not ask for one.
    pub(crate) checkpoint_s: Option<f64>,
    /// How long autovacuum was waited for, seconds.
    pub(crate) autovacuum_s: f64,
    /// Whether autovacuum was still at work when the wait was given up.
    pub(crate) autovacuum_at_work: bool,
}

/// Waits for autovacuum, at most 10 s, and asks for a checkpoint.
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
