//! The folder of one filesystem: its image, where it is mounted, what says what there is.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::home::Home;
use crate::host::proc::is_alive;
use crate::lock::Lock;

/// Folders that this process made. In a container a pgdyno often has the pid of one that was killed.
static OURS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A folder `PID-N` below [`Home::storage`], called after the pgdyno whose it is. Its keeper holds the lock in it. What
/// there is outside of it is found by it: a loop device by its image, a pool by its name and image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) folder: PathBuf,
}

impl Made {
    /// The next one of this process; nothing is there yet.
    pub(super) fn next(storage: &Path) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Mounts are known by paths without links.
        let storage = storage.canonicalize().unwrap_or_else(|_| storage.to_owned());
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let folder = storage.join(format!("{}-{number}", std::process::id()));
            // One of a dead pgdyno that had our pid is somebody else's to remove.
            if std::fs::symlink_metadata(&folder).is_err() {
                OURS.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.clone());
                return Self { folder };
            }
        }
    }

    /// The one in this folder, if the folder is called as those are.
    pub(super) fn at(folder: &Path) -> Option<Self> {
        let made = Self { folder: folder.to_owned() };
        made.owner().map(|_| made)
    }

    /// All of a home that are ours to remove: folders that only we can have made.
    pub(super) fn all(home: &Home) -> Vec<Self> {
        let Ok(storage) = home.storage().canonicalize() else { return Vec::new() };
        let Ok(entries) = std::fs::read_dir(storage) else { return Vec::new() };
        let us = rustix::process::geteuid().as_raw();
        let is_ours = |made: &Self| {
            let metadata = std::fs::symlink_metadata(&made.folder);
            metadata.is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == us)
        };
        entries.flatten().filter_map(|entry| Self::at(&entry.path())).filter(is_ours).collect()
    }

    /// Pid of the pgdyno it was made for.
    pub(super) fn owner(&self) -> Option<u32> {
        let name = self.folder.file_name()?.to_str()?;
        let (pid, number) = name.split_once('-')?;
        number.parse::<u32>().ok()?;
        pid.parse().ok()
    }

    /// Whether its keeper is at work, or its owner lives.
    pub(super) fn is_in_use(&self) -> bool {
        let lives = |owner: u32| match owner == std::process::id() {
            true => OURS.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.folder),
            false => is_alive(owner),
        };
        Lock::held_by(&self.folder).is_some() || self.owner().is_some_and(lives)
    }

    pub(super) fn home(&self) -> Home {
        let storage = self.folder.parent().unwrap_or(&self.folder);
        Home::at(storage.parent().unwrap_or(storage))
    }

    pub(super) fn image(&self) -> PathBuf {
        self.folder.join("image")
    }

    /// By how much its image may still grow.
    pub(super) fn may_grow_bytes(&self) -> u64 {
        let image = std::fs::metadata(self.image());
        image.map_or(0, |image| image.len().saturating_sub(image.blocks() * 512))
    }

    pub(super) fn mounted(&self) -> PathBuf {
        self.folder.join("mounted")
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.folder.join("journal.json")
    }

    /// Folders of servers whose files stand on it: each has a link to there.
    pub(super) fn servers(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.home().clusters()) else { return Vec::new() };
        let stands_here = |folder: &PathBuf| {
            std::fs::read_link(folder.join(LINK)).is_ok_and(|to| to.starts_with(&self.folder))
        };
        entries.flatten().map(|entry| entry.path()).filter(stands_here).collect()
    }
}

/// In the folder of a server: leads to where its files stand.
pub(crate) const LINK: &str = "storage";

/// Whether the filesystem that this folder is on, one of a home's, is in use or still being removed.
pub(crate) fn is_in_use(folder: &Path) -> bool {
    // Other folders may be called like that: `2024-06`.
    let is_of_a_home = |made: &Made| made.folder.parent().is_some_and(|above| above.ends_with("storage"));
    folder.ancestors().filter_map(Made::at).filter(is_of_a_home).any(|made| made.is_in_use())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_called_after_its_owner() {
        let made = Made::next(Path::new("/home/storage"));
        assert_eq!(Made::at(&made.folder), Some(made.clone()));
        assert_eq!(made.owner(), Some(std::process::id()));
        assert!(made.is_in_use() && is_in_use(&made.mounted().join("main")));
        assert_eq!(made.home(), Home::at(Path::new("/home")));
        // A home below a folder that is called like one, and the pid of the first process lives.
        assert!(!is_in_use(Path::new("/data/1-06/home/storage/999999999-0/mounted/main")));
        let of_an_earlier_one = Path::new("/home/storage").join(format!("{}-4294967295", std::process::id()));
        assert!(!is_in_use(&of_an_earlier_one), "of a pgdyno that had our pid");
        for other in ["/x/zfs-fuse", "/x/1", "/x/1-", "/x/a-1", "/x/1-a", "/"] {
            assert_eq!(Made::at(Path::new(other)), None, "{other}");
        }
    }
}
