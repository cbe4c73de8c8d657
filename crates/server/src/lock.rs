//! One pgdyno at a time per folder of a server, or of a filesystem made for one.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

use crate::home::Dir;

pub(crate) const LOCK: &str = "lock";

/// How long a check of a lock may hold it.
const GLANCE: Duration = Duration::from_millis(200);

/// Held while the folder is in use; the kernel releases it however pgdyno ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

#[derive(Debug)]
pub(crate) enum LockResult {
    Ours(Lock),
    /// Another pgdyno has it; its pid if known.
    Held(Option<u32>),
}

impl Lock {
    /// Takes the lock of a folder.
    ///
    /// # Errors
    /// When its file cannot be made.
    pub(crate) fn take(folder: &Dir) -> io::Result<LockResult> {
        let mut file = folder.lock_file(LOCK)?;
        // A check of the lock holds it for a moment.
        let start = Instant::now();
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < GLANCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(LockResult::Held(holder(&mut file))),
                Err(error) => return Err(error.into()),
            }
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        // A full disk must not prevent stopping a server: the pid only helps messages.
        let _ = write(&mut file);
        Ok(LockResult::Ours(Self { _file: file }))
    }

    /// The lock, unless another pgdyno has it or its file cannot be made.
    pub(crate) fn if_free(folder: &Dir) -> Option<Self> {
        match Self::take(folder) {
            Ok(LockResult::Ours(lock)) => Some(lock),
            _ => None,
        }
    }

    /// The pid of the lock's holder, if any (0 if unknown).
    pub(crate) fn held_by(folder: &Dir) -> Option<u32> {
        let mut file = folder.file(LOCK).ok()?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => Some(holder(&mut file).unwrap_or(0)),
            _ => None,
        }
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_taker_learns_who_has_it() {
        let top = tempfile::tempdir().unwrap();
        let folder = crate::home::Home::at(top.path()).open().unwrap().unwrap();
        let first = Lock::if_free(&folder).unwrap();
        match Lock::take(&folder) {
            Ok(LockResult::Held(pid)) => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        assert_eq!(Lock::held_by(&folder), Some(std::process::id()));
        drop(first);
        // A program that another test starts has its copy of the file until it is executed.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while Lock::held_by(&folder).is_some() && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(Lock::held_by(&folder), None);
        assert!(Lock::if_free(&folder).is_some());
    }
}
