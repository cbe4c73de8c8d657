use rusqlite::Connection;
use spec::{ExperimentPart, ExperimentRecord, Host, Reason, Run, RunPart, Validity, figures};
use tempfile::TempDir;

use super::super::Store;
use super::super::schema::VERSION;
use super::*;
use crate::fixture::{experiment, finished, host, run, target};
use crate::table::CellValue::{self, Int};

fn store(path: &Path) -> Store {
    Store::create_or_open(path).unwrap()
}

/// An experiment of two arms on its own, in a file of this name.
fn file(folder: &TempDir, name: &str, rounds: u32) -> PathBuf {
    let path = folder.path().join(name);
    let named = ExperimentRecord { name: name.into(), hash: name.into(), ..experiment(&["A", "B"]) };
    let (id, _) = store(&path).begin_experiment(&named, &host(), &target(), false).unwrap();
    measure(&path, id, 1..=rounds);
    path
}

fn measure(path: &Path, id: ExperimentId, rounds: std::ops::RangeInclusive<u32>) {
    let runs = rounds.flat_map(|round| ["A", "B"].map(|arm| run("reads", 4, Some(arm), round, 1000.0)));
    let block: Vec<Finished> = runs.map(finished).collect();
    store(path).store(id, &block).unwrap();
}

fn host_of(number: u32) -> Host {
    Host { uuid: format!("h{number}"), name: format!("host {number}"), ..host() }
}

fn part_of(number: u32, of: u32, shared: bool) -> ExperimentRecord {
    ExperimentRecord { parts: vec![ExperimentPart { number, of, shared }], ..experiment(&["A", "B"]) }
}

/// A part that has one cell.
fn dealt(folder: &TempDir, number: u32, of: u32) -> PathBuf {
    let path = folder.path().join(format!("part{number}.sqlite"));
    let (part, host) = (part_of(number, of, false), host_of(number));
    let (id, _) = store(&path).begin_experiment(&part, &host, &target(), false).unwrap();
    for arm in ["A", "B"] {
        store(&path).store(id, &[finished(run("reads", number, Some(arm), 1, 1000.0))]).unwrap();
    }
    path
}

/// A part that has its share of each of two runs.
fn shared(folder: &TempDir, number: u32, of: u32) -> PathBuf {
    let path = folder.path().join(format!("share{number}.sqlite"));
    let (part, host) = (part_of(number, of, true), host_of(number));
    let (id, _) = store(&path).begin_experiment(&part, &host, &target(), false).unwrap();
    for (arm, load) in [("A", "aa"), ("B", "bb")] {
        let share = RunPart {
            load: load.repeat(16),
            number,
            of,
            clock_offset_us: 1.0,
            clock_error_us: 2.0,
            late_us: f64::from(number),
        };
        let run = Run { parts: vec![share], ..run("reads", 4, Some(arm), 1, 100.0 * f64::from(number)) };
        store(&path).store(id, &[finished(run)]).unwrap();
    }
    path
}

fn merged(folder: &TempDir, name: &str, files: &[&PathBuf]) -> (PathBuf, Merged) {
    let path = folder.path().join(name);
    let files: Vec<PathBuf> = files.iter().copied().cloned().collect();
    let merged = merge(&files, &path, false, &|| false).unwrap();
    (path, merged)
}

fn refusal(folder: &TempDir, files: &[&PathBuf]) -> String {
    let path = folder.path().join("refused.sqlite");
    let files: Vec<PathBuf> = files.iter().copied().cloned().collect();
    let error = merge(&files, &path, false, &|| false).unwrap_err();
    assert!(!path.exists(), "nothing is written");
    error.to_string()
}

/// All rows of all tables, without the numbers of rows and what is of the file itself.
fn content(path: &Path) -> BTreeMap<String, Vec<String>> {
    let store = Store::open_read_only(path).unwrap();
    let mut all = BTreeMap::new();
    for table in schema::tables().unwrap().into_iter().filter(|table| table != "meta") {
        let found = store.query(&format!("SELECT * FROM {table}")).unwrap();
        let columns: Vec<&str> = found.columns.iter().map(|column| column.name.as_str()).collect();
        let is_number = |name: &str| name.ends_with("_id") && name != "commit_id";
        let row = |row: &Vec<CellValue>| {
            let kept = columns.iter().zip(row).filter(|(name, _)| !is_number(name));
            kept.map(|(name, value)| format!("{name} {value:?}")).collect::<Vec<_>>().join(", ")
        };
        let mut rows: Vec<String> = found.rows.iter().map(row).collect();
        rows.sort();
        all.insert(table, rows);
    }
    all
}

fn count(path: &Path, table: &str) -> i64 {
    let found = Store::open_read_only(path).unwrap().query(&format!("SELECT count(*) FROM {table}")).unwrap();
    let [Int(count)] = found.rows[0][..] else { panic!("a count") };
    count
}

#[test]
fn files_of_several_months_are_one_and_nothing_counts_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (january, february) = (file(&folder, "january", 2), file(&folder, "february", 3));
    let (both, made) = merged(&folder, "both.sqlite", &[&february, &january, &february]);
    let names: Vec<(&str, u64)> = made.experiments.iter().map(|own| (own.name.as_str(), own.runs)).collect();
    assert_eq!((names, made.known), (vec![("february", 6), ("january", 4)], 0));
    let (again, made) = merged(&folder, "again.sqlite", &[&both, &january, &both]);
    assert_eq!((content(&again), made.known), (content(&both), 4));
    let (alone, _) = merged(&folder, "alone.sqlite", &[&january]);
    assert_eq!(content(&alone), content(&january), "all rows of all tables are copied");
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 5, "{left:?}");
}

#[test]
fn an_experiment_that_went_on_has_the_runs_of_both_states() {
    let folder = tempfile::tempdir().unwrap();
    let later = file(&folder, "later", 1);
    let before = folder.path().join("before.sqlite");
    std::fs::copy(&later, &before).unwrap();
    let fact = spec::plan::Fact::Repetition { repetition: 0 };
    store(&later).keep_facts(ExperimentId(1), &[fact]).unwrap();
    measure(&later, ExperimentId(1), 2..=2);
    store(&later).supersede(&[1], "the machine was busy").unwrap();
    for files in [[&before, &later], [&later, &before]] {
        let name = if files[0] == &before { "one.sqlite" } else { "other.sqlite" };
        let (both, made) = merged(&folder, name, &files);
        assert_eq!((content(&both), made.known), (content(&later), 2));
    }
    // It went on in the other file, too.
    measure(&before, ExperimentId(1), 2..=2);
    let refused = refusal(&folder, &[&before, &later]);
    assert!(
        refused.contains("experiment later went on in two files: round 2 of reads, arm A is in "),
        "{refused}"
    );
}

#[test]
fn dealt_parts_are_one_experiment_with_the_host_of_each_run() {
    let folder = tempfile::tempdir().unwrap();
    let parts = [1, 2, 3].map(|number| dealt(&folder, number, 3));
    let (whole, made) = merged(&folder, "whole.sqlite", &[&parts[2], &parts[0], &parts[1]]);
    let [own] = &made.experiments[..] else { panic!("one experiment") };
    assert_eq!((own.runs, own.of, own.missing.as_slice()), (6, 3, &[][..]));
    assert_eq!(own.hosts, ["host 1", "host 2", "host 3"]);
    let found = Store::open_read_only(&whole).unwrap();
    assert_eq!(found.experiment(own.id).unwrap().host, host_of(1));
    let hosts: BTreeSet<(u32, Option<String>)> = found
        .runs(own.id)
        .unwrap()
        .into_iter()
        .map(|run| (run.clients, run.host.map(|host| host.name.clone())))
        .collect();
    let wanted = [(1, None), (2, Some("host 2".to_owned())), (3, Some("host 3".to_owned()))];
    assert_eq!(hosts, wanted.into());
    let parts_of = found.experiment_parts(own.id).unwrap();
    assert_eq!(
        parts_of.iter().map(|(part, host)| (part.number, host.name.as_str())).collect::<Vec<_>>(),
        [(1, "host 1"), (2, "host 2"), (3, "host 3")]
    );
    let (again, made) = merged(&folder, "again.sqlite", &[&parts[1], &whole, &parts[0]]);
    assert_eq!((content(&again), made.known), (content(&whole), 4));
    let (some, made) = merged(&folder, "some.sqlite", &[&parts[0], &parts[2]]);
    assert_eq!(made.experiments[0].missing, [2]);
    let (all, _) = merged(&folder, "all.sqlite", &[&some, &parts[1]]);
    assert_eq!(content(&all), content(&whole), "a part may come later");
}

#[test]
fn the_parts_of_a_load_are_one_run_with_exact_sums() {
    let folder = tempfile::tempdir().unwrap();
    let parts = [1, 2, 3].map(|number| shared(&folder, number, 3));
    let (whole, made) = merged(&folder, "whole.sqlite", &[&parts[2], &parts[0], &parts[1]]);
    assert_eq!(made.experiments[0].runs, 2);
    let runs = Store::open_read_only(&whole).unwrap().runs(ExperimentId(1)).unwrap();
    let run = &runs[0];
    assert_eq!((run.uuid.as_str(), run.clients), ("aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa", 12));
    assert_eq!((run.tps(), run.count(figures::OK), run.validity), (Some(600.0), 600, Validity::Valid));
    assert_eq!(
        run.parts.iter().map(|part| (part.number, part.late_us)).collect::<Vec<_>>(),
        [(1, 1.0), (2, 2.0), (3, 3.0)]
    );
    let tps = Store::open_read_only(&whole).unwrap().query("SELECT tps, ok FROM v_run").unwrap();
    assert_eq!(tps.rows, vec![vec![CellValue::Real(600.0), Int(600)]; 2]);
    let seconds = "hist WHERE kind = 'second' AND count = 600";
    assert_eq!((count(&whole, seconds), count(&whole, "series WHERE ok = 600")), (2, 2));
    let (again, _) = merged(&folder, "again.sqlite", &[&whole, &parts[0], &parts[1], &parts[2], &whole]);
    assert_eq!(content(&again), content(&whole));
}

#[test]
fn a_load_whose_part_is_missing_is_invalid_until_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let parts = [1, 2, 3].map(|number| shared(&folder, number, 3));
    let (some, made) = merged(&folder, "some.sqlite", &[&parts[0], &parts[1]]);
    assert_eq!(made.experiments[0].missing, [3]);
    let runs = Store::open_read_only(&some).unwrap().runs(ExperimentId(1)).unwrap();
    let doubts: Vec<_> = runs[0].doubts.iter().map(|doubt| (doubt.reason, doubt.detail.as_str())).collect();
    let wanted = (Reason::PartMissing, "part 3 of 3 is missing");
    assert_eq!((runs[0].validity, doubts), (Validity::Invalid, vec![wanted]));
    let (whole, _) = merged(&folder, "whole.sqlite", &[&parts[0], &parts[1], &parts[2]]);
    let (later, _) = merged(&folder, "later.sqlite", &[&some, &parts[2], &parts[1]]);
    let without_tails = |path: &Path| {
        let mut content = content(path);
        // Sums of squares are rounded: they depend on the order of adding.
        content.get_mut("hist").unwrap().iter_mut().for_each(|row| {
            *row = row
                .split(", ")
                .filter(|part| !part.starts_with("sum_squares"))
                .collect::<Vec<_>>()
                .join(", ");
        });
        content
    };
    assert_eq!(without_tails(&later), without_tails(&whole));
    let (other, _) = merged(&folder, "other.sqlite", &[&parts[1], &parts[2]]);
    let refused = refusal(&folder, &[&some, &other]);
    assert!(refused.contains("part 2 of 3 of a run is in two sums of different parts: "), "{refused}");
}

#[test]
fn a_part_that_was_measured_twice_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (dealt(&folder, 1, 2), dealt(&folder, 2, 2));
    let other = folder.path().join("elsewhere");
    std::fs::create_dir(&other).unwrap();
    let again = dealt(&folder, 3, 3);
    let again = {
        let path = other.join("part2.sqlite");
        std::fs::remove_file(&again).unwrap();
        let (id, _) =
            store(&path).begin_experiment(&part_of(2, 2, false), &host_of(9), &target(), false).unwrap();
        store(&path).store(id, &[finished(run("reads", 2, Some("A"), 1, 1.0))]).unwrap();
        path
    };
    let refused = refusal(&folder, &[&two, &again]);
    let wanted = format!(
        "part 2 of 2 of experiment made-up was measured twice: in {} and in {}",
        two.display(),
        again.display()
    );
    assert_eq!(refused, wanted);
    // As soon as one measurement is whole, the other is another one.
    let (whole, _) = merged(&folder, "whole.sqlite", &[&one, &two]);
    let (_, made) = merged(&folder, "both.sqlite", &[&whole, &again]);
    assert_eq!(
        made.experiments.iter().map(|own| own.missing.as_slice()).collect::<Vec<_>>(),
        [&[][..], &[1]]
    );
}

#[test]
fn imported_runs_are_known_by_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let found = |hash: &str| crate::import::FoundRun {
        run: run("reads", 1, None, 1, 100.0),
        seconds: Spool::default(),
        source: hash.to_owned(),
        hashes: vec![hash.to_owned()],
        notes: Vec::new(),
        no_percentiles: None,
        pgbench: None,
        server: None,
        uuid: None,
        round: None,
    };
    let import = |name: &str, hashes: &[&str]| {
        let path = folder.path().join(name);
        let collection = crate::Collection { name: "old".into(), ..crate::Collection::default() };
        let runs: Vec<_> = hashes.iter().map(|hash| found(hash)).collect();
        store(&path).import(&collection, &runs, false).unwrap();
        path
    };
    let (one, two, same) =
        (import("one.sqlite", &["a", "b"]), import("two.sqlite", &["b", "c"]), import("same.sqlite", &["a"]));
    let (both, made) = merged(&folder, "both.sqlite", &[&one, &two, &same]);
    assert_eq!(
        made.experiments.iter().map(|own| own.runs).collect::<Vec<_>>(),
        [2, 1],
        "an empty one is left out"
    );
    assert_eq!((made.known, count(&both, "import_source"), count(&both, "experiment")), (2, 3, 2));
    // The same experiment went on by imports in two files: the runs are rounds of one.
    let copy = folder.path().join("copy.sqlite");
    std::fs::copy(&one, &copy).unwrap();
    import("one.sqlite", &["d"]);
    import("copy.sqlite", &["e"]);
    let (all, _) = merged(&folder, "all.sqlite", &[&one, &copy]);
    let rounds = Store::open_read_only(&all).unwrap().query("SELECT round FROM run ORDER BY round").unwrap();
    assert_eq!(rounds.rows, [1, 2, 3, 4].map(|round| vec![Int(round)]));
}

#[test]
fn a_run_that_was_changed_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let one = file(&folder, "one", 1);
    let changed = folder.path().join("changed.sqlite");
    std::fs::copy(&one, &changed).unwrap();
    Connection::open(&changed).unwrap().execute("UPDATE run SET tps = 9e9 WHERE run_id = 1", []).unwrap();
    let refused = refusal(&folder, &[&one, &changed]);
    assert!(refused.starts_with("run ") && refused.contains(" is not the same in "), "{refused}");
}

#[test]
fn files_of_earlier_versions_are_merged_and_others_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (one, earlier) = (file(&folder, "one", 1), file(&folder, "earlier", 2));
    let (both, _) = merged(&folder, "both.sqlite", &[&one, &earlier]);
    let sql = |path: &Path, sql: &str| Connection::open(path).unwrap().execute_batch(sql).unwrap();
    sql(
        &earlier,
        "DROP TABLE run_host; DROP TABLE run_part; DROP TABLE experiment_part; PRAGMA user_version = 16",
    );
    let (also, _) = merged(&folder, "also.sqlite", &[&one, &earlier]);
    assert_eq!(content(&also), content(&both));
    sql(&earlier, "ALTER TABLE look RENAME TO looks; CREATE VIEW look AS SELECT 1 AS experiment_id");
    assert!(refusal(&folder, &[&earlier]).contains("earlier: damaged: look is not a table"));
    sql(&one, "CREATE TRIGGER eager AFTER INSERT ON look BEGIN DELETE FROM run; END");
    assert!(refusal(&folder, &[&one]).contains("trigger \"eager\" was not made by pgdyno"));
    sql(&one, &format!("DROP TRIGGER eager; PRAGMA user_version = {}", VERSION + 1));
    assert!(refusal(&folder, &[&one]).contains("written by a newer pgdyno"));
    let text = folder.path().join("text");
    std::fs::write(&text, "no results").unwrap();
    assert!(refusal(&folder, &[&both, &text]).contains("text: not a results file"));
    let mut bytes = std::fs::read(&both).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&both, bytes).unwrap();
    assert!(refusal(&folder, &[&also, &both]).contains("both.sqlite: damaged"));
}

#[test]
fn a_file_is_replaced_only_if_asked_for_and_may_be_one_of_the_merged() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (all, new) = (file(&folder, "all", 1), file(&folder, "new", 1));
    let files = [all.clone(), new.clone()];
    let error = merge(&files, &all, false, &|| false).unwrap_err();
    assert!(error.to_string().ends_with("it exists already"), "{error}");
    let error = merge(&files, &folder.path().join("no/all"), false, &|| false).unwrap_err();
    assert!(error.to_string().ends_with("no/all cannot be written: there is no such folder"), "{error}");
    let error = merge(&[folder.path().join("no")], &folder.path().join("x"), false, &|| false).unwrap_err();
    assert!(error.to_string().ends_with("no: no such file"), "{error}");
    std::fs::set_permissions(&all, std::fs::Permissions::from_mode(0o640)).unwrap();
    merge(&files, &all, true, &|| false).unwrap();
    assert_eq!(
        (count(&all, "run"), std::fs::metadata(&all).unwrap().permissions().mode() & 0o777),
        (4, 0o640)
    );
    let text = folder.path().join("text");
    std::fs::write(&text, "mine").unwrap();
    assert!(
        merge(&files, &text, true, &|| false)
            .unwrap_err()
            .to_string()
            .ends_with("not a results file of pgdyno")
    );
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "mine");
    // A pgdyno measures into it.
    let open = store(&all);
    let lock = open.alone_with("new").unwrap();
    assert!(merge(&files, &all, true, &|| false).is_err());
    drop((lock, open));
    merge(&files, &all, true, &|| false).unwrap();
    assert_eq!(count(&all, "run"), 4);
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_stopped_merge_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, "one", 1);
    let error = merge(&[file], &folder.path().join("all.sqlite"), false, &|| true).unwrap_err();
    assert!(error.is_stopped(), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
