//! A server and the storage of its files: as requested, as it exists, or shared with its template.

use std::path::PathBuf;

use spec::plan::storage::{Holds, Storage};
use spec::{Class, Error};

use super::error::{server_file_error, would_not_stop};
use super::file_storage::{FileStorage, For, storage_folder_of};
use super::installation::Installation;
use super::marker::Marker;
use super::postmaster::{self, PidFile};
use super::serve::STOP_TIMEOUT;
use super::{Cluster, ServerOptions};
use crate::build::tree_of;
use crate::child::Account;
use crate::home::{Dir, Home};
use crate::storage::Used;

/// Where the files of a server should be.
#[derive(Debug, Clone, Copy)]
pub(super) enum StorageChoice<'a> {
    /// As in the options; a server that is stored elsewhere is refused.
    Requested,
    /// Wherever they are, even if that is gone.
    Existing,
    /// On the storage of the server that it is a copy of.
    SharedWith(Option<&'a FileStorage>),
}

/// The existing server, if it matches the request. A server on a filesystem that was made for it and is gone
/// is removed, except for the lock, which must be held.
pub(super) fn check(
    found: Option<Marker>,
    folder: &Dir,
    name: &str,
    options: &ServerOptions,
    choice: &StorageChoice<'_>,
) -> Result<Option<Marker>, Error> {
    if !matches!(choice, StorageChoice::Requested) {
        return Ok(found);
    }
    if options.detached && options.storage.as_ref().is_some_and(Storage::is_made) {
        let what = "a server that stays can have no filesystem made for it";
        return Err(Error::new(Class::Usage, what).with_hint("name a folder on a filesystem instead"));
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
        let (existing, asked) = (words(&marker.storage), words(&options.storage));
        let what = format!("managed server {name:?} has {existing}, but is asked for with {asked}");
        let hint = format!("use another name, or remove it with: pgdyno target destroy {name}");
        return Err(Error::new(Class::Usage, what).with_hint(hint));
    }
    Ok(Some(marker))
}

/// The existing server, unless it was made by another version, build or options and may be replaced; it is removed then.
/// Why, if so.
pub(super) fn without_other_version(
    found: Option<Marker>,
    folder: &Dir,
    options: &ServerOptions,
) -> Result<(Option<Marker>, Option<&'static str>), Error> {
    let Some(marker) = found else { return Ok((None, None)) };
    let other_initdb = options.replaces_versions && marker.initdb != options.initdb;
    if !options.replaces_versions || marker.is_kept || marker.detached {
        if other_initdb {
            let name = folder.path().file_name().unwrap_or_default().display();
            let what = format!("private server {name} was made by initdb with other options, and is kept");
            return Err(Error::new(Class::Usage, what)
                .with_hint(format!("remove it with: pgdyno target destroy {name}")));
        }
        return Ok((Some(marker), None));
    }
    if marker.initdb != options.initdb {
        clear(folder)?;
        return Ok((None, Some("initdb with other options")));
    }
    match Installation::find(&options.choice) {
        Ok(asked) if asked.major != marker.major => {
            clear(folder)?;
            Ok((None, Some("another major version of PostgreSQL")))
        }
        // Extensions, functions and catalogs of another build would be measured in the name of this one.
        Ok(asked) if marker.build.as_ref() != Some(&tree_of(&asked.bin)?.sha256) => {
            clear(folder)?;
            Ok((None, Some("another build of PostgreSQL")))
        }
        _ => Ok((Some(marker), None)),
    }
}

fn clear(folder: &Dir) -> Result<(), Error> {
    let account = Account::unprivileged()?;
    // The storage of its files may be gone.
    let data = super::data_in(folder, storage_folder_of(folder).as_ref(), account.as_ref()).ok().flatten();
    if let Some(data) = data
        && let Some(server) = PidFile::running(&data)
        && !postmaster::stop(server.pid, &data, STOP_TIMEOUT)
    {
        return Err(would_not_stop(server.pid));
    }
    let names = folder.names().map_err(|error| server_file_error(folder.path(), error))?;
    for name in names.iter().filter(|name| *name != crate::lock::LOCK) {
        folder.remove_all(name).map_err(|error| server_file_error(&folder.path().join(name), error))?;
    }
    Ok(())
}

impl Cluster {
    /// Finds or makes the folder of its files. A folder to be made is recorded in its marker first.
    pub(super) fn take_storage(&mut self, home: &Home, choice: &StorageChoice<'_>) -> Result<(), Error> {
        let Some(storage) = self.marker.storage.clone() else { return Ok(()) };
        let (name, account) = (self.name.clone(), self.account.clone());
        let (watchdog, stop) = (self.watchdog.clone(), self.stop.clone());
        let who = For { home, name: &name, account: account.as_ref(), watchdog: &watchdog, stop: &stop };
        let other = if let StorageChoice::SharedWith(other) = choice { *other } else { None };
        if !self.marker.complete && !matches!(choice, StorageChoice::Existing) {
            self.write_marker()?;
            self.file_storage = Some(FileStorage::make(&storage, &who, other)?);
            return Ok(());
        }
        self.file_storage = match (FileStorage::find(&storage, &who), other) {
            (Ok(file_storage), Some(other)) => Some(file_storage.sharing(other)),
            (Ok(file_storage), None) => Some(file_storage),
            (Err(_), _) if matches!(choice, StorageChoice::Existing) => None,
            (Err(error), _) => return Err(error),
        };
        Ok(())
    }

    /// Whether the storage of its files is gone.
    pub(super) fn has_lost_its_storage(&self) -> bool {
        self.marker.storage.is_some() && self.file_storage.is_none()
    }

    /// A folder on the disk that is full when the server reports that.
    pub(super) fn disk_folder(&self) -> PathBuf {
        self.file_storage
            .as_ref()
            .map_or_else(|| self.folder.path().to_owned(), |file_storage| file_storage.path().to_owned())
    }

    /// The storage of its files, and which files if not all, in words: `xfs (its write-ahead log)`; `None`
    /// where all are in its folder.
    #[must_use]
    pub fn storage_label(&self) -> Option<String> {
        let label = self.file_storage.as_ref().map(FileStorage::label)?;
        Some(match self.storage_holds()? {
            Holds::Data => label.to_owned(),
            Holds::Tablespace => format!("{label} (its databases)"),
            Holds::Wal => format!("{label} (its write-ahead log)"),
        })
    }

    /// Which of its files are stored elsewhere.
    #[must_use]
    pub fn storage_holds(&self) -> Option<Holds> {
        self.file_storage.as_ref().and(self.marker.storage.as_ref()).map(|storage| storage.holds)
    }

    /// Size of its files that are stored elsewhere, after a sync; `None` where all are in its folder. On a
    /// ZFS that was made, it is everything there, including copies. Data that the server has not written yet
    /// do not count: run a checkpoint before.
    pub fn storage_used(&self) -> Result<Option<Used>, Error> {
        self.file_storage.as_ref().map(FileStorage::used).transpose()
    }

    /// Unmounts the filesystem that was made for it and mounts it again, so that none of its data are in memory.
    /// The server is stopped for that, and started again if it ran. False where there is no such filesystem;
    /// nothing is done then.
    ///
    /// # Errors
    /// When somebody else uses it, such as a running copy, or the server does not stop or start.
    pub fn drop_storage_caches(&mut self) -> Result<bool, Error> {
        let is_made = self.marker.storage.as_ref().is_some_and(Storage::is_made);
        let Some(file_storage) = self.file_storage.as_ref().filter(|_| is_made) else { return Ok(false) };
        if self.pid().is_none() {
            return file_storage.again();
        }
        self.stop()?;
        let done = self.file_storage.as_ref().map_or(Ok(false), FileStorage::again);
        self.start()?;
        done
    }
}
