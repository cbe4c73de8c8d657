//! Statements that cannot be prepared.

use super::*;

/// A script of two statements, the second of which the server does not parse.
const SCRIPT: &str = "select 1;\nbad;";

fn run(
    options: &PgbenchOptions,
    script: &str,
    transactions: u64,
    known: &[&str],
) -> (Vec<String>, EngineResult) {
    let mut server = FakePostgres::new(|_, sql: &str| usual(sql));
    server.unparsable = vec!["bad"];
    server.known_already = known.iter().map(|name| (*name).to_owned()).collect();
    let measured = server.run(clients(options, &[script], 1), transactions, 1).unwrap();
    (server.log.iter().map(|line| without_random(line)).collect(), measured)
}

/// The client went on, and said what came of it: that a statement does not exist.
#[test]
fn a_statement_that_cannot_be_prepared_ends_the_client_with_the_first_error() {
    let (log, measured) = run(&mode(QueryProtocol::Prepared), SCRIPT, 3, &[]);
    assert_eq!(
        measured.aborts[0].to_string(),
        "client 0 script 0 aborted in command 1 query 0: ERROR:  syntax error"
    );
    assert_eq!(measured.aborts[0].code.as_deref(), Some("42601"));
    assert_eq!(log, ["C", "P pgdyno_*_0 select 1;", "S", "E select 1;", "S", "P pgdyno_*_1 bad;", "S", "X"]);
    let totals = measured.totals();
    assert_eq!((totals.processed(), totals.failed, totals.unfinished), (0, 1, 0));
}

/// The server had a statement of that name from another program, and it was measured in place of the script's own.
#[test]
fn a_statement_of_another_program_is_not_carried_out_in_place_of_the_script_s() {
    let (log, measured) = run(&mode(QueryProtocol::Prepared), "select 1;", 2, &["P_0"]);
    assert_eq!((measured.totals().ok, measured.aborts.len()), (2, 0));
    assert!(!log.iter().any(|line| line.contains("another program's")), "{log:?}");
}

#[test]
fn in_a_pipeline_too() {
    let script = "\\startpipeline\nselect 1;\nbad;\n\\endpipeline";
    let (log, measured) = run(&mode(QueryProtocol::Prepared), script, 3, &[]);
    assert!(measured.aborts[0].to_string().ends_with("ERROR:  syntax error"), "{}", measured.aborts[0]);
    assert!(!log.iter().any(|line| line.starts_with('E')), "nothing is carried out: {log:?}");
}

/// It counts as a failed transaction, and the next one tries again.
#[test]
fn where_clients_go_on_after_errors_it_fails_each_time() {
    let options = PgbenchOptions { continue_on_error: true, ..mode(QueryProtocol::Prepared) };
    for script in [SCRIPT, "begin;\nbad;\nend;"] {
        let (log, measured) = run(&options, script, 3, &[]);
        let totals = measured.totals();
        assert_eq!((totals.ok, totals.failed, measured.aborts.len()), (0, 3, 0), "{log:?}");
        assert_eq!(log.iter().filter(|line| line.ends_with(" bad;")).count(), 3, "{log:?}");
    }
}
