//! A client's way through a script with conditions.

use crate::command::Action;
use crate::expression::Expression;
use crate::script::Script;

/// Which command of a script comes next.
///
/// Branches that are not taken are never seen: their commands are neither run nor counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    command: usize,
    /// No branch of the `\if` has been taken yet, so an `\elif` here is to be tested.
    testing: bool,
}

impl Cursor {
    /// At the first command.
    pub fn start() -> Self {
        Self::default()
    }

    /// Index of the command; the number of commands at the script's end.
    #[inline]
    pub fn command(self) -> usize {
        self.command
    }

    /// The condition to evaluate here, if any. An `\elif` behind a branch that was taken has none: it only ends it.
    #[inline]
    pub fn condition(self, script: &Script) -> Option<&Expression> {
        match &script.commands.get(self.command)?.action {
            Action::If { condition, .. } => Some(condition),
            Action::Elif { condition, .. } if self.testing => Some(condition),
            _ => None,
        }
    }

    /// The cursor after this command. `truth` is that of [`Cursor::condition`], ignored where there is none.
    #[inline]
    #[must_use]
    pub fn next(self, script: &Script, truth: bool) -> Self {
        let Some(command) = script.commands.get(self.command) else {
            return self;
        };
        match command.action {
            Action::If { otherwise, .. } if !truth => Self { command: otherwise, testing: true },
            Action::Elif { otherwise, .. } if self.testing && !truth => {
                Self { command: otherwise, testing: true }
            }
            Action::Elif { end, .. } if !self.testing => Self { command: end, testing: false },
            Action::Else { end } => Self { command: end, testing: false },
            _ => Self { command: self.command + 1, testing: false },
        }
    }
}
