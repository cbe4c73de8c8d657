//! The folder of one filesystem: its image, its mount point, its journal.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::home::{Dir, Home, HomeFolder};
use crate::host::proc::is_alive;
use crate::lock::Lock;
use spec::plan::storage::Filesystem;

/// Folders that this process made. In a container a pgdyno often has the pid of a killed one.
static OURS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A folder `PID-N` in the storage part of the home, named after its pgdyno. Its keeper holds the lock in it. Everything
/// outside of it can be found by it: a loop device by its image, a pool by its name and image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MadeFolder {
    pub(super) folder: PathBuf,
}

impl MadeFolder {
    /// The next folder of this process, which does not exist yet.
    pub(super) fn next(storage: &Dir) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{number}", std::process::id());
            // Mounts are listed by paths without links, as this one is.
            let folder = storage.path().join(&name);
            // A folder of a dead pgdyno with our pid is removed by others.
            if !storage.has(&name) {
                OURS.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.clone());
                return Self { folder };
            }
        }
    }

    /// The filesystem of this folder, if its name has that form.
    pub(super) fn at(folder: &Path) -> Option<Self> {
        let made = Self { folder: folder.to_owned() };
        made.owner().map(|_| made)
    }

    /// All of a home that are ours to remove: folders that only we can have made.
    pub(super) fn all(home: &Home) -> Vec<Self> {
        let Ok(Some(storage)) = home.part(HomeFolder::Storage) else { return Vec::new() };
        let names = storage.names().unwrap_or_default();
        let ours = names.into_iter().filter(|name| matches!(storage.open(name), Ok(Some(_))));
        ours.filter_map(|name| Self::at(&storage.path().join(name))).collect()
    }

    /// Its folder, open; everything is done below it.
    pub(super) fn open(&self) -> io::Result<Dir> {
        let part = self.home().part(HomeFolder::Storage).map_err(io::Error::other)?;
        let name = self.folder.file_name().unwrap_or_default();
        part.map_or(Ok(None), |part| part.open(name))?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Takes its lock, unless another pgdyno has it.
    pub(super) fn lock(&self) -> Option<Lock> {
        Lock::if_free(&self.open().ok()?)
    }

    /// Pid of the pgdyno it was made for.
    pub(super) fn owner(&self) -> Option<u32> {
        let name = self.folder.file_name()?.to_str()?;
        let (pid, number) = name.split_once('-')?;
        number.parse::<u32>().ok()?;
        pid.parse().ok()
    }

    /// Whether its keeper works, or its owner lives.
    pub(super) fn is_in_use(&self) -> bool {
        let lives = |owner: u32| match owner == std::process::id() {
            true => OURS.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.folder),
            false => is_alive(owner),
        };
        self.open().is_ok_and(|folder| Lock::held_by(&folder).is_some()) || self.owner().is_some_and(lives)
    }

    pub(super) fn home(&self) -> Home {
        let storage = self.folder.parent().unwrap_or(&self.folder);
        Home::at(storage.parent().unwrap_or(storage))
    }

    pub(super) fn image(&self) -> PathBuf {
        self.folder.join(IMAGE)
    }

    /// By how much its image may still grow, bytes.
    pub(super) fn may_grow_bytes(&self) -> u64 {
        let image = std::fs::metadata(self.image());
        image.map_or(0, |image| image.len().saturating_sub(image.blocks() * 512))
    }

    pub(super) fn mounted(&self) -> PathBuf {
        self.folder.join(MOUNTED)
    }

    /// Folders of servers with files on it, by name: each has a link to it.
    pub(super) fn servers(&self) -> Vec<(OsString, Dir)> {
        let Ok(Some(clusters)) = self.home().part(HomeFolder::Clusters) else { return Vec::new() };
        let opened = |name: OsString| clusters.open(&name).ok().flatten().map(|folder| (name, folder));
        let stands_here = |folder: &Dir| folder.read_link(LINK).is_ok_and(|to| to.starts_with(&self.folder));
        let names = clusters.names().unwrap_or_default();
        names.into_iter().filter_map(opened).filter(|(_, folder)| stands_here(folder)).collect()
    }
}

/// In its folder: the file that contains the filesystem, its mount point, and the journal.
pub(super) const IMAGE: &str = "image";
pub(super) const MOUNTED: &str = "mounted";
pub(super) const JOURNAL: &str = "journal.json";

/// In the folder of a server: a link to the storage of its files.
pub(crate) const LINK: &str = "storage";

/// Whether the filesystem of this folder, one of a home's, is in use or still being removed.
pub(crate) fn is_in_use(folder: &Path) -> bool {
    // Other folders may have such names: `2024-06`.
    let is_of_a_home =
        |made: &MadeFolder| made.folder.parent().is_some_and(|above| above.ends_with("storage"));
    folder.ancestors().filter_map(MadeFolder::at).filter(is_of_a_home).any(|made| made.is_in_use())
}

/// First argument that makes a watchdog a keeper of a filesystem; its [`KeeperOrder`] follows.
pub(crate) const KEEPER_ARGUMENT: &str = "--storage";

/// A filesystem to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeeperOrder {
    /// For this filesystem alone; does not exist yet.
    pub(super) folder: PathBuf,
    pub(super) filesystem: Filesystem,
}

/// A request line to the keeper.
pub(super) const AGAIN: &str = "again";
pub(super) const REMOVE: &str = "remove";
/// Its answer; otherwise the error.
pub(super) const DONE: &str = "done";
pub(super) const FAILED: &str = "failed ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_called_after_its_owner() {
        let top = tempfile::tempdir().unwrap();
        let home = Home::at(&top.path().canonicalize().unwrap());
        let made = MadeFolder::next(&home.make_part(HomeFolder::Storage, None).unwrap());
        assert_eq!(MadeFolder::at(&made.folder), Some(made.clone()));
        assert_eq!(made.owner(), Some(std::process::id()));
        assert!(made.is_in_use() && is_in_use(&made.mounted().join("main")));
        assert_eq!(made.home(), home);
        // A home below a folder with such a name, and the pid of the first process lives.
        assert!(!is_in_use(Path::new("/data/1-06/home/storage/999999999-0/mounted/main")));
        let of_an_earlier_one = Path::new("/home/storage").join(format!("{}-4294967295", std::process::id()));
        assert!(!is_in_use(&of_an_earlier_one), "of a pgdyno that had our pid");
        for other in ["/x/zfs-fuse", "/x/1", "/x/1-", "/x/a-1", "/x/1-a", "/"] {
            assert_eq!(MadeFolder::at(Path::new(other)), None, "{other}");
        }
    }
}
