//! Errors of a command line.

use super::super::talk::{Level, NAME};

pub(crate) type Message = (Level, String);

/// An error: pgbench's messages, and its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// In this order.
    pub(crate) lines: Vec<Message>,
    pub(crate) exit: u8,
}

impl Fault {
    pub(super) fn of(message: Message) -> Self {
        Self { lines: vec![message], exit: 1 }
    }

    pub(super) fn error(text: impl Into<String>) -> Self {
        Self::of((Level::Error, text.into()))
    }

    pub(super) fn and(mut self, level: Level, text: impl Into<String>) -> Self {
        self.lines.push((level, text.into()));
        self
    }

    pub(super) fn and_see_help(self) -> Self {
        self.and(Level::Hint, format!("Try \"{NAME} --help\" for more information."))
    }

    pub(super) fn behind(mut self, messages: Vec<Message>) -> Self {
        self.lines.splice(0..0, messages);
        self
    }
}
