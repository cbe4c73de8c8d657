//! What can go wrong with a pooler, and what to try.

use std::io;
use std::path::PathBuf;

use super::{NotCarried, OptionError};
use crate::child::{AccountError, ChildError};
use crate::control::ConnectError;
use crate::home::PlaceError;
use crate::member::MemberError;
use crate::settings::{Difference, SettingsError};

/// Why there is no pooler.
#[derive(Debug, thiserror::Error)]
pub enum PoolerError {
    /// The program is not installed.
    #[error(
        "pgbouncer is not installed; install it (Debian, Ubuntu: apt install pgbouncer; Fedora, RHEL: dnf install \
         pgbouncer; macOS: brew install pgbouncer)"
    )]
    NotInstalled,
    /// An option that cannot be.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The load does not go through it.
    #[error(transparent)]
    NotCarried(#[from] NotCarried),
    /// How the server is reached cannot be written down for PgBouncer.
    #[error("PgBouncer cannot reach the server as pgdyno does: {0}")]
    Upstream(&'static str),
    /// No folder for it.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// No account for it.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// It could not be run.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// It did not come up.
    #[error("pgbouncer did not start: {0}")]
    Start(String),
    /// It runs, and nobody gets through it.
    #[error("no connection through pgbouncer: {source}; the last lines of its log:\n{log}")]
    Connect {
        #[source]
        source: ConnectError,
        log: String,
    },
    /// The session settings could not be read back.
    #[error("reading settings through pgbouncer: {0}")]
    Settings(#[source] Box<SettingsError>),
    /// Session settings are not in force behind it.
    #[error("not in force behind pgbouncer: {}", list(.0))]
    NotApplied(Vec<Difference>),
    /// It ended while it was in use.
    #[error("pgbouncer died ({end}): {log}")]
    Died {
        /// How.
        end: String,
        /// Its last lines.
        log: String,
    },
    /// A file of its folder, or one that it is to have a copy of.
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
}

impl From<MemberError> for PoolerError {
    fn from(error: MemberError) -> Self {
        match error {
            MemberError::Child(error) => Self::Child(error),
            MemberError::File { path, source } => Self::File { path, source },
            MemberError::NotStarted(why) => Self::Start(why),
            MemberError::Died { end, log } => Self::Died { end, log },
            MemberError::Stopped => Self::Stopped,
        }
    }
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
