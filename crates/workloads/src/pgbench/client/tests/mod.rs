//! Clients against a simulated server.

mod drop_in;
mod hosts;
mod losses;
mod messages;
mod pipelines;
mod preparing;
mod retries;
mod rows;
mod shells;
mod users;

use engine::EngineResult;

use crate::pgbench::{DropInOptions, Pgbench, PgbenchOptions, QueryProtocol, ScriptSource};
use crate::place::Places;
use crate::testing::{AnswerPart, FakePostgres, MessageLog, connect, plan};
use crate::workload::{ClientWorkload, Clients, Workload};

fn mode(mode: QueryProtocol) -> PgbenchOptions {
    PgbenchOptions { mode, ..PgbenchOptions::default() }
}

/// `script0`, `script1` and so on, alike in weight.
fn sources(scripts: &[&str]) -> Vec<ScriptSource> {
    let named = (0..).zip(scripts);
    named.map(|(number, text)| source(&format!("script{number}"), text)).collect()
}

fn source(name: &str, text: &str) -> ScriptSource {
    ScriptSource::Text { name: name.to_owned(), text: text.as_bytes().to_vec(), weight: 1 }
}

fn load(count: usize) -> Clients {
    Clients { count, threads: 1, seed: 7, statements: true }
}

fn places() -> Places {
    Places::from(connect())
}

fn clients(options: &PgbenchOptions, scripts: &[&str], count: usize) -> Vec<Box<dyn engine::Client>> {
    let workload = Pgbench::with_scripts(options, &sources(scripts)).unwrap();
    let places = places();
    workload.clients(&places, load(count)).unwrap()
}

/// Runs one client in a drop-in; its messages, and what was measured.
fn drop_in<F: FnMut(usize, &str) -> Vec<AnswerPart>>(
    options: &PgbenchOptions,
    drop_in_options: DropInOptions,
    script: &str,
    transactions: u64,
    server: &mut FakePostgres<F>,
) -> (Vec<String>, EngineResult) {
    let workload = Pgbench::with_drop_in_options(options, &sources(&[script]), drop_in_options).unwrap();
    let places = places();
    let clients = workload.clients(&places, load(1)).unwrap();
    let mut messages = MessageLog::default();
    let measured = server.run_plan(clients, &plan(transactions, 1), &mut messages).unwrap();
    (messages.0, measured)
}

/// The drop-in's output for one script and one transaction.
fn messages_of(
    options: &PgbenchOptions,
    script: &str,
    answer: impl FnMut(usize, &str) -> Vec<AnswerPart>,
) -> Vec<String> {
    drop_in(options, DropInOptions::default(), script, 1, &mut FakePostgres::new(answer)).0
}

/// Runs one client on one script for this many transactions; returns the queries, and what was measured.
fn play(
    options: &PgbenchOptions,
    script: &str,
    transactions: u64,
    answer: impl FnMut(usize, &str) -> Vec<AnswerPart>,
) -> (Vec<String>, EngineResult) {
    let mut server = FakePostgres::new(answer);
    let measured = server.run(clients(options, &[script], 1), transactions, 1).unwrap();
    (server.log.iter().map(|line| without_random(line)).collect(), measured)
}

/// A line of the log without the random part of a statement's name.
fn without_random(line: &str) -> String {
    match line.strip_prefix("P pgdyno_").and_then(|rest| rest.split_once('_')) {
        Some((_, rest)) => format!("P pgdyno_*_{rest}"),
        None => line.to_owned(),
    }
}

fn one(value: &'static str) -> Vec<AnswerPart> {
    vec![AnswerPart::Rows(vec!["one"], vec![vec![Some(value)]])]
}

/// The usual answers: transactions, and a row for everything else.
fn usual(sql: &str) -> Vec<AnswerPart> {
    match sql.to_ascii_lowercase().trim_end_matches(';') {
        "begin" => vec![AnswerPart::Done("BEGIN")],
        "commit" | "end" => vec![AnswerPart::Done("COMMIT")],
        "rollback" => vec![AnswerPart::Done("ROLLBACK")],
        _ => one("1"),
    }
}

#[test]
fn pieces_of_any_size_give_the_same_run() {
    for mode_used in [QueryProtocol::Simple, QueryProtocol::Extended, QueryProtocol::Prepared] {
        for piece in [1, 2, 3, 7, 4096] {
            let script = "\\set a random(1, 1000)\nselect :a;\nselect 2 as b \\gset\nselect :b;";
            let mut server = FakePostgres::new(|_, sql: &str| {
                if sql.contains("as b") {
                    vec![AnswerPart::Rows(vec!["b"], vec![vec![Some("42")]])]
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
    let script = "\\set a 5\nselect :a, :a;\nselect :unset;";
    let (log, _) = play(&mode(QueryProtocol::Prepared), script, 3, |_, _| one("1"));
    let parsed: Vec<_> = log.iter().filter(|line| line.starts_with('P')).collect();
    assert_eq!(parsed, ["P pgdyno_*_0 select $1, $2;", "P pgdyno_*_1 select $1;"]);
    assert!(log.contains(&"E select NULL;".to_owned()));
    let (log, _) = play(&mode(QueryProtocol::Extended), script, 3, |_, _| one("1"));
    assert_eq!(log.iter().filter(|line| line.starts_with("P ")).count(), 6);
}

#[test]
fn aset_takes_every_result_and_gset_the_last() {
    let script =
        "select 1 \\; select 2 \\aset\nselect :one, :two;\nselect 3 \\; select 4 \\gset p_\nselect :p_two;";
    let (log, measured) = play(&PgbenchOptions::default(), script, 1, |_, sql| {
        if sql.starts_with("select 1") || sql.starts_with("select 3") {
            vec![
                AnswerPart::Rows(vec!["one"], vec![vec![Some("a")], vec![Some("b")]]),
                AnswerPart::Rows(vec!["two"], vec![vec![Some("c")]]),
            ]
        } else {
            one("1")
        }
    });
    assert_eq!(measured.aborts, []);
    assert!(log.contains(&"Q select b, c;".to_owned()), "{log:?}");
    assert!(log.contains(&"Q select c;".to_owned()), "{log:?}");
}

#[test]
fn sleeping_takes_its_time_and_conditions_choose() {
    let script = "\\if 1 > 2\nselect 1;\n\\elif true\n\\sleep 20 ms\nselect 2;\n\\else\nselect 3;\n\\endif";
    let (log, measured) = play(&PgbenchOptions::default(), script, 1, |_, _| one("1"));
    assert_eq!(log, ["C", "Q select 2;"]);
    let slept = measured.statements[3].latency.max_ns().unwrap_or(0);
    assert!((20_000_000..21_000_000).contains(&slept), "{slept}");
}

#[test]
fn scripts_are_chosen_by_weight_from_the_thread_s_stream() {
    let mut server = FakePostgres::new(|_, _: &str| one("1"));
    let measured =
        server.run(clients(&PgbenchOptions::default(), &["select 1;", "select 2;"], 4), 250, 2).unwrap();
    let counts: Vec<_> = measured.scripts.iter().map(|script| script.counts.ok).collect();
    assert_eq!(counts.iter().sum::<u64>(), 1000);
    assert!(counts.iter().all(|count| (400..600).contains(count)), "{counts:?}");
}

#[test]
fn debug_and_the_automatic_variables() {
    let script = "\\set x debug(:client_id + :scale)\nselect :random_seed;";
    let (log, measured) = play(&PgbenchOptions::default(), script, 1, |_, _| one("1"));
    assert_eq!(measured.messages, ["debug(script=0,command=1): int 1"]);
    assert_eq!(log[1], "Q select 7;");
}
