//! Reports that real pgbench 18.6 printed, printed again from the same figures: byte for byte.

use super::tests::{command, plain};
use super::*;

/// Two values with a given mean and standard deviation, µs.
fn pair(mean_us: u64, stddev_us: u64) -> Histogram {
    of_us(&[mean_us - stddev_us, mean_us + stddev_us])
}

fn of_us(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|us| histogram.record(us * 1_000));
    histogram
}

fn timed(first_line: &str, us: u64) -> CommandReport {
    CommandReport { latency: of_us(&[us]), ..command(first_line, &[], 0, 0) }
}

fn script(name: &str, figures: TransactionFigures, commands: Vec<CommandReport>) -> ScriptReport {
    ScriptReport { name: name.into(), weight: 1, figures, commands }
}

fn one_client(length: u64, elapsed_us: u64, connecting_us: u64) -> Report {
    let mut report = plain();
    report.settings.clients = 1;
    report.settings.length = RequestedLength::Transactions(length);
    report.times.elapsed_ns = elapsed_us * 1_000;
    report.times.connecting_ns = connecting_us * 1_000;
    report
}

#[test]
fn two_scripts_with_their_commands() {
    let mut report = one_client(3, 4_673, 4_486);
    report.settings.per_command = true;
    let select =
        TransactionFigures { processed: 1, latency: of_us(&[3_328]), ..TransactionFigures::default() };
    let update =
        TransactionFigures { processed: 2, latency: pair(659, 118), ..TransactionFigures::default() };
    let aid = "\\set aid random(1, 100000 * :scale)";
    let balance = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;";
    let updates = [
        (aid, 1),
        ("\\set bid random(1, 1 * :scale)", 1),
        ("\\set tid random(1, 10 * :scale)", 1),
        ("\\set delta random(-5000, 5000)", 1),
        ("BEGIN;", 68),
        ("UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;", 222),
        (balance, 115),
        (
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, \
             CURRENT_TIMESTAMP);",
            152,
        ),
        ("END;", 99),
    ];
    report.scripts = vec![
        script("<builtin: select only>", select, vec![timed(aid, 3), timed(balance, 3_325)]),
        script(
            "<builtin: simple update>",
            update,
            updates.map(|(text, us)| timed(text, us)).into_iter().collect(),
        ),
    ];
    assert_eq!(text(&report), include_str!("real/two_scripts.txt"));
}

#[test]
fn skipped_transactions() {
    let mut report = one_client(10, 3_582, 2_055);
    report.settings.rate = Some(100_000.0);
    report.settings.latency_limit_us = Some(1_000);
    let lag = Lag { sum_ns: 13_000, max_ns: 13_000 };
    let figures = TransactionFigures {
        processed: 1,
        skipped: 9,
        late: 1,
        latency: of_us(&[3_558]),
        lag,
        ..TransactionFigures::default()
    };
    report.scripts = vec![script("slp.sql", figures, Vec::new())];
    assert_eq!(text(&report), include_str!("real/skipped.txt"));
}

#[test]
fn retries() {
    let mut report = one_client(20, 26_793, 6_133);
    report.settings.clients = 4;
    report.settings.max_tries = 2;
    report.settings.failures_detailed = true;
    report.settings.per_command = true;
    let failures = Failures { serialization: 11, ..Failures::default() };
    let figures = TransactionFigures {
        processed: 69,
        failures,
        retried: 20,
        retries: 20,
        ..TransactionFigures::default()
    };
    let update = timed("UPDATE pgbench_branches SET bbalance=bbalance+:d WHERE bid=1;", 71);
    let commands = vec![
        command("\\set d random(1,2)", &[], 0, 0),
        timed("BEGIN ISOLATION LEVEL SERIALIZABLE;", 136),
        CommandReport { failures: 11, retries: 20, ..update },
        timed("END;", 235),
    ];
    report.scripts = vec![script("ser.sql", figures, commands)];
    assert_eq!(text(&report), include_str!("real/retries.txt"));
}

#[test]
fn a_connection_for_each_transaction() {
    let mut report = one_client(3, 11_162, 0);
    report.settings.reconnect = true;
    report.times.reconnecting_ns = 9_072_000;
    let figures = TransactionFigures { processed: 3, ..TransactionFigures::default() };
    report.scripts = vec![script("<builtin: select only>", figures, Vec::new())];
    assert_eq!(text(&report), include_str!("real/reconnect.txt"));
}

#[test]
fn a_run_that_was_aborted_at_once() {
    let mut report = one_client(10, 1_000, 2_000);
    report.scripts = vec![script("err.sql", TransactionFigures::default(), Vec::new())];
    assert_eq!(text(&report), include_str!("real/aborted.txt"));
}
