//! The state of managed servers, read without touching them.

use std::path::PathBuf;
use std::time::Duration;

use spec::Error;

use super::databases::place_of;
use super::error::not_found;
use super::file_storage::storage_folder_of;
use super::postmaster::PidFile;
use super::{DATABASE, SUPERUSER, auto_conf, data_in, folder_of, journal_in, read_marker};
use crate::child::Account;
use crate::control::Control;
use crate::home::{Dir, Home, HomeFolder, cannot_use, is_socket_folder_of};
use crate::lock::Lock;
use crate::settings::journal::JournalFile;

/// The state of a managed server.
#[derive(Debug, Clone)]
pub struct Status {
    pub name: String,
    pub folder: PathBuf,
    /// Version that made its data.
    pub server_version: String,
    pub pid: Option<u32>,
    /// Whether it accepts connections.
    pub ready: bool,
    /// Whether it is detached: it continues until it is stopped explicitly.
    pub detached: bool,
    /// Pid of the pgdyno that uses it now; 0 if unknown.
    pub used_by: Option<u32>,
    /// Whether an experiment changed its settings and has not restored them.
    pub changed: bool,
    /// The journal of the user's changes, if any.
    pub journal: JournalFile,
    pub port: u16,
    /// Whether it also listens on 127.0.0.1.
    pub network: bool,
    /// Socket of the running server.
    pub socket: Option<PathBuf>,
}

impl Status {
    /// How psql and others connect to it, if it accepts connections.
    #[must_use]
    pub fn connection(&self) -> Option<String> {
        let socket = self.socket.as_ref().filter(|_| self.ready)?;
        let (folder, port) = (socket.parent()?.display(), self.port);
        Some(format!("host={folder} port={port} user={SUPERUSER} dbname={DATABASE}"))
    }

    /// A connection to the server if it accepts any, for reading: nothing is made, started or locked for it.
    pub fn look(&self, bound: Duration) -> Option<Result<Control, Error>> {
        let socket = self.socket.as_ref().filter(|_| self.ready)?;
        Some(Control::open(&place_of(socket, "postgres"), Some(bound)))
    }
}

/// The managed server of this name.
pub fn status(home: &Home, name: &str) -> Result<Status, Error> {
    let found = folder_of(home, name)?.map_or(Ok(None), |folder| read(&folder, name))?;
    found.ok_or_else(|| not_found(name))
}

/// All managed servers by name, and why others cannot be examined (for example, because their data are not
/// trusted).
pub fn list(home: &Home) -> Result<(Vec<Status>, Vec<Error>), Error> {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for (name, folder) in folders(home)? {
        match read(&folder, &name) {
            Ok(server) => found.extend(server),
            Err(error) => wrong.push(error),
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((found, wrong))
}

/// Journals of the user's changes in the folders of managed servers.
pub(crate) fn journals(home: &Home) -> Result<Vec<JournalFile>, Error> {
    let journals = folders(home)?.into_iter().map(|(_, folder)| journal_in(&folder));
    journals.filter(JournalFile::exists).map(|journal| journal.trusted(home)).collect()
}

fn folders(home: &Home) -> Result<Vec<(String, Dir)>, Error> {
    let Some(clusters) = home.part(HomeFolder::Clusters)? else { return Ok(Vec::new()) };
    let failed = |source| cannot_use(clusters.path(), source);
    let names = clusters.names().map_err(failed)?.into_iter().filter_map(|name| name.into_string().ok());
    let mut found = Vec::new();
    for name in names {
        let folder =
            clusters.open(&name).map_err(|error| home.untrusted(clusters.path().join(&name), error))?;
        found.extend(folder.map(|folder| (name, folder)));
    }
    Ok(found)
}

fn read(folder: &Dir, name: &str) -> Result<Option<Status>, Error> {
    let Some(marker) = read_marker(folder)? else { return Ok(None) };
    let account = Account::unprivileged()?;
    let data = data_in(folder, storage_folder_of(folder).as_ref(), account.as_ref())?;
    let server = data.and_then(|data| PidFile::running(&data));
    Ok(Some(Status {
        name: name.to_owned(),
        folder: folder.path().to_owned(),
        server_version: marker.server_version,
        ready: server.as_ref().is_some_and(|server| server.status.as_deref() == Some("ready")),
        socket: server.as_ref().and_then(|server| {
            let port = server.port.unwrap_or(marker.port);
            // The server writes the file, and could name any socket.
            let sockets = server.socket_folder.as_ref()?;
            is_socket_folder_of(sockets, folder.path()).then(|| sockets.join(format!(".s.PGSQL.{port}")))
        }),
        pid: server.map(|server| server.pid),
        detached: marker.detached,
        used_by: Lock::held_by(folder),
        changed: auto_conf::is_kept(folder),
        journal: journal_in(folder),
        port: marker.port,
        network: marker.network,
    }))
}
