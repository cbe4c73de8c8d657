//! Checks whether storage is available here, without making anything permanent.

use std::path::Path;
use std::time::Duration;

use spec::Error;
use spec::plan::storage::{Filesystem, FilesystemKind, StorageLocation};

use super::error::unavailable;
use super::made::MadeFolder;
use super::tools::Tools;
use super::zfs::{self, By};
use crate::child::Account;
use crate::home::Home;
use crate::host::Disk;

/// Timeout of the check.
const BOUND: Duration = Duration::from_secs(10);
/// Space that stays free on the disk in addition to the image, bytes.
const LEFT_FREE: u64 = 64 << 20;

/// A storage that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Available {
    label: String,
}

impl Available {
    /// In words: `btrfs, compression zstd:3`, `folder /mnt/ssd (ext4)`.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }
}

/// Checks that servers' files can be stored on it here, with pgdyno's usual home.
///
/// # Errors
/// What is missing, and what to try.
pub fn available(location: &StorageLocation) -> Result<Available, Error> {
    let home = Home::locate().map_err(|error| unavailable("storage", error.to_string()))?;
    available_below(&home, location)
}

/// As [`available`], with filesystems made in a certain home.
pub fn available_below(home: &Home, location: &StorageLocation) -> Result<Available, Error> {
    let label = match location {
        StorageLocation::Folder(folder) => check_folder(folder),
        StorageLocation::Filesystem(filesystem) => check_filesystem(home, filesystem, &Tools::new(&|| false)),
    };
    label.map(|label| Available { label })
}

fn check_folder(folder: &Path) -> Result<String, Error> {
    let what = format!("folder {}", folder.display());
    let no = |reason: String| unavailable(what.clone(), reason);
    if !folder.is_absolute() {
        return Err(no("say it with its whole path, from /".to_owned()));
    }
    let metadata = folder.metadata().map_err(|error| no(format!("{error}; make it, or mount its disk")))?;
    if !metadata.is_dir() {
        return Err(no("it is not a folder".to_owned()));
    }
    if let Some(account) = Account::unprivileged().map_err(|error| no(error.to_string()))?
        && !account.may_enter(folder)
    {
        return Err(no(format!(
            "user {}, who runs servers, cannot enter it; open it and those above it to that user",
            account.name
        )));
    }
    let rights = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(folder, rights).map_err(|error| no(format!("it cannot be written to: {error}")))?;
    let filesystem =
        Disk::of(folder).and_then(|disk| disk.filesystem).unwrap_or_else(|| "unknown filesystem".to_owned());
    Ok(format!("{what} ({filesystem})"))
}

fn check_filesystem(home: &Home, filesystem: &Filesystem, tools: &Tools<'_>) -> Result<String, Error> {
    let name = filesystem.kind.name();
    check_rights(name)?;
    let by = match &filesystem.kind {
        FilesystemKind::Zfs { .. } => Some(check_zfs(home, &filesystem.kind, tools)?),
        kind => {
            check_tools(name, needed(kind), tools)?;
            check_kernel(name, tools)?;
            check_loop(name, tools)?;
            check_btrfs(kind)?;
            None
        }
    };
    check_room(home, filesystem)?;
    Ok(filesystem.words(by == Some(By::Fuse)))
}

/// Only root can mount, and in some containers not even root.
fn check_rights(name: &str) -> Result<(), Error> {
    if !cfg!(target_os = "linux") {
        return Err(unavailable(name, "filesystems are made on Linux only; name a folder on one instead"));
    }
    if !rustix::process::geteuid().is_root() {
        let reason = "loop devices and mounting need root: run pgdyno with sudo, or name a folder on such a filesystem";
        return Err(unavailable(name, reason));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if may_mount(&status) == Some(false) {
        let reason =
            "root may not mount here (a container without CAP_SYS_ADMIN); name a folder on such a filesystem";
        return Err(unavailable(name, reason));
    }
    Ok(())
}

/// Whether CAP_SYS_ADMIN is among the effective capabilities.
fn may_mount(status: &str) -> Option<bool> {
    const SYS_ADMIN: u32 = 21;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let capabilities = u64::from_str_radix(line.trim(), 16).ok()?;
    Some(capabilities >> SYS_ADMIN & 1 == 1)
}

/// Tools with their Debian packages.
fn needed(kind: &FilesystemKind) -> &'static [(&'static str, &'static str)] {
    const MOUNT: [(&str, &str); 3] = [("mount", "mount"), ("umount", "mount"), ("losetup", "mount")];
    match kind {
        FilesystemKind::Ext4 { .. } => &[("mkfs.ext4", "e2fsprogs"), MOUNT[0], MOUNT[1], MOUNT[2]],
        FilesystemKind::Xfs { .. } => &[("mkfs.xfs", "xfsprogs"), MOUNT[0], MOUNT[1], MOUNT[2]],
        FilesystemKind::Btrfs { .. } => &[("mkfs.btrfs", "btrfs-progs"), MOUNT[0], MOUNT[1], MOUNT[2]],
        FilesystemKind::Zfs { .. } => &[("zpool", "zfs-fuse"), ("zfs", "zfs-fuse"), MOUNT[1]],
    }
}

fn check_tools(name: &str, needed: &[(&str, &str)], tools: &Tools<'_>) -> Result<(), Error> {
    match needed.iter().find(|(tool, _)| tools.find(tool).is_none()) {
        Some((tool, package)) => Err(unavailable(
            name,
            format!(
                "{tool} is missing; install {package} (Debian, Ubuntu: apt install {package}, or setup/install filesystems)"
            ),
        )),
        None => Ok(()),
    }
}

fn check_kernel(name: &str, tools: &Tools<'_>) -> Result<(), Error> {
    let knows = || {
        let all = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        all.lines().any(|line| line.trim() == name)
    };
    if !knows() && tools.find("modprobe").is_some() {
        // The result is checked next.
        let _ = tools.run("modprobe", &["-q", name], BOUND);
    }
    if knows() {
        return Ok(());
    }
    Err(unavailable(
        name,
        format!("this kernel does not know it (/proc/filesystems); try modprobe {name}, or another kernel"),
    ))
}

fn check_loop(name: &str, tools: &Tools<'_>) -> Result<(), Error> {
    tools.run("losetup", &["--find"], BOUND).map(drop).map_err(|error| {
        let reason = format!(
            "no loop device is available ({error}); a container needs /dev/loop-control and /dev/loop*"
        );
        unavailable(name, reason)
    })
}

/// The kernel's list of features has the compression once btrfs is loaded; levels come from its
/// documentation.
fn check_btrfs(kind: &FilesystemKind) -> Result<(), Error> {
    let FilesystemKind::Btrfs { compression: Some(compression), nodatacow } = kind else { return Ok(()) };
    let no = |reason: String| Err(unavailable("btrfs", reason));
    if *nodatacow == Some(true) {
        return no("with nodatacow nothing is compressed; ask for one of them".to_owned());
    }
    let (way, level) =
        compression.split_once(':').map_or((compression.as_str(), None), |(way, level)| (way, Some(level)));
    let most = match way {
        "zlib" => 9,
        "lzo" => 0,
        "zstd" => 15,
        _ => {
            return no(format!(
                "it does not know compression {compression} (it knows lzo, zlib:1 to zlib:9, zstd:1 to zstd:15)"
            ));
        }
    };
    if let Some(level) = level
        && !level.parse().is_ok_and(|level: u32| (1..=most).contains(&level))
    {
        return no(format!("{way} has no level {level} there (lzo has none, zlib 1 to 9, zstd 1 to 15)"));
    }
    let features = Path::new("/sys/fs/btrfs/features");
    if way != "zlib" && features.is_dir() && !features.join(format!("compress_{way}")).exists() {
        return no(format!("this kernel's btrfs does not know compression {way}"));
    }
    Ok(())
}

fn check_zfs(home: &Home, kind: &FilesystemKind, tools: &Tools<'_>) -> Result<By, Error> {
    let by = zfs::by(tools);
    check_tools("zfs", needed(kind), tools)?;
    if by == By::Fuse {
        let why = "the kernel has no ZFS, and zfs-fuse is missing; install zfs-fuse (Debian: apt install zfs-fuse, or setup/install \
                   filesystems), or the kernel's module (package zfs-dkms)";
        tools.find("zfs-fuse").map(drop).ok_or_else(|| unavailable("zfs", why))?;
        zfs::daemon_can_be_had(home)?;
    }
    zfs::check_properties(by, kind, tools)?;
    Ok(by)
}

fn check_room(home: &Home, filesystem: &Filesystem) -> Result<(), Error> {
    let there = home.folder().ancestors().find(|above| above.exists()).unwrap_or(home.folder());
    let Some(free) = Disk::of(there).map(|disk| disk.free_bytes) else { return Ok(()) };
    if filesystem.size_bytes.saturating_add(LEFT_FREE) <= free {
        return Ok(());
    }
    Err(unavailable(
        filesystem.kind.name(),
        format!(
            "its {} do not fit into the {} that are free under {}; ask for a smaller one, or set PGDYNO_HOME to a \
             folder on another disk",
            spec::bytes(filesystem.size_bytes),
            spec::bytes(free),
            there.display()
        ),
    ))
}

/// Warns that mounted filesystems of a home may grow beyond the free space of its disk; `None` where they
/// cannot. Their files take only what is written, so each of them may have fitted when it was made.
#[must_use]
pub fn overcommitted(home: &Home) -> Option<String> {
    let free = Disk::of(home.folder())?.free_bytes;
    let may_grow: u64 = MadeFolder::all(home).iter().map(MadeFolder::may_grow_bytes).sum();
    (may_grow.saturating_add(LEFT_FREE) > free).then(|| {
        format!(
            "the filesystems that were made may grow by {} in all, and {} are free under {}: should they fill it, their servers \
             see input/output errors; smaller ones: size = \"…\" in [storage.NAME]",
            spec::bytes(may_grow),
            spec::bytes(free),
            home.folder().display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_read_as_the_kernel_says_them() {
        assert_eq!(may_mount("Name:\tx\nCapEff:\t000001fffeffffff\n"), Some(true));
        assert_eq!(may_mount("CapEff:\t00000000a80425fb\n"), Some(false), "an ordinary container");
        assert_eq!(may_mount(""), None);
    }

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        let none = Tools::within(vec![]);
        let kinds = [
            (
                FilesystemKind::Ext4 { block_size_bytes: None, journal: None },
                "mkfs.ext4 is missing; install e2fsprogs",
            ),
            (FilesystemKind::Xfs { reflink: None }, "mkfs.xfs is missing; install xfsprogs"),
            (
                FilesystemKind::Btrfs { compression: None, nodatacow: None },
                "mkfs.btrfs is missing; install btrfs-progs",
            ),
            (
                FilesystemKind::Zfs { recordsize_bytes: None, compression: None },
                "zpool is missing; install zfs-fuse",
            ),
        ];
        for (kind, wanted) in kinds {
            let message = check_tools(kind.name(), needed(&kind), &none).unwrap_err().to_string();
            assert!(message.contains(wanted), "{message}");
        }
        assert!(check_loop("ext4", &none).unwrap_err().to_string().contains("/dev/loop-control"));
    }

    #[test]
    fn compression_that_btrfs_does_not_know_is_refused() {
        let btrfs = |compression: &str, nodatacow| FilesystemKind::Btrfs {
            compression: Some(compression.into()),
            nodatacow,
        };
        for (kind, fits) in [
            (btrfs("zstd:15", None), true),
            (btrfs("zlib", None), true),
            (btrfs("zstd:16", None), false),
            (btrfs("lzo:1", None), false),
            (btrfs("lz4", None), false),
            (btrfs("zstd", Some(true)), false),
        ] {
            assert_eq!(check_btrfs(&kind).is_ok(), fits, "{kind:?}");
        }
    }

    #[test]
    fn folders_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &Path| {
            available_below(&Home::at(folder.path()), &StorageLocation::Folder(path.to_owned()))
        };
        let message = at(&folder.path().join("none")).unwrap_err().to_string();
        assert!(
            message.starts_with("folder ") && message.contains("make it, or mount its disk"),
            "{message}"
        );
        assert!(at(Path::new("x")).unwrap_err().to_string().contains("whole path"));
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(at(&folder.path().join("file")).unwrap_err().to_string().contains("not a folder"));
        let open = Path::new("/tmp");
        assert!(at(open).unwrap().label().starts_with("folder /tmp ("));
        if rustix::process::geteuid().is_root() {
            use std::os::unix::fs::PermissionsExt;
            let closed = std::fs::Permissions::from_mode(0o700);
            std::fs::set_permissions(folder.path(), closed).unwrap();
            assert!(at(folder.path()).unwrap_err().to_string().contains("cannot enter"));
        }
    }
}
