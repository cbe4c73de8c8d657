//! The user's changes to a server: SQL or a command with its undo, and a check that must hold while it is
//! made.
//!
//! Each change is recorded first (`settings::journal`), so that it can be undone after a crash. An undo must
//! work after a partial do, and twice: `DROP INDEX IF EXISTS`.

mod environment;
mod error;
mod executor;
mod statements;

use std::path::PathBuf;
use std::time::Duration;

pub use environment::Environment;
use error::invalid;
pub use error::{ChangeFailure, ChangeFailureKind};
pub(crate) use error::{not_allowed, not_undone, stopped_undo};
pub use executor::ChangeResult;
pub(crate) use executor::{Executor, see};
use spec::plan::change::{Change, ChangePart, ChangeStep};
use spec::{Class, Error};

/// Default timeout of a command.
pub const BOUND: Duration = Duration::from_secs(3600);

/// How a change is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeOptions {
    /// Longest time of each command.
    pub bound: Duration,
    /// The server is a copy that is removed afterwards: no undo is needed.
    pub thrown_away: bool,
    /// Folder that commands start in, an absolute path; the one we are in where there is none.
    pub folder: Option<PathBuf>,
}

impl Default for ChangeOptions {
    fn default() -> Self {
        Self { bound: BOUND, thrown_away: false, folder: None }
    }
}

/// Whether a change can be made, and undone unless the server is `thrown_away`; nothing is asked of a server.
///
/// # Errors
/// What is missing or cannot be.
pub fn validate(change: &Change, thrown_away: bool) -> Result<(), Error> {
    match (&change.do_, &change.undo) {
        (Some(_), None) if !thrown_away => {
            let what = format!(
                "the change {} has no undo; say how it is undone, such that it also undoes a half of it (DROP INDEX IF \
                 EXISTS …)",
                change.words()
            );
            return Err(Error::new(Class::BadInput, what));
        }
        (None, Some(_)) => {
            return Err(invalid(ChangePart::Undo, "an undo without a do: there would be nothing to undo"));
        }
        _ => {}
    }
    let empty = |part: ChangePart| Err(invalid(part, format!("the {part} is empty")));
    for (part, step) in [(ChangePart::Do, &change.do_), (ChangePart::Undo, &change.undo)] {
        if step.as_ref().is_some_and(is_empty) {
            return empty(part);
        }
    }
    match change.check.as_deref().map(statements::count) {
        Some(0) => empty(ChangePart::Check),
        Some(2..) => Err(invalid(
            ChangePart::Check,
            "the check has more than one statement; it must be a single statement that returns true",
        )),
        _ => Ok(()),
    }
}

fn is_empty(step: &ChangeStep) -> bool {
    match step {
        ChangeStep::Sql(sql) => statements::count(sql) == 0,
        ChangeStep::Command(command) => command.trim().is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(text: &str) -> Option<ChangeStep> {
        Some(ChangeStep::Sql(text.to_owned()))
    }

    fn command(text: &str) -> Option<ChangeStep> {
        Some(ChangeStep::Command(text.to_owned()))
    }

    #[test]
    fn what_cannot_be_made_or_undone_is_refused() {
        let check = |text: &str| Some(text.to_owned());
        let cases = [
            (Change::default(), None),
            (Change { check: check("SELECT true;"), ..Change::default() }, None),
            (Change { do_: sql("VACUUM t"), undo: command("true"), check: None }, None),
            (
                Change { do_: sql("VACUUM t"), ..Change::default() },
                Some("the change \"VACUUM t\" has no undo"),
            ),
            (Change { undo: sql("SELECT 1"), ..Change::default() }, Some("an undo without a do")),
            (Change { do_: sql(" -- x\n;"), undo: sql("x"), check: None }, Some("the do is empty")),
            (Change { do_: command("x"), undo: command(" \n"), check: None }, Some("the undo is empty")),
            (Change { check: check("/* */"), ..Change::default() }, Some("the check is empty")),
            (Change { check: check("SELECT 1; SELECT 2"), ..Change::default() }, Some("the check has more")),
        ];
        for (change, wanted) in cases {
            let refused = validate(&change, false).map_err(|error| error.to_string()).err();
            match wanted {
                None => assert_eq!(refused, None, "{change:?}"),
                Some(wanted) => {
                    assert!(refused.as_ref().is_some_and(|it| it.starts_with(wanted)), "{refused:?}")
                }
            }
        }
        let thrown_away = Change { do_: sql("CLUSTER t USING i"), ..Change::default() };
        assert!(validate(&thrown_away, true).is_ok() && validate(&thrown_away, false).is_err());
    }
}
