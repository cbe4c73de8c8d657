//! Existing tables that do not belong to a load: osm2pgsql would silently replace one of the same name.
//!
//! Only a flex style knows which tables it makes, once it runs. So all tables that the load's role could drop
//! are locked in the weakest mode while osm2pgsql sets its own up. It then waits before it drops one of them,
//! which is detected, and the load is ended.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use protocol::postgres::sql::{Sql, quote_literal};
use spec::Error;

use super::made::{is_of_all_loads, is_there};
use crate::error;
use crate::jobs::{BoxedSql, Runtime};

/// This long after the last table was set up no other one is, µs.
const SET_UP_US: u64 = 3_000_000;
/// The same where a version does not report when it sets tables up.
const SILENT_US: u64 = 30_000_000;
/// Time between two checks, µs.
const LOOK_US: u64 = 100_000;

const DOING: &str = "looking for tables that the load must leave alone";

/// A table that existed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExistingTable {
    /// With its schema, quoted for SQL.
    name: String,
    /// Its bare name, if it is in the search path.
    bare: Option<String>,
    /// Whether an earlier load of ours made it.
    loaded: bool,
    /// Whether that load belongs to the same preparation.
    same_preparation: bool,
}

/// The tables that a load could drop, except for those that it may replace: `measured` ones are not needed,
/// and prepared ones may be loaded again, unless `earlier` jobs of the same preparation made them. The table
/// that osm2pgsql keeps for all loads is emptied by every load.
pub(super) fn others(
    sql: &mut dyn Sql,
    measured: bool,
    earlier: &[String],
) -> Result<Vec<ExistingTable>, Error> {
    let own = if measured { "(l.measured OR c.relname = 'osm2pgsql_properties')" } else { "true" };
    // Their records name their tables; a list of those exists once a job is done.
    let earlier: Vec<String> = earlier.iter().map(|job| quote_literal(job)).collect();
    let same_preparation = match earlier.is_empty() {
        true => "false".to_owned(),
        false => format!(
            "EXISTS (SELECT FROM pgdyno.prepared p WHERE p.job IN ({}) AND (p.record::json -> 'tables')::jsonb ? \
             CASE WHEN n.nspname = 'public' THEN c.relname ELSE n.nspname || '.' || c.relname END)",
            earlier.join(", ")
        ),
    };
    let loaded = match is_there(sql)? {
        true => "SELECT FROM pgdyno.loaded l WHERE to_regclass(l.relation) = c.oid",
        false => "SELECT FROM (SELECT false AS measured) l WHERE false",
    };
    let ask = format!(
        "SELECT format('%I.%I', n.nspname, c.relname), \
                CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname END, EXISTS ({loaded}), {same_preparation} \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pgdyno', 'pg_catalog', 'information_schema') \
           AND n.nspname NOT LIKE 'pg\\_%' AND pg_catalog.pg_has_role(c.relowner, 'USAGE') \
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') \
           AND (NOT EXISTS ({loaded} AND {own}) OR {same_preparation}) ORDER BY 1"
    );
    let rows = sql.rows(&ask).map_err(error::sql_error(DOING))?;
    let read = |row: Vec<Option<String>>| {
        let mut row = row.into_iter();
        let (name, bare) = (row.next()??, row.next()?);
        let mut is = || row.next().flatten().as_deref() == Some("t");
        Some(ExistingTable { name, bare, loaded: is(), same_preparation: is() })
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

/// Refuses a load that would replace one of these.
///
/// # Errors
/// Their names.
pub(super) fn refuse(others: &[ExistingTable], tables: &[String]) -> Result<(), Error> {
    let wanted = |other: &&ExistingTable| other.bare.as_ref().is_some_and(|bare| tables.contains(bare));
    let found: Vec<&ExistingTable> = others.iter().filter(wanted).collect();
    match found.is_empty() {
        true => Ok(()),
        false => Err(would_replace(&found)),
    }
}

fn would_replace(found: &[&ExistingTable]) -> Error {
    let names: Vec<&str> = found.iter().map(|other| other.name.as_str()).collect();
    let loaded = found.iter().all(|other| other.loaded);
    let (what, hint) = match loaded {
        // Another prefix does not help.
        _ if found.iter().any(|other| is_of_all_loads(&other.name)) => (
            "where it keeps what all its loads in this database have in common; pgdyno did not make it",
            "load into another database, or allow it: replace = true (--replace)",
        ),
        _ if found.iter().any(|other| other.same_preparation) => (
            "which another load of this preparation made",
            "give one of them another prefix (or other names, or another schema, in its style)",
        ),
        true => (
            "which a preparation or `osm load` made",
            "give the measured load another prefix (or other names in its style), or allow it: replace = true (--replace)",
        ),
        false => (
            "which pgdyno did not make",
            "give the load another prefix (or other names in its style), or allow it: replace = true (--replace)",
        ),
    };
    error::missing_error(
        format!("osm2pgsql would replace {}, {what}; nothing was changed there", names.join(", ")),
        hint,
    )
}

/// When the load last reported that it sets a table up, and whether it is over.
#[derive(Debug, Default)]
pub(super) struct SetUpProgress {
    set_up_us: AtomicU64,
    over: AtomicBool,
}

impl SetUpProgress {
    /// A table is set up now, µs on the runtime's clock.
    pub(super) fn set_up(&self, now_us: u64) {
        self.set_up_us.store(now_us, Ordering::Relaxed);
    }
}

/// Does `work` while connections of this name cannot drop the other tables. A table that would have been
/// dropped is reported as an error, whatever the result of `work`.
pub(super) fn kept<T>(
    runtime: &dyn Runtime,
    others: &[ExistingTable],
    called: &str,
    work: impl FnOnce(&SetUpProgress) -> T,
) -> Result<T, Error> {
    let progress = SetUpProgress::default();
    if others.is_empty() {
        return Ok(work(&progress));
    }
    let mut keeper = lock(runtime, others)?;
    let (given, touched) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch(&mut *keeper, runtime, &progress, called));
        let given = work(&progress);
        progress.over.store(true, Ordering::Relaxed);
        (given, watch.join().ok().flatten())
    });
    match touched {
        Some(name) => {
            let known = others.iter().find(|other| other.name == name).cloned();
            let other =
                known.unwrap_or(ExistingTable { name, bare: None, loaded: false, same_preparation: false });
            Err(would_replace(&[&other]))
        }
        None => Ok(given),
    }
}

fn lock(runtime: &dyn Runtime, others: &[ExistingTable]) -> Result<BoxedSql, Error> {
    let mut keeper = runtime.connect().map_err(error::sql_error(DOING))?;
    let names: Vec<&str> = others.iter().map(|other| other.name.as_str()).collect();
    // Another session may be changing one of them for a long time.
    let lock = format!(
        "BEGIN; SET LOCAL lock_timeout = '10s'; LOCK TABLE {} IN ACCESS SHARE MODE",
        names.join(", ")
    );
    keeper.query_long(&lock).map_err(error::sql_error("keeping other tables from being replaced"))?;
    Ok(keeper)
}

/// Until all tables are set up or the load is over: ends a session that waits for a locked table, and reports
/// the table.
fn watch(
    keeper: &mut dyn Sql,
    runtime: &dyn Runtime,
    progress: &SetUpProgress,
    called: &str,
) -> Option<String> {
    // A transaction keeps its first snapshot of others' sessions, unless it is cleared.
    let waiting = format!(
        "SELECT pg_catalog.pg_stat_clear_snapshot(); \
         SELECT format('%I.%I', n.nspname, c.relname), pg_catalog.pg_cancel_backend(l.pid) \
         FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid \
         JOIN pg_catalog.pg_class c ON c.oid = l.relation JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         WHERE NOT l.granted AND a.application_name = {} \
           AND pg_catalog.pg_backend_pid() = ANY (pg_catalog.pg_blocking_pids(l.pid))",
        quote_literal(called)
    );
    let begin_us = runtime.now_us();
    let mut touched = None;
    while !progress.over.load(Ordering::Relaxed) {
        match keeper.rows(&waiting) {
            // The locks stay until the load is over.
            Ok(rows) => {
                touched = touched.or(rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
            }
            Err(_) => break,
        }
        let last_us = progress.set_up_us.load(Ordering::Relaxed);
        let (since, patience) = if last_us > 0 { (last_us, SET_UP_US) } else { (begin_us, SILENT_US) };
        if touched.is_none() && runtime.now_us().saturating_sub(since) > patience {
            break;
        }
        runtime.sleep_us(LOOK_US);
    }
    let _ = keeper.execute("ROLLBACK");
    touched
}
