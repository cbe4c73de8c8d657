//! What an experiment file names that needs consent: code that a run executes, and what lies outside the file's folder.

use serde::Serialize;

/// A command, a program or other code that is executed when an experiment is run, or a file of another folder that it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileCommand {
    /// Dotted key of the file, such as `change.index.with.do`.
    pub key: String,
    /// Line of the file, from 1; `None` where there is no file.
    pub line: Option<usize>,
    /// What is executed or used, in words, on one line: `the shell command "make"`.
    pub runs: String,
    /// Who executes it; `None` for what is used and not executed.
    pub by: Option<ExecutedBy>,
}

/// Who executes a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutedBy {
    /// pgdyno, or a program that pgdyno starts.
    Pgdyno,
    /// The PostgreSQL server, on its machine.
    Server,
}

impl FileCommand {
    /// `change.index.with.do (line 12): the shell command "make"`.
    #[must_use]
    pub fn words(&self) -> String {
        let line = self.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        format!("{}{line}: {}", self.key, self.runs)
    }
}
