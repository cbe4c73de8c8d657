//! Reads the certificate and key files of the options.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::TlsError;
use crate::postgres::conninfo::{ClientCertificate, RootCertificates, SslOptions, Verification};

const CERTIFICATE: &str = "certificate";
const KEY: &str = "private key";

/// The trusted certificates; none when nothing is checked.
pub(super) fn roots(options: &SslOptions) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    match (&options.root, options.verification()) {
        (RootCertificates::None, Verification::None) => Ok(Vec::new()),
        (RootCertificates::None, _) => Err(TlsError::RootUnknown),
        (RootCertificates::System, _) => system_roots(),
        (RootCertificates::File(path), _) if !path.exists() => Err(TlsError::NoRoot(path.clone())),
        (RootCertificates::File(path), _) => certificates(path),
    }
}

fn system_roots() -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(TlsError::SystemRoots(why));
    }
    Ok(found.certs)
}

/// The client's certificate with its issuers, and its key, which only the owner may be able to read.
pub(super) fn client(
    client: &ClientCertificate,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let chain = certificates(&client.certificate)?;
    let path = &client.key;
    let metadata = fs::metadata(path).map_err(|error| file_error(KEY, path, &error))?;
    // A group may read root's key, since system packages give keys to services that way.
    let forbidden = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    if metadata.mode() & forbidden != 0 {
        return Err(TlsError::KeyPermissions(path.clone()));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(KEY, path)?)
        .map_err(|_| TlsError::Empty { what: KEY, path: path.clone() })?;
    Ok((chain, key))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let content = read(CERTIFICATE, path)?;
    let empty = || TlsError::Empty { what: CERTIFICATE, path: path.to_owned() };
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(&content).collect::<Result<_, _>>().map_err(|_| empty())?;
    if found.is_empty() { Err(empty()) } else { Ok(found) }
}

/// Longest file of certificates, bytes.
const LONGEST: u64 = 16 << 20;

/// Does not read pipes and devices, which may never end.
fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let no = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let found = fs::metadata(path).and_then(|data| match data.len() {
        _ if !data.is_file() => no("it is a folder, a pipe or a device"),
        LONGEST.. => no("it is too long"),
        _ => fs::read(path),
    });
    found.map_err(|error| file_error(what, path, &error))
}

fn file_error(what: &'static str, path: &Path, error: &io::Error) -> TlsError {
    TlsError::File { what, path: path.to_owned(), error: error.to_string() }
}
