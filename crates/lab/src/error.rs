//! Why an experiment or a run could not be done: what happened, where, and what to try.

use std::io;
use std::path::PathBuf;

use crate::experiment::FileProblems;
use crate::words;

/// Kind of an error, from which the program chooses its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// An option or argument that cannot be meant.
    Usage,
    /// A bad file: experiment, script, extract, results.
    BadInput,
    /// The server cannot be reached, or went away.
    Unreachable,
    /// The server refused: password, role, database, connections.
    Refused,
    /// Something is missing: an extension, a table, a program, a permission.
    Missing,
    /// A workload does nothing, or settings were not taken.
    Guard,
    /// A mistake in pgdyno.
    Internal,
    /// A program that pgdyno started failed.
    Child,
    /// Reading or writing failed: disk full, no permission.
    Io,
    /// Stopped from outside; finished runs are kept.
    Interrupted,
}

/// Why an experiment or a run could not be done.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The experiment file has mistakes.
    #[error("{0}")]
    File(#[from] FileProblems),
    /// The experiment is finished already.
    #[error("experiment {name} is finished: {} in {}", words::count_of_all(*runs), results.display())]
    Finished {
        /// Name of the experiment.
        name: String,
        /// How many runs it has.
        runs: usize,
        /// The results file.
        results: PathBuf,
    },
    /// Two runs in a row were invalid for the same cause: what is left of their kind waits for somebody to look.
    #[error("{}; {kept} of {}, the rest is left for later", what.join("\n"), words::count_kept(*planned))]
    SetAside {
        /// What waits, and why; never empty.
        what: Vec<String>,
        /// What to do about the cause; empty where nothing can be said of it.
        advice: String,
        /// Runs that are stored and count, earlier sessions included.
        kept: usize,
        /// Runs of the whole plan.
        planned: usize,
    },
    /// Anything that has a class, a place and an advice, and needs no further structure.
    #[error("{what}")]
    Failed {
        /// Which kind.
        class: Class,
        /// What happened, and where.
        what: String,
        /// What to try; empty when there is nothing to advise.
        hint: String,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was attempted: "read", "write".
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Stopped from outside.
    #[error("stopped{}", kept_runs(*kept, *planned))]
    Interrupted {
        /// Runs stored so far, earlier sessions included.
        kept: usize,
        /// Runs of the whole plan.
        planned: usize,
    },
}

fn kept_runs(kept: usize, planned: usize) -> String {
    if planned == 0 { String::new() } else { format!("; {kept} of {}", words::count_kept(planned)) }
}

impl LabError {
    /// An error of a class, with what to try.
    #[must_use]
    pub fn failed(class: Class, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { class, what: what.into(), hint: hint.into() }
    }

    /// The same kind of error and advice in other words.
    #[must_use]
    pub(crate) fn told_as(self, what: String) -> Self {
        Self::Failed { class: self.class(), what, hint: self.hint().unwrap_or_default() }
    }

    /// Kind of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::File(_) => Class::BadInput,
            Self::Finished { .. } => Class::Usage,
            Self::SetAside { .. } => Class::Guard,
            Self::Failed { class, .. } => *class,
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Class::BadInput,
            Self::Io { .. } => Class::Io,
            Self::Interrupted { .. } => Class::Interrupted,
        }
    }

    /// What to try, where there is advice.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Finished { .. } => {
                Some("add --again to measure it anew, or raise `rounds` to extend it".into())
            }
            Self::SetAside { advice, .. } => {
                let mend = if advice.is_empty() { "mend the cause" } else { advice };
                Some(format!("{mend}; then the same command measures those two again and goes on"))
            }
            Self::Failed { hint, .. } => (!hint.is_empty()).then(|| hint.clone()),
            Self::Io { path, source, .. } if source.kind() == io::ErrorKind::NotFound => {
                let tried = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                Some(format!("there is no {}", tried.display()))
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space; finished runs are kept, the same command goes on".into())
            }
            Self::Interrupted { kept, planned } if kept < planned => {
                Some("the same command goes on where it stopped".into())
            }
            _ => None,
        }
    }
}
