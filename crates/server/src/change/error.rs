//! Why a change could not be made or undone.

use std::path::PathBuf;
use std::time::Duration;

use protocol::postgres::sql::SqlError;
use spec::plan::change::Part;
use spec::{Class, Error, advice_on_sqlstate};

use crate::child::Ended;
use crate::control::ConnectError;

/// Why a change could not be made or undone.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error(
        "the change {what} has no undo; say how it is undone, such that it also undoes a half of it (DROP INDEX IF EXISTS …)"
    )]
    NoUndo { what: String },
    #[error("an undo without a do: there would be nothing to undo")]
    NoDo,
    #[error("the {0} is empty")]
    Empty(Part),
    #[error("the check has more than one statement; it must be a single statement that returns true")]
    ManyChecks,
    #[error(
        "the change {what} would be made on a server that is not pgdyno's; write change_server = true into [target] to \
         allow it (it is undone afterwards)"
    )]
    NotAllowed { what: String },
    #[error("{part} {what}: {error}")]
    Sql {
        part: Part,
        what: String,
        #[source]
        error: SqlError,
    },
    /// Its effect is lost with its connection.
    #[error("{part} {what} leaves a transaction open, so its changes are lost; end it with COMMIT")]
    OpenTransaction { part: Part, what: String },
    #[error("the check {check} is to return true (one row, one column); it returned {got}")]
    NotTrue { check: String, got: String },
    #[error("{part} {what} ended with {end}{}", quoted(output))]
    Failed { part: Part, what: String, end: Ended, output: String },
    #[error("{part} {what} was stopped, because it took longer than {} s{}", bound.as_secs(), quoted(output))]
    TooLong { part: Part, what: String, bound: Duration, output: String },
    #[error("{part} {what} was stopped")]
    Stopped { part: Part, what: String },
    #[error("not undone, because the server still does the change (pid {pids}); end that, then try again")]
    Busy { pids: String },
    #[error(
        "not undone, because processes of the change's command are still there (pid {pids}); end them, then try again"
    )]
    Alive { pids: String },
    #[error(transparent)]
    Other(#[from] Error),
    #[error(
        "user {account} runs commands when pgdyno is root, and cannot enter {}; put the experiment into a folder that this \
         user can enter, or run pgdyno as yourself", folder.display()
    )]
    Folder { folder: PathBuf, account: String },
    /// Neither made nor undone.
    #[error("{error}; and it could not be undone: {undo}; try: pgdyno target restore")]
    NotUndone {
        #[source]
        error: Box<ChangeError>,
        undo: Box<ChangeError>,
    },
}

impl ChangeError {
    /// The part that failed, if known.
    #[must_use]
    pub fn part(&self) -> Option<Part> {
        match self {
            Self::NotAllowed { .. } => Some(Part::Do),
            Self::NoDo | Self::Busy { .. } | Self::Alive { .. } => Some(Part::Undo),
            Self::ManyChecks | Self::NotTrue { .. } => Some(Part::Check),
            Self::Empty(part)
            | Self::Sql { part, .. }
            | Self::OpenTransaction { part, .. }
            | Self::Failed { part, .. }
            | Self::TooLong { part, .. }
            | Self::Stopped { part, .. } => Some(*part),
            Self::NotUndone { error, .. } => error.part(),
            Self::NoUndo { .. } | Self::Other(_) | Self::Folder { .. } => None,
        }
    }

    /// The exit class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::NoUndo { .. }
            | Self::NoDo
            | Self::Empty(_)
            | Self::ManyChecks
            | Self::OpenTransaction { .. } => Class::BadInput,
            Self::NotAllowed { .. } => Class::Missing,
            Self::Sql { error, .. } => Class::of_sqlstate(error.sqlstate.as_deref()),
            Self::NotTrue { .. } | Self::Busy { .. } | Self::Alive { .. } => Class::Guard,
            Self::Failed { .. } | Self::TooLong { .. } => Class::Child,
            Self::Stopped { .. } => Class::Interrupted,
            Self::Folder { .. } => Class::Io,
            Self::Other(error) => error.class(),
            Self::NotUndone { error, .. } => error.class(),
        }
    }

    /// What to try; empty if the message is enough.
    fn hint(&self) -> &str {
        match self {
            Self::Sql { error, .. } => error.sqlstate.as_deref().map_or("", advice_on_sqlstate),
            Self::Other(error) => error.hint().unwrap_or_default(),
            Self::NotUndone { error, .. } => error.hint(),
            _ => "",
        }
    }
}

impl From<ConnectError> for ChangeError {
    fn from(error: ConnectError) -> Self {
        Self::Other(error.into())
    }
}

impl From<ChangeError> for Error {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Other(error) => error,
            error => Self::new(error.class(), error.to_string()).with_hint(error.hint()).because(error),
        }
    }
}

/// Lines of a command's output in a message.
const LINES: usize = 6;

fn quoted(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!(":\n{}", lines[lines.len().saturating_sub(LINES)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_shows_its_last_words() {
        let output = (1..=9).map(|n| format!("line {n}\n")).collect();
        let end = Ended { code: Some(3), ..Ended::default() };
        let error = ChangeError::Failed { part: Part::Do, what: "command \"x\"".into(), end, output };
        let wanted =
            "do command \"x\" ended with exit code 3:\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9";
        assert_eq!(error.to_string(), wanted);
    }
}
