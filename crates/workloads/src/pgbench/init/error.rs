//! Why the tables were not made, and their state.

use spec::{Class, Error};

use super::fault::InitFault;
use super::steps::{InitStep, letters};
use crate::error;

/// The state of the database when the steps end early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatabaseState {
    pub(super) done: Vec<InitStep>,
    pub(super) during: InitStep,
    /// Steps not begun.
    pub(super) ahead: Vec<InitStep>,
    /// The state of the step that was not finished.
    pub(super) part: UnfinishedStep,
}

/// The state of a step that was not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnfinishedStep {
    /// It is one transaction, and was rolled back.
    Nothing,
    /// Nothing or everything: the connection was lost during the commit.
    Unknown,
    /// Each statement is a separate transaction: all before the last one hold.
    Statements,
    /// Branches, tellers and these accounts.
    Rows {
        /// Accounts committed.
        there: u64,
        /// Accounts there should be.
        total: u64,
    },
}

impl DatabaseState {
    /// In a sentence or two.
    fn text(&self) -> String {
        let name = self.during.name();
        let done = match self.done.as_slice() {
            [] => "no step before it was run".to_owned(),
            steps => format!("done before it: {}", letters(steps)),
        };
        let part = match self.part {
            UnfinishedStep::Nothing => "left nothing behind: it was rolled back".to_owned(),
            UnfinishedStep::Unknown => {
                "is done or left nothing behind: it is not known whether it was committed".to_owned()
            }
            UnfinishedStep::Statements => "is done in part: its statements before this one hold".to_owned(),
            UnfinishedStep::Rows { there, total } => {
                format!("is done in part: {there} of {total} rows of pgbench_accounts are there")
            }
        };
        format!("Step {} ({name}) {part}; {done}.", self.during.letter())
    }

    /// What to do next.
    fn advice(&self) -> String {
        let rest = letters(&self.rest());
        match self.part {
            UnfinishedStep::Rows { .. } => format!("The same command with -I {rest} makes the rows again."),
            UnfinishedStep::Nothing | UnfinishedStep::Unknown => {
                format!("The same command with -I {rest} goes on from here.")
            }
            UnfinishedStep::Statements => match self.during {
                InitStep::CreateTables => format!("The same command with -I d{rest} makes the tables again."),
                InitStep::PrimaryKeys | InitStep::ForeignKeys => {
                    format!(
                        "Drop the keys that were made; then the same command with -I {rest} goes on from here."
                    )
                }
                _ => format!("The same command with -I {rest} goes on from here."),
            },
        }
    }

    fn rest(&self) -> Vec<InitStep> {
        let mut steps = vec![self.during];
        steps.extend(&self.ahead);
        steps
    }
}

/// The kind of a line of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark {
    Error,
    Detail,
    Hint,
}

/// Attached to the error of [`run`](super::run): its lines, with pgbench's words where it has any.
struct Remarks(Vec<(Remark, String)>);

/// What to print about an error of [`run`](super::run).
#[must_use]
pub fn remarks(error: &Error) -> Vec<(Remark, String)> {
    match error.attached() {
        Some(Remarks(remarks)) => remarks.clone(),
        None => vec![(Remark::Error, error.to_string())],
    }
}

/// The error of a step that ended early, with what it left behind.
pub(super) fn explain(fault: InitFault, state: &DatabaseState) -> Error {
    let (text, query) = match &fault {
        InitFault::Stopped => ("initialization was stopped".to_owned(), None),
        InitFault::Query { sql, error } => (format!("query failed: {error}"), Some(sql)),
        InitFault::Connect(error) => (error.to_string(), None),
        InitFault::Unknown(what) => (what.clone(), None),
    };
    let mut remarks = vec![(Remark::Error, text)];
    remarks.extend(query.map(|sql| (Remark::Detail, format!("Query was: {sql}"))));
    // Where pgbench could have failed in the same way, it prints nothing more.
    if matches!(fault, InitFault::Stopped)
        || matches!(state.part, UnfinishedStep::Rows { .. } | UnfinishedStep::Unknown)
    {
        remarks.push((Remark::Detail, state.text()));
        remarks.push((Remark::Hint, state.advice()));
    }
    let error = match fault {
        InitFault::Stopped => Error::stopped(),
        InitFault::Query { sql, error } => error::sql_error(format!("running \"{sql}\""))(error),
        InitFault::Connect(_) | InitFault::Unknown(_) => {
            let lines: Vec<&str> = remarks.iter().map(|(_, text)| text.as_str()).collect();
            Error::new(Class::Unreachable, format!("while making pgbench's tables: {}", lines.join("\n")))
        }
    };
    error.attach(Remarks(remarks))
}
