//! A client's position in a script with conditions.

use crate::command::Action;
use crate::expression::Expression;
use crate::script::Script;

/// Which command of a script comes next.
///
/// Commands in branches that are not taken are neither run nor counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    command: usize,
    /// No branch of the `\if` has been taken yet, so an `\elif` here must be tested.
    testing: bool,
}

impl Cursor {
    /// A cursor at the first command.
    pub fn start() -> Self {
        Self::default()
    }

    /// Index of the command; the number of commands at the script's end.
    #[inline]
    pub fn command(self) -> usize {
        self.command
    }

    /// The condition to evaluate here, if any. An `\elif` after a taken branch has none: it only ends the
    /// branch.
    #[inline]
    pub fn condition(self, script: &Script) -> Option<&Expression> {
        match &script.commands.get(self.command)?.action {
            Action::If { condition, .. } => Some(condition),
            Action::Elif { condition, .. } if self.testing => Some(condition),
            _ => None,
        }
    }

    /// The cursor after this command. `truth` is the value of [`Cursor::condition`], ignored if there is
    /// none.
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
