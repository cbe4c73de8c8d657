//! The files of a data folder: what they take, whether they are whole, and copying them byte by byte.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::child::Account;
use crate::stop::Stop;

/// Bytes between two looks at the stop switch.
const PIECE: usize = 1 << 20;
/// Files of this size are written out at once, so that the kernel does not do it under a measurement.
const WRITTEN_OUT: u64 = 64 << 10;
/// Of the server that ran, not of its data.
const LEFT_OUT: [&str; 2] = ["postmaster.pid", "postmaster.opts"];
/// `DB_SHUTDOWNED` in `global/pg_control`, and where it stands there, in all versions since 8.3.
const SHUT_DOWN: u32 = 1;
const STATE_AT: usize = 16;

/// What a data folder takes, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sizes {
    /// All but the log.
    pub data: u64,
    /// The write-ahead log.
    pub wal: u64,
}

/// What a data folder takes.
pub(super) fn sizes(data: &Path) -> io::Result<Sizes> {
    let mut sizes = Sizes::default();
    walk(data, Path::new(""), &mut |entry| {
        let of = if entry.path.starts_with("pg_wal") { &mut sizes.wal } else { &mut sizes.data };
        *of += entry.length;
        Ok(())
    })?;
    Ok(sizes)
}

/// One file or folder of a data folder.
struct Entry {
    /// Below the data folder.
    path: PathBuf,
    /// Bytes; 0 for a folder.
    length: u64,
    is_folder: bool,
    is_link: bool,
    mode: u32,
}

/// Every file and folder, folders before what is in them. What goes while it is looked at is not there.
fn walk(data: &Path, below: &Path, see: &mut dyn FnMut(Entry) -> io::Result<()>) -> io::Result<()> {
    for entry in std::fs::read_dir(data.join(below))? {
        let path = below.join(entry?.file_name());
        let metadata = match std::fs::symlink_metadata(data.join(&path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        let is_folder = metadata.is_dir();
        let length = if metadata.is_file() { metadata.size() } else { 0 };
        let (is_link, mode) = (metadata.is_symlink(), metadata.permissions().mode());
        see(Entry { path: path.clone(), length, is_folder, is_link, mode })?;
        if is_folder {
            match walk(data, &path, see) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
    }
    Ok(())
}

/// The first link in a data folder that does not lead to where some of its files are to stand.
pub(super) fn linked(data: &Path, stand: Option<&Path>) -> io::Result<Option<PathBuf>> {
    let mut found = None;
    walk(data, Path::new(""), &mut |entry| {
        let leads = || std::fs::read_link(data.join(&entry.path)).unwrap_or_default();
        let is_known = || stand.is_some_and(|stand| leads().starts_with(stand));
        if entry.is_link && found.is_none() && !is_known() {
            found = Some(entry.path);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Copying of one data folder to another place.
pub(super) struct Copying<'a> {
    pub(super) from: &'a Path,
    pub(super) to: &'a Path,
    /// Where links of it lead, and where they are to lead in the copy.
    pub(super) stands: Option<(&'a Path, &'a Path)>,
    pub(super) account: Option<&'a Account>,
    pub(super) stop: &'a Stop,
    /// Bytes so far.
    pub(super) written: u64,
    pub(super) progress: &'a mut dyn FnMut(u64),
}

impl Copying<'_> {
    /// Copies it all.
    ///
    /// # Errors
    /// Of kind `Interrupted` when the user asked to stop.
    pub(super) fn all(&mut self) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        if !self.to.is_dir() {
            self.folder(Path::new(""), 0o700)?;
        }
        let mut entries = Vec::new();
        walk(self.from, Path::new(""), &mut |entry| {
            entries.push(entry);
            Ok(())
        })?;
        for entry in entries {
            let name = entry.path.as_os_str();
            match entry.is_folder {
                _ if LEFT_OUT.iter().any(|out| name == *out) => {}
                true => self.folder(&entry.path, entry.mode & 0o777)?,
                false if entry.is_link && self.link(&entry.path)? => {}
                false => self.file(&entry.path, entry.mode & 0o777, &mut piece)?,
            }
        }
        File::open(self.to)?.sync_all()
    }

    /// Makes the link that answers to one of the copied folder's; answers whether that leads to where we know.
    fn link(&self, path: &Path) -> io::Result<bool> {
        let leads_to = std::fs::read_link(self.from.join(path))?;
        let Some((from, to)) = self.stands else { return Ok(false) };
        let Ok(below) = leads_to.strip_prefix(from) else { return Ok(false) };
        std::os::unix::fs::symlink(to.join(below), self.to.join(path)).map(|()| true)
    }

    fn folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        let new = self.to.join(path);
        DirBuilder::new().mode(mode).create(&new)?;
        self.give(&new)
    }

    fn give(&self, path: &Path) -> io::Result<()> {
        self.account.map_or(Ok(()), |account| chown(path, Some(account.uid), Some(account.gid)))
    }

    /// Not by `std::fs::copy` or `io::copy`: those may have the file system share blocks.
    fn file(&mut self, path: &Path, mode: u32, piece: &mut [u8]) -> io::Result<()> {
        let mut from = File::open(self.from.join(path))?;
        let new = self.to.join(path);
        let mut to = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        self.give(&new)?;
        let mut length = 0;
        loop {
            if self.stop.at_once() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = match from.read(piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            to.write_all(&piece[..count])?;
            length += count as u64;
        }
        if length >= WRITTEN_OUT {
            to.sync_data()?;
        }
        self.written += length;
        (self.progress)(self.written);
        Ok(())
    }
}

/// Whether a server that worked in this data folder ended by a shutdown.
pub(super) fn is_shut_down(data: &Path) -> bool {
    let control = std::fs::read(data.join("global/pg_control")).unwrap_or_default();
    let state = control.get(STATE_AT..STATE_AT + 4).and_then(|bytes| bytes.try_into().ok());
    state.map(u32::from_ne_bytes) == Some(SHUT_DOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_copied_and_nothing_of_the_server_that_ran() {
        let top = tempfile::tempdir().unwrap();
        let (from, to) = (top.path().join("from"), top.path().join("to"));
        std::fs::create_dir_all(from.join("base/1")).unwrap();
        std::fs::create_dir_all(from.join("pg_wal")).unwrap();
        let large = vec![7; PIECE + 3];
        std::fs::write(from.join("base/1/2"), &large).unwrap();
        std::fs::write(from.join("pg_wal/1"), "log").unwrap();
        std::fs::write(from.join("postmaster.pid"), "1").unwrap();
        let mut told = 0;
        let stop = Stop::new();
        let copying = |told: &mut u64| {
            let mut progress = |written| *told = written;
            let (from, to, stop, progress) = (&*from, &*to, &stop, &mut progress);
            Copying { from, to, stands: None, account: None, stop, written: 0, progress }.all()
        };
        copying(&mut told).unwrap();
        assert_eq!(std::fs::read(to.join("base/1/2")).unwrap(), large);
        assert_eq!(std::fs::read(to.join("pg_wal/1")).unwrap(), b"log");
        assert!(!to.join("postmaster.pid").exists());
        assert_eq!(told, large.len() as u64 + 3);
        assert_eq!(sizes(&to).unwrap(), Sizes { data: large.len() as u64, wal: 3 });

        assert_eq!(linked(&from, None).unwrap(), None);
        std::os::unix::fs::symlink("/elsewhere", from.join("pg_tblspc")).unwrap();
        assert_eq!(linked(&from, None).unwrap(), Some("pg_tblspc".into()));
        assert_eq!(linked(&from, Some(Path::new("/elsewhere"))).unwrap(), None);
    }

    #[test]
    fn only_a_shutdown_leaves_all_data_in_files() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join("global")).unwrap();
        assert!(!is_shut_down(top.path()), "nothing is there");
        for (state, clean) in [(SHUT_DOWN, true), (6, false)] {
            let mut control = vec![0; 8192];
            control[STATE_AT..STATE_AT + 4].copy_from_slice(&u32::to_ne_bytes(state));
            std::fs::write(top.path().join("global/pg_control"), control).unwrap();
            assert_eq!(is_shut_down(top.path()), clean, "state {state}");
        }
    }
}
