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
pub struct ScriptCommand {
    /// Line it starts in, counted from 1.
    pub line: usize,
    /// Shown in reports: a statement's first line (at most 127 bytes), or a whole backslash command.
    pub summary: String,
    /// A backslash command's words without the backslash, up to an expression: for `\set` the name and the
    /// variable. Empty for SQL.
    pub words: Vec<String>,
    pub action: Action,
}

/// What a command does. Positions are indexes into [`crate::Script::commands`]; [`crate::Cursor`] follows them.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Sql(Statement),
    Set {
        target: AssignmentTarget,
        expression: Expression,
    },
    Sleep(Sleep),
    If {
        condition: Expression,
        /// Next command if the condition is false: the `\elif` to test, or the one after `\else` or `\endif`.
        otherwise: usize,
    },
    /// Tests a condition if no branch was taken before, else ends the branch.
    Elif {
        condition: Expression,
        /// As in `If`.
        otherwise: usize,
        /// After the `\endif`.
        end: usize,
    },
    /// Ends the branch before it.
    Else {
        /// After the `\endif`.
        end: usize,
    },
    Endif,
    Shell(Shell),
    /// Runs a shell command and stores the integer it prints.
    SetShell {
        target: AssignmentTarget,
        shell: Shell,
    },
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

/// Where a value is stored. An invalid name is an error only when the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssignmentTarget {
    Variable(Slot),
    /// An invalid variable name; storing fails.
    BadName(String),
}

impl AssignmentTarget {
    /// Stores a value; `command` is the command's name as written, for the message.
    ///
    /// # Errors
    /// [`EvalError::BadName`] for an invalid variable name.
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
