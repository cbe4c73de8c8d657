//! Clients against a simulated server.

use engine::Measured;

use crate::pgbench::{Mode, Options, Pgbench, ScriptSource};
use crate::place::Places;
use crate::testing::{Answer, FakePostgres, connect};
use crate::workload::{ClientWorkload, Crew};

/// Options with a mode.
fn mode(mode: Mode) -> Options {
    Options { mode, ..Options::default() }
}

fn clients(options: &Options, scripts: &[&str], count: usize) -> Vec<Box<dyn engine::Client>> {
    let sources: Vec<_> = (0..)
        .zip(scripts)
        .map(|(number, text)| ScriptSource::Text {
            name: format!("script{number}"),
            text: text.as_bytes().to_vec(),
            weight: 1,
        })
        .collect();
    let workload = Pgbench::with_scripts(options, &sources).unwrap();
    let places = Places { postgres: Some(connect()), redis: None };
    workload.clients(&places, Crew { clients: count, threads: 1, seed: 7, statements: true }).unwrap()
}

/// Runs one client on one script for so many transactions; what was asked, and what was measured.
fn play(
    options: &Options,
    script: &str,
    transactions: u64,
    answer: impl FnMut(usize, &str) -> Vec<Answer>,
) -> (Vec<String>, Measured) {
    let mut server = FakePostgres::new(answer);
    let measured = server.run(clients(options, &[script], 1), transactions, 1).unwrap();
    (server.log, measured)
}

fn one(value: &'static str) -> Vec<Answer> {
    vec![Answer::Rows(vec!["one"], vec![vec![Some(value)]])]
}

/// The usual answers: transactions, and a row for everything else.
fn usual(sql: &str) -> Vec<Answer> {
    match sql.to_ascii_lowercase().trim_end_matches(';') {
        "begin" => vec![Answer::Done("BEGIN")],
        "commit" | "end" => vec![Answer::Done("COMMIT")],
        "rollback" => vec![Answer::Done("ROLLBACK")],
        _ => one("1"),
    }
}

#[test]
fn pieces_of_any_size_give_the_same_run() {
    for mode_used in [Mode::Simple, Mode::Extended, Mode::Prepared] {
        for piece in [1, 2, 3, 7, 4096] {
            let script = "\\set a random(1, 1000)\nselect :a;\nselect 2 as b \\gset\nselect :b;";
            let mut server = FakePostgres::new(|_, sql: &str| {
                if sql.contains("as b") {
                    vec![Answer::Rows(vec!["b"], vec![vec![Some("42")]])]
                } else {
                    one("x")
                }
            });
            server.piece = piece;
            let measured = server.run(clients(&mode(mode_used), &[script], 3), 5, 1).unwrap();
            let totals = measured.totals();
            assert_eq!((totals.ok, totals.rows, totals.bytes), (15, 45, 60), "{mode_used:?} {piece}");
            assert_eq!(server.asked().iter().filter(|sql| **sql == "select 42;").count(), 15);
        }
    }
}

#[test]
fn prepared_statements_are_parsed_once_per_connection() {
    let script = "\\set a 5\nselect :a, ':a';\nselect :unset;";
    let (log, _) = play(&mode(Mode::Prepared), script, 3, |_, _| one("1"));
    let parsed: Vec<_> = log.iter().filter(|line| line.starts_with('P')).collect();
    assert_eq!(parsed, ["P P_0 select $1, '$2';", "P P_1 select $1;"]);
    assert!(log.contains(&"E select NULL;".to_owned()));
    let (log, _) = play(&mode(Mode::Extended), script, 3, |_, _| one("1"));
    assert_eq!(log.iter().filter(|line| line.starts_with("P ")).count(), 6);
}

#[test]
fn aset_takes_every_result_and_gset_the_last() {
    let script =
        "select 1 \\; select 2 \\aset\nselect :one, :two;\nselect 3 \\; select 4 \\gset p_\nselect :p_two;";
    let (log, measured) = play(&Options::default(), script, 1, |_, sql| {
        if sql.starts_with("select 1") || sql.starts_with("select 3") {
            vec![
                Answer::Rows(vec!["one"], vec![vec![Some("a")], vec![Some("b")]]),
                Answer::Rows(vec!["two"], vec![vec![Some("c")]]),
            ]
        } else {
            one("1")
        }
    });
    assert_eq!(measured.aborts, []);
    assert!(log.contains(&"Q select b, c;".to_owned()), "{log:?}");
    assert!(log.contains(&"Q select c;".to_owned()), "{log:?}");
}

/// The one client's reason to give up.
fn reason(options: &Options, script: &str, answer: impl FnMut(usize, &str) -> Vec<Answer>) -> String {
    let (_, measured) = play(options, script, 2, answer);
    measured.aborts.first().map(|abort| abort.message.clone()).unwrap_or_default()
}

#[test]
fn clients_give_up_in_pgbench_s_words() {
    let simple = Options::default();
    let syntax = |_: usize, sql: &str| match sql {
        "bad;" => vec![Answer::Error("42601", "syntax error at or near \"bad\"")],
        sql => usual(sql),
    };
    let cases = [
        (
            "select 1;\nbad;",
            "client 0 script 0 aborted in command 1 query 0: ERROR:  syntax error at or near \"bad\"",
        ),
        (
            "\\set x 1/0\nselect 1;",
            "division by zero\nclient 0 aborted in command 0 (set) of script 0; evaluation of meta-command failed",
        ),
        ("begin;", "client 0 aborted: end of script reached without completing the last transaction"),
        (
            "\\startpipeline\nselect 1;\n\\endpipeline",
            "client 0 aborted in command 0 (startpipeline) of script 0; cannot use pipeline mode with the simple query protocol",
        ),
    ];
    for (script, wanted) in cases {
        assert_eq!(reason(&simple, script, syntax), wanted);
    }
    let none = |_: usize, _: &str| vec![Answer::Rows(vec!["a"], vec![])];
    assert_eq!(
        reason(&simple, "select 1 as a \\gset", none),
        "client 0 script 0 command 0 query 0: expected one row, got 0"
    );
    let copy = |_: usize, _: &str| vec![Answer::CopyIn];
    assert_eq!(reason(&simple, "copy t from stdin;", copy), "COPY is not supported in pgbench, aborting");
    let lost = |_: usize, _: &str| vec![Answer::Lost];
    let text = reason(&simple, "select 1;", lost);
    assert!(text.contains("perhaps the backend died while processing"), "{text}");
    let killed = |_: usize, _: &str| {
        vec![Answer::Fatal("57P01", "terminating connection due to administrator command")]
    };
    assert_eq!(
        reason(&simple, "select 1;", killed),
        "client 0 script 0 aborted in command 0 query 0: FATAL:  terminating connection due to administrator command"
    );
}

#[test]
fn a_retry_draws_the_same_numbers() {
    let options = Options { max_tries: 3, ..Options::default() };
    let script = "\\set a random(1, 1000000)\nbegin;\nupdate t set a = :a;\ncommit;";
    let mut failures = 0;
    let (log, measured) = play(&options, script, 1, |_, sql| {
        if sql.starts_with("update") && failures < 2 {
            failures += 1;
            return vec![Answer::Error("40001", "could not serialize access")];
        }
        usual(sql)
    });
    let updates: Vec<_> = log.iter().filter(|line| line.starts_with("Q update")).collect();
    assert_eq!(updates.len(), 3);
    assert!(updates.iter().all(|update| *update == updates[0]), "{updates:?}");
    assert_eq!(log.iter().filter(|line| *line == "Q ROLLBACK").count(), 2);
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.failed, totals.retried, totals.retries), (1, 0, 1, 2));
}

#[test]
fn the_last_try_counts_as_a_failure_of_its_kind() {
    let options = Options { max_tries: 2, ..Options::default() };
    let (_, measured) =
        play(&options, "update t;", 4, |_, _| vec![Answer::Error("40P01", "deadlock detected")]);
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.failed, totals.deadlock_failures, totals.retries), (0, 4, 4, 4));
    assert_eq!(measured.aborts, []);
}

#[test]
fn nothing_is_retried_behind_the_latency_limit() {
    let options = Options { max_tries: 0, latency_limit_ms: Some(25.0), ..Options::default() };
    let slow = |_: usize, _: &str| vec![Answer::After(10_000_000), Answer::Error("40001", "again")];
    let (_, measured) = play(&options, "update t;", 1, slow);
    let totals = measured.totals();
    assert_eq!((totals.failed, totals.retries), (1, 2));
}

#[test]
fn other_errors_are_counted_when_asked_for() {
    let options = Options { continue_on_error: true, max_tries: 3, ..Options::default() };
    let (_, measured) = play(&options, "update t;", 3, |_, _| vec![Answer::Error("23505", "duplicate key")]);
    let totals = measured.totals();
    assert_eq!((totals.failed, totals.serialization_failures, totals.retries), (3, 0, 0));
    assert_eq!(measured.statements[0].failures, 3);
}

#[test]
fn every_transaction_has_a_connection_of_its_own() {
    let options = Options { reconnect: true, ..Options::default() };
    let (log, measured) = play(&options, "select 1;", 3, |_, _| one("1"));
    assert_eq!(log.iter().filter(|line| *line == "C").count(), 3, "{log:?}");
    assert_eq!(log.iter().filter(|line| *line == "X").count(), 2, "{log:?}");
    assert_eq!(measured.totals().ok, 3);
    assert_eq!(measured.reconnections, 2);
}

#[test]
fn a_pipeline_is_sent_at_once() {
    for options in [mode(Mode::Extended), mode(Mode::Prepared)] {
        let script =
            "\\startpipeline\nselect 1;\nselect 2;\n\\syncpipeline\nselect 3;\n\\endpipeline\nselect 4;";
        let (log, measured) = play(&options, script, 2, |_, _| one("1"));
        let order: String =
            log.iter().filter_map(|line| line.chars().next()).filter(|c| "ES".contains(*c)).collect();
        assert_eq!(order, "EESESESEESESES", "{log:?}");
        assert_eq!(measured.totals().rows, 8);
    }
}

#[test]
fn an_error_in_a_pipeline_skips_to_its_end() {
    let options = Options { continue_on_error: true, ..mode(Mode::Prepared) };
    let script = "\\startpipeline\nselect 1;\nselect 2;\n\\endpipeline";
    let mut failed = false;
    let (log, measured) = play(&options, script, 2, |_, sql| {
        if sql == "select 1;" && !failed {
            failed = true;
            return vec![Answer::Error("22012", "division by zero")];
        }
        one("1")
    });
    assert_eq!((measured.totals().failed, measured.totals().ok), (1, 1));
    let parsed: Vec<_> = log.iter().filter(|line| line.starts_with("P ")).collect();
    assert_eq!(
        parsed,
        ["P P_0 select 1;", "P P_1 select 2;"],
        "the second one was skipped at first: {log:?}"
    );
}

#[test]
fn sleeping_takes_its_time_and_conditions_choose() {
    let script = "\\if 1 > 2\nselect 1;\n\\elif true\n\\sleep 20 ms\nselect 2;\n\\else\nselect 3;\n\\endif";
    let (log, measured) = play(&Options::default(), script, 1, |_, _| one("1"));
    assert_eq!(log, ["C", "Q select 2;"]);
    let slept = measured.statements[3].latency.max_ns().unwrap_or(0);
    assert!((20_000_000..21_000_000).contains(&slept), "{slept}");
}

#[test]
fn scripts_are_chosen_by_weight_from_the_thread_s_stream() {
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    let measured = server.run(clients(&Options::default(), &["select 1;", "select 2;"], 4), 250, 2).unwrap();
    let counts: Vec<_> = measured.scripts.iter().map(|script| script.counts.ok).collect();
    assert_eq!(counts.iter().sum::<u64>(), 1000);
    assert!(counts.iter().all(|count| (400..600).contains(count)), "{counts:?}");
}

#[test]
fn debug_and_the_automatic_variables() {
    let script = "\\set x debug(:client_id + :scale)\nselect :random_seed;";
    let (log, measured) = play(&Options::default(), script, 1, |_, _| one("1"));
    assert_eq!(measured.messages, ["debug(script=0,command=1): int 1"]);
    assert_eq!(log[1], "Q select 7;");
}
