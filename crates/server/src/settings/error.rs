//! Why settings are refused or not applied.

use std::fmt;

use spec::{Class, Error};

use super::journal::{LeftBy, Leftover};

/// A setting with another value than requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDifference {
    pub name: String,
    /// As requested.
    pub wanted: String,
    /// As in force, with its unit.
    pub got: String,
}

impl fmt::Display for SettingDifference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: wanted {}, got {}", self.name, self.wanted, self.got)
    }
}

/// Why a setting is refused.
#[derive(Debug)]
pub struct Refusal {
    /// The setting, if it concerns a single one.
    pub setting: Option<String>,
    pub error: Error,
}

pub(super) fn fixed(name: &str) -> Error {
    let what = format!(
        "setting {name} is fixed when the server is built or its data is made; it cannot be a factor"
    );
    Error::new(Class::BadInput, what)
}

/// The server refused a setting, or all of an arm.
pub(super) fn refused(what: &str, message: &str) -> Error {
    Error::new(Class::Guard, format!("the server refuses {what}: {message}"))
}

/// The server accepted the settings but other values are in force.
pub(super) fn not_applied(found: &[SettingDifference]) -> Error {
    let found: Vec<String> = found.iter().map(SettingDifference::to_string).collect();
    Error::new(Class::Guard, format!("settings not applied: {}", found.join("; ")))
}

/// They would change a server that we do not own.
pub(super) fn needs_server_change(names: &[String]) -> Error {
    let what = format!(
        "{} can only be set for the whole server, which is not pgdyno's; write change_server = true into [target] to \
         allow it (what was there before is put back)",
        names.join(", ")
    );
    Error::new(Class::Usage, what)
}

/// They would need a restart of a server that we do not own.
pub(super) fn needs_restart(names: &[String]) -> Error {
    let what = format!(
        "{}: a change takes a restart, and pgdyno restarts only its own servers; use a managed target, or set it there by hand for all arms",
        names.join(", ")
    );
    Error::new(Class::Usage, what)
}

/// Each connection would set them, and does not keep its server connection.
pub(super) fn pooled(names: &[String]) -> Error {
    let what = format!(
        "{}: a setting of the session does not go through a transaction pooler, whose clients share server connections; \
         connect to the server itself",
        names.join(", ")
    );
    Error::new(Class::Missing, what)
}

/// Another pgdyno has changed the server, or is changing it.
pub(crate) fn already_changed(left: &Leftover) -> Error {
    let class = match left.by {
        LeftBy::Living(_) => Class::Refused,
        LeftBy::Killed | LeftBy::Unknown(_) => Class::Guard,
    };
    Error::new(class, already(left))
}

fn already(left: &Leftover) -> String {
    let (kind, settings) = (left.kind(), left.list());
    match &left.by {
        LeftBy::Living(pid) => {
            format!(
                "another pgdyno (pid {pid}) is at work on this server and changes its {kind} (now: {settings}), so \
                 nothing is changed or measured; wait for its end (pgdyno target status tells), or measure another \
                 server"
            )
        }
        LeftBy::Killed | LeftBy::Unknown(_) => format!(
            "{kind} of this server are still as an earlier pgdyno left them: {settings}; nothing is \
             changed; put them back first (try: pgdyno target restore)"
        ),
    }
}
