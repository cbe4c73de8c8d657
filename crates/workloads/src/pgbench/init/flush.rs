//! A second connection that makes the server write its log while the first one loads.
//!
//! A backend that copies into a table must itself write and sync the log that its pages wait for, and loads
//! nothing meanwhile. Any other backend that commits writes the whole log up to there. So a few bytes of log,
//! committed repeatedly by another connection, take that work from the loading one, as long as the server has
//! a spare processor. Only those few bytes of log remain. Without the connection the load works, too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::fault::InitFault;
use super::options::{InitOptions, Loading};
use crate::jobs::Runtime;
use protocol::postgres::sql::{Sql, long};

/// Scale from which the gain is worth a connection.
const WORTHWHILE: u32 = 10;
/// Time between two commits, µs: the log of this time should fit the server's buffers for it, 4 to 16 MB.
const PAUSE_US: u64 = 10_000;

/// Writes a few bytes of log that nobody reads, and commits locally, regardless of standbys. One message is
/// one transaction: the setting ends with it.
const FLUSH: &str =
    "set local synchronous_commit = local; select pg_catalog.pg_logical_emit_message(true, 'pgdyno', '')";

/// Whether the rows are logged, and are many.
pub(super) fn is_worthwhile(options: &InitOptions, loading: &Loading, sql: &mut dyn Sql) -> bool {
    let logged = !options.unlogged;
    // At the lowest level a table that was emptied by the same transaction is not logged.
    options.scale >= WORTHWHILE
        && loading.jobs == 1
        && logged
        && sql.scalar("show wal_level").is_ok_and(|level| level.is_some_and(|level| level != "minimal"))
}

/// Does `work` while the log is written.
pub(super) fn while_flushing(
    runtime: &dyn Runtime,
    work: impl FnOnce() -> Result<u64, InitFault>,
) -> Result<u64, InitFault> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| keep_flushing(runtime, &done));
        // Set in any case, or the thread would never end.
        let _guard = Guard(&done);
        work()
    })
}

struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn keep_flushing(runtime: &dyn Runtime, done: &AtomicBool) {
    let Ok(mut sql) = runtime.connect() else { return };
    // At least once, however short the work is.
    while long(&mut *sql).execute(FLUSH).is_ok() && !done.load(Ordering::Relaxed) && !runtime.stopped() {
        runtime.sleep_us(PAUSE_US);
    }
}
