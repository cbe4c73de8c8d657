//! Why a target cannot be used, or cannot give something.

use protocol::postgres::ConnInfoError;
use protocol::postgres::sql::SqlError;

use crate::child::AccountError;
use crate::control::ConnectError;
use crate::home::PlaceError;
use crate::managed::ManagedError;
use crate::settings::SettingsError;
use crate::settings::journal::Left;

/// Why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error(transparent)]
    Managed(#[from] ManagedError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection, to a server that is not as it was.
    #[error(
        "{error}; a pgdyno that was killed had changed {} there ({}); once the server is back they can be put \
         back with: pgdyno target restore", left.kind(), left.list()
    )]
    AwayAndChanged {
        #[source]
        error: ConnectError,
        /// What is to be put back.
        left: Box<Left>,
    },
    /// The connection string.
    #[error("connection string: {0}")]
    ConnInfo(#[from] ConnInfoError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error("while {doing}: {error}")]
    Sql {
        /// What was being done.
        doing: &'static str,
        /// What the server said.
        #[source]
        error: SqlError,
    },
    /// An extension that is not in a database of a server that is not ours.
    #[error("database {database} has no extension {extension}; run there: CREATE EXTENSION {extension}")]
    NoExtension { database: String, extension: String },
    /// Something that needs more than SQL.
    #[error(transparent)]
    NotAvailable(#[from] NotAvailable),
    /// Something that a transaction pooler does not let through.
    #[error(transparent)]
    NotPooled(#[from] NotPooled),
}

/// What does not work through a transaction pooler that somebody else runs: the server connection is another client's after
/// each transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPooled {
    /// Settings that each connection starts with.
    #[error(
        "the startup parameter \"options\" (of the connection string, or PGOPTIONS) does not go through a transaction pooler: \
         leave it out, or connect to the server itself"
    )]
    Options,
    /// Statements that are prepared by name.
    #[error(
        "prepared statements do not go through this transaction pooler: it does not keep them for its clients; use the query \
         mode simple or extended, a pooler that keeps them (PgBouncer from 1.21 on, max_prepared_statements above 0), or \
         connect to the server itself"
    )]
    Statements,
    /// Something that a script does.
    #[error(
        "{what}: this belongs to a session, and does not go through a transaction pooler: the next client would get it; \
         connect to the server itself"
    )]
    Session {
        /// Which statement, with its place.
        what: String,
    },
}

/// Something that this target cannot give, and why: shown as it is, never faked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} not available: {reason}")]
pub struct NotAvailable {
    pub what: &'static str,
    pub reason: &'static str,
}
