//! The commands of a script, as a client runs them.

use crate::error::EvalError;
use crate::expression::Expression;
use crate::render::Statement;
use crate::shell::Shell;
use crate::sleep::Sleep;
use crate::symbols::Slot;
use crate::value::Value;
use crate::variables::Variables;

/// One command of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// Line it starts in, counted from 1.
    pub line: usize,
    /// What reports show: a statement's first line (at most 127 bytes), or a whole backslash command.
    pub summary: String,
    /// A backslash command's words as far as they are words, without the backslash: all of them, or, before an
    /// expression, the name and `\set`'s variable. Empty for SQL.
    pub words: Vec<String>,
    pub action: Action,
}

/// What a command does. Positions are indexes into [`crate::Script::commands`]; [`crate::Cursor`] follows them.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Sql(Statement),
    Set {
        target: Target,
        expression: Expression,
    },
    Sleep(Sleep),
    /// Tests a condition.
    If {
        condition: Expression,
        /// Where to go on when it does not hold: at the `\elif` to test next, or behind `\else` or `\endif`.
        otherwise: usize,
    },
    /// Tests a condition if no branch was taken before, else ends the branch.
    Elif {
        condition: Expression,
        /// As in `If`.
        otherwise: usize,
        /// Behind the `\endif`.
        end: usize,
    },
    /// Ends the branch before it.
    Else {
        /// Behind the `\endif`.
        end: usize,
    },
    Endif,
    Shell(Shell),
    /// Runs a shell command and stores the integer it prints.
    SetShell {
        target: Target,
        shell: Shell,
    },
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

/// Where a value is to be stored. Whether the name is allowed only matters when the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Variable(Slot),
    /// A name no variable may have; storing fails.
    BadName(String),
}

impl Target {
    /// Stores a value there; `command` is the command's name as written, which goes before the message.
    ///
    /// # Errors
    /// [`EvalError::BadName`] when no variable may have this name.
    #[inline]
    pub fn store(&self, variables: &mut Variables, command: &str, value: Value) -> Result<(), EvalError> {
        match self {
            Self::Variable(slot) => {
                variables.set(*slot, value);
                Ok(())
            }
            Self::BadName(name) => Err(EvalError::BadName { context: command.into(), name: name.clone() }),
        }
    }
}
