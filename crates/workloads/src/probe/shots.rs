//! Shots: fixed work that is repeated, with the server's clock read after each.
//!
//! All shots are in one message: no network, no client and no other statement lies between two of them, and a
//! pooler may send every message to another server process. A message reads the clock (`:clock_us`) into
//! columns: each `ended_us` ends a shot, which began with the clock read before it. The first one of a
//! message, or a `started_us`, only begins one.

use std::time::Duration;

use protocol::postgres::sql::{ResultSet, Sql, SqlError, long};
use spec::Error;

use crate::error;
use crate::jobs::BoxedSql;

/// Why a figure is not available when there was too little time.
pub(super) const NOT_ONE: &str = "cut: not one shot came to its end in time";
/// The server's clock, µs.
pub(super) const CLOCK_US: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
/// Makes the cost of a query the same on every server: no compilation, no parallel workers, no names of
/// others.
const FIXED: &str = "SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL jit = off; \
     SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL max_parallel_maintenance_workers = 0";

/// A connection, and whether it may write.
pub(super) struct ProbeSession {
    sql: BoxedSql,
    read_only: bool,
}

impl ProbeSession {
    pub(super) fn new(sql: BoxedSql, read_only: bool) -> Self {
        Self { sql, read_only }
    }

    /// The connection itself, for statements that cannot run in a transaction.
    pub(super) fn sql(&mut self) -> &mut dyn Sql {
        &mut *self.sql
    }

    /// Results of statements in one transaction and one message, each with the timeout `most`.
    pub(super) fn ask(&mut self, statements: &str, most: Duration) -> Result<Vec<ResultSet>, SqlError> {
        let begin = if self.read_only { "BEGIN READ ONLY" } else { "BEGIN" };
        let bound = most.as_millis().max(1);
        // Their last line may be a comment.
        let text = format!("{begin}; SET LOCAL statement_timeout = {bound}; {FIXED}; {statements}\n; COMMIT");
        let done = long(&mut *self.sql).query(&text);
        if done.as_ref().is_err_and(|error| error.sqlstate.is_some()) {
            // The first error explains more than a failed rollback.
            let _ = self.sql.execute("ROLLBACK");
        }
        Ok(done?.into_iter().filter(|set| !set.columns.is_empty()).collect())
    }

    /// The clock readings of a message, one list per sequence without gaps.
    pub(super) fn clocks(&mut self, message: &ProbeMessage) -> Result<Vec<Vec<i64>>, Error> {
        let sets =
            self.ask(&message.statements, message.bound).map_err(error::sql_error(message.doing.as_str()))?;
        clocks(&sets, message)
    }
}

/// Statements with their values and limits.
#[derive(Debug, Clone)]
pub(super) struct ProbeMessage {
    /// In words, for errors.
    pub(super) doing: String,
    pub(super) statements: String,
    /// The required result of each shot.
    pub(super) gives: Option<String>,
    /// Timeout of a statement.
    pub(super) bound: Duration,
}

/// The guard: checks that each shot returned the required result.
fn clocks(sets: &[ResultSet], message: &ProbeMessage) -> Result<Vec<Vec<i64>>, Error> {
    let mut found: Vec<Vec<i64>> = Vec::new();
    for set in sets {
        let at = |name: &str| set.columns.iter().position(|column| column == name);
        let (gives, ended) = (at("gives"), at("ended_us"));
        let Some(clock) = ended.or_else(|| at("started_us")) else { continue };
        if ended.is_none() || found.is_empty() {
            found.push(Vec::new());
        }
        for row in &set.rows {
            let value = |column: usize| row.get(column).and_then(Option::as_deref);
            if let (Some(column), Some(wanted)) = (gives, &message.gives)
                && value(column) != Some(wanted)
            {
                return Err(error::answer(&message.doing, wanted, value(column).unwrap_or("NULL")));
            }
            let now: Option<i64> = value(clock).and_then(|now| now.parse().ok());
            found.last_mut().expect("pushed above").extend(now);
        }
    }
    Ok(found)
}

/// One shot: its end, counted from the first, and its duration, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shot {
    pub(super) at_us: i64,
    pub(super) us: f64,
}

/// The shots between successive ends; none where the server's clock was set back.
pub(super) fn between(ends: &[i64]) -> Vec<Shot> {
    let first = ends.first().copied().unwrap_or_default();
    let pairs = ends.windows(2).map(|pair| (pair[1] - first, pair[1] - pair[0]));
    pairs.filter(|(_, us)| *us > 0).map(|(at_us, us)| Shot { at_us, us: us as f64 }).collect()
}

/// The server's error, shortened for people.
pub(super) fn reason(error: &Error) -> String {
    let text = match error.cause::<SqlError>() {
        Some(error) if error.is("57014") => NOT_ONE,
        Some(error) => error.text.lines().next().unwrap_or_default(),
        None => return error.to_string(),
    };
    let rest = text.split_once(":  ").map_or(text, |(_, rest)| rest);
    rest.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shots_lie_between_ends() {
        let shot = |at_us, us| Shot { at_us, us };
        assert_eq!(between(&[]), []);
        assert_eq!(between(&[100]), []);
        assert_eq!(between(&[100, 110, 105, 125]), [shot(10, 10.0), shot(25, 20.0)]);
    }

    fn set(columns: &[&str], rows: &[&[&str]]) -> ResultSet {
        ResultSet {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: rows
                .iter()
                .map(|row| row.iter().map(|value| Some((*value).to_owned())).collect())
                .collect(),
            types: Vec::new(),
            tag: String::new(),
        }
    }

    fn message() -> ProbeMessage {
        ProbeMessage {
            doing: "counting".to_owned(),
            statements: String::new(),
            gives: Some("1".to_owned()),
            bound: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_shot_that_gives_anything_else_is_no_shot() {
        let shots = |second| set(&["shot", "gives", "ended_us"], &[&["0", "1", "17"], &["1", second, "18"]]);
        assert_eq!(clocks(&[shots("1")], &message()).unwrap(), [[17, 18]]);
        let error = clocks(&[shots("2")], &message()).unwrap_err();
        assert_eq!(error.to_string(), "while counting: the server answered 2 where it must be 1");
    }

    #[test]
    fn a_clock_that_is_read_before_the_work_begins_a_shot() {
        let sets = [
            set(&["x"], &[&["4"]]),
            set(&["started_us"], &[&["10"]]),
            set(&["ended_us"], &[&["15"]]),
            set(&["started_us"], &[&["30"]]),
            set(&["ended_us"], &[&["36"]]),
        ];
        assert_eq!(clocks(&sets, &message()).unwrap(), [[10, 15], [30, 36]]);
    }

    #[test]
    fn reasons_are_short() {
        let sql = |sqlstate: &str, text: &str| {
            error::sql_error("x")(SqlError { sqlstate: Some(sqlstate.into()), text: text.into() })
        };
        assert_eq!(
            reason(&sql("42501", "ERROR:  permission denied for schema x\nLINE 1: …")),
            "permission denied for schema x"
        );
        assert_eq!(reason(&sql("57014", "ERROR:  canceling statement")), NOT_ONE);
    }
}
