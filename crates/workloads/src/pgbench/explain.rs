//! Explains each query of a sample of transactions, in the clients' form: with variables substituted, or
//! prepared with parameters.
//!
//! The same transactions as those whose answers are compared, in a separate read-only connection.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use protocol::postgres::sql::{ResultSet, Sql, SqlError, quote_literal};
use script::{Capture, Script, Statement, Variables};
use spec::{Error, StatementPlan};

use super::options::QueryProtocol;
use super::prepare::PreparedScripts;
use super::trial::{AsWritten, Asking, FailedCommand, Trial, pasted};
use crate::answers::SAMPLE;
use crate::check_time::CheckTime;
use crate::error;
use crate::explain::{CUSTOM_PLANS, Session, ShortSamples, TIMED_OUT, Unexplained, why_not_explained};
use crate::plans::SamplePlans;

/// Explains the scripts. The connection cannot be used for anything else afterwards.
///
/// # Errors
/// When the connection fails; the server's refusals are part of the result.
pub(super) fn explain(
    program: &PreparedScripts,
    sql: &mut dyn Sql,
    scale: u64,
    seed: u64,
    time: CheckTime<'_>,
) -> Result<SamplePlans, Error> {
    let session = match Session::open(sql, time) {
        Ok(session) => session,
        Err(Unexplained::Server(error)) => return Err(error::sql_error("preparing to explain")(error)),
        Err(why) => return Ok(SamplePlans::not(why.to_string())),
    };
    let mut explained = SamplePlans::default();
    if let Some(why) = session.why_no_functions() {
        explained.miss(why.to_owned());
    }
    let mut explaining = Explaining {
        mode: program.options.mode,
        session,
        prepared: BTreeSet::new(),
        script: String::new(),
        draw: 0,
        transaction: Vec::new(),
        explained,
        short: ShortSamples::default(),
        is_time_up: false,
    };
    let scripts = program.scripts.scripts().iter().zip(program.scripts.weights());
    let scripts: Vec<&Script> =
        scripts.filter(|(_, weight)| **weight > 0).map(|(script, _)| script).collect();
    for (at, script) in scripts.iter().enumerate() {
        explaining.sample(program, script, sql, (scale, seed), (time, scripts.len() - at))?;
    }
    if let Some(why) = explaining.short.words(time) {
        explaining.explained.miss(why);
    }
    Ok(explaining.explained)
}

/// The plans so far.
struct Explaining<'t> {
    mode: QueryProtocol,
    session: Session<'t>,
    /// Numbers of the statements that this session has prepared.
    prepared: BTreeSet<usize>,
    script: String,
    draw: u32,
    /// Plans of the current transaction, with the server's answers: they count when it has finished.
    transaction: Vec<(StatementPlan, String)>,
    explained: SamplePlans,
    short: ShortSamples,
    /// The current script takes longer than the time that is left.
    is_time_up: bool,
}

impl Explaining<'_> {
    /// The transactions of one script, until they take its share of the time: that of the next of so many scripts.
    fn sample(
        &mut self,
        program: &PreparedScripts,
        script: &Script,
        sql: &mut dyn Sql,
        (scale, seed): (u64, u64),
        (time, scripts): (CheckTime<'_>, usize),
    ) -> Result<(), Error> {
        self.script.clone_from(&script.name);
        let share = time.share(scripts);
        self.is_time_up = false;
        let mut last = Duration::ZERO;
        for draw in 0..SAMPLE {
            if time.is_over() || draw > 0 && !share.allows(last) {
                self.short.add(&script.name, draw, time);
                break;
            }
            self.draw = draw as u32;
            let begun = Instant::now();
            let done = Trial::new(program, scale, (seed, draw)).run(script, sql, self);
            let plans = std::mem::take(&mut self.transaction);
            if let Err(error) = done {
                // A script may have left a transaction open, or failed in one.
                let _ = sql.execute("ROLLBACK");
                if self.is_time_up || time.is_over() && is_timed_out(&error) {
                    self.short.add(&script.name, draw, time);
                    return Ok(());
                }
                return self.stopped(error, draw);
            }
            for (plan, json) in plans {
                self.explained.add(plan, json);
            }
            let _ = sql.take_notices();
            last = begun.elapsed();
        }
        // The next script begins outside of a transaction.
        let _ = sql.execute("ROLLBACK");
        let _ = sql.take_notices();
        Ok(())
    }

    /// Records why plans are missing when a transaction did not finish.
    fn stopped(&mut self, error: Error, draw: u64) -> Result<(), Error> {
        let Some(FailedCommand { file, line, problem, sqlstate: Some(state), .. }) = error.attached() else {
            return Err(error);
        };
        let why = why_not_explained(file, *line, state, problem, draw);
        self.explained.miss(why);
        Ok(())
    }

    fn query(&mut self, sql: &mut dyn Sql, query: &str, line: usize) -> Result<(), SqlError> {
        match self.session.explain(sql, query) {
            Ok((plan, json)) => {
                let (script, line) = (self.script.clone(), u32::try_from(line).unwrap_or(u32::MAX));
                self.transaction.push((StatementPlan { script, line, draw: self.draw, ..plan }, json));
            }
            Err(Unexplained::Server(error)) => return Err(error),
            Err(why @ Unexplained::TimeUp) => {
                self.is_time_up = true;
                return Err(SqlError { sqlstate: Some(TIMED_OUT.to_owned()), text: why.to_string() });
            }
            Err(why) => self.explained.miss(format!("{}, line {line}: {why}", self.script)),
        }
        Ok(())
    }

    /// The statement in the clients' form: substituted, or prepared and executed with its parameters.
    fn as_the_clients(
        &mut self,
        sql: &mut dyn Sql,
        statement: &Statement,
        variables: &Variables,
    ) -> Result<String, SqlError> {
        if self.mode == QueryProtocol::Simple {
            return Ok(pasted(statement, variables));
        }
        let (name, values) = (format!("pgdyno_{}", statement.number), parameters(statement, variables));
        let (types, values) = match values.len() {
            0 => (String::new(), String::new()),
            count => (format!("({})", vec!["unknown"; count].join(", ")), format!("({})", values.join(", "))),
        };
        let execute = format!("EXECUTE {name}{values}");
        let known = !self.prepared.insert(statement.number);
        if known && self.mode == QueryProtocol::Extended {
            // The unnamed statement is parsed again each time, and always gets a custom plan.
            sql.execute(&format!("DEALLOCATE {name}"))?;
        }
        if !known || self.mode == QueryProtocol::Extended {
            let text = String::from_utf8_lossy(statement.extended_text());
            sql.execute(&format!("PREPARE {name}{types} AS {text}"))?;
        }
        if !known && self.mode == QueryProtocol::Prepared {
            // Past the switch to a generic plan, as clients are in a measured run.
            for _ in 0..CUSTOM_PLANS {
                sql.execute(&format!("EXPLAIN {execute}"))?;
            }
        }
        Ok(execute)
    }
}

fn is_timed_out(error: &Error) -> bool {
    error.attached::<FailedCommand>().is_some_and(|failed| failed.sqlstate.as_deref() == Some(TIMED_OUT))
}

impl Asking for Explaining<'_> {
    fn ask(
        &mut self,
        sql: &mut dyn Sql,
        statement: &Statement,
        variables: &Variables,
        line: usize,
    ) -> Result<Vec<ResultSet>, SqlError> {
        let several = statement.parts > 1;
        if several || !is_query(statement.text()) {
            if !is_of_transactions(statement.text()) || several {
                let what = if several { "several statements sent as one" } else { "no query" };
                self.explained.miss(format!("{}, line {line}: {what}", self.script));
            }
            return AsWritten.ask(sql, statement, variables, line);
        }
        let query = self.as_the_clients(sql, statement, variables)?;
        self.query(sql, &query, line)?;
        match statement.capture {
            Capture::None => Ok(Vec::new()),
            // The script continues with its result.
            _ => AsWritten.ask(sql, statement, variables, line),
        }
    }
}

/// Each parameter as a literal; NULL where its variable is unset.
fn parameters(statement: &Statement, variables: &Variables) -> Vec<String> {
    let parameters = statement.parameters().iter().map(|slot| {
        let mut text = Vec::new();
        match variables.append_text(*slot, &mut text) {
            true => quote_literal(&String::from_utf8_lossy(&text)),
            false => "NULL".to_owned(),
        }
    });
    parameters.collect()
}

fn is_query(text: &[u8]) -> bool {
    ["SELECT", "WITH", "VALUES", "TABLE"].iter().any(|word| first_word(text).eq_ignore_ascii_case(word))
}

/// Whether it only begins or ends a transaction, which needs no plan.
fn is_of_transactions(text: &[u8]) -> bool {
    let words = ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT"];
    words.iter().any(|word| first_word(text).eq_ignore_ascii_case(word))
}

fn first_word(text: &[u8]) -> String {
    let letters = text.iter().skip_while(|byte| byte.is_ascii_whitespace() || **byte == b'(');
    letters.take_while(|byte| byte.is_ascii_alphabetic()).map(|byte| char::from(*byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::READ_ONLY;
    use crate::pgbench::{PgbenchOptions, ScriptSource};
    use crate::testing::sql::FakeSql;

    const PLAN: &str = r#"[{"Plan": {"Node Type": "Seq Scan", "Relation Name": "t", "Actual Total Time": 1.5,
        "Actual Loops": 1, "Actual Rows": 3}, "Planning Time": 0.5, "Execution Time": 2.0}]"#;

    fn server(version: &str) -> FakeSql {
        let mut sql = FakeSql::new();
        sql.answer("SHOW server_version_num", &[&[version]]);
        sql.refuse("SET track_functions", "42501", "ERROR:  denied");
        sql
    }

    fn explained(script: &str, mode: QueryProtocol, sql: &mut FakeSql) -> SamplePlans {
        all_explained(&[("my.sql", script)], mode, sql)
    }

    fn all_explained(scripts: &[(&str, &str)], mode: QueryProtocol, sql: &mut FakeSql) -> SamplePlans {
        let source = |(name, text): &(&str, &str)| ScriptSource::Text {
            name: (*name).into(),
            text: (*text).into(),
            weight: 1,
        };
        let sources: Vec<ScriptSource> = scripts.iter().map(source).collect();
        let program =
            PreparedScripts::load(&PgbenchOptions { mode, ..PgbenchOptions::default() }, &sources).unwrap();
        let mut found = explain(&program, sql, 1, 1, CheckTime::default()).unwrap();
        // Once, whatever else there is.
        found.missing.retain(|why| !why.starts_with("functions are not told apart: denied"));
        found
    }

    #[test]
    fn each_query_is_explained_and_the_second_time_counts() {
        let mut sql = server("180001");
        sql.answer("TIMING OFF", &[&[r#"[{"Execution Time": 1.8}]"#]]);
        sql.answer("EXPLAIN", &[&[PLAN]]);
        sql.answer("SELECT 4", &[&["7"]]);
        let script = "\\set a 4\nBEGIN;\nSELECT :a AS b \\gset\nSELECT :b;\nEND;";
        let found = explained(script, QueryProtocol::Simple, &mut sql);
        assert_eq!((found.plans.len() as u64, found.missing.len()), (2 * SAMPLE, 0), "{:?}", found.missing);
        let second = &found.plans[3];
        assert_eq!((second.line, second.draw, second.untimed_ms), (4, 1, Some(1.8)));
        let asked: Vec<&str> = sql.asked[4..]
            .iter()
            .map(String::as_str)
            .filter(|asked| !asked.contains("statement_timeout"))
            .take(9)
            .collect();
        let options = "ANALYZE, VERBOSE, BUFFERS, FORMAT JSON, SERIALIZE";
        let asked_for = |query: &str| {
            let without = format!("EXPLAIN ({options}, TIMING OFF) {query}");
            [without.clone(), format!("EXPLAIN ({options}) {query}"), without]
        };
        let [first, second, third] = asked_for("SELECT 4 AS b ");
        assert_eq!(asked[..5], ["BEGIN;", &first, &second, &third, "SELECT 4 AS b "]);
        let [first, second, third] = asked_for("SELECT :b;");
        // The fake's column has another name.
        assert_eq!(asked[5..], [&first, &second, &third, "END;"]);
        assert!(sql.asked[1].contains("read_only = on") && sql.asked[1].contains("statement_timeout"));
    }

    #[test]
    fn prepared_statements_are_explained_past_their_switch() {
        for (mode, planned, prepared) in
            [(QueryProtocol::Prepared, CUSTOM_PLANS, 1), (QueryProtocol::Extended, 0, SAMPLE as usize)]
        {
            let mut sql = server("150002");
            sql.answer("EXPLAIN", &[&[PLAN]]);
            let found = explained("\\set a 4\nSELECT :a, :c;", mode, &mut sql);
            assert_eq!(found.plans.len() as u64, SAMPLE);
            let count = |begins: &str| sql.asked.iter().filter(|asked| asked.starts_with(begins)).count();
            assert_eq!(count("EXPLAIN EXECUTE pgdyno_0('4', NULL)"), planned, "{mode:?}");
            assert_eq!(count("PREPARE pgdyno_0(unknown, unknown) AS SELECT $1, $2;"), prepared, "{mode:?}");
            let explained = "EXPLAIN (ANALYZE, VERBOSE, BUFFERS, FORMAT JSON) EXECUTE pgdyno_0('4', NULL)";
            assert_eq!(count(explained) as u64, SAMPLE);
        }
    }

    #[test]
    fn what_cannot_be_explained_is_said() {
        let missing = |script: &str, refused: &str, state: &str, text: &str| {
            let mut sql = server("170004");
            sql.refuse(refused, state, text);
            sql.answer("EXPLAIN", &[&[PLAN]]);
            explained(script, QueryProtocol::Simple, &mut sql)
        };
        let of = |found: SamplePlans| (found.plans.len() as u64, found.missing.join("; "));
        let written = missing("SELECT 1;\nUPDATE t SET a = 1;", "UPDATE", READ_ONLY, "");
        assert_eq!(written.slowest, None);
        assert_eq!(of(written), (0, "my.sql, line 2: no query; my.sql writes".to_owned()));
        let slow = of(missing("SELECT 1;", "TIMING OFF", "57014", ""));
        assert_eq!(
            slow,
            (
                0,
                "my.sql: 0 transactions instead of 16: line 1 takes longer than statement_timeout".to_owned()
            )
        );
        let (_, refused) = of(missing("SELECT x;", "TIMING OFF", "42703", "ERROR:  no x"));
        assert_eq!(refused, "my.sql, line 1, cannot be explained: ERROR:  no x");
        let mut sql = server("170004");
        sql.answer("EXPLAIN", &[&[PLAN]]);
        let source = ScriptSource::Text { name: "a.sql".into(), text: "SELECT 1;".into(), weight: 1 };
        let program = PreparedScripts::load(&PgbenchOptions::default(), &[source]).unwrap();
        let [why] = &explain(&program, &mut sql, 1, 1, CheckTime::default()).unwrap().missing[..] else {
            panic!("one reason")
        };
        assert!(why.starts_with("functions are not told apart: denied; a superuser may"), "{why}");
        let joined = of(missing("SELECT 1 \\; SELECT 2;", "none", "", ""));
        assert_eq!(joined, (0, "my.sql, line 1: several statements sent as one".to_owned()));
        let old = explained("SELECT 1;", QueryProtocol::Simple, &mut server("120020"));
        assert_eq!(old, SamplePlans::not("plans are read from PostgreSQL 13 on"));
    }

    /// It was dropped together with a transaction that did not end, and any later one took its place.
    #[test]
    fn the_slowest_plan_is_kept_when_a_slower_one_did_not_count() {
        let mut sql = server("150002");
        sql.refuse("SELECT 'never'", "57014", "");
        for (query, ms) in [("SELECT 'fast'", "3.0"), ("SELECT 'slow'", "9.0"), ("SELECT 'last'", "0.1")] {
            sql.answer(query, &[&[&PLAN.replace("2.0", ms)]]);
        }
        let scripts = [
            ("fast.sql", "SELECT 'fast';"),
            ("slow.sql", "SELECT 'slow';\nSELECT 'never';"),
            ("last.sql", "SELECT 'last';"),
        ];
        let found = all_explained(&scripts, QueryProtocol::Simple, &mut sql);
        let wanted = "slow.sql: 0 transactions instead of 16: line 2 takes longer than statement_timeout";
        assert_eq!(found.missing, [wanted]);
        assert_eq!(found.plans.len() as u64, 2 * SAMPLE);
        let slowest = found.slowest.unwrap();
        assert_eq!(found.plans[slowest.plan].script, "fast.sql");
        assert!(slowest.json.contains("3.0"), "{}", slowest.json);
    }

    #[test]
    fn what_takes_longer_than_the_time_is_named_and_the_rest_is_explained() {
        let mut sql = server("150002");
        sql.answer("SELECT 'slow'", &[&[&PLAN.replace("2.0", "400000.0")]]);
        sql.answer("EXPLAIN", &[&[PLAN]]);
        let sources = [("fast.sql", "SELECT 1;"), ("slow.sql", "SELECT 'slow';")];
        let sources = sources.map(|(name, text)| ScriptSource::Text {
            name: name.into(),
            text: text.into(),
            weight: 1,
        });
        let program = PreparedScripts::load(&PgbenchOptions::default(), &sources).unwrap();
        let heard = std::cell::RefCell::new(Vec::new());
        let hears = |note| heard.borrow_mut().push(note);
        let hour = CheckTime::begin(std::time::Duration::from_secs(300), &hears);
        let found = explain(&program, &mut sql, 1, 1, hour).unwrap();
        assert_eq!(found.plans.len() as u64, SAMPLE);
        assert!(found.plans.iter().all(|plan| plan.script == "fast.sql"));
        assert_eq!(heard.take(), [crate::CheckNote::NotLooked("slow.sql".into())]);
    }
}
