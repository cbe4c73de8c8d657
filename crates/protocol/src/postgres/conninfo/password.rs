//! A password that is never printed.

use std::fmt;
use std::path::PathBuf;

/// Where a password was found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PasswordSource {
    /// A connection string or URI; among the program's arguments other users can see it.
    Argument,
    /// `PGPASSWORD`.
    Environment,
    Passfile(PathBuf),
    Service(PathBuf),
    Prompt,
}

/// A password and its source. It has no `Display`, and `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password {
    bytes: Vec<u8>,
    source: PasswordSource,
}

impl Password {
    /// Wraps a password.
    #[must_use]
    pub fn new(password: impl Into<Vec<u8>>, source: PasswordSource) -> Password {
        Password { bytes: password.into(), source }
    }

    /// The password itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where the password was found.
    #[must_use]
    pub fn source(&self) -> &PasswordSource {
        &self.source
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Password").field("source", &self.source).finish_non_exhaustive()
    }
}
