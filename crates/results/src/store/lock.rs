//! One pgdyno at a time per experiment and results file: two would measure under each other's load, and
//! store every run twice. Other programs may read the file meanwhile, and store other experiments.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use spec::{Class, Error, written};

use super::{FileId, Store};
use crate::error::from_io;

/// Lock against a second measurement of an experiment into the same results file. The kernel releases it
/// when the process ends in any way.
///
/// It is a lock on a separate file next to the results: a lock on the results file would interfere with
/// SQLite's.
#[derive(Debug)]
#[must_use = "others may measure the same as soon as it is dropped"]
pub struct ExperimentLock {
    _file: File,
    path: PathBuf,
}

impl Store {
    /// Locks the experiment of this hash in this file until the returned value is dropped.
    ///
    /// # Errors
    /// When another process holds the lock, or no file can be created next to the results.
    pub fn alone_with(&self, hash: &str) -> Result<ExperimentLock, Error> {
        let failed = |error: io::Error| from_io(&self.path, &error);
        // Resolves other names of the same file.
        let mut name = self.path.canonicalize().map_err(failed)?.into_os_string();
        name.push(format!("-lock-{}", hash.get(..8).unwrap_or(hash)));
        let path = PathBuf::from(name);
        loop {
            let mut file = written::open_own(&path).map_err(failed)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    return Err(in_use(&self.path, holder(&mut file)));
                }
                // The former holder has removed it meanwhile: then the lock is on a file that others do not
                // find.
                Ok(()) if !is_at(&file, &path) => {}
                Ok(()) => {
                    // The disk may be full: the number is only for messages.
                    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                    return Ok(ExperimentLock { _file: file, path });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}

impl Drop for ExperimentLock {
    fn drop(&mut self) {
        // While the lock is held, no other process takes the file.
        let _ = std::fs::remove_file(&self.path);
    }
}

const LONGEST: u64 = 32;

fn is_at(file: &File, path: &Path) -> bool {
    let opened = file.metadata().ok().map(|found| FileId::of_metadata(&found));
    opened.is_some() && opened == FileId::of(path)
}

fn in_use(path: &Path, pid: Option<u32>) -> Error {
    let by = pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
    let what = format!(
        "{}: another pgdyno{by} measures the same experiment into this file, and both would be under each other's load; \
         wait for it or end it with Ctrl-C, then the same command goes on; or name another file with --results",
        path.display()
    );
    Error::new(Class::Refused, what)
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_learns_who_measures_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sqlite");
        let store = Store::create_or_open(&path).unwrap();
        let first = store.alone_with("0123456789abcdef").unwrap();
        let link = folder.path().join("b.sqlite");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for same in [&path, &link] {
            let error = Store::create_or_open(same).unwrap().alone_with("0123456789abcdef").unwrap_err();
            assert_eq!(error.class(), Class::Refused);
            assert!(error.to_string().contains(&format!("another pgdyno (pid {})", std::process::id())));
        }
        // Another experiment, and readers.
        drop(store.alone_with("f123456789abcdef").unwrap());
        assert_eq!(Store::open_read_only(&path).unwrap().experiments().unwrap().len(), 0);
        drop(first);
        drop(store.alone_with("0123456789abcdef").unwrap());
        let left = std::fs::read_dir(folder.path()).unwrap().flatten();
        let locks = left.filter(|entry| entry.file_name().to_string_lossy().contains("-lock-"));
        assert_eq!(locks.count(), 0, "nothing stays beside the results");
    }

    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create_or_open(&folder.path().join("a.sqlite")).unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join("a.sqlite-lock-01234567")).unwrap();
        assert!(store.alone_with("0123456789abcdef").is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
    }

    #[test]
    fn what_a_killed_one_left_hinders_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create_or_open(&folder.path().join("a.sqlite")).unwrap();
        std::fs::write(folder.path().join("a.sqlite-lock-01234567"), "1\n").unwrap();
        let taken = store.alone_with("0123456789abcdef").unwrap();
        let text = std::fs::read_to_string(&taken.path).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
    }
}
