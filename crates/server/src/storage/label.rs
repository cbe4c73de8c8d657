//! Describes a filesystem in words.

use super::options::{Filesystem, Ground, Holds, Kind, Storage};
use crate::host::Disk;

/// Options that make a crash more expensive.
const WEAKENING: [(&str, &str); 6] = [
    ("nobarrier", "a power failure loses what was synced"),
    ("barrier=0", "a power failure loses what was synced"),
    ("data=writeback", "a crash can leave old blocks in files"),
    ("nointegrity", "a crash can damage the filesystem"),
    ("norecovery", "nothing is repaired after a crash"),
    ("sync=disabled", "a crash loses the last commits"),
];

impl Kind {
    /// Its name in the kernel.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ext4 { .. } => "ext4",
            Self::Xfs { .. } => "xfs",
            Self::Btrfs { .. } => "btrfs",
            Self::Zfs { .. } => "zfs",
        }
    }

    fn options(&self) -> Vec<String> {
        let either =
            |value: Option<bool>, yes: &str, no: &str| value.map(|on| if on { yes } else { no }.to_owned());
        let parts = match self {
            Self::Ext4 { block_size_bytes, journal } => [
                block_size_bytes.map(|size| format!("blocks of {}", short(size))),
                either(*journal, "journal", "no journal"),
            ],
            Self::Xfs { reflink } => [either(*reflink, "reflink", "no reflink"), None],
            Self::Btrfs { compression, nodatacow } => [
                compression.as_ref().map(|it| format!("compression {it}")),
                either(*nodatacow, "nodatacow", "datacow"),
            ],
            Self::Zfs { recordsize_bytes, compression } => [
                recordsize_bytes.map(|size| format!("recordsize {}", short(size))),
                compression.as_ref().map(|it| format!("compression {it}")),
            ],
        };
        parts.into_iter().flatten().collect()
    }
}

/// `8k`, `1M`.
fn short(bytes: u64) -> String {
    match bytes {
        mega if mega > 0 && mega.is_multiple_of(1 << 20) => format!("{}M", mega >> 20),
        kilo if kilo > 0 && kilo.is_multiple_of(1 << 10) => format!("{}k", kilo >> 10),
        other => other.to_string(),
    }
}

/// `zfs (zfs-fuse), recordsize 8k, compression lzjb (not representative of kernel ZFS)`.
pub(super) fn label(filesystem: &Filesystem, by_fuse: bool) -> String {
    let fuse = if by_fuse { " (zfs-fuse)" } else { "" };
    let mut parts = vec![format!("{}{fuse}", filesystem.kind.name())];
    parts.extend(filesystem.kind.options());
    parts.extend(filesystem.options().map(str::to_owned));
    let caution = if by_fuse { " (not representative of kernel ZFS)" } else { "" };
    parts.join(", ") + caution
}

impl Filesystem {
    /// Its mount options, or properties.
    pub(super) fn options(&self) -> impl Iterator<Item = &str> {
        self.mount_options.split(',').map(str::trim).filter(|option| !option.is_empty())
    }
}

impl Storage {
    /// Which files are on which storage, in words: "its log on xfs".
    #[must_use]
    pub fn words(&self) -> String {
        let what = match self.holds {
            Holds::Data => "all its files",
            Holds::Tablespace => "its databases",
            Holds::Wal => "its write-ahead log",
        };
        match &self.on {
            Ground::Folder(folder) => format!("{what} in {}", folder.display()),
            Ground::Filesystem(filesystem) => {
                format!("{what} on {}, made for it", label(filesystem, false))
            }
        }
    }

    /// How it weakens crash safety, in words; empty if it does not.
    #[must_use]
    pub fn weakens(&self) -> Vec<String> {
        match &self.on {
            Ground::Folder(folder) => {
                let filesystem = Disk::of(folder).and_then(|disk| disk.filesystem);
                let in_memory = filesystem.filter(|name| matches!(name.as_str(), "tmpfs" | "ramfs"));
                let words = |name| format!("{name} (it is memory: all is lost when the machine stops)");
                in_memory.map(words).into_iter().collect()
            }
            Ground::Filesystem(filesystem) => {
                let has_none = matches!(filesystem.kind, Kind::Ext4 { journal: Some(false), .. });
                let journal = has_none.then(|| "ext4 without a journal (a crash can damage it)".to_owned());
                let known = |option: &str| {
                    let (_, what) = WEAKENING.iter().find(|(name, _)| *name == option)?;
                    Some(format!("{option} ({what})"))
                };
                journal.into_iter().chain(filesystem.options().filter_map(known)).collect()
            }
        }
    }

    /// Whether it is made, and removed with its server.
    #[must_use]
    pub fn is_made(&self) -> bool {
        matches!(self.on, Ground::Filesystem(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_is_said() {
        let of = |kind, mount_options: &str| Filesystem {
            kind,
            size_bytes: 1 << 30,
            mount_options: mount_options.into(),
        };
        let cases = [
            (of(Kind::Ext4 { block_size_bytes: None, journal: None }, ""), false, "ext4"),
            (
                of(Kind::Ext4 { block_size_bytes: Some(1024), journal: Some(false) }, "noatime, nobarrier"),
                false,
                "ext4, blocks of 1k, no journal, noatime, nobarrier",
            ),
            (of(Kind::Xfs { reflink: Some(true) }, ""), false, "xfs, reflink"),
            (
                of(Kind::Btrfs { compression: Some("zstd:3".into()), nodatacow: None }, ""),
                false,
                "btrfs, compression zstd:3",
            ),
            (
                of(Kind::Zfs { recordsize_bytes: Some(8192), compression: Some("lzjb".into()) }, ""),
                true,
                "zfs (zfs-fuse), recordsize 8k, compression lzjb (not representative of kernel ZFS)",
            ),
            (
                of(Kind::Zfs { recordsize_bytes: Some(1 << 20), compression: None }, "atime=off"),
                false,
                "zfs, recordsize 1M, atime=off",
            ),
        ];
        for (filesystem, by_fuse, wanted) in cases {
            assert_eq!(label(&filesystem, by_fuse), wanted);
        }
    }

    #[test]
    fn what_weakens_crash_safety_is_named() {
        let made = |kind, mount_options: &str| Storage {
            holds: Holds::Data,
            on: Ground::Filesystem(Filesystem {
                kind,
                size_bytes: 1 << 30,
                mount_options: mount_options.into(),
            }),
        };
        let ext4 = |journal| Kind::Ext4 { block_size_bytes: None, journal };
        assert!(made(ext4(None), "noatime").weakens().is_empty());
        let weak = made(ext4(Some(false)), "noatime,nobarrier").weakens();
        let wanted = [
            "ext4 without a journal (a crash can damage it)",
            "nobarrier (a power failure loses what was synced)",
        ];
        assert_eq!(weak, wanted);
        assert!(made(Kind::Xfs { reflink: None }, "").weakens().is_empty());
    }
}
