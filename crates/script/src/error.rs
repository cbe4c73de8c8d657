//! Errors in scripts, and errors while they run.
//!
//! The texts are exactly pgbench's, which follow `pgbench: error: ` on its standard error.

use std::fmt;

use crate::number::double_text;

/// Most variable uses in one statement under the extended protocol.
pub(crate) const MAX_PARAMETERS: usize = 255;

pub(crate) const MAX_ARGUMENTS: usize = 16;

/// An invalid script (pgbench exits with 1 before it starts).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("{0}")]
    Syntax(Box<SyntaxError>),
    #[error("empty command list for script \"{script}\"")]
    Empty { script: String },
    /// `\if`, `\elif`, `\else` and `\endif` do not match.
    #[error("condition error in script \"{script}\" command {command}: {problem}")]
    Condition {
        script: String,
        /// The command, counted from 1.
        command: usize,
        problem: ConditionProblem,
    },
    /// A statement uses more variables than the extended protocol allows.
    #[error("statement has too many arguments (maximum is {max}): {statement}", max = MAX_PARAMETERS)]
    TooManyVariables { statement: String },
    /// A variable in quotes or in a comment, which the extended protocol cannot send: pgbench replaces it with
    /// a parameter that the server does not see, and every transaction fails.
    #[error(
        "{script}:{line}: :{name} is within {within}, where the server sees no parameter under -M extended|prepared; \
         write it outside of them, or use -M simple"
    )]
    HiddenVariable {
        script: String,
        /// Line in the script, counted from 1.
        line: usize,
        name: String,
        /// `quotes`, or `a comment`.
        within: &'static str,
    },
    #[error("at most {most} SQL scripts are allowed")]
    TooManyScripts { most: usize },
    #[error("total script weight must not be zero")]
    ZeroWeight,
}

/// How conditional commands do not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConditionProblem {
    #[error("\\elif without matching \\if")]
    ElifWithoutIf,
    #[error("\\elif after \\else")]
    ElifAfterElse,
    #[error("\\else without matching \\if")]
    ElseWithoutIf,
    #[error("\\else after \\else")]
    ElseAfterElse,
    #[error("\\endif without matching \\if")]
    EndifWithoutIf,
    #[error("\\if without matching \\endif")]
    IfWithoutEndif,
}

/// An invalid backslash command and its position.
///
/// Shown as `SCRIPT:LINE: MESSAGE (DETAIL) in command "NAME"`, then, where known, the command's text and a
/// caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    pub script: String,
    /// Line in the script, counted from 1.
    pub line: usize,
    pub message: &'static str,
    /// For example the invalid word.
    pub detail: Option<String>,
    /// As written, without the backslash.
    pub command: Option<String>,
    /// The command's text including the backslash; several lines when continued.
    pub text: Option<String>,
    /// Position of the error in `text`, in bytes from 0.
    pub column: Option<usize>,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.script, self.line, self.message)?;
        if let Some(detail) = &self.detail {
            write!(f, " ({detail})")?;
        }
        if let Some(command) = &self.command {
            write!(f, " in command \"{command}\"")?;
        }
        let Some(text) = &self.text else { return Ok(()) };
        write!(f, "\n{text}")?;
        if let Some(column) = self.column {
            // Not by a width, which formatting limits to 16 bits.
            write!(f, "\n{}^ error found here", " ".repeat(column))?;
        }
        Ok(())
    }
}

impl From<SyntaxError> for ParseError {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(Box::new(error))
    }
}

/// An error that stops a client while it evaluates a backslash command or stores a row.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvalError {
    #[error("undefined variable \"{name}\"")]
    UndefinedVariable { name: String },
    /// The variable's text is neither null, boolean nor number.
    #[error("malformed variable \"{name}\" value: \"{value}\"")]
    MalformedVariable { name: String, value: String },
    /// The variable's text is empty. pgbench fails without a message here.
    #[error("variable \"{name}\" is empty")]
    EmptyVariable { name: String },
    /// The variable's text is an integer with too many digits.
    #[error("value \"{value}\" is out of range for type bigint")]
    BigintRange { value: String },
    /// The variable's text is a lone sign.
    #[error("invalid input syntax for type bigint: \"{value}\"")]
    BigintSyntax { value: String },
    #[error("cannot coerce {from} to {to}")]
    Coercion { from: &'static str, to: &'static str },
    /// A double is too large for an integer, or not a number.
    #[error("double to int overflow for {}", double_text(*value))]
    DoubleToInt {
        /// The rounded double.
        value: f64,
    },
    #[error("bigint {operation} out of range")]
    BigintOverflow {
        /// `add`, `sub`, `mul` or `div`.
        operation: &'static str,
    },
    #[error("division by zero")]
    DivisionByZero,
    #[error("too many function arguments, maximum is {max}", max = MAX_ARGUMENTS)]
    TooManyArguments,
    /// A random function's lower bound is above its upper one.
    #[error("empty range given to random")]
    EmptyRange,
    /// A random function's range has more than 2^63 - 1 values.
    #[error("random range is too large")]
    RangeTooLarge,
    #[error("gaussian parameter must be at least 2.000000 (not {})", double_text(*parameter))]
    GaussianParameter { parameter: f64 },
    #[error("exponential parameter must be greater than zero (not {})", double_text(*parameter))]
    ExponentialParameter { parameter: f64 },
    #[error("zipfian parameter must be in range [1.001, 1000] (not {})", double_text(*parameter))]
    ZipfianParameter { parameter: f64 },
    #[error("permute size parameter must be greater than zero")]
    PermuteSize,
    #[error("{context}: invalid variable name: \"{name}\"")]
    BadName {
        /// The command that stores.
        context: String,
        name: String,
    },
    /// A word of `\sleep`, `\shell` or `\setshell` names a variable without a value.
    #[error("{command}: undefined variable \"{name}\"")]
    UndefinedArgument {
        /// `sleep`, or the shell command's first word.
        command: String,
        /// The variable; for shell commands with its colon.
        name: String,
    },
    #[error("{command}: invalid sleep time \"{value}\" for variable \"{name}\"")]
    SleepTime { command: String, value: String, name: String },
    /// A shell command does not fit pgbench's buffer.
    #[error("{command}: shell command is too long")]
    ShellTooLong {
        /// Its first word.
        command: String,
    },
    /// What a shell command printed is not an integer.
    #[error("{command}: shell command must return an integer (not \"{output}\")")]
    ShellNotInteger {
        /// Its first word.
        command: String,
        /// The first line it printed, cut at 63 bytes.
        output: String,
    },
}
