//! Copies of a stopped server, so that arms run on equal data: `NAME.1`, `NAME.2`, next to the server NAME.
//!
//! A copy is made byte by byte: with shared blocks, one server's writes would slow down the other. A copy is
//! removed completely by the pgdyno that made it.

use std::io;
use std::path::PathBuf;

use protocol::postgres::sql::Sql;
use spec::Error;
use spec::plan::storage::Holds;

use super::data_folder::{Copying, DataFolderSizes, is_shut_down, linked, sizes};
use super::databases::TABLESPACE;
use super::error::{not_clean, not_ours, server_file_error};
use super::file_storage::{FileStorage, part_name, storage_folder_of};
use super::marker::{CopyOf, Marker};
use super::storage_choice::StorageChoice;
use super::{Choice, Cluster, Running, SOCKET_PORT, ServerOptions, create};
use crate::child::Account;
use crate::error::sql_error;
use crate::home::{Dir, Home, HomeFolder, passed_through};
use crate::storage::LINK;

/// Settings that may contain an absolute path without leading out of a copy: nothing is written there.
const ONLY_READ: [&str; 6] = [
    "shared_preload_libraries",
    "session_preload_libraries",
    "local_preload_libraries",
    "dynamic_library_path",
    "timezone_abbreviations",
    "krb_server_keyfile",
];

/// Size of a managed server's data folder; `None` where there is none.
#[must_use]
pub fn sizes_of(home: &Home, name: &str) -> Option<DataFolderSizes> {
    let (_, sizes) = sizes_in(home, name)?;
    Some(sizes)
}

/// As [`sizes_of`], with the size of the data folder alone.
fn sizes_in(home: &Home, name: &str) -> Option<(DataFolderSizes, DataFolderSizes)> {
    let folder = super::folder_of(home, name).ok()??;
    let marker = super::read_marker(&folder).ok()?.filter(|marker| marker.complete)?;
    let storage = storage_folder_of(&folder);
    let account = Account::unprivileged().ok()?;
    let data = super::data_in(&folder, storage.as_ref(), account.as_ref()).ok()??;
    let inside = sizes(&data).ok()?;
    let holds = marker.storage.map(|storage| storage.holds);
    Some((inside, sizes_with(inside, holds.zip(storage.as_ref()), account.as_ref()).ok()?))
}

/// The disks that a copy of this managed server would use, each by a folder on it, with the size there; empty
/// where there is no such server.
#[must_use]
pub fn disks_of(home: &Home, name: &str) -> Vec<(PathBuf, u64)> {
    let folder = home.path(HomeFolder::Clusters).join(name);
    let Some((inside, all)) = sizes_in(home, name) else { return Vec::new() };
    let data = folder.join(super::DATA);
    let inside = inside.data + inside.wal;
    let mut grounds = vec![(data, inside)];
    if let Some(rest) = (all.data + all.wal).checked_sub(inside).filter(|rest| *rest > 0) {
        grounds.push((folder.join(LINK), rest));
    }
    grounds
}

/// Adds the files that are stored elsewhere.
fn sizes_with(
    inside: DataFolderSizes,
    storage: Option<(Holds, &Dir)>,
    account: Option<&Account>,
) -> io::Result<DataFolderSizes> {
    let mut all = inside;
    let of = |folder: &Dir, holds: Holds| {
        let part = folder.open_for(part_name(holds), account)?.ok_or(io::ErrorKind::NotFound)?;
        sizes(&part)
    };
    match storage {
        Some((Holds::Wal, folder)) => {
            let wal = of(folder, Holds::Wal)?;
            all.wal += wal.data + wal.wal;
        }
        Some((Holds::Tablespace, folder)) => all.data += of(folder, Holds::Tablespace)?.data,
        Some((Holds::Data, _)) | None => {}
    }
    Ok(all)
}

pub(super) fn name_of(template: &str, number: u32) -> String {
    format!("{template}.{number}")
}

/// The server and the number in a copy's name.
pub(super) fn split_copy_name(name: &str) -> Option<(&str, u32)> {
    let (template, number) = name.rsplit_once('.')?;
    Some((template, number.parse().ok()?))
}

impl Cluster {
    /// Size of the data folder.
    pub fn sizes(&self) -> Result<DataFolderSizes, Error> {
        let storage = self.open_storage_folder()?;
        let storage =
            self.file_storage.as_ref().map(|file_storage| file_storage.storage.holds).zip(storage.as_ref());
        sizes(&self.data_folder()?)
            .and_then(|inside| sizes_with(inside, storage, self.account.as_ref()))
            .map_err(|error| server_file_error(&self.data(), error))
    }

    /// Why a copy of the running server would depend on the original; `None` where it would not.
    ///
    /// # Errors
    /// When a query fails, or the folder cannot be read.
    pub fn not_to_be_copied(&self) -> Result<Option<String>, Error> {
        let storage = self.file_storage.as_ref().map(FileStorage::path);
        if let Some(link) =
            linked(&self.data_folder()?, storage).map_err(|error| server_file_error(&self.data(), error))?
        {
            return Ok(Some(format!("{} is a link to elsewhere", self.data().join(link).display())));
        }
        let mut control = self.connect("postgres")?;
        let doing = "looking whether the server can be copied";
        let failed = |error| sql_error(doing, error);
        let read = ONLY_READ.map(|name| format!("'{name}'")).join(", ");
        let paths = format!(
            "SELECT string_agg(name || ' = ' || setting, ', ') FROM pg_catalog.pg_settings \
             WHERE sourcefile IS NOT NULL AND setting LIKE '/%' AND name NOT IN ({read})"
        );
        let elsewhere = "SELECT string_agg(DISTINCT sourcefile, ', ') FROM pg_catalog.pg_file_settings \
                         WHERE sourcefile NOT LIKE current_setting('data_directory') || '/%'";
        let of_ours = if self.file_storage.is_some() { TABLESPACE } else { "pg_default" };
        let tablespaces = format!(
            "SELECT string_agg(spcname, ', ') FROM pg_catalog.pg_tablespace \
             WHERE spcname NOT IN ('pg_default', 'pg_global', '{of_ours}')"
        );
        let slots = "SELECT string_agg(slot_name, ', ') FROM pg_catalog.pg_replication_slots";
        let archiving =
            "SELECT current_setting('archive_mode') WHERE current_setting('archive_mode') <> 'off'";
        for (what, query) in [
            ("it has further tablespaces", tablespaces.as_str()),
            ("it has replication slots, which would hold back the log of each copy", slots),
            ("it archives its log, and copies would do so into the same place: archive_mode", archiving),
            ("its configuration holds absolute paths, which copies would share", paths.as_str()),
            ("its configuration includes files from elsewhere", elsewhere),
        ] {
            if let Some(found) = control.scalar(query).map_err(failed)? {
                return Ok(Some(format!("{what} ({found})")));
            }
        }
        Ok(None)
    }

    /// Stops the server so that its files contain all data.
    pub fn stop_cleanly(&mut self) -> Result<(), Error> {
        self.stop()?;
        if is_shut_down(&self.data_folder()?) { Ok(()) } else { Err(not_clean(&self.data())) }
    }

    /// The copy with this number of this stopped server, not running; `made_for` identifies its purpose and
    /// source. An existing copy is reused if it is complete, was stopped cleanly and has the same `made_for`;
    /// otherwise it is made again. `progress` gets the number of bytes written.
    ///
    /// # Errors
    /// When the server runs, the disk is full, or the user asked to stop.
    pub fn copy(
        &self,
        number: u32,
        made_for: &str,
        options: &ServerOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self, Error> {
        // Run by the same programs.
        let made_for = &format!("{made_for} {}", self.installation.bin.display());
        let home = &self.home;
        let name = name_of(&self.name, number);
        let there = || super::folder_of(home, &name)?.map_or(Ok(None), |folder| super::read_marker(&folder));
        if let Some(marker) = there()? {
            self.remove_unless_on_same_storage(home, &name, &marker)?;
        }
        if there()?.is_some() {
            let choice = StorageChoice::SharedWith(self.file_storage.as_ref());
            let options = ServerOptions { choice: self.same_programs(), ..options.clone() };
            let old = Self::prepare(home, &name, &options, &self.watchdog, &self.stop, choice)?;
            if let Some(used_again) = old.if_as_made(made_for)? {
                return Ok(used_again);
            }
        }
        if !is_shut_down(&self.data_folder()?) {
            return Err(not_clean(&self.data()));
        }
        let mut copy = self.empty_copy(home, name, made_for)?;
        if let Err(error) = copy.fill(self, progress) {
            // A partial copy is useless, and may be what filled the disk.
            let _ = copy.destroy();
            return Err(error);
        }
        copy.marker.complete = true;
        copy.marker.set_via(options.via);
        copy.write_marker()?;
        Ok(copy)
    }

    /// Starts a copy, as [`Cluster::ensure`] starts a server.
    pub fn start_copy(&mut self, options: &ServerOptions) -> Result<(), Error> {
        self.adopt(options)?;
        self.start()?;
        self.ensure_network()
    }

    /// Numbers of its existing copies.
    #[must_use]
    pub fn copies(&self) -> Vec<u32> {
        let clusters = self.home.part(HomeFolder::Clusters).ok().flatten();
        let names = clusters.and_then(|clusters| clusters.names().ok()).unwrap_or_default();
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        let of_this = |name: String| match split_copy_name(&name) {
            Some((template, number)) if template == self.name => Some(number),
            _ => None,
        };
        let mut numbers: Vec<u32> = names.filter_map(of_this).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Removes its copies with `unwanted` numbers.
    ///
    /// # Errors
    /// When one is in use, or cannot be removed.
    pub fn destroy_copies(&self, unwanted: &dyn Fn(u32) -> bool) -> Result<(), Error> {
        for number in self.copies().into_iter().filter(|number| unwanted(*number)) {
            let name = name_of(&self.name, number);
            if let Some(copy) = Self::find(&self.home, &name, &self.watchdog, &self.stop)? {
                copy.destroy()?;
            }
        }
        Ok(())
    }

    /// Permanent changes to a copy, as set by [`Cluster::set_done_for_good`].
    #[must_use]
    pub fn done(&self) -> Option<&str> {
        self.marker.copy.as_ref()?.done.as_deref()
    }

    /// Records permanent changes to a copy. Set `None` before they begin: until they are done the copy is
    /// incomplete, and is made again after a crash.
    pub fn set_done_for_good(&mut self, done: Option<&str>) -> Result<(), Error> {
        self.marker.complete = done.is_some();
        if let Some(copy) = &mut self.marker.copy {
            copy.done = done.map(str::to_owned);
        }
        self.write_marker()
    }

    /// Whether it is a copy.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        self.marker.copy.is_some()
    }

    /// The copy itself if it can be reused; otherwise removes it.
    fn if_as_made(mut self, made_for: &str) -> Result<Option<Self>, Error> {
        if let Some(server) = self.found_running()? {
            // An orphan: its watchdog is stopping it, or is dead as well.
            self.running = Running::Detached(server.pid);
            self.stop()?;
        }
        self.restore_settings()?;
        let same = self.marker.copy.as_ref().is_some_and(|copy| copy.made_for == made_for);
        let is_whole = || self.data_folder().is_ok_and(|data| is_shut_down(&data));
        if self.marker.complete && same && is_whole() && !self.journal().exists() {
            return Ok(Some(self));
        }
        self.destroy()?;
        Ok(None)
    }

    /// The folder of a copy, locked and marked as incomplete.
    fn empty_copy(&self, home: &Home, name: String, made_for: &str) -> Result<Self, Error> {
        let account = Account::unprivileged()?;
        let clusters = home.make_part(HomeFolder::Clusters, account.as_ref())?;
        let folder = clusters
            .make(&name, passed_through(account.is_some()))
            .map_err(|error| server_file_error(&clusters.path().join(&name), error))?;
        if super::read_marker(&folder)?.is_none() && !super::is_empty(&folder) {
            return Err(not_ours(folder.path()));
        }
        let marker = Marker {
            bin: self.installation.bin.clone(),
            complete: false,
            port: SOCKET_PORT,
            detached: false,
            copy: Some(CopyOf { template: self.name.clone(), made_for: made_for.to_owned(), done: None }),
            ..self.marker.clone()
        };
        marker.write(&folder).map_err(|error| server_file_error(folder.path(), error))?;
        let _ = folder.remove_file(LINK);
        let choice = StorageChoice::SharedWith(self.file_storage.as_ref());
        let options = ServerOptions { choice: self.same_programs(), ..ServerOptions::default() };
        Self::prepare(home, &name, &options, &self.watchdog, &self.stop, choice)
    }

    /// A copy is run by the programs of its template. As root those of a build would not be taken from the marker, and
    /// the system's of the same major version would run it.
    fn same_programs(&self) -> Choice {
        Choice { pg_bin: Some(self.installation.bin.clone()), version: None }
    }

    /// Removes a copy whose files are not on the same storage as the server's.
    fn remove_unless_on_same_storage(&self, home: &Home, name: &str, copy: &Marker) -> Result<(), Error> {
        let folder = super::folder_of(home, name)?;
        let is_shared = match &self.file_storage {
            Some(file_storage) => {
                folder.is_some_and(|folder| file_storage.is_on_same_storage(copy.storage.as_ref(), &folder))
            }
            None => copy.storage.is_none(),
        };
        if is_shared {
            return Ok(());
        }
        let copy = Self::find(home, name, &self.watchdog, &self.stop)?;
        copy.map_or(Ok(()), Self::destroy)
    }

    fn fill(&self, template: &Self, progress: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let account = self.account.as_ref();
        let data = create::empty_data(&self.folder, self.file_storage.as_ref(), account)?;
        let mut parts = vec![(template.data_folder()?, data)];
        if let Some((from, to)) = template.file_storage.as_ref().zip(self.file_storage.as_ref())
            && to.storage.holds != Holds::Data
        {
            parts.push((from.open_part(account)?, to.open_part(account)?));
        }
        let links = template.file_storage.as_ref().zip(self.file_storage.as_ref());
        let links = links.map(|(from, to)| (from.path(), to.path()));
        let mut written = 0;
        for (from, to) in parts {
            let stop = &self.stop;
            let mut copying = Copying { from: &from, to: &to, links, account, stop, written, progress };
            match copying.all() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    return Err(Error::stopped());
                }
                other => other.map_err(|error| server_file_error(to.path(), error))?,
            }
            written = copying.written;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_called_after_its_server() {
        assert_eq!(split_copy_name(&name_of("main-15", 2)), Some(("main-15", 2)));
        for none in ["main", "main.", "main.x", "main.-1"] {
            assert_eq!(split_copy_name(none), None, "{none}");
        }
    }
}
