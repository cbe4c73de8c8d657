//! The file of a journal: what it holds, and whose it is.
//!
//! It is locked (`flock`) as long as its writer lives, or somebody undoes it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::server::ServerId;
use crate::change::{Change, Environment};
use crate::home::Home;

/// Version of the file's form; 1 knew of the server only its system identifier, 2 no changes but of settings.
const FORMAT: u32 = 3;
/// How long a glance at a lock may hold it.
const GLANCE: Duration = Duration::from_millis(200);

/// One changed setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSetting {
    /// What stood in `postgresql.auto.conf`; `None` when nothing did.
    pub former: Option<String>,
    /// What we put there, as the file shows it afterwards.
    pub ours: String,
    /// What was in force before, as `pg_settings` shows it.
    #[serde(default)]
    pub in_force: Option<String>,
}

/// A change of one's own that is made, or begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeChange {
    /// Its connections and processes are known by it.
    pub id: String,
    #[serde(flatten)]
    pub change: Change,
    /// Whether the do came to its end: then what it left running belongs to it.
    pub done: bool,
    pub database: String,
    /// For commands.
    pub environment: Environment,
}

/// What a journal file holds. Never a password of ours, nor one of a change; a setting may have one in its value (`primary_conninfo`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Version of the file's form.
    pub format: u32,
    /// Connection string without password.
    pub dsn: String,
    /// The server.
    #[serde(flatten)]
    pub server: ServerId,
    /// Pid of the pgdyno that writes it, for messages.
    #[serde(default)]
    pub pid: u32,
    /// Changed settings by name.
    pub settings: BTreeMap<String, ChangedSetting>,
    /// In the order they were made.
    #[serde(default)]
    pub changes: Vec<MadeChange>,
}

impl Entry {
    /// Of this process; nothing stands in it yet.
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

    /// Whether nothing is to be undone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty() && self.changes.is_empty()
    }

    /// The server has another port by now, as private ones have from when TCP is first asked for.
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

    /// What of it is on the disk.
    fn to_keep(&self) -> Self {
        let mut kept = self.clone();
        for made in &mut kept.changes {
            made.change = made.change.to_undo();
        }
        kept
    }

    /// Reads a file that somebody else may hold.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        Self::parse(&text)
    }

    /// Writes it, and holds it. A crash leaves the old file or the new one, never half of one.
    pub(super) fn write(&self, path: &Path) -> io::Result<File> {
        let new = path.with_extension("new");
        let written = self.write_beside(&new, path);
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        written
    }

    fn write_beside(&self, new: &Path, path: &Path) -> io::Result<File> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(new)?;
        file.write_all(serde_json::to_string_pretty(&self.to_keep())?.as_bytes())?;
        file.sync_all()?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        std::fs::rename(new, path)?;
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(file)
    }
}

/// Journal files of a home, in the order of their names.
pub(super) fn files(home: &Home) -> Vec<PathBuf> {
    let Ok(files) = std::fs::read_dir(home.journal()) else { return Vec::new() };
    let paths = files.flatten().map(|file| file.path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    found.sort();
    found
}

/// A journal that is ours to undo while we hold it.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    pub(super) entry: Entry,
    lock: File,
}

/// What an attempt to claim a journal found.
#[derive(Debug)]
pub(super) enum Claimed {
    /// It is ours now.
    Ours(Box<Claim>),
    /// Its pgdyno lives, or somebody undoes it.
    Held,
    /// It is there no more: everything was put back.
    Gone,
    /// It cannot be read.
    Unreadable(String),
}

impl Claim {
    /// Claims the journal at `path`, unless somebody has it.
    pub(super) fn take(path: &Path) -> Claimed {
        let start = Instant::now();
        loop {
            let mut file = match File::open(path) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => return Claimed::Gone,
                Err(error) => return Claimed::Unreadable(error.to_string()),
            };
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                // Perhaps somebody only looks whether it is held.
                Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < GLANCE => {
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Claimed::Held,
                Err(error) => return Claimed::Unreadable(error.to_string()),
            }
            // The lock is worth nothing if the file was replaced or removed before we had it.
            if !is_still(&file, path) {
                continue;
            }
            let mut text = String::new();
            let read = file.read_to_string(&mut text).map_err(|error| error.to_string());
            return match read.and_then(|_| Entry::parse(&text)) {
                Ok(entry) => Claimed::Ours(Box::new(Self { path: path.to_owned(), entry, lock: file })),
                Err(reason) => Claimed::Unreadable(reason),
            };
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what is still to be undone; what is undone already is not asked for again.
    pub(super) fn rewrite(&mut self) -> io::Result<()> {
        self.lock = self.entry.write(&self.path)?;
        Ok(())
    }

    /// Everything in it is put back.
    pub(super) fn close(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

/// Whether somebody has the journal at `path`.
pub(super) fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| {
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    })
}

fn is_still(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        let mut entry = Entry::new("host=x");
        entry.server.system_identifier = "7".into();
        let changed = ChangedSetting { former: None, ours: "9min".into(), in_force: Some("300".into()) };
        entry.settings.insert("checkpoint_timeout".into(), changed);
        let step = |sql: &str| Some(crate::change::Step::Sql(sql.to_owned()));
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

    #[test]
    fn a_journal_has_one_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        assert!(matches!(Claim::take(&path), Claimed::Gone));
        let lock = entry().write(&path).unwrap();
        assert!(is_held(&path) && matches!(Claim::take(&path), Claimed::Held));
        assert_eq!(Entry::read(&path).unwrap(), entry());
        drop(lock);
        assert!(!is_held(&path));
        let Claimed::Ours(claim) = Claim::take(&path) else { panic!("not held") };
        assert_eq!(claim.entry, entry());
        assert!(matches!(Claim::take(&path), Claimed::Held));
        let mut claim = claim;
        claim.entry.settings.clear();
        claim.rewrite().unwrap();
        assert!(matches!(Claim::take(&path), Claimed::Held), "also the file that took its place");
        assert_eq!(Entry::read(&path).unwrap(), claim.entry);
        claim.close().unwrap();
        assert!(matches!(Claim::take(&path), Claimed::Gone));
    }

    /// It was there in clear while the change was made.
    #[test]
    fn a_password_of_a_do_is_not_written_down() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let mut entry = entry();
        let made = &mut entry.changes[0].change;
        made.do_ = Some(crate::change::Step::Sql("CREATE ROLE r PASSWORD 'geheim'".to_owned()));
        made.check = Some("SELECT 'host=h password=geheim' <> ''".to_owned());
        let _lock = entry.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("geheim") && text.contains("CREATE ROLE r PASSWORD '(hidden)'"), "{text}");
        assert_eq!(Entry::read(&path).unwrap().changes[0].change.undo, entry.changes[0].change.undo);
    }

    #[test]
    fn a_lock_of_a_replaced_journal_is_worth_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        drop(entry().write(&path).unwrap());
        let old = File::open(&path).unwrap();
        let _lock = entry().write(&path).unwrap();
        assert!(!is_still(&old, &path));
        assert!(matches!(Claim::take(&path), Claimed::Held));
    }

    #[test]
    fn a_full_disk_leaves_no_journal_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::os::unix::fs::symlink("/dev/full", path.with_extension("new")).unwrap();
        let error = entry().write(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn older_journals_are_read_and_newer_ones_refused() {
        let old = r#"{"format":1,"dsn":"host=x","system_identifier":"7",
                      "settings":{"fsync":{"former":null,"ours":"off"}}}"#;
        let old = Entry::parse(old).unwrap();
        assert_eq!((old.server.system_identifier.as_str(), old.server.port), ("7", None));
        assert_eq!((&old.settings["fsync"].in_force, old.changes.len()), (&None, 0));
        assert!(!old.is_empty());
        let new = serde_json::to_string(&Entry { format: FORMAT + 1, ..entry() }).unwrap();
        assert!(Entry::parse(&new).unwrap_err().contains("newer"));
    }
}
