//! The files of a data folder: their size, whether they are complete, and copying them byte by byte.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::child::Account;
use crate::home::{Dir, DirEntry, Readable, give};
use crate::stop::Stop;

/// Bytes between two checks of the stop switch.
const PIECE: usize = 1 << 20;
/// Files from this size on are synced at once, so that the kernel does not write them during a measurement.
const WRITTEN_OUT: u64 = 64 << 10;
/// Files of the running server, not of its data.
const LEFT_OUT: [&str; 2] = ["postmaster.pid", "postmaster.opts"];
/// `DB_SHUTDOWNED` in `global/pg_control`, and its offset there, in all versions since 8.3.
const SHUT_DOWN: u32 = 1;
const STATE_AT: usize = 16;

/// Size of a data folder, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DataFolderSizes {
    /// Everything except the log.
    pub data: u64,
    /// The write-ahead log.
    pub wal: u64,
}

pub(super) fn sizes(data: &Dir) -> io::Result<DataFolderSizes> {
    let mut sizes = DataFolderSizes::default();
    data.walk(&mut |path, _, entry| {
        let of = if path.starts_with("pg_wal") { &mut sizes.wal } else { &mut sizes.data };
        *of += if let DirEntry::File { length } = entry { *length } else { 0 };
        Ok(())
    })?;
    Ok(sizes)
}

/// The first link in a data folder that does not lead to the server's other storage.
pub(super) fn linked(data: &Dir, storage: Option<&Path>) -> io::Result<Option<PathBuf>> {
    let mut found = None;
    data.walk(&mut |path, _, entry| {
        if let DirEntry::Link(to) = entry
            && found.is_none()
            && !storage.is_some_and(|storage| to.starts_with(storage))
        {
            found = Some(path.to_owned());
        }
        Ok(())
    })?;
    Ok(found)
}

/// Copies a data folder.
pub(super) struct Copying<'a> {
    pub(super) from: &'a Dir,
    /// An empty folder.
    pub(super) to: &'a Dir,
    /// Targets of its links, and their counterparts for the copy.
    pub(super) links: Option<(&'a Path, &'a Path)>,
    pub(super) account: Option<&'a Account>,
    pub(super) stop: &'a Stop,
    /// Bytes so far.
    pub(super) written: u64,
    pub(super) progress: &'a mut dyn FnMut(u64),
}

impl Copying<'_> {
    /// Copies everything.
    ///
    /// # Errors
    /// Of kind `Interrupted` when the user asked to stop.
    pub(super) fn all(&mut self) -> io::Result<()> {
        // Fails before anything is copied: the walk has a limit of depth.
        self.from.walk(&mut |_, _, _| Ok(()))?;
        let mut piece = vec![0; PIECE];
        let out = LEFT_OUT.map(OsString::from);
        self.folder(self.from, self.to, &out, &mut piece)
    }

    fn folder(&mut self, from: &Dir, to: &Dir, out: &[OsString], piece: &mut [u8]) -> io::Result<()> {
        for name in from.names()?.into_iter().filter(|name| !out.contains(name)) {
            match from.entry(&name)? {
                Some(DirEntry::Folder) => {
                    let inner = from.open(&name)?.ok_or(io::ErrorKind::NotFound)?;
                    let copy = to.make_for(&name, self.account)?;
                    self.folder(&inner, &copy, &[], piece)?;
                }
                Some(DirEntry::File { .. }) => self.copy_file(from, to, &name, piece)?,
                Some(DirEntry::Link(leads_to)) => self.link(&leads_to, to, &name)?,
                // A pipe or a socket is not data.
                Some(DirEntry::Other) | None => {}
            }
        }
        to.sync()
    }

    /// Makes the counterpart of a link in the copied folder; skips one with an unknown target.
    fn link(&self, leads_to: &Path, copy: &Dir, name: &OsString) -> io::Result<()> {
        let Some((from, to)) = self.links else { return Ok(()) };
        leads_to.strip_prefix(from).map_or(Ok(()), |below| copy.link(name, &to.join(below)))
    }

    /// Not by `std::fs::copy` or `io::copy`, which may make the file system share blocks.
    fn copy_file(&mut self, from: &Dir, to: &Dir, name: &OsString, piece: &mut [u8]) -> io::Result<()> {
        let mut source = from.file(name)?;
        let mut copy = to.create(name, Readable::ByUs)?;
        self.account.map_or(Ok(()), |account| give(&copy, account))?;
        let mut length = 0;
        loop {
            if self.stop.at_once() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = match source.read(piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            copy.write_all(&piece[..count])?;
            length += count as u64;
        }
        if length >= WRITTEN_OUT {
            copy.sync_data()?;
        }
        self.written += length;
        (self.progress)(self.written);
        Ok(())
    }
}

/// Whether the last server in this data folder was shut down cleanly.
pub(super) fn is_shut_down(data: &Dir) -> bool {
    let global = data.open("global").ok().flatten();
    let control = global.and_then(|global| global.read("pg_control").ok()).unwrap_or_default();
    let state = control.get(STATE_AT..STATE_AT + 4).and_then(|bytes| bytes.try_into().ok());
    state.map(u32::from_ne_bytes) == Some(SHUT_DOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Home;

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
        let mut written_bytes = 0;
        let stop = Stop::new();
        let folder = Home::at(top.path()).open().unwrap().unwrap();
        let [source, copy] = [folder.open("from").unwrap().unwrap(), folder.make("to", 0o700).unwrap()];
        let copying = |written_bytes: &mut u64| {
            let mut progress = |written| *written_bytes = written;
            let (from, to, stop, progress) = (&source, &copy, &stop, &mut progress);
            Copying { from, to, links: None, account: None, stop, written: 0, progress }.all()
        };
        copying(&mut written_bytes).unwrap();
        assert_eq!(std::fs::read(to.join("base/1/2")).unwrap(), large);
        assert_eq!(std::fs::read(to.join("pg_wal/1")).unwrap(), b"log");
        assert!(!to.join("postmaster.pid").exists());
        assert_eq!(written_bytes, large.len() as u64 + 3);
        assert_eq!(sizes(&copy).unwrap(), DataFolderSizes { data: large.len() as u64, wal: 3 });

        assert_eq!(linked(&source, None).unwrap(), None);
        std::os::unix::fs::symlink("/elsewhere", from.join("pg_tblspc")).unwrap();
        assert_eq!(linked(&source, None).unwrap(), Some("pg_tblspc".into()));
        assert_eq!(linked(&source, Some(Path::new("/elsewhere"))).unwrap(), None);
    }

    #[test]
    fn only_a_shutdown_leaves_all_data_in_files() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join("global")).unwrap();
        let data = Home::at(top.path()).open().unwrap().unwrap();
        assert!(!is_shut_down(&data), "nothing is there");
        for (state, clean) in [(SHUT_DOWN, true), (6, false)] {
            let mut control = vec![0; 8192];
            control[STATE_AT..STATE_AT + 4].copy_from_slice(&u32::to_ne_bytes(state));
            std::fs::write(top.path().join("global/pg_control"), control).unwrap();
            assert_eq!(is_shut_down(&data), clean, "state {state}");
        }
    }
}
