//! The pages of a stopped server's files in this machine's page cache: measured, dropped, read in.
//!
//! Caches below the page cache are not dropped: of a disk, of a storage array, or of the host of a virtual
//! machine.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;
pub(crate) use system::drop_file;

use spec::{Class, Error};

use crate::home::{Dir, DirEntry, Distrust};
use crate::stop::Stop;

/// How the cache was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropMethod {
    /// For the whole machine, by `/proc/sys/vm/drop_caches`.
    Machine,
    /// For the server's files, by `posix_fadvise`.
    Files,
}

impl DropMethod {
    /// The way in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Machine => "the machine's page cache was dropped (drop_caches)",
            Self::Files => "the server's files were dropped from the page cache (posix_fadvise)",
        }
    }
}

/// Bytes of a server's files in the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resident {
    pub cached: u64,
    /// Total size of the files.
    pub all: u64,
}

impl Resident {
    /// Percent; 100 if there are no files.
    #[must_use]
    pub fn pct(self) -> f64 {
        if self.all == 0 { 100.0 } else { self.cached as f64 * 100.0 / self.all as f64 }
    }
}

/// Whether the page cache of files in this folder (or in its nearest existing parent) can be dropped.
pub fn can_drop(folder: &Path) -> Result<(), Error> {
    let there = folder.ancestors().find(|above| above.exists()).unwrap_or(folder);
    system::kept(there).map_or(Ok(()), |why| {
        Err(Error::new(Class::Missing, format!("the page cache cannot be dropped: {why}")))
    })
}

/// Syncs a stopped server's files and drops them from the page cache; returns what remains there. Call
/// [`can_drop`] before.
///
/// # Errors
/// When a file cannot be read; what was dropped until then stays dropped.
pub fn drop_files(data: &Path, stop: &Stop) -> Result<(DropMethod, Resident), Error> {
    drop_each(data, stop)?;
    let way = if system::drop_machine() { DropMethod::Machine } else { DropMethod::Files };
    Ok((way, resident(data, stop)?))
}

fn drop_each(data: &Path, stop: &Stop) -> Result<(), Error> {
    each_file(data, stop, "drop from the page cache", &mut |file, _| {
        // Dirty pages are not dropped.
        file.sync_data()?;
        system::drop_file(file)
    })
}

/// Reads a server's files into the page cache, as far as memory allows.
pub fn read_files(data: &Path, stop: &Stop) -> Result<Resident, Error> {
    let mut buffer = vec![0; 1 << 20];
    each_file(data, stop, "read", &mut |file, length| {
        // Only up to its former length: somebody may append to it forever.
        let mut rest = file.take(length);
        loop {
            if stop.ends_waits() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if rest.read(&mut buffer)? == 0 {
                return Ok(());
            }
        }
    })?;
    resident(data, stop)
}

fn resident(data: &Path, stop: &Stop) -> Result<Resident, Error> {
    let mut sum = Resident::default();
    each_file(data, stop, "look at", &mut |file, length| {
        // Pages are whole; the last one may hold less.
        sum.cached += system::cached(file, length)?.min(length);
        sum.all += length;
        Ok(())
    })?;
    Ok(sum)
}

/// Opens each non-empty file of a data folder, with its length, including those of tablespaces and of a
/// linked `pg_wal`. Other links are not followed, and every file is opened in the folder that was listed: a
/// superuser of the server can swap folders meanwhile. Files of other owners are not the server's.
fn each_file(
    data: &Path,
    stop: &Stop,
    doing: &'static str,
    see: &mut dyn FnMut(&File, u64) -> io::Result<()>,
) -> Result<(), Error> {
    let mut at = data.to_owned();
    let mut walked = || -> io::Result<()> {
        for folder in folders(data)? {
            folder.walk(&mut |path, inner, entry| {
                if stop.ends_waits() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                let (DirEntry::File { length: 1.. }, Some(name)) = (entry, path.file_name()) else {
                    return Ok(());
                };
                at = inner.path().join(name);
                match inner.file(name) {
                    Ok(file) => {
                        let length = file.metadata()?.len();
                        see(&file, length)
                    }
                    Err(error) if Distrust::is_in(&error) || error.kind() == io::ErrorKind::NotFound => {
                        Ok(())
                    }
                    Err(error) => Err(error),
                }
            })?;
        }
        Ok(())
    };
    walked().map_err(|source| match source.kind() {
        io::ErrorKind::Interrupted => Error::stopped(),
        _ => Error::io(doing, &at, source),
    })
}

/// The data folder, and folders of the same owner that a server's usual links lead to.
fn folders(data: &Path) -> io::Result<Vec<Dir>> {
    let top = Dir::of_any_owner(data)?;
    let mut links: Vec<PathBuf> = top.read_link("pg_wal").into_iter().collect();
    if let Some(spaces) = top.open("pg_tblspc")? {
        links.extend(spaces.names()?.iter().filter_map(|name| spaces.read_link(name).ok()));
    }
    let owner = top.owner();
    let linked = links.iter().filter_map(|to| Dir::of_any_owner(to).ok()).filter(|to| to.owner() == owner);
    Ok([top.clone()].into_iter().chain(linked.collect::<Vec<_>>()).collect())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// In the folder of the crate: the system's temporary folder may be in memory.
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
        // The machine's page cache stays: others use it.
        drop_each(data.path(), &stop).unwrap();
        let left = resident(data.path(), &stop).unwrap();
        assert!(left.all == all && left.pct() < 5.0, "{left:?}");
        assert_eq!(read_files(data.path(), &stop).unwrap().pct(), 100.0);
    }

    #[test]
    fn links_lead_to_tablespaces_and_nowhere_else() {
        let (data, elsewhere) = (data(), data());
        std::fs::create_dir(data.path().join("pg_tblspc")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), data.path().join("pg_tblspc/16400")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), data.path().join("base/5/round")).unwrap();
        let mut seen = 0;
        each_file(data.path(), &Stop::new(), "look at", &mut |_, _| {
            seen += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, 4);
    }

    #[test]
    fn what_stands_in_memory_is_kept() {
        let why = can_drop(Path::new("/dev/shm/no/such")).unwrap_err().to_string();
        assert!(why.contains("is in memory"), "{why}");
    }
}
