mod server;

use proptest::prelude::*;

use spec::Error;

use self::server::{FakeServer, Trouble};
use super::*;
use crate::jobs::JobReport;

/// Runs the steps; what was said, and how it ended.
fn run_steps(
    server: &FakeServer,
    options: &InitOptions,
    loading: Loading,
) -> (Vec<String>, Result<JobReport, Error>) {
    let mut lines = Vec::new();
    let mut voice = EventPrinter::new(false);
    let mut listen = |event: &InitEvent| lines.push(voice.say(event));
    let result = run(options, &loading, server.open(), server, &mut listen);
    lines.retain(|line| !line.is_empty());
    (lines, result)
}

fn options(steps: &str, scale: u32) -> InitOptions {
    InitOptions { steps: parse_steps(steps).unwrap(), scale, quiet: true, ..InitOptions::default() }
}

fn remarks(error: &Error) -> String {
    let lines = super::remarks(error).into_iter().map(|(kind, text)| format!("{kind:?}: {text}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_default_steps() {
    let server = FakeServer::default();
    let (lines, report) = run_steps(&server, &InitOptions::at_scale(2), Loading::default());
    insta::assert_snapshot!("default_statements", server.state().asked.join("\n"));
    insta::assert_snapshot!("default_messages", lines.concat());
    let report = report.unwrap();
    let phases: Vec<_> = report.phases.iter().map(|phase| (phase.name.as_str(), phase.count)).collect();
    assert_eq!(
        phases,
        [
            ("drop tables", None),
            ("create tables", None),
            ("client-side generate", Some(2 + 20 + 200_000)),
            ("vacuum", None),
            ("primary keys", None),
        ]
    );
    assert_eq!(server.state().accounts.len(), 200_000);
}

#[test]
fn every_option_is_used() {
    let server = FakeServer::default();
    let options = InitOptions {
        scale: 20_000,
        fillfactor: 70,
        unlogged: true,
        partitions: 3,
        tablespace: Some("fast".into()),
        index_tablespace: Some("faster".into()),
        ..options("t Gpf", 1)
    };
    let (lines, report) = run_steps(&server, &options, Loading::default());
    report.unwrap();
    insta::assert_snapshot!("all_options", server.state().asked.join("\n"));
    insta::assert_snapshot!("all_options_messages", lines.concat());
}

#[test]
fn plain_tables_of_known_columns_take_the_fast_way() {
    let server = FakeServer::default();
    let answers = [
        ("server_version_num", vec![vec!["180006".to_owned()]]),
        (
            "relkind",
            vec![
                vec!["pgbench_history".into(), "r".into(), "x 23".into()],
                vec!["pgbench_branches".into(), "r".into(), "bid 23,bbalance 23,filler 1042".into()],
            ],
        ),
    ];
    server.state().answers = answers.map(|(part, rows)| (part.to_owned(), rows)).to_vec();
    // The server for tests reads no binary rows: what matters is how the copy begins.
    server.state().troubles.push((4, Trouble::Refused));
    let (_, result) = run_steps(&server, &options("g", 1), Loading::default());
    result.unwrap_err();
    let wanted = "copy pgbench_branches from stdin with (format binary, freeze on)";
    assert!(server.state().asked.iter().any(|sql| sql == wanted), "{:?}", server.state().asked);
}

#[test]
fn much_log_is_written_out_by_another_connection() {
    let level = |level: &str| ("wal_level".to_owned(), vec![vec![level.to_owned()]]);
    let helped = |answer, options: &InitOptions, loading| {
        let server = FakeServer::default();
        server.state().answers.push(answer);
        run_steps(&server, options, loading).1.unwrap();
        let asked = &server.state().asked;
        asked.iter().any(|sql| sql.starts_with("set local synchronous_commit = local;"))
    };
    let plain = Loading::default();
    assert!(helped(level("replica"), &options("G", 10), plain));
    assert!(!helped(level("minimal"), &options("G", 10), plain));
    assert!(!helped(level("replica"), &options("G", 9), plain));
    assert!(!helped(level("replica"), &options("G", 10), Loading { jobs: 2, ..plain }));
    assert!(!helped(level("replica"), &InitOptions { unlogged: true, ..options("G", 10) }, plain));
}

#[test]
fn foreign_keys_are_added_once() {
    let steps = |text: &str| InitOptions { foreign_keys: true, ..options(text, 1) };
    let letters =
        |options: InitOptions| options.all_steps().iter().map(|step| step.letter()).collect::<String>();
    assert_eq!(letters(steps("dtg")), "dtgf");
    assert_eq!(letters(steps("dtfg")), "dtfg");
}

#[test]
fn wrong_steps_are_named() {
    assert!(parse_steps("dtx").unwrap_err().contains("\"x\""));
    assert!(parse_steps("").is_err());
    assert_eq!(parse_steps("  ").unwrap(), []);
}

#[test]
fn a_refusal_is_reported_as_pgbench_does() {
    let server = FakeServer::default();
    server.state().troubles.push((0, Trouble::Refused));
    let (_, result) = run_steps(&server, &InitOptions::default(), Loading::default());
    insta::assert_snapshot!("refusal", remarks(&result.unwrap_err()));
}

#[test]
fn who_stops_learns_what_is_there() {
    let mut texts = Vec::new();
    // The first statement of each step, and the second one of a step that has several.
    for at in [0, 2, 6, 11, 14, 18] {
        let server = FakeServer::default();
        server.state().troubles.push((at, Trouble::Stop));
        let (_, result) = run_steps(&server, &InitOptions::at_scale(1), Loading::default());
        texts.push(format!("{}:\n{}", server.state().asked[at], remarks(&result.unwrap_err())));
    }
    let server = FakeServer::default();
    server.state().troubles.push((15, Trouble::Stop));
    let batches = Loading { batch: Some(30_000), ..Loading::default() };
    let (_, result) = run_steps(&server, &options("g", 1), batches);
    texts.push(format!("{}:\n{}", server.state().asked[15], remarks(&result.unwrap_err())));
    insta::assert_snapshot!("stopped", texts.join("\n\n"));
}

#[test]
fn a_commit_without_an_answer_is_no_refusal() {
    let server = FakeServer::default();
    server.state().troubles.push((7, Trouble::After));
    let (_, result) = run_steps(&server, &options("g", 1), Loading::default());
    assert_eq!(server.state().asked[7], "commit");
    insta::assert_snapshot!("unknown_commit", remarks(&result.unwrap_err()));
}

#[test]
fn a_lost_connection_is_made_again() {
    let server = FakeServer::default();
    server.state().troubles = vec![(9, Trouble::Before), (16, Trouble::After)];
    let batches = Loading { batch: Some(40_000), ..Loading::default() };
    let (lines, result) = run_steps(&server, &options("g", 1), batches);
    result.unwrap();
    assert_eq!(server.state().accounts, (1..=100_000).collect());
    insta::assert_snapshot!("reconnecting", lines.concat());
}

#[test]
fn several_connections_commit_together_or_not_at_all() {
    let jobs = Loading { jobs: 3, ..Loading::default() };
    let server = FakeServer::default();
    let (_, result) = run_steps(&server, &options("g", 4), jobs);
    assert_eq!(result.unwrap().phases[0].count, Some(400_044));
    assert_eq!(server.state().accounts, (1..=400_000).collect());

    let server = FakeServer::default();
    // One of the copies of accounts, whichever it is.
    server.state().troubles.push((10, Trouble::Refused));
    let (_, result) = run_steps(&server, &options("g", 4), jobs);
    let error = result.unwrap_err();
    assert!(remarks(&error).contains("disk full"), "{error}");
    assert!(remarks(&error).contains("0 of 400000 rows"), "{error}");
    assert_eq!(server.state().accounts.len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever is lost, and wherever: every account is there once in the end, if need be after another run.
    #[test]
    fn no_account_is_lost_or_doubled(
        batch in 20_000_u64..200_000,
        jobs in 1_u32..4,
        troubles in proptest::collection::vec((7_usize..40, 0..4_u8), 0..5),
    ) {
        let server = FakeServer::default();
        let kind = |kind| match kind {
            0 => Trouble::Before,
            1 => Trouble::After,
            2 => Trouble::Refused,
            _ => Trouble::Before,
        };
        server.state().troubles = troubles.into_iter().map(|(at, number)| (at, kind(number))).collect();
        let loading = Loading { jobs, batch: Some(batch) };
        let (_, mut result) = run_steps(&server, &options("g", 2), loading);
        for _ in 0..6 {
            if result.is_ok() {
                break;
            }
            result = run_steps(&server, &options("g", 2), loading).1;
        }
        result.unwrap();
        prop_assert!(server.state().accounts == (1..=200_000).collect());
    }
}

#[test]
fn progress_on_a_terminal_stays_on_its_line() {
    let progress = |done, elapsed_s| {
        InitEvent::Progress(RowsProgress {
            table: "pgbench_accounts",
            done,
            total: 1_000_000,
            elapsed_s,
            remaining_s: 120.5 - elapsed_s,
        })
    };
    let events = [
        InitEvent::Begun(InitStep::Generate),
        progress(100_000, 9.0),
        progress(200_000, 120.5),
        InitEvent::Filled,
        InitEvent::Begun(InitStep::Vacuum),
        progress(300_000, 1.0),
        InitEvent::Notice("NOTICE:  hear".into()),
        InitEvent::Reconnecting { reason: "gone".into(), attempt: 2, attempts: 40, wait_us: 500_000 },
        InitEvent::Done(Summary::default()),
    ];
    for (name, terminal) in [("on_a_terminal", true), ("in_a_file", false)] {
        let mut voice = EventPrinter::new(terminal);
        let text: String = events.iter().map(|event| voice.say(event)).collect();
        insta::assert_snapshot!(name, text.replace('\r', "<CR>\n"));
    }
}
