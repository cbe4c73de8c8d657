//! Restores former values, and verifies them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protocol::postgres::sql::{Sql, SqlError};
use spec::{Class, Error};

use super::entry::{ChangedSetting, JournalEntry};
use crate::control::Control;
use crate::error::sql_error;
use crate::settings::Catalog;
use crate::settings::compare::is_in_force;
use crate::settings::read::catalog;
use crate::settings::statements::{self, reload};

/// How long a re-read setting may take to show in a session.
const IN_FORCE_BOUND: Duration = Duration::from_secs(2);

/// The result of undoing a journal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undone {
    /// Settings that have their former values again.
    pub restored: Vec<String>,
    /// Settings that had them already: the pgdyno was killed before it changed them, or while it restored
    /// them.
    pub as_before: Vec<String>,
    /// Settings that somebody else has changed since; they were left alone.
    pub left_alone: Vec<String>,
    /// The user's changes that were undone, by their do.
    pub changes: Vec<String>,
}

impl Undone {
    /// `put back: x, y`.
    #[must_use]
    pub fn words(&self) -> String {
        let parts = [
            ("put back", &self.restored),
            ("as before already", &self.as_before),
            ("left alone, because changed again since", &self.left_alone),
            ("undone", &self.changes),
        ];
        let parts = parts.iter().filter(|(_, names)| !names.is_empty());
        parts.map(|(what, names)| format!("{what}: {}", names.join(", "))).collect::<Vec<_>>().join("; ")
    }
}

/// The entry of a changed setting in `postgresql.auto.conf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileEntry {
    Ours,
    /// Never changed, or restored already: its pgdyno was killed just before or after.
    Former,
    Another,
}

/// Restores former values where ours still are, makes the server re-read them, and verifies them.
pub(super) fn undo(control: &mut Control, entry: &JournalEntry) -> Result<Undone, Error> {
    if entry.settings.is_empty() {
        // A role that may change a table may not see the server's files.
        return Ok(Undone::default());
    }
    let failed = |error| sql_error("putting settings back", error);
    let now = auto_conf(control).map_err(failed)?;
    let mut undone = Undone::default();
    for (name, changed) in &entry.settings {
        match file_entry(&now, name, changed) {
            FileEntry::Ours => {
                let sql = match &changed.former {
                    Some(value) => statements::set(name, value),
                    None => statements::reset(name),
                };
                control.execute(&sql).map_err(failed)?;
                undone.restored.push(name.clone());
            }
            FileEntry::Former => undone.as_before.push(name.clone()),
            FileEntry::Another => undone.left_alone.push(name.clone()),
        }
    }
    let settled: Vec<String> = undone.restored.iter().chain(&undone.as_before).cloned().collect();
    if !settled.is_empty() {
        // Even if the file is right already: its writer may have been killed before the reload.
        reload(control)?;
        verify(control, entry, &settled)?;
    }
    Ok(undone)
}

fn file_entry(now: &BTreeMap<String, String>, name: &str, changed: &ChangedSetting) -> FileEntry {
    let now = now.get(&name.to_lowercase());
    let is = |value: &String| now.is_some_and(|now| same(now, value));
    if changed.former.as_ref().map_or(now.is_none(), is) {
        FileEntry::Former
    } else if is(&changed.ours) {
        FileEntry::Ours
    } else {
        FileEntry::Another
    }
}

fn same(file_entry: &str, ours: &str) -> bool {
    let plain = |value: &str| value.replace(['"', '\'', ' '], "").to_lowercase();
    plain(file_entry) == plain(ours)
}

/// The server still shows another value than the former one.
fn not_restored(names: &[String]) -> Error {
    let names = names.join(", ");
    Error::new(Class::Guard, format!("{names} could not be put back: the server still shows another value"))
}

/// The file must have its former entries, and our values must not be in force any more.
fn verify(control: &mut Control, entry: &JournalEntry, settled: &[String]) -> Result<(), Error> {
    let now = auto_conf(control).map_err(|error| sql_error("reading settings back", error))?;
    let not_in_file = |name: &&String| file_entry(&now, name, &entry.settings[*name]) != FileEntry::Former;
    let wrong: Vec<String> = settled.iter().filter(not_in_file).cloned().collect();
    if !wrong.is_empty() {
        return Err(not_restored(&wrong));
    }
    let start = Instant::now();
    loop {
        let known = catalog(control)?;
        let still = |name: &&String| is_still_ours(&known, name, &entry.settings[*name]);
        let wrong: Vec<String> = settled.iter().filter(still).cloned().collect();
        if wrong.is_empty() {
            return Ok(());
        }
        if start.elapsed() > IN_FORCE_BOUND {
            return Err(not_restored(&wrong));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The former value in force may differ from the files now (somebody edited them), but ours must be gone.
fn is_still_ours(known: &Catalog, name: &str, changed: &ChangedSetting) -> bool {
    let (Some(entry), Some(before)) = (known.get(name), &changed.in_force) else { return false };
    let asked_for_ours = changed.former.as_ref().is_some_and(|former| same(former, &changed.ours));
    entry.setting != *before && !asked_for_ours && is_in_force(&changed.ours, entry)
}

/// The entries of `postgresql.auto.conf`, by lower-case name.
pub(super) fn auto_conf(control: &mut Control) -> Result<BTreeMap<String, String>, SqlError> {
    let query = "SELECT lower(name), setting FROM pg_catalog.pg_file_settings \
                 WHERE sourcefile LIKE '%postgresql.auto.conf' ORDER BY seqno";
    let rows = control.rows(query)?;
    Ok(rows
        .into_iter()
        .filter_map(|row| match <[_; 2]>::try_from(row) {
            Ok([Some(name), setting]) => Some((name, setting.unwrap_or_default())),
            _ => None,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_file_says_how_far_a_killed_pgdyno_came() {
        let changed = |former: Option<&str>| ChangedSetting {
            former: former.map(str::to_owned),
            ours: "9min".into(),
            in_force: None,
        };
        let file = |value: Option<&str>| -> BTreeMap<String, String> {
            value.map(|value| ("checkpoint_timeout".to_owned(), value.to_owned())).into_iter().collect()
        };
        let cases = [
            (None, None, FileEntry::Former),
            (None, Some("'9min'"), FileEntry::Ours),
            (None, Some("7min"), FileEntry::Another),
            (Some("7min"), Some("7min"), FileEntry::Former),
            (Some("7min"), Some("9min"), FileEntry::Ours),
            (Some("7min"), None, FileEntry::Another),
            (Some("9min"), Some("9min"), FileEntry::Former),
        ];
        for (former, now, wanted) in cases {
            let found = file_entry(&file(now), "Checkpoint_Timeout", &changed(former));
            assert_eq!(found, wanted, "before {former:?}, now {now:?}");
        }
    }

    #[test]
    fn a_reset_that_the_server_has_not_taken_is_seen() {
        let known = super::super::super::catalog::tests::catalog("checkpoint_timeout 540 s sighup integer");
        let changed = |in_force: &str, former: Option<&str>| ChangedSetting {
            former: former.map(str::to_owned),
            ours: "9min".into(),
            in_force: Some(in_force.into()),
        };
        assert!(is_still_ours(&known, "checkpoint_timeout", &changed("300", None)));
        assert!(!is_still_ours(&known, "checkpoint_timeout", &changed("540", None)));
        assert!(!is_still_ours(&known, "checkpoint_timeout", &changed("300", Some("9min"))));
        assert!(!is_still_ours(&known, "no_such", &changed("300", None)));
    }
}
