//! Why a file cannot be brought in: which file and line, what is wrong, what to try.

use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// Errors of reading other programs' results. Nothing is stored when one occurs.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be opened or read.
    #[error("{}: {source}", file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{}{}: {what}", file.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    Content {
        file: PathBuf,
        /// Line number from 1, where there is one to blame.
        line: Option<u64>,
        what: String,
        hint: Option<String>,
    },
    /// What was asked for does not fit what was found.
    #[error("{what}")]
    Request { what: String, hint: Option<String> },
    /// The results file cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ImportError {
    /// Advice that is printed after the message.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unreadable { .. } | Self::Store(_) => None,
            Self::Content { hint, .. } | Self::Request { hint, .. } => hint.as_deref(),
        }
    }

    pub(super) fn unreadable(file: &Path, source: std::io::Error) -> Self {
        Self::Unreadable { file: file.to_owned(), source }
    }

    pub(super) fn at(file: &Path, line: u64, what: impl Into<String>) -> Self {
        Self::Content { file: file.to_owned(), line: Some(line), what: what.into(), hint: None }
    }

    pub(crate) fn of_file(file: &Path, what: impl Into<String>) -> Self {
        Self::Content { file: file.to_owned(), line: None, what: what.into(), hint: None }
    }

    pub(crate) fn request(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Request { what: what.into(), hint: Some(hint.into()) }
    }

    /// The same with what to try.
    pub(crate) fn try_this(mut self, advice: impl Into<String>) -> Self {
        if let Self::Content { hint, .. } | Self::Request { hint, .. } = &mut self {
            *hint = Some(advice.into());
        }
        self
    }
}
