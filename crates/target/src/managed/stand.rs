//! Where the files of a server stand that shall not all stand in its own folder.
//!
//! They stand in a folder called after the server, on the filesystem made for it or in the folder that was named. A link in
//! the server's own folder leads there, and its data, its log or a tablespace are links to there too.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ManagedError;
use crate::child::{Account, Watchdog};
use crate::files::replace;
use crate::home::{Home, make_folder};
use crate::stop::Stop;
use crate::storage::{Ground, Holds, LINK, Mounted, Storage, Used, available_below, is_in_use, used_by};

/// In a folder of ours inside one that was named: whose it is.
const MARKER: &str = "pgdyno-storage.json";

/// What is left of one whose writer was killed.
const HALF_MARKER: &str = "pgdyno-storage.json.new";

/// Whose a folder is.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Whose {
    /// Version of this file's form.
    format: u32,
    home: PathBuf,
    server: String,
    /// Which machine's: a disk may be shared. Earlier builds did not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
}

impl Whose {
    fn is(&self, other: &Self) -> bool {
        let one_machine = match (&self.machine, &other.machine) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        one_machine && self.format == other.format && self.home == other.home && self.server == other.server
    }
}

/// Where some files of a server stand.
#[derive(Debug)]
pub(super) struct Stand {
    pub(super) storage: Storage,
    /// Of this server alone.
    folder: PathBuf,
    label: String,
    /// The filesystem, where it was made by this process; it goes with the last server on it.
    mounted: Option<Arc<Mounted>>,
}

/// Who a stand is for.
pub(super) struct For<'a> {
    pub(super) home: &'a Home,
    pub(super) name: &'a str,
    pub(super) account: Option<&'a Account>,
    pub(super) watchdog: &'a Watchdog,
    pub(super) stop: &'a Stop,
}

impl For<'_> {
    fn whose(&self) -> Whose {
        Whose {
            format: 1,
            home: self.home.folder().to_owned(),
            server: self.name.to_owned(),
            machine: Some(crate::host::machine()),
        }
    }

    fn own_folder(&self) -> PathBuf {
        self.home.clusters().join(self.name)
    }
}

impl Stand {
    /// A new place for a server's files; on the filesystem of `beside` for a copy of the server there. What stood there of an
    /// earlier server of this name and home is removed.
    pub(super) fn make(
        storage: &Storage,
        who: &For<'_>,
        beside: Option<&Self>,
    ) -> Result<Self, ManagedError> {
        let (folder, label, mounted) = match (&storage.on, beside) {
            (Ground::Folder(folder), _) => {
                let label =
                    available_below(who.home, &storage.on).map_err(crate::storage::StorageError::from)?;
                (claim(folder, who)?, label.label().to_owned(), None)
            }
            (Ground::Filesystem(_), Some(beside)) => {
                let on = beside.folder.parent().unwrap_or(&beside.folder);
                (on.join(who.name), beside.label.clone(), beside.mounted.clone())
            }
            (Ground::Filesystem(filesystem), None) => {
                let mounted = Mounted::make(who.home, filesystem, who.account, who.watchdog, who.stop)?;
                (mounted.folder().join(who.name), mounted.label().to_owned(), Some(Arc::new(mounted)))
            }
        };
        make_folder(&folder, 0o700, who.account)?;
        let stand = Self { storage: storage.clone(), folder, label, mounted };
        stand.link(&who.own_folder().join(LINK), &stand.folder)?;
        Ok(stand)
    }

    /// Where the files of a server that is there stand already.
    pub(super) fn find(storage: &Storage, who: &For<'_>) -> Result<Self, ManagedError> {
        let folder = match &storage.on {
            Ground::Folder(folder) => within(folder, who.name),
            Ground::Filesystem(_) => std::fs::read_link(who.own_folder().join(LINK)).unwrap_or_default(),
        };
        if !folder.is_dir() {
            return Err(ManagedError::StandGone { name: who.name.to_owned(), folder });
        }
        if matches!(storage.on, Ground::Folder(_)) && !is_ours(&folder, who) {
            return Err(ManagedError::NotOurs(folder));
        }
        let label =
            available_below(who.home, &storage.on).map(|found| found.label().to_owned()).unwrap_or_default();
        Ok(Self { storage: storage.clone(), folder, label, mounted: None })
    }

    /// On the same filesystem as another server's, which it keeps from going.
    pub(super) fn beside(mut self, other: &Self) -> Self {
        self.mounted.clone_from(&other.mounted);
        self
    }

    /// Whether a server's folder leads to a place on what this one stands on.
    pub(super) fn is_beside(&self, storage: Option<&Storage>, own_folder: &Path) -> bool {
        let on = self.folder.parent();
        let leads_to = std::fs::read_link(own_folder.join(LINK)).unwrap_or_default();
        storage == Some(&self.storage) && leads_to.parent() == on
    }

    /// What it is, in words.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// Its own folder, on what it stands on.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What stands there takes.
    pub(super) fn used(&self) -> Result<Used, ManagedError> {
        Ok(used_by(&self.folder, self.mounted.as_deref())?)
    }

    /// Why it cannot be used any more, if that can be seen.
    pub(super) fn lost(&self) -> Option<ManagedError> {
        let why = match &self.mounted {
            Some(mounted) => mounted.lost(),
            None => (!self.folder.is_dir()).then(|| "it is not there any more".to_owned()),
        };
        why.map(|why| ManagedError::StandLost { folder: self.folder.clone(), why })
    }

    /// Unmounts and mounts what was made; answers whether anything was.
    pub(super) fn again(&self) -> Result<bool, ManagedError> {
        Ok(self.mounted.as_ref().map(|mounted| mounted.again()).transpose()?.is_some())
    }

    /// Where one kind of files stands.
    pub(super) fn part(&self, holds: Holds) -> Option<PathBuf> {
        let name = match holds {
            Holds::Data => "data",
            Holds::Tablespace => "tablespace",
            Holds::Wal => "wal",
        };
        (self.storage.holds == holds).then(|| self.folder.join(name))
    }

    /// Makes the folder of its files anew, empty; for data with the link to there.
    pub(super) fn empty(&self, own_folder: &Path, account: Option<&Account>) -> Result<(), ManagedError> {
        let Some(part) = self.part(self.storage.holds) else { return Ok(()) };
        remove_folder(&part).map_err(|error| ManagedError::file(&part, error))?;
        let made = DirBuilder::new().mode(0o700).create(&part).and_then(|()| give(&part, account));
        made.map_err(|error| ManagedError::file(&part, error))?;
        if self.storage.holds == Holds::Data {
            self.link(&own_folder.join("data"), &part)?;
        }
        Ok(())
    }

    fn link(&self, at: &Path, to: &Path) -> Result<(), ManagedError> {
        let failed = |error| ManagedError::file(at, error);
        match std::fs::symlink_metadata(at) {
            Ok(there) if there.is_dir() => std::fs::remove_dir_all(at).map_err(failed)?,
            Ok(_) => std::fs::remove_file(at).map_err(failed)?,
            Err(_) => {}
        }
        symlink(to, at).map_err(failed)
    }

    /// Removes what stands there, and the folder.
    pub(super) fn remove(&self) -> Result<(), ManagedError> {
        remove_folder(&self.folder).map_err(|error| ManagedError::file(&self.folder, error))
    }
}

/// Whether a server's folder is all that is left of one on a filesystem that was made for it, and is gone or nobody's.
pub(super) fn is_left_over(own_folder: &Path, storage: Option<&Storage>) -> bool {
    let leads_to = std::fs::read_link(own_folder.join(LINK));
    storage.is_some_and(Storage::is_made) && leads_to.map_or(true, |folder| !is_in_use(&folder))
}

/// Folder of ours inside one that was named.
fn within(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("pgdyno-{name}"))
}

/// Our folder inside one that was named: new, or emptied if it was ours.
fn claim(folder: &Path, who: &For<'_>) -> Result<PathBuf, ManagedError> {
    let folder = within(folder, who.name);
    let failed = |error| ManagedError::file(&folder, error);
    let half =
        |entry: io::Result<std::fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == HALF_MARKER);
    let is_empty = std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.all(half));
    if std::fs::symlink_metadata(&folder).is_ok() && !is_empty {
        if !is_ours(&folder, who) {
            return Err(ManagedError::NotOurs(folder));
        }
        remove_folder(&folder).map_err(failed)?;
    }
    make_folder(&folder, 0o700, who.account)?;
    let text = serde_json::to_string_pretty(&who.whose()).map_err(|error| failed(error.into()))?;
    replace(&folder.join(MARKER), text.as_bytes(), None).map_err(failed)?;
    Ok(folder)
}

fn is_ours(folder: &Path, who: &For<'_>) -> bool {
    read_whose(folder).is_some_and(|whose| whose.is(&who.whose()))
}

fn read_whose(folder: &Path) -> Option<Whose> {
    let is_folder = std::fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    let text = std::fs::read_to_string(folder.join(MARKER)).ok().filter(|_| is_folder)?;
    serde_json::from_str(&text).ok()
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    // The marker goes last: what is left of an interrupted removal is still known as ours.
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries.flatten().filter(|entry| entry.file_name() != MARKER) {
        match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    std::fs::remove_dir_all(folder)
}

fn give(path: &Path, account: Option<&Account>) -> io::Result<()> {
    account.map_or(Ok(()), |account| chown(path, Some(account.uid), Some(account.gid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_this_server_and_home_are_taken_over() {
        let top = tempfile::tempdir().unwrap();
        let home = Home::at(&top.path().join("home"));
        let other = Home::at(&top.path().join("other"));
        let (watchdog, stop) = (Watchdog { exe: PathBuf::new() }, Stop::new());
        let who = |home| For { home, name: "main", account: None, watchdog: &watchdog, stop: &stop };
        let folder = claim(top.path(), &who(&home)).unwrap();
        std::fs::create_dir(folder.join("data")).unwrap();
        assert!(matches!(claim(top.path(), &who(&other)), Err(ManagedError::NotOurs(_))));
        assert!(folder.join("data").exists());
        claim(top.path(), &who(&home)).unwrap();
        assert!(!folder.join("data").exists() && folder.join(MARKER).exists());
        // Another machine that has the same disk, and a home of the same path.
        let whose = Whose { machine: Some("another".to_owned()), ..who(&home).whose() };
        std::fs::write(folder.join(MARKER), serde_json::to_string(&whose).unwrap()).unwrap();
        assert!(matches!(claim(top.path(), &who(&home)), Err(ManagedError::NotOurs(_))));
        std::fs::remove_file(folder.join(MARKER)).unwrap();
        claim(top.path(), &who(&home)).expect("an empty one is nobody's");
        std::fs::write(folder.join("theirs"), "").unwrap();
        std::fs::remove_file(folder.join(MARKER)).unwrap();
        assert!(matches!(claim(top.path(), &who(&home)), Err(ManagedError::NotOurs(_))));
        assert!(folder.join("theirs").exists());
    }
}
