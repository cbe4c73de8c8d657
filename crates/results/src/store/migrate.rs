//! Schema versions: an append-only list, each step in a transaction, an older file backed up first.

use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

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

/// Refuses a file that another program made: it has tables, but not our first one. `user_version` alone says nothing,
/// since others count in it too.
pub(super) fn refuse_foreign(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let ours_or_empty =
        "SELECT count(*) = 0 OR sum(name = 'meta') > 0 FROM sqlite_schema WHERE type = 'table'";
    match connection.query_row(ours_or_empty, [], |row| row.get(0)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(StoreError::NotResults { path: path.to_owned() }),
        Err(error) => Err(StoreError::from_sqlite(path, &error)),
    }
}

/// Brings the file to [`NEWEST`].
pub(super) fn to_newest(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    apply(connection, path, STEPS)
}

fn apply(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    let found = version(connection, path)?;
    if found > 0 && (found as usize) < steps.len() {
        back_up(connection, path, found)?;
    }
    for (step, sql) in steps.iter().enumerate().skip(found as usize) {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        // Another program may have made this step while we waited for the lock.
        if version(&transaction, path)? as usize > step {
            continue;
        }
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

/// Copies the file, readable by its owner only, beside itself. A copy left by an attempt that failed is made anew.
fn back_up(connection: &Connection, path: &Path, version: u32) -> Result<(), StoreError> {
    let backup = backup_path(path, version);
    let made = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&backup);
    made.map_err(|error| StoreError::from_io(&backup, &error))?;
    connection
        .execute("VACUUM INTO ?1", [backup.to_string_lossy()])
        .map_err(|error| StoreError::from_sqlite(&backup, &error))?;
    Ok(())
}

fn backup_path(path: &Path, version: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{version}.backup"));
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const TWO: &[&str] = &[STEPS[0], "ALTER TABLE host ADD COLUMN note TEXT"];

    fn old_file() -> (tempfile::TempDir, PathBuf, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        apply(&mut connection, &path, STEPS).unwrap();
        (folder, path, connection)
    }

    #[test]
    fn an_older_file_is_backed_up_and_brought_up_to_date() {
        let (_folder, path, mut connection) = old_file();
        apply(&mut connection, &path, TWO).unwrap();
        assert_eq!(version(&connection, &path).unwrap(), 2);
        connection.prepare("SELECT note FROM host").unwrap();
        let backup = backup_path(&path, 1);
        assert_eq!(backup.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let before = Connection::open(&backup).unwrap();
        assert_eq!(version(&before, &backup).unwrap(), 1);
        assert!(before.prepare("SELECT note FROM host").is_err());
        apply(&mut connection, &path, TWO).unwrap();
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let (_folder, path, mut connection) = old_file();
        let broken = &[STEPS[0], "CREATE TABLE extra (x); CREATE TABLE extra (x)"];
        assert!(apply(&mut connection, &path, broken).is_err());
        assert_eq!(version(&connection, &path).unwrap(), 1);
        assert!(connection.prepare("SELECT * FROM extra").is_err());
        // The backup of the failed attempt is no obstacle to the next one.
        apply(&mut connection, &path, TWO).unwrap();
    }

    #[test]
    fn two_programs_may_make_the_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.sqlite");
        let opened: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> =
                (0..4).map(|_| scope.spawn(|| crate::Store::create_or_open(&path).map(drop))).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
    }
}
