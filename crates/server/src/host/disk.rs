//! The disk of a folder.

use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The disk of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// `ext4`, `overlay`, ..., if known.
    pub filesystem: Option<String>,
    /// Device or source of the mount, if known.
    pub source: Option<String>,
    /// Mount options, if known.
    pub options: Option<String>,
    /// Whether it is a spinning disk, if known.
    pub rotational: Option<bool>,
    /// Free bytes for an unprivileged user.
    pub free_bytes: u64,
    pub total_bytes: u64,
}

/// One line of `/proc/self/mountinfo`; procfs leaves names escaped, and loses the order of options.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    device: String,
    point: PathBuf,
    filesystem: String,
    source: String,
    options: String,
}

impl Disk {
    /// The disk of an existing folder; `None` when it cannot be examined.
    #[must_use]
    pub fn of(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let space = rustix::fs::statvfs(&folder).ok()?;
        let mounts = read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = mount_of(&mounts, &folder);
        Some(Self {
            rotational: mount.as_ref().and_then(|mount| rotational(&mount.device)),
            filesystem: mount.as_ref().map(|mount| mount.filesystem.clone()),
            source: mount.as_ref().map(|mount| mount.source.clone()),
            options: mount.map(|mount| mount.options),
            free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
            total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
        })
    }

    /// As facts of a host, with the prefix `disk`.
    #[must_use]
    pub fn facts(&self) -> BTreeMap<String, String> {
        let spin = self.rotational.map(|spins| if spins { "yes" } else { "no" }.to_owned());
        let facts = [
            ("disk_filesystem", self.filesystem.clone()),
            ("disk_source", self.source.clone()),
            ("disk_options", self.options.clone()),
            ("disk_rotational", spin),
            ("disk_free_bytes", Some(self.free_bytes.to_string())),
            ("disk_total_bytes", Some(self.total_bytes.to_string())),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// Whether something is mounted at this path, which must contain no link. It does not wait for the mounted
/// filesystem.
pub(crate) fn is_mounted(path: &Path) -> bool {
    let mounts = read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().filter_map(parse_mount).any(|mount| mount.point == path)
}

/// The mount that holds a path: the longest mount point above it, and of several the last.
fn mount_of(mountinfo: &str, folder: &Path) -> Option<Mount> {
    mountinfo
        .lines()
        .filter_map(parse_mount)
        .filter(|mount| folder.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// `id parent device root point options tags... - filesystem source super-options`
fn parse_mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let left: Vec<&str> = left.split(' ').collect();
    let mut right = right.splitn(3, ' ');
    Some(Mount {
        device: (*left.get(2)?).to_owned(),
        point: PathBuf::from(unescape(left.get(4)?)),
        options: (*left.get(5)?).to_owned(),
        filesystem: right.next()?.to_owned(),
        source: unescape(right.next()?),
    })
}

/// Decodes `\ooo`, which the kernel writes for blanks, tabs, line ends and backslashes.
fn unescape(text: &str) -> String {
    let mut plain = text.to_owned();
    for (code, character) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(code, character);
    }
    plain
}

fn rotational(device: &str) -> Option<bool> {
    let block = PathBuf::from("/sys/dev/block").join(device).canonicalize().ok()?;
    // A partition has no queue; its disk, one folder up, has.
    let file = [block.join("queue/rotational"), block.parent()?.join("queue/rotational")];
    let text = file.iter().find_map(|path| read_to_string(path).ok())?;
    Some(text.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 0:20 / / rw,relatime - overlay overlay rw,lowerdir=/a
30 22 8:1 / /data rw,noatime shared:1 - ext4 /dev/sda1 rw
31 30 8:2 / /data/big\\040disk rw - xfs /dev/sdb1 rw
";

    #[test]
    fn the_nearest_mount_holds_a_folder() {
        let cases =
            [("/etc", "overlay"), ("/data/x", "ext4"), ("/data/big disk/y", "xfs"), ("/database", "overlay")];
        for (folder, wanted) in cases {
            assert_eq!(mount_of(MOUNTS, Path::new(folder)).unwrap().filesystem, wanted, "{folder}");
        }
        assert_eq!(mount_of("garbage\n- -\n", Path::new("/")), None);
    }

    #[test]
    fn a_real_folder_has_a_disk() {
        let disk = Disk::of(&std::env::temp_dir()).unwrap();
        assert!(disk.total_bytes >= disk.free_bytes && disk.total_bytes > 0);
        assert_eq!(Disk::of(Path::new("/no/such/folder")), None);
    }
}
