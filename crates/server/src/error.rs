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

/// Something that this target does not offer, as `the log is`, and why.
pub(crate) fn not_available(what: &str, reason: &str) -> Error {
    Error::new(Class::Missing, format!("{what} not available: {reason}"))
}

/// After each transaction a transaction pooler gives the server connection to another client.
pub(crate) fn options_not_pooled() -> Error {
    let what = "the startup parameter \"options\" (of the connection string, or PGOPTIONS) does not go through a transaction \
                pooler: leave it out, or connect to the server itself";
    Error::new(Class::Missing, what)
}

/// Prepared statements, which a transaction pooler does not keep for its clients.
#[must_use]
pub fn statements_not_pooled() -> Error {
    let what = "prepared statements do not go through this transaction pooler: it does not keep them for its clients; use \
                the query mode simple or extended, a pooler that keeps them (PgBouncer from 1.21 on, \
                max_prepared_statements above 0), or connect to the server itself";
    Error::new(Class::Missing, what)
}

/// A statement, with its position, that changes its session, which a transaction pooler gives to others.
#[must_use]
pub fn session_not_pooled(what: &str) -> Error {
    let what = format!(
        "{what}: this belongs to a session, and does not go through a transaction pooler: the next client would get it; \
         connect to the server itself"
    );
    Error::new(Class::Missing, what)
}
