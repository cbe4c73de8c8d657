//! Why a step ended early, before its state is known.

use crate::jobs::Runtime;
use protocol::postgres::sql::SqlError;

#[derive(Debug)]
pub(super) enum InitFault {
    Stopped,
    Query {
        sql: String,
        error: SqlError,
    },
    Connect(SqlError),
    /// It is unknown whether a batch was committed; in words.
    Unknown(String),
}

impl InitFault {
    /// A failed statement. After a stop it failed because it was cancelled.
    pub(super) fn query(sql: impl Into<String>, error: SqlError, runtime: &dyn Runtime) -> Self {
        if runtime.stopped() { Self::Stopped } else { Self::Query { sql: sql.into(), error } }
    }

    /// Whether a retry over a new connection may succeed.
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
