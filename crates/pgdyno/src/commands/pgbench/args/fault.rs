//! Errors of a command line.

use super::super::talk::{LogLevel, NAME};

pub(crate) type ArgumentMessage = (LogLevel, String);

/// An error: pgbench's messages, and its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentError {
    /// In this order.
    pub(crate) lines: Vec<ArgumentMessage>,
    pub(crate) exit: u8,
}

impl ArgumentError {
    pub(super) fn of(message: ArgumentMessage) -> Self {
        Self { lines: vec![message], exit: 1 }
    }

    pub(super) fn error(text: impl Into<String>) -> Self {
        Self::of((LogLevel::Error, text.into()))
    }

    pub(super) fn and(mut self, level: LogLevel, text: impl Into<String>) -> Self {
        self.lines.push((level, text.into()));
        self
    }

    pub(super) fn and_see_help(self) -> Self {
        self.and(LogLevel::Hint, format!("Try \"{NAME} --help\" for more information."))
    }

    /// Names what takes a list, if the value is one: pgbench takes none.
    pub(super) fn of_list(self, value: &str) -> Self {
        let hint = "pgbench takes one value. Several at a time: pgdyno bench with --against.";
        if value.contains(',') { self.and(LogLevel::Hint, hint) } else { self }
    }

    pub(super) fn behind(mut self, messages: Vec<ArgumentMessage>) -> Self {
        self.lines.splice(0..0, messages);
        self
    }
}
