//! Reports as text, JSON and lines: the layouts of real pgbench 18 with made-up figures.

use super::*;

fn latencies(milliseconds: &[u64]) -> Histogram {
    let mut values = Histogram::new();
    milliseconds.iter().for_each(|ms| values.record(ms * 1_000_000));
    values
}

pub(super) fn command(first_line: &str, milliseconds: &[u64], failures: u64, retries: u64) -> CommandReport {
    CommandReport { first_line: first_line.into(), latency: latencies(milliseconds), failures, retries }
}

pub(super) fn plain() -> Report {
    let figures = TransactionFigures {
        processed: 4,
        latency: latencies(&[1, 2, 3, 4]),
        ..TransactionFigures::default()
    };
    Report {
        version: "0.1.0".into(),
        server_version: "18.6".into(),
        settings: Settings {
            scale: 1,
            partitions: None,
            mode: "simple".into(),
            clients: 2,
            threads: 1,
            max_tries: 1,
            length: RequestedLength::Transactions(2),
            reconnect: false,
            rate: None,
            latency_limit_us: None,
            progress: false,
            per_command: false,
            failures_detailed: false,
            continue_on_error: false,
            random_seed: 5432,
            warmup_s: 0.0,
        },
        scripts: vec![ScriptReport { name: "a.sql".into(), weight: 1, figures, commands: Vec::new() }],
        times: Times { elapsed_ns: 5_000_000, connecting_ns: 6_130_000, reconnecting_ns: 0 },
        percentiles: Vec::new(),
        aborted_clients: 0,
        interrupted: false,
        losses: None,
    }
}

/// All options, with two scripts that ran and one that did not.
fn full() -> Report {
    let mut report = plain();
    let settings = &mut report.settings;
    settings.partitions = Some(Partitions { method: "range".into(), count: 2 });
    settings.max_tries = 3;
    settings.length = RequestedLength::Seconds(10);
    settings.rate = Some(100.0);
    settings.latency_limit_us = Some(3_500);
    settings.per_command = true;
    settings.failures_detailed = true;
    settings.continue_on_error = true;
    settings.warmup_s = 0.5;
    let first = &mut report.scripts[0];
    first.weight = 3;
    first.commands = vec![
        command("\\set aid random(1, 10)", &[0, 0, 0, 0], 0, 0),
        command("UPDATE t SET a = :aid;", &[1, 2, 3, 4], 1, 20),
    ];
    first.figures.failures = Failures { serialization: 1, deadlock: 2, other: 3 };
    first.figures.skipped = 5;
    first.figures.late = 1;
    first.figures.retried = 2;
    first.figures.retries = 4;
    first.figures.lag = Lag { sum_ns: 400_000, max_ns: 300_000 };
    let figures = TransactionFigures {
        processed: 1,
        latency: latencies(&[8]),
        late: 1,
        ..TransactionFigures::default()
    };
    let commands = vec![command("SELECT 1;", &[8], 0, 0)];
    report.scripts.push(ScriptReport {
        name: "<builtin: select only>".into(),
        weight: 1,
        figures,
        commands: commands.clone(),
    });
    report.scripts.push(ScriptReport {
        name: "never.sql".into(),
        weight: 0,
        figures: TransactionFigures::default(),
        commands: vec![command("SELECT 2;", &[], 0, 0)],
    });
    report.percentiles = ["50", "99.9"].iter().filter_map(|text| text.parse().ok()).collect();
    report.aborted_clients = 1;
    report
}

#[test]
fn plain_text() {
    insta::assert_snapshot!(text(&plain()));
}

#[test]
fn text_with_everything() {
    insta::assert_snapshot!(text(&full()));
}

#[test]
fn text_with_commands_of_one_script() {
    let mut report = plain();
    report.settings.per_command = true;
    report.settings.progress = true;
    report.settings.reconnect = true;
    report.times.reconnecting_ns = 8_000_000;
    report.scripts[0].commands = vec![command("SELECT 1;", &[1, 2], 0, 0), command("\\sleep 1 s", &[], 0, 0)];
    insta::assert_snapshot!(text(&report));
}

#[test]
fn failures_are_part_of_a_latency_that_was_not_measured() {
    let mut report = plain();
    report.scripts[0].figures.failures.deadlock = 1;
    report.settings.max_tries = 0;
    insta::assert_snapshot!(text(&report));
}

#[test]
fn nothing_done_ends_the_report_early() {
    let mut report = plain();
    report.scripts[0].figures = TransactionFigures::default();
    report.settings.per_command = true;
    assert!(text(&report).ends_with("number of transactions actually processed: 0/4\n"));
    report.scripts[0].figures.skipped = 4;
    report.settings.rate = Some(1.0);
    report.settings.latency_limit_us = Some(1_000);
    report.times.elapsed_ns = 0;
    insta::assert_snapshot!(text(&report));
}

#[test]
fn json_with_everything() {
    let text = json(&full());
    serde_json::from_str::<serde_json::Value>(&text).expect("valid JSON");
    insta::assert_snapshot!(text);
}

#[test]
fn plain_lines() {
    insta::assert_snapshot!(lines(&plain()));
}

#[test]
fn banners() {
    assert_eq!(banner("18.6", "18.6"), "pgbench (18.6)\n");
    assert_eq!(banner("18.0 (x)", "15.2 (Debian)"), "pgbench (18.0 (x), server 15.2 (Debian))\n");
}
