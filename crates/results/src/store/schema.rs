//! Whether a file holds only what pgdyno made. A results file may come from somebody else, and a view or a trigger in it
//! would run whenever the file is read or written.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::{Sqlite, migrate};
use crate::error::StoreError;

/// Tables that `ANALYZE` makes.
const STATISTICS: [&str; 2] = ["sqlite_stat1", "sqlite_stat4"];

/// One line of `sqlite_schema`.
#[derive(Debug)]
struct Object {
    kind: String,
    name: String,
    /// None for an index that a constraint made.
    sql: Option<String>,
}

/// Turns off what a hostile file needs (<https://www.sqlite.org/security.html>); no schema of pgdyno has triggers.
pub(super) fn distrust(connection: &Connection) -> Sqlite<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.pragma_update(None, "cell_size_check", true)
}

/// Refuses a file with views, triggers, virtual tables or expressions that its schema version does not have; gives that
/// version. Plain tables and indexes that somebody added stay: they compute nothing.
pub(super) fn refuse_additions(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
    // Version and schema of one state: another program may be upgrading the file.
    let state = connection.unchecked_transaction().map_err(|error| StoreError::from_sqlite(path, &error))?;
    let version = migrate::version(&state, path)?;
    match first_addition(&state, version) {
        Ok(None) => Ok(version),
        Ok(Some(Object { kind, name, .. })) => {
            let known = ["view", "trigger", "index", "table"].into_iter().find(|known| *known == kind);
            Err(StoreError::Addition { path: path.to_owned(), kind: known.unwrap_or("object"), name })
        }
        Err(error) => Err(StoreError::from_sqlite(path, &error)),
    }
}

fn first_addition(connection: &Connection, version: u32) -> Sqlite<Option<Object>> {
    let own = objects(&migrate::sample(version)?)?;
    let own: BTreeMap<&str, &Object> = own.iter().map(|object| (object.name.as_str(), object)).collect();
    for object in objects(connection)? {
        let is_known = match own.get(object.name.as_str()) {
            Some(ours) => ours.kind == object.kind && ours.sql == object.sql,
            None => computes_nothing(connection, &object)?,
        };
        if !is_known {
            return Ok(Some(object));
        }
    }
    // The names in `sqlite_schema` can be forged; these are of what SQLite made of its statements.
    let mut made = connection.prepare("SELECT type, name FROM pragma_table_list WHERE schema = 'main'")?;
    let made = made.query_map([], |row| Ok(Object { kind: row.get(0)?, name: row.get(1)?, sql: None }))?;
    let made: Vec<Object> = made.collect::<Sqlite<_>>()?;
    let is_known = |object: &Object| {
        object.kind == "table" || own.get(object.name.as_str()).is_some_and(|ours| ours.kind == object.kind)
    };
    Ok(made.into_iter().find(|object| !is_known(object)))
}

fn objects(connection: &Connection) -> Sqlite<Vec<Object>> {
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema")?;
    let read =
        |row: &rusqlite::Row<'_>| Ok(Object { kind: row.get(0)?, name: row.get(1)?, sql: row.get(2)? });
    statement.query_map([], read)?.collect()
}

/// Whether it is a table without generated columns, or an index without expressions.
fn computes_nothing(connection: &Connection, object: &Object) -> Sqlite<bool> {
    let plain = match object.kind.as_str() {
        "table" if STATISTICS.contains(&object.name.as_str()) => return Ok(true),
        "table" => {
            "SELECT (SELECT count(*) = 1 FROM pragma_table_list(?1) WHERE type = 'table' AND schema = 'main')
                AND NOT EXISTS (SELECT * FROM pragma_table_xinfo(?1) WHERE hidden <> 0)"
        }
        "index" => {
            "SELECT EXISTS (SELECT * FROM pragma_index_xinfo(?1))
                AND NOT EXISTS (SELECT * FROM pragma_index_xinfo(?1) WHERE cid = -2)
                AND NOT EXISTS (SELECT * FROM sqlite_schema s, pragma_index_list(s.tbl_name) i
                                WHERE s.type = 'index' AND s.name = ?1 AND i.name = ?1 AND i.partial)"
        }
        _ => return Ok(false),
    };
    connection.query_row(plain, [&object.name], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::Store;

    fn file_with(sql: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("others.sqlite");
        drop(Store::create_or_open(&path).unwrap());
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        (folder, path)
    }

    /// A view of somebody else's file filled the memory when it was read, and its triggers ran when it was written.
    #[test]
    fn what_pgdyno_did_not_make_is_refused_by_name() {
        let cases = [
            ("CREATE VIEW totals AS SELECT count(*) FROM run", "view \"totals\""),
            ("DROP VIEW v_run; CREATE VIEW v_run AS SELECT zeroblob(1e9) AS tps", "view \"v_run\""),
            ("DROP TABLE look; CREATE VIEW look AS SELECT 1", "view \"look\""),
            ("CREATE TRIGGER eager AFTER INSERT ON look BEGIN DELETE FROM run; END", "trigger \"eager\""),
            ("CREATE VIRTUAL TABLE words USING fts5 (word)", "table \"words"),
            ("CREATE TABLE grown (a, b AS (zeroblob(1000000000)))", "table \"grown\""),
            ("ALTER TABLE meta ADD COLUMN b BLOB AS (zeroblob(1000000000))", "table \"meta\""),
            ("CREATE INDEX odd ON meta (upper(name))", "index \"odd\""),
            ("CREATE INDEX part ON meta (name) WHERE value > 'a'", "index \"part\""),
        ];
        for (sql, wanted) in cases {
            let (_folder, path) = file_with(sql);
            for error in [Store::open_read_only(&path), Store::create_or_open(&path)].map(Result::unwrap_err)
            {
                assert!(matches!(error, StoreError::Addition { .. }), "{sql}: {error}");
                assert!(error.to_string().contains(wanted), "{sql}: {error}");
            }
        }
    }

    #[test]
    fn plain_tables_and_indexes_of_the_user_stay() {
        let (_folder, path) = file_with(
            "CREATE TABLE notes (run_id INTEGER PRIMARY KEY, text UNIQUE); CREATE INDEX by_tps ON run (tps); ANALYZE",
        );
        Store::create_or_open(&path).unwrap();
        let store = Store::open_read_only(&path).unwrap();
        assert!(store.query("SELECT * FROM notes").unwrap().rows.is_empty());
    }
}
