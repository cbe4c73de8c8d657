//! The file of a journal.
//!
//! It is locked (`flock`) as long as its writer lives, or somebody undoes it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use spec::Error;
use spec::plan::change::Change;

use super::server::ServerId;
use crate::change::Environment;
use crate::home::no_home;
use crate::home::{Dir, Distrust, Home, HomeFolder, Readable};

/// Version of the file's format; 1 identified the server only by its system identifier, 2 had only changes of
/// settings.
const FORMAT: u32 = 3;
/// How long a check of a lock may hold it.
const GLANCE: Duration = Duration::from_millis(200);

/// One changed setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSetting {
    /// The entry in `postgresql.auto.conf`; `None` when there was none.
    pub former: Option<String>,
    /// Our value, as the file shows it afterwards.
    pub ours: String,
    /// The former value in `pg_settings`.
    #[serde(default)]
    pub in_force: Option<String>,
}

/// A change of the user that is made, or begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeChange {
    /// Identifies its connections and processes.
    pub id: String,
    #[serde(flatten)]
    pub change: Change,
    /// Whether the do finished: what it left running then belongs to it.
    pub done: bool,
    pub database: String,
    /// For commands.
    pub environment: Environment,
}

/// The contents of a journal file. Never a password of a connection or a change; a setting may contain one in
/// its value (`primary_conninfo`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Version of the file's format.
    pub format: u32,
    pub dsn: String,
    #[serde(flatten)]
    pub server: ServerId,
    /// Pid of its writer, for messages.
    #[serde(default)]
    pub pid: u32,
    pub settings: BTreeMap<String, ChangedSetting>,
    /// In the order they were made.
    #[serde(default)]
    pub changes: Vec<MadeChange>,
}

impl JournalEntry {
    pub(super) fn new(dsn: &str) -> Self {
        Self {
            format: FORMAT,
            dsn: dsn.to_owned(),
            server: ServerId::default(),
            pid: std::process::id(),
            settings: BTreeMap::new(),
            changes: Vec::new(),
        }
    }

    /// Whether nothing must be undone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.changes.is_empty()
    }

    /// The server has another port now, as private ones get when TCP is first requested.
    pub(super) fn moved_to(&mut self, server: &ServerId) {
        self.server.port = server.port;
        let port = server.port.map(|port| port.to_string());
        for made in &mut self.changes {
            let known = made.environment.variables.get_mut("PGPORT");
            if let Some((known, port)) = known.zip(port.as_ref()) {
                known.clone_from(port);
            }
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let entry: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if entry.format > FORMAT {
            return Err("it was written by a newer pgdyno".to_owned());
        }
        Ok(entry)
    }

    /// Reads a file that somebody else may hold.
    pub(super) fn read(file: &JournalFile) -> Result<Self, String> {
        let text = file.folder.read_text(&file.name).map_err(|error| error.to_string())?;
        Self::parse(&text)
    }

    /// Writes and locks it. A crash leaves the old file or the new one, never half of one.
    pub(super) fn write(&self, to: &JournalFile) -> io::Result<File> {
        let text = serde_json::to_string_pretty(self)?;
        let lock = |file: &File| Ok(rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)?);
        to.folder.replace_with(to.name.as_ref(), text.as_bytes(), lock, Readable::ByUs)
    }
}

/// Path of a journal.
#[derive(Debug, Clone)]
pub struct JournalFile {
    folder: Dir,
    name: String,
}

impl JournalFile {
    pub(crate) fn new(folder: &Dir, name: impl Into<String>) -> Self {
        Self { folder: folder.clone(), name: name.into() }
    }

    pub(super) fn at(path: &Path) -> Result<Self, Error> {
        let parts = path.parent().zip(path.file_name().and_then(|name| name.to_str()));
        let (folder, name) = parts.ok_or_else(no_home)?;
        let folder = Home::at(folder).open()?.ok_or_else(no_home)?;
        Ok(Self::new(&folder, name))
    }

    /// Where the journal entry is stored.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Whether it is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.folder.has(&self.name)
    }

    pub(super) fn folder(&self) -> &Dir {
        &self.folder
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        self.folder.remove_file(&self.name)
    }

    pub(super) fn remove_half(&self) {
        let _ = self.folder.remove_file(format!("{}.new", self.name));
    }

    /// The file itself, if nobody else can have written it, since its commands are run.
    pub(crate) fn trusted(self, home: &Home) -> Result<Self, Error> {
        match self.folder.file(&self.name) {
            Err(error) if Distrust::is_in(&error) => Err(home.untrusted(self.path(), error)),
            _ => Ok(self),
        }
    }
}

/// Journal files of a home, sorted by name.
pub(super) fn files(home: &Home) -> Result<Vec<JournalFile>, Error> {
    let Some(folder) = home.part(HomeFolder::Journal)? else { return Ok(Vec::new()) };
    let names = folder.names().map_err(|error| home.untrusted(folder.path().to_owned(), error))?;
    let mut names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| name.ends_with(".json"));
    names.sort();
    names.into_iter().map(|name| JournalFile::new(&folder, name).trusted(home)).collect()
}

/// A journal that we undo while we hold its lock.
#[derive(Debug)]
pub(super) struct Claim {
    file: JournalFile,
    pub(super) entry: JournalEntry,
    lock: File,
}

/// The result of an attempt to claim a journal.
#[derive(Debug)]
pub(super) enum Claimed {
    Ours(Box<Claim>),
    /// Its pgdyno lives, or somebody undoes it.
    Held,
    /// It is gone: everything was restored.
    Gone,
    Unreadable(String),
}

impl Claim {
    /// Claims a journal, unless somebody has it.
    pub(super) fn take(at: &JournalFile) -> Claimed {
        let start = Instant::now();
        loop {
            let mut file = match at.folder.file(&at.name) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => return Claimed::Gone,
                Err(error) => return Claimed::Unreadable(error.to_string()),
            };
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                // Perhaps it is only being checked.
                Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < GLANCE => {
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Claimed::Held,
                Err(error) => return Claimed::Unreadable(error.to_string()),
            }
            // The lock is useless if the file was replaced or removed before we had it.
            if !is_still(&file, at) {
                continue;
            }
            let mut text = String::new();
            let read = file.read_to_string(&mut text).map_err(|error| error.to_string());
            return match read.and_then(|_| JournalEntry::parse(&text)) {
                Ok(entry) => Claimed::Ours(Box::new(Self { file: at.clone(), entry, lock: file })),
                Err(reason) => Claimed::Unreadable(reason),
            };
        }
    }

    pub(super) fn file(&self) -> &JournalFile {
        &self.file
    }

    /// Writes what must still be undone, so that nothing is undone twice.
    pub(super) fn rewrite(&mut self) -> io::Result<()> {
        self.lock = self.entry.write(&self.file)?;
        Ok(())
    }

    /// Everything in it is restored.
    pub(super) fn close(self) -> io::Result<()> {
        self.file.remove()
    }
}

pub(super) fn is_held(at: &JournalFile) -> bool {
    at.folder.file(&at.name).is_ok_and(|file| {
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    })
}

fn is_still(file: &File, at: &JournalFile) -> bool {
    match (file.metadata(), at.folder.file(&at.name).and_then(|there| there.metadata())) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> JournalEntry {
        let mut entry = JournalEntry::new("host=x");
        entry.server.system_identifier = "7".into();
        let changed = ChangedSetting { former: None, ours: "9min".into(), in_force: Some("300".into()) };
        entry.settings.insert("checkpoint_timeout".into(), changed);
        let step = |sql: &str| Some(spec::plan::change::ChangeStep::Sql(sql.to_owned()));
        entry.changes.push(MadeChange {
            id: "x1".into(),
            change: Change {
                do_: step("CREATE INDEX i ON t (x)"),
                undo: step("DROP INDEX IF EXISTS i"),
                check: None,
            },
            done: false,
            database: "shop".into(),
            environment: Environment::default(),
        });
        entry
    }

    fn somewhere() -> (tempfile::TempDir, JournalFile) {
        let top = tempfile::tempdir().unwrap();
        let file = JournalFile::at(&top.path().join("a.json")).unwrap();
        (top, file)
    }

    #[test]
    fn a_journal_has_one_holder() {
        let (_top, path) = somewhere();
        assert!(matches!(Claim::take(&path), Claimed::Gone));
        let lock = entry().write(&path).unwrap();
        assert!(is_held(&path) && matches!(Claim::take(&path), Claimed::Held));
        assert_eq!(JournalEntry::read(&path).unwrap(), entry());
        drop(lock);
        assert!(!is_held(&path));
        let Claimed::Ours(claim) = Claim::take(&path) else { panic!("not held") };
        assert_eq!(claim.entry, entry());
        assert!(matches!(Claim::take(&path), Claimed::Held));
        let mut claim = claim;
        claim.entry.settings.clear();
        claim.rewrite().unwrap();
        assert!(matches!(Claim::take(&path), Claimed::Held), "also the file that took its place");
        assert_eq!(JournalEntry::read(&path).unwrap(), claim.entry);
        claim.close().unwrap();
        assert!(matches!(Claim::take(&path), Claimed::Gone));
    }

    #[test]
    fn a_lock_of_a_replaced_journal_is_worth_nothing() {
        let (_top, path) = somewhere();
        drop(entry().write(&path).unwrap());
        let old = File::open(path.path()).unwrap();
        let _lock = entry().write(&path).unwrap();
        assert!(!is_still(&old, &path));
        assert!(matches!(Claim::take(&path), Claimed::Held));
    }

    #[test]
    fn older_journals_are_read_and_newer_ones_refused() {
        let old = r#"{"format":1,"dsn":"host=x","system_identifier":"7",
                      "settings":{"fsync":{"former":null,"ours":"off"}}}"#;
        let old = JournalEntry::parse(old).unwrap();
        assert_eq!((old.server.system_identifier.as_str(), old.server.port), ("7", None));
        assert_eq!((&old.settings["fsync"].in_force, old.changes.len()), (&None, 0));
        assert!(!old.is_empty());
        let new = serde_json::to_string(&JournalEntry { format: FORMAT + 1, ..entry() }).unwrap();
        assert!(JournalEntry::parse(&new).unwrap_err().contains("newer"));
    }
}
