//! One pgdyno at a time per folder: of a server, or of a filesystem made for one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;

/// How long a glance at a lock may hold it.
const GLANCE: Duration = Duration::from_millis(200);

/// Held while the folder is in use; the kernel lets go of it when we end, however that happens.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Why a lock was not taken.
#[derive(Debug)]
pub(crate) enum LockError {
    /// Another pgdyno has it; its pid where it could be read.
    Held(Option<u32>),
    /// The file cannot be made.
    File(io::Error),
}

impl Lock {
    pub(crate) fn take(folder: &Path) -> Result<Self, LockError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("lock"))
            .map_err(LockError::File)?;
        // Somebody who only looks whether it is held holds it for a moment.
        let start = Instant::now();
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < GLANCE => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(LockError::Held(holder(&mut file))),
                Err(error) => return Err(LockError::File(error.into())),
            }
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        // A full disk must not keep us from stopping a server: the pid only helps the next one's message.
        let _ = write(&mut file);
        Ok(Self { _file: file })
    }

    /// Whether somebody has it, and who (0 where that cannot be read).
    pub(crate) fn held_by(folder: &Path) -> Option<u32> {
        let mut file = File::open(folder.join("lock")).ok()?;
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
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        match Lock::take(folder.path()) {
            Err(LockError::Held(pid)) => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
        assert_eq!(Lock::held_by(folder.path()), Some(std::process::id()));
        drop(first);
        assert_eq!(Lock::held_by(folder.path()), None);
        assert!(Lock::take(folder.path()).is_ok());
    }
}
