//! What of a stopped server's files stands in this machine's page cache: looked at, dropped, read in.
//!
//! Nothing below the page cache is dropped: the cache of a disk, of a storage array, or of the host of a virtual machine.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;
pub(crate) use system::drop_file;

use rustix::fs::{Mode, OFlags};

use crate::stop::Stop;

/// Why it could not be dropped, or read in.
#[derive(Debug, thiserror::Error)]
pub enum PageCacheError {
    /// This system or this folder keeps it.
    #[error("the page cache cannot be dropped: {0}")]
    Kept(String),
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was attempted.
        doing: &'static str,
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    #[error("stopped")]
    Stopped,
}

/// How it was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// That of the whole machine, by `/proc/sys/vm/drop_caches`.
    Machine,
    /// That of the server's files, by `posix_fadvise`.
    Files,
}

impl Way {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Machine => "the machine's page cache was dropped (drop_caches)",
            Self::Files => "the server's files were dropped from the page cache (posix_fadvise)",
        }
    }
}

/// How much of a server's files stands in the page cache, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resident {
    pub cached: u64,
    /// Of how much.
    pub all: u64,
}

impl Resident {
    /// Percent; all of nothing where there is nothing.
    #[must_use]
    pub fn pct(self) -> f64 {
        if self.all == 0 { 100.0 } else { self.cached as f64 * 100.0 / self.all as f64 }
    }
}

/// Whether the page cache of files in this folder (or in the nearest one above that is there) can be dropped at all.
///
/// # Errors
/// [`PageCacheError::Kept`], with the reason.
pub fn can_drop(folder: &Path) -> Result<(), PageCacheError> {
    let there = folder.ancestors().find(|above| above.exists()).unwrap_or(folder);
    system::kept(there).map_or(Ok(()), |why| Err(PageCacheError::Kept(why)))
}

/// Writes a stopped server's files to the disk and drops them from the page cache; what of them is still there is looked at.
/// Whether they can be dropped at all is asked before, with [`can_drop`].
///
/// # Errors
/// [`PageCacheError`]; what was dropped by then stays so.
pub fn drop_files(data: &Path, stop: &Stop) -> Result<(Way, Resident), PageCacheError> {
    let files = files(data)?;
    drop_each(&files, stop)?;
    let way = if system::drop_machine() { Way::Machine } else { Way::Files };
    Ok((way, resident(&files, stop)?))
}

fn drop_each(files: &[PathBuf], stop: &Stop) -> Result<(), PageCacheError> {
    for path in files {
        go_on(stop)?;
        let file = open(path)?;
        // What is dirty is not dropped.
        file.sync_data().map_err(failed("sync", path))?;
        system::drop_file(&file).map_err(failed("drop from the page cache", path))?;
    }
    Ok(())
}

/// Reads a server's files, so that they stand in the page cache as far as memory goes.
///
/// # Errors
/// [`PageCacheError`].
pub fn read_files(data: &Path, stop: &Stop) -> Result<Resident, PageCacheError> {
    let files = files(data)?;
    let mut buffer = vec![0; 1 << 20];
    for path in &files {
        let mut file = open(path)?;
        loop {
            go_on(stop)?;
            if file.read(&mut buffer).map_err(failed("read", path))? == 0 {
                break;
            }
        }
    }
    resident(&files, stop)
}

fn resident(files: &[PathBuf], stop: &Stop) -> Result<Resident, PageCacheError> {
    let mut sum = Resident::default();
    for path in files {
        go_on(stop)?;
        let file = open(path)?;
        let all = file.metadata().map_err(failed("look at", path))?.len();
        // Pages are whole; the last one may hold less.
        sum.cached += system::cached(&file, all).map_err(failed("look at", path))?.min(all);
        sum.all += all;
    }
    Ok(sum)
}

/// All files of a data folder, those of tablespaces and of a linked `pg_wal` too; no other link is followed. What the owner
/// of the folder does not own is not the server's: a superuser of it can make any link.
fn files(data: &Path) -> Result<Vec<PathBuf>, PageCacheError> {
    let owner = std::fs::metadata(data).map_err(failed("read", data))?.uid();
    let mut found = Vec::new();
    let mut folders = vec![data.to_owned()];
    while let Some(folder) = folders.pop() {
        let wrong = || failed("read", &folder);
        for entry in std::fs::read_dir(&folder).map_err(wrong())? {
            let path = entry.map_err(wrong())?.path();
            let is_linked = path == data.join("pg_wal") || folder == data.join("pg_tblspc");
            let kind = match is_linked {
                true => std::fs::metadata(&path),
                false => std::fs::symlink_metadata(&path),
            };
            let kind = kind.map_err(failed("look at", &path))?;
            if kind.uid() != owner {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && kind.len() > 0 {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn open(path: &Path) -> Result<File, PageCacheError> {
    let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, how, Mode::empty()).map_err(io::Error::from);
    file.map(File::from).map_err(failed("open", path))
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PageCacheError {
    move |source| PageCacheError::File { doing, path: path.to_owned(), source }
}

fn go_on(stop: &Stop) -> Result<(), PageCacheError> {
    if stop.ends_waits() { Err(PageCacheError::Stopped) } else { Ok(()) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// In the folder of the crate: the system's one for temporary files may be in memory.
    fn data() -> tempfile::TempDir {
        let data = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let base = data.path().join("base/5");
        std::fs::create_dir_all(&base).unwrap();
        std::fs::write(base.join("1259"), vec![7; 3 << 20]).unwrap();
        std::fs::write(base.join("1260"), vec![7; 100]).unwrap();
        std::fs::write(base.join("empty"), []).unwrap();
        data
    }

    #[test]
    fn files_are_dropped_and_read_in_and_it_is_seen() {
        let data = data();
        if can_drop(data.path()).is_err() {
            return;
        }
        let stop = Stop::new();
        let all = (3 << 20) + 100;
        let before = read_files(data.path(), &stop).unwrap();
        assert_eq!(before, Resident { cached: all, all });
        // The machine's own stays: others work on it.
        let files = files(data.path()).unwrap();
        drop_each(&files, &stop).unwrap();
        let left = resident(&files, &stop).unwrap();
        assert!(left.all == all && left.pct() < 5.0, "{left:?}");
        assert_eq!(read_files(data.path(), &stop).unwrap().pct(), 100.0);
    }

    #[test]
    fn links_lead_to_tablespaces_and_nowhere_else() {
        let (data, elsewhere) = (data(), data());
        std::fs::create_dir(data.path().join("pg_tblspc")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), data.path().join("pg_tblspc/16400")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), data.path().join("base/5/round")).unwrap();
        assert_eq!(files(data.path()).unwrap().len(), 4);
    }

    #[test]
    fn what_stands_in_memory_is_kept() {
        let why = can_drop(Path::new("/dev/shm/no/such")).unwrap_err().to_string();
        assert!(why.contains("is in memory"), "{why}");
    }
}
