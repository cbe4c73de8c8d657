//! What can go wrong with a managed server, and what to try.

use std::io;
use std::path::{Path, PathBuf};

use protocol::postgres::sql::SqlError;

use super::installation::FindError;
use crate::child::{AccountError, ChildError};
use crate::control::ConnectError;
use crate::home::PlaceError;
use crate::storage::StorageError;

/// Why a managed server cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ManagedError {
    /// No folder for it.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// No account for it.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// No programs for it.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A program could not be run.
    #[error(transparent)]
    Child(#[from] ChildError),
    /// It runs but cannot be connected to.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The name cannot be a folder's.
    #[error("{0:?} is no name for a server; use 1 to 40 letters, digits, - and _")]
    Name(String),
    /// Another pgdyno uses it.
    #[error("managed server {name:?} is in use by another pgdyno{}; wait for it, or use another name", by(.pid))]
    InUse {
        name: String,
        /// Pid of the other pgdyno, where known.
        pid: Option<u32>,
    },
    /// The folder was not made by pgdyno.
    #[error("{} is not pgdyno's (its marker is missing); it is left alone: remove the folder if nobody needs it", .0.display())]
    NotOurs(PathBuf),
    /// There is no server of this name.
    #[error("there is no managed server {0:?}; make one with: pgdyno target start")]
    NotFound(String),
    /// It was made by another version than the one asked for.
    #[error(
        "managed server {name:?} holds data of PostgreSQL {made_by}, but {asked} is asked for; use another name, or \
         remove it with: pgdyno target destroy"
    )]
    OtherVersion {
        name: String,
        /// Major version of its data.
        made_by: u32,
        /// Major version asked for.
        asked: u32,
    },
    /// Its files stand elsewhere than asked for.
    #[error(
        "managed server {name:?} has {stands}, but is asked for with {asked}; use another name, or remove it with: pgdyno \
         target destroy {name}"
    )]
    Elsewhere {
        name: String,
        /// Where they stand, in words.
        stands: String,
        /// Where they should, in words.
        asked: String,
    },
    /// What its files stand on is not there.
    #[error(
        "the files of managed server {name:?} should stand in {}, which is not there; mount its disk, or give them up with: \
         pgdyno target destroy {name}", folder.display()
    )]
    StandGone { name: String, folder: PathBuf },
    /// What the files of a running server stand on went away.
    #[error(
        "what the server's files stand on, {}, was lost: {why}; look what became of its disk or filesystem, then the same \
         command goes on", folder.display()
    )]
    StandLost {
        folder: PathBuf,
        /// What can be seen of it.
        why: String,
    },
    /// A filesystem that is made goes with pgdyno, a detached server stays.
    #[error("a server that stays can have no filesystem made for it; name a folder on one instead")]
    DetachedOnMade,
    /// What its files stand on cannot be had, or made, or looked at.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The disk is full.
    #[error("the disk under {} is full: {line}; make room, or set PGDYNO_HOME to a folder on another disk", folder.display())]
    DiskFull {
        /// The server's folder.
        folder: PathBuf,
        /// What the server or the system said.
        line: String,
    },
    /// What its files stand on is full.
    #[error(
        "what the server's files stand on, {}, is full: {line}; ask for a larger one (size = \"…\" in [storage.NAME]), or make room \
         there", folder.display()
    )]
    StorageFull {
        /// The server's folder on it.
        folder: PathBuf,
        /// What the server or the system said.
        line: String,
    },
    /// initdb failed.
    #[error("initdb failed in {}:\n{output}", folder.display())]
    Init {
        /// The server's folder.
        folder: PathBuf,
        /// Its last lines.
        output: String,
    },
    /// The server did not start.
    #[error("the server did not start ({end}); the last lines of {}:\n{log}", path.display())]
    Start {
        /// How it ended, or how long was waited.
        end: String,
        /// Its log file.
        path: PathBuf,
        /// The log's last lines.
        log: String,
    },
    /// The server ended while it was in use.
    #[error("the server died ({end}); the last lines of {}:\n{log}", path.display())]
    Died {
        /// How it ended.
        end: String,
        /// Its log file.
        path: PathBuf,
        /// The log's last lines.
        log: String,
    },
    /// The server would not stop.
    #[error("the server (pid {0}) does not stop")]
    WouldNotStop(u32),
    /// Its data are not all in its files, so that they cannot be copied.
    #[error("the server of {} was not stopped cleanly; it is not copied as it is", .0.display())]
    NotClean(PathBuf),
    /// It was built without TLS.
    #[error(
        "{} was built without TLS, or cannot use it; take another PostgreSQL (--pg-bin), or reach it by tcp or its socket",
        .0.display()
    )]
    NoTls(PathBuf),
    /// An extension is not installed.
    #[error("extension {extension} is not installed for PostgreSQL {major}; {advice}")]
    MissingExtension {
        extension: String,
        /// Major version of the server.
        major: u32,
        /// What to install.
        advice: String,
    },
    /// A statement failed.
    #[error("while {doing}: {error}")]
    Sql {
        /// What was being done.
        doing: String,
        /// What the server said.
        #[source]
        error: SqlError,
    },
    /// A file of ours cannot be read or written.
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

impl ManagedError {
    /// An error of a file in the server's folder; a full disk is told apart.
    pub(super) fn file(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { folder: path.to_owned(), line: source.to_string() }
            }
            _ => Self::File { path: path.to_owned(), source },
        }
    }
}

fn by(pid: &Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

/// What to install for an extension.
pub(super) fn advice(extension: &str, major: u32) -> String {
    let package = match extension {
        name if name.starts_with("postgis") || name == "address_standardizer" => {
            format!("install it (Debian, Ubuntu: apt install postgresql-{major}-postgis-3)")
        }
        "hstore" | "pg_stat_statements" | "pg_buffercache" | "pg_prewarm" | "pgcrypto" | "pgstattuple"
        | "btree_gist" => {
            "install the contrib modules (Debian: part of postgresql; Fedora, RHEL: postgresql-contrib)"
                .to_owned()
        }
        name => format!(
            "install it (Debian, Ubuntu: try apt install postgresql-{major}-{})",
            name.replace('_', "-")
        ),
    };
    format!("{package}, then run the same command again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_to_try() {
        let postgis = ManagedError::MissingExtension {
            extension: "postgis".into(),
            major: 15,
            advice: advice("postgis", 15),
        };
        assert!(postgis.to_string().contains("apt install postgresql-15-postgis-3"), "{postgis}");
        let held = ManagedError::InUse { name: "main".into(), pid: Some(7) };
        assert!(held.to_string().contains("(pid 7)"), "{held}");
        let full = ManagedError::file(Path::new("/x"), io::ErrorKind::StorageFull.into());
        assert!(matches!(full, ManagedError::DiskFull { .. }));
    }
}
