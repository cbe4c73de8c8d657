//! Files of real pgbench runs, from reading to comparison.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use results::comparison::{Comparison, Metric};
use results::import::{self, FoundRuns, read};
use results::{Collection, ExperimentId, Store};
use spec::{Class, Error, OfferedLoad, Reason, Run, RunKind, Validity, figures};

fn data(names: &[&str]) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pgbench");
    names.iter().map(|name| folder.join(name)).collect()
}

fn found(files: &[PathBuf], options: &import::ImportOptions) -> FoundRuns {
    read(files, options, &mut |_, _| {}).unwrap()
}

fn refused(files: &[PathBuf], options: &import::ImportOptions) -> Error {
    read(files, options, &mut |_, _| {}).unwrap_err()
}

struct Place {
    folder: tempfile::TempDir,
    store: Store,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create_or_open(&folder.path().join("results.sqlite")).unwrap();
        Self { folder, store }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn import(&mut self, name: &str, found: &FoundRuns) -> Vec<Run> {
        let collection = Collection { name: name.into(), ..Collection::default() };
        let done = self.store.import(&collection, &found.runs, false).unwrap();
        self.store.runs(done.experiment.unwrap()).unwrap()
    }
}

fn latencies(files: &[PathBuf]) -> Vec<(u32, u64)> {
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let mut all: Vec<(u32, u64)> = text
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            Some((fields[3].parse().unwrap(), fields[2].parse().ok()?))
        })
        .collect();
    all.sort_by_key(|(_, us)| *us);
    all
}

#[test]
fn a_log_and_its_report_are_one_run_with_percentiles_of_each_script() {
    let files = data(&["18-all.txt", "18-all.15394", "18-all.15394.1"]);
    let found = found(&files, &import::ImportOptions::default());
    assert_eq!((found.runs.len(), found.rows), (1, 300));
    let run = &Place::new().import("all", &found)[0];
    assert_eq!((run.clients, run.threads, run.load), (6, 2, OfferedLoad::Rate));
    assert_eq!(run.workload, "ser.sql, one.sql");
    let counts = [
        figures::DUE,
        figures::OK,
        figures::LATE,
        figures::FAILED,
        figures::SERIALIZATION_FAILURES,
        figures::SKIPPED,
        figures::RETRIED,
        figures::RETRIES,
    ];
    assert_eq!(counts.map(|of| run.count(of)), [300, 289, 0, 11, 11, 0, 39, 39]);
    assert!((run.tps().unwrap() - 1798.068787).abs() < 1e-6, "the report's own rate");
    let sorted = latencies(&files[1..]);
    assert_eq!(run.response().count(), sorted.len() as u64);
    for (number, script) in run.scripts.iter().enumerate() {
        let own: Vec<u64> =
            sorted.iter().filter(|(script, _)| *script == number as u32).map(|(_, us)| *us * 1000).collect();
        assert_eq!(script.response.count(), own.len() as u64);
        assert_eq!(
            (script.response.min_ns(), script.response.max_ns()),
            (own.first().copied(), own.last().copied())
        );
        assert_eq!(script.response.sum_ns(), own.iter().map(|ns| u128::from(*ns)).sum::<u128>());
        for q in [0.5, 0.9, 0.99] {
            let exact = own[((own.len() as f64 * q).ceil() as usize).max(1) - 1] as f64;
            let got = script.response.quantile_ns(q).unwrap() as f64;
            assert!(
                (got / exact - 1.0).abs() < 0.001,
                "script {number}, quantile {q}: {got}, by sorting {exact}"
            );
        }
        assert!(script.service.mean_ns() < script.response.mean_ns(), "the lag is not part of it");
    }
    assert_eq!(run.series.iter().map(|point| point.ok + point.failed).sum::<u64>(), 300);
    let statements = run.artifacts.iter().find(|artifact| artifact.name == "statements.json").unwrap();
    let statements: serde_json::Value = serde_json::from_slice(&statements.bytes).unwrap();
    assert_eq!(statements[3]["failures"], 10);
    assert_eq!(statements[5]["text"], "select 1;");
    assert_eq!(run.factors["clients"], "6");
    assert_eq!((run.validity, run.doubts[0].reason), (Validity::Invalid, Reason::Imported), "3.7 % failed");
}

#[test]
fn a_log_alone_gives_what_it_can() {
    // Existing files of other threads are added.
    let found = found(
        &data(&["18-all.15394"]),
        &import::ImportOptions { latency_limit_ms: Some(1.0), ..import::ImportOptions::default() },
    );
    let run = &Place::new().import("log", &found)[0];
    assert_eq!((run.clients, run.threads, run.workload.as_str()), (6, 2, "script 1, script 2"));
    let late =
        latencies(&data(&["18-all.15394", "18-all.15394.1"])).iter().filter(|(_, us)| *us > 1000).count();
    assert_eq!(
        (run.count(figures::LATE), run.count(figures::OK) + run.count(figures::LATE)),
        (late as u64, 289)
    );
    assert!(run.measured_s > 0.15 && run.measured_s < 0.2, "{}", run.measured_s);
    assert!(run.started_at.starts_with("2026-"), "{}", run.started_at);
}

#[test]
fn an_aggregated_log_has_no_percentiles() {
    let files = data(&["15-agg.txt", "15-agg.13284", "15-agg.13284.1"]);
    let found = found(&files, &import::ImportOptions::default());
    assert!(found.runs[0].no_percentiles.is_some());
    let run = &Place::new().import("aggregates", &found)[0];
    assert_eq!((run.response_us(0.99), run.load), (None, OfferedLoad::Rate));
    assert_eq!(
        run.series.iter().map(|point| (point.length_us, point.ok)).collect::<Vec<_>>(),
        [(1_000_000, 203), (1_000_000, 292), (1_000_000, 321)]
    );
    let fields: Vec<Vec<f64>> = files[1..]
        .iter()
        .flat_map(|file| {
            std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .map(|line| line.split(' ').map(|field| field.parse().unwrap()).collect())
        .collect();
    let sum = |column: usize| fields.iter().map(|row| row[column]).sum::<f64>();
    assert_eq!(run.figures[figures::LATENCY_MAX_US], fields.iter().map(|row| row[5]).fold(0.0, f64::max));
    assert!((run.figures[figures::LATENCY_MEAN_US] - sum(2) / sum(1)).abs() < 1e-9);
    assert!((run.figures[figures::LAG_MEAN_US] - sum(6) / sum(1)).abs() < 1e-9);
    assert!(
        run.events
            .iter()
            .any(|event| event.kind == "not available" && event.detail.starts_with("percentiles:"))
    );
    let alone = read(&files[1..], &import::ImportOptions::default(), &mut |_, _| {}).unwrap();
    assert_eq!(alone.runs[0].run().measured_s, 3.0);
}

/// Regression: any shorter log was that of the report.
#[test]
fn a_report_takes_the_aggregated_log_that_fits_and_names_the_others() {
    let place = Place::new();
    let report = place.write(
        "bench.txt",
        "transaction type: b.sql\nscaling factor: 1\nquery mode: simple\nnumber of clients: 2\nnumber of threads: 1\n\
         duration: 20 s\nnumber of transactions actually processed: 8100\nlatency average = 5.000 ms\n\
         latency stddev = 1.000 ms\ntps = 405.0 (without initial connection time)\n",
    );
    let log = |name: &str, intervals: u64, each: u64, us: u64| {
        let line = |number| {
            let start = 1_700_000_000 + number * 2;
            format!("{start} {each} {} {} 90 90000\n", each * us, each * us * us * 2)
        };
        place.write(name, &(0..intervals).map(line).collect::<String>())
    };
    let right = log("right.log", 9, 810, 5_000);
    let (short, slow) = (log("short.log", 3, 90, 5_000), log("slow.log", 10, 810, 50_000));
    let none = import::ImportOptions::default();
    let all = found(&[report.clone(), short.clone(), slow, right], &none);
    assert_eq!(all.runs.len(), 1);
    assert!(all.runs[0].source.contains("right.log"), "{}", all.runs[0].source);
    let [one, other] = &all.refused[..] else { panic!("{:?}", all.refused) };
    assert!(
        one.contains("short.log: not the log of") && one.contains("8100 in the report, 270 in the log"),
        "{one}"
    );
    assert!(
        other.contains("slow.log: not the log of")
            && other.contains("latency: 5.000 ms in the report, 50.000 ms in the log"),
        "{other}"
    );
    let error = refused(&[report, short.clone()], &none).to_string();
    assert!(error.contains("short.log: not the log of"), "{error}");
    assert_eq!(found(&[short], &none).runs.len(), 1, "without a report it is a run");
}

/// Regression: reports of several machines were rounds of one cell.
#[test]
fn labels_between_reports_are_levels_and_rounds() {
    let mut place = Place::new();
    let reports: String = ["r7", "r7i", "r8g"]
        .iter()
        .flat_map(|machine| {
            (1..=4).map(move |run| {
                format!("Machine: {machine}\nRun: {run}\n{}\n", report(2, 900.0 + f64::from(run)))
            })
        })
        .collect();
    let file = place.write("all.txt", &reports);
    let found = found(&[file], &import::ImportOptions::default());
    let collection =
        Collection { name: "m".into(), compare: Some("machine".into()), ..Collection::default() };
    place.store.import(&collection, &found.runs, false).unwrap();
    let stored = place.store.experiment(ExperimentId(1)).unwrap().experiment;
    assert_eq!((stored.arms.len(), stored.rounds), (3, 4));
    let runs = place.store.runs(ExperimentId(1)).unwrap();
    let last = runs.iter().find(|run| run.arm.as_deref() == Some("r8g") && run.round == 4).unwrap();
    assert_eq!(last.tps().map(f64::round), Some(904.0));
    assert!(Comparison::of(&stored, &runs, Metric::Tps).unwrap().arms[0].cells[0].estimate.is_some());
}

#[test]
fn a_run_that_ended_early_is_not_one_of_its_duration() {
    let place = Place::new();
    let text = |rate: &str| {
        format!(
            "transaction type: b.sql\nnumber of clients: 2\nnumber of threads: 1\nduration: 40 s\n\
             number of transactions actually processed: 5120\n{rate}"
        )
    };
    for (rate, wanted) in [
        (
            "tps = 1024.0 (without initial connection time)\n",
            Some("5120 transactions at 1024 tps take 5.0 s"),
        ),
        (
            "tps = 1024.0 (including connections establishing)\ntps = 1030.0 (excluding connections establishing)\n",
            Some("take 5.0 s"),
        ),
        (
            "tps = 128.4 (including connections establishing)\ntps = 1024.0 (excluding connections establishing)\n",
            None,
        ),
        ("tps = 128.1 (without initial connection time)\n", None),
    ] {
        let file = place.write("r.txt", &text(rate));
        let run = found(&[file], &import::ImportOptions::default()).runs[0].run().clone();
        let doubt = run.doubts.iter().find(|doubt| doubt.reason == Reason::Errors);
        assert_eq!(doubt.is_some(), wanted.is_some(), "{rate}: {:?}", run.doubts);
        assert_eq!(run.validity == Validity::Invalid, wanted.is_some());
        wanted.into_iter().for_each(|wanted| assert!(doubt.unwrap().detail.contains(wanted), "{doubt:?}"));
    }
}

#[test]
fn a_sample_is_scaled_up_once_it_is_known_as_one() {
    let files = data(&["17-sample.txt", "17-sample.14426"]);
    let error = refused(&files[1..], &import::ImportOptions::default());
    assert!(error.to_string().contains("of the"), "{error}");
    assert!(error.hint().unwrap().contains("--sampling-rate"), "{:?}", error.hint());
    let options = import::ImportOptions { sampling_rate: Some(0.2), ..import::ImportOptions::default() };
    let run = found(&files[1..], &options).runs[0].run().clone();
    let rows = latencies(&files[1..]).len() as u64;
    assert_eq!((run.count(figures::OK), run.response().count()), (rows * 5, rows));
    // With the report its counts are exact.
    let both = found(&files, &options);
    let processed = std::fs::read_to_string(&files[0]).unwrap();
    let processed: u64 =
        processed.split("actually processed: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
    assert_eq!(both.runs[0].run().count(figures::OK), processed);
    assert_eq!(both.runs[0].run().response().count(), rows);
}

#[test]
fn reports_alone_come_in_their_order_without_percentiles() {
    let found = found(&data(&["older-versions.txt"]), &import::ImportOptions::default());
    let runs = Place::new().import("old", &found);
    let seen: Vec<_> = runs
        .iter()
        .map(|run| {
            (run.workload.as_str(), run.clients, run.tps().unwrap().round() as u64, run.response_us(0.5))
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("tpcb-like", 10, 85, None),
            ("select-only", 2, 2000, None),
            ("simple-update", 1, 100, None),
            ("custom", 4, 95, None),
            ("a.sql, b.sql", 8, 2000, None),
            ("tpcb-like", 10, 100, None),
        ]
    );
    assert_eq!(
        runs[3].count(figures::OK) + runs[3].count(figures::LATE),
        950,
        "versions until 10 count skipped ones as processed"
    );
    assert_eq!(runs[2].series.len(), 2);
    assert_eq!(runs[5].factors["partitions"], "8");
    assert_eq!(runs[5].seed, 42);
}

#[test]
fn what_was_imported_is_known_again() {
    let mut place = Place::new();
    let found =
        found(&data(&["18-all.txt", "18-all.15394", "15-multi.txt"]), &import::ImportOptions::default());
    let collection = Collection { name: "once".into(), ..Collection::default() };
    assert_eq!(place.store.import(&collection, &found.runs, false).unwrap().stored.len(), 2);
    let other = Collection { name: "twice".into(), ..Collection::default() };
    let again = place.store.import(&other, &found.runs, false).unwrap();
    assert_eq!((again.experiment, again.stored.len(), again.known.len()), (None, 0, 2));
    assert_eq!(again.known[0].experiment, "once");
    assert_eq!(place.store.experiments().unwrap().len(), 1, "no empty experiment is left behind");
    // The log alone is recognised as well, and so is one of several files.
    let log =
        read(&data(&["18-all.15394", "17-fail.txt"]), &import::ImportOptions::default(), &mut |_, _| {});
    assert!(log.is_err(), "a report of another run");
    let more =
        read(&data(&["15-multi.txt", "17-fail.txt"]), &import::ImportOptions::default(), &mut |_, _| {})
            .unwrap();
    let more = place.store.import(&collection, &more.runs, false).unwrap();
    assert_eq!((more.stored.len(), more.known.len()), (1, 1));
    let forced = place.store.import(&collection, &found.runs, true).unwrap();
    assert_eq!(forced.stored.iter().map(|run| run.round).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(place.store.runs(ExperimentId(1)).unwrap().len(), 5);
}

fn report(clients: u32, tps: f64) -> String {
    format!(
        "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\nnumber of clients: {clients}\n\
         number of threads: 1\nduration: 10 s\nnumber of transactions actually processed: 10000\n\
         latency average = 1.000 ms\ntps = {tps:.6} (excluding connections establishing)\n"
    )
}

#[test]
fn two_sets_are_compared_without_pretending_that_they_are_pairs() {
    let mut place = Place::new();
    for (arm, gain) in [("hdd", 1.0), ("ssd", 1.5)] {
        // Equal drift over the rounds, but nothing pairs the rounds.
        let text: String = (0..if arm == "hdd" { 5 } else { 4 })
            .flat_map(|round| {
                [(1, 1000.0), (4, 3000.0)]
                    .map(|(c, tps)| report(c, tps * gain * (1.0 + 0.01 * f64::from(round))))
            })
            .collect();
        let file = place.write(arm, &text);
        let found = found(&[file], &import::ImportOptions::default());
        let collection = Collection {
            name: "disks".into(),
            compare: Some("storage".into()),
            levels: BTreeMap::from([("storage".into(), arm.into())]),
            ..Collection::default()
        };
        place.store.import(&collection, &found.runs, false).unwrap();
    }
    let stored = place.store.experiment(ExperimentId(1)).unwrap().experiment;
    assert!(!stored.is_interleaved());
    assert_eq!((stored.base.as_deref(), stored.rounds, stored.arms.len()), (Some("hdd"), 5, 2));
    let runs = place.store.runs(ExperimentId(1)).unwrap();
    let comparison = Comparison::of(&stored, &runs, Metric::Tps).unwrap();
    let arm = &comparison.arms[0];
    assert_eq!((arm.arm.as_str(), arm.cells.len(), arm.tally().faster), ("ssd", 2, 2));
    let cell = &arm.cells[0];
    // Means of 5 and of 4 runs.
    let near = |figure: Option<f64>, wanted: f64| (figure.unwrap() / wanted - 1.0).abs() < 0.002;
    assert!(
        near(cell.base, 1020.0) && near(cell.new, 1522.5),
        "all runs count, not only those of rounds that both have: {:?} {:?}",
        cell.base,
        cell.new
    );
    let (low, high) = cell.estimate.unwrap().interval_pct().unwrap();
    assert!(low > 45.0 && low < 49.0 && high > 49.0 && high < 54.0, "{low} {high}");
    let grid = arm.grid.unwrap();
    assert_eq!((grid.verdict, grid.grid.cells), (stats::Verdict::Faster, 2));
    assert!(Comparison::of(&stored, &runs, Metric::P99).unwrap().arms[0].cells.is_empty());
}

/// Regression: a factor of a file with capitals was not found.
#[test]
fn a_factor_is_known_however_its_letters_are() {
    let mut place = Place::new();
    let table = place.write("n.csv", "Größe,Disk Type,run,tps\nklein,x,1,5\ngroß,x,1,7\n");
    let runs = import::read_table(&table, import::TableColumns::default()).unwrap();
    let levels = [("disk_type".to_owned(), "y".to_owned())].into();
    let wanted =
        Collection { name: "x".into(), compare: Some("Größe".into()), levels, ..Collection::default() };
    let stored = place.store.import(&wanted, &runs, false).unwrap().stored;
    assert_eq!(
        stored.iter().map(|run| run.arm.as_deref()).collect::<Vec<_>>(),
        [Some("klein"), Some("groß")]
    );
    assert_eq!(stored[0].factors["disk type"], "y");
}

#[test]
fn nothing_is_stored_when_something_is_wrong() {
    let mut place = Place::new();
    let found = found(&data(&["15-multi.txt"]), &import::ImportOptions::default());
    let unknown = Collection { name: "x".into(), compare: Some("storage".into()), ..Collection::default() };
    let error = place.store.import(&unknown, &found.runs, false).unwrap_err();
    let wanted = "the level of the compared factor storage is not known; its factors are clients, protocol, scale, workload";
    assert!(error.to_string().ends_with(wanted), "{error}");
    assert!(place.store.experiments().unwrap().is_empty());
    let plain = Collection { name: "x".into(), ..Collection::default() };
    place.store.import(&plain, &found.runs, false).unwrap();
    let error = place.store.import(&unknown, &found.runs, true).unwrap_err();
    assert_eq!(error.to_string(), "the experiment x compares nothing");
    assert_eq!(place.store.runs(ExperimentId(1)).unwrap().len(), 1);
}

#[test]
fn loads_of_osm2pgsql_are_jobs_with_arms_and_rounds() {
    let mut place = Place::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../osm/tests/data/osm2pgsql");
    let log = std::fs::read_to_string(folder.join("1.8-slim-drop-flatnodes-delaware.log")).unwrap();
    let none = import::ImportOptions::default();
    for (storage, seconds) in [("ssd", [95, 96]), ("hdd", [190, 191])] {
        let loads: String = seconds
            .map(|s| {
                format!(
                    "$ osm2pgsql --slim --drop de.pbf\n{}",
                    log.replace("took 95s", &format!("took {s}s"))
                )
            })
            .concat();
        let file = place.write(storage, &loads);
        let levels = BTreeMap::from([("storage".into(), storage.into())]);
        let collection = Collection {
            name: "disks".into(),
            compare: Some("storage".into()),
            levels,
            ..Collection::default()
        };
        let found = found(&[file], &none);
        let done = place.store.import(&collection, &found.runs, false).unwrap();
        assert_eq!(done.stored.iter().map(|run| run.round).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(done.stored[0].factors["drop"], "yes");
        assert_eq!(place.store.import(&collection, &found.runs, false).unwrap().known.len(), 2);
    }
    let runs = place.store.runs(ExperimentId(1)).unwrap();
    let told: Vec<_> =
        runs.iter().map(|run| (run.kind, run.arm.as_deref().unwrap(), run.round, run.measured_s)).collect();
    let job = RunKind::Job;
    assert_eq!(
        told,
        [(job, "ssd", 1, 95.0), (job, "ssd", 2, 96.0), (job, "hdd", 1, 190.0), (job, "hdd", 2, 191.0)]
    );
    assert_eq!(runs[0].driver, "osm2pgsql 1.8.0");
    assert!(runs[0].phases.iter().any(|phase| phase.name == "node" && phase.duration_us == 78_000_000));
    assert!(runs[0].artifacts.iter().any(|artifact| artifact.name == "log/osm"));
    // Together with pgbench's report.
    let mut files = data(&["15-multi.txt"]);
    files.push(place.write("again", &format!("{log}2026-11-21 03:00:00  osm2pgsql version 1.8.0\n")));
    let kinds: Vec<_> = found(&files, &none).runs.iter().map(|found| found.run().kind).collect();
    assert_eq!(kinds, [RunKind::Client, RunKind::Job]);
}

/// Regression: the run kept the number of clients of its report, despite another level.
#[test]
fn a_level_of_clients_that_is_no_number_is_an_error() {
    let mut place = Place::new();
    let found = found(&data(&["15-multi.txt"]), &import::ImportOptions::default());
    let levels = BTreeMap::from([("clients".into(), "many".into())]);
    let many = Collection { name: "x".into(), levels, ..Collection::default() };
    let error = place.store.import(&many, &found.runs, false).unwrap_err();
    assert!(error.to_string().ends_with("the level many of clients is not a whole number"), "{error}");
    assert!(place.store.experiments().unwrap().is_empty());
}

#[test]
fn mistakes_name_file_and_line() {
    let place = Place::new();
    let none = import::ImportOptions::default();
    let broken = place.write("log.1", "0 1 10 0 1700000000 5\n0 2 10 0 1700000000\n");
    let second = place.write("log.2", "0 1 10 0 1700000000 5\n0 2 10 0 1700000000 6 7\n");
    let cut = place.write("log.3", "0 1 10 0 1700000000 5\n0 2 10 0 17000");
    for (file, wanted) in [
        (&broken, ":2: the column time_us is missing"),
        (&second, ":2: 7 columns, where the lines before have 6"),
    ] {
        let error = refused(std::slice::from_ref(file), &none).to_string();
        assert!(error.ends_with(wanted), "{error}");
    }
    let run = &found(&[cut], &none).runs[0];
    assert_eq!(run.run().count(figures::OK), 1);
    assert!(run.notes[0].ends_with("the last line is not whole, and was left out"), "{:?}", run.notes);
    let alien =
        refused(&[place.write("log.4", "0 1 10 0 1700000000 5\n"), data(&["15-multi.txt"]).remove(0)], &none);
    assert!(alien.to_string().contains("transactions: 200 in the report, 1 in the log"), "{alien}");
    let folder = refused(&[place.folder.path().to_owned()], &none);
    assert!(folder.to_string().ends_with(": a folder"), "{folder}");
    let absent = refused(&[place.folder.path().join("absent")], &none);
    assert_eq!(absent.class(), Class::BadInput);
    assert!(absent.to_string().contains("/absent: No such file"), "{absent}");
    let empty = refused(&[place.write("log.5", "")], &none);
    assert!(empty.to_string().ends_with(": empty"), "{empty}");
}

#[test]
fn a_lonely_seventh_column_is_told_by_its_values() {
    let place = Place::new();
    let rows = |values: &[u32]| -> String {
        values
            .iter()
            .enumerate()
            .map(|(at, value)| format!("0 {} 900 0 1700000000 {at} {value}\n", at + 1))
            .collect()
    };
    let lag = place.write("log.1", &rows(&[50, 60, 0, 70]));
    let retries = place.write("log.2", &rows(&[0, 0, 3, 1, 0]));
    let none = import::ImportOptions::default();
    let load = |file: &PathBuf, options: &import::ImportOptions| {
        let run = found(std::slice::from_ref(file), options).runs[0].run().clone();
        (run.load, run.count(figures::RETRIES))
    };
    assert_eq!(load(&lag, &none), (OfferedLoad::Rate, 0));
    assert_eq!(load(&retries, &none), (OfferedLoad::Closed, 4));
    assert_eq!(
        load(&retries, &import::ImportOptions { rate: Some(10.0), ..none.clone() }),
        (OfferedLoad::Rate, 0)
    );
    assert_eq!(load(&lag, &import::ImportOptions { max_tries: Some(3), ..none }), (OfferedLoad::Closed, 180));
}
