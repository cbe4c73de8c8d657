//! A server and what its files stand on: as it was asked for, as it is, or beside the server that it is a copy of.

use std::path::PathBuf;

use spec::{Class, Error};

use super::error::{file, would_not_stop};
use super::marker::Marker;
use super::postmaster::{self, PidFile};
use super::serve::STOP_PATIENCE;
use super::stand::{For, Stand, stand_of};
use super::{Cluster, Options};
use crate::child::Account;
use crate::home::{Dir, Home};
use crate::storage::{Holds, Storage, Used};

/// Where the files of a server are to stand.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stands<'a> {
    /// As the options say; one that stands elsewhere is refused.
    AsAsked,
    /// Wherever they stand, even nowhere any more.
    AsItIs,
    /// On what those of the server stand on that it is a copy of.
    Beside(Option<&'a Stand>),
}

/// The server that is there, if it can be used as asked for. Of one on a filesystem that was made for it nothing is of use:
/// it is removed, except for the lock, which must be held.
pub(super) fn check(
    found: Option<Marker>,
    folder: &Dir,
    name: &str,
    options: &Options,
    stands: &Stands<'_>,
) -> Result<Option<Marker>, Error> {
    if !matches!(stands, Stands::AsAsked) {
        return Ok(found);
    }
    if options.detached && options.storage.as_ref().is_some_and(Storage::is_made) {
        let what = "a server that stays can have no filesystem made for it; name a folder on one instead";
        return Err(Error::new(Class::Usage, what));
    }
    let Some(marker) = found else { return Ok(None) };
    if marker.storage.as_ref().is_some_and(Storage::is_made) {
        clear(folder)?;
        return Ok(None);
    }
    if marker.storage != options.storage {
        let words = |storage: &Option<Storage>| {
            storage.as_ref().map_or_else(|| "all its files in pgdyno's own folder".to_owned(), Storage::words)
        };
        let (stands, asked) = (words(&marker.storage), words(&options.storage));
        let what = format!(
            "managed server {name:?} has {stands}, but is asked for with {asked}; use another name, or remove it with: pgdyno \
             target destroy {name}"
        );
        return Err(Error::new(Class::Usage, what));
    }
    Ok(Some(marker))
}

fn clear(folder: &Dir) -> Result<(), Error> {
    let account = Account::unprivileged()?;
    // What its files stood on may be gone.
    let data = super::data_in(folder, stand_of(folder).as_ref(), account.as_ref()).ok().flatten();
    if let Some(data) = data
        && let Some(server) = PidFile::running(&data)
        && !postmaster::stop(server.pid, &data, STOP_PATIENCE)
    {
        return Err(would_not_stop(server.pid));
    }
    let names = folder.names().map_err(|error| file(folder.path(), error))?;
    for name in names.iter().filter(|name| *name != crate::lock::LOCK) {
        folder.remove_all(name).map_err(|error| file(&folder.path().join(name), error))?;
    }
    Ok(())
}

impl Cluster {
    /// Where its files stand: found, or made. What is to be made is in its marker before.
    pub(super) fn take_stand(&mut self, home: &Home, stands: &Stands<'_>) -> Result<(), Error> {
        let Some(storage) = self.marker.storage.clone() else { return Ok(()) };
        let (name, account) = (self.name.clone(), self.account.clone());
        let (watchdog, stop) = (self.watchdog.clone(), self.stop.clone());
        let who = For { home, name: &name, account: account.as_ref(), watchdog: &watchdog, stop: &stop };
        let beside = if let Stands::Beside(beside) = stands { *beside } else { None };
        if !self.marker.complete && !matches!(stands, Stands::AsItIs) {
            self.write_marker()?;
            self.stand = Some(Stand::make(&storage, &who, beside)?);
            return Ok(());
        }
        self.stand = match (Stand::find(&storage, &who), beside) {
            (Ok(stand), Some(other)) => Some(stand.beside(other)),
            (Ok(stand), None) => Some(stand),
            (Err(_), _) if matches!(stands, Stands::AsItIs) => None,
            (Err(error), _) => return Err(error),
        };
        Ok(())
    }

    /// What its files stand on is not there any more.
    pub(super) fn has_lost_its_stand(&self) -> bool {
        self.marker.storage.is_some() && self.stand.is_none()
    }

    /// A folder on the disk that is full when the server says so.
    pub(super) fn disk_folder(&self) -> PathBuf {
        self.stand.as_ref().map_or_else(|| self.folder.path().to_owned(), |stand| stand.path().to_owned())
    }

    /// What its files stand on, and which where it is not all, in words: `xfs (its write-ahead log)`; `None` where all stand in
    /// its folder.
    #[must_use]
    pub fn storage_label(&self) -> Option<String> {
        let label = self.stand.as_ref().map(Stand::label)?;
        Some(match self.storage_holds()? {
            Holds::Data => label.to_owned(),
            Holds::Tablespace => format!("{label} (its databases)"),
            Holds::Wal => format!("{label} (its write-ahead log)"),
        })
    }

    /// Which of its files those are.
    #[must_use]
    pub fn storage_holds(&self) -> Option<Holds> {
        self.stand.as_ref().and(self.marker.storage.as_ref()).map(|storage| storage.holds)
    }

    /// What those of its files take that stand elsewhere, after everything was written out; nothing where all stand in its
    /// folder. Of ZFS that was made, it is all that stands there, copies too. What the server has not written yet is not
    /// counted: a checkpoint before makes it write.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn storage_used(&self) -> Result<Option<Used>, Error> {
        self.stand.as_ref().map(Stand::used).transpose()
    }

    /// Unmounts the filesystem that was made for it and mounts it again, so that nothing of it is in memory; the server is
    /// stopped for that, and started again if it ran. Answers whether there is such a filesystem; where there is none,
    /// nothing is done.
    ///
    /// # Errors
    /// When somebody else uses it, such as a copy that runs, or the server does not stop or start.
    pub fn drop_storage_caches(&mut self) -> Result<bool, Error> {
        let is_made = self.marker.storage.as_ref().is_some_and(Storage::is_made);
        let Some(stand) = self.stand.as_ref().filter(|_| is_made) else { return Ok(false) };
        if self.pid().is_none() {
            return stand.again();
        }
        self.stop()?;
        let done = self.stand.as_ref().map_or(Ok(false), Stand::again);
        self.start()?;
        done
    }
}
