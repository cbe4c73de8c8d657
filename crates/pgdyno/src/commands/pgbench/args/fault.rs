//! What is said of a command line that is wrong.

use super::super::talk::{Level, NAME};

pub(crate) type Message = (Level, String);

/// What cannot go on: pgbench's messages, and its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What is to be said, in this order.
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

    /// The same with one more line.
    pub(super) fn and(mut self, level: Level, text: impl Into<String>) -> Self {
        self.lines.push((level, text.into()));
        self
    }

    /// The same with the advice to look at the help.
    pub(super) fn and_see_help(self) -> Self {
        self.and(Level::Hint, format!("Try \"{NAME} --help\" for more information."))
    }

    /// The same behind what is to be said before.
    pub(super) fn behind(mut self, messages: Vec<Message>) -> Self {
        self.lines.splice(0..0, messages);
        self
    }
}
