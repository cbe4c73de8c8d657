//! Why the tables were not made, and their state.

use spec::{Class, Error};

use super::fault::Fault;
use super::steps::{Step, letters};
use crate::error;

/// The state of the database when the steps end early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DatabaseState {
    pub(super) done: Vec<Step>,
    pub(super) during: Step,
    /// Steps not begun.
    pub(super) ahead: Vec<Step>,
    /// The state of the step that was not finished.
    pub(super) part: Part,
}

/// The state of a step that was not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
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
            Part::Nothing => "left nothing behind: it was rolled back".to_owned(),
            Part::Unknown => {
                "is done or left nothing behind: it is not known whether it was committed".to_owned()
            }
            Part::Statements => "is done in part: its statements before this one hold".to_owned(),
            Part::Rows { there, total } => {
                format!("is done in part: {there} of {total} rows of pgbench_accounts are there")
            }
        };
        format!("Step {} ({name}) {part}; {done}.", self.during.letter())
    }

    /// What to do next.
    fn advice(&self) -> String {
        let rest = letters(&self.rest());
        match self.part {
            Part::Rows { .. } => format!("The same command with -I {rest} makes the rows again."),
            Part::Nothing | Part::Unknown => format!("The same command with -I {rest} goes on from here."),
            Part::Statements => match self.during {
                Step::CreateTables => format!("The same command with -I d{rest} makes the tables again."),
                Step::PrimaryKeys | Step::ForeignKeys => {
                    format!(
                        "Drop the keys that were made; then the same command with -I {rest} goes on from here."
                    )
                }
                _ => format!("The same command with -I {rest} goes on from here."),
            },
        }
    }

    fn rest(&self) -> Vec<Step> {
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
pub(super) fn explain(fault: Fault, state: &DatabaseState) -> Error {
    let (text, query) = match &fault {
        Fault::Stopped => ("initialization was stopped".to_owned(), None),
        Fault::Query { sql, error } => (format!("query failed: {error}"), Some(sql)),
        Fault::Connect(error) => (error.to_string(), None),
        Fault::Unknown(what) => (what.clone(), None),
    };
    let mut remarks = vec![(Remark::Error, text)];
    remarks.extend(query.map(|sql| (Remark::Detail, format!("Query was: {sql}"))));
    // Where pgbench could have failed in the same way, it prints nothing more.
    if matches!(fault, Fault::Stopped) || matches!(state.part, Part::Rows { .. } | Part::Unknown) {
        remarks.push((Remark::Detail, state.text()));
        remarks.push((Remark::Hint, state.advice()));
    }
    let error = match fault {
        Fault::Stopped => Error::stopped(),
        Fault::Query { sql, error } => error::sql(format!("running \"{sql}\""))(error),
        Fault::Connect(_) | Fault::Unknown(_) => {
            let lines: Vec<&str> = remarks.iter().map(|(_, text)| text.as_str()).collect();
            Error::new(Class::Unreachable, format!("while making pgbench's tables: {}", lines.join("\n")))
        }
    };
    error.attach(Remarks(remarks))
}
