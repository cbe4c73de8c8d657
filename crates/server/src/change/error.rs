//! Why a change could not be made or undone.

use protocol::postgres::sql::SqlError;
use spec::plan::change::ChangePart;
use spec::{Class, Error};

/// Attached to the error of a change that could not be made or undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeFailure {
    /// The part that failed, if known.
    pub part: Option<ChangePart>,
    pub kind: ChangeFailureKind,
}

/// What went wrong with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeFailureKind {
    /// It is invalid, or not allowed on this server.
    Invalid,
    Sql,
    NotTrue,
    CommandFailed,
    /// Its command took too long, or the user stopped.
    CutShort,
    /// The server or a process still works on it.
    StillRunning,
    /// Neither made nor undone.
    NotUndone,
}

impl ChangeFailureKind {
    pub(super) fn of(self, part: ChangePart, class: Class, what: impl Into<String>) -> Error {
        Error::new(class, what).attach(ChangeFailure { part: Some(part), kind: self })
    }
}

pub(super) fn invalid(part: ChangePart, what: impl Into<String>) -> Error {
    ChangeFailureKind::Invalid.of(part, Class::BadInput, what)
}

/// A change of a server that pgdyno may not change.
pub(crate) fn not_allowed(change: &str) -> Error {
    let what = format!(
        "the change {change} would be made on a server that is not pgdyno's; write change_server = true into [target] to \
         allow it (it is undone afterwards)"
    );
    ChangeFailureKind::Invalid.of(ChangePart::Do, Class::Missing, what)
}

pub(super) fn sql_error(part: ChangePart, what: &str, error: SqlError) -> Error {
    Error::of_server(error.sqlstate.as_deref(), format!("{part} {what}: {error}"))
        .because(error)
        .attach(ChangeFailure { part: Some(part), kind: ChangeFailureKind::Sql })
}

pub(super) fn stopped(part: ChangePart, what: &str) -> Error {
    ChangeFailureKind::CutShort.of(part, Class::Interrupted, format!("{part} {what} was stopped"))
}

/// As an earlier error of an undo that the user stopped.
pub(crate) fn stopped_undo(what: &str) -> Error {
    ChangeFailureKind::CutShort.of(ChangePart::Undo, Class::Interrupted, what)
}

pub(super) fn still_running(what: String) -> Error {
    ChangeFailureKind::StillRunning.of(ChangePart::Undo, Class::Guard, what)
}

/// A change that failed, and whose undo failed too.
pub(crate) fn not_undone(error: Error, undo: &Error) -> Error {
    let part = error.attached().and_then(|failure: &ChangeFailure| failure.part);
    let what = format!("{error}; and it could not be undone: {undo}; try: pgdyno target restore");
    error.in_words(what).attach(ChangeFailure { part, kind: ChangeFailureKind::NotUndone })
}

/// Lines of a command's output in a message.
const LINES: usize = 6;

pub(super) fn quoted(output: &str) -> String {
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
        let output: String = (1..=9).map(|n| format!("line {n}\n")).collect();
        assert_eq!(quoted(&output), ":\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9");
        assert_eq!(quoted(" \n"), "");
    }
}
