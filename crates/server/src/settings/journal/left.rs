//! Settings that earlier pgdynos left changed, according to the journals of a home; nothing is restored here.

use std::path::Path;
use std::time::{Duration, Instant};

use protocol::Address;
use protocol::postgres::{Config, Place};
use spec::Error;
use spec::plan::change::ChangeStep;

use super::entry::{ChangedSetting, Claim, Claimed, JournalEntry, JournalFile, MadeChange, files, is_held};
use super::server::ServerId;
use crate::control::{Control, places};
use crate::home::Home;
use crate::settings::contexts::is_private;

/// How long to wait for another process that is restoring a dead pgdyno's changes.
const OTHERS_BOUND: Duration = Duration::from_secs(10);

/// Settings left changed, according to a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The server, without password; the journal's path if that cannot be read.
    pub dsn: String,
    /// `checkpoint_timeout = 9min (before: 5min)`.
    pub settings: Vec<String>,
    /// The user's changes, by their do: `"CREATE INDEX i ON t (x)" (undo: "DROP INDEX IF EXISTS i")`.
    pub changes: Vec<String>,
    pub by: LeftBy,
}

/// Who left them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftBy {
    /// A working pgdyno (its pid), which will restore them.
    Living(u32),
    Killed,
    /// The journal cannot be read.
    Unknown(String),
}

impl Leftover {
    pub(super) fn of(entry: &JournalEntry, by: LeftBy) -> Self {
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

    /// The current changes; a running experiment changes nothing in some of its arms.
    #[must_use]
    pub fn list(&self) -> String {
        let all: Vec<&str> = self.settings.iter().chain(&self.changes).map(String::as_str).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
    }

    /// What is changed: `settings`, `changes` (the user's) or both.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match (self.settings.is_empty(), self.changes.is_empty()) {
            (_, true) => "settings",
            (true, false) => "changes",
            (false, false) => "settings and changes",
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.changes.is_empty()
    }

    pub(super) fn unreadable(path: &Path, reason: &str) -> Self {
        let by = LeftBy::Unknown(reason.to_owned());
        Self { dsn: path.display().to_string(), settings: Vec::new(), changes: Vec::new(), by }
    }

    fn at(file: &JournalFile) -> Option<Self> {
        match JournalEntry::read(file) {
            Ok(entry) => Some(Self::of(&entry, who(file, &entry)))
                .filter(|left| !left.is_empty() || matches!(left.by, LeftBy::Living(_))),
            // It was just restored.
            Err(_) if !file.exists() => None,
            Err(reason) => Some(Self::unreadable(&file.path(), &reason)),
        }
    }
}

fn made(change: &MadeChange) -> String {
    let undo = change.change.undo.as_ref().map(ChangeStep::words);
    format!("{} (undo: {})", change.change.words(), undo.unwrap_or_default())
}

/// The lock of a dead pgdyno's journal is held by a process that restores it.
fn who(file: &JournalFile, entry: &JournalEntry) -> LeftBy {
    if is_held(file) && lives(entry) { LeftBy::Living(entry.pid) } else { LeftBy::Killed }
}

fn lives(entry: &JournalEntry) -> bool {
    entry.pid == 0 || crate::host::proc::is_alive(entry.pid)
}

/// The contents of the journals of this home; no server is asked.
///
/// # Errors
/// When somebody else can change the home or a journal.
pub fn left(home: &Home) -> Result<Vec<Leftover>, Error> {
    Ok(files(home)?.iter().filter_map(Leftover::at).collect())
}

/// The contents of the journal of a private server ([`crate::managed::Status::journal`]); the server is not
/// asked.
#[must_use]
pub fn left_in(journal: &JournalFile) -> Option<Leftover> {
    if journal.exists() { Leftover::at(journal) } else { None }
}

/// The contents of the journals of this home about the server of a connection. If no journal can be about it,
/// the server is not asked. Waits for a process that is restoring it.
pub(crate) fn left_on(home: &Home, control: &mut Control) -> Result<Vec<Leftover>, Error> {
    let mut files = about(home, &control.place().address)?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    // A server that does not identify itself may be this one.
    let server = ServerId::ask(control).ok();
    files.retain(|file| {
        JournalEntry::read(file)
            .is_ok_and(|entry| server.as_ref().is_none_or(|server| entry.server.is(server)))
    });
    Ok(files
        .iter()
        .filter_map(|file| {
            let _ = claim_abandoned(file);
            Leftover::at(file)
        })
        .collect())
}

/// Whether a journal of this home may be about the server at an address; it is not asked.
fn may_be_left_at(home: &Home, address: &Address) -> Result<bool, Error> {
    Ok(!about(home, address)?.is_empty())
}

fn about(home: &Home, address: &Address) -> Result<Vec<JournalFile>, Error> {
    let mut files = files(home)?;
    files.extend(crate::managed::journals(home)?);
    files.retain(|file| JournalEntry::read(file).is_ok_and(|entry| entry.server.may_be_at(address)));
    Ok(files)
}

/// Possible contents of the journals of this home about a description's servers, when none of them answers.
pub(crate) fn left_at(home: &Home, config: &Config) -> Vec<Leftover> {
    // The server's error explains more than an error of the home.
    let files = files(home).unwrap_or_default();
    if files.is_empty() {
        return Vec::new();
    }
    let places: Vec<_> = places(config).into_iter().filter_map(|(_, place)| place.ok()).collect();
    let there = |entry: &JournalEntry| places.iter().any(|place| entry.server.may_be_at(&place.address));
    files
        .iter()
        .filter(|file| JournalEntry::read(file).is_ok_and(|entry| there(&entry)))
        .filter_map(Leftover::at)
        .collect()
}

/// The contents of the journals of this home about a server.
pub(super) fn of_server(home: &Home, server: &ServerId) -> Result<Vec<Leftover>, Error> {
    let of_it = |file: &&JournalFile| JournalEntry::read(file).is_ok_and(|entry| entry.server.is(server));
    Ok(files(home)?.iter().filter(of_it).filter_map(Leftover::at).collect())
}

/// Claims a journal; waits a while for a process that is restoring a dead pgdyno's changes.
pub(super) fn claim_abandoned(file: &JournalFile) -> Claimed {
    let start = Instant::now();
    loop {
        match Claim::take(file) {
            Claimed::Held
                if start.elapsed() < OTHERS_BOUND
                    && JournalEntry::read(file).is_ok_and(|entry| !lives(&entry)) =>
            {
                std::thread::sleep(Duration::from_millis(20));
            }
            claimed => return claimed,
        }
    }
}

/// Timeout of an additional connection.
const CONNECT_BOUND: Duration = Duration::from_secs(10);

/// Settings that a pgdyno left changed on the server of a connection, which is about to be measured. The
/// server is asked only if a journal may be about it.
///
/// # Errors
/// When somebody else can change the home or a journal.
pub fn left_behind(control: &mut Control) -> Result<Vec<Leftover>, Error> {
    Home::locate().map_or_else(|_| Ok(Vec::new()), |home| left_on(&home, control))
}

/// As [`left_behind`], without a connection; one is made only if a journal may be about the server.
pub fn left_behind_at(place: &Place) -> Result<Vec<Leftover>, Error> {
    let Ok(home) = Home::locate() else { return Ok(Vec::new()) };
    if !may_be_left_at(&home, &place.address)? {
        return Ok(Vec::new());
    }
    match Control::open(place, Some(CONNECT_BOUND)) {
        Ok(mut control) => left_on(&home, &mut control),
        // The measurement will report why.
        Err(_) => Ok(Vec::new()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A journal of settings, each with its former value.
    pub(crate) fn entry(pairs: &[(&str, Option<&str>)]) -> JournalEntry {
        let mut entry = JournalEntry::new("host=x");
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
        let left = Leftover::of(&entry, LeftBy::Killed);
        let wanted = "archive_command (values are not shown), fsync = new (before: not set by ALTER SYSTEM)";
        assert_eq!((left.list().as_str(), left.kind()), (wanted, "settings"));
    }
}
