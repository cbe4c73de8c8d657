use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use spec::{Class, Error, ExperimentRecord, RunEvent};

use super::*;
use crate::fixture::{experiment, finished, host, run, target};
use crate::table::CellValue;

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.sqlite");
    (folder, path)
}

fn filled(path: &Path) -> (Store, ExperimentId) {
    let mut store = Store::create_or_open(path).unwrap();
    let (id, invocation) =
        store.begin_experiment(&experiment(&["A", "B"]), &host(), &target(), false).unwrap();
    assert_eq!(invocation, 1);
    for (arm, round) in [("A", 1), ("B", 1), ("B", 2)] {
        store.store(id, &[finished(run("reads", 4, Some(arm), round, 1000.0))]).unwrap();
    }
    (store, id)
}

fn refused<T>(result: Result<T, Error>, why: &str) {
    let error = result.map(drop).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn what_is_stored_comes_back_whole() {
    let (_folder, path) = place();
    let (store, id) = filled(&path);
    drop(store);
    let store = Store::open_read_only(&path).unwrap();
    let found = store.experiment(id).unwrap();
    assert_eq!((found.experiment, found.host, found.target), (experiment(&["A", "B"]), host(), target()));
    let runs = store.runs(id).unwrap();
    assert_eq!(runs.len(), 3);
    let (mut got, mut put) = (runs[0].clone(), run("reads", 4, Some("A"), 1, 1000.0));
    assert_eq!(got.response().curve(), put.response().curve());
    let second = "SELECT count, max_ns, v2 FROM hist JOIN script USING (script_id) WHERE kind = 'second'";
    let stored: (i64, i64, Vec<u8>) = store.connection.query_row(second, [], |row| row.try_into()).unwrap();
    let whole = put.response();
    let wanted = (whole.count() as i64, whole.max_ns().unwrap() as i64, whole.encode());
    assert_eq!(stored, wanted, "the distribution of a second");
    got.uuid.clone_from(&put.uuid);
    assert_eq!(format!("{got:?}"), format!("{:?}", put.clone()));
    put.seed = 1;
    assert_ne!(format!("{got:?}"), format!("{put:?}"));
    assert!(store.crashed_runs(id).unwrap().is_empty());
    let keys = store.finished_runs(id).unwrap();
    assert_eq!(
        keys.iter().map(|key| (key.arm.as_deref(), key.round)).collect::<Vec<_>>(),
        [(Some("A"), 1), (Some("B"), 1), (Some("B"), 2)]
    );
}

/// An arm that had crashed three times was measured again when the experiment went on.
#[test]
fn runs_whose_server_crashed_are_known_later() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path);
    let mut put = run("reads", 8, Some("B"), 7, 1000.0);
    let event = |kind: &str| RunEvent { time_us: 0, kind: kind.into(), detail: "LOG:  x".into() };
    put.events = vec![event(RunEvent::REMARK), event(RunEvent::CRASH)];
    store.store(id, &[finished(put)]).unwrap();
    let crashed = store.crashed_runs(id).unwrap();
    assert_eq!(
        crashed.iter().map(|key| (key.arm.as_deref(), key.round)).collect::<Vec<_>>(),
        [(Some("B"), 7)]
    );
}

/// A results file of a newer version may have figures that the table of this one does not have.
#[test]
fn figures_that_the_table_does_not_have_are_kept() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path);
    let mut put = run("reads", 8, Some("A"), 1, 1000.0);
    put.figures.set_named("new_s".to_owned(), 1.5);
    put.counts.set_named("new".to_owned(), 2);
    put.scripts[0].counts.set_named("new".to_owned(), 3);
    store.store(id, &[finished(put.clone())]).unwrap();
    let got = store.runs(id).unwrap().into_iter().find(|run| run.clients == 8).unwrap();
    assert_eq!((got.figures.named("new_s"), got.counts.named("new")), (Some(1.5), Some(2)));
    assert_eq!((got.figures, got.counts), (put.figures, put.counts));
    assert_eq!(got.scripts[0].counts, put.scripts[0].counts);
}

/// A script that ten experiments use is stored once; storing it again for an experiment changes nothing.
#[test]
fn texts_are_kept_once_and_come_back() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path);
    let text = |used_by: &str, name: &str, text: Option<&str>| spec::Text {
        used_by: used_by.into(),
        name: name.into(),
        kind: spec::TextKind::File,
        hash: format!("hash of {text:?}"),
        bytes: 9,
        text: text.map(str::to_owned),
        replaced: vec![1, 3],
    };
    let all = [
        text("prepare.sql", "a.sql", None),
        text("workload a", "../b.sql", Some("x")),
        text("workload c", "b.sql", Some("x")),
    ];
    store.keep_texts(id, &all[..2]).unwrap();
    store.keep_texts(id, &all).unwrap();
    assert_eq!(store.texts(id).unwrap(), all);
    assert_eq!(store.query("SELECT count(*) FROM text").unwrap().rows, [[CellValue::Int(2)]]);
    assert_eq!(store.texts(ExperimentId(99)).unwrap(), []);
}

/// Regression: results of an earlier preparation were searched in all runs, read with all their histograms.
#[test]
fn resuming_reads_no_histograms_for_one_artifact() {
    let (_folder, path) = place();
    let (store, id) = filled(&path);
    store.execute("UPDATE hist SET v2 = x'00ff'").unwrap();
    assert!(store.runs(id).is_err(), "no histogram can be read");
    let wanted = run("reads", 4, Some("A"), 1, 1000.0).artifacts.remove(0);
    assert_eq!(store.artifact(id, &wanted.name).unwrap(), Some(wanted));
    assert_eq!(store.artifact(id, "prepared/reads").unwrap(), None);
    assert_eq!(store.artifact(ExperimentId(99), "tile/0/0/0").unwrap(), None);
}

#[test]
fn only_the_owner_can_read_it() {
    let (folder, path) = place();
    let (store, _) = filled(&path);
    for entry in std::fs::read_dir(folder.path()).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
    drop(store);
}

#[test]
fn the_same_plan_goes_on_and_again_begins_anew() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path);
    let mut more = experiment(&["A", "B"]);
    more.rounds = 12;
    assert_eq!(store.begin_experiment(&more, &host(), &target(), false).unwrap(), (id, 2));
    assert_eq!(store.experiment(id).unwrap().experiment.rounds, 12);
    let (new, invocation) = store.begin_experiment(&more, &host(), &target(), true).unwrap();
    assert!(new != id && invocation == 1);
    assert_eq!(store.find(Some("made-up")).unwrap(), new);
    assert_eq!(store.find(None).unwrap(), id, "the newest with runs");
    refused(store.find(Some("other")), "no experiment ");
}

/// Regression: `-e tiles` picked one of four without a warning, and hints did not name their experiment.
#[test]
fn a_name_that_several_have_is_known_as_such() {
    let (_folder, path) = place();
    let (mut store, first) = filled(&path);
    assert_eq!(store.called(first).unwrap(), "made-up");
    let (second, _) = store.begin_experiment(&experiment(&["A", "B"]), &host(), &target(), true).unwrap();
    let mut begin = |name: &str| {
        let planned = ExperimentRecord { name: name.into(), hash: name.into(), ..experiment(&["A", "B"]) };
        store.begin_experiment(&planned, &host(), &target(), false).unwrap().0
    };
    let (numbered, quoted) = (begin(&first.0.to_string()), begin("it's"));
    assert_eq!(store.of_name("made-up").unwrap(), [first, second]);
    assert_eq!(store.find(Some("made-up")).unwrap(), second, "the newest");
    assert_eq!(store.find(Some(&first.0.to_string())).unwrap(), first, "a number is a number");
    assert_eq!(store.of_name(&first.0.to_string()).unwrap(), []);
    for id in [first, second, numbered, quoted] {
        assert_eq!(store.called(id).unwrap(), id.0.to_string());
    }
}

#[test]
fn runs_that_were_set_aside_are_measured_again() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path);
    let last = store.query("SELECT max(run_id) FROM run").unwrap();
    let CellValue::Int(last) = last.rows[0][0] else { panic!("{last:?}") };
    store.set_aside(&[last], "the table is gone").unwrap();
    let keys = store.finished_runs(id).unwrap();
    assert_eq!(keys.iter().map(|key| key.round).collect::<Vec<_>>(), [1, 1], "it is still to be done");
    let runs = store.runs(id).unwrap();
    assert_eq!(runs.len(), 3, "and stays stored");
    assert_eq!(runs[2].set_aside.as_deref(), Some("the table is gone"));
}

#[test]
fn runs_that_others_were_measured_for_count_no_more() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path);
    let last = store.query("SELECT max(run_id) FROM run").unwrap();
    let CellValue::Int(last) = last.rows[0][0] else { panic!("{last:?}") };
    let counted = "SELECT sum(runs) FROM v_cell";
    let CellValue::Int(before) = store.query(counted).unwrap().rows[0][0] else { panic!() };
    store.supersede(&[last], "it was throttled").unwrap();
    assert_eq!(store.finished_runs(id).unwrap().len(), 2);
    let runs = store.runs(id).unwrap();
    let last = &runs[2];
    assert_eq!(
        (last.validity, last.set_aside.as_deref()),
        (spec::Validity::Invalid, Some("it was throttled"))
    );
    assert_eq!(store.query(counted).unwrap().rows[0][0], CellValue::Int(before - 1));
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_measured() {
    let (_folder, path) = place();
    let (mut store, _) = filled(&path);
    store.check_writable().unwrap();
    drop(store);
    let mut reader = Store::open(&path, path.as_os_str(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    refused(reader.check_writable(), "cannot be opened or written: ");
}

#[test]
fn a_reader_sees_a_running_experiment() {
    let (_folder, path) = place();
    let (mut writer, id) = filled(&path);
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.runs(id).unwrap().len(), 3);
    writer.store(id, &[finished(run("reads", 4, Some("A"), 2, 1000.0))]).unwrap();
    assert_eq!(reader.runs(id).unwrap().len(), 4);
}

#[test]
fn settings_are_kept_once_per_set() {
    let (_folder, path) = place();
    let (store, _) = filled(&path);
    let count = store.query("SELECT count(*) FROM settings").unwrap();
    assert_eq!(count.rows, [[CellValue::Int(1)]]);
}

#[test]
fn questions_may_only_read() {
    let (_folder, path) = place();
    let (store, _) = filled(&path);
    let table = store.query("SELECT workload, tps_max, runs FROM v_cell ORDER BY arm").unwrap();
    assert_eq!(table.names(), ["workload", "tps_max", "runs"]);
    assert_eq!(table.rows[1], [CellValue::from("reads"), CellValue::Real(1000.0), CellValue::Int(2)]);
    let attach = format!("ATTACH '{}' AS other", path.display());
    for wrong in
        ["DELETE FROM run", "SELEC 1", "DROP VIEW v_run", "SELECT 1; SELECT 2", "BEGIN", &attach, " "]
    {
        assert_eq!(store.query(wrong).unwrap_err().class(), Class::Usage, "{wrong}");
    }
}

#[test]
fn other_files_are_refused_and_left_alone() {
    let (folder, path) = place();
    refused(Store::open_read_only(&path), "no results file there");
    std::fs::write(
        &path,
        "a shopping list, long enough to be no SQLite header at all, is it not? No, it is not.",
    )
    .unwrap();
    refused(Store::create_or_open(&path), "not a results file of pgdyno");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("a shopping list"));
    let other = folder.path().join("other.sqlite");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    refused(Store::create_or_open(&other), "not a results file of pgdyno");
    refused(Store::open_read_only(&other), "not a results file of pgdyno");
    rusqlite::Connection::open(&other).unwrap().pragma_update(None, "user_version", 1).unwrap();
    refused(Store::create_or_open(&other), "not a results file of pgdyno");
    refused(Store::open_read_only(&other), "not a results file of pgdyno");
    let newer = folder.path().join("newer.sqlite");
    drop(filled(&newer));
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    refused(Store::create_or_open(&newer), "(schema 99, ");
    refused(Store::open_read_only(&newer), "(schema 99, ");
    let nowhere = folder.path().join("no/such/folder.sqlite");
    let absent = Store::create_or_open(&nowhere).unwrap_err();
    assert_eq!(absent.class(), Class::Io);
    refused(Store::try_out(&nowhere), "cannot be opened or written: ");
    refused(Store::try_out(&newer), "(schema 99, ");
    let new = folder.path().join("new.sqlite");
    Store::try_out(&new).unwrap();
    let path_of_results = folder.path().join("results_there.sqlite");
    drop(filled(&path_of_results));
    assert!(!new.exists(), "nothing is left behind");
    let before = std::fs::read(&path_of_results).unwrap();
    Store::try_out(&path_of_results).unwrap();
    assert_eq!(std::fs::read(&path_of_results).unwrap(), before, "nothing is written into it");
    let empty = folder.path().join("empty.sqlite");
    std::fs::write(&empty, "").unwrap();
    Store::try_out(&empty).unwrap();
    drop(filled(&empty));
    assert!(absent.to_string().contains("no/such; make it, or name another file with --results"), "{absent}");
}

/// A run whose transaction was not committed leaves no trace, as after a kill.
#[test]
fn a_run_is_there_whole_or_not_at_all() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path);
    let mut twice = run("reads", 4, Some("A"), 3, 1000.0);
    twice.phases.push(twice.phases[0].clone());
    twice.uuid = store.runs(id).unwrap()[0].uuid.clone(); // breaks the uniqueness of runs
    // The runs of a block are stored together or not at all.
    let block = [finished(run("reads", 4, Some("B"), 3, 1000.0)), finished(twice)];
    assert!(store.store(id, &block).is_err());
    assert_eq!(store.runs(id).unwrap().len(), 3);
    assert_eq!(store.query("SELECT count(*) FROM phase").unwrap().rows, [[CellValue::Int(3)]]);
}

#[test]
fn a_full_disk_loses_nothing_stored_before() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path);
    store.execute("PRAGMA max_page_count = 1").unwrap(); // the present size: no growth
    let mut large = run("reads", 4, Some("A"), 9, 1000.0);
    large.artifacts[0].bytes = vec![7; 1 << 20];
    let error = store.store(id, &[finished(large.clone())]).unwrap_err();
    assert_eq!(error.class(), Class::Io, "{error}");
    assert!(error.to_string().contains("results.sqlite: the disk is full"));
    assert_eq!(store.runs(id).unwrap().len(), 3);
    store.execute("PRAGMA max_page_count = 100000").unwrap();
    store.store(id, &[finished(large.clone())]).unwrap();
}

#[test]
fn another_writer_is_named() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.connection.busy_timeout(Duration::ZERO).unwrap();
    let found = store.store(id, &[finished(run("reads", 4, Some("A"), 9, 1000.0))]);
    refused(found, "locked by another program");
    other.execute_batch("COMMIT").unwrap();
    store.store(id, &[finished(run("reads", 4, Some("A"), 9, 1000.0))]).unwrap();
}

/// SQLite opens read-only files without an error.
#[test]
fn what_cannot_be_written_is_refused_as_it_is_opened() {
    let (_folder, path) = place();
    let (store, _) = filled(&path);
    store.try_writing().unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.connection.busy_timeout(Duration::ZERO).unwrap();
    refused(store.try_writing(), "locked by another program");
    other.execute_batch("COMMIT").unwrap();
    store.try_writing().unwrap();
    store.execute("PRAGMA query_only = ON").unwrap();
    refused(store.try_writing(), "cannot be opened or written: ");
    store.execute("PRAGMA query_only = OFF").unwrap();
    store.try_writing().unwrap();
}

/// After a kill: the file and its log in the middle of storing a run.
#[test]
fn a_file_copied_in_the_middle_of_a_run_opens_without_it() {
    let (folder, path) = place();
    let (store, id) = filled(&path);
    store
        .execute("PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE run SET round = 99; DELETE FROM hist")
        .unwrap();
    let copy = folder.path().join("copy.sqlite");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(folder.path().join("results.sqlite-wal"), folder.path().join("copy.sqlite-wal")).unwrap();
    let after = Store::create_or_open(&copy).unwrap();
    let runs = after.runs(id).unwrap();
    assert_eq!(runs.iter().map(|run| run.round).collect::<Vec<_>>(), [1, 1, 2]);
    assert!(!runs[0].response().is_empty());
}

#[test]
fn damaged_content_is_an_error() {
    let (_folder, path) = place();
    let (store, id) = filled(&path);
    for damage in [
        "UPDATE hist SET min_ns = NULL, max_ns = NULL WHERE kind = 'response'",
        "UPDATE hist SET v2 = x'00ff'",
        "UPDATE cell SET factors = '{'",
        "UPDATE run SET validity = 'perhaps'",
        "UPDATE run SET seed = 'x'",
    ] {
        store.execute(&format!("BEGIN; {damage}")).unwrap();
        let found = store.runs(id);
        let error = found.expect_err(damage).to_string();
        assert!(error.contains(": damaged: "), "{damage}: {error}");
        store.execute("ROLLBACK").unwrap();
    }
}

/// Names the file for the other program in `others_see_that_the_file_is_in_use`.
const OTHER_PROGRAM: &str = "PGDYNO_TEST_LOCKS";

/// The program that leaves a file as its last user deletes the log: every other program must see the lock.
/// (SQLite before 3.51 checks nothing else, and Debian's `sqlite3` is older.)
#[test]
fn others_see_that_the_file_is_in_use() {
    let (_folder, path) = place();
    let (_store, _) = filled(&path);
    // Opening it again in this process must not drop the locks of the first.
    drop(Store::create_or_open(&path).unwrap());
    drop(Store::open_read_only(&path).unwrap());
    let other = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::another_program_cannot_lock_a_file_in_use"])
        .env(OTHER_PROGRAM, &path)
        .output()
        .unwrap();
    assert!(other.status.success(), "{}", String::from_utf8_lossy(&other.stdout));
}

#[test]
fn another_program_cannot_lock_a_file_in_use() {
    let Some(path) = std::env::var_os(OTHER_PROGRAM) else { return };
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let whole_file = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    assert!(rustix::fs::fcntl_lock(&file, whole_file).is_err(), "the file looks unused");
}

#[test]
fn a_file_that_does_not_change_can_be_read_without_companions() {
    let (folder, _) = place();
    let path = folder.path().join("a?b#c%20.sqlite");
    let (store, id) = filled(&path);
    let log = folder.path().join("a?b#c%20.sqlite-wal");
    assert!(log.exists() && Store::open_unwritable(&path).is_none(), "its log holds what the file lacks");
    drop(store);
    assert!(!log.exists());
    let (store, state) = Store::open_unwritable(&path).unwrap().unwrap();
    assert_eq!((state, store.runs(id).unwrap().len()), (SchemaState::Present, 3));
    assert!(!log.exists());
}

#[test]
fn a_folder_is_not_a_results_file() {
    let (folder, _) = place();
    let error = Store::open_read_only(folder.path()).unwrap_err();
    assert!(error.to_string().ends_with("it is a folder"), "{error}");
    assert!(Store::create_or_open(folder.path()).is_err());
}

/// Regression: any file named with `--results` became 0600 before it was inspected, devices included.
#[test]
fn what_is_no_results_file_keeps_its_rights() {
    let (folder, _) = place();
    let notes = folder.path().join("notes.txt");
    std::fs::write(&notes, "hi").unwrap();
    let below = folder.path().join("below");
    std::fs::create_dir(&below).unwrap();
    for (path, mode) in [(&notes, 0o644), (&below, 0o755)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert!(Store::create_or_open(path).is_err());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode, "{}", path.display());
    }
    let device = Store::create_or_open(Path::new("/dev/null")).unwrap_err();
    assert!(device.to_string().ends_with("it is a device or a pipe"), "{device}");
}

/// Regression: runs were written into a removed file, and were lost without an error.
#[test]
fn a_removed_or_replaced_file_is_noticed_before_a_run_is_lost() {
    let (folder, path) = place();
    let (mut store, id) = filled(&path);
    let other = folder.path().join("other.sqlite");
    drop(filled(&other));
    std::fs::rename(&other, &path).unwrap();
    let more = run("reads", 4, Some("A"), 2, 1000.0);
    let replaced = store.store(id, &[finished(more.clone())]).unwrap_err();
    assert!(replaced.to_string().contains("removed or replaced"), "{replaced}");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(store.store(id, &[finished(more.clone())]).is_err());
    // Its log was written into the next file of that name.
    drop(store);
    assert!(!companion(&path, "-wal").exists());
    std::fs::write(&path, &bytes).unwrap();
    drop(Store::open_read_only(&path).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

/// Regression: of two commands that created a results file at once, one reported that it was not a results
/// file.
#[test]
fn a_file_that_is_being_made_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.sqlite");
    std::fs::write(&path, "").unwrap();
    let making = path.clone();
    let maker = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        Store::create_or_open(&making).map(drop)
    });
    Store::open_read_only(&path).expect("it was made meanwhile");
    maker.join().unwrap().unwrap();
}

/// Regression: reading opened the file for writing, and left new companions.
#[test]
fn reading_changes_nothing_in_the_folder() {
    let (folder, path) = place();
    let (store, id) = filled(&path);
    drop(store);
    let state = || {
        let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.map(|file| (file.clone(), std::fs::read(file).unwrap())).collect();
        files.sort();
        files
    };
    let same = |before: &Vec<(PathBuf, Vec<u8>)>| assert!(state() == *before, "a file came, went or changed");
    let before = state();
    let store = Store::open_read_only(&path).unwrap();
    assert_eq!(store.runs(id).unwrap().len(), 3);
    assert!(store.execute("DELETE FROM run").is_err());
    drop(store);
    same(&before);
}
