//! Results files of earlier builds: copies their experiments into a file of the present version.

use std::path::Path;

use rusqlite::Transaction;
use spec::{Class, Error};

use super::copy::Copier;
use super::import::ImportFailure;
use super::schema::{self, COPIED, SchemaState};
use super::{ExperimentId, Store};
use crate::error::not_results;

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
    let mut copier = Copier::new(from, transaction);
    for table in schema::tables()?.iter().filter(|table| *table != "meta") {
        copier.table(table)?;
    }
    // Targets of experiments that were copied before.
    for table in ["target_build", "target"] {
        let unused = format!("DELETE FROM {table} WHERE target_id NOT IN (SELECT target_id FROM experiment)");
        transaction.execute(&unused, [])?;
    }
    let mut copied: Vec<_> = copier.numbers("experiment_id").map(|(_, now)| ExperimentId(now)).collect();
    copied.sort_unstable();
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rusqlite::Connection;

    use spec::MeasuredTarget;
    use spec::plan::Fact;

    use super::super::schema::{ADDED, LAST_UNMARKED};
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
