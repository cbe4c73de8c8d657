//! PostgreSQL servers that pgdyno makes and owns.
//!
//! Each has a folder in the home: a marker that it is ours, a lock, the data, and the server's log. The
//! server listens on a socket in a private folder; it runs under a watchdog unless it is *detached* (`target
//! start`).

mod auto_conf;
mod copy;
mod crash;
mod create;
mod data_folder;
mod databases;
mod error;
mod file_storage;
mod initdb_options;
mod installation;
mod log;
mod marker;
mod network;
mod orphans;
mod postmaster;
mod serve;
mod status;
mod storage_choice;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use spec::plan::storage::Storage;
use spec::{Class, Error, is_disk_full};

pub use copy::{disks_of, sizes_of};
pub use crash::{FailedStatement, ServerCrash};
pub use data_folder::DataFolderSizes;
pub use initdb_options::check_initdb_option;
pub use installation::{Choice, Installation, no_server_in, real_folder};
pub use network::NetworkAccess;
pub use orphans::stop_orphans;
pub(crate) use status::journals;
pub use status::{Status, list, status};

pub(crate) use self::databases::place_of;
pub(crate) use self::error::LastLines;
use self::error::{
    in_use, is_of_other_catalog, not_found, not_ours, other_catalog, other_version, server_file_error,
};
use self::file_storage::{FileStorage, is_left_over};
use self::log::ServerLog;
use self::marker::Marker;
use self::network::Network;
use self::postmaster::PidFile;
pub(crate) use self::serve::is_ready;
use self::storage_choice::StorageChoice;
use crate::build::tree_of;
use crate::child::{Account, Child, Watchdog};
use crate::home::{Dir, Home, HomeFolder, passed_through, remove_socket_folder};
use crate::lock::{Lock, LockResult};
use crate::settings::journal::JournalFile;
use crate::stop::Stop;

/// The superuser of managed servers.
pub const SUPERUSER: &str = "postgres";
/// Default database of managed servers.
pub const DATABASE: &str = "pgdyno";

/// Port of servers without network: only a part of the socket's name, so that `psql -h FOLDER` finds it.
const SOCKET_PORT: u16 = 5432;

/// In the server's folder: everything the server writes.
const DATA: &str = "data";

/// The requested properties of a managed server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerOptions {
    pub choice: Choice,
    /// How it is reached; a running detached server keeps its ways as well.
    pub via: NetworkAccess,
    /// Continue when pgdyno ends, until it is stopped explicitly.
    pub detached: bool,
    /// Where some of its files are stored; all are in its folder when `None`.
    pub storage: Option<Storage>,
    /// Whether data of another version or build are removed. An arm that is a build needs this: its folder may hold another
    /// build now.
    pub replaces_versions: bool,
    /// Further options of initdb ([`check_initdb_option`]). A server that was made with others is made again, if its versions
    /// may be replaced.
    pub initdb: Vec<String>,
}

/// A managed server in use; dropping it stops the server, unless it is detached.
#[derive(Debug)]
pub struct Cluster {
    home: Home,
    name: String,
    /// Owned by us; the server writes in `data`.
    folder: Dir,
    installation: Installation,
    /// Why its data folder was made again.
    made_again: Option<&'static str>,
    /// Whether the installation was found on this machine, or named. Otherwise it comes from the marker, and
    /// is not run.
    is_found: bool,
    account: Option<Account>,
    watchdog: Watchdog,
    stop: Stop,
    marker: Marker,
    log: ServerLog,
    log_start: u64,
    socket_folder: PathBuf,
    running: Running,
    /// The signal that ended the server since its last start.
    killed_by: Option<u32>,
    /// What network clients need; present for a running server with network.
    network: Option<Network>,
    /// Released when the server is stopped.
    _lock: Lock,
    /// Dropped last: a filesystem made for the server is removed with its folder, unless another server uses
    /// it by then.
    file_storage: Option<FileStorage>,
}

#[derive(Debug)]
enum Running {
    No,
    Watched(Child),
    Detached(u32),
}

impl Cluster {
    /// The running server of this name: made if it does not exist, repaired if an earlier pgdyno died,
    /// started if it is stopped. A running detached server is used unchanged, and continues afterwards.
    ///
    /// # Errors
    /// When there is no PostgreSQL, no space, another user of it, or it does not start.
    pub fn ensure(
        home: &Home,
        name: &str,
        options: &ServerOptions,
        watchdog: &Watchdog,
        stop: &Stop,
    ) -> Result<Self, Error> {
        check_name(name)?;
        let mut cluster = Self::prepare(home, name, options, watchdog, stop, StorageChoice::Requested)?;
        cluster.adopt(options)?;
        match cluster.start() {
            Err(error) if is_of_other_catalog(&error) => cluster.make_again()?,
            started => started?,
        }
        cluster.ensure_network()?;
        Ok(cluster)
    }

    /// Makes its data folder again, for programs with another catalog, and starts it. What is in it can be read by nobody
    /// else here, and experiments prepare it again.
    fn make_again(&mut self) -> Result<(), Error> {
        if self.marker.is_kept {
            return Err(other_catalog(&self.name, &self.installation.bin));
        }
        self.marker = Marker {
            server_version: self.installation.version.clone(),
            bin: self.installation.bin.clone(),
            complete: false,
            ..self.marker.clone()
        };
        self.make_data()?;
        self.start()?;
        self.made_again = Some("another catalog version of PostgreSQL");
        Ok(())
    }

    /// Why its data folder was made again, if it was: `another catalog version of PostgreSQL`.
    #[must_use]
    pub fn made_again(&self) -> Option<&'static str> {
        self.made_again
    }

    /// The existing server of this name, running or not; its state does not change.
    ///
    /// # Errors
    /// When there is none, or another pgdyno uses it.
    pub fn open(home: &Home, name: &str, watchdog: &Watchdog, stop: &Stop) -> Result<Self, Error> {
        Self::find(home, name, watchdog, stop)?.ok_or_else(|| not_found(name))
    }

    /// As [`Self::open`], if it exists.
    fn find(home: &Home, name: &str, watchdog: &Watchdog, stop: &Stop) -> Result<Option<Self>, Error> {
        copy::split_copy_name(name).map_or_else(|| check_name(name), |(template, _)| check_name(template))?;
        let folder = folder_of(home, name)?;
        let marker = folder.as_ref().map_or(Ok(None), read_marker)?;
        let is_there = folder.zip(marker).is_some_and(|(folder, marker)| {
            let storage = marker.storage.as_ref();
            !is_left_over(&folder, storage)
        });
        if !is_there {
            return Ok(None);
        }
        let mut cluster =
            Self::prepare(home, name, &ServerOptions::default(), watchdog, stop, StorageChoice::Existing)?;
        if let Some(server) = cluster.found_running()? {
            cluster.running = Running::Detached(server.pid);
        }
        Ok(Some(cluster))
    }

    /// Stops the server and removes all its files and copies.
    pub fn destroy(mut self) -> Result<(), Error> {
        self.destroy_copies(&|_| true)?;
        self.remove()
    }

    /// As [`Self::destroy`], for a server without copies.
    pub(crate) fn remove(&mut self) -> Result<(), Error> {
        self.stop()?;
        if read_marker(&self.folder)?.is_none() {
            return Err(not_ours(self.folder.path()));
        }
        self.file_storage.as_ref().map_or(Ok(()), FileStorage::remove)?;
        // The marker goes last: the rest of an interrupted removal is still known as ours.
        let failed = |error| server_file_error(self.folder.path(), error);
        for name in self.folder.names().map_err(failed)?.iter().filter(|name| !Marker::is(name)) {
            self.folder.remove_all(name).map_err(failed)?;
        }
        if let Some(clusters) = self.home.part(HomeFolder::Clusters)? {
            clusters.remove_all(&self.name).map_err(failed)?;
        }
        remove_socket_folder(self.folder.path());
        Ok(())
    }

    /// The name that it was made under; a copy of it adds `.1`, `.2` and so on.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder of the server: data, sockets, log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The server's log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.log.path()
    }

    /// Its data folder.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.folder.path().join(DATA)
    }

    /// The folder of its socket, for `psql -h`.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        &self.socket_folder
    }

    /// Its port; without network only a part of the socket's name.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.marker.port
    }

    /// Whether it continues when pgdyno ends.
    #[must_use]
    pub fn is_detached(&self) -> bool {
        self.marker.detached
    }

    /// The PostgreSQL it is run by.
    #[must_use]
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Which `postgres` it runs: as the system says while it runs, else what would be started.
    #[must_use]
    pub fn running_program(&self) -> PathBuf {
        let started = self.installation.program("postgres");
        let exe = self.pid().and_then(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok());
        // A script that starts PostgreSQL names it itself.
        exe.filter(|_| is_binary(&started)).or_else(|| started.canonicalize().ok()).unwrap_or(started)
    }

    /// Pid of its postmaster, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        match &self.running {
            Running::No => None,
            Running::Watched(child) => Some(child.pid()),
            Running::Detached(pid) => Some(*pid),
        }
    }

    /// Keeps a copy of `postgresql.auto.conf` to restore later, even by another pgdyno.
    pub fn keep_settings(&self) -> Result<(), Error> {
        auto_conf::keep(&self.folder, &self.data_folder()?)
            .map_err(|error| server_file_error(&self.data().join(auto_conf::LIVE), error))
    }

    /// Restores the copy of `postgresql.auto.conf`; false if there is none. The server does not notice.
    pub fn restore_settings(&self) -> Result<bool, Error> {
        if !auto_conf::is_kept(&self.folder) {
            return Ok(false);
        }
        auto_conf::restore(&self.folder, &self.data_folder()?, self.account.as_ref())
            .map_err(|error| self.file_error(auto_conf::KEPT, error))
    }

    /// The journal of what must be undone on it (see [`crate::settings::journal`]).
    pub(crate) fn journal(&self) -> JournalFile {
        journal_in(&self.folder)
    }

    fn data_folder(&self) -> Result<Dir, Error> {
        let found = data_in(&self.folder, self.open_storage_folder()?.as_ref(), self.account.as_ref())?;
        found.ok_or_else(|| server_file_error(&self.data(), std::io::ErrorKind::NotFound.into()))
    }

    /// The server that runs in its data folder, if any.
    fn found_running(&self) -> Result<Option<PidFile>, Error> {
        let data = data_in(&self.folder, self.open_storage_folder()?.as_ref(), self.account.as_ref())?;
        Ok(data.and_then(|data| PidFile::running(&data)))
    }

    /// The folder of its files that are stored elsewhere, open.
    fn open_storage_folder(&self) -> Result<Option<Dir>, Error> {
        self.file_storage.as_ref().map(FileStorage::open).transpose()
    }

    fn file_error(&self, name: &str, error: std::io::Error) -> Error {
        server_file_error(&self.folder.path().join(name), error)
    }

    /// Checks or makes folder, lock, marker and data.
    fn prepare(
        home: &Home,
        name: &str,
        options: &ServerOptions,
        watchdog: &Watchdog,
        stop: &Stop,
        choice: StorageChoice<'_>,
    ) -> Result<Self, Error> {
        let account = Account::unprivileged()?;
        let clusters = home.make_part(HomeFolder::Clusters, account.as_ref())?;
        let folder = clusters
            .make(name, passed_through(account.is_some()))
            .map_err(|error| server_file_error(&clusters.path().join(name), error))?;
        let lock = match Lock::take(&folder) {
            Ok(LockResult::Ours(lock)) => lock,
            Ok(LockResult::Held(pid)) => return Err(in_use(name, pid)),
            Err(source) => return Err(server_file_error(&folder.path().join(crate::lock::LOCK), source)),
        };
        let found = read_marker(&folder)?;
        let found = storage_choice::check(found, &folder, name, options, &choice)?;
        let (found, made_again) = storage_choice::without_other_version(found, &folder, options)?;
        let is_found = found.is_none() || !matches!(choice, StorageChoice::Existing);
        let (installation, marker) = match found {
            Some(marker) if !is_found => (installation_of(&marker), marker),
            Some(marker) => (installation_for(&marker, &options.choice, name)?, marker),
            None if is_empty(&folder) => {
                let installation = Installation::find(&options.choice)?;
                let (storage, initdb) = (options.storage.clone(), options.initdb.clone());
                let build = options.replaces_versions.then(|| tree_of(&installation.bin)).transpose()?;
                let build = build.map(|build| build.sha256);
                let marker = Marker { storage, initdb, build, ..fresh_marker(&installation) };
                (installation, marker)
            }
            None => return Err(not_ours(folder.path())),
        };
        let log = ServerLog::new(&folder);
        let mut cluster = Self {
            home: home.clone(),
            name: name.to_owned(),
            log_start: log.length(),
            folder,
            installation,
            made_again,
            is_found,
            account,
            watchdog: watchdog.clone(),
            stop: stop.clone(),
            marker,
            log,
            socket_folder: PathBuf::new(),
            running: Running::No,
            killed_by: None,
            network: None,
            _lock: lock,
            file_storage: None,
        };
        cluster.take_storage(home, &choice)?;
        cluster.make_data()?;
        cluster.make_socket_folder()?;
        Ok(cluster)
    }

    /// Runs initdb, unless an earlier one finished.
    fn make_data(&mut self) -> Result<(), Error> {
        // A server opened only to be stopped or removed gets no data. A copy's missing data are only in its
        // template.
        if !self.is_found || self.marker.copy.is_some() || self.has_lost_its_storage() {
            return Ok(());
        }
        // Untrusted data are an error, not missing: missing data would be replaced.
        let data = data_in(&self.folder, self.open_storage_folder()?.as_ref(), self.account.as_ref());
        if self.marker.complete && data?.is_some_and(|data| data.has("PG_VERSION")) {
            return Ok(());
        }
        self.marker.complete = false;
        self.write_marker()?;
        let account = self.account.as_ref();
        let file_storage = self.file_storage.as_ref();
        let made = create::init(
            &self.folder,
            file_storage,
            (&self.installation, &self.marker.initdb),
            account,
            &self.watchdog,
            &self.stop,
        );
        if let (Err(_), Some(file_storage)) = (&made, file_storage) {
            // A partial server on a full disk is useless; the next try starts over.
            let _ = file_storage.remove();
        }
        let made = made.map_err(|error| match error.cause::<std::io::Error>() {
            Some(source) if is_disk_full(source) => self.is_full(&source.to_string()),
            _ => error,
        });
        self.marker.locale = made?.to_owned();
        self.marker.complete = true;
        self.write_marker()
    }

    /// Handles what an earlier pgdyno left: a running server, settings that were not restored. Changing the
    /// way to reach it needs a restart.
    fn adopt(&mut self, options: &ServerOptions) -> Result<(), Error> {
        if self.marker.via() < options.via {
            self.check_can(options.via)?;
        }
        let changed = self.restore_settings()?;
        // A server that is not detached is an orphan: its watchdog is stopping it, or is dead as well.
        let mut stays = false;
        if let Some(server) = self.found_running()? {
            self.running = Running::Detached(server.pid);
            stays = self.marker.detached;
            if !stays || changed || self.marker.via() < options.via {
                self.stop()?;
            }
        }
        let mut marker = self.marker.clone();
        marker.is_kept |= marker.detached || options.detached;
        marker.detached = options.detached || stays;
        marker.set_via(if stays { options.via.max(marker.via()) } else { options.via });
        if marker != self.marker {
            self.marker = marker;
            self.write_marker()?;
        }
        Ok(())
    }

    fn write_marker(&self) -> Result<(), Error> {
        self.marker.write(&self.folder).map_err(|error| server_file_error(self.folder.path(), error))
    }
}

/// The folder of the programs that run, or would run, the server of this name; `None` if there are none.
#[must_use]
pub fn programs_of(home: &Home, name: &str, choice: &Choice) -> Option<PathBuf> {
    let marker = folder_of(home, name).ok().flatten().and_then(|folder| read_marker(&folder).ok().flatten());
    let found = match marker.filter(|_| choice.pg_bin.is_none()) {
        Some(marker) => installation_for(&marker, choice, name),
        None => Installation::find(choice),
    };
    found.ok().map(|found| found.bin)
}

fn folder_of(home: &Home, name: &str) -> Result<Option<Dir>, Error> {
    let Some(clusters) = home.part(HomeFolder::Clusters)? else { return Ok(None) };
    clusters.open(name).map_err(|error| server_file_error(&clusters.path().join(name), error))
}

fn read_marker(folder: &Dir) -> Result<Option<Marker>, Error> {
    Marker::read(folder).map_err(|error| server_file_error(&folder.path().join(marker::MARKER), error))
}

/// The data folder of a server, which belongs to the account that runs it: in its folder, or where a link
/// there leads.
fn data_in(folder: &Dir, storage: Option<&Dir>, account: Option<&Account>) -> Result<Option<Dir>, Error> {
    let above = storage.filter(|_| folder.has_link(DATA)).unwrap_or(folder);
    if account.is_some() && matches!(above.open(DATA), Ok(Some(_))) {
        // Its maker was killed before the folder was given to the account.
        return Ok(None);
    }
    let found = above.open_for(DATA, account);
    found.map_err(|error| server_file_error(&folder.path().join(DATA), error))
}

fn journal_in(folder: &Dir) -> JournalFile {
    JournalFile::new(folder, "journal.json")
}

fn check_name(name: &str) -> Result<(), Error> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=40).contains(&name.len()) && name.bytes().all(fits) {
        Ok(())
    } else {
        let what = format!("invalid server name {name:?}; use 1 to 40 letters, digits, - and _");
        Err(Error::new(Class::Usage, what))
    }
}

/// Whether it contains at most a lock and an incomplete marker.
fn is_empty(folder: &Dir) -> bool {
    let nothing = |name: &std::ffi::OsString| name == crate::lock::LOCK || Marker::is_half(name);
    folder.names().is_ok_and(|names| names.iter().all(nothing))
}

fn fresh_marker(installation: &Installation) -> Marker {
    Marker {
        format: marker::FORMAT,
        server_version: installation.version.clone(),
        major: installation.major,
        bin: installation.bin.clone(),
        locale: String::new(),
        complete: false,
        network: false,
        tls: false,
        port: SOCKET_PORT,
        detached: false,
        is_kept: false,
        storage: None,
        initdb: Vec::new(),
        build: None,
        copy: None,
    }
}

/// The programs recorded in the marker, for a server that is stopped or removed, not started.
fn installation_of(marker: &Marker) -> Installation {
    Installation { bin: marker.bin.clone(), major: marker.major, version: marker.server_version.clone() }
}

/// The programs for existing data: the ones that made it, otherwise others of the same major version.
///
/// Root trusts no path from a file: the programs that made it must be among the installed ones, or be named again.
fn installation_for(marker: &Marker, choice: &Choice, name: &str) -> Result<Installation, Error> {
    if let Some(asked) = choice.version.filter(|asked| *asked != marker.major) {
        return Err(other_version(name, marker.major, asked));
    }
    if choice.pg_bin.is_some() {
        let found = Installation::find(&Choice { version: None, pg_bin: choice.pg_bin.clone() })?;
        let same = found.major == marker.major;
        return if same { Ok(found) } else { Err(other_version(name, marker.major, found.major)) };
    }
    let may_run = !rustix::process::geteuid().is_root() || Installation::is_installed(&marker.bin);
    let same = may_run.then(|| Installation::at(&marker.bin)).flatten();
    if let Some(same) = same.filter(|found| found.major == marker.major) {
        return Ok(same);
    }
    Installation::find(&Choice { version: Some(marker.major), pg_bin: None })
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.marker.detached {
            return;
        }
        if matches!(self.running, Running::Watched(_)) {
            // A server that does not stop is ended by its watchdog.
            let _ = self.stop();
        }
    }
}

/// Whether a file is an ELF program.
fn is_binary(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for (name, fits) in [("main", true), ("pg-15_x", true), ("", false), ("../x", false), ("a b", false)]
        {
            assert_eq!(check_name(name).is_ok(), fits, "{name:?}");
        }
    }

    #[test]
    fn only_empty_folders_are_taken_over() {
        let top = tempfile::tempdir().unwrap();
        let folder = Home::at(top.path()).open().unwrap().unwrap();
        assert!(is_empty(&folder));
        std::fs::write(folder.path().join("lock"), "1").unwrap();
        // A writer of the marker that was killed left a folder which was never accepted as ours again.
        std::fs::write(folder.path().join("pgdyno-cluster.json.new"), "{").unwrap();
        assert!(is_empty(&folder));
        std::fs::write(folder.path().join("PG_VERSION"), "15").unwrap();
        assert!(!is_empty(&folder));
    }
}
