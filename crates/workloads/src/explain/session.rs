//! A connection that is used for nothing but explaining: each query is carried out without a clock at each node, which
//! warms up what the session and the processor keep, then with one, which counts, then without once more: the difference
//! tells what the clocks cost.

use protocol::postgres::sql::{Sql, SqlError, long};
use record::StatementPlan;
use serde_json::Value;

use super::budget::{LONG_MS, LONGEST_MS};
use super::{ExplainError, read};

/// The first version whose explanations are understood, as the server numbers it, and the first that tells what making rows
/// into text takes.
const OLDEST: u32 = 130_000;
const SERIALIZES: u32 = 170_000;

/// Why something is not explained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unexplained {
    /// The server is too old.
    #[error("plans are read from PostgreSQL 13 on")]
    Old,
    /// The server refused it, or the connection failed.
    #[error(transparent)]
    Server(#[from] SqlError),
    /// The server's answer is not understood.
    #[error(transparent)]
    Answer(#[from] ExplainError),
}

/// A connection's session, prepared for explaining: it cannot write, and no statement takes longer than 10 s.
#[derive(Debug)]
pub struct Session {
    serializes: bool,
}

impl Session {
    /// Prepares the session of a connection, which is of no other use afterwards.
    ///
    /// # Errors
    /// [`Unexplained::Old`], or when the connection fails.
    pub fn open(sql: &mut dyn Sql) -> Result<Self, Unexplained> {
        let version = sql.scalar("SHOW server_version_num")?;
        let version: u32 = version.and_then(|text| text.parse().ok()).unwrap_or_default();
        if version < OLDEST {
            return Err(Unexplained::Old);
        }
        let guarded = format!(
            "SET default_transaction_read_only = on; SELECT pg_catalog.set_config('statement_timeout', '{LONGEST_MS}', false) \
             WHERE (SELECT setting::bigint FROM pg_catalog.pg_settings WHERE name = 'statement_timeout') NOT BETWEEN 1 AND {LONGEST_MS}"
        );
        sql.execute(&guarded)?;
        Ok(Self { serializes: version >= SERIALIZES })
    }

    /// Explains a query, which is carried out three times, or twice where it takes 0.3 s or more. Gives its plan and what
    /// the server said; script, line and draw are left to the caller.
    ///
    /// # Errors
    /// What the server says against it; [`Unexplained::Answer`] leaves the session as usable as it was.
    pub fn explain(
        &mut self,
        sql: &mut dyn Sql,
        query: &str,
    ) -> Result<(StatementPlan, String), Unexplained> {
        const UNTIMED: &str = ", TIMING OFF";
        let (mut without, with) = (self.ask(sql, UNTIMED, query)?, self.ask(sql, "", query)?);
        let plan = read(&with)?;
        if plan.execution_ms < LONG_MS {
            without = self.ask(sql, UNTIMED, query)?;
        }
        Ok((StatementPlan { untimed_ms: execution_ms(&without), ..plan }, with))
    }

    fn ask(&self, sql: &mut dyn Sql, clocks: &str, query: &str) -> Result<String, SqlError> {
        let serialize = if self.serializes { ", SERIALIZE" } else { "" };
        let options = format!("ANALYZE, VERBOSE, BUFFERS, FORMAT JSON{serialize}{clocks}");
        let rows = long(sql).rows(&format!("EXPLAIN ({options}) {query}"))?;
        Ok(rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n"))
    }
}

/// Of an explanation without the time of nodes.
fn execution_ms(json: &str) -> Option<f64> {
    let said: Value = serde_json::from_str(json).ok()?;
    said.get(0)?.get("Execution Time")?.as_f64()
}
