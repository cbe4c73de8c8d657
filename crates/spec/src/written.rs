//! Writes files that a user names: reports, charts, saved experiments. Files are written whole or not at all,
//! and never into a file created by another user.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// Replaces the content of a file. A new file is readable only by its owner; an existing one keeps its
/// permissions. A pipe or a device is written to directly.
///
/// # Errors
/// System errors; also for a link that another user could have made.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let place = resolve(path)?;
    if is_written_through(&place) {
        return write_through(&place, content);
    }
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut part = tempfile::Builder::new().prefix(".pgdyno-").tempfile_in(folder)?;
    part.write_all(content)?;
    if let Ok(found) = std::fs::symlink_metadata(&place)
        && found.is_file()
        && found.uid() == geteuid().as_raw()
    {
        part.as_file().set_permissions(Permissions::from_mode(found.mode() & 0o777))?;
    }
    // A rename replaces a link, and does not follow it.
    part.persist(&place).map(drop).map_err(|error| error.error)
}

/// The real path of a file, with all links followed. Links that another user could have made are not
/// followed.
///
/// # Errors
/// A link could be another user's, or leads in a circle.
pub fn resolve(path: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut left: Vec<OsString> = parts(&path);
    let mut place = PathBuf::from("/");
    let mut followed = 0;
    while let Some(part) = left.pop() {
        match part.to_str() {
            Some("/") => place = PathBuf::from("/"),
            Some("..") => drop(place.pop()),
            Some(".") => {}
            _ => place.push(&part),
        }
        let Some(link) = place.symlink_metadata().ok().filter(std::fs::Metadata::is_symlink) else {
            continue;
        };
        if !is_ours(&place, &link) {
            return Err(refused(&format!(
                "{} is a link that another user could have made; remove it, or name the place that it leads to",
                place.display()
            )));
        }
        // `/dev/stdout` may be a pipe, which has no path.
        if left.is_empty() && is_written_through(&place) {
            return Ok(place);
        }
        followed += 1;
        if followed > MOST_LINKS {
            return Err(refused("its links lead in a circle"));
        }
        left.extend(parts(&place.read_link()?));
        place.pop();
    }
    Ok(place)
}

/// The limit of Linux.
const MOST_LINKS: usize = 40;

/// The components of a path in reverse order.
fn parts(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
}

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, why)
}

/// Whether only this user or root can have made a link: it is in a folder of ours, or in a sticky folder.
fn is_ours(path: &Path, link: &std::fs::Metadata) -> bool {
    const STICKY: u32 = 0o1000;
    let us = geteuid();
    let own = |found: &std::fs::Metadata| [0, us.as_raw()].contains(&found.uid());
    // The group of a user often has no other members.
    let others = if us.is_root() { 0o022 } else { 0o002 };
    let is_safe = |folder: std::fs::Metadata| {
        own(&folder) && (folder.mode() & others == 0 || folder.mode() & STICKY != 0)
    };
    own(link) && path.parent().is_some_and(|folder| std::fs::symlink_metadata(folder).is_ok_and(is_safe))
}

/// Whether it is a pipe or a device.
#[must_use]
pub fn is_written_through(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Writes without blocking: a pipe without a reader is an error.
fn write_through(path: &Path, content: &[u8]) -> Result<()> {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if !path.is_symlink() {
        flags |= OFlags::NOFOLLOW;
    }
    let opened = OpenOptions::new().write(true).custom_flags(flags.bits() as i32).open(path);
    let mut file = opened.map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => {
            Error::new(ErrorKind::BrokenPipe, "nobody reads this pipe")
        }
        _ => error,
    })?;
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    file.write_all(content)
}

/// Opens or creates a regular file of ours for writing, readable only by its owner; existing content stays.
///
/// # Errors
/// System errors; also for a link, a special file, or another user's file.
pub fn open_own(path: &Path) -> Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = how.open(path)?;
    let found = file.metadata()?;
    match found.is_file() && found.nlink() <= 1 && found.uid() == geteuid().as_raw() {
        true => Ok(file),
        false => Err(Error::new(
            ErrorKind::PermissionDenied,
            format!(
                "{} is not a file that this user made; look where it comes from and remove it",
                path.display()
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_file_of_ours_keeps_its_rights_and_nothing_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        replace(&path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o6755)).unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!((mode(&path), std::fs::read(&path).unwrap()), (0o755, b"two".to_vec()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_a_folder_that_others_can_write_to_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("report.html"));
        std::fs::write(&victim, "kept").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        replace(&link, b"ours").unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"ours", "our own link in our own folder leads there");
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let refused = |path: &Path| replace(path, b"theirs").unwrap_err().to_string();
        assert!(refused(&link).contains("is a link that another user could have made"));
        assert!(open_own(&link).is_err());
        // On the way, and behind a link of ours.
        std::os::unix::fs::symlink(".", folder.path().join("out")).unwrap();
        assert!(refused(&folder.path().join("out/new.html")).contains("out is a link"));
        let own = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(&link, own.path().join("hop")).unwrap();
        assert!(refused(&own.path().join("hop")).contains("report.html is a link"));
        assert_eq!(std::fs::read(&victim).unwrap(), b"ours");
    }

    #[test]
    fn links_of_our_own_lead_where_they_lead() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("real")).unwrap();
        for (to, name) in
            [("real", "folder"), ("../file", "real/up"), ("folder/up", "two"), ("b", "a"), ("a", "b")]
        {
            std::os::unix::fs::symlink(to, at(name)).unwrap();
        }
        let root = folder.path().canonicalize().unwrap();
        for (path, wanted) in [("two", "file"), ("folder/../x", "x"), ("folder/new", "real/new"), ("y", "y")]
        {
            assert_eq!(resolve(&at(path)).unwrap(), root.join(wanted), "{path}");
        }
        assert!(resolve(&at("a")).unwrap_err().to_string().contains("circle"));
    }

    #[test]
    fn a_pipe_without_a_reader_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(replace(&path, b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert!(open_own(&path).is_err());
    }
}
