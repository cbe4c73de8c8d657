//! One server to connect to: where it is, and what is said to it first. Names are looked up elsewhere.

use std::sync::Arc;

use rustls_pki_types::ServerName;

use super::conninfo::TcpOptions;
use super::host_name::NamedAddress;
use super::login::Login;
use crate::Address;

/// One PostgreSQL server, resolved and ready to connect to; cheap to clone.
#[derive(Debug, Clone)]
pub struct Place {
    pub address: Address,
    /// Present where the connection may be encrypted.
    pub tls: Option<Tls>,
    /// The name the address was looked up by, for messages; `None` when it was given as an address.
    pub host: Option<Arc<str>>,
    /// Where that name leads, which may change; `None` when nothing was looked up.
    pub named: Option<NamedAddress>,
    /// How a TCP connection is kept and given up.
    pub tcp: TcpOptions,
    /// User, database, password, TLS policy and parameters sent at startup (session settings among them).
    pub login: Arc<Login>,
}

impl Place {
    /// A server at this address, without TLS.
    #[must_use]
    pub fn new(address: Address, login: Arc<Login>) -> Place {
        Place { address, tls: None, host: None, named: None, tcp: TcpOptions::default(), login }
    }

    /// Goes to where the name leads by now; true when that is elsewhere. To be called before each new connection that is not
    /// to wait for a name service: somebody else looks the name up ([`HostName`](super::HostName)).
    pub fn follow_name(&mut self) -> bool {
        let (Some(named), Address::Tcp(address)) = (&mut self.named, &mut self.address) else {
            return false;
        };
        let moved = named.moved(*address);
        *address = moved.unwrap_or(*address);
        moved.is_some()
    }
}

/// What a connection needs to be encrypted.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Shared configuration: roots, client certificate, verification policy.
    pub config: Arc<rustls::ClientConfig>,
    /// Name to verify and to send as SNI.
    pub name: ServerName<'static>,
}

/// What one of several servers is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It takes writes.
    Primary,
    /// It follows a primary and takes reads only.
    Standby,
}

/// One of several servers.
#[derive(Debug, Clone)]
pub struct Server {
    /// How to connect to it.
    pub place: Place,
    pub role: Role,
}

/// A database as libpq's programs are told of it. The password goes to their environment only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Database {
    /// Host name, address or socket folder.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub dbname: String,
    /// Password, if the server asks for one.
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
