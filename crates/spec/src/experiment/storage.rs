//! Tables `[storage.NAME]`: the storage of a managed server's files.

use crate::plan::storage::{Filesystem, FilesystemKind, Holds, Storage, StorageLocation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::size::{Size, words};

/// Default size of a new filesystem, bytes; its file takes only what is written.
const USUAL_SIZE: u64 = 4 << 30;
/// The least that every kind can be made with, and an upper bound against typing errors, bytes.
const SIZES: (u64, u64) = (300 << 20, 64 << 40);
const RECORDS: (u64, u64) = (512, 1 << 20);

/// Storage of a managed server: a folder, or a filesystem made for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StorageTable {
    /// An existing folder on the disk to measure. Required without `filesystem`.
    pub path: Option<String>,
    /// Make this filesystem on a loop device, and remove it with its data at the end. Needs root.
    filesystem: Option<Name>,
    /// 300 MB to 64 TB. Its file takes only what is written.
    #[schemars(extend("default" = "4GB"))]
    size: Option<Size>,
    /// Further options of `mount`, such as `"noatime"`; properties of the dataset for ZFS.
    mount_options: Option<String>,
    /// Which files it holds.
    holds: Holds,
    /// Ext4: `"1k"`, `"2k"` or `"4k"`.
    block_size: Option<Size>,
    /// Ext4: with or without a journal.
    journal: Option<bool>,
    /// Xfs: with or without reflinks.
    reflink: Option<bool>,
    /// Btrfs: `"zstd"`, `"zstd:9"`, `"lzo"`, `"zlib:3"`, `"off"`; ZFS: `"off"`, `"lz4"`, `"gzip-1"`, `"zstd"`.
    compression: Option<String>,
    /// Btrfs: overwrite files in place.
    nodatacow: Option<bool>,
    /// ZFS: `"512B"` to `"1M"`, a power of two.
    recordsize: Option<Size>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Name {
    Ext4,
    Xfs,
    Btrfs,
    Zfs,
}

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Zfs => "zfs",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Ext4 => &["block_size", "journal"],
            Self::Xfs => &["reflink"],
            Self::Btrfs => &["compression", "nodatacow"],
            Self::Zfs => &["recordsize", "compression"],
        }
    }
}

impl StorageTable {
    /// The storage, with variables of a folder replaced. On error, the key and the reason; advice is on a
    /// separate line.
    pub fn read(&self, folder: Option<std::path::PathBuf>) -> Result<Storage, (&'static str, String)> {
        let on = match (folder, self.filesystem) {
            (Some(folder), None) => {
                self.has_no_options_but(&[], "a folder")?;
                if self.holds == Holds::Tablespace && folder.to_string_lossy().contains('\'') {
                    let message = "must be without quotes (')\nPostgreSQL takes no tablespace there; name another folder";
                    return Err(("path", message.to_owned()));
                }
                StorageLocation::Folder(folder)
            }
            (None, Some(name)) => StorageLocation::Filesystem(self.filesystem(name)?),
            (Some(_), Some(_)) => {
                let message = "cannot be combined with `path`\na storage is a folder, or a filesystem that is made for it";
                return Err(("filesystem", message.to_owned()));
            }
            (None, None) => {
                let message = "needs `path` or `filesystem`\npath = \"/mnt/ssd\", or filesystem = \"ext4\"";
                return Err(("", message.to_owned()));
            }
        };
        Ok(Storage { holds: self.holds, on })
    }

    fn filesystem(&self, name: Name) -> Result<Filesystem, (&'static str, String)> {
        self.has_no_options_but(name.options(), name.text())?;
        let within = |key, written: Option<Size>, (least, most): (u64, u64)| match written {
            Some(Size(bytes)) if !(least..=most).contains(&bytes) => {
                Err((key, format!("must be from {} to {}", words(least), words(most))))
            }
            _ => Ok(written.map(|Size(bytes)| bytes)),
        };
        let size_bytes = within("size", self.size, SIZES)?.unwrap_or(USUAL_SIZE);
        let kind = match name {
            Name::Ext4 => {
                let block_size_bytes = within("block_size", self.block_size, (1 << 10, 4 << 10))?;
                power_of_two("block_size", block_size_bytes)?;
                FilesystemKind::Ext4 { block_size_bytes, journal: self.journal }
            }
            Name::Xfs => FilesystemKind::Xfs { reflink: self.reflink },
            Name::Btrfs => {
                let compression = self.compression.clone().filter(|compression| compression != "off");
                if compression.is_some() && self.nodatacow == Some(true) {
                    let message = "cannot be combined with `compression`\nwhat is overwritten in place is not compressed";
                    return Err(("nodatacow", message.to_owned()));
                }
                FilesystemKind::Btrfs { compression, nodatacow: self.nodatacow }
            }
            Name::Zfs => {
                let recordsize_bytes = within("recordsize", self.recordsize, RECORDS)?;
                power_of_two("recordsize", recordsize_bytes)?;
                FilesystemKind::Zfs { recordsize_bytes, compression: self.compression.clone() }
            }
        };
        // They become words of a command line.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=,.:@/".contains(c);
        let texts = [("compression", &self.compression), ("mount_options", &self.mount_options)];
        for (key, text) in texts {
            if text.as_ref().is_some_and(|text| text.is_empty() || !text.chars().all(plain)) {
                return Err((key, "must be letters, digits and -_=,.:@/ alone".to_owned()));
            }
        }
        let mount_options = self.mount_options.clone().unwrap_or_default();
        if let Some(option) = mount_options.split(',').map(str::trim).find(|option| reaches_beyond(option)) {
            let why = "root mounts it, and this option reaches beyond the filesystem; leave it out";
            return Err(("mount_options", format!("cannot have {option}: {why}")));
        }
        Ok(Filesystem { kind, size_bytes, mount_options })
    }

    /// Checks that only options of this kind of storage are set.
    fn has_no_options_but(&self, own: &[&str], what: &str) -> Result<(), (&'static str, String)> {
        let of_a_filesystem = [
            ("block_size", self.block_size.is_some()),
            ("journal", self.journal.is_some()),
            ("reflink", self.reflink.is_some()),
            ("compression", self.compression.is_some()),
            ("nodatacow", self.nodatacow.is_some()),
            ("recordsize", self.recordsize.is_some()),
        ];
        let made = [("size", self.size.is_some()), ("mount_options", self.mount_options.is_some())];
        let made = made.into_iter().filter(|_| own.is_empty());
        let wrong = of_a_filesystem.into_iter().chain(made).find(|(key, said)| *said && !own.contains(key));
        match wrong {
            Some((key, _)) => {
                let hint = if own.is_empty() { "none".to_owned() } else { own.join(", ") };
                Err((key, format!("is not an option of {what}\nits options: {hint}")))
            }
            None => Ok(()),
        }
    }
}

/// Whether an option says where or from what to mount, names another device or program, shares the mount, or
/// allows set-uid programs or devices.
fn reaches_beyond(option: &str) -> bool {
    const WHOLE: [&str; 22] = [
        "remount",
        "bind",
        "rbind",
        "move",
        "loop",
        "offset",
        "sizelimit",
        "helper",
        "suid",
        "dev",
        "setuid",
        "devices",
        "device",
        "logdev",
        "rtdev",
        "journal_path",
        "journal_dev",
        "user",
        "users",
        "owner",
        "group",
        "defaults",
    ];
    const BEGINNINGS: [&str; 5] = ["canmount", "mountpoint", "share", "x-", "uhelper"];
    let option = option.to_ascii_lowercase();
    let name = option.split('=').next().unwrap_or_default();
    option.contains('/') || WHOLE.contains(&name) || BEGINNINGS.iter().any(|it| name.starts_with(it))
}

fn power_of_two(key: &'static str, bytes: Option<u64>) -> Result<(), (&'static str, String)> {
    match bytes {
        Some(bytes) if !bytes.is_power_of_two() => Err((key, "must be a power of two".to_owned())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Storage, String> {
        let written: StorageTable = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let folder = written.path.clone().map(Into::into);
        written.read(folder).map_err(|(key, why)| format!("{key} {why}"))
    }

    /// Root mounts a file that another user describes.
    #[test]
    fn mount_options_that_reach_beyond_the_filesystem_are_refused() {
        for fine in ["noatime", "commit=30", "discard=async", "atime=off", "logbufs=8"] {
            assert!(!reaches_beyond(fine), "{fine}");
        }
        for beyond in [
            "suid",
            "DEV",
            "mountpoint=x",
            "sharenfs=on",
            "logdev=sda1",
            "x=/etc",
            "X-mount.mkdir",
            "remount",
        ] {
            assert!(reaches_beyond(beyond), "{beyond}");
        }
    }

    #[test]
    fn a_filesystem_has_its_own_options() {
        let zfs = read("filesystem = \"zfs\"\nrecordsize = \"8k\"\ncompression = \"lzjb\"").unwrap();
        let kind = FilesystemKind::Zfs { recordsize_bytes: Some(8192), compression: Some("lzjb".to_owned()) };
        let made = Filesystem { kind, size_bytes: USUAL_SIZE, mount_options: String::new() };
        assert_eq!(zfs, Storage { holds: Holds::Data, on: StorageLocation::Filesystem(made) });
        assert_eq!(
            read("path = \"/mnt/ssd\"\nholds = \"wal\"").unwrap(),
            Storage { holds: Holds::Wal, on: StorageLocation::Folder("/mnt/ssd".into()) }
        );
    }

    #[test]
    fn what_cannot_be_is_said() {
        let cases = [
            (
                "filesystem = \"ext4\"\nrecordsize = \"8k\"",
                "recordsize is not an option of ext4\nits options: block_size, journal",
            ),
            ("path = \"/x\"\nsize = \"1GB\"", "size is not an option of a folder\nits options: none"),
            ("path = \"/x\"\nfilesystem = \"xfs\"", "filesystem cannot be combined with `path`"),
            ("holds = \"wal\"", " needs `path` or `filesystem`"),
            ("filesystem = \"zfs\"\nrecordsize = \"9k\"", "recordsize must be a power of two"),
            ("filesystem = \"xfs\"\nsize = \"1MB\"", "size must be from 300M to 64T"),
            (
                "filesystem = \"btrfs\"\ncompression = \"zstd\"\nnodatacow = true",
                "nodatacow cannot be combined with",
            ),
            ("filesystem = \"ntfs\"", "unknown variant `ntfs`"),
            ("filesystem = \"btrfs\"\ncompression = \"a b\"", "compression must be letters"),
            (
                "filesystem = \"zfs\"\nmount_options = \"atime=off,canmount=off\"",
                "mount_options cannot have canmount=off",
            ),
        ];
        for (text, wanted) in cases {
            let told = read(text).unwrap_err();
            assert!(told.contains(wanted), "{text}: {told}");
        }
    }
}
