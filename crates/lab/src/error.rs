//! Why an experiment or a run failed: what happened, where, and what to try.

use std::io;
use std::path::{Path, PathBuf};

use protocol::postgres::sql::SqlError;
use results::ExperimentId;
use server::server_error;
use spec::{Class, Error, is_disk_full};

use crate::experiment::{FileProblems, ReadError};
use crate::words;

/// Why an experiment or a run failed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("{0}")]
    File(#[from] FileProblems),
    #[error("experiment {name} is finished: {} in {}", words::count_of_all(*runs), results.display())]
    Finished {
        name: String,
        called: String,
        /// Its number of runs; more than planned if it was extended.
        runs: usize,
        /// Whether it searched for limits, and so repeats its runs automatically.
        searched: bool,
        results: PathBuf,
    },
    /// Two consecutive runs were invalid for the same cause: the remaining runs of their kind are suspended
    /// until the user acts.
    #[error("{}; {}", what.join("\n"), set_aside(*kept, *again, *planned))]
    SetAside {
        experiment: ExperimentId,
        /// What is suspended, and why; never empty.
        what: Vec<String>,
        /// How to fix the cause; empty if unknown.
        advice: String,
        /// Stored valid runs, of earlier invocations too.
        kept: usize,
        /// Runs that are stored too, but are to be measured again: they are invalid, or took turns with an
        /// invalid one.
        again: usize,
        planned: usize,
    },
    #[error(transparent)]
    Failed(#[from] Error),
    #[error(transparent)]
    OwnChange(Box<OwnChangeError>),
    #[error("stopped{}", kept_runs(*kept, *planned))]
    Interrupted {
        kept: usize,
        planned: usize,
        /// Whether a finished experiment was being repeated: the next command continues the repetition.
        again: bool,
    },
}

fn set_aside(kept: usize, again: usize, planned: usize) -> String {
    let are = |number: usize| if number == 1 { "is" } else { "are" };
    let left = match planned.saturating_sub(kept + again) {
        0 => String::new(),
        left => format!(", {left} {} left for later", are(left)),
    };
    let (planned, verb) = (words::count_kept(planned), are(again));
    format!(
        "{kept} of {planned}, {again} more {verb} stored and {verb} to be measured again (invalid, or in turn with one \
         that is){left}"
    )
}

fn kept_runs(kept: usize, planned: usize) -> String {
    if planned == 0 { String::new() } else { format!("; {kept} of {}", words::count_kept(planned)) }
}

/// Why a user's change could not be made or undone, and which.
#[derive(Debug, thiserror::Error)]
#[error("{}[change.{name}.{level}] {source}{}", at.as_deref().unwrap_or_default(), still(left.as_deref()))]
pub struct OwnChangeError {
    /// File and line, as `x.toml:7: `, once known.
    pub(crate) at: Option<String>,
    pub(crate) name: String,
    pub(crate) level: String,
    pub(crate) class: Class,
    /// May be empty.
    pub(crate) hint: &'static str,
    /// What remains of the change on the server.
    pub(crate) left: Option<String>,
    pub(crate) source: Error,
}

fn still(left: Option<&str>) -> String {
    let told = |left| format!("\nwhat {left} did is still there, so nothing more is measured on that server");
    left.map(told).unwrap_or_default()
}

impl From<ReadError> for LabError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Mistakes(problems) => Self::File(problems),
            ReadError::Unreadable { path, source } => Self::io("read the experiment file", &path, source),
            ReadError::NoExperiment { .. } => {
                Self::failed(Class::BadInput, error.to_string(), "docs/experiment.md shows one")
            }
        }
    }
}

impl From<SqlError> for LabError {
    fn from(error: SqlError) -> Self {
        server_error(error.to_string(), error).into()
    }
}

impl LabError {
    /// An error of a class, with what to try.
    #[must_use]
    pub fn failed(class: Class, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::new(class, what).with_hint(hint).into()
    }

    /// A user's file that could not be read or written: `cannot DOING PATH: …`.
    pub(crate) fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        let missing = source.kind() == io::ErrorKind::NotFound;
        let full = is_disk_full(&source);
        let error = Error::io(doing, path, source);
        if missing {
            let tried = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            error.with_class(Class::BadInput).with_hint(format!("there is no {}", tried.display())).into()
        } else if full {
            error.with_hint("free some space; finished runs are kept, the same command goes on").into()
        } else {
            error.into()
        }
    }

    /// An error of the same kind and advice with another text.
    #[must_use]
    pub(crate) fn told_as(self, what: String) -> Self {
        match self {
            Self::Failed(error) => error.in_words(what),
            other => {
                let hint = other.hint().unwrap_or_default();
                Error::new(other.class(), what).with_hint(hint).because(other)
            }
        }
        .into()
    }

    /// The class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::File(_) => Class::BadInput,
            Self::Finished { .. } => Class::Usage,
            Self::SetAside { .. } => Class::Guard,
            Self::Failed(error) => error.class(),
            Self::OwnChange(error) => error.class,
            Self::Interrupted { .. } => Class::Interrupted,
        }
    }

    /// What to try, if there is advice.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Finished { called, searched: true, .. } => Some(format!(
                "see it with pgdyno table limits -e {called} or pgdyno report -e {called}; add --again to search anew"
            )),
            Self::Finished { called, .. } => Some(format!(
                "see it with pgdyno compare -e {called} or pgdyno report -e {called}; add --again to measure it anew, or a larger \
                 --rounds to extend it"
            )),
            Self::SetAside { advice, .. } => {
                let mend = if advice.is_empty() { "mend the cause" } else { advice };
                Some(format!("{mend}; then the same command measures those runs again and goes on"))
            }
            Self::OwnChange(error) => Some(error.hint.to_owned()).filter(|hint| !hint.is_empty()),
            Self::Failed(error) => error.hint().map(str::to_owned),
            Self::Interrupted { kept: 0, .. } => {
                Some("nothing was measured yet; the same command begins again".into())
            }
            Self::Interrupted { kept, planned, again } if kept < planned => {
                let without = if *again { " without --again" } else { "" };
                Some(format!("the same command{without} goes on where it stopped"))
            }
            _ => None,
        }
    }
}

/// If the user may have stopped the operation, the stop is the reason, whatever servers and programs report.
///
/// # Errors
/// The error of `result`, or [`LabError::Interrupted`].
pub(crate) fn explain<T>(stop: &server::Stop, result: Result<T, LabError>) -> Result<T, LabError> {
    match result {
        Err(error) if stop.ends_waits() && is_of_others(error.class()) => {
            Err(LabError::Interrupted { kept: 0, planned: 0, again: false })
        }
        other => other,
    }
}

/// Whether the error comes from a server or program, and not from a file or a mistake.
fn is_of_others(class: Class) -> bool {
    matches!(class, Class::Unreachable | Class::Refused | Class::Missing | Class::Guard | Class::Child)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// They were flattened to texts.
    #[test]
    fn errors_keep_their_sources() {
        let said = SqlError { sqlstate: Some("42P01".to_owned()), text: "ERROR:  any words".into() };
        let error = LabError::from(server::sql_error("looking", said.clone()));
        let error = error.told_as("in other words".to_owned());
        let chain = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let first = chain.last().and_then(|first| first.downcast_ref::<SqlError>());
        assert_eq!(first, Some(&said));
        assert_eq!((error.to_string().as_str(), error.class()), ("in other words", Class::Missing));
    }

    /// Four of twelve were reported as kept although eight were stored.
    #[test]
    fn what_is_set_aside_adds_up() {
        let told = |kept, again, planned| set_aside(kept, again, planned);
        assert_eq!(
            told(4, 4, 12),
            "4 of 12 runs are kept, 4 more are stored and are to be measured again (invalid, or in turn with one that is), \
             4 are left for later"
        );
        assert!(told(11, 1, 12).ends_with(
            "1 more is stored and is to be measured again (invalid, or in turn with one that is)"
        ));
    }
}
