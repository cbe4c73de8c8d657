//! TLS as in libpq: trusted certificates, what is checked, and channel binding.

mod binding;
mod certificate;
mod files;
mod names;
mod verifier;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, InconsistentKeys};
use rustls_pki_types::ServerName;

use super::conninfo::{
    ClientCertificate, HostAddress, HostSpec, RootCertificates, SslOptions, TlsVersion, Verification,
};
use super::login::{SslMode, SslNegotiation};
use verifier::Verifier;

pub(super) use binding::server_end_point;

/// PostgreSQL's ALPN protocol name; servers require it for direct TLS.
const ALPN: &[u8] = b"postgresql";

/// TLS could not be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    #[error("could not read {what} file \"{}\": {error}", .path.display())]
    File { what: &'static str, path: PathBuf, error: String },
    #[error(
        "root certificate file \"{}\" does not exist; either provide the file, use the system's trusted roots with \
         sslrootcert=system, or change sslmode to disable server certificate verification",
        .0.display()
    )]
    NoRoot(PathBuf),
    /// The sslmode needs a root certificate and none is configured.
    #[error("sslmode verify-ca and verify-full need a root certificate; name one with sslrootcert")]
    RootUnknown,
    /// A file without a certificate or key in PEM form.
    #[error("{what} file \"{}\" holds no {what} in PEM form", .path.display())]
    Empty { what: &'static str, path: PathBuf },
    #[error(
        "private key file \"{}\" has group or world access; file must have permissions u=rw (0600) or less if owned by \
         the current user, or permissions u=rw,g=r (0640) or less if owned by root",
        .0.display()
    )]
    KeyPermissions(PathBuf),
    #[error("could not load the system's root certificates: {0}")]
    SystemRoots(String),
    /// Certificate and key do not match or cannot be used.
    #[error("could not use certificate \"{}\" with its key: {error}", .path.display())]
    ClientCertificate { path: PathBuf, error: String },
    /// rustls rejects the TLS versions.
    #[error("could not set up TLS: {0}")]
    Library(String),
    #[error(
        "host \"{0}\" is neither a DNS name nor an address, so no certificate can be for it; use another name of the server, \
         or sslmode verify-ca, which does not verify the name"
    )]
    Name(String),
}

/// The TLS configuration for these options, shared by all connections; `None` when TLS is never used.
///
/// # Errors
/// When a required file cannot be read or used.
pub fn client_config(options: &SslOptions) -> Result<Option<Arc<ClientConfig>>, TlsError> {
    if options.mode == SslMode::Disable {
        return Ok(None);
    }
    // As in libpq, a missing root certificate is ignored if the mode does not require it.
    let is_missing = |path: &PathBuf| options.mode < SslMode::VerifyCa && !path.exists();
    let without_root = SslOptions { root: RootCertificates::None, ..options.clone() };
    let options = match &options.root {
        RootCertificates::File(path) if is_missing(path) => &without_root,
        _ => options,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(
        files::roots(options)?,
        options.verification(),
        provider.signature_verification_algorithms,
    );
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions(options))
        .map_err(|error| TlsError::Library(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match &options.client {
        None => builder.with_no_client_auth(),
        Some(client) => builder.with_client_cert_resolver(Arc::new(client_identity(client, &provider)?)),
    };
    // libpq does not resume TLS sessions; doing so would make connections look cheaper than its users'.
    config.resumption = Resumption::disabled();
    config.enable_sni = !options.hide_name;
    if options.negotiation == SslNegotiation::Direct {
        config.alpn_protocols = vec![ALPN.to_vec()];
    }
    Ok(Some(Arc::new(config)))
}

/// The name to send to the host and to check its certificate against.
///
/// A host that is not a DNS name (`db-`, `fe80::1%eth0`, or any entry of a hosts file) gets an address
/// instead of a name, and no SNI is sent: the name is unused as long as it is not verified.
///
/// # Errors
/// When the name must be verified and is neither a DNS name nor an address, or the host is a Unix socket.
pub fn server_name(host: &HostSpec, options: &SslOptions) -> Result<ServerName<'static>, TlsError> {
    match &host.host {
        HostAddress::Tcp { name, .. } => match ServerName::try_from(name.clone()) {
            Ok(name) => Ok(name),
            Err(_) if options.verification() == Verification::AuthorityAndHost => {
                Err(TlsError::Name(name.clone()))
            }
            Err(_) => Ok(ServerName::from(IpAddr::from(Ipv4Addr::UNSPECIFIED))),
        },
        HostAddress::Unix(folder) => Err(TlsError::Name(folder.to_string_lossy().into_owned())),
    }
}

/// The client's certificate and key, ready to sign.
///
/// rustls' own builder refuses certificates of version 1, which the server may accept.
fn client_identity(
    client: &ClientCertificate,
    provider: &CryptoProvider,
) -> Result<SingleCertAndKey, TlsError> {
    let unusable = |error: rustls::Error| TlsError::ClientCertificate {
        path: client.certificate.clone(),
        error: error.to_string(),
    };
    let (chain, key) = files::client(client)?;
    let identity = CertifiedKey::new(chain, provider.key_provider.load_private_key(key).map_err(unusable)?);
    match identity.keys_match() {
        Err(mismatch @ rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            Err(unusable(mismatch))
        }
        _ => Ok(SingleCertAndKey::from(identity)),
    }
}

fn versions(options: &SslOptions) -> Vec<&'static rustls::SupportedProtocolVersion> {
    let allowed = |version: TlsVersion| {
        options.min_version.is_none_or(|min| min <= version)
            && options.max_version.is_none_or(|max| version <= max)
    };
    [(TlsVersion::V1_3, &rustls::version::TLS13), (TlsVersion::V1_2, &rustls::version::TLS12)]
        .into_iter()
        .filter(|(version, _)| allowed(*version))
        .map(|(_, version)| version)
        .collect()
}

#[cfg(test)]
mod tests;
