//! The server's counters of function calls and times during a statement, from its setting `track_functions`.
//!
//! They include functions in C, SQL and other languages (without internal ones) that expressions call, but
//! not the functions that aggregates call for each row, and not those of indexes.

use std::collections::BTreeMap;

use protocol::postgres::sql::{ResultSet, Sql, SqlError};

/// Calls of a function during one execution, times in ms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Calls {
    /// Without its schema.
    pub(super) name: String,
    pub(super) calls: u64,
    /// Including the functions that it called.
    pub(super) total_ms: f64,
    pub(super) self_ms: f64,
    pub(super) is_operator: bool,
}

/// The counters of the running transaction.
const COUNTED: &str = "SELECT f.funcname, f.calls, f.total_time, f.self_time, \
     EXISTS (SELECT FROM pg_catalog.pg_operator o WHERE o.oprcode = f.funcid), f.funcid \
     FROM pg_catalog.pg_stat_xact_user_functions f";

#[derive(Debug)]
pub(super) enum Counting {
    Always,
    /// By a setting, which otherwise has this value.
    Set {
        former: String,
    },
    /// Not possible, for this reason.
    Not(String),
}

impl Counting {
    /// Finds out what the session may do.
    pub(super) fn open(sql: &mut dyn Sql) -> Result<Self, SqlError> {
        let former = sql.scalar("SHOW track_functions")?.unwrap_or_else(|| "none".to_owned());
        if former == "all" {
            return Ok(Self::Always);
        }
        match sql.execute(&format!("SET track_functions = 'all'; SET track_functions = '{former}'")) {
            Ok(()) => Ok(Self::Set { former }),
            Err(error) if error.sqlstate.is_some() => Ok(Self::Not(why_not_counted(&error))),
            Err(error) => Err(error),
        }
    }

    /// A statement between two queries of the counters, as one message and so one transaction: between
    /// transactions the server may reset the counters. `None` where nothing is counted.
    pub(super) fn around(&self, statement: &str) -> Option<String> {
        match self {
            Self::Always => Some(format!("{COUNTED};\n{statement}\n;{COUNTED}")),
            // A failure undoes the setting, too.
            Self::Set { former } => Some(format!(
                "SET track_functions = 'all';{COUNTED};\n{statement}\n;{COUNTED};SET track_functions = '{former}'"
            )),
            Self::Not(_) => None,
        }
    }

    pub(super) fn why_not(&self) -> Option<&str> {
        match self {
            Self::Not(why) => Some(why),
            Self::Always | Self::Set { .. } => None,
        }
    }
}

fn why_not_counted(error: &SqlError) -> String {
    let reason = error.text.lines().next().unwrap_or_default().trim_start_matches("ERROR:").trim();
    let hint = match error.is(NO_PRIVILEGE) {
        true => "; a superuser may, and from PostgreSQL 15 on who has GRANT SET ON PARAMETER track_functions",
        false => "",
    };
    format!("functions are not told apart: {reason}{hint}")
}

/// SQLSTATE of a missing privilege.
const NO_PRIVILEGE: &str = "42501";

/// The result of the statement in [`Self::around`], and the functions it called; `None` for unexpected
/// answers.
pub(super) fn split_answers(answers: Vec<ResultSet>) -> Option<(ResultSet, Vec<Calls>)> {
    let mut answers = answers.into_iter().filter(|answer| !answer.columns.is_empty());
    let (before, answer, after) = (answers.next()?, answers.next()?, answers.next()?);
    let (before, after) = (by_oid(&before)?, by_oid(&after)?);
    let since = after.into_iter().filter_map(|(oid, mut calls)| {
        if let Some(before) = before.get(&oid) {
            calls.calls = calls.calls.saturating_sub(before.calls);
            calls.total_ms = (calls.total_ms - before.total_ms).max(0.0);
            calls.self_ms = (calls.self_ms - before.self_ms).max(0.0);
        }
        (calls.calls > 0).then_some(calls)
    });
    Some((answer, by_name(since)))
}

fn by_oid(answer: &ResultSet) -> Option<BTreeMap<String, Calls>> {
    let calls = answer.rows.iter().map(|row| {
        let [Some(name), Some(calls), Some(total), Some(own), operator, Some(oid)] = &row[..] else {
            return None;
        };
        let calls = Calls {
            name: name.clone(),
            calls: calls.parse().ok()?,
            total_ms: total.parse().ok()?,
            self_ms: own.parse().ok()?,
            is_operator: operator.as_deref() == Some("t"),
        };
        Some((oid.clone(), calls))
    });
    calls.collect()
}

/// Sums functions with the same name; operators separately.
fn by_name(all: impl Iterator<Item = Calls>) -> Vec<Calls> {
    let mut found: BTreeMap<(String, bool), Calls> = BTreeMap::new();
    for calls in all {
        match found.get_mut(&(calls.name.clone(), calls.is_operator)) {
            Some(sum) => {
                sum.calls += calls.calls;
                sum.total_ms += calls.total_ms;
                sum.self_ms += calls.self_ms;
            }
            None => drop(found.insert((calls.name.clone(), calls.is_operator), calls)),
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sql::FakeSql;

    fn set(rows: &[&[&str]]) -> ResultSet {
        let row = |row: &&[&str]| row.iter().map(|value| Some((*value).to_owned())).collect();
        ResultSet { columns: vec!["a".into()], rows: rows.iter().map(row).collect(), ..ResultSet::default() }
    }

    #[test]
    fn what_was_called_before_does_not_count_and_overloads_are_one() {
        let before = set(&[&["f", "2", "1.5", "1.0", "f", "10"], &["g", "1", "1", "1", "f", "12"]]);
        let after = set(&[
            &["f", "5", "3.5", "2.0", "f", "10"],
            &["f", "1", "0.5", "0.5", "f", "11"],
            &["g", "1", "1", "1", "f", "12"],
            &["overlaps", "9", "0.25", "0.25", "t", "13"],
        ]);
        let answers = vec![ResultSet::default(), before, set(&[&["plan"]]), after, ResultSet::default()];
        let (answer, calls) = split_answers(answers).unwrap();
        assert_eq!(answer.rows[0][0].as_deref(), Some("plan"));
        let wanted = [("f", 4, 2.5, 1.5, false), ("overlaps", 9, 0.25, 0.25, true)];
        let of = |calls: &Calls| (calls.calls, calls.total_ms, calls.self_ms, calls.is_operator);
        assert_eq!(calls.len(), wanted.len());
        for (calls, (name, count, total_ms, self_ms, operator)) in calls.iter().zip(wanted) {
            assert_eq!((calls.name.as_str(), of(calls)), (name, (count, total_ms, self_ms, operator)));
        }
        assert_eq!(split_answers(vec![set(&[]), set(&[])]), None);
    }

    #[test]
    fn who_may_not_count_is_told_so_and_who_always_does_sets_nothing() {
        let counting = |former: &str, refused: Option<(&str, &str)>| {
            let mut sql = FakeSql::new();
            sql.answer("SHOW track_functions", &[&[former]]);
            if let Some((state, text)) = refused {
                sql.refuse("SET track_functions", state, text);
            }
            Counting::open(&mut sql).unwrap()
        };
        let denied =
            (NO_PRIVILEGE, "ERROR:  permission denied to set parameter \"track_functions\"\nCONTEXT: x");
        let wanted = "functions are not told apart: permission denied to set parameter \"track_functions\"; a superuser may, \
                      and from PostgreSQL 15 on who has GRANT SET ON PARAMETER track_functions";
        let not = counting("none", Some(denied));
        assert_eq!((not.why_not(), not.around("SELECT 1")), (Some(wanted), None));
        let may = counting("pl", None).around("SELECT 1 -- one").unwrap();
        assert!(
            may.starts_with("SET track_functions = 'all';SELECT") && may.contains("-- one\n;SELECT"),
            "{may}"
        );
        assert!(may.ends_with(";SET track_functions = 'pl'"), "{may}");
        let always = counting("all", Some(denied)).around("SELECT 1").unwrap();
        assert!(always.starts_with("SELECT") && !always.contains("SET track"), "{always}");
    }
}
