//! The servers to try: names, addresses and ports, matched to each other.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::env::Env;
use super::error::ConnInfoError;
use super::parameters::Parameters;
use super::password::Password;

pub(super) const DEFAULT_PORT: u16 = 5432;

/// Default socket folders: of Debian and Red Hat, then PostgreSQL's.
const SOCKET_FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// Longest path of a Unix socket on Linux, bytes without the NUL.
const SOCKET_PATH_LIMIT: usize = 107;

/// Where a server listens, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAddress {
    Unix(PathBuf),
    Tcp {
        /// The name that a certificate must match; an address as text if there is no name.
        name: String,
        /// Known address, so that `name` need not be looked up.
        address: Option<IpAddr>,
    },
}

/// One server to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostSpec {
    pub host: HostAddress,
    /// For a socket, a part of its file name.
    pub port: u16,
    /// From the passfile.
    pub password: Option<Password>,
}

impl HostSpec {
    /// The path of a Unix socket.
    #[must_use]
    pub fn socket_path(&self) -> Option<PathBuf> {
        match &self.host {
            HostAddress::Unix(folder) => Some(socket_in(folder, self.port)),
            HostAddress::Tcp { .. } => None,
        }
    }
}

impl fmt::Display for HostSpec {
    /// As libpq writes it after "connection to": `server at "db1", port 5432`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            HostAddress::Unix(folder) => {
                write!(f, "server on socket \"{}\"", socket_in(folder, self.port).display())
            }
            HostAddress::Tcp { name, address } => {
                write!(f, "server at \"{name}\"")?;
                if let Some(address) = address.filter(|address| address.to_string() != *name) {
                    write!(f, " ({address})")?;
                }
                write!(f, ", port {}", self.port)
            }
        }
    }
}

fn socket_in(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}

/// Matches the lists of `host`, `hostaddr` and `port`; empty elements mean defaults.
pub(super) fn hosts(parameters: &Parameters, env: &Env) -> Result<Vec<HostSpec>, ConnInfoError> {
    let list = |keyword| parameters.get(keyword).map(|text| text.split(',').collect::<Vec<_>>());
    let names = list("host");
    let addresses = list("hostaddr");
    let count = addresses.as_ref().or(names.as_ref()).map_or(1, Vec::len);
    if let Some(names) = names.as_ref().filter(|names| names.len() != count) {
        return Err(ConnInfoError::Unmatched {
            given: names.len(),
            what: "host names",
            count,
            to: "hostaddr values",
        });
    }
    let ports = list("port").unwrap_or_default();
    if ports.len() > 1 && ports.len() != count {
        return Err(ConnInfoError::Unmatched {
            given: ports.len(),
            what: "port numbers",
            count,
            to: "hosts",
        });
    }
    let nth = |list: &Option<Vec<&str>>, index: usize| {
        list.as_ref().map_or(String::new(), |list| list[index].to_owned())
    };
    (0..count)
        .map(|index| {
            let port = port(ports.get(index).or(ports.first()).copied().unwrap_or_default())?;
            let host = host(&nth(&names, index), &nth(&addresses, index), port, env)?;
            Ok(HostSpec { host, port, password: None })
        })
        .collect()
}

fn port(text: &str) -> Result<u16, ConnInfoError> {
    match text.trim() {
        "" => Ok(DEFAULT_PORT),
        text => text
            .parse()
            .ok()
            .filter(|&port| port > 0)
            .ok_or(ConnInfoError::Value { keyword: "port", expected: "a number from 1 to 65535" }),
    }
}

fn host(name: &str, address: &str, port: u16, env: &Env) -> Result<HostAddress, ConnInfoError> {
    if !address.is_empty() {
        let ip = address.parse().map_err(|_| ConnInfoError::Value {
            keyword: "hostaddr",
            expected: "an IPv4 or IPv6 address; names belong into host",
        })?;
        let name = if name.is_empty() { address } else { name };
        return Ok(HostAddress::Tcp { name: name.to_owned(), address: Some(ip) });
    }
    match name.chars().next() {
        None => checked_socket(default_folder(port, env), port),
        Some('/') => checked_socket(PathBuf::from(name), port),
        Some('@') => Err(ConnInfoError::Unsupported { keyword: "host", reason: "abstract Unix sockets" }),
        Some(_) => Ok(HostAddress::Tcp { name: name.to_owned(), address: name.parse().ok() }),
    }
}

/// The default folder that has a socket for this port, otherwise the first one.
fn default_folder(port: u16, env: &Env) -> PathBuf {
    let folders = SOCKET_FOLDERS.map(PathBuf::from);
    let found = folders.iter().find(|folder| env.exists(&socket_in(folder, port)));
    found.unwrap_or(&folders[0]).clone()
}

pub(super) fn is_default_folder(folder: &Path) -> bool {
    SOCKET_FOLDERS.iter().any(|default| Path::new(default) == folder)
}

fn checked_socket(folder: PathBuf, port: u16) -> Result<HostAddress, ConnInfoError> {
    let path = socket_in(&folder, port);
    if path.as_os_str().len() > SOCKET_PATH_LIMIT {
        Err(ConnInfoError::SocketPath(path))
    } else {
        Ok(HostAddress::Unix(folder))
    }
}
