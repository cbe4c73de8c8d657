//! Why storage is not available.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::time::Duration;

use spec::{Class, Error};

use crate::error::file_error;

/// `what` is `xfs` or `folder /mnt/ssd`.
pub(super) fn unavailable(what: impl Display, reason: impl Display) -> Error {
    Error::new(Class::Missing, format!("{what} is not available: {reason}"))
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
