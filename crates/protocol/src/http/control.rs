//! Blocking control connections for workloads: one request at a time, bodies whole and decompressed.

use std::net::SocketAddr;

use super::{Encoding, Get, Url};
use crate::postgres::conninfo::{HostAddress, HostSpec, RootCertificates, SslOptions};
use crate::postgres::tls::{TlsError, client_config, server_name};
use crate::postgres::{SslMode, Tls};
pub use crate::redis::ControlError;

/// A response that the caller may keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Got {
    pub status: u16,
    /// E.g. `application/x-protobuf`; empty where the server sends none.
    pub content_type: String,
    /// Target of a redirect; empty for other statuses.
    pub location: String,
    pub encoding: Encoding,
    pub bytes: u64,
    /// Decompressed.
    pub body: Vec<u8>,
}

/// Blocking connections to web servers, outside the timed part of a run.
pub trait HttpConnector {
    /// Every address of a URL's host, in the order to try them; at least one.
    ///
    /// # Errors
    /// When there is none.
    fn look_up(&self, url: &Url) -> Result<Vec<SocketAddr>, ControlError>;

    /// Connects to the first address of a URL's host that accepts a connection.
    ///
    /// # Errors
    /// When none does.
    fn control(
        &self,
        url: &Url,
        tls: Option<&Tls>,
    ) -> Result<Box<dyn HttpConnection + Send + '_>, ControlError>;
}

/// A blocking connection to a web server; reconnects if the server closed it after a response.
pub trait HttpConnection {
    /// Requests a path.
    ///
    /// # Errors
    /// When the connection fails, no answer comes in time, it is not HTTP, or its body is longer than
    /// [`crate::limits::max_answer`].
    fn get(&mut self, get: &Get, path: &str) -> Result<Got, ControlError>;

    /// Whether each packet is acknowledged at once from now on; otherwise the system may delay that, by 40 ms on
    /// Linux.
    fn acknowledge_at_once(&mut self, _at_once: bool) {}
}

/// TLS for connections to a URL's server; `None` for http. The certificate is checked against the system's
/// roots, unless `insecure`.
///
/// # Errors
/// When the system's roots cannot be loaded.
pub fn tls(url: &Url, insecure: bool) -> Result<Option<Tls>, TlsError> {
    if !url.is_secure() {
        return Ok(None);
    }
    let (mode, root) = match insecure {
        true => (SslMode::Require, RootCertificates::None),
        false => (SslMode::VerifyFull, RootCertificates::System),
    };
    let options = SslOptions { mode, root, ..SslOptions::default() };
    let host = HostAddress::Tcp { name: url.host().to_owned(), address: None };
    let name = server_name(&HostSpec { host, port: url.port(), password: None }, &options)?;
    Ok(client_config(&options)?.map(|config| Tls { config, name }))
}
