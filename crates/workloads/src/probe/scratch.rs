//! Scratch data: a separate schema with a unique name, and a mark of its owner.

use std::time::Duration;

use crate::error;
use protocol::postgres::sql::{Sql, SqlError, long, quote_identifier, quote_literal};
use spec::Error;
use spec::plan::change::{Change, ChangeStep};

/// Prefix of our schemas.
pub(super) const PREFIX: &str = "pgdyno_probe_";
/// Prefix of the comment on a schema; the rest names its owner.
pub(super) const MARK: &str = "scratch data of pgdyno probe, to be dropped by it: ";

/// Our tables in a schema; anything else belongs to somebody else, and prevents dropping it.
pub(super) const TABLES: [&str; 2] = ["commits", "pages"];

/// A schema of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scratch {
    name: String,
}

impl Scratch {
    /// `token` (letters and digits) is unique.
    pub(super) fn new(token: &str) -> Self {
        Self { name: format!("{PREFIX}{token}") }
    }

    /// A table in it, quoted.
    pub(super) fn table(&self, name: &str) -> String {
        format!("{}.{}", quote_identifier(&self.name), quote_identifier(name))
    }

    /// Makes the schema, marked in the same transaction; others may drop it once this session is gone, or
    /// `bound` is over.
    pub(super) fn make(&self, sql: &mut dyn Sql, bound: Duration) -> Result<(), Error> {
        let failed = || error::sql_error("making a schema for scratch data");
        let ask = format!(
            // Seconds since 1970, independent of the reader's date format.
            "SELECT 'backend ' || pid || ' since ' || extract(epoch FROM backend_start)::numeric(20, 3) || ', no longer than ' \
             || extract(epoch FROM clock_timestamp() + interval '{} seconds')::numeric(20, 3) FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid()",
            bound.as_secs()
        );
        let who = sql.scalar(&ask).map_err(failed())?.unwrap_or_default();
        let name = quote_identifier(&self.name);
        let mark = quote_literal(&format!("{MARK}{who}"));
        let make = format!("BEGIN; CREATE SCHEMA {name}; COMMENT ON SCHEMA {name} IS {mark}; COMMIT");
        sql.execute(&make).map_err(|error| {
            let _ = sql.execute("ROLLBACK");
            failed()(error)
        })
    }

    /// As a change with its undo, which drops it with our tables alone.
    pub(super) fn as_change(&self) -> Change {
        let schema = quote_identifier(&self.name);
        Change {
            do_: Some(ChangeStep::Sql(format!("CREATE SCHEMA {schema}"))),
            undo: Some(ChangeStep::Sql(dropping(&self.name))),
            check: None,
        }
    }

    /// Drops it with our tables; nothing if it does not exist.
    pub(super) fn drop(&self, sql: &mut dyn Sql) -> Result<(), SqlError> {
        drop_schema(sql, &self.name)
    }

    pub(super) fn is_there(&self, sql: &mut dyn Sql) -> Result<bool, SqlError> {
        let ask =
            format!("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = {}", quote_literal(&self.name));
        Ok(sql.scalar(&ask)?.is_some())
    }
}

/// Drops our tables, then the schema if it is empty.
pub(super) fn drop_schema(sql: &mut dyn Sql, name: &str) -> Result<(), SqlError> {
    long(sql).execute(&dropping(name))
}

/// One message, and so one transaction.
fn dropping(name: &str) -> String {
    let schema = quote_identifier(name);
    let tables = TABLES.map(|table| format!("{schema}.{}", quote_identifier(table))).join(", ");
    format!("DROP TABLE IF EXISTS {tables}; DROP SCHEMA IF EXISTS {schema}")
}
