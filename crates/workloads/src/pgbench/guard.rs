//! Executes each script once, outside the timed part, so that an error is shown with file, line and statement
//! instead of as a count of failures; and a sample of executions, to check that arms do the same.

use super::prepare::PreparedScripts;
use super::read_only::{NOT_ASKED, NOT_IN_A_TRANSACTION, ReadOnly};
use super::routes::a_replica_takes_no_writes;
use super::trial::{AsWritten, FailedCommand, Trial};
use crate::answers::{SAMPLE, Sampled, ScriptAnswers};
use crate::explain::READ_ONLY;
use crate::workload::Guarded;
use protocol::postgres::sql::Sql;
use spec::plan::topology::LoadTarget;
use spec::{Error, figures};

/// Which scripts are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tried {
    All,
    /// Scripts that go to a replica, where they can change nothing.
    OfReplicas,
}

/// Runs every script that can be chosen once, by the simple protocol and without its pauses.
///
/// # Errors
/// As [`Trial::run`].
pub(super) fn first_execution(
    program: &PreparedScripts,
    (primary, mut replica): (&mut dyn Sql, Option<&mut dyn Sql>),
    (scale, seed): (u64, u64),
    of: Tried,
) -> Result<Guarded, Error> {
    let mut guarded = Guarded::default();
    for (index, script) in program.scripts.scripts().iter().enumerate() {
        if program.scripts.weights().get(index).is_none_or(|weight| *weight == 0) {
            continue;
        }
        let on_replica = program.routes.target(index) == Some(LoadTarget::Replica);
        if of == Tried::OfReplicas && !on_replica {
            continue;
        }
        let sql: &mut dyn Sql = match replica.as_mut().filter(|_| on_replica) {
            Some(replica) => &mut **replica,
            None => &mut *primary,
        };
        let mut trial = Trial::new(program, scale, (seed, 0));
        if let Err(failed) = trial.run(script, sql, &mut AsWritten) {
            // Leaves no transaction open; outside of one it only causes a warning.
            let _ = sql.execute("ROLLBACK");
            return Err(if on_replica { of_replica(failed) } else { failed });
        }
        guarded.rows += trial.answer.rows;
        guarded.bytes += trial.answer.bytes;
        // Another draw may find something: the runs will show that.
        if trial.queries > 0 && trial.answer.rows == 0 {
            guarded.notes.push(format!("the first execution of {} returned no row", script.name));
        }
    }
    guarded.figures.set(figures::FIRST_EXECUTION_ROWS, guarded.rows as f64);
    Ok(guarded)
}

/// A script that a replica refuses because it writes.
fn of_replica(failed: Error) -> Error {
    match failed.attached() {
        Some(FailedCommand { sqlstate: Some(state), file, line, statement, .. }) if state == READ_ONLY => {
            a_replica_takes_no_writes(file, *line, statement)
        }
        _ => failed,
    }
}

/// Runs every script that can be chosen several times, without allowing writes. Each time has separate random
/// numbers, equal for equal seeds however many the scripts draw.
pub(super) fn sample(
    program: &PreparedScripts,
    sql: &mut dyn Sql,
    scale: u64,
    seed: u64,
) -> Result<Sampled, Error> {
    let answers = answers(program, sql, scale, seed);
    // A script may have left a transaction open; outside of one this only causes a warning.
    let _ = sql.execute("ROLLBACK");
    let _ = sql.take_notices();
    let error = match answers {
        Ok(answers) => return Ok(Sampled::Answers(answers)),
        Err(error) => error,
    };
    match error.attached() {
        Some(FailedCommand { sqlstate: Some(state), file, .. }) if state == READ_ONLY => {
            Ok(Sampled::NotTaken(format!("{file} writes")))
        }
        Some(FailedCommand { sqlstate: Some(state), file, line, problem, .. })
            if state == NOT_ASKED || NOT_IN_A_TRANSACTION.contains(&state.as_str()) =>
        {
            Ok(Sampled::NotTaken(format!(
                "{file}, line {line}, cannot be asked in a transaction of pgdyno's: {problem}"
            )))
        }
        _ => Err(error),
    }
}

fn answers(
    program: &PreparedScripts,
    sql: &mut dyn Sql,
    scale: u64,
    seed: u64,
) -> Result<Vec<ScriptAnswers>, Error> {
    let mut sampled = Vec::new();
    for (script, weight) in program.scripts.scripts().iter().zip(program.scripts.weights()) {
        if *weight == 0 {
            continue;
        }
        let mut answers = Vec::new();
        for draw in 0..SAMPLE {
            let mut trial = Trial::new(program, scale, (seed, draw));
            trial.run(script, sql, &mut ReadOnly::default())?;
            answers.push(trial.answer);
        }
        sampled.push(ScriptAnswers { script: script.name.clone(), answers });
    }
    Ok(sampled)
}

#[cfg(test)]
mod tests {
    use protocol::postgres::sql::{ResultSet, SqlError};

    use super::*;
    use crate::pgbench::{PgbenchOptions, ScriptSource};
    use crate::testing::sql::FakeSql;

    fn run(script: &str, sql: &mut FakeSql) -> Result<Guarded, String> {
        let text = script.as_bytes().to_vec();
        let source = ScriptSource::Text { name: "my.sql".into(), text, weight: 1 };
        let program = PreparedScripts::load(&PgbenchOptions::default(), &[source]).unwrap();
        first_execution(&program, (sql, None), (10, 1), Tried::All).map_err(|error| error.to_string())
    }

    #[test]
    fn a_script_runs_once_with_its_variables() {
        let mut sql = FakeSql::new();
        sql.answer("as n", &[&["4"]]);
        let script = "select :scale as n \\gset\n\\if :column0 > 3\n\\sleep 1 s\nselect :column0;\n\\else\nno;\n\\endif";
        let guarded = run(script, &mut sql).unwrap();
        assert_eq!(sql.asked, ["select 10 as n ", "select 4;"]);
        assert_eq!((guarded.rows, guarded.bytes), (1, 1));
    }

    #[test]
    fn a_script_that_finds_nothing_at_first_is_noted_and_not_judged_yet() {
        let mut sql = FakeSql::new();
        sql.answer("id = -1", &[]);
        let guarded = run("select id from orders where id = -1;", &mut sql).unwrap();
        assert_eq!(
            (guarded.notes.as_slice(), guarded.empty),
            (&["the first execution of my.sql returned no row".to_owned()][..], None)
        );
        assert!(run("do $$ begin end $$;", &mut FakeSql::new()).unwrap().notes.is_empty());
    }

    #[test]
    fn what_fails_is_shown_with_its_place() {
        let mut sql = FakeSql::new();
        sql.refuse("frm", "42703", "ERROR:  column \"frm\" does not exist");
        let message = run("select 1;\n-- a remark\nselect frm\n from t;", &mut sql).unwrap_err();
        insta::assert_snapshot!(message, @r#"
        my.sql, line 3: the first execution failed
        ERROR:  column "frm" does not exist
        statement: select frm
        "#);
        assert_eq!(sql.asked.last().map(String::as_str), Some("ROLLBACK"));
        let message = run("\\set x 1 / 0", &mut FakeSql::new()).unwrap_err();
        assert!(message.contains("line 1") && message.contains("division by zero"), "{message}");
        let message = run("select 1 \\gset", &mut FakeSql::new()).unwrap_err();
        assert!(message.contains("expected one row, got 0"), "{message}");
    }

    #[test]
    fn a_sample_cannot_write() {
        let sampled = |sql: &mut FakeSql| {
            let source = ScriptSource::Text { name: "my.sql".into(), text: b"select 1;".to_vec(), weight: 1 };
            let program = PreparedScripts::load(&PgbenchOptions::default(), &[source]).unwrap();
            sample(&program, sql, 1, 1).unwrap()
        };
        let mut sql = FakeSql::new();
        sql.answer("select 1", &[&["1"]]);
        let Sampled::Answers(scripts) = sampled(&mut sql) else { panic!("no answers") };
        let [ScriptAnswers { script, answers }] = &scripts[..] else { panic!("{scripts:?}") };
        assert_eq!((script.as_str(), answers.len() as u64, answers[0].rows), ("my.sql", SAMPLE, 1));
        assert_eq!(sql.asked[..3], ["BEGIN READ ONLY", "select 1;", "COMMIT"]);
        assert_eq!(sql.asked.last().unwrap(), "ROLLBACK");
        let mut sql = FakeSql::new();
        sql.refuse("select 1", READ_ONLY, "ERROR:  cannot execute INSERT in a read-only transaction");
        assert_eq!(sampled(&mut sql), Sampled::NotTaken("my.sql writes".to_owned()));
        assert_eq!(sql.asked.last().unwrap(), "ROLLBACK");
    }

    /// A setting of the session stayed on a pooler's connection, and the next client could not write.
    #[test]
    fn a_sample_leaves_nothing_in_its_session() {
        let mut sql = FakeSql::new();
        sql.answer("select", &[&["1"]]);
        let text = b"begin;\nselect 1;\nend;\nselect 2;".to_vec();
        let source = ScriptSource::Text { name: "my.sql".into(), text, weight: 1 };
        let program = PreparedScripts::load(&PgbenchOptions::default(), &[source]).unwrap();
        sample(&program, &mut sql, 1, 1).unwrap();
        let once = [
            "begin;",
            "SET TRANSACTION READ ONLY",
            "select 1;",
            "end;",
            "BEGIN READ ONLY",
            "select 2;",
            "COMMIT",
        ];
        assert_eq!(sql.asked[..7], once);
        let alone = |asked: &String| asked.starts_with("SET ") && !asked.starts_with("SET TRANSACTION");
        assert!(!sql.asked.iter().any(alone), "{:?}", sql.asked);
    }

    #[test]
    fn what_ends_our_transaction_is_not_sampled() {
        let source = ScriptSource::Text {
            name: "my.sql".into(),
            text: b"select 1 \\; commit \\; insert into t values (1);".to_vec(),
            weight: 1,
        };
        let program = PreparedScripts::load(&PgbenchOptions::default(), &[source]).unwrap();
        let mut sql = FakeSql::new();
        let Sampled::NotTaken(why) = sample(&program, &mut sql, 1, 1).unwrap() else {
            panic!("it was asked")
        };
        assert!(why.starts_with("my.sql, line 1, cannot be asked"), "{why}");
        assert_eq!(sql.asked, ["ROLLBACK"]);
    }

    #[test]
    fn a_server_that_went_away_is_no_fault_of_the_script() {
        struct Gone;
        impl Sql for Gone {
            fn query(&mut self, _: &str) -> Result<Vec<ResultSet>, SqlError> {
                Err(SqlError { sqlstate: None, text: "it has not answered".to_owned() })
            }

            fn copy_in(
                &mut self,
                _: &str,
                _: &mut dyn FnMut(&mut Vec<u8>) -> protocol::postgres::sql::Supply,
            ) -> Result<u64, SqlError> {
                Ok(0)
            }
        }
        let text = b"\\set x 1\nSELECT 1;\n".to_vec();
        let source = ScriptSource::Text { name: "my.sql".into(), text, weight: 1 };
        let program = PreparedScripts::load(&PgbenchOptions::default(), &[source]).unwrap();
        let error = first_execution(&program, (&mut Gone, None), (1, 1), Tried::All).unwrap_err();
        let words = "while running my.sql, line 2, for the first time: it has not answered";
        assert!(error.cause::<SqlError>().is_some() && error.to_string() == words, "{error}");
    }
}
