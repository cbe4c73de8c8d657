//! Who measures on this machine: each pgdyno that does has a file in a folder that all users share, and holds a lock on it.
//!
//! The kernel takes the lock back however a process ends, so a file that nobody holds says nothing. What stands in a file that
//! another user made is only shown: no path in it is followed, nothing is written to it, and a link is not opened.

mod entry;
mod server;

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use self::entry::Entry;
pub use self::entry::Other;
pub use self::server::Marker;
use crate::host::proc::process;

/// The variable that names another folder.
pub const FOLDER: &str = "PGDYNO_MEASURING";
/// All users have it, and may remove only their own files there.
const SHARED: &str = "/tmp";

/// What this process says, and whom it has seen since it was asked last.
#[derive(Debug)]
struct Ours {
    entry: Entry,
    folder: PathBuf,
    goes_on: bool,
    seen: BTreeSet<Other>,
}

static OURS: Mutex<Option<Ours>> = Mutex::new(None);

fn ours() -> MutexGuard<'static, Option<Ours>> {
    OURS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Says that this process is going to measure, by this command; until [`begin`] it only waits. One that `goes_on` waits for nobody.
///
/// # Errors
/// When the folder is none that users can share, or the file cannot be made: others are then not seen.
pub fn announce(command: &str, goes_on: bool) -> io::Result<()> {
    let named = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = match named {
        Some(folder) => folder,
        None => shared(Path::new(SHARED))?,
    };
    let entry = Entry::make(&folder, command)?;
    *ours() = Some(Ours { entry, folder, goes_on, seen: BTreeSet::new() });
    Ok(())
}

/// A folder in which others cannot remove or replace what is ours.
fn shared(folder: &Path) -> io::Result<PathBuf> {
    const STICKY: u32 = 0o1000;
    let is_shared = |found: &Metadata| found.is_dir() && found.uid() == 0 && found.mode() & STICKY != 0;
    match std::fs::metadata(folder)? {
        found if is_shared(&found) => Ok(folder.to_owned()),
        _ => Err(io::Error::other(format!("{} is no folder that all users share safely", folder.display()))),
    }
}

/// Whether this process says that it measures, or is going to.
#[must_use]
pub fn is_announced() -> bool {
    ours().is_some()
}

/// Whether this process announced that it will measure, and has not begun.
#[must_use]
pub fn is_waiting() -> bool {
    ours().as_ref().is_some_and(|ours| !ours.entry.measures())
}

/// Whether it waits for nobody.
#[must_use]
pub fn goes_on() -> bool {
    ours().as_ref().is_some_and(|ours| ours.goes_on)
}

/// The command that this process announced.
#[must_use]
pub fn command() -> String {
    ours().as_ref().map(|ours| ours.entry.command().to_owned()).unwrap_or_default()
}

/// The processes that this one should wait for: those that measure, and those that waited before it did. Empty where it did not
/// announce itself.
#[must_use]
pub fn before_us() -> Vec<Other> {
    let ours = ours();
    let Some(ours) = &*ours else { return Vec::new() };
    let is_before = |other: &Other| other.measures || other.order() < ours.entry.order();
    others_in(&ours.folder).into_iter().filter(is_before).collect()
}

/// From now on this process measures.
pub fn begin() {
    if let Some(ours) = &mut *ours() {
        ours.entry.begin();
    }
}

/// Says which server this process measures, without a password.
pub fn on(server: &str) {
    if let Some(ours) = &mut *ours() {
        ours.entry.on(server);
    }
}

/// Looks who else measures now.
pub fn look() {
    if let Some(ours) = &mut *ours() {
        let found = others_in(&ours.folder).into_iter().filter(|other| other.measures);
        ours.seen.extend(found);
    }
}

/// Those that were seen since [`forget`].
#[must_use]
pub fn seen() -> Vec<Other> {
    ours().iter().flat_map(|ours| ours.seen.iter().cloned()).collect()
}

/// What was seen until now is not of the next run.
pub fn forget() {
    if let Some(ours) = &mut *ours() {
        ours.seen.clear();
    }
}

/// This process measures no more.
pub fn end() {
    *ours() = None;
}

/// All that say something in a folder, except for this process, who started it, and whom it started.
fn others_in(folder: &Path) -> Vec<Other> {
    let us = std::process::id();
    let is_strange = |other: &Other| {
        let (above_us, above_it) = (above(us), above(other.pid));
        other.pid != us && !above_us.contains(&other.pid) && !above_it.contains(&us)
    };
    entry::all(folder).into_iter().filter(is_strange).collect()
}

/// A process's ancestors.
fn above(pid: u32) -> Vec<u32> {
    let parent = |pid: &u32| process(*pid).map(|process| process.parent).filter(|parent| *parent > 1);
    std::iter::successors(parent(&pid), parent).take(100).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_a_folder_that_all_share_safely_will_do() {
        let folder = tempfile::tempdir().unwrap();
        assert!(shared(folder.path()).is_err(), "whoever owns it could remove our file");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(shared(folder.path()).is_err());
        assert!(shared(Path::new("/etc/passwd")).is_err());
        assert_eq!(shared(Path::new(SHARED)).unwrap(), Path::new(SHARED));
    }

    #[test]
    fn who_started_us_is_no_other() {
        let us = std::process::id();
        assert!(!above(us).contains(&us) && !above(us).contains(&1));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(above(child.id()).first(), Some(&us));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
