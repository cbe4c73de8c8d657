//! Schema versions: an append-only list, each step in a transaction, an older file backed up first.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// Every schema change, in order; the file's `user_version` is how many it has.
const STEPS: &[&str] = &[
    include_str!("../schema/0001.sql"),
    include_str!("../schema/0002.sql"),
    include_str!("../schema/0003.sql"),
    include_str!("../schema/0004.sql"),
    include_str!("../schema/0005.sql"),
    include_str!("../schema/0006.sql"),
    include_str!("../schema/0007.sql"),
    include_str!("../schema/0008.sql"),
];

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

/// The same for a temporary copy, which needs no backup.
pub(super) fn upgrade(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    take_steps(connection, path, STEPS)
}

/// An empty database with the schema of this version.
pub(super) fn sample(version: u32) -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    for sql in STEPS.iter().take(version as usize) {
        connection.execute_batch(sql)?;
    }
    Ok(connection)
}

fn apply(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let found = version(connection, path)?;
    if found > 0 && (found as usize) < steps.len() {
        back_up(connection, path, found)?;
    }
    take_steps(connection, path, steps)
}

fn take_steps(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    let found = version(connection, path)?;
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

/// Copies the file, readable by its owner only, beside itself. The copy has its name only once it is whole: another program
/// may be at it at the same time, and one left by an attempt that failed is replaced.
fn back_up(connection: &Connection, path: &Path, version: u32) -> Result<(), StoreError> {
    let backup = backup_path(path, version);
    let io = |error: std::io::Error| StoreError::from_io(&backup, &error);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Nothing is copied through a link, so none may be on the way.
    let folder = folder.canonicalize().map_err(io)?;
    let made = tempfile::Builder::new().prefix(".pgdyno-backup-").tempfile_in(folder).map_err(io)?;
    connection
        .execute("VACUUM INTO ?1", [made.path().to_string_lossy()])
        .map_err(|error| StoreError::from_sqlite(&backup, &error))?;
    made.persist(&backup).map_err(|error| io(error.error))?;
    Ok(())
}

/// Copies the database into an empty file; never through a link, as the connection was opened so.
pub(super) fn copy(connection: &Connection, to: &Path) -> Result<(), StoreError> {
    connection
        .execute("VACUUM INTO ?1", [to.to_string_lossy()])
        .map(drop)
        .map_err(|error| StoreError::from_sqlite(to, &error))
}

fn backup_path(path: &Path, version: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{version}.backup"));
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use stats::Histogram;

    use super::*;
    use crate::store::{Collection, ExperimentId, Store};
    use crate::table::Value;

    const TWO: &[&str] = &[STEPS[0], "ALTER TABLE host ADD COLUMN note TEXT"];

    /// A file of the first schema.
    fn old_file() -> (tempfile::TempDir, PathBuf, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        apply(&mut connection, &path, &STEPS[..1]).unwrap();
        (folder, path, connection)
    }

    /// What pgdyno stored under the first schema: a comparison with a workload beside it, and an experiment that compares
    /// nothing, with one too.
    const OLD_RUNS: &str = r#"
        INSERT INTO host VALUES (1, 'h', 'here', 'a CPU', 2, 1, '{}');
        INSERT INTO target VALUES (1, 'url', 'postgres://x@localhost/y', '15.1', NULL, '{}');
        INSERT INTO experiment VALUES
            (1, 'e1', 'h1', 'compares', 'q', '', '{}', '7', 'pairs', 1, 'settings', 'a',
             '[{"name":"a","settings":{},"unsafe_settings":[]},{"name":"b","settings":{},"unsafe_settings":[]}]',
             0.03, NULL, '2026-01-02T03:04:05Z', 3, 1, 1),
            (2, 'e2', 'h2', 'alone', 'q', '', '{"content":{"beside_workloads":["cache"]}}', '7', 'single', 1, NULL, NULL, '[]', 0.03, NULL, '', 1, 1, 1);
        INSERT INTO cell VALUES (1, 1, 'reads', '{}'), (2, 1, 'cache', '{}'), (3, 2, 'reads', '{}'), (4, 2, 'cache', '{}');
        INSERT INTO run VALUES
            (1, 'r1', 1, 1, 'job', NULL, 0, 0, 1, 1, '', 'job', NULL, 0, 0, '', '0', 0, 1, 'valid',
             NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            (2, 'r2', 1, 1, 'client', 'a', 1, 1, 1, 2, '', 'closed', NULL, 1, 1, 'epoll', '18446744073709551615', 0, 1,
             'valid', NULL, 3, NULL, NULL, NULL, NULL, NULL),
            (3, 'r3', 1, 2, 'client', NULL, 1, 2, 1, 3, '', 'closed', NULL, 1, 1, 'epoll', '0', 0, 1, 'valid',
             NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            (4, 'r4', 2, 3, 'client', NULL, 1, 0, 1, 1, '', 'closed', NULL, 1, 1, 'epoll', '0', 0, 1, 'valid',
             NULL, NULL, NULL, NULL, NULL, NULL, NULL),
            (5, 'r5', 2, 4, 'client', NULL, 1, 1, 1, 1, '', 'closed', NULL, 1, 1, 'epoll', '0', 0, 1, 'valid',
             NULL, NULL, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO script VALUES (1, 2, 0, 'one.sql', 'ab', 1, '{"ok":3}');
        INSERT INTO series VALUES (1, 0, 1000000, 3, 0, 0, 0);
        INSERT INTO run_count VALUES (2, 'ok', 3);
        INSERT INTO run_doubt VALUES (3, 0, 'backlog_at_end', 'a queue');
        INSERT INTO event VALUES (3, 0, 0, 'remark', 'slow'), (3, 1, 0, 'set aside', 'no table');"#;

    fn with_runs(connection: &Connection) {
        connection.execute_batch(OLD_RUNS).unwrap();
        let mut response = Histogram::new();
        response.record(1_000_000);
        for kind in ["response", "service"] {
            connection
                .execute(
                    "INSERT INTO hist VALUES (1, ?1, -1, 1000000, 1, '1000000', 1e12, 1000000, 1000000, ?2)",
                    rusqlite::params![kind, response.encode()],
                )
                .unwrap();
        }
    }

    /// Somebody who knew its name could have put one there.
    #[test]
    fn a_copy_is_never_written_through_a_link() {
        let (folder, path, connection) = old_file();
        drop(connection);
        let store = Store::create_or_open(&path).unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(copy(&store.connection, &link).is_err());
        std::fs::write(&victim, "").unwrap();
        assert!(copy(&store.connection, &link).is_err());
        assert_eq!(std::fs::metadata(&victim).unwrap().len(), 0);
    }

    #[test]
    fn what_the_first_schema_kept_is_read_as_before() {
        let (_folder, path, connection) = old_file();
        with_runs(&connection);
        drop(connection);
        let before = std::fs::read(&path).unwrap();
        let store = Store::open_read_only(&path).unwrap();
        assert!(!backup_path(&path, 1).exists());
        assert_eq!(std::fs::read(&path).unwrap(), before, "a reader changes nothing");
        let runs = store.runs(ExperimentId(1)).unwrap();
        let facts: Vec<_> = runs.iter().map(|run| (run.sequence, run.invocation, run.beside)).collect();
        assert_eq!(facts, [(0, 1, false), (1, 2, false), (2, 3, true)]);
        let aside: Vec<_> = runs.iter().map(|run| run.set_aside.as_deref()).collect();
        assert_eq!(aside, [None, None, Some("no table")]);
        assert_eq!(runs[2].doubts[0].reason, record::Reason::Overloaded);
        assert_eq!(store.finished_runs(ExperimentId(1)).unwrap().len(), 2);
        assert_eq!((runs[1].seed, runs[1].tps()), (u64::MAX, Some(3.0)));
        assert_eq!((runs[1].series.len(), runs[1].response().max_ns()), (1, Some(1_000_000)));
        assert!(runs.iter().all(|run| run.samples.is_empty()));
        let alone: Vec<_> = store.runs(ExperimentId(2)).unwrap().iter().map(|run| run.beside).collect();
        assert_eq!(alone, [false, true], "nothing is compared there: the plan tells it");
        let invocations = store.query("SELECT invocations FROM v_experiment ORDER BY experiment_id").unwrap();
        assert_eq!(invocations.rows, [[Value::Int(3)], [Value::Int(1)]]);
    }

    /// They were looked for in the sentence that an import leaves for people.
    #[test]
    fn what_older_imports_were_read_from_is_known_again() {
        let (folder, path, connection) = old_file();
        with_runs(&connection);
        let files = ["old; sha256 log", "new"].map(|name| folder.path().join(name));
        std::fs::write(&files[0], "0 1 2000 0 1175850568 995598\n").unwrap();
        std::fs::write(&files[1], "0 1 3000 0 1175850568 995598\n").unwrap();
        let sources = crate::import::Options::default();
        let found = crate::import::read(&files, &sources, &mut |_, _| {}).unwrap().runs;
        let hash = &found[0].hashes[0];
        let details = [format!("old; sha256 log; sha256 {} {hash}", "a".repeat(64)), "too short".to_owned()];
        for (at, detail) in details.iter().enumerate() {
            let values = rusqlite::params![at as i64, detail];
            connection.execute("INSERT INTO event VALUES (4, ?1, 0, 'imported', ?2)", values).unwrap();
        }
        drop(connection);
        let mut store = Store::create_or_open(&path).unwrap();
        let known = store.query("SELECT run_id, sha256 FROM import_source ORDER BY sha256 DESC").unwrap();
        let mut wanted = [hash.clone(), "a".repeat(64)];
        wanted.sort_by(|a, b| b.cmp(a));
        assert_eq!(known.rows, wanted.map(|hash| [Value::Int(4), Value::from(hash.as_str())]));
        let collection = Collection { name: "more".to_owned(), ..Collection::default() };
        let imported = store.import(&collection, &found, false).unwrap();
        assert_eq!((imported.known.len(), imported.known[0].run_id), (1, 4));
        assert_eq!(imported.stored.len(), 1, "the other file is new");
        let again = store.import(&collection, &found, false).unwrap();
        assert_eq!((again.known.len(), again.stored.len()), (2, 0));
    }

    /// Nodes kept all of their time before functions were told apart.
    #[test]
    fn parts_of_plans_stay_as_they_were_without_functions() {
        let (_folder, path, mut connection) = old_file();
        with_runs(&connection);
        apply(&mut connection, &path, &STEPS[..6]).unwrap();
        let plan = "INSERT INTO statement_plan VALUES (2, 0, 'a.sql', 1, 0, 1.0, 10.0, NULL, NULL, 0, 0, 0);
             INSERT INTO plan_node VALUES (2, 0, 0, 0, '', 'Aggregate', '', '', 'aggregate', 6.0, 1, 1, 0, 0, 0, NULL, '[\"st_asmvt\"]')";
        connection.execute_batch(plan).unwrap();
        drop(connection);
        let store = Store::open_read_only(&path).unwrap();
        let parts = store.query("SELECT part, own_ms FROM v_plan_part ORDER BY own_ms").unwrap();
        let wanted = [("planning", 1.0), ("outside", 4.0), ("aggregate", 6.0)];
        assert_eq!(parts.rows, wanted.map(|(part, ms)| vec![Value::from(part), Value::Real(ms)]));
        let plan = store.runs(ExperimentId(1)).unwrap().swap_remove(1).plans.swap_remove(0);
        assert_eq!(
            (plan.functions.len(), plan.nodes[0].functions_ms, plan.functions_evened_ms),
            (0, 0.0, 0.0)
        );
        assert_eq!(plan.total_ms(), 11.0);
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
