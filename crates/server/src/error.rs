//! Converts errors of other crates and of the system to [`Error`].

use std::fmt::Display;
use std::io;
use std::path::Path;

use protocol::postgres::ConnInfoError;
use protocol::postgres::sql::SqlError;
use spec::{Class, Error};

/// An invalid connection string.
#[must_use]
pub fn conninfo_error(error: ConnInfoError) -> Error {
    Error::new(Class::Usage, format!("connection string: {error}")).because(error)
}

/// The server's error while something was done, with the class and the advice for its SQLSTATE.
#[must_use]
pub fn sql_error(doing: impl Display, error: SqlError) -> Error {
    server_error(format!("while {doing}: {error}"), error)
}

/// As [`sql_error`], with the whole message given.
#[must_use]
pub fn server_error(what: impl Into<String>, error: SqlError) -> Error {
    Error::of_server(error.sqlstate.as_deref(), what).because(error)
}

pub(crate) fn file_error(path: &Path, source: io::Error) -> Error {
    Error::new(Class::of_io(&source), format!("{}: {source}", path.display())).because(source)
}

impl From<NotPooled> for Error {
    fn from(error: NotPooled) -> Self {
        Self::new(Class::Missing, error.to_string())
    }
}

impl From<NotAvailable> for Error {
    fn from(error: NotAvailable) -> Self {
        Self::new(Class::Missing, error.to_string())
    }
}

/// What does not work through another's transaction pooler: after each transaction the server connection goes
/// to another client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPooled {
    #[error(
        "the startup parameter \"options\" (of the connection string, or PGOPTIONS) does not go through a transaction pooler: \
         leave it out, or connect to the server itself"
    )]
    Options,
    #[error(
        "prepared statements do not go through this transaction pooler: it does not keep them for its clients; use the query \
         mode simple or extended, a pooler that keeps them (PgBouncer from 1.21 on, max_prepared_statements above 0), or \
         connect to the server itself"
    )]
    Statements,
    #[error(
        "{what}: this belongs to a session, and does not go through a transaction pooler: the next client would get it; \
         connect to the server itself"
    )]
    Session {
        /// The statement, with its position.
        what: String,
    },
}

/// Something that this target does not offer, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} not available: {reason}")]
pub struct NotAvailable {
    pub what: &'static str,
    pub reason: &'static str,
}
