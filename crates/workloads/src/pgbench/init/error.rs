//! Why the tables were not made, and their state.

use std::fmt;

use super::steps::{Step, letters};
use crate::error::WorkloadError;
use protocol::postgres::sql::SqlError;

/// Why the tables were not made.
#[derive(Debug)]
pub enum InitError {
    Options(WorkloadError),
    /// The server refused a statement, or was lost during it.
    Query {
        sql: String,
        error: SqlError,
        state: Box<DatabaseState>,
    },
    /// A further connection could not be opened, after all tries.
    Connect {
        error: SqlError,
        state: Box<DatabaseState>,
    },
    /// It is unknown whether a batch was committed.
    Unknown {
        /// In words.
        what: String,
        state: Box<DatabaseState>,
    },
    Stopped(Box<DatabaseState>),
}

/// The state of the database when the steps end early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseState {
    pub done: Vec<Step>,
    pub during: Step,
    /// Steps not begun.
    pub ahead: Vec<Step>,
    /// The state of the step that was not finished.
    pub part: Part,
}

/// The state of a step that was not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
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
    #[must_use]
    pub fn text(&self) -> String {
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
    #[must_use]
    pub fn advice(&self) -> String {
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

impl InitError {
    /// What to print, with pgbench's words where it has any.
    #[must_use]
    pub fn remarks(&self) -> Vec<(Remark, String)> {
        let with = |error: String, state: &DatabaseState, query: Option<&str>| {
            let mut remarks = vec![(Remark::Error, error)];
            remarks.extend(query.map(|sql| (Remark::Detail, format!("Query was: {sql}"))));
            // Where pgbench could have failed in the same way, it prints nothing more.
            if matches!(state.part, Part::Rows { .. } | Part::Unknown) {
                remarks.push((Remark::Detail, state.text()));
                remarks.push((Remark::Hint, state.advice()));
            }
            remarks
        };
        match self {
            Self::Options(error) => vec![(Remark::Error, error.to_string())],
            Self::Query { sql, error, state } => with(format!("query failed: {error}"), state, Some(sql)),
            Self::Connect { error, state } => with(error.to_string(), state, None),
            Self::Unknown { what, state } => with(what.clone(), state, None),
            Self::Stopped(state) => vec![
                (Remark::Error, "initialization was stopped".to_owned()),
                (Remark::Detail, state.text()),
                (Remark::Hint, state.advice()),
            ],
        }
    }
}

impl fmt::Display for InitError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remarks: Vec<String> = self.remarks().into_iter().map(|(_, text)| text).collect();
        out.write_str(&remarks.join("\n"))
    }
}

impl std::error::Error for InitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Options(error) => Some(error),
            Self::Query { error, .. } | Self::Connect { error, .. } => Some(error),
            Self::Unknown { .. } | Self::Stopped(_) => None,
        }
    }
}

impl From<InitError> for WorkloadError {
    fn from(error: InitError) -> Self {
        match error {
            InitError::Options(error) => error,
            InitError::Query { sql, error, .. } => Self::Sql { doing: format!("running \"{sql}\""), error },
            other => {
                let error = SqlError { sqlstate: None, text: other.to_string() };
                Self::Sql { doing: "making pgbench's tables".to_owned(), error }
            }
        }
    }
}
