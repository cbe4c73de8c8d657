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

use serde::{Deserialize, Serialize};

pub use environment::Environment;
pub use error::{ChangeError, Part};
pub use executor::Outcome;
pub(crate) use executor::{Executor, see};

use crate::control::shown;

/// Default timeout of a command.
pub const BOUND: Duration = Duration::from_secs(3600);

/// What is done to a server, how it is undone, and how it is seen that it is done.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Change {
    /// `None`: nothing, as in the arm without the index.
    #[serde(rename = "do", default, skip_serializing_if = "Option::is_none")]
    pub do_: Option<Step>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Step>,
    /// One SQL statement that returns true while the change is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// One step of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// One or more statements, sent as one: all of them or none, where PostgreSQL allows that. What cannot run in a
    /// transaction (`CREATE INDEX CONCURRENTLY`, `VACUUM`) must stand alone.
    Sql(String),
    /// Given to `/bin/sh -c` on pgdyno's machine, as the user that runs pgdyno, or as the account that runs servers where
    /// that is root; see [`Environment`].
    Command(String),
}

/// How a change is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Longest time of each command.
    pub bound: Duration,
    /// The server is a copy that is removed afterwards: no undo is needed.
    pub thrown_away: bool,
    /// Folder that commands start in, an absolute path; the one we are in where there is none.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { bound: BOUND, thrown_away: false, folder: None }
    }
}

impl Change {
    /// Whether it can be made, and undone unless the server is `thrown_away`; nothing is asked of a server.
    pub fn validate(&self, thrown_away: bool) -> Result<(), ChangeError> {
        match (&self.do_, &self.undo) {
            (Some(_), None) if !thrown_away => return Err(ChangeError::NoUndo { what: self.words() }),
            (None, Some(_)) => return Err(ChangeError::NoDo),
            _ => {}
        }
        for (part, step) in [(Part::Do, &self.do_), (Part::Undo, &self.undo)] {
            if step.as_ref().is_some_and(Step::is_empty) {
                return Err(ChangeError::Empty(part));
            }
        }
        match self.check.as_deref().map(statements::count) {
            Some(0) => Err(ChangeError::Empty(Part::Check)),
            Some(2..) => Err(ChangeError::ManyChecks),
            _ => Ok(()),
        }
    }

    /// Everything: `do "CREATE INDEX i ON t (x)", undo "DROP INDEX IF EXISTS i", check "SELECT …"`.
    #[must_use]
    pub fn all_words(&self) -> String {
        let step =
            |part: Part, step: &Option<Step>| step.as_ref().map(|step| format!("{part} {}", step.words()));
        let check = self.check.as_ref().map(|check| format!("{} {}", Part::Check, shown(check)));
        let parts = [step(Part::Do, &self.do_), step(Part::Undo, &self.undo), check];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { self.words() } else { parts.join(", ") }
    }

    /// The do in short: `"CREATE INDEX i ON t (x)"`.
    #[must_use]
    pub fn words(&self) -> String {
        self.do_.as_ref().map_or_else(|| "nothing".to_owned(), Step::words)
    }
}

impl Step {
    fn is_empty(&self) -> bool {
        match self {
            Self::Sql(sql) => statements::count(sql) == 0,
            Self::Command(command) => command.trim().is_empty(),
        }
    }

    /// Its beginning on one line.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Sql(sql) => shown(sql),
            Self::Command(command) => format!("command {}", shown(command)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(text: &str) -> Option<Step> {
        Some(Step::Sql(text.to_owned()))
    }

    fn command(text: &str) -> Option<Step> {
        Some(Step::Command(text.to_owned()))
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
            let refused = change.validate(false).map_err(|error| error.to_string()).err();
            match wanted {
                None => assert_eq!(refused, None, "{change:?}"),
                Some(wanted) => {
                    assert!(refused.as_ref().is_some_and(|it| it.starts_with(wanted)), "{refused:?}")
                }
            }
        }
        let thrown_away = Change { do_: sql("CLUSTER t USING i"), ..Change::default() };
        assert!(thrown_away.validate(true).is_ok() && thrown_away.validate(false).is_err());
    }

    #[test]
    fn a_change_is_plain_data() {
        let change =
            Change { do_: sql("CREATE INDEX i ON t (x)"), undo: command("psql -c '…'"), check: None };
        let text = serde_json::to_string(&change).unwrap();
        assert_eq!(text, r#"{"do":{"sql":"CREATE INDEX i ON t (x)"},"undo":{"command":"psql -c '…'"}}"#);
        assert_eq!(serde_json::from_str::<Change>(&text).unwrap(), change);
    }
}
