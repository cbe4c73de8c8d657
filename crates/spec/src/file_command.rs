//! Parts of an experiment file that need consent: code that a run executes, and files outside the experiment
//! file's folder.

use std::path::PathBuf;

use serde::Serialize;

/// A command, a program or other code that an experiment executes, or a file of another folder that it uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileCommand {
    /// Dotted key of the file, such as `change.index.with.do`.
    pub key: String,
    /// Line of the file, from 1; `None` without a file.
    pub line: Option<usize>,
    /// What is executed or used, on one line: `the shell command "make"`.
    pub runs: String,
    /// `None` for files that are used but not executed.
    pub by: Option<ExecutedBy>,
    /// The file outside the experiment's folder that is used; `None` for what is executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<PathBuf>,
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
