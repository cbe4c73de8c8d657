//! What is known of the managed servers without touching them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::databases::place_of;
use super::marker::Marker;
use super::postmaster::PidFile;
use super::{Cluster, ManagedError, auto_conf, journal_in};
use crate::control::{ConnectError, Control};
use crate::home::Home;
use crate::lock::Lock;

/// A managed server as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Version that made its data.
    pub server_version: String,
    /// Pid of the running server.
    pub pid: Option<u32>,
    /// Whether it takes connections.
    pub ready: bool,
    /// Whether it stays until it is told to stop.
    pub detached: bool,
    /// Pid of the pgdyno that uses it now; 0 when that cannot be read.
    pub used_by: Option<u32>,
    /// Whether its settings are not its own now: an experiment changed them and has not put them back.
    pub changed: bool,
    /// The journal of one's own changes, where there is one.
    pub journal: PathBuf,
    /// Port.
    pub port: u16,
    /// Whether it also listens on 127.0.0.1.
    pub network: bool,
    /// Socket of the running server.
    pub socket: Option<PathBuf>,
}

impl Status {
    /// A connection to the server if it takes any, to look at it: nothing is made, started or locked for that.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn look(&self, bound: Duration) -> Option<Result<Control, ConnectError>> {
        let socket = self.socket.as_ref().filter(|_| self.ready)?;
        Some(Control::open(&place_of(socket, "postgres"), Some(bound)))
    }
}

/// The managed server of this name.
///
/// # Errors
/// [`ManagedError::NotFound`].
pub fn status(home: &Home, name: &str) -> Result<Status, ManagedError> {
    let folder = home.clusters().join(name);
    read(&folder, name).ok_or_else(|| ManagedError::NotFound(name.to_owned()))
}

/// All managed servers by name.
///
/// # Errors
/// [`ManagedError::File`] when the home may not be looked into.
pub fn list(home: &Home) -> Result<Vec<Status>, ManagedError> {
    let entries = match std::fs::read_dir(home.clusters()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(ManagedError::File { path: home.clusters(), source }),
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<Status> = names.filter_map(|name| read(&home.clusters().join(&name), &name)).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Journals of one's own changes in the folders of managed servers.
pub(crate) fn journals(home: &Home) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(home.clusters()) else { return Vec::new() };
    entries.flatten().map(|entry| journal_in(&entry.path())).filter(|path| path.exists()).collect()
}

fn read(folder: &Path, name: &str) -> Option<Status> {
    let marker = Marker::read(folder)?;
    let server = PidFile::running(&Cluster::data_in(folder));
    Some(Status {
        name: name.to_owned(),
        folder: folder.to_owned(),
        server_version: marker.server_version,
        ready: server.as_ref().is_some_and(|server| server.status.as_deref() == Some("ready")),
        socket: server.as_ref().and_then(|server| {
            let port = server.port.unwrap_or(marker.port);
            Some(server.socket_folder.as_ref()?.join(format!(".s.PGSQL.{port}")))
        }),
        pid: server.map(|server| server.pid),
        detached: marker.detached,
        used_by: Lock::held_by(folder),
        changed: auto_conf::is_kept(folder),
        journal: journal_in(folder),
        port: marker.port,
        network: marker.network,
    })
}
