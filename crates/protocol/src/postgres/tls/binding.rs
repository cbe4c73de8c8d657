//! What ties SCRAM to a TLS connection: `tls-server-end-point`, a hash of the server's certificate (RFC 5929, section 4).

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::certificate::Certificate;
use super::der::{self, Der};

/// 1.2.840.113549.1.1: signatures with RSA; the next byte says with which hash.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
/// 1.2.840.10045.4.3: signatures with ECDSA and SHA-2.
const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
/// 1.2.840.10045.4.1
const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
/// 2.16.840.1.101.3.4.2: the SHA-2 hashes.
const SHA2: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// The hash of a certificate in DER that channel binding uses: the hash the certificate was signed with, but SHA-256 in
/// place of MD5 and SHA-1. `None` where the RFC defines none (Ed25519) or the bytes are no certificate.
#[must_use]
pub fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let hash = signature_hash(Certificate::parse(certificate)?.signature_algorithm)?;
    Some(match hash {
        Hash::Sha224 => Sha224::digest(certificate).to_vec(),
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

/// The hash named by the content of a signature's AlgorithmIdentifier.
fn signature_hash(algorithm: &[u8]) -> Option<Hash> {
    let mut parts = Der::new(algorithm);
    let oid = parts.expect(der::OID)?;
    if oid == ECDSA_SHA1 {
        return Some(Hash::Sha256);
    }
    let (&last, family) = oid.split_last()?;
    match (family, last) {
        // MD2, MD5, SHA-1.
        (RSA, 2 | 4 | 5) => Some(Hash::Sha256),
        (RSA, 10) => pss_hash(parts),
        (RSA, 11) => Some(Hash::Sha256),
        (RSA, 12) => Some(Hash::Sha384),
        (RSA, 13) => Some(Hash::Sha512),
        (RSA, 14) => Some(Hash::Sha224),
        (ECDSA, 1) => Some(Hash::Sha224),
        (ECDSA, 2) => Some(Hash::Sha256),
        (ECDSA, 3) => Some(Hash::Sha384),
        (ECDSA, 4) => Some(Hash::Sha512),
        _ => None,
    }
}

/// RSASSA-PSS names its hash in its parameters; left out it is SHA-1.
fn pss_hash(mut parameters: Der<'_>) -> Option<Hash> {
    let mut parameters = Der::new(parameters.expect(der::SEQUENCE)?);
    let Some(explicit) = parameters.optional(der::context(0)) else {
        return Some(Hash::Sha256);
    };
    let oid = Der::new(Der::new(explicit).expect(der::SEQUENCE)?).expect(der::OID)?;
    match oid.split_last() {
        Some((1, SHA2)) => Some(Hash::Sha256),
        Some((2, SHA2)) => Some(Hash::Sha384),
        Some((3, SHA2)) => Some(Hash::Sha512),
        Some((4, SHA2)) => Some(Hash::Sha224),
        Some(_) => Some(Hash::Sha256),
        None => None,
    }
}
