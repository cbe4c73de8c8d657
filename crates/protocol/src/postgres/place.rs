//! A server to connect to: its address, TLS and login. Names are looked up by the caller.

use std::sync::Arc;

use rustls_pki_types::ServerName;

use super::conninfo::TcpOptions;
use super::host_name::NamedAddress;
use super::login::Login;
use crate::Address;

/// A resolved PostgreSQL server, ready to connect to; cheap to clone.
#[derive(Debug, Clone)]
pub struct Place {
    pub address: Address,
    /// `None` if the connection is never encrypted.
    pub tls: Option<Tls>,
    /// The name that was looked up, for messages; `None` when an address was given.
    pub host: Option<Arc<str>>,
    /// The name's current address; `None` when nothing was looked up.
    pub named: Option<NamedAddress>,
    pub tcp: TcpOptions,
    /// User, database, password, TLS policy and startup parameters (including session settings).
    pub login: Arc<Login>,
}

impl Place {
    /// A server at this address, without TLS.
    #[must_use]
    pub fn new(address: Address, login: Arc<Login>) -> Place {
        Place { address, tls: None, host: None, named: None, tcp: TcpOptions::default(), login }
    }

    /// Updates the address from the name; true when it changed. Call it before each new connection. It never
    /// waits for a name service: another thread looks the name up ([`HostName`](super::HostName)).
    pub fn follow_name(&mut self) -> bool {
        let (Some(named), Address::Tcp(address)) = (&mut self.named, &mut self.address) else {
            return false;
        };
        let moved = named.moved(*address);
        *address = moved.unwrap_or(*address);
        moved.is_some()
    }
}

/// What an encrypted connection needs.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Roots, client certificate and verification policy.
    pub config: Arc<rustls::ClientConfig>,
    /// Name to verify and to send as SNI.
    pub name: ServerName<'static>,
}

/// What a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Accepts writes.
    Primary,
    /// Follows a primary and accepts reads only.
    Standby,
}

/// One of several servers.
#[derive(Debug, Clone)]
pub struct PlaceWithRole {
    pub place: Place,
    pub role: Role,
}

/// A database as libpq's programs get it. The password is passed in their environment only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Database {
    /// Host name, address or socket folder.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub dbname: String,
    pub password: Option<String>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Database")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &self.user)
            .field("dbname", &self.dbname)
            .finish_non_exhaustive()
    }
}
