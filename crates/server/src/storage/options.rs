//! What a server's files shall stand on, as plain data: a folder, or a filesystem that is made for it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which files of a server stand on what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Which of its files.
    pub holds: Holds,
    /// What they stand on.
    pub on: Ground,
}

/// Which files of a server; the others stay where they are without storage of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// All: the data folder.
    #[default]
    Data,
    /// The databases: a tablespace that they are made in. Log and catalogs that databases share stay.
    Tablespace,
    /// The write-ahead log.
    Wal,
}

/// What files stand on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    /// A folder that is there, on whatever it is mounted from. Files stand in a folder of ours within.
    Folder(PathBuf),
    /// A filesystem on a loop device: made, mounted, used, unmounted and removed with its data.
    Filesystem(Filesystem),
}

/// A filesystem to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// Which, with its options.
    pub kind: Kind,
    /// Bytes of the device; its file is sparse.
    pub size_bytes: u64,
    /// Further options of `mount`, or properties of a ZFS dataset (`atime=off`), separated by commas; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mount_options: String,
}

/// A kind of filesystem; what is not said is the default of its tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
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
        /// As `mount -o compress-force=` takes it: `zstd`, `zstd:9`, `lzo`, `zlib:3`; `None` for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compression: Option<String>,
        /// Whether files are overwritten in place (`chattr +C`); then nothing is compressed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodatacow: Option<bool>,
    },
    Zfs {
        /// 512 to 1 MiB, a power of two.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recordsize_bytes: Option<u64>,
        /// As `zfs set compression=` takes it: `off`, `lz4`, `lzjb`, `gzip-1`, `zstd`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compression: Option<String>,
    },
}
