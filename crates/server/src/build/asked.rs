//! How a server was built, as it reports it.

use protocol::postgres::sql::{Sql, SqlError};
use spec::BuildRecord;

/// `pg_config` is for superusers, and asking without the right leaves an error in the server's log.
const MAY_ASK: &str = "SELECT has_function_privilege('pg_catalog.pg_config()', 'EXECUTE')";

/// How the server was built, as it reports it.
pub(crate) fn asked(sql: &mut dyn Sql) -> Result<BuildRecord, SqlError> {
    let rows = sql.rows("SELECT version(), current_setting('debug_assertions', true)")?;
    let mut own = rows.into_iter().next().unwrap_or_default().into_iter();
    let version = own.next().flatten().unwrap_or_default();
    let assertions = own.next().flatten().as_deref() == Some("on");
    let mut record = BuildRecord { version, assertions, ..BuildRecord::default() };
    if sql.scalar(MAY_ASK)?.as_deref() != Some("t") {
        return Ok(record);
    }
    let query = "SELECT name, setting FROM pg_catalog.pg_config WHERE name IN ('CONFIGURE', 'CC', 'CFLAGS')";
    for row in sql.rows(query)? {
        let mut row = row.into_iter().flatten();
        let (Some(name), Some(setting)) = (row.next(), row.next()) else { continue };
        match name.as_str() {
            "CONFIGURE" => record.configure = Some(setting),
            "CC" => record.cc = Some(setting),
            _ => record.cflags = Some(setting),
        }
    }
    Ok(record)
}
