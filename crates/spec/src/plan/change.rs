//! A user's change to a server: SQL or a command with its undo, and a check that must hold while it is in
//! effect.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::short_sql;

/// A change: how to make, undo and check it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Change {
    /// `None`: no change, as in the arm without the index.
    #[serde(rename = "do", default, skip_serializing_if = "Option::is_none")]
    pub do_: Option<ChangeStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<ChangeStep>,
    /// One SQL statement that returns true while the change is in effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// One step of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeStep {
    /// One or more statements, sent in one message: all or none take effect, where PostgreSQL allows that. A
    /// statement that cannot run in a transaction (`CREATE INDEX CONCURRENTLY`, `VACUUM`) must be the only
    /// one.
    Sql(String),
    /// Run with `/bin/sh -c` on pgdyno's machine, as the user that runs pgdyno; if that is root, as the
    /// account that runs servers.
    Command(String),
}

/// A part of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangePart {
    Do,
    Undo,
    Check,
}

impl fmt::Display for ChangePart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Do => "do",
            Self::Undo => "undo",
            Self::Check => "check",
        })
    }
}

impl Change {
    /// All parts: `do "CREATE INDEX i ON t (x)", undo "DROP INDEX IF EXISTS i", check "SELECT …"`.
    #[must_use]
    pub fn all_words(&self) -> String {
        let step = |part: ChangePart, step: &Option<ChangeStep>| {
            step.as_ref().map(|step| format!("{part} {}", step.words()))
        };
        let check = self.check.as_ref().map(|check| format!("{} {}", ChangePart::Check, short_sql(check)));
        let parts = [step(ChangePart::Do, &self.do_), step(ChangePart::Undo, &self.undo), check];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { self.words() } else { parts.join(", ") }
    }

    /// The change in short: `"CREATE INDEX i ON t (x)"`.
    #[must_use]
    pub fn words(&self) -> String {
        self.do_.as_ref().map_or_else(|| "nothing".to_owned(), ChangeStep::words)
    }
}

impl ChangeStep {
    /// The beginning of the step, on one line.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Sql(sql) => short_sql(sql),
            Self::Command(command) => format!("command {}", short_sql(command)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_plain_data() {
        let change = Change {
            do_: Some(ChangeStep::Sql("CREATE INDEX i ON t (x)".to_owned())),
            undo: Some(ChangeStep::Command("psql -c '…'".to_owned())),
            check: None,
        };
        let text = serde_json::to_string(&change).unwrap();
        assert_eq!(text, r#"{"do":{"sql":"CREATE INDEX i ON t (x)"},"undo":{"command":"psql -c '…'"}}"#);
        assert_eq!(serde_json::from_str::<Change>(&text).unwrap(), change);
    }
}
