//! Results files of earlier builds: copies their experiments into a file of the present version.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Transaction, params_from_iter};
use spec::plan::of_former;
use spec::{Class, Error};

use super::import::ImportFailure;
use super::schema::{self, ADDED, COPIED, SchemaState};
use super::{ExperimentId, Sqlite, Store};
use crate::error::{damaged, not_results};

/// Tables whose rows several experiments share: an equal existing row replaces the other file's.
const SHARED: [&str; 3] = ["host", "settings", "text"];

/// Row numbers in the copied file and in this one, by the column that holds them.
type Numbers = HashMap<String, HashMap<i64, i64>>;

/// A results file of an earlier build, opened for [`Store::import_earlier`].
#[derive(Debug)]
pub struct Earlier(Store);

impl Earlier {
    /// Opens a file of a schema that differs from the present one in views only.
    ///
    /// # Errors
    /// When it cannot be read, or is another file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (store, state) = Store::open_existing(path)?;
        match state {
            SchemaState::Earlier(found) if COPIED.contains(&found) => {}
            SchemaState::Present => {
                return Err(Error::new(
                    Class::BadInput,
                    format!("{}: a results file of this version", path.display()),
                )
                .with_hint("every command reads it as it is: pgdyno table runs --results FILE"));
            }
            other => {
                other.check(path)?;
                return Err(not_results(path));
            }
        }
        // One state of the file, even if an earlier build writes to it.
        store.execute("BEGIN")?;
        Ok(Self(store))
    }
}

impl Store {
    /// Copies all experiments of the other file with all their rows, in one durable transaction.
    /// Experiments that were copied before are left out. Returns the numbers of the others in this file.
    pub fn import_earlier(&mut self, from: &Earlier) -> Result<Vec<ExperimentId>, Error> {
        let copied = self.write(|transaction| copy(&from.0, transaction));
        copied.map_err(|failure| failure.of(self))
    }
}

fn copy(from: &Store, transaction: &Transaction<'_>) -> Result<Vec<ExperimentId>, ImportFailure> {
    let mut numbers = Numbers::new();
    let is_there = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = ?1";
    for table in schema::tables()?.iter().filter(|table| *table != "meta") {
        let is_there = from.connection.query_row(is_there, [table], |row| row.get::<_, bool>(0));
        if is_there.map_err(|error| from.error(&error))? || !ADDED.contains(&table.as_str()) {
            copy_table(from, transaction, table, &mut numbers)?;
        }
    }
    // Targets of experiments that were copied before.
    for table in ["target_build", "target"] {
        let unused = format!("DELETE FROM {table} WHERE target_id NOT IN (SELECT target_id FROM experiment)");
        transaction.execute(&unused, [])?;
    }
    let mut copied: Vec<_> = numbers["experiment_id"].values().copied().map(ExperimentId).collect();
    copied.sort_unstable();
    Ok(copied)
}

fn copy_table(
    from: &Store,
    transaction: &Transaction<'_>,
    table: &str,
    numbers: &mut Numbers,
) -> Result<(), ImportFailure> {
    let unreadable = |error: rusqlite::Error| from.error(&error);
    // A view in place of a table could compute anything.
    if !schema::computes_nothing(&from.connection, "table", table).map_err(unreadable)? {
        let detail = format!("{table} is not a table as pgdyno makes it");
        return Err(damaged(&from.path, &detail).into());
    }
    let columns: Vec<String> = transaction
        .prepare("SELECT name FROM pragma_table_info(?1)")?
        .query_map([table], |row| row.get(0))?
        .collect::<Sqlite<_>>()?;
    let is_numbered = columns[0] == format!("{table}_id");
    let mut insert = transaction.prepare(&insert_statement(table, &columns, is_numbered))?;
    let mut copied = HashMap::new();
    let select = format!("SELECT {} FROM {table}", columns.join(", "));
    let mut select = from.connection.prepare(&select).map_err(unreadable)?;
    let mut rows = select.query([]).map_err(unreadable)?;
    while let Some(row) = rows.next().map_err(unreadable)? {
        let values: Sqlite<Vec<Value>> = (0..columns.len()).map(|column| row.get(column)).collect();
        let Some(mut values) = renumbered(&columns, values.map_err(unreadable)?, numbers) else { continue };
        if let Some(plan) = columns.iter().position(|column| column == "plan_json")
            && let Value::Text(text) = &mut values[plan]
            && let Some(present) = of_former(text)
        {
            *text = present;
        }
        if !is_numbered {
            insert.execute(params_from_iter(values))?;
        } else if let Value::Integer(before) = values.remove(0) {
            let now = insert.query_row(params_from_iter(values), |row| row.get(0)).optional()?;
            copied.extend(now.map(|now| (before, now)));
        }
    }
    if is_numbered {
        numbers.insert(columns[0].clone(), copied);
    }
    Ok(())
}

/// SQL that returns the number of an equal existing row if experiments share it, else inserts.
fn insert_statement(table: &str, columns: &[String], is_numbered: bool) -> String {
    let stored = &columns[usize::from(is_numbered)..];
    let conflict = match SHARED.contains(&table) {
        true => format!("DO UPDATE SET {0} = {0}", stored[0]),
        false => "DO NOTHING".to_owned(),
    };
    let returning = if is_numbered { format!(" RETURNING {}", columns[0]) } else { String::new() };
    let places = vec!["?"; stored.len()].join(", ");
    format!("INSERT INTO {table} ({}) VALUES ({places}) ON CONFLICT {conflict}{returning}", stored.join(", "))
}

/// The row with the numbers of this file; `None` if it belongs to a row that is not copied.
fn renumbered(columns: &[String], values: Vec<Value>, numbers: &Numbers) -> Option<Vec<Value>> {
    let renumber = |(column, value): (&String, Value)| match (numbers.get(column), value) {
        (Some(numbers), Value::Integer(before)) => numbers.get(&before).copied().map(Value::Integer),
        (_, value) => Some(value),
    };
    columns.iter().zip(values).map(renumber).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rusqlite::Connection;

    use spec::MeasuredTarget;
    use spec::plan::Fact;

    use super::super::schema::LAST_UNMARKED;
    use super::*;
    use crate::fixture::{experiment, finished, host, run, target};
    use crate::table::CellValue::Int;

    fn file(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        let mut store = Store::create_or_open(&path).unwrap();
        let named = spec::ExperimentRecord { name: name.into(), ..experiment(&["A", "B"]) };
        let (id, _) = store.begin_experiment(&named, &host(), &target(), false).unwrap();
        for arm in ["A", "B"] {
            store.store(id, &[finished(run("reads", 4, Some(arm), 1, 1000.0))]).unwrap();
        }
        let text = spec::Text {
            used_by: "workload reads".into(),
            name: "one.sql".into(),
            kind: spec::TextKind::File,
            hash: "ab".into(),
            bytes: 9,
            text: Some("SELECT 1;".into()),
            replaced: vec![1],
        };
        store.keep_texts(id, &[text]).unwrap();
        store.keep_facts(id, &[Fact::Repetition { repetition: 0 }]).unwrap();
        path
    }

    fn mark_as(version: u32, path: &Path) {
        let connection = Connection::open(path).unwrap();
        if version <= LAST_UNMARKED {
            connection.pragma_update(None, "application_id", 0).unwrap();
        }
        connection.pragma_update(None, "user_version", version).unwrap();
        let lacks = match version {
            ..11 => &ADDED[..],
            11..13 => &ADDED[1..],
            _ => &ADDED[3..],
        };
        for table in lacks {
            connection.execute_batch(&format!("DROP TABLE IF EXISTS {table}")).unwrap();
        }
    }

    #[test]
    fn a_file_of_an_earlier_build_is_copied_whole_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let earlier = file(folder.path(), "earlier.sqlite");
        let before = folder.path().join("before.sqlite");
        std::fs::copy(&earlier, &before).unwrap();
        let wanted = Store::open_read_only(&before).unwrap();
        mark_as(*COPIED.end(), &earlier);
        // Its numbers are taken in the destination file.
        let mut store = Store::create_or_open(&file(folder.path(), "present.sqlite")).unwrap();
        let [copied] = store.import_earlier(&Earlier::open(&earlier).unwrap()).unwrap()[..] else {
            panic!("one experiment")
        };
        assert_eq!(copied, ExperimentId(2));
        let one = ExperimentId(1);
        let (got, put) = (store.experiment(copied).unwrap(), wanted.experiment(one).unwrap());
        assert_eq!((got.experiment, got.host), (put.experiment, put.host));
        assert_eq!(got.target, MeasuredTarget { build: None, ..put.target });
        assert_eq!(format!("{:?}", store.runs(copied).unwrap()), format!("{:?}", wanted.runs(one).unwrap()));
        assert_eq!(store.texts(copied).unwrap(), wanted.texts(one).unwrap());
        // Without its facts the experiment could not go on.
        assert_eq!(store.facts(copied).unwrap(), wanted.facts(one).unwrap());
        assert_eq!(store.facts(copied).unwrap().all().len(), 1);
        let count = |table: &str| store.query(&format!("SELECT count(*) FROM {table}")).unwrap().rows;
        let counts =
            ["experiment", "target", "run", "hist", "host", "settings", "setting", "text"].map(count);
        assert_eq!(counts, [2, 2, 4, 12, 1, 1, 1, 1].map(|count| [[Int(count)]]));
        assert_eq!(store.import_earlier(&Earlier::open(&earlier).unwrap()).unwrap(), []);
        let count = |table: &str| store.query(&format!("SELECT count(*) FROM {table}")).unwrap().rows;
        assert_eq!(["experiment", "target", "run"].map(count), [2, 2, 4].map(|count| [[Int(count)]]));
    }

    #[test]
    fn files_of_earlier_builds_are_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "my runs.sqlite");
        let open = || {
            [
                Store::open_read_only(&path).map(drop),
                Store::create_or_open(&path).map(drop),
                Store::try_out(&path),
            ]
        };
        for version in COPIED.rev() {
            mark_as(version, &path);
            let before = std::fs::read(&path).unwrap();
            for error in open().map(Result::unwrap_err) {
                let command = format!("pgdyno import '{}' --results new.sqlite", path.display());
                assert!(error.to_string().ends_with(&command), "{error}");
            }
            assert_eq!(std::fs::read(&path).unwrap(), before, "nothing was written");
        }
        mark_as(LAST_UNMARKED - 1, &path);
        for error in open().map(Result::unwrap_err) {
            assert!(error.to_string().contains("too old (schema 7)"), "{error}");
        }
    }

    #[test]
    fn other_files_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("present.sqlite")).unwrap();
        let other = file(folder.path(), "other.sqlite");
        let mut refused = |wanted: &str| {
            let copied = Earlier::open(&other).and_then(|other| store.import_earlier(&other));
            let error = copied.unwrap_err();
            assert!(error.to_string().contains(wanted), "{error}");
        };
        refused("a results file of this version");
        mark_as(LAST_UNMARKED - 1, &other);
        refused("(schema 7)");
        mark_as(LAST_UNMARKED, &other);
        let harmful = "ALTER TABLE look RENAME TO looks; CREATE VIEW look AS SELECT 1 AS experiment_id, 2 AS runs, '' AS looked_at";
        Connection::open(&other).unwrap().execute_batch(harmful).unwrap();
        refused("look is not a table as pgdyno makes it");
        mark_as(LAST_UNMARKED + 1, &other);
        refused("not a results file");
        std::fs::remove_file(&other).unwrap();
        refused("no results file there");
        assert!(store.experiments().unwrap().is_empty());
    }
}
