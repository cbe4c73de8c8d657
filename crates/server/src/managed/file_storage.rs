//! The folder of server files that are stored elsewhere.
//!
//! It is named after the server, on the filesystem made for it or in the named folder. A link in the server's
//! own folder leads there, and so do the links of its data, its log or a tablespace.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use spec::plan::storage::{Holds, Storage, StorageLocation};
use spec::{Class, Error};

use super::DATA;
use super::error::{not_ours, server_file_error};
use crate::child::{Account, Watchdog};
use crate::home::{Dir, Distrust, Home, HomeFolder, Readable, passed_through};
use crate::stop::Stop;
use crate::storage::{LINK, Mounted, Used, available_below, is_in_use, used_by};

/// In a folder of ours inside a named one: its owner.
const MARKER: &str = "pgdyno-storage.json";

/// Left by a killed writer.
const HALF_MARKER: &str = "pgdyno-storage.json.new";

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    format: u32,
    home: PathBuf,
    server: String,
    /// The machine: a disk may be shared. Earlier builds did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
}

impl Owner {
    fn is(&self, other: &Self) -> bool {
        let one_machine = match (&self.machine, &other.machine) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        one_machine && self.format == other.format && self.home == other.home && self.server == other.server
    }

    fn is_of(&self, folder: &Dir) -> bool {
        let found = folder.read(MARKER).ok().and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        found.is_some_and(|found| found.is(self))
    }
}

/// The folder of a server's files that are stored elsewhere.
#[derive(Debug)]
pub(super) struct FileStorage {
    pub(super) storage: Storage,
    /// For this server alone; ours, with a folder of the account in it. Not kept open, or the filesystem
    /// could not be unmounted.
    folder: PathBuf,
    /// The expected marker, in a named folder. Its owner could replace our folder with another one of ours.
    owner: Option<Owner>,
    label: String,
    /// The filesystem, if this process made it; it is removed with the last server on it.
    mounted: Option<Arc<Mounted>>,
}

pub(super) struct For<'a> {
    pub(super) home: &'a Home,
    pub(super) name: &'a str,
    pub(super) account: Option<&'a Account>,
    pub(super) watchdog: &'a Watchdog,
    pub(super) stop: &'a Stop,
}

impl For<'_> {
    fn owner(&self) -> Owner {
        Owner {
            format: 1,
            home: self.home.folder().to_owned(),
            server: self.name.to_owned(),
            machine: Some(crate::host::machine()),
        }
    }

    /// The expected marker of our folder in a named folder.
    fn marked(&self, storage: &Storage) -> Option<Owner> {
        matches!(storage.on, StorageLocation::Folder(_)).then(|| self.owner())
    }

    fn own_folder(&self) -> Result<Dir, Error> {
        let path = || self.home.path(HomeFolder::Clusters).join(self.name);
        super::folder_of(self.home, self.name)?
            .ok_or_else(|| server_file_error(&path(), io::ErrorKind::NotFound.into()))
    }
}

impl FileStorage {
    /// A new folder for a server's files; for a copy on the same filesystem as `other`. Files of an earlier
    /// server of this name and home are removed.
    pub(super) fn make(storage: &Storage, who: &For<'_>, other: Option<&Self>) -> Result<Self, Error> {
        let (folder, label, mounted) = match (&storage.on, other) {
            (StorageLocation::Folder(folder), _) => {
                let label = available_below(who.home, &storage.on)?;
                (claim(folder, who)?, label.label().to_owned(), None)
            }
            (StorageLocation::Filesystem(_), Some(other)) => {
                let on = other.folder.parent().unwrap_or(&other.folder);
                (on_made(on, who)?, other.label.clone(), other.mounted.clone())
            }
            (StorageLocation::Filesystem(filesystem), None) => {
                let mounted = Mounted::make(who.home, filesystem, who.account, who.watchdog, who.stop)?;
                (on_made(&mounted.folder(), who)?, mounted.label().to_owned(), Some(Arc::new(mounted)))
            }
        };
        let folder = folder.path().to_owned();
        link(&who.own_folder()?, LINK, &folder)?;
        Ok(Self { storage: storage.clone(), folder, owner: who.marked(storage), label, mounted })
    }

    /// The folder of an existing server's files.
    pub(super) fn find(storage: &Storage, who: &For<'_>) -> Result<Self, Error> {
        let (path, found) = match &storage.on {
            StorageLocation::Folder(named) => {
                (named.join(within(who.name)), Dir::inside(named, within(who.name)))
            }
            StorageLocation::Filesystem(_) => {
                let found = storage_folder_of(&who.own_folder()?);
                (found.as_ref().map(|found| found.path().to_owned()).unwrap_or_default(), Ok(found))
            }
        };
        let Ok(Some(folder)) = found else {
            return Err(match found {
                Err(error) if Distrust::is_in(&error) => server_file_error(&path, error),
                _ => Error::new(
                    Class::Missing,
                    format!(
                        "the files of managed server {:?} should be in {}, which does not exist",
                        who.name,
                        path.display()
                    ),
                )
                .with_hint(format!(
                    "mount its disk, or give them up with: pgdyno target destroy {}",
                    who.name
                )),
            });
        };
        let owner = who.marked(storage);
        if owner.as_ref().is_some_and(|owner| !owner.is_of(&folder)) {
            return Err(not_ours(&path));
        }
        let label =
            available_below(who.home, &storage.on).map(|found| found.label().to_owned()).unwrap_or_default();
        Ok(Self { storage: storage.clone(), folder: folder.path().to_owned(), owner, label, mounted: None })
    }

    /// Keeps another server's filesystem, on which this one is, mounted.
    pub(super) fn sharing(mut self, other: &Self) -> Self {
        self.mounted.clone_from(&other.mounted);
        self
    }

    /// Whether a server's folder links to the same storage as this one.
    pub(super) fn is_on_same_storage(&self, storage: Option<&Storage>, own_folder: &Dir) -> bool {
        let on = self.folder.parent();
        let leads_to = own_folder.read_link(LINK).unwrap_or_default();
        storage == Some(&self.storage) && leads_to.parent() == on
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    pub(super) fn open(&self) -> Result<Dir, Error> {
        self.open_if_there()?.ok_or_else(|| server_file_error(&self.folder, io::ErrorKind::NotFound.into()))
    }

    fn open_if_there(&self) -> Result<Option<Dir>, Error> {
        let found = opened(&self.folder).map_err(|error| server_file_error(&self.folder, error))?;
        let others =
            found.as_ref().zip(self.owner.as_ref()).is_some_and(|(found, owner)| !owner.is_of(found));
        if others { Err(not_ours(&self.folder)) } else { Ok(found) }
    }

    pub(super) fn used(&self) -> Result<Used, Error> {
        used_by(&self.folder, self.mounted.as_deref())
    }

    /// Why it cannot be used any more, if known.
    pub(super) fn lost(&self) -> Option<Error> {
        let why = match &self.mounted {
            Some(mounted) => mounted.lost(),
            None => (!self.folder.is_dir()).then(|| "it no longer exists".to_owned()),
        };
        why.map(|why| {
            let what =
                format!("the storage of the server's files, {}, was lost: {why}", self.folder.display());
            Error::new(Class::Io, what)
                .with_hint("check its disk or filesystem, then the same command goes on")
        })
    }

    /// Unmounts and mounts the filesystem that was made; false if there is none.
    pub(super) fn again(&self) -> Result<bool, Error> {
        Ok(self.mounted.as_ref().map(|mounted| mounted.again()).transpose()?.is_some())
    }

    pub(super) fn part(&self, holds: Holds) -> Option<PathBuf> {
        (self.storage.holds == holds).then(|| self.folder.join(part_name(holds)))
    }

    /// The folder of its files, open.
    pub(super) fn open_part(&self, account: Option<&Account>) -> Result<Dir, Error> {
        let name = part_name(self.storage.holds);
        let found = self.open()?.open_for(name, account);
        let found = found.and_then(|found| found.ok_or_else(|| io::ErrorKind::NotFound.into()));
        found.map_err(|error| server_file_error(&self.folder.join(name), error))
    }

    /// Makes the folder of its files again, empty, for the account; for data also the link to it.
    pub(super) fn empty(&self, own_folder: &Dir, account: Option<&Account>) -> Result<Dir, Error> {
        let name = part_name(self.storage.holds);
        let folder = self.open()?;
        let made = folder.remove_all(name).and_then(|()| folder.make_for(name, account));
        let part = made.map_err(|error| server_file_error(&self.folder.join(name), error))?;
        if self.storage.holds == Holds::Data {
            link(own_folder, DATA, part.path())?;
        }
        Ok(part)
    }

    pub(super) fn remove(&self) -> Result<(), Error> {
        let above = self.folder.parent().zip(self.folder.file_name());
        let Some((folder, (above, name))) = self.open_if_there()?.zip(above) else { return Ok(()) };
        let removed = empty_but_marker(&folder)
            .and_then(|()| folder.remove_all(MARKER))
            .and_then(|()| Dir::remove_empty_inside(above, name));
        removed.map_err(|error| server_file_error(&self.folder, error))
    }
}

/// Name of the folder of its files.
pub(super) fn part_name(holds: Holds) -> &'static str {
    match holds {
        Holds::Data => DATA,
        Holds::Tablespace => "tablespace",
        Holds::Wal => "wal",
    }
}

/// The target of the link in a server's folder, if it is ours.
pub(super) fn storage_folder_of(own_folder: &Dir) -> Option<Dir> {
    opened(&own_folder.read_link(LINK).ok()?).ok()?
}

/// A folder of ours that is stored elsewhere, if it exists.
fn opened(folder: &Path) -> io::Result<Option<Dir>> {
    match folder.parent().zip(folder.file_name()) {
        Some((above, name)) => Dir::inside(above, name),
        None => Ok(None),
    }
}

/// Replaces an entry in a server's folder by a link.
fn link(own_folder: &Dir, name: &str, to: &Path) -> Result<(), Error> {
    let made = own_folder.remove_all(name).and_then(|()| own_folder.link(name, to));
    made.map_err(|error| server_file_error(&own_folder.path().join(name), error))
}

fn on_made(mounted: &Path, who: &For<'_>) -> Result<Dir, Error> {
    Dir::made_inside(mounted, who.name, passed_through(who.account.is_some()))
        .map_err(|error| server_file_error(&mounted.join(who.name), error))
}

/// Whether a server's folder is the only remainder of one on a filesystem that was made for it, and is gone
/// or unused.
pub(super) fn is_left_over(own_folder: &Dir, storage: Option<&Storage>) -> bool {
    let leads_to = own_folder.read_link(LINK);
    storage.is_some_and(Storage::is_made) && leads_to.map_or(true, |folder| !is_in_use(&folder))
}

/// Name of our folder inside a named one.
fn within(name: &str) -> String {
    format!("pgdyno-{name}")
}

/// Our folder inside a named one: new, or emptied if it was ours.
fn claim(named: &Path, who: &For<'_>) -> Result<Dir, Error> {
    let name = within(who.name);
    let failed = |error| server_file_error(&named.join(&name), error);
    let owner = who.owner();
    let folder = Dir::made_inside(named, &name, passed_through(who.account.is_some())).map_err(failed)?;
    let is_empty = folder.names().map_err(failed)?.iter().all(|entry| entry == HALF_MARKER);
    if !is_empty && !owner.is_of(&folder) {
        return Err(not_ours(&named.join(name)));
    }
    empty_but_marker(&folder).map_err(failed)?;
    let text = serde_json::to_string_pretty(&owner).map_err(|error| failed(error.into()))?;
    folder.replace(MARKER, text.as_bytes(), Readable::ByUs).map_err(failed)?;
    Ok(folder)
}

/// Keeps the marker: the rest of an interrupted removal is still known as ours.
fn empty_but_marker(folder: &Dir) -> io::Result<()> {
    folder.names()?.iter().filter(|name| *name != MARKER).try_for_each(|name| folder.remove_all(name))
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
        let is_not_ours =
            |found: Result<Dir, Error>| found.unwrap_err().to_string().contains("is not pgdyno's");
        let folder = claim(top.path(), &who(&home)).unwrap().path().to_owned();
        std::fs::create_dir(folder.join("data")).unwrap();
        assert!(is_not_ours(claim(top.path(), &who(&other))));
        assert!(folder.join("data").exists());
        claim(top.path(), &who(&home)).unwrap();
        assert!(!folder.join("data").exists() && folder.join(MARKER).exists());
        // Another machine with the same disk and the same path of its home.
        let owner = Owner { machine: Some("another".to_owned()), ..who(&home).owner() };
        std::fs::write(folder.join(MARKER), serde_json::to_string(&owner).unwrap()).unwrap();
        assert!(is_not_ours(claim(top.path(), &who(&home))));
        std::fs::remove_file(folder.join(MARKER)).unwrap();
        claim(top.path(), &who(&home)).expect("an empty one is nobody's");
        std::fs::write(folder.join("theirs"), "").unwrap();
        std::fs::remove_file(folder.join(MARKER)).unwrap();
        assert!(is_not_ours(claim(top.path(), &who(&home))));
        assert!(folder.join("theirs").exists());
    }
}
