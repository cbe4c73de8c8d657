//! Shots: one query that does fixed work again and again until its time is over, and tells the server's clock after each.
//!
//! All of it is one message to the server: no network, no client and no other statement lies between two shots, and a pooler
//! may hand every message to another server process. How many there are is decided by the query itself, so that a
//! slow server takes no longer than a fast one.

use std::time::Duration;

use protocol::postgres::sql::{ResultSet, Sql, SqlError, long};

use crate::error::WorkloadError;
use crate::jobs::Connection;

/// The number of the last of as many shots as any query takes.
pub(super) const LAST: &str = "9999";
/// Why a figure is not available for which there was too little time.
pub(super) const NOT_ONE: &str = "cut: not one shot came to its end in time";
/// The server's clock, µs.
pub(super) const CLOCK_US: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
/// What makes the cost of a query the same on every server: no compilation, no helpers, no names of others.
const FIXED: &str = "SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL jit = off; \
     SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL max_parallel_maintenance_workers = 0";

/// A connection, and whether it may write.
pub(super) struct Session {
    sql: Connection,
    read_only: bool,
}

impl Session {
    pub(super) fn new(sql: Connection, read_only: bool) -> Self {
        Self { sql, read_only }
    }

    /// The connection itself, for what cannot stand in a transaction.
    pub(super) fn sql(&mut self) -> &mut dyn Sql {
        &mut *self.sql
    }

    /// Results of statements that stand in one transaction and one message; none of them takes longer than `most`.
    pub(super) fn ask(
        &mut self,
        settings: &str,
        work: &str,
        most: Duration,
    ) -> Result<Vec<ResultSet>, SqlError> {
        let begin = if self.read_only { "BEGIN READ ONLY" } else { "BEGIN" };
        let bound = most.as_millis().max(1);
        let text =
            format!("{begin}; SET LOCAL statement_timeout = {bound}; {FIXED}; {settings}{work}; COMMIT");
        let done = long(&mut *self.sql).query(&text);
        if done.as_ref().is_err_and(|error| error.sqlstate.is_some()) {
            // Best effort: the error says more than that of a connection which does not even roll back.
            let _ = self.sql.execute("ROLLBACK");
        }
        Ok(done?.into_iter().filter(|set| !set.columns.is_empty()).collect())
    }

    /// Ends of shots by the server's clock, µs; the first shot is there to begin with, and counts for nothing.
    pub(super) fn shots(&mut self, query: &Query<'_>) -> Result<Vec<i64>, WorkloadError> {
        // The last shot may begin just before the end.
        let most = query.time * 2 + Duration::from_secs(5);
        let sets = self.ask(query.settings, &query.text(), most).map_err(WorkloadError::sql(query.doing))?;
        ends(sets.last().unwrap_or(&ResultSet::default()), query)
    }
}

/// What is shot.
#[derive(Debug, Clone)]
pub(super) struct Query<'a> {
    /// In words, for errors.
    pub(super) doing: &'a str,
    /// `SET LOCAL …; ` that it needs.
    pub(super) settings: &'a str,
    /// An expression that does the work; `shot` is the number of the shot, and must be in it.
    pub(super) work: &'a str,
    /// What it gives each time.
    pub(super) gives: &'a str,
    /// What stands before the series of shots in FROM, e.g. values to work on.
    pub(super) from: &'a str,
    /// Highest number of a shot, an expression.
    pub(super) last: &'a str,
    /// No shot begins later.
    pub(super) time: Duration,
}

impl Query<'_> {
    pub(super) fn text(&self) -> String {
        let Self { work, from, last, .. } = self;
        let bound = self.time.as_millis();
        format!(
            "SELECT shot, {work} AS gives, {CLOCK_US} AS ended_us FROM {from}generate_series(0, {last}) AS shot \
             WHERE clock_timestamp() < (SELECT clock_timestamp() + interval '{bound} milliseconds')"
        )
    }
}

/// The guard: each shot gave what it must.
fn ends(set: &ResultSet, query: &Query<'_>) -> Result<Vec<i64>, WorkloadError> {
    let mut ends = Vec::with_capacity(set.rows.len());
    for row in &set.rows {
        let [_, gives, ended] = &row[..] else { continue };
        if gives.as_deref() != Some(query.gives) {
            return Err(WorkloadError::Answer {
                doing: query.doing.to_owned(),
                wanted: query.gives.to_owned(),
                got: gives.clone().unwrap_or_else(|| "NULL".to_owned()),
            });
        }
        ends.extend(ended.as_deref().and_then(|ended| ended.parse::<i64>().ok()));
    }
    Ok(ends)
}

/// One shot: when it ended, counted from the first, and how long it took, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shot {
    pub(super) at_us: i64,
    pub(super) us: f64,
}

/// The shots between successive ends; where the server's clock was set back there is none.
pub(super) fn between(ends: &[i64]) -> Vec<Shot> {
    let first = ends.first().copied().unwrap_or_default();
    let pairs = ends.windows(2).map(|pair| (pair[1] - first, pair[1] - pair[0]));
    pairs.filter(|(_, us)| *us > 0).map(|(at_us, us)| Shot { at_us, us: us as f64 }).collect()
}

/// What the server said against something, without what a person need not read of it.
pub(super) fn reason(error: &WorkloadError) -> String {
    let text = match error {
        WorkloadError::Sql { error, .. } if error.is("57014") => NOT_ONE,
        WorkloadError::Sql { error, .. } => error.text.lines().next().unwrap_or_default(),
        other => return other.to_string(),
    };
    let rest = text.split_once(":  ").map_or(text, |(_, rest)| rest);
    rest.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query() -> Query<'static> {
        Query {
            doing: "counting",
            settings: "",
            work: "(SELECT 1 + shot * 0)",
            gives: "1",
            from: "",
            last: "9",
            time: Duration::from_millis(20),
        }
    }

    #[test]
    fn the_query_ends_by_itself() {
        let text = query().text();
        assert!(text.contains("generate_series(0, 9) AS shot WHERE clock_timestamp() <"), "{text}");
        assert!(text.ends_with("interval '20 milliseconds')"), "{text}");
    }

    #[test]
    fn shots_lie_between_ends() {
        let shot = |at_us, us| Shot { at_us, us };
        assert_eq!(between(&[]), []);
        assert_eq!(between(&[100]), []);
        assert_eq!(between(&[100, 110, 105, 125]), [shot(10, 10.0), shot(25, 20.0)]);
    }

    #[test]
    fn a_shot_that_gives_anything_else_is_no_shot() {
        let row = |gives: &str| ["0", gives, "17"].map(|value| Some(value.to_owned())).to_vec();
        let set =
            |rows| ResultSet { columns: vec!["shot".into()], rows, types: Vec::new(), tag: String::new() };
        assert_eq!(ends(&set(vec![row("1"), row("1")]), &query()).unwrap(), [17, 17]);
        let error = ends(&set(vec![row("1"), row("2")]), &query()).unwrap_err();
        assert_eq!(error.to_string(), "while counting: the server answered 2 where it must be 1");
    }

    #[test]
    fn reasons_are_short() {
        let sql = |sqlstate: &str, text: &str| WorkloadError::Sql {
            doing: "x".into(),
            error: SqlError { sqlstate: Some(sqlstate.into()), text: text.into() },
        };
        assert_eq!(
            reason(&sql("42501", "ERROR:  permission denied for schema x\nLINE 1: …")),
            "permission denied for schema x"
        );
        assert_eq!(reason(&sql("57014", "ERROR:  canceling statement")), NOT_ONE);
    }
}
