//! Reads files named by users or experiments: only regular files of bounded length. A pipe without a writer
//! would block, and a device may never end.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};

/// Longest file that is read whole, bytes.
const LONGEST: u64 = 64 << 20;

/// Opens a regular file.
///
/// # Errors
/// System errors; also for a folder, a pipe or a device.
pub fn open(path: &Path) -> Result<File> {
    // Check before opening: opening a device may have side effects.
    check(&std::fs::metadata(path)?)?;
    let file = match held(path) {
        Some(opened) => opened?,
        None => OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?,
    };
    // Check again: the path may lead to another file by now.
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(found: &std::fs::Metadata) -> Result<()> {
    match found.is_file() {
        true => Ok(()),
        false if found.is_dir() => Err(refused("it is a folder; name a file in it")),
        false => Err(refused("it is a pipe or a device, not a file")),
    }
}

/// The folder of an experiment whose files must be in it.
static HELD: Mutex<Option<(PathBuf, OwnedFd)>> = Mutex::new(None);

/// From now on, opens files below this folder only if no link on the path leads out of it: a path may change
/// between check and open. Needs Linux's `openat2`; elsewhere nothing changes.
pub fn hold_to(folder: &Path) -> Result<()> {
    let real = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let opened = rustix::fs::open(real, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    *HELD.lock().unwrap_or_else(PoisonError::into_inner) = Some((folder.to_owned(), opened));
    Ok(())
}

/// The file, opened below the folder; `None` for paths outside, or if the kernel lacks `openat2`.
fn held(path: &Path) -> Option<Result<File>> {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let (folder, opened) = held.as_ref()?;
    let inside = path.strip_prefix(folder).ok().filter(|inside| inside.is_relative())?;
    below(opened, inside)
}

#[cfg(target_os = "linux")]
fn below(folder: &OwnedFd, inside: &Path) -> Option<Result<File>> {
    use rustix::fs::{ResolveFlags, openat2};
    use rustix::io::Errno;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat2(folder, inside, flags, Mode::empty(), ResolveFlags::BENEATH) {
        Ok(file) => Some(Ok(file.into())),
        // Older kernels, and some containers.
        Err(Errno::NOSYS | Errno::PERM) => None,
        Err(Errno::XDEV) => Some(Err(refused("a link on its path leads out of the experiment's folder"))),
        Err(error) => Some(Err(error.into())),
    }
}

#[cfg(not(target_os = "linux"))]
fn below(_folder: &OwnedFd, _inside: &Path) -> Option<Result<File>> {
    None
}

/// The content of a regular file of at most 64 MiB.
///
/// # Errors
/// Errors of [`open`], or the file is too long.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.take(LONGEST + 1).read_to_end(&mut content)?;
    match content.len() as u64 > LONGEST {
        true => Err(refused("it is longer than 64 MiB, the most that is read of a text")),
        false => Ok(content),
    }
}

/// The text of a regular file of at most 64 MiB.
///
/// # Errors
/// Errors of [`read`], or the text is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|error| Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_that_leads_out_of_the_folder_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("experiment");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(place.path().join("secret"), "s").unwrap();
        std::fs::write(folder.join("own"), "o").unwrap();
        for (name, to) in [("out", "../secret"), ("in", "own")] {
            std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
        }
        let opened = rustix::fs::open(&folder, OFlags::DIRECTORY, Mode::empty()).unwrap();
        let Some(error) = below(&opened, Path::new("out")) else { return };
        assert!(error.unwrap_err().to_string().contains("leads out of the experiment's folder"));
        for name in ["in", "own"] {
            assert!(below(&opened, Path::new(name)).unwrap().is_ok(), "{name}");
        }
    }

    #[test]
    fn nothing_but_a_file_is_read_and_nothing_is_waited_for() {
        for (path, why) in
            [("/dev/zero", "a pipe or a device"), ("/", "a folder"), ("/nowhere", "No such file")]
        {
            let error = read_text(Path::new(path)).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        // /proc reports a length of 0.
        assert!(read_text(Path::new("/proc/self/status")).unwrap().contains("Name:"));
    }
}
