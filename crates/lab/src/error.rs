//! Why an experiment or a run could not be done: what happened, where, and what to try.

use std::io;
use std::path::PathBuf;

use results::ExperimentId;

use crate::experiment::{FileProblems, ReadError};
use crate::words;
use target::settings::SettingsError;

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
        /// What to call it in a command.
        called: String,
        /// How many runs it has; those of the plan, or more where it was extended.
        runs: usize,
        /// Whether it looked for limits, and so repeats its runs by itself.
        searched: bool,
        /// The results file.
        results: PathBuf,
    },
    /// Two runs in a row were invalid for the same cause: what is left of their kind waits for somebody to look.
    #[error("{}; {}", what.join("\n"), set_aside(*kept, *again, *planned))]
    SetAside {
        /// Where the runs are in the results file.
        experiment: ExperimentId,
        /// What waits, and why; never empty.
        what: Vec<String>,
        /// What to do about the cause; empty where nothing can be said of it.
        advice: String,
        /// Runs that are stored and done, earlier sessions included.
        kept: usize,
        /// Runs that are stored too, but are to be measured again: they are invalid, or took turns with one that is.
        again: usize,
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
        /// What it came from, where another part said it.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A change of one's own could not be made or undone, or its check does not hold.
    #[error(transparent)]
    OwnChange(Box<OwnChangeError>),
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was attempted: "read", "write".
        doing: &'static str,
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
        /// Whether a finished experiment was being measured anew: what goes on with it does not begin it anew.
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

/// Why a change of one's own could not be made or undone, and which.
#[derive(Debug, thiserror::Error)]
#[error("{}[change.{name}.{level}] {source}{}", at.as_deref().unwrap_or_default(), still(left.as_deref()))]
pub struct OwnChangeError {
    /// File and line, as `x.toml:7: `, once they are known.
    pub(crate) at: Option<String>,
    /// Its factor.
    pub(crate) name: String,
    pub(crate) level: String,
    pub(crate) class: Class,
    /// What to try; empty when there is nothing to advise.
    pub(crate) hint: &'static str,
    /// What of it is on the server still.
    pub(crate) left: Option<String>,
    pub(crate) source: SettingsError,
}

/// That what a change did is there still, where it is.
fn still(left: Option<&str>) -> String {
    let told = |left| format!("\nwhat {left} did is still there, so nothing more is measured on that server");
    left.map(told).unwrap_or_default()
}

impl From<ReadError> for LabError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Mistakes(problems) => Self::File(problems),
            ReadError::Unreadable { path, source } => {
                Self::Io { doing: "read the experiment file", path, source }
            }
            ReadError::NoExperiment { .. } => {
                Self::failed(Class::BadInput, error.to_string(), "docs/experiment.md shows one")
            }
        }
    }
}

impl LabError {
    /// An error of a class, with what to try.
    #[must_use]
    pub fn failed(class: Class, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed { class, what: what.into(), hint: hint.into(), source: None }
    }

    /// Another part's error, which says all that is to be said.
    pub(crate) fn caused<E>(class: Class, hint: &str, error: E) -> Self
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        Self::Failed { class, what: error.to_string(), hint: hint.to_owned(), source: Some(Box::new(error)) }
    }

    /// The same kind of error and advice in other words.
    #[must_use]
    pub(crate) fn told_as(self, what: String) -> Self {
        let (class, hint) = (self.class(), self.hint().unwrap_or_default());
        Self::Failed { class, what, hint, source: Some(Box::new(self)) }
    }

    /// Kind of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::File(_) => Class::BadInput,
            Self::Finished { .. } => Class::Usage,
            Self::SetAside { .. } => Class::Guard,
            Self::Failed { class, .. } => *class,
            Self::OwnChange(error) => error.class,
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Class::BadInput,
            Self::Io { .. } => Class::Io,
            Self::Interrupted { .. } => Class::Interrupted,
        }
    }

    /// What to try, where there is advice.
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
            Self::Failed { hint, .. } => (!hint.is_empty()).then(|| hint.clone()),
            Self::Io { path, source, .. } if source.kind() == io::ErrorKind::NotFound => {
                let tried = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                Some(format!("there is no {}", tried.display()))
            }
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space; finished runs are kept, the same command goes on".into())
            }
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

/// What came of something that the user may have ended: then that is the reason, whatever was seen of servers and
/// programs.
///
/// # Errors
/// That of `result`, or [`LabError::Interrupted`].
pub(crate) fn explain<T>(stop: &target::Stop, result: Result<T, LabError>) -> Result<T, LabError> {
    match result {
        Err(error) if stop.ends_waits() && is_of_others(error.class()) => {
            Err(LabError::Interrupted { kept: 0, planned: 0, again: false })
        }
        other => other,
    }
}

/// Whether servers or programs gave the reason, and not a file or a mistake.
fn is_of_others(class: Class) -> bool {
    matches!(class, Class::Unreachable | Class::Refused | Class::Missing | Class::Guard | Class::Child)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four of twelve were said to be kept where eight were stored.
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
