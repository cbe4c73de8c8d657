//! TLS to a web server.

use crate::postgres::conninfo::{Host, HostSpec, RootCertificates, SslOptions};
use crate::postgres::tls::{TlsError, client_config, server_name};
use crate::postgres::{SslMode, Tls};

use super::Url;

/// What connections to a URL's server need to be encrypted; `None` for http. Its certificate is checked against the roots
/// that the system trusts, unless `insecure`.
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
    let host = Host::Tcp { name: url.host().to_owned(), address: None };
    let name = server_name(&HostSpec { host, port: url.port(), password: None }, &options)?;
    Ok(client_config(&options)?.map(|config| Tls { config, name }))
}
