//! Channel binding `tls-server-end-point`: a hash of the server's certificate (RFC 5929, section 4).

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use x509_cert::der::asn1::{AnyRef, ContextSpecific, ObjectIdentifier};
use x509_cert::der::oid::db::rfc5912::{
    ECDSA_WITH_SHA_224, ECDSA_WITH_SHA_256, ECDSA_WITH_SHA_384, ECDSA_WITH_SHA_512, ID_RSASSA_PSS,
    ID_SHA_224, ID_SHA_384, ID_SHA_512, MD_2_WITH_RSA_ENCRYPTION, MD_5_WITH_RSA_ENCRYPTION,
    SHA_1_WITH_RSA_ENCRYPTION, SHA_224_WITH_RSA_ENCRYPTION, SHA_256_WITH_RSA_ENCRYPTION,
    SHA_384_WITH_RSA_ENCRYPTION, SHA_512_WITH_RSA_ENCRYPTION,
};
use x509_cert::der::{self, Reader, TagNumber};
use x509_cert::spki::AlgorithmIdentifierRef;

use super::certificate::Certificate;

const ECDSA_WITH_SHA_1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.1");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HashAlgorithm {
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// The channel-binding hash of a certificate in DER: with the hash function of its signature, but SHA-256
/// instead of MD5 and SHA-1. `None` where the RFC defines none (Ed25519), or if the certificate is invalid.
pub(crate) fn server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = Certificate::parse(certificate).ok()?.signature_algorithm;
    Some(match signature_hash(algorithm.decode_as().ok()?)? {
        HashAlgorithm::Sha224 => Sha224::digest(certificate).to_vec(),
        HashAlgorithm::Sha256 => Sha256::digest(certificate).to_vec(),
        HashAlgorithm::Sha384 => Sha384::digest(certificate).to_vec(),
        HashAlgorithm::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

fn signature_hash(algorithm: AlgorithmIdentifierRef<'_>) -> Option<HashAlgorithm> {
    match algorithm.oid {
        MD_2_WITH_RSA_ENCRYPTION | MD_5_WITH_RSA_ENCRYPTION => Some(HashAlgorithm::Sha256),
        SHA_1_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_1 => Some(HashAlgorithm::Sha256),
        SHA_224_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_224 => Some(HashAlgorithm::Sha224),
        SHA_256_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_256 => Some(HashAlgorithm::Sha256),
        SHA_384_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_384 => Some(HashAlgorithm::Sha384),
        SHA_512_WITH_RSA_ENCRYPTION | ECDSA_WITH_SHA_512 => Some(HashAlgorithm::Sha512),
        ID_RSASSA_PSS => pss_hash(algorithm.parameters?).ok(),
        _ => None,
    }
}

/// RSASSA-PSS names its hash in its parameters; the default is SHA-1.
fn pss_hash(parameters: AnyRef<'_>) -> der::Result<HashAlgorithm> {
    let named = parameters.sequence(|reader| {
        let hash = ContextSpecific::<AlgorithmIdentifierRef<'_>>::decode_explicit(reader, TagNumber(0))?;
        // The mask and the length of the salt.
        reader.read_slice(reader.remaining_len())?;
        Ok::<_, der::Error>(hash)
    })?;
    Ok(match named.map(|named| named.value.oid) {
        Some(ID_SHA_224) => HashAlgorithm::Sha224,
        Some(ID_SHA_384) => HashAlgorithm::Sha384,
        Some(ID_SHA_512) => HashAlgorithm::Sha512,
        _ => HashAlgorithm::Sha256,
    })
}
