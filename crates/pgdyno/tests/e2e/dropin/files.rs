//! pgdyno's files are complete.

use std::path::Path;

use super::assert_composed;
use crate::support::dropin::Bench;

fn lines(folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for file in std::fs::read_dir(folder).expect("own folder").flatten() {
        lines.extend(std::fs::read_to_string(file.path()).expect("a log").lines().map(str::to_owned));
    }
    lines
}

fn fresh(bench: &Bench) -> std::path::PathBuf {
    let folder = bench.place.path().join("logs");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("own folder");
    folder
}

/// pgbench writes an interval when a later transaction shows its end, and so never writes the last one.
#[test]
fn the_last_interval_of_an_aggregated_log_is_written() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "\\sleep 50 ms\nSELECT 1;\n");
    for (interval, threads) in [("600", "1"), ("600", "2"), ("1", "2")] {
        let folder = fresh(&bench);
        let prefix = format!("--log-prefix={}/x", folder.display());
        let interval = format!("--aggregate-interval={interval}");
        let args = ["-n", "-l", &prefix, &interval, "-c", "4", "-j", threads, "-t", "25", "-f", "one.sql"];
        bench.run(args).expect(0);
        let lines = lines(&folder);
        let counts = lines.iter().map(|line| {
            let fields: Vec<i64> = line.split(' ').map(|field| field.parse().expect("a number")).collect();
            assert_eq!(fields.len(), 15, "{line}");
            fields[1]
        });
        assert_eq!(counts.sum::<i64>(), 100, "{args:?}: {lines:#?}");
    }
}

#[test]
fn every_transaction_is_in_the_log() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1;\n");
    let folder = fresh(&bench);
    let prefix = format!("--log-prefix={}/x", folder.display());
    bench.run(["-n", "-l", &prefix, "-c", "7", "-j", "3", "-t", "300", "-f", "one.sql"]).expect(0);
    assert_eq!(std::fs::read_dir(&folder).expect("own folder").count(), 3, "a file per thread");
    let mut keys: Vec<(u32, u32)> = lines(&folder)
        .iter()
        .map(|line| {
            let fields: Vec<_> = line.split(' ').collect();
            assert_eq!(fields.len(), 6, "{line}");
            (fields[0].parse().expect("client"), fields[1].parse().expect("number"))
        })
        .collect();
    keys.sort_unstable();
    let expected: Vec<_> = (0..7).flat_map(|client| (1..=300).map(move |number| (client, number))).collect();
    assert_eq!(keys, expected);
}

#[test]
fn a_log_that_cannot_be_written_is_an_error() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1;\n");
    let done = bench.run(["-n", "-l", "--log-prefix=/nonexistent/x", "-t", "1", "-f", "one.sql"]);
    assert_composed(&done, "log in no folder");
    assert!(done.stderr.contains("/nonexistent/x"), "{}", done.stderr);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
}
