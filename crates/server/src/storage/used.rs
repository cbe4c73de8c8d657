//! Measures the size of files on their storage.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use spec::{Class, Error};

use super::error::{failed, of_file, tool_failed, unavailable};
use super::journal::StorageJournal;
use super::mounted::Mounted;
use super::tools::Tools;
use super::zfs;
use crate::host::Disk;
use crate::stop::Stop;
use spec::plan::storage::FilesystemKind;

/// Timeout of syncing everything and examining every extent.
const BOUND: Duration = Duration::from_secs(600);
/// Unit of `st_blocks`, bytes, on every filesystem.
const BLOCK: u64 = 512;

/// Size of a server's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    /// Bytes on the disk, after a sync.
    pub disk_bytes: u64,
    /// Bytes without compression, if the filesystem reports them.
    pub uncompressed_bytes: Option<u64>,
    /// The source of the figures, in words.
    pub by: String,
}

impl Used {
    /// How many times larger they would be without compression.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let uncompressed = self.uncompressed_bytes?;
        (self.disk_bytes > 0).then(|| uncompressed as f64 / self.disk_bytes as f64)
    }
}

impl Mounted {
    /// Size of everything on it; on ZFS including metadata.
    ///
    /// # Errors
    /// When it cannot be determined: on btrfs without compsize.
    pub fn used(&self) -> Result<Used, Error> {
        used_by(&self.folder(), Some(self))
    }
}

/// Size of the files in a folder; on a ZFS that we made, of everything there.
pub(crate) fn used_by(folder: &Path, on: Option<&Mounted>) -> Result<Used, Error> {
    write_out(folder).map_err(of_file(folder))?;
    let ends = || Stop::of_process().ends_waits();
    let tools = &Tools::new(&ends);
    let is_btrfs = || Disk::of(folder).and_then(|disk| disk.filesystem).as_deref() == Some("btrfs");
    match on.map(|mounted| (mounted, mounted.kind())) {
        Some((mounted, FilesystemKind::Zfs { .. })) => of_pool(mounted, tools),
        Some((_, FilesystemKind::Btrfs { .. })) => of_btrfs(folder, tools),
        None if is_btrfs() => of_btrfs(folder, tools),
        _ => {
            let disk_bytes = sum(folder, &|file| file.blocks() * BLOCK).map_err(of_file(folder))?;
            Ok(Used { disk_bytes, uncompressed_bytes: None, by: "the files' blocks (st_blocks)".to_owned() })
        }
    }
}

#[cfg(target_os = "linux")]
fn write_out(folder: &Path) -> io::Result<()> {
    rustix::fs::syncfs(File::open(folder)?).map_err(Into::into)
}

#[cfg(not(target_os = "linux"))]
fn write_out(folder: &Path) -> io::Result<()> {
    rustix::fs::sync();
    File::open(folder).map(drop)
}

/// Sum over all files and folders below; a file with several names counts for each. Entries that disappear
/// meanwhile are skipped.
fn sum(folder: &Path, of: &dyn Fn(&Metadata) -> u64) -> io::Result<u64> {
    let mut all = of(&std::fs::symlink_metadata(folder)?);
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let part = match std::fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => sum(&path, of),
            other => other.map(|metadata| of(&metadata)),
        };
        all += match part {
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            other => other?,
        };
    }
    Ok(all)
}

fn of_btrfs(folder: &Path, tools: &Tools<'_>) -> Result<Used, Error> {
    if tools.find("compsize").is_none() {
        let reason = "compsize is missing, and nothing else tells; install btrfs-compsize (Debian, Ubuntu: apt install \
                      btrfs-compsize, or setup/install filesystems)";
        return Err(unavailable("what files take on btrfs", reason));
    }
    let output = match tools.run("compsize", &[Path::new("-b"), Path::new("-x"), folder], BOUND) {
        Ok(output) => output,
        Err(error) if error.class() == Class::Child && error.to_string().contains("No files") => {
            return Ok(compsize(0, 0));
        }
        Err(error) => return Err(error),
    };
    let unknown = || tool_failed("compsize", output.trim().replace('\n', "; "));
    parse_compsize(&output).ok_or_else(unknown)
}

fn compsize(disk_bytes: u64, uncompressed: u64) -> Used {
    Used { disk_bytes, uncompressed_bytes: Some(uncompressed), by: "compsize".to_owned() }
}

/// `TOTAL 41% 425984 1048576 1048576`: percent, on the disk, uncompressed, referenced.
fn parse_compsize(output: &str) -> Option<Used> {
    let total = output.lines().find_map(|line| line.strip_prefix("TOTAL"))?;
    let mut figures = total.split_whitespace().skip(1).map(str::parse);
    Some(compsize(figures.next()?.ok()?, figures.next()?.ok()?))
}

fn of_pool(mounted: &Mounted, tools: &Tools<'_>) -> Result<Used, Error> {
    if mounted.made().servers().len() > 1 {
        let reason = "several servers share one pool, which reports only their total";
        return Err(unavailable("what the files of one server take", reason));
    }
    let gone = || failed("its pool is not known any more".to_owned());
    let pool = StorageJournal::read(mounted.made()).and_then(|journal| journal.pool).ok_or_else(gone)?;
    // Not every ZFS has a command to sync everything; changing a property waits until it is.
    let now = uuid::Uuid::new_v4();
    tools.run("zfs", &["set", &format!("pgdyno:looked={now}"), &pool], BOUND)?;
    let get = |properties: &str| {
        tools.run("zfs", &["get", "-Hp", "-o", "property,value", properties, &pool], zfs::BOUND)
    };
    // zfs-fuse has no logicalused, and its compressratio excludes the loss by rounding up to whole sectors.
    if let Ok(output) = get("used,logicalused")
        && let Some((disk_bytes, uncompressed)) = value(&output, "used").zip(value(&output, "logicalused"))
    {
        let by = "zfs get used, logicalused".to_owned();
        return Ok(Used { disk_bytes, uncompressed_bytes: Some(uncompressed), by });
    }
    let output = get("used")?;
    let unknown = || tool_failed("zfs get", output.trim().replace('\n', "; "));
    let disk_bytes = value(&output, "used").ok_or_else(unknown)?;
    let folder = mounted.folder();
    let length = sum(&folder, &|file| file.len()).map_err(of_file(&folder))?;
    let by = "zfs get used; uncompressed: the lengths of the files".to_owned();
    Ok(Used { disk_bytes, uncompressed_bytes: Some(length), by })
}

/// A property in the output of `zfs get`.
fn value(output: &str, property: &str) -> Option<u64> {
    let of = |line: &str| line.split_once('\t').filter(|(key, _)| *key == property)?.1.trim().parse().ok();
    output.lines().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_tell_is_read() {
        let output = "Processed 3 files, 8 regular extents (8 refs), 0 inline.\n\
                    Type       Perc     Disk Usage   Uncompressed Referenced  \n\
                    TOTAL       41%          425984     1048576     1048576     \n\
                    zstd        41%          425984     1048576     1048576     \n";
        let used = parse_compsize(output).unwrap();
        assert_eq!((used.disk_bytes, used.uncompressed_bytes), (425_984, Some(1_048_576)));
        assert_eq!(used.ratio().map(|ratio| (ratio * 100.0).round()), Some(246.0));
        assert_eq!(parse_compsize("no such thing"), None);

        let output = "used\t1000\nlogicalused\t3000\n";
        assert_eq!((value(output, "used"), value(output, "logicalused")), (Some(1000), Some(3000)));
        assert_eq!((value("used\t-\n", "used"), value(output, "else")), (None, None));
    }

    #[test]
    fn holes_take_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let sparse = File::create(folder.path().join("sparse")).unwrap();
        sparse.set_len(1 << 30).unwrap();
        std::fs::write(folder.path().join("full"), vec![7; 1 << 20]).unwrap();
        let used = used_by(folder.path(), None).unwrap();
        assert!(used.disk_bytes >= 1 << 20 && used.disk_bytes < 2 << 20, "{used:?}");
    }
}
