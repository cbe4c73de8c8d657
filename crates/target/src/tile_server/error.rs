//! What can go wrong with a tile server, and what to try.

use std::io;
use std::path::PathBuf;

use super::secrets::Secrets;
use super::{Kind, OptionError};
use crate::child::{AccountError, ChildError};
use crate::home::PlaceError;
use crate::member::MemberError;

/// Why there is no tile server, or none that can be used.
#[derive(Debug, thiserror::Error)]
pub enum TileServerError {
    /// The program is not installed.
    #[error("{kind} is not installed; {}", how(*.kind))]
    NotInstalled { kind: Kind },
    /// What was found is not one that can be used.
    #[error("{}: {why}; {}", program.display(), how(*.kind))]
    Unfit { kind: Kind, program: PathBuf, why: String },
    /// An option that cannot be.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// How the server is reached cannot be written down for it.
    #[error("{kind} cannot reach the server as pgdyno does: {why}")]
    Upstream { kind: Kind, why: &'static str },
    /// No folder for it.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// No account for it.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// It could not be run.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// No port of 127.0.0.1 for it.
    #[error("no port of 127.0.0.1 for a tile server: {0}")]
    NoPort(String),
    /// It did not come up.
    #[error("{kind} did not start: {log}")]
    Start { kind: Kind, log: String },
    /// It has no tiles of a table.
    #[error(
        "{kind} has no tiles of {table}: it publishes tables with a geometry column that the user may read, and were there \
         when it was started"
    )]
    NotServed { kind: Kind, table: String },
    /// It runs, and makes no tiles.
    #[error("{kind} makes no tiles: {path}: {said}; the last lines of its log:\n{log}")]
    Failing {
        kind: Kind,
        /// What was asked for.
        path: String,
        /// What came back.
        said: String,
        log: String,
    },
    /// It ended while it was in use.
    #[error("{kind} died ({end}): {log}")]
    Died {
        kind: Kind,
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

fn how(kind: Kind) -> &'static str {
    match kind {
        Kind::Tipg => {
            "setup/install tipg puts it where it is found; or name a Python that has tipg and uvicorn as PGDYNO_TIPG, or as \
             the tile server's `program`"
        }
        Kind::Martin => {
            "setup/install martin builds it where it is found; or name a martin 1.14 or newer as PGDYNO_MARTIN, or as the \
             tile server's `program`"
        }
    }
}

impl TileServerError {
    pub(super) fn of_member(kind: Kind, error: MemberError, secrets: &Secrets) -> Self {
        match error {
            MemberError::Child(error) => Self::Child(error),
            MemberError::File { path, source } => Self::File { path, source },
            MemberError::NotStarted(log) => Self::Start { kind, log: secrets.hidden(&log) },
            MemberError::Died { end, log } => Self::Died { kind, end, log: secrets.hidden(&log) },
            MemberError::Stopped => Self::Stopped,
        }
    }

    /// The same of one that was not in use yet.
    pub(super) fn while_starting(self) -> Self {
        match self {
            Self::Died { kind, log, .. } => Self::Start { kind, log },
            other => other,
        }
    }
}

/// What can go wrong with its files, whichever it is.
#[derive(Debug)]
pub(super) enum Trouble {
    Upstream(&'static str),
    File { path: PathBuf, source: io::Error },
    Member(MemberError),
}

impl From<MemberError> for Trouble {
    fn from(error: MemberError) -> Self {
        Self::Member(error)
    }
}

impl Trouble {
    pub(super) fn of(self, kind: Kind, secrets: &Secrets) -> TileServerError {
        match self {
            Self::Upstream(why) => TileServerError::Upstream { kind, why },
            Self::File { path, source } => TileServerError::File { path, source },
            Self::Member(error) => TileServerError::of_member(kind, error, secrets),
        }
    }
}
