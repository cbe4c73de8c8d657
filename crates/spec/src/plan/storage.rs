//! Storage of a server's files, as plain data: a folder, or a filesystem made for it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which files of a server are on which storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    pub holds: Holds,
    pub on: StorageLocation,
}

/// Which files of a server; the others stay in their usual place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// All files.
    #[default]
    Data,
    /// The databases; WAL and catalogs stay.
    Tablespace,
    /// The write-ahead log.
    Wal,
}

/// The storage of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StorageLocation {
    /// An existing folder, on any mount. Files are in a subfolder made by pgdyno.
    Folder(PathBuf),
    /// A filesystem on a loop device: made, mounted, used, unmounted and removed with its data.
    Filesystem(Filesystem),
}

/// A filesystem to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    pub kind: FilesystemKind,
    /// Bytes of the device; its file is sparse.
    pub size_bytes: u64,
    /// Further options of `mount`, or properties of a ZFS dataset (`atime=off`), separated by commas; may be
    /// empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mount_options: String,
}

/// A kind of filesystem; `None` is the default of its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FilesystemKind {
    Ext4 {
        /// 1024, 2048 or 4096.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block_size_bytes: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        journal: Option<bool>,
    },
    Xfs {
        /// Whether blocks can be shared.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reflink: Option<bool>,
    },
    Btrfs {
        /// As in `mount -o compress-force=`: `zstd`, `zstd:9`, `lzo`, `zlib:3`; `None`: no compression.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compression: Option<String>,
        /// Whether files are overwritten in place (`chattr +C`), without compression.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodatacow: Option<bool>,
    },
    Zfs {
        /// 512 to 1 MiB, a power of two.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recordsize_bytes: Option<u64>,
        /// As in `zfs set compression=`: `off`, `lz4`, `lzjb`, `gzip-1`, `zstd`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compression: Option<String>,
    },
}

impl FilesystemKind {
    /// The name that the kernel uses.
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

impl Filesystem {
    /// The filesystem as text: `zfs (zfs-fuse), recordsize 8k, compression lzjb (says nothing about kernel
    /// ZFS)`.
    #[must_use]
    pub fn words(&self, by_fuse: bool) -> String {
        let fuse = if by_fuse { " (zfs-fuse)" } else { "" };
        let mut parts = vec![format!("{}{fuse}", self.kind.name())];
        parts.extend(self.kind.options());
        parts.extend(self.options().map(str::to_owned));
        let caution = if by_fuse { " (says nothing about kernel ZFS)" } else { "" };
        parts.join(", ") + caution
    }

    /// Its mount options, or properties.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        self.mount_options.split(',').map(str::trim).filter(|option| !option.is_empty())
    }
}

impl Storage {
    /// The storage as text: "its log on xfs".
    #[must_use]
    pub fn words(&self) -> String {
        let what = match self.holds {
            Holds::Data => "all its files",
            Holds::Tablespace => "its databases",
            Holds::Wal => "its write-ahead log",
        };
        match &self.on {
            StorageLocation::Folder(folder) => format!("{what} in {}", folder.display()),
            StorageLocation::Filesystem(filesystem) => {
                format!("{what} on {}, made for it", filesystem.words(false))
            }
        }
    }

    /// Whether it is made by pgdyno, and removed with its server.
    #[must_use]
    pub fn is_made(&self) -> bool {
        matches!(self.on, StorageLocation::Filesystem(_))
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
            (of(FilesystemKind::Ext4 { block_size_bytes: None, journal: None }, ""), false, "ext4"),
            (
                of(
                    FilesystemKind::Ext4 { block_size_bytes: Some(1024), journal: Some(false) },
                    "noatime, nobarrier",
                ),
                false,
                "ext4, blocks of 1k, no journal, noatime, nobarrier",
            ),
            (of(FilesystemKind::Xfs { reflink: Some(true) }, ""), false, "xfs, reflink"),
            (
                of(FilesystemKind::Btrfs { compression: Some("zstd:3".into()), nodatacow: None }, ""),
                false,
                "btrfs, compression zstd:3",
            ),
            (
                of(
                    FilesystemKind::Zfs { recordsize_bytes: Some(8192), compression: Some("lzjb".into()) },
                    "",
                ),
                true,
                "zfs (zfs-fuse), recordsize 8k, compression lzjb (says nothing about kernel ZFS)",
            ),
            (
                of(FilesystemKind::Zfs { recordsize_bytes: Some(1 << 20), compression: None }, "atime=off"),
                false,
                "zfs, recordsize 1M, atime=off",
            ),
        ];
        for (filesystem, by_fuse, wanted) in cases {
            assert_eq!(filesystem.words(by_fuse), wanted);
        }
    }
}
