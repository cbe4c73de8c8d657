//! Where a server listens.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    /// A Unix-domain socket, at most 107 bytes long.
    Unix(PathBuf),
}

impl Address {
    /// As in libpq's messages, with the name that was looked up: `at "localhost" (127.0.0.1), port 5432`, `on
    /// socket "/tmp/.s.PGSQL.5432"`.
    #[must_use]
    pub fn in_words(&self, host: Option<&str>) -> String {
        match (self, host) {
            (Self::Unix(path), _) => format!("on socket \"{}\"", path.display()),
            (Self::Tcp(address), Some(host)) if host != address.ip().to_string() => {
                format!("at \"{host}\" ({}), port {}", address.ip(), address.port())
            }
            (Self::Tcp(address), _) => format!("at \"{}\", port {}", address.ip(), address.port()),
        }
    }
}
