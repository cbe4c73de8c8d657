//! Why settings could not be had.

use std::fmt;
use std::io;
use std::path::PathBuf;

use protocol::postgres::sql::SqlError;

use super::expression::ExpressionError;
use super::journal::{Left, LeftBy};
use crate::change::ChangeError;
use crate::control::ConnectError;
use crate::managed::ManagedError;

/// A setting that is not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub name: String,
    /// As asked for.
    pub wanted: String,
    /// As in force, with its unit.
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: wanted {}, got {}", self.name, self.wanted, self.got)
    }
}

/// Why settings could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The home cannot be used.
    #[error(transparent)]
    Place(#[from] crate::home::PlaceError),
    /// A share that makes no sense.
    #[error("{name}: {source}")]
    Value {
        name: String,
        /// What is wrong.
        source: ExpressionError,
    },
    /// No such setting.
    #[error("the server knows no setting {name}{}", suggestion(.nearest))]
    Unknown {
        /// As written.
        name: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
    /// A setting that nobody can change.
    #[error("setting {name} is fixed when the server is built or its data is made; it cannot be a factor")]
    Fixed { name: String },
    /// A setting that pgdyno itself works by.
    #[error("setting {name} cannot be a factor: {why}")]
    Reserved {
        name: String,
        /// What pgdyno needs it for.
        why: &'static str,
    },
    /// A value that the server would refuse.
    #[error("{name} = {value} cannot be; {wanted}")]
    Impossible {
        name: String,
        /// As asked for.
        value: String,
        /// What can be.
        wanted: String,
    },
    /// Settings that exclude each other.
    #[error("{detail}")]
    Contradiction {
        /// Which, and why.
        detail: String,
    },
    /// The server refused a value.
    #[error("the server refuses {what}: {message}")]
    Refused {
        /// Setting and value, or all of an arm.
        what: String,
        /// What it said.
        message: String,
    },
    /// The server took the settings but something else is in force.
    #[error("settings not applied: {}", list(.0))]
    NotApplied(Vec<Difference>),
    /// They would change a server that is not ours.
    #[error(
        "{} can only be set for the whole server, which is not pgdyno's; write change_server = true into [target] to \
         allow it (what was there before is put back)", .0.join(", ")
    )]
    NeedsServerChange(Vec<String>),
    /// They would change a server whose role may not do that.
    #[error("{name} can only be set for the whole server, and this role may not do that: it lacks {lacks}")]
    NoRight {
        name: String,
        /// The rights, as GRANT has them.
        lacks: String,
    },
    /// They would need a restart of a server that is not ours.
    #[error("{}: changing it takes a restart, which is not available on a server that is not pgdyno's; set it there by hand", .0.join(", "))]
    NeedsRestart(Vec<String>),
    /// Each connection would set them for itself, and does not keep its server connection.
    #[error(
        "{}: a setting of the session does not go through a transaction pooler, whose clients share server connections; \
         connect to the server itself", .0.join(", ")
    )]
    Pooled(Vec<String>),
    /// What is there now cannot be read, so it could not be put back.
    #[error("the former values cannot be read, so nothing is changed: {0}")]
    FormerUnknown(#[source] SqlError),
    /// The journal cannot be kept.
    #[error("cannot keep the journal {}, so nothing is changed: {source}", path.display())]
    Journal {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody would put the settings back if we were killed.
    #[error("cannot start the watchdog that puts settings back, so nothing is changed: {0}")]
    NoGuard(io::Error),
    /// Another pgdyno has changed the server.
    #[error("{}", already(.0))]
    AlreadyChanged(Left),
    /// Former values that were set again and yet are not what is there.
    #[error("{} could not be put back: the server still shows another value", .0.join(", "))]
    NotPutBack(Vec<String>),
    /// A statement failed.
    #[error("while {doing}: {error}")]
    Sql {
        /// What was being done.
        doing: &'static str,
        /// What the server said.
        #[source]
        error: SqlError,
    },
    /// A change of one's own.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The managed server failed.
    #[error(transparent)]
    Managed(#[from] ManagedError),
    /// The server cannot be connected to.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl SettingsError {
    /// Wraps an error of a statement.
    pub(super) fn sql(doing: &'static str) -> impl FnOnce(SqlError) -> Self {
        move |error| Self::Sql { doing, error }
    }
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

fn already(left: &Left) -> String {
    let (kind, settings) = (left.kind(), left.list());
    match &left.by {
        LeftBy::Living(pid) => {
            format!(
                "another pgdyno (pid {pid}) is at work on this server and changes its {kind} (now: {settings}), so \
                 nothing is changed or measured; wait for its end (pgdyno target status tells), or measure another \
                 server"
            )
        }
        LeftBy::Killed | LeftBy::Unknown(_) => format!(
            "{kind} of this server are still as an earlier pgdyno left them: {settings}; nothing is \
             changed; put them back first (try: pgdyno target restore)"
        ),
    }
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(Difference::to_string).collect::<Vec<_>>().join("; ")
}

impl SettingsError {
    /// The setting it is about, where it is about one.
    #[must_use]
    pub fn setting(&self) -> Option<&str> {
        match self {
            Self::Value { name, .. }
            | Self::Unknown { name, .. }
            | Self::Fixed { name }
            | Self::Reserved { name, .. }
            | Self::NoRight { name, .. }
            | Self::Impossible { name, .. } => Some(name),
            Self::NeedsServerChange(names) | Self::NeedsRestart(names) | Self::Pooled(names) => {
                names.first().map(String::as_str)
            }
            _ => None,
        }
    }
}
