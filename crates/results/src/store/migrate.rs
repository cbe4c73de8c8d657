//! Schema versions: an append-only list, each step in a transaction, an older file backed up first.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::StoreError;

/// Every schema change, in order; the file's `user_version` is how many it has.
const STEPS: &[&str] = &[include_str!("../schema/0001.sql")];

/// Newest schema version this build knows.
pub(super) const NEWEST: u32 = STEPS.len() as u32;

/// Schema version of the file; 0 for a new or foreign one.
pub(super) fn version(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
    connection
        .query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
        .map(|version| u32::try_from(version).unwrap_or(u32::MAX))
        .map_err(|error| StoreError::from_sqlite(path, &error))
}

/// Whether the file has no table at all.
pub(super) fn is_empty(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    connection
        .query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| StoreError::from_sqlite(path, &error))
}

/// Brings the file to [`NEWEST`].
pub(super) fn to_newest(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    let found = version(connection, path)?;
    if found > 0 && found < NEWEST {
        let backup = backup_path(path, found);
        connection.execute("VACUUM INTO ?1", [backup.to_string_lossy()]).map_err(sqlite)?;
    }
    for (step, sql) in STEPS.iter().enumerate().skip(found as usize) {
        let transaction = connection.transaction().map_err(sqlite)?;
        // Another program may have made this step while we waited for the lock.
        transaction.execute_batch(sql).map_err(sqlite)?;
        transaction.pragma_update(None, "user_version", step as u32 + 1).map_err(sqlite)?;
        if step == 0 {
            let uuid = uuid::Uuid::new_v4().to_string();
            transaction.execute("INSERT INTO meta VALUES ('file_uuid', ?1)", [uuid]).map_err(sqlite)?;
            let made_by = concat!("pgdyno ", env!("CARGO_PKG_VERSION"));
            transaction.execute("INSERT INTO meta VALUES ('created_by', ?1)", [made_by]).map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)?;
    }
    Ok(())
}

fn backup_path(path: &Path, version: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{version}.backup"));
    name.into()
}
