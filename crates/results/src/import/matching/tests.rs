use std::path::{Path, PathBuf};

use super::*;
use crate::import::{Hints, ImportProgress, aggregate, lines::Lines, report};

/// A run of 60 s at 500 tps and 8 ms, with two threads.
fn reported(processed: u64, seconds: f64) -> ParsedReport {
    let text = format!(
        "transaction type: a.sql\nscaling factor: 1\nquery mode: simple\nnumber of clients: 4\nnumber of threads: 2\n\
         duration: {seconds} s\nnumber of transactions actually processed: {processed}\nlatency average = 8.000 ms\n\
         latency stddev = 1.000 ms\ntps = {} (without initial connection time)\n",
        processed as f64 / seconds
    );
    let mut all = report::read(Path::new("r"), &mut Lines::new(text.as_bytes())).unwrap();
    all.remove(0)
}

/// Intervals of 5 s of two threads, with these counts each.
fn logged(counts: &[u64]) -> AggregateLog {
    let line = |(number, count): (usize, &u64)| {
        format!("{} {count} {} {} 7000 9000\n", 1_700_000_000 + number * 5, count * 8000, count * 64_100_000)
    };
    let text: String = counts.iter().enumerate().map(line).collect();
    let files = ["a", "b"].map(|name| (PathBuf::from(name), text.as_bytes())).into();
    aggregate::read(files, &Hints::default(), &mut ImportProgress::new(&mut |_, _| {})).unwrap()
}

/// Regression: any log with fewer transactions was that of the report.
#[test]
fn only_the_last_interval_of_an_aggregated_log_may_be_missing() {
    let report = reported(30_120, 60.2);
    let all = [1250; 12];
    assert_eq!(aggregates_misfit(&report, &logged(&all)), None);
    assert_eq!(aggregates_misfit(&report, &logged(&all[..11])), None, "the last one");
    for (log, wanted) in [
        (
            logged(&[500, 500]),
            "transactions: 30120 in the report, 2000 in the log, more than its last interval may lack",
        ),
        (
            logged(&all[..9]),
            "transactions: 30120 in the report, 22500 in the log, more than its last interval may lack",
        ),
        (logged(&[1255; 13]), "transactions: 30120 in the report, 32630 in the log"),
        (logged(&[5000, 5000, 5000]), "time: 60 s in the report, 15 s in intervals of the log"),
        (logged(&[625; 24]), "time: 60 s in the report, 120 s in intervals of the log"),
    ] {
        assert_eq!(aggregates_misfit(&report, &log).as_deref(), Some(wanted));
    }
    let text = "1700000000 1250 10000000 80000000000 7000 9000\n1700000005 1250 10000000 80000000000 7000 9000\n\
                1700000015 1250 10000000 80000000000 7000 9000\n";
    let files = ["a", "b"].map(|name| (PathBuf::from(name), text.as_bytes())).into();
    let log = aggregate::read(files, &Hints::default(), &mut ImportProgress::new(&mut |_, _| {})).unwrap();
    let misfit = aggregates_misfit(&reported(10_000, 20.0), &log);
    assert!(misfit.unwrap().starts_with("intervals before 1700000015 are missing"));
    assert!(log.notes.iter().any(|note| note.starts_with("intervals before 1700000015 are missing")));
}

#[test]
fn the_nearest_log_is_the_one_of_like_latency() {
    let log = logged(&[1250; 12]);
    let mut slower = reported(30_060, 60.1);
    slower.printed.latency_ms = Some(12.0);
    assert!(distance(&reported(30_120, 60.2), &log) < distance(&slower, &log));
}

/// A run of two clients without `-P`, 20 ms a transaction: its latency is printed from its time.
fn plain(processed: u64, seconds: f64) -> ParsedReport {
    let mut report = reported(processed, seconds);
    (report.clients, report.printed.stddev_ms) = (Some(2), None);
    report.printed.latency_ms = Some(2e3 * seconds / processed as f64);
    report
}

/// Intervals of 2 s of two threads with these counts, in which both clients are busy `share` of the time.
fn busy(counts: &[u64], share: f64) -> AggregateLog {
    let line = |(number, count): (usize, &u64)| {
        let first = if number == 0 { 0.5 } else { 1.0 };
        let sum = 2e6 * share * first;
        format!(
            "{} {count} {sum:.0} {:.0} 700 900000\n",
            1_800_000_000 + number * 2,
            sum * sum / *count as f64 * 1.01
        )
    };
    let text: String = counts.iter().enumerate().map(line).collect();
    let files = ["a", "b"].map(|name| (PathBuf::from(name), text.as_bytes())).into();
    aggregate::read(files, &Hints::default(), &mut ImportProgress::new(&mut |_, _| {})).unwrap()
}

/// Regression: another run's log was taken, whose last interval would have had far more transactions, and far
/// shorter ones.
#[test]
fn what_is_left_for_the_last_interval_contradicts_a_log_of_another_run() {
    // 600 a second for 14.4 s; the log has from 1 s before the second interval on.
    let log = busy(&[300, 600, 610, 590, 605, 595, 600], 0.97);
    let own = plain(2 * 3900 + 840, 14.4);
    assert_eq!(aggregates_misfit(&own, &log), None);
    let faster = plain(2 * 3900 + 1790, 14.4);
    let misfit = aggregates_misfit(&faster, &log).expect("of another run");
    assert!(
        misfit.starts_with("latency: ") && misfit.contains("1790 transactions of the last interval"),
        "{misfit}"
    );
    assert!(distance(&own, &log) < distance(&faster, &log));
    let slower = plain(2 * 3900 + 2, 14.9);
    assert!(aggregates_misfit(&slower, &log).is_some(), "none in 1.9 s");
    // The printed latency is measured with -P.
    let mut measured = own.clone();
    (measured.printed.stddev_ms, measured.printed.latency_ms) = (Some(1.0), Some(3.5));
    assert!(aggregates_misfit(&measured, &log).unwrap().starts_with("latency: "));
}
