//! Who measures on this machine: each measuring pgdyno has a file in a folder shared by all users, and holds
//! a lock on it.
//!
//! The kernel releases the lock however a process ends, so an unlocked file means nothing. The contents of
//! another user's file are only shown: no path in it is followed, nothing is written to it, and a link is not
//! opened.

mod entry;
mod server;

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use sha2::{Digest, Sha256};

use self::entry::AnnouncementFile;
pub use self::entry::OtherPgdyno;
pub use self::server::Marker;
use crate::host::proc::process;

/// The variable that names another folder.
pub const FOLDER: &str = "PGDYNO_MEASURING";
/// Available to all users, who can remove only their own files there.
const SHARED: &str = "/tmp";

/// This process's announcement, and the processes seen since the last call.
#[derive(Debug)]
struct Ours {
    entry: AnnouncementFile,
    folder: PathBuf,
    goes_on: bool,
    seen: BTreeSet<OtherPgdyno>,
}

static OURS: Mutex<Option<Ours>> = Mutex::new(None);

fn ours() -> MutexGuard<'static, Option<Ours>> {
    OURS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Announces that this process will measure, by this command; until [`begin`] it only waits. With `goes_on`
/// it waits for nobody.
///
/// # Errors
/// When users cannot share the folder, or the file cannot be made: other processes are then not seen.
pub fn announce(command: &str, goes_on: bool) -> io::Result<()> {
    let named = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = match named {
        Some(folder) => folder,
        None => shared(Path::new(SHARED))?,
    };
    let entry = AnnouncementFile::make(&folder, command)?;
    *ours() = Some(Ours { entry, folder, goes_on, seen: BTreeSet::new() });
    Ok(())
}

/// Checks that others cannot remove or replace our files in the folder.
fn shared(folder: &Path) -> io::Result<PathBuf> {
    const STICKY: u32 = 0o1000;
    let is_shared = |found: &Metadata| found.is_dir() && found.uid() == 0 && found.mode() & STICKY != 0;
    match std::fs::metadata(folder)? {
        found if is_shared(&found) => Ok(folder.to_owned()),
        _ => Err(io::Error::other(format!("users cannot safely share the folder {}", folder.display()))),
    }
}

/// Whether this process announced that it measures, or will.
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

/// The processes to wait for: they measure, or announced themselves earlier. Empty if this
/// process did not announce itself.
#[must_use]
pub fn before_us() -> Vec<OtherPgdyno> {
    let ours = ours();
    let Some(ours) = &*ours else { return Vec::new() };
    let own = ours.entry.command();
    // A part of another load is not waited for: where both should be one load, they find out what differs.
    let is_before = |other: &OtherPgdyno| {
        (other.measures || other.order() < ours.entry.order()) && !(is_part(other.command()) && is_part(own))
    };
    others_in(&ours.folder, ours.entry.command()).into_iter().filter(is_before).collect()
}

/// Marks this process as measuring.
pub fn begin() {
    if let Some(ours) = &mut *ours() {
        ours.entry.begin();
    }
}

/// Records which server this process measures, without a password.
pub fn on(server: &str) {
    if let Some(ours) = &mut *ours() {
        ours.entry.on(server);
    }
}

/// Checks which others measure now.
pub fn look() {
    if let Some(ours) = &mut *ours() {
        let found = others_in(&ours.folder, ours.entry.command()).into_iter().filter(|other| other.measures);
        ours.seen.extend(found);
    }
}

/// The processes seen since [`forget`].
#[must_use]
pub fn seen() -> Vec<OtherPgdyno> {
    ours().iter().flat_map(|ours| ours.seen.iter().cloned()).collect()
}

/// Forgets the processes seen so far, before the next run.
pub fn forget() {
    if let Some(ours) = &mut *ours() {
        ours.seen.clear();
    }
}

/// Between a command and the load that it makes a part of. With the hash it fits into a session's name, 63 bytes.
const OF_LOAD: &str = " of load ";

/// The command of a process that makes a part of a load together with others: they do not wait for each other, and
/// do not disturb each other.
#[must_use]
pub fn of_load(command: &str, load: &str) -> String {
    let hash = spec::hex(&Sha256::digest(load)[..6]);
    format!("{command}{OF_LOAD}{hash}")
}

/// Processes on this machine that make other parts of this process's load.
#[must_use]
pub fn of_our_load() -> Vec<u32> {
    let ours = ours();
    let Some(ours) = &*ours else { return Vec::new() };
    let all = entry::all(&ours.folder)
        .into_iter()
        .filter(|other| is_of_one_load(other.command(), ours.entry.command()));
    all.map(|other| other.pid).filter(|pid| *pid != std::process::id()).collect()
}

/// Whether a command makes a part of a load.
fn is_part(command: &str) -> bool {
    command.contains(OF_LOAD)
}

/// Whether two commands make parts of one load.
fn is_of_one_load(one: &str, other: &str) -> bool {
    let load = |command: &str| command.rsplit_once(OF_LOAD).map(|(_, load)| load.to_owned());
    load(one).is_some() && load(one) == load(other)
}

/// Ends the announcement.
pub fn end() {
    *ours() = None;
}

/// All announced processes in a folder, except this process, its ancestors and its descendants, and other parts of the
/// load of its command.
fn others_in(folder: &Path, command: &str) -> Vec<OtherPgdyno> {
    let us = std::process::id();
    let is_strange = |other: &OtherPgdyno| {
        let (above_us, above_it) = (above(us), above(other.pid));
        other.pid != us
            && !above_us.contains(&other.pid)
            && !above_it.contains(&us)
            && !is_of_one_load(other.command(), command)
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
        assert!(shared(folder.path()).is_err(), "its owner could remove our file");
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
