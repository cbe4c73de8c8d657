//! Why a step ended early, before it is known what it left behind.

use crate::jobs::Runtime;
use protocol::postgres::sql::SqlError;

/// Why a step ended early.
#[derive(Debug)]
pub(super) enum Fault {
    /// It was asked to.
    Stopped,
    /// A statement failed.
    Query { sql: String, error: SqlError },
    /// No connection.
    Connect(SqlError),
    /// What became of a batch is not known, in words.
    Unknown(String),
}

impl Fault {
    /// A statement that failed. Where all shall stop, it failed because it was cancelled.
    pub(super) fn query(sql: impl Into<String>, error: SqlError, runtime: &dyn Runtime) -> Self {
        if runtime.stopped() { Self::Stopped } else { Self::Query { sql: sql.into(), error } }
    }

    /// Whether the same may succeed over a new connection.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Query { error, .. } => error.sqlstate.is_none() || error.is("40001") || error.is("40P01"),
            Self::Connect(error) => error.sqlstate.is_none(),
            Self::Stopped | Self::Unknown(_) => false,
        }
    }

    /// Its first line.
    pub(super) fn reason(&self) -> String {
        let text = match self {
            Self::Query { error, .. } | Self::Connect(error) => error.text.as_str(),
            Self::Stopped => "stopped",
            Self::Unknown(what) => what,
        };
        text.lines().next().unwrap_or_default().to_owned()
    }
}
