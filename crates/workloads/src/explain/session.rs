//! A connection used only for explaining. Each query is executed three times: without timing of nodes, which
//! warms the session and the processor's caches up; with timing, which counts; and without once more, since
//! the difference is the overhead of timing. During the second one the server counts functions, if possible.

use protocol::postgres::sql::{Sql, SqlError, long};
use serde_json::Value;
use spec::{LayerTime, StatementPlan};

use super::budget::{LONG_MS, TIMED_OUT, statement_timeout};
use super::counted::{Calls, Counting, split_answers};
use super::nested::NestedPlans;
use super::{ExplainError, read_counted};
use crate::check_time::CheckTime;

/// The first supported version, in the server's numbering, and the first that reports the time of
/// serialization.
const OLDEST: u32 = 130_000;
const SERIALIZES: u32 = 170_000;

/// Why a statement is not explained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unexplained {
    #[error("plans are read from PostgreSQL 13 on")]
    Old,
    /// The server ended it, or it was not begun.
    #[error("the time for plans is used up")]
    TimeUp,
    /// The server refused it, or the connection failed.
    #[error(transparent)]
    Server(#[from] SqlError),
    /// The server's answer cannot be parsed.
    #[error(transparent)]
    Answer(#[from] ExplainError),
}

/// A session for explaining: read-only, and no statement takes longer than the time for it.
#[derive(Debug)]
pub struct Session<'t> {
    time: CheckTime<'t>,
    serializes: bool,
    counting: Counting,
    nested: NestedPlans,
}

impl<'t> Session<'t> {
    /// Prepares the session of a connection, which cannot be used for anything else afterwards.
    ///
    /// # Errors
    /// [`Unexplained::Old`], or when the connection fails.
    pub fn open(sql: &mut dyn Sql, time: CheckTime<'t>) -> Result<Self, Unexplained> {
        let version = sql.scalar("SHOW server_version_num")?;
        let version: u32 = version.and_then(|text| text.parse().ok()).unwrap_or_default();
        if version < OLDEST {
            return Err(Unexplained::Old);
        }
        let left_ms = time.left_ms().ok_or(Unexplained::TimeUp)?;
        sql.execute(&format!(
            "SET default_transaction_read_only = on; {}",
            statement_timeout(left_ms, false)
        ))?;
        let (counting, nested) = (Counting::open(sql)?, NestedPlans::Not(String::new()));
        Ok(Self { time, serializes: version >= SERIALIZES, counting, nested })
    }

    /// Prepares the session for [`Self::layers`].
    ///
    /// # Errors
    /// When the connection fails.
    pub fn open_nested(&mut self, sql: &mut dyn Sql) -> Result<(), Unexplained> {
        self.nested = NestedPlans::open(sql)?;
        Ok(())
    }

    /// The layers of a tile in the statements inside the functions that a statement calls; it is executed once
    /// more. None where the server does not report nested plans.
    ///
    /// # Errors
    /// The server's error.
    pub fn layers(
        &self,
        sql: &mut dyn Sql,
        statement: &str,
        expected_ms: f64,
    ) -> Result<Vec<LayerTime>, Unexplained> {
        self.limit(sql)?;
        self.nested.layers(sql, statement, expected_ms).map_err(|error| self.failed(error))
    }

    /// Why the server does not report nested plans; `None` where it does.
    #[must_use]
    pub fn why_no_nested(&self) -> Option<&str> {
        self.nested.why_not()
    }

    /// Execution time of a query that is executed once, ms; `None` if the server's answer is not understood.
    ///
    /// # Errors
    /// The server's error.
    pub fn execution_ms(&self, sql: &mut dyn Sql, query: &str) -> Result<Option<f64>, Unexplained> {
        self.limit(sql)?;
        let explained = long(sql).rows(&self.explaining(", TIMING OFF", query));
        Ok(execution_ms(&text(explained.map_err(|error| self.failed(error))?)))
    }

    /// Why functions are not separated from the nodes that call them; `None` where they are.
    #[must_use]
    pub fn why_no_functions(&self) -> Option<&str> {
        self.counting.why_not()
    }

    /// Explains a query, which is executed three times, or twice if it takes 0.3 s or more. Returns its plan
    /// and the server's answer; the caller adds script, line and draw.
    ///
    /// # Errors
    /// The server's error; after [`Unexplained::Answer`] the session remains usable.
    pub fn explain(
        &mut self,
        sql: &mut dyn Sql,
        query: &str,
    ) -> Result<(StatementPlan, String), Unexplained> {
        let mut without = self.untimed(sql, query)?;
        // Clocks at nodes make it slower still.
        if execution_ms(&without).is_some_and(|ms| ms > self.time.left().as_secs_f64() * 1e3) {
            return Err(Unexplained::TimeUp);
        }
        self.limit(sql)?;
        let (with, calls) = self.timed(sql, query)?;
        let plan = read_counted(&with, calls.as_deref())?;
        if plan.execution_ms < LONG_MS {
            without = self.untimed(sql, query)?;
        }
        Ok((StatementPlan { untimed_ms: execution_ms(&without), ..plan }, with))
    }

    /// Lets the server end the next statement when the time is used up.
    fn limit(&self, sql: &mut dyn Sql) -> Result<(), Unexplained> {
        let left_ms = self.time.left_ms().ok_or(Unexplained::TimeUp)?;
        Ok(sql.execute(&statement_timeout(left_ms, false))?)
    }

    fn failed(&self, error: SqlError) -> Unexplained {
        match error.sqlstate.as_deref() == Some(TIMED_OUT) && self.time.is_over() {
            true => Unexplained::TimeUp,
            false => Unexplained::Server(error),
        }
    }

    fn untimed(&self, sql: &mut dyn Sql, query: &str) -> Result<String, Unexplained> {
        self.limit(sql)?;
        let explained = long(sql).rows(&self.explaining(", TIMING OFF", query));
        Ok(text(explained.map_err(|error| self.failed(error))?))
    }

    /// With timing, and the functions' calls if counted.
    fn timed(&self, sql: &mut dyn Sql, query: &str) -> Result<(String, Option<Vec<Calls>>), Unexplained> {
        let statement = self.explaining("", query);
        let Some(counting) = self.counting.around(&statement) else {
            let explained = long(sql).rows(&statement).map_err(|error| self.failed(error))?;
            return Ok((text(explained), None));
        };
        let answers = long(sql).query(&counting).map_err(|error| self.failed(error))?;
        let (result, calls) = split_answers(answers).ok_or_else(ExplainError::no_counts)?;
        Ok((text(result.rows), Some(calls)))
    }

    fn explaining(&self, clocks: &str, query: &str) -> String {
        let serialize = if self.serializes { ", SERIALIZE" } else { "" };
        format!("EXPLAIN (ANALYZE, VERBOSE, BUFFERS, FORMAT JSON{serialize}{clocks}) {query}")
    }
}

fn text(rows: Vec<Vec<Option<String>>>) -> String {
    rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n")
}

/// From an explanation without timing.
fn execution_ms(json: &str) -> Option<f64> {
    let result: Value = serde_json::from_str(json).ok()?;
    result.get(0)?.get("Execution Time")?.as_f64()
}

#[cfg(test)]
mod tests {
    use spec::StatementPart;

    use super::*;
    use crate::testing::sql::FakeSql;

    const PLAN: &str = r#"[{"Plan": {"Node Type": "Aggregate", "Output": ["st_asmvt(ROW(st_asmvtgeom(t.g)))"],
        "Actual Total Time": 1.5, "Actual Loops": 1, "Actual Rows": 1}, "Execution Time": 2.0}]"#;

    #[test]
    fn functions_are_counted_around_the_execution_with_clocks_alone() {
        let mut sql = FakeSql::new();
        sql.answer("SHOW server_version_num", &[&["150002"]]);
        sql.answer("TIMING OFF", &[&[r#"[{"Execution Time": 1.8}]"#]]);
        let counted: &[&[&str]] = &[&["st_asmvtgeom", "5", "1.25", "1.25", "f", "7"]];
        sql.answer_several("EXPLAIN", &[&[], &[&[PLAN]], counted]);
        let mut session = Session::open(&mut sql, CheckTime::default()).unwrap();
        assert_eq!(session.why_no_functions(), None);
        let before = sql.asked.len();
        let (plan, json) = session.explain(&mut sql, "SELECT 1").unwrap();
        let with_counts: Vec<bool> = sql.asked[before..]
            .iter()
            .filter(|asked| !asked.contains("statement_timeout"))
            .map(|asked| asked.contains("track_functions"))
            .collect();
        assert_eq!((with_counts.as_slice(), json.as_str()), (&[false, true, false][..], PLAN));
        let parts = plan.parts();
        assert_eq!(
            (parts[&StatementPart::Geometry], parts[&StatementPart::Mvt], parts[&StatementPart::Outside]),
            (1.25, 0.25, 0.5)
        );
        assert_eq!((plan.untimed_ms, plan.functions[0].calls), (Some(1.8), 5));
    }

    #[test]
    fn old_servers_are_not_asked() {
        let mut sql = FakeSql::new();
        sql.answer("SHOW server_version_num", &[&["120020"]]);
        assert_eq!(Session::open(&mut sql, CheckTime::default()).unwrap_err(), Unexplained::Old);
        assert_eq!(sql.asked.len(), 1);
    }
}
