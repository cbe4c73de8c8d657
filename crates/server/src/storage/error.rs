//! Why storage is not available.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::time::Duration;

use spec::{Class, Error};

use crate::error::file_error;

/// Storage that is not available here, and what to try.
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

impl From<Unavailable> for Error {
    fn from(error: Unavailable) -> Self {
        Self::new(Class::Missing, error.to_string()).because(error)
    }
}

pub(super) fn of_file(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |source| file_error(path, source)
}

/// A tool, or the keeper, failed.
pub(super) fn failed(what: impl Into<String>) -> Error {
    Error::new(Class::Child, what)
}

/// A tool failed, with its output or exit status.
pub(super) fn tool_failed(tool: &str, output: impl Display) -> Error {
    failed(format!("{tool} failed: {output}"))
}

/// A tool exceeded its timeout.
pub(super) fn too_slow(tool: &str, bound: Duration) -> Error {
    failed(format!("{tool} did not end within {} s", bound.as_secs()))
}
