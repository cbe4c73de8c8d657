//! Settings that are not what they were, as the journals of a home tell: nothing is put back here.

use std::path::Path;
use std::time::{Duration, Instant};

use protocol::Address;
use protocol::postgres::Config;
use spec::Error;

use super::entry::{ChangedSetting, Claim, Claimed, Entry, JournalFile, MadeChange, files, is_held};
use super::server::ServerId;
use crate::change::Step;
use crate::control::{Control, places};
use crate::home::Home;
use crate::settings::private::is_private;

/// How long somebody may take who is just putting a dead pgdyno's changes back.
const OTHERS_BOUND: Duration = Duration::from_secs(10);

/// Settings that are not what they were, by a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The server, without password; the journal's path where that cannot be read.
    pub dsn: String,
    /// `checkpoint_timeout = 9min (before: 5min)`.
    pub settings: Vec<String>,
    /// Changes of one's own, by their do: `"CREATE INDEX i ON t (x)" (undo: "DROP INDEX IF EXISTS i")`.
    pub changes: Vec<String>,
    /// Why, and for how long.
    pub by: LeftBy,
}

/// Whose they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftBy {
    /// A pgdyno at work now (its pid): it puts them back itself.
    Living(u32),
    Killed,
    /// Not known: the journal cannot be read.
    Unknown(String),
}

impl Left {
    pub(super) fn of(entry: &Entry, by: LeftBy) -> Self {
        let words = |(name, changed): (&String, &ChangedSetting)| {
            let before = changed.former.as_deref().unwrap_or("not set by ALTER SYSTEM");
            if is_private(name) {
                format!("{name} (values are not shown)")
            } else {
                format!("{name} = {} (before: {before})", changed.ours)
            }
        };
        let settings = entry.settings.iter().map(words).collect();
        Self { dsn: entry.dsn.clone(), settings, changes: entry.changes.iter().map(made).collect(), by }
    }

    /// What is changed now; a run under way changes nothing in some of its arms.
    #[must_use]
    pub fn list(&self) -> String {
        let all: Vec<&str> = self.settings.iter().chain(&self.changes).map(String::as_str).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
    }

    /// What kind of things is changed: `settings`, `changes` (those of one's own) or both.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match (self.settings.is_empty(), self.changes.is_empty()) {
            (_, true) => "settings",
            (true, false) => "changes",
            (false, false) => "settings and changes",
        }
    }

    fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.changes.is_empty()
    }

    pub(super) fn unreadable(path: &Path, reason: &str) -> Self {
        let by = LeftBy::Unknown(reason.to_owned());
        Self { dsn: path.display().to_string(), settings: Vec::new(), changes: Vec::new(), by }
    }

    fn at(file: &JournalFile) -> Option<Self> {
        match Entry::read(file) {
            Ok(entry) => Some(Self::of(&entry, who(file, &entry)))
                .filter(|left| !left.is_empty() || matches!(left.by, LeftBy::Living(_))),
            // It was just put back.
            Err(_) if !file.exists() => None,
            Err(reason) => Some(Self::unreadable(&file.path(), &reason)),
        }
    }
}

fn made(change: &MadeChange) -> String {
    let undo = change.change.undo.as_ref().map(Step::words);
    format!("{} (undo: {})", change.change.words(), undo.unwrap_or_default())
}

/// The lock of a dead pgdyno's journal is held by whoever puts it back just now.
fn who(file: &JournalFile, entry: &Entry) -> LeftBy {
    if is_held(file) && lives(entry) { LeftBy::Living(entry.pid) } else { LeftBy::Killed }
}

fn lives(entry: &Entry) -> bool {
    entry.pid == 0 || crate::host::proc::is_alive(entry.pid)
}

/// What stands in the journals of this home; no server is asked.
///
/// # Errors
/// When somebody else can change the home or a journal.
pub fn left(home: &Home) -> Result<Vec<Left>, Error> {
    Ok(files(home)?.iter().filter_map(Left::at).collect())
}

/// What stands in the journal of a private server ([`crate::managed::Status::journal`]); the server is not asked.
#[must_use]
pub fn left_in(journal: &JournalFile) -> Option<Left> {
    if journal.exists() { Left::at(journal) } else { None }
}

/// What stands in the journals of this home about the server of a connection. Without a journal that may be about it,
/// the server is asked nothing. Waits for whoever is putting it back just now.
pub(crate) fn left_on(home: &Home, control: &mut Control) -> Result<Vec<Left>, Error> {
    let mut files = about(home, &control.place().address)?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    // A server that does not say who it is may be that one.
    let server = ServerId::ask(control).ok();
    files.retain(|file| {
        Entry::read(file).is_ok_and(|entry| server.as_ref().is_none_or(|server| entry.server.is(server)))
    });
    Ok(files
        .iter()
        .filter_map(|file| {
            let _ = claim_of_the_dead(file);
            Left::at(file)
        })
        .collect())
}

/// Whether a journal of this home may be about the server at an address; it is not asked.
pub(crate) fn may_be_left_at(home: &Home, address: &Address) -> Result<bool, Error> {
    Ok(!about(home, address)?.is_empty())
}

fn about(home: &Home, address: &Address) -> Result<Vec<JournalFile>, Error> {
    let mut files = files(home)?;
    files.extend(crate::managed::journals(home)?);
    files.retain(|file| Entry::read(file).is_ok_and(|entry| entry.server.may_be_at(address)));
    Ok(files)
}

/// What may stand in the journals of this home about servers that a description leads to, when none of them answers.
pub(crate) fn left_at(home: &Home, config: &Config) -> Vec<Left> {
    // Why the server does not answer says more than what is wrong with the home.
    let files = files(home).unwrap_or_default();
    if files.is_empty() {
        return Vec::new();
    }
    let places: Vec<_> = places(config).into_iter().filter_map(|(_, place)| place.ok()).collect();
    let there = |entry: &Entry| places.iter().any(|place| entry.server.may_be_at(&place.address));
    files
        .iter()
        .filter(|file| Entry::read(file).is_ok_and(|entry| there(&entry)))
        .filter_map(Left::at)
        .collect()
}

/// What stands in the journals of this home about a server.
pub(super) fn of_server(home: &Home, server: &ServerId) -> Result<Vec<Left>, Error> {
    let of_it = |file: &&JournalFile| Entry::read(file).is_ok_and(|entry| entry.server.is(server));
    Ok(files(home)?.iter().filter(of_it).filter_map(Left::at).collect())
}

/// Claims a journal; waits a while for somebody who is putting a dead pgdyno's changes back.
pub(super) fn claim_of_the_dead(file: &JournalFile) -> Claimed {
    let start = Instant::now();
    loop {
        match Claim::take(file) {
            Claimed::Held
                if start.elapsed() < OTHERS_BOUND && Entry::read(file).is_ok_and(|entry| !lives(&entry)) =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            claimed => return claimed,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A journal of settings, each with what was there before.
    pub(crate) fn entry(pairs: &[(&str, Option<&str>)]) -> Entry {
        let mut entry = Entry::new("host=x");
        for (name, former) in pairs {
            let former = former.map(str::to_owned);
            let changed = ChangedSetting { former, ours: "new".into(), in_force: None };
            entry.settings.insert((*name).to_owned(), changed);
        }
        entry
    }

    #[test]
    fn values_that_may_be_secret_are_not_told() {
        let entry = entry(&[("archive_command", Some("scp -i geheim")), ("fsync", None)]);
        let left = Left::of(&entry, LeftBy::Killed);
        let wanted = "archive_command (values are not shown), fsync = new (before: not set by ALTER SYSTEM)";
        assert_eq!((left.list().as_str(), left.kind()), (wanted, "settings"));
    }
}
