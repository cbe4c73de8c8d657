//! The tables of a results file, and whether a file has additions that pgdyno did not create. A results
//! file may come from another person, and a view or a trigger in it would run whenever the file is read or
//! written.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::OnceLock;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};

use super::Sqlite;
use spec::{Class, Error};

use crate::error::{damaged, earlier, from_sqlite, newer, not_results, too_old};

/// All tables, indexes and views; a table comes after the tables that it refers to.
const SCHEMA: &str = include_str!("../schema.sql");

/// SQLite's `application_id` of a results file: "pgdy".
const APPLICATION: u32 = 0x7067_6479;

/// SQLite's `user_version` of a results file.
pub(super) const VERSION: u32 = 17;

pub(super) const LAST_UNMARKED: u32 = 8;

/// Versions with the tables and columns of the present one, except [`ADDED`]: `import` copies their files.
pub(super) const COPIED: RangeInclusive<u32> = LAST_UNMARKED..=VERSION - 1;

/// Tables that only some of these versions have.
pub(super) const ADDED: [&str; 10] = [
    "fact",
    "tile_probe",
    "statement_layer",
    "target_build",
    "slice_cpu",
    "gate",
    "initial_setting",
    "experiment_part",
    "run_part",
    "run_host",
];

/// Tables that `ANALYZE` creates.
const STATISTICS: [&str; 2] = ["sqlite_stat1", "sqlite_stat4"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaState {
    Empty,
    Present,
    Newer(u32),
    Earlier(u32),
    Foreign,
}

impl SchemaState {
    pub(super) fn of(connection: &Connection, path: &Path) -> Result<Self, Error> {
        let header = "SELECT application_id, user_version,
                (SELECT count(*) FROM sqlite_schema WHERE type = 'table'),
                (SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'meta')
             FROM pragma_application_id, pragma_user_version";
        connection
            .query_row(header, [], |row| {
                let (application, version): (i64, i64) = (row.get(0)?, row.get(1)?);
                let (tables, meta): (u32, u32) = (row.get(2)?, row.get(3)?);
                let version = u32::try_from(version).unwrap_or(0);
                let is_marked = application == i64::from(APPLICATION);
                Ok(match version {
                    _ if tables == 0 => Self::Empty,
                    VERSION if is_marked => Self::Present,
                    1..VERSION if is_marked => Self::Earlier(version),
                    _ if is_marked && version > VERSION => Self::Newer(version),
                    1..=LAST_UNMARKED if application == 0 && meta > 0 => Self::Earlier(version),
                    _ => Self::Foreign,
                })
            })
            .map_err(|error| from_sqlite(path, &error))
    }

    /// Rejects all files except new files and files of [`VERSION`].
    pub(super) fn check(self, path: &Path) -> Result<(), Error> {
        Err(match self {
            Self::Empty | Self::Present => return Ok(()),
            Self::Newer(found) => newer(path, found, VERSION),
            Self::Earlier(found) if COPIED.contains(&found) => earlier(path),
            Self::Earlier(found) => too_old(path, found),
            Self::Foreign => not_results(path),
        })
    }
}

/// Creates all tables and views in an empty file; another program may do the same at the same time.
pub(super) fn make(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let sqlite = |error: rusqlite::Error| from_sqlite(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
    if SchemaState::of(&transaction, path)? != SchemaState::Empty {
        return Ok(());
    }
    let made_by = concat!("pgdyno ", env!("CARGO_PKG_VERSION"));
    let facts = [("file_uuid", &*uuid::Uuid::new_v4().to_string()), ("created_by", made_by)];
    let make = || {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        for fact in facts {
            transaction.execute("INSERT INTO meta VALUES (?1, ?2)", fact)?;
        }
        Ok(())
    };
    make().and_then(|()| transaction.commit()).map_err(sqlite)
}

fn sample() -> Sqlite<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// Names of all tables; a table comes after the tables that it refers to.
pub(super) fn tables() -> Sqlite<Vec<String>> {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid";
    sample()?.prepare(tables)?.query_map([], |row| row.get(0))?.collect()
}

/// What [`SCHEMA`] makes. It is asked for whenever a file is opened, and making it takes milliseconds.
fn own_objects() -> Sqlite<&'static [SchemaObject]> {
    static OWN: OnceLock<Vec<SchemaObject>> = OnceLock::new();
    match OWN.get() {
        Some(own) => Ok(own),
        None => {
            let own = objects(&sample()?)?;
            Ok(OWN.get_or_init(|| own))
        }
    }
}

#[derive(Debug)]
struct SchemaObject {
    kind: String,
    name: String,
    /// `None` for an index of a constraint.
    sql: Option<String>,
}

/// Turns off features that a hostile file needs (<https://www.sqlite.org/security.html>); results files
/// have no triggers.
pub(super) fn distrust(connection: &Connection) -> Sqlite<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.pragma_update(None, "cell_size_check", true)
}

/// Rejects a file with views, triggers, virtual tables or expressions that the schema does not have.
/// Additional plain tables and indexes are accepted: they compute nothing.
pub(super) fn refuse_additions(connection: &Connection, path: &Path) -> Result<(), Error> {
    match first_addition(connection) {
        Ok(None) => Ok(()),
        Ok(Some(SchemaObject { kind, name, .. })) => {
            let known = ["view", "trigger", "index", "table"].into_iter().find(|known| *known == kind);
            let kind = known.unwrap_or("object");
            let what = format!(
                "{}: {kind} {name:?} was not made by pgdyno, and would run when the file is used; if it is yours, drop it, and \
                 keep it in another database that attaches this file",
                path.display()
            );
            Err(Error::new(Class::BadInput, what))
        }
        Err(error) => Err(from_sqlite(path, &error)),
    }
}

/// Rejects a file of an earlier version in which something else stands in the place of a table, or a table is missing
/// that its version had.
pub(super) fn refuse_other_tables(connection: &Connection, path: &Path) -> Result<(), Error> {
    let is_there = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = ?1";
    let is_other = |table: &String| -> Sqlite<bool> {
        let is_there: bool = connection.query_row(is_there, [table], |row| row.get(0))?;
        Ok((is_there || !ADDED.contains(&table.as_str())) && !computes_nothing(connection, "table", table)?)
    };
    let other = || -> Sqlite<Option<String>> {
        for table in tables()? {
            if is_other(&table)? {
                return Ok(Some(table));
            }
        }
        Ok(None)
    };
    match other() {
        Ok(None) => Ok(()),
        Ok(Some(table)) => Err(damaged(path, &format!("{table} is not a table as pgdyno makes it"))),
        Err(error) => Err(from_sqlite(path, &error)),
    }
}

fn first_addition(connection: &Connection) -> Sqlite<Option<SchemaObject>> {
    let own: BTreeMap<&str, &SchemaObject> =
        own_objects()?.iter().map(|object| (object.name.as_str(), object)).collect();
    for object in objects(connection)? {
        let is_known = match own.get(object.name.as_str()) {
            Some(ours) => ours.kind == object.kind && ours.sql == object.sql,
            None => computes_nothing(connection, &object.kind, &object.name)?,
        };
        if !is_known {
            return Ok(Some(object));
        }
    }
    // The names in `sqlite_schema` can be forged; these come from SQLite's parsed statements.
    let mut made = connection.prepare("SELECT type, name FROM pragma_table_list WHERE schema = 'main'")?;
    let made =
        made.query_map([], |row| Ok(SchemaObject { kind: row.get(0)?, name: row.get(1)?, sql: None }))?;
    let made: Vec<SchemaObject> = made.collect::<Sqlite<_>>()?;
    let is_known = |object: &SchemaObject| {
        object.kind == "table" || own.get(object.name.as_str()).is_some_and(|ours| ours.kind == object.kind)
    };
    Ok(made.into_iter().find(|object| !is_known(object)))
}

fn objects(connection: &Connection) -> Sqlite<Vec<SchemaObject>> {
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema")?;
    let read =
        |row: &rusqlite::Row<'_>| Ok(SchemaObject { kind: row.get(0)?, name: row.get(1)?, sql: row.get(2)? });
    statement.query_map([], read)?.collect()
}

/// Whether it is a table without generated columns, or an index without expressions.
pub(super) fn computes_nothing(connection: &Connection, kind: &str, name: &str) -> Sqlite<bool> {
    let plain = match kind {
        "table" if STATISTICS.contains(&name) => return Ok(true),
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
    connection.query_row(plain, [name], |row| row.get(0))
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

    /// Regression: a view of a foreign file filled the memory when it was read, and its triggers ran when
    /// it was written.
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
                assert!(error.to_string().contains("was not made by pgdyno"), "{sql}: {error}");
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

    #[test]
    fn two_programs_may_make_the_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.sqlite");
        let opened: Vec<_> = std::thread::scope(|scope| {
            let starts: Vec<_> =
                (0..4).map(|_| scope.spawn(|| Store::create_or_open(&path).map(drop))).collect();
            starts.into_iter().map(|start| start.join().unwrap()).collect()
        });
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
    }
}
