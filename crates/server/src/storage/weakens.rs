//! What of a storage weakens crash safety.

use spec::plan::storage::{FilesystemKind, Storage, StorageLocation};

use crate::host::Disk;

/// Options with which a crash costs more than without.
const WEAKENING: [(&str, &str); 6] = [
    ("nobarrier", "a power failure loses what was synced"),
    ("barrier=0", "a power failure loses what was synced"),
    ("data=writeback", "a crash can leave old blocks in files"),
    ("nointegrity", "a crash can damage the filesystem"),
    ("norecovery", "nothing is repaired after a crash"),
    ("sync=disabled", "a crash loses the last commits"),
];

/// What of a storage weakens crash safety, in words; nothing where a crash costs what it would cost anyway.
#[must_use]
pub fn weakens(storage: &Storage) -> Vec<String> {
    match &storage.on {
        StorageLocation::Folder(folder) => {
            let filesystem = Disk::of(folder).and_then(|disk| disk.filesystem);
            let in_memory = filesystem.filter(|name| matches!(name.as_str(), "tmpfs" | "ramfs"));
            let words = |name| format!("{name} (it is memory: all is lost when the machine stops)");
            in_memory.map(words).into_iter().collect()
        }
        StorageLocation::Filesystem(filesystem) => {
            let has_none = matches!(filesystem.kind, FilesystemKind::Ext4 { journal: Some(false), .. });
            let journal = has_none.then(|| "ext4 without a journal (a crash can damage it)".to_owned());
            let known = |option: &str| {
                let (_, what) = WEAKENING.iter().find(|(name, _)| *name == option)?;
                Some(format!("{option} ({what})"))
            };
            journal.into_iter().chain(filesystem.options().filter_map(known)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use spec::plan::storage::{Filesystem, Holds};

    use super::*;

    #[test]
    fn what_weakens_crash_safety_is_named() {
        let made = |kind, mount_options: &str| Storage {
            holds: Holds::Data,
            on: StorageLocation::Filesystem(Filesystem {
                kind,
                size_bytes: 1 << 30,
                mount_options: mount_options.into(),
            }),
        };
        let ext4 = |journal| FilesystemKind::Ext4 { block_size_bytes: None, journal };
        assert!(weakens(&made(ext4(None), "noatime")).is_empty());
        let weak = weakens(&made(ext4(Some(false)), "noatime,nobarrier"));
        let wanted = [
            "ext4 without a journal (a crash can damage it)",
            "nobarrier (a power failure loses what was synced)",
        ];
        assert_eq!(weak, wanted);
        assert!(weakens(&made(FilesystemKind::Xfs { reflink: None }, "")).is_empty());
    }
}
