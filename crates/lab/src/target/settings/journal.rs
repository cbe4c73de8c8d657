//! What was changed on servers that are not ours, written down before it is changed.
//!
//! One file per experiment under the home. It names the server and the former values, never a password. It is
//! removed when everything is undone; what a killed pgdyno left is undone by the next command that can connect.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use workloads::sql::{Sql, SqlError};

use super::apply::reload;
use super::{SettingsError, Wanted, statements};
use crate::control::Control;
use crate::place::Home;

/// One changed setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSetting {
    /// What stood in `postgresql.auto.conf`; `None` when nothing did.
    pub former: Option<String>,
    /// What we put there, as the file shows it afterwards.
    pub ours: String,
}

/// What a journal file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Version of the file's form.
    pub format: u32,
    /// Connection string without password.
    pub dsn: String,
    /// The server's own identity.
    pub system_identifier: String,
    /// Changed settings by name.
    pub settings: BTreeMap<String, ChangedSetting>,
}

/// The journal of one experiment on one server; its file is locked while we live.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    lock: Option<File>,
    entry: Entry,
}

/// What became of an earlier journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// Everything is as it was; these settings were put back.
    Undone {
        /// The server.
        dsn: String,
        /// Settings put back.
        settings: Vec<String>,
    },
    /// It is still to be undone.
    Pending {
        /// The server.
        dsn: String,
        /// Why it was not possible now.
        reason: String,
    },
}

impl Journal {
    /// A journal for the server at `dsn` (without password) that nothing stands in yet.
    #[must_use]
    pub fn new(home: &Home, dsn: &str) -> Self {
        let name = format!("{}.json", uuid::Uuid::new_v4().simple());
        let entry = Entry {
            format: 1,
            dsn: dsn.to_owned(),
            system_identifier: String::new(),
            settings: BTreeMap::new(),
        };
        Self { path: home.journal().join(name), lock: None, entry }
    }

    /// Whether anything is to be undone.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entry.settings.is_empty()
    }

    /// Writes down what stands on the server, before `server` is set there.
    ///
    /// # Errors
    /// When the former values cannot be read or the file cannot be written: then nothing may be changed.
    pub fn note(&mut self, control: &mut Control, server: &Wanted) -> Result<(), SettingsError> {
        let standing = auto_conf(control).map_err(SettingsError::FormerUnknown)?;
        if self.entry.system_identifier.is_empty() {
            self.entry.system_identifier = identity(control).map_err(SettingsError::FormerUnknown)?;
        }
        for (name, value) in server {
            let former = standing.get(&name.to_lowercase()).cloned();
            let changed = self.entry.settings.entry(name.clone());
            // A setting that an earlier arm changed keeps the value from before all arms.
            changed
                .and_modify(|changed| changed.ours.clone_from(value))
                .or_insert_with(|| ChangedSetting { former, ours: value.clone() });
        }
        self.write().map_err(|source| SettingsError::Journal { path: self.path.clone(), source })
    }

    /// Puts everything back and removes the file; answers the settings put back.
    ///
    /// # Errors
    /// When the server refuses; the file stays.
    pub fn undo(&mut self, control: &mut Control) -> Result<Vec<String>, SettingsError> {
        let names = undo(control, &self.entry)?;
        self.entry.settings.clear();
        let _ = std::fs::remove_file(&self.path);
        self.lock = None;
        Ok(names)
    }

    fn write(&mut self) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(serde_json::to_string_pretty(&self.entry)?.as_bytes())?;
        file.sync_all()?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        std::fs::rename(&new, &self.path)?;
        if let Some(folder) = self.path.parent() {
            File::open(folder)?.sync_all()?;
        }
        self.lock = Some(file);
        Ok(())
    }
}

/// Undoes what earlier, dead pgdynos left. `open` connects to the server of an entry, or says why it cannot.
pub fn recover(home: &Home, open: &mut dyn FnMut(&Entry) -> Result<Control, String>) -> Vec<Recovered> {
    let Ok(files) = std::fs::read_dir(home.journal()) else { return Vec::new() };
    let paths = files.flatten().map(|file| file.path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .filter_map(|path| recover_file(&path, open))
        .collect()
}

fn recover_file(path: &Path, open: &mut dyn FnMut(&Entry) -> Result<Control, String>) -> Option<Recovered> {
    let file = File::open(path).ok()?;
    // Locked: its pgdyno lives and will undo it itself.
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let entry: Entry = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let dsn = entry.dsn.clone();
    let undone = open(&entry).and_then(|mut control| {
        match identity(&mut control) {
            Ok(identity) if identity == entry.system_identifier => {}
            Ok(_) => return Err("another server answers there now".to_owned()),
            Err(error) => return Err(error.to_string()),
        }
        undo(&mut control, &entry).map_err(|error| error.to_string())
    });
    Some(match undone {
        Ok(settings) => {
            let _ = std::fs::remove_file(path);
            Recovered::Undone { dsn, settings }
        }
        Err(reason) => Recovered::Pending { dsn, reason },
    })
}

/// Puts former values back where ours still stand; what somebody changed since is left alone.
fn undo(control: &mut Control, entry: &Entry) -> Result<Vec<String>, SettingsError> {
    let failed = || SettingsError::sql("putting settings back");
    let standing = auto_conf(control).map_err(failed())?;
    let mut names = Vec::new();
    for (name, changed) in &entry.settings {
        if standing.get(&name.to_lowercase()).is_none_or(|value| !same(value, &changed.ours)) {
            continue;
        }
        let sql = match &changed.former {
            Some(value) => statements::set(name, value),
            None => statements::reset(name),
        };
        control.execute(&sql).map_err(failed())?;
        names.push(name.clone());
    }
    if !names.is_empty() {
        reload(control)?;
    }
    Ok(names)
}

fn same(standing: &str, ours: &str) -> bool {
    let plain = |value: &str| value.replace(['"', '\'', ' '], "").to_lowercase();
    plain(standing) == plain(ours)
}

/// What stands in `postgresql.auto.conf`, by lower-case name.
fn auto_conf(control: &mut Control) -> Result<BTreeMap<String, String>, SqlError> {
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

fn identity(control: &mut Control) -> Result<String, SqlError> {
    let query = "SELECT system_identifier::text FROM pg_catalog.pg_control_system()";
    Ok(control.scalar(query)?.unwrap_or_default())
}
