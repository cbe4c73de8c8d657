//! Failed transactions: tried again, counted, or the end of their client.

use super::*;

#[test]
fn a_retry_draws_the_same_numbers() {
    let options = PgbenchOptions { max_tries: 3, ..PgbenchOptions::default() };
    let script = "\\set a random(1, 1000000)\nbegin;\nupdate t set a = :a;\ncommit;";
    let mut failures = 0;
    let (log, measured) = play(&options, script, 1, |_, sql| {
        if sql.starts_with("update") && failures < 2 {
            failures += 1;
            return vec![AnswerPart::Error("40001", "could not serialize access")];
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

/// 304 rows were "changed" by 97 transactions of two updates each.
#[test]
fn what_a_rolled_back_try_changed_is_not_counted() {
    let options = PgbenchOptions { max_tries: 3, ..PgbenchOptions::default() };
    let mut failures = 0;
    let (_, measured) =
        play(&options, "begin;\nupdate t set a = 1;\nupdate u set a = 1;\ncommit;", 1, |_, sql| {
            if sql.starts_with("update u") && failures < 2 {
                failures += 1;
                return vec![AnswerPart::Error("40P01", "deadlock detected")];
            }
            if sql.starts_with("update") { vec![AnswerPart::Done("UPDATE 1")] } else { usual(sql) }
        });
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.retries, totals.affected), (1, 2, 2));
}

#[test]
fn the_last_try_counts_as_a_failure_of_its_kind() {
    let options = PgbenchOptions { max_tries: 2, ..PgbenchOptions::default() };
    let (_, measured) =
        play(&options, "update t;", 4, |_, _| vec![AnswerPart::Error("40P01", "deadlock detected")]);
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.failed, totals.deadlock_failures, totals.retries), (0, 4, 4, 4));
    assert_eq!(measured.aborts, []);
}

#[test]
fn nothing_is_retried_behind_the_latency_limit() {
    let options = PgbenchOptions { max_tries: 0, latency_limit_ms: Some(25.0), ..PgbenchOptions::default() };
    let slow = |_: usize, _: &str| vec![AnswerPart::After(10_000_000), AnswerPart::Error("40001", "again")];
    let (_, measured) = play(&options, "update t;", 1, slow);
    let totals = measured.totals();
    assert_eq!((totals.failed, totals.retries), (1, 2));
}

#[test]
fn other_errors_are_counted_when_asked_for() {
    let options = PgbenchOptions { continue_on_error: true, max_tries: 3, ..PgbenchOptions::default() };
    let (_, measured) =
        play(&options, "update t;", 3, |_, _| vec![AnswerPart::Error("23505", "duplicate key")]);
    let totals = measured.totals();
    assert_eq!((totals.failed, totals.serialization_failures, totals.retries), (3, 0, 0));
    assert_eq!(measured.statements[0].failures, 3);
}

fn verbose() -> DropInOptions {
    DropInOptions { verbose_errors: true, ..DropInOptions::default() }
}

#[test]
fn errors_are_told_with_what_becomes_of_the_transaction() {
    let options = PgbenchOptions { max_tries: 2, latency_limit_ms: Some(100.0), ..PgbenchOptions::default() };
    let mut server = FakePostgres::new(|_, sql: &str| match sql {
        "update t;" => {
            vec![AnswerPart::After(10_000_000), AnswerPart::Error("40001", "could not serialize access")]
        }
        sql => usual(sql),
    });
    let (messages, measured) = drop_in(&options, verbose(), "begin;\nupdate t;\nend;", 1, &mut server);
    insta::assert_snapshot!(messages.join("\n"), @r"
    info: client 0 got an error in command 1 (SQL) of script 0; ERROR:  could not serialize access
    info: client 0 repeats the transaction after the error (try 1/2, 10.003% of the maximum time of tries was used)
    info: client 0 got an error in command 1 (SQL) of script 0; ERROR:  could not serialize access
    info: client 0 ends the failed transaction (try 2/2, 20.006% of the maximum time of tries was used)
    ");
    let update = &measured.statements[1];
    assert_eq!((update.latency.count(), update.retries, update.failures), (0, 1, 1));
    assert_eq!((measured.totals().failed, measured.totals().retries), (1, 1));
}

#[test]
fn without_a_bound_tries_are_only_numbered() {
    let options = PgbenchOptions { max_tries: 0, ..PgbenchOptions::default() };
    let mut left = 2;
    let mut server = FakePostgres::new(|_, sql: &str| {
        if sql == "update t;" && left > 0 {
            left -= 1;
            return vec![AnswerPart::Error("40P01", "deadlock detected")];
        }
        usual(sql)
    });
    let (messages, measured) = drop_in(&options, verbose(), "update t;", 1, &mut server);
    insta::assert_snapshot!(messages.join("\n"), @r"
    info: client 0 got an error in command 0 (SQL) of script 0; ERROR:  deadlock detected
    info: client 0 repeats the transaction after the error (try 1)
    info: client 0 got an error in command 0 (SQL) of script 0; ERROR:  deadlock detected
    info: client 0 repeats the transaction after the error (try 2)
    ");
    assert_eq!((measured.totals().ok, measured.totals().retries), (1, 2));
}

#[test]
fn errors_after_which_the_client_goes_on_are_a_kind_of_their_own() {
    let options = PgbenchOptions { continue_on_error: true, max_tries: 3, ..PgbenchOptions::default() };
    let mut server = FakePostgres::new(|_, sql: &str| match sql {
        "bad;" => vec![AnswerPart::Error("23505", "duplicate key")],
        sql => usual(sql),
    });
    let (messages, measured) = drop_in(&options, verbose(), "begin;\nbad;\nend;", 2, &mut server);
    insta::assert_snapshot!(messages.join("\n"), @r"
    info: client 0 got an error in command 1 (SQL) of script 0; ERROR:  duplicate key
    info: client 0 ends the failed transaction (try 1/3)
    info: client 0 got an error in command 1 (SQL) of script 0; ERROR:  duplicate key
    info: client 0 ends the failed transaction (try 1/3)
    ");
    assert_eq!(server.asked(), ["begin;", "bad;", "ROLLBACK", "begin;", "bad;", "ROLLBACK"]);
    assert_eq!((measured.totals().failed, measured.totals().retries), (2, 0));
}

#[test]
fn a_rollback_that_fails_ends_the_client() {
    let options = PgbenchOptions { max_tries: 3, ..PgbenchOptions::default() };
    for (last, wanted) in [
        (
            AnswerPart::Error("XX000", "no"),
            "abort: client 0 aborted while rolling back the transaction after an error; ERROR:  no",
        ),
        (
            AnswerPart::Lost,
            "abort: client 0 aborted while rolling back the transaction after an error; perhaps the backend died while processing",
        ),
    ] {
        let answer = |_: usize, sql: &str| match sql {
            "update t;" => vec![AnswerPart::Error("40001", "again")],
            "ROLLBACK" => vec![last.clone()],
            sql => usual(sql),
        };
        assert_eq!(messages_of(&options, "begin;\nupdate t;\nend;", answer), [wanted]);
    }
}

#[test]
fn a_connection_that_ends_with_a_retryable_error_is_not_retried() {
    let options = PgbenchOptions { max_tries: 3, ..PgbenchOptions::default() };
    let answer = |_: usize, _: &str| {
        vec![AnswerPart::Fatal("40001", "terminating connection due to conflict with recovery")]
    };
    assert_eq!(
        messages_of(&options, "select 1;", answer),
        [
            "abort: perhaps the backend died while processing\nclient 0 aborted while receiving the transaction status"
        ]
    );
}
