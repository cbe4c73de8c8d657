//! Why files cannot stand where they should.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::home::PlaceError;

/// Something that cannot be had here, and what to try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not available: {reason}")]
pub struct Unavailable {
    /// `xfs`, `folder /mnt/ssd`.
    pub what: String,
    pub reason: String,
}

impl Unavailable {
    pub(super) fn new(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { what: what.into(), reason: reason.into() }
    }
}

/// Why a filesystem cannot be made, mounted again, looked at or removed.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// It cannot be had here at all.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// No folder for it.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// A tool failed.
    #[error("{tool} failed: {said}")]
    Tool {
        tool: String,
        /// What it said, or how it ended.
        said: String,
    },
    /// A tool did not come to its end.
    #[error("{tool} did not end within {} s", .bound.as_secs())]
    Slow { tool: String, bound: Duration },
    /// A file of ours cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its keeper says so.
    #[error("{0}")]
    Kept(String),
    /// Its keeper could not be started or heard.
    #[error("the keeper of the filesystem below {}: {said}", folder.display())]
    Keeper { folder: PathBuf, said: String },
    /// Part of it is still there.
    #[error("the filesystem below {} was not removed as a whole: {}", folder.display(), .left.join("; "))]
    NotRemoved {
        folder: PathBuf,
        /// What is left, and why.
        left: Vec<String>,
    },
    /// The user asked to stop.
    #[error("stopped")]
    Stopped,
}

impl StorageError {
    /// An error of a file.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }
}
