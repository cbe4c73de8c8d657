//! Checks a server's certificate as the sslmode requires, and always that the server has its key.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{
    WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, PeerMisbehaved, RootCertStore, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};

use super::certificate::Certificate;
use super::names::Names;
use crate::postgres::conninfo::Verification;

/// libpq's checks. Unlike rustls it accepts what PostgreSQL's manual creates: a self-signed certificate that
/// is its own root, certificates of version 1, authorities' certificates, and hosts in the common name.
#[derive(Debug)]
pub(super) struct Verifier {
    verification: Verification,
    roots: Vec<CertificateDer<'static>>,
    store: RootCertStore,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(
        roots: Vec<CertificateDer<'static>>,
        verification: Verification,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Verifier {
        let mut store = RootCertStore::empty();
        // A root that rustls cannot parse can still be the server's own certificate.
        store.add_parsable_certificates(roots.iter().cloned());
        Verifier { verification, roots, store, algorithms }
    }

    fn check_authority(
        &self,
        certificate: &CertificateDer<'_>,
        parsed: &Certificate<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        if self.roots.contains(certificate) {
            return check_dates(parsed, now);
        }
        if !parsed.is_version_3() || parsed.is_authority() {
            check_dates(parsed, now)?;
            return self.check_signed_by_root(parsed, now);
        }
        let certificate = ParsedCertificate::try_from(certificate)?;
        let all = self.algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&certificate, &self.store, intermediates, now, all)
    }

    /// For certificates that rustls rejects for a server (version 1, an authority's own): a root must have
    /// signed them directly.
    fn check_signed_by_root(&self, certificate: &Certificate<'_>, now: UnixTime) -> Result<(), Error> {
        let issuers = self
            .roots
            .iter()
            .filter_map(|root| Certificate::parse(root).ok())
            .filter(|root| root.subject() == certificate.issuer() && root.is_valid_at(now.as_secs()));
        for issuer in issuers {
            if self.has_signed(&issuer, certificate) {
                return Ok(());
            }
        }
        Err(CertificateError::UnknownIssuer.into())
    }

    fn has_signed(&self, issuer: &Certificate<'_>, certificate: &Certificate<'_>) -> bool {
        let Ok((key_algorithm, key)) = issuer.signing_key() else { return false };
        self.algorithms.all.iter().any(|algorithm| {
            algorithm.signature_alg_id().as_ref() == certificate.signature_algorithm.value()
                && algorithm.public_key_alg_id().as_ref() == key_algorithm
                && algorithm.verify_signature(key, certificate.signed, certificate.signature).is_ok()
        })
    }
}

fn check_dates(certificate: &Certificate<'_>, now: UnixTime) -> Result<(), Error> {
    if certificate.is_valid_at(now.as_secs()) {
        Ok(())
    } else if now.as_secs() < certificate.valid().0 {
        Err(CertificateError::NotValidYet.into())
    } else {
        Err(CertificateError::Expired.into())
    }
}

fn bad_encoding(_: x509_cert::der::Error) -> Error {
    CertificateError::BadEncoding.into()
}

/// A certificate of a version before 3, which rustls does not support; rustls reports the error of an
/// unreadable one.
fn older<'a>(certificate: &'a CertificateDer<'_>) -> Option<Certificate<'a>> {
    Certificate::parse(certificate).ok().filter(|certificate| !certificate.is_version_3())
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.verification == Verification::None {
            return Ok(ServerCertVerified::assertion());
        }
        let parsed = Certificate::parse(certificate).map_err(bad_encoding)?;
        self.check_authority(certificate, &parsed, intermediates, now)?;
        if self.verification == Verification::AuthorityAndHost {
            let names = Names::of(&parsed).map_err(bad_encoding)?;
            if !names.include(host) {
                let (expected, presented) = (host.to_owned(), names.shown());
                return Err(CertificateError::NotValidForNameContext { expected, presented }.into());
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let Some(older) = older(certificate) else {
            return verify_tls12_signature(message, certificate, signature, &self.algorithms);
        };
        let (key_algorithm, key) = older.signing_key().map_err(bad_encoding)?;
        let candidates = self.algorithms.mapping.iter().filter(|(scheme, _)| *scheme == signature.scheme);
        let mut candidates = candidates
            .flat_map(|(_, algorithms)| algorithms.iter())
            .filter(|algorithm| algorithm.public_key_alg_id().as_ref() == key_algorithm)
            .peekable();
        if candidates.peek().is_none() {
            return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
        }
        match candidates
            .any(|algorithm| algorithm.verify_signature(key, message, signature.signature()).is_ok())
        {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => Err(CertificateError::BadSignature.into()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let Some(older) = older(certificate) else {
            return verify_tls13_signature(message, certificate, signature, &self.algorithms);
        };
        let key = SubjectPublicKeyInfoDer::from(older.key().map_err(bad_encoding)?);
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
