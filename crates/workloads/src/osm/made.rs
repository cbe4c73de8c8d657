//! The list of what our loads made, stored in the same database: only that is ever removed.
//!
//! A table is recorded when it is made, with the former table of its name. An incomplete entry is from a load
//! that failed or was killed: its table is removed, unless it is still the former one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use protocol::postgres::sql::{Sql, long, quote_identifier, quote_literal};
use spec::Error;

use super::nodes;
use crate::error;

const REGISTRY: &str = "CREATE SCHEMA IF NOT EXISTS pgdyno; CREATE TABLE IF NOT EXISTS pgdyno.loaded \
     (relation text PRIMARY KEY, measured boolean NOT NULL, load text NOT NULL, complete boolean NOT NULL, \
      former oid, former_loaded boolean NOT NULL)";

/// Whether the table of that name is still the one from when it was recorded.
const AS_BEFORE: &str = "to_regclass(relation)::oid IS NOT DISTINCT FROM former";

/// Whether a load is still running. Sessions of osm2pgsql have its name, but not before it connects and after
/// it ended; the connection that recorded the tables exists all the time. The name contains its process and
/// time: a later process with the same number differs. An earlier load over this very connection is not
/// running any more.
const AT_WORK: &str = "SELECT FROM pg_catalog.pg_stat_activity a WHERE a.application_name = l.load \
     OR a.pid <> pg_catalog.pg_backend_pid() AND a.pid::text = substring(l.load FROM '^pgdyno load ([0-9]+)-') \
     AND (a.backend_start IS NULL \
       OR extract(epoch FROM a.backend_start) * 1000000 <= substring(l.load FROM '-([0-9]+)$')::numeric)";

/// A table that osm2pgsql keeps for all loads of a schema, and empties when one begins.
const OF_ALL_LOADS: &str = "osm2pgsql_properties";

/// Whether a table, named as in SQL, is the one that osm2pgsql keeps for all loads.
pub(super) fn is_of_all_loads(table: &str) -> bool {
    table.rsplit('.').next().is_some_and(|bare| bare.trim_matches('"') == OF_ALL_LOADS)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodesOwner<'a> {
    /// Of measured loads, whose data are not needed.
    Measured,
    /// Of this load.
    Of(&'a str),
}

/// Makes the list if it does not exist, and removes what killed loads left; `nodes` is this load's file of
/// node locations.
pub(super) fn open(sql: &mut dyn Sql, nodes: Option<&Path>) -> Result<(), Error> {
    execute(sql, REGISTRY)?;
    execute(sql, nodes::REGISTRY)?;
    refuse_lists_of_others(sql)?;
    let dead = format!(
        "SELECT l.load FROM (SELECT load FROM pgdyno.loaded WHERE NOT complete \
           UNION SELECT load FROM pgdyno.loaded_file WHERE NOT complete) l WHERE NOT EXISTS ({AT_WORK})"
    );
    for load in names(sql, &dead)? {
        remove(sql, NodesOwner::Of(&load))?;
        nodes::remove(sql, &load, nodes)?;
    }
    Ok(())
}

/// Entries of the lists are removed with the rights of the login. So the login, a superuser or the owner of
/// the database must own the lists: any role that may create schemas could have made them first.
fn refuse_lists_of_others(sql: &mut dyn Sql) -> Result<(), Error> {
    let ask = "SELECT o.name || ' belongs to role ' || r.rolname FROM ( \
           SELECT 'schema pgdyno' AS name, nspowner AS owner FROM pg_catalog.pg_namespace WHERE nspname = 'pgdyno' \
           UNION ALL SELECT 'table pgdyno.' || c.relname, c.relowner FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = 'pgdyno' AND c.relname IN ('loaded', 'loaded_file', 'prepared')) o \
         JOIN pg_catalog.pg_roles r ON r.oid = o.owner \
         WHERE NOT r.rolsuper AND r.rolname <> current_user AND r.oid <> (SELECT datdba FROM pg_catalog.pg_database \
           WHERE datname = pg_catalog.current_database()) LIMIT 1";
    match sql.scalar(ask).map_err(error::sql_error(DOING))? {
        Some(what) => Err(error::missing_error(
            format!("pgdyno's lists of loaded tables cannot be trusted: {what}"),
            "log in as that role, or look at the schema and drop it: DROP SCHEMA pgdyno CASCADE",
        )),
        None => Ok(()),
    }
}

/// The name of a recorded table, quoted for SQL, with each suffix added to its last part. Names from the list
/// are never put into a statement unquoted.
fn with_suffixes<const N: usize>(
    sql: &mut dyn Sql,
    noted: &str,
    suffixes: [&str; N],
) -> Result<[String; N], Error> {
    let ask = format!("SELECT unnest(pg_catalog.parse_ident({}))", quote_literal(noted));
    let doing = || {
        format!("reading the name {noted:?} in pgdyno.loaded; if pgdyno did not write it, delete that row")
    };
    let parts = sql.rows(&ask).map_err(|error| error::sql_error(doing())(error))?;
    let parts: Vec<String> = parts.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
    let Some((last, schema)) = parts.split_last() else { return Ok(suffixes.map(str::to_owned)) };
    let schema: String = schema.iter().map(|part| quote_identifier(part) + ".").collect();
    Ok(suffixes.map(|suffix| format!("{schema}{}", quote_identifier(&format!("{last}{suffix}")))))
}

/// The existing tables, by OID.
pub(super) fn present(sql: &mut dyn Sql) -> Result<BTreeSet<String>, Error> {
    let all = "SELECT oid FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f')";
    Ok(names(sql, all)?.into_iter().collect())
}

/// Whether the list exists.
pub(super) fn is_there(sql: &mut dyn Sql) -> Result<bool, Error> {
    let found = sql.scalar("SELECT to_regclass('pgdyno.loaded')").map_err(error::sql_error(DOING))?;
    Ok(found.is_some())
}

/// Adds the tables of a preparation from an earlier build, which had no such list.
pub(super) fn adopt(sql: &mut dyn Sql, tables: &[String]) -> Result<(), Error> {
    let prepared = "SELECT to_regclass('pgdyno.prepared')";
    if sql.scalar(prepared).map_err(error::sql_error(DOING))?.is_none() {
        return Ok(());
    }
    let tables: Vec<String> = tables.iter().map(|table| quote_literal(table)).collect();
    execute(
        sql,
        &format!(
            "INSERT INTO pgdyno.loaded SELECT quote_ident(t), false, 'prepared', true, NULL, false FROM unnest(ARRAY[{}]::text[]) t \
             WHERE EXISTS (SELECT FROM pgdyno.prepared WHERE job = 'osm') AND to_regclass(quote_ident(t)) IS NOT NULL \
             AND (SELECT count(*) FROM pgdyno.loaded) = 0 ON CONFLICT DO NOTHING",
            tables.join(", ")
        ),
    )
}

/// Records tables, named as in SQL, that a load makes; `before` is [`present`] from its start. osm2pgsql
/// reports a table and continues, so it is not known yet whether an existing one is replaced.
pub(super) fn note(
    sql: &mut dyn Sql,
    tables: &BTreeSet<String>,
    before: &BTreeSet<String>,
    (load, measured): (&str, bool),
) -> Result<(), Error> {
    if tables.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = tables.iter().map(|table| quote_literal(table)).collect();
    let ask = format!("SELECT t, to_regclass(t)::oid FROM unnest(ARRAY[{}]::text[]) t", list.join(", "));
    let found = sql.rows(&ask).map_err(error::sql_error(DOING))?;
    let pair = |row: Vec<Option<String>>| <[_; 2]>::try_from(row).ok().and_then(|[t, oid]| t.zip(oid));
    let there: BTreeMap<String, String> = found.into_iter().filter_map(pair).collect();
    let with_former = |table: &String| {
        let former = there.get(table).filter(|oid| before.contains(*oid));
        format!("({}, {}::oid)", quote_literal(table), former.map_or("NULL", String::as_str))
    };
    let rows: Vec<String> = tables.iter().map(with_former).collect();
    execute(
        sql,
        &format!(
            "INSERT INTO pgdyno.loaded SELECT t, {measured}, {}, false, former, false FROM (VALUES {}) v (t, former) \
             ON CONFLICT (relation) DO UPDATE SET load = EXCLUDED.load, complete = false, \
             former = EXCLUDED.former, former_loaded = EXCLUDED.former IS NOT NULL",
            quote_literal(load),
            rows.join(", ")
        ),
    )
}

/// A load finished: entries that it did not make are removed. A table that was only emptied belongs to both
/// loads, and is measured only if both are.
pub(super) fn complete(sql: &mut dyn Sql, (load, measured): (&str, bool)) -> Result<(), Error> {
    let load = quote_literal(load);
    execute(
        sql,
        &format!(
            "DELETE FROM pgdyno.loaded WHERE load = {load} AND (to_regclass(relation) IS NULL \
               OR {AS_BEFORE} AND NOT former_loaded); \
             UPDATE pgdyno.loaded SET complete = true, measured = {measured} AND (measured OR NOT ({AS_BEFORE})) \
             WHERE load = {load}"
        ),
    )
}

/// Names of tables of earlier loads that this one replaced before it failed.
pub(super) fn replaced(sql: &mut dyn Sql, load: &str) -> Result<Vec<String>, Error> {
    let own = format!("NOT complete AND load = {}", quote_literal(load));
    let ask = format!(
        "SELECT relation FROM pgdyno.loaded WHERE {own} AND NOT measured AND former_loaded AND NOT ({AS_BEFORE}) ORDER BY 1"
    );
    names(sql, &ask)
}

/// Removes tables that loads made, with osm2pgsql's tables next to them; returns their names.
pub(super) fn remove(sql: &mut dyn Sql, which: NodesOwner<'_>) -> Result<Vec<String>, Error> {
    let condition = match which {
        NodesOwner::Measured => "measured AND complete".to_owned(),
        NodesOwner::Of(load) => {
            end_sessions(sql, load)?;
            let own = format!("NOT complete AND load = {}", quote_literal(load));
            // Tables that were never made.
            execute(
                sql,
                &format!(
                    "DELETE FROM pgdyno.loaded WHERE {own} AND {AS_BEFORE} AND NOT former_loaded; \
                     UPDATE pgdyno.loaded SET complete = true WHERE {own} AND {AS_BEFORE}"
                ),
            )?;
            own
        }
    };
    let tables = names(sql, &format!("SELECT relation FROM pgdyno.loaded WHERE {condition} ORDER BY 1"))?;
    for table in &tables {
        let name = quote_literal(table);
        let [whole, unfinished, check] = with_suffixes(sql, table, ["", "_tmp", "_osm2pgsql_valid"])?;
        // At once or not at all; objects that depend on it are kept.
        long(sql)
            .execute(&format!(
                "BEGIN; DROP TABLE IF EXISTS {whole}, {unfinished}; DROP FUNCTION IF EXISTS {check}(); \
                 DELETE FROM pgdyno.loaded WHERE relation = {name}; COMMIT"
            ))
            .map_err(|error| {
                let _ = sql.execute("ROLLBACK");
                error::sql_error(format!("removing {table}, which a load of pgdyno made"))(error)
            })?;
    }
    Ok(tables)
}

/// Ends sessions that a killed program left on the server, since they may still be making a table. Limited:
/// one that does not end in 10 s waits for something other than the load's tables.
fn end_sessions(sql: &mut dyn Sql, load: &str) -> Result<(), Error> {
    let doing = || error::sql_error(format!("ending what is left of {load}"));
    let end = format!(
        "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE application_name = {} \
         AND datname = current_database()",
        quote_literal(load)
    );
    for _ in 0..200 {
        if sql.rows(&end).map_err(doing())?.is_empty() {
            break;
        }
        sql.execute("SELECT pg_catalog.pg_sleep(0.05)").map_err(doing())?;
    }
    Ok(())
}

const DOING: &str = "looking for tables of earlier loads";

fn names(sql: &mut dyn Sql, ask: &str) -> Result<Vec<String>, Error> {
    let rows = sql.rows(ask).map_err(error::sql_error(DOING))?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

fn execute(sql: &mut dyn Sql, text: &str) -> Result<(), Error> {
    sql.execute(text).map_err(error::sql_error("noting which tables a load makes"))
}
