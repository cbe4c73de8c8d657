//! The parts of an X.509 certificate that libpq's rules need and rustls does not expose.
//!
//! rustls rejects what PostgreSQL's own instructions produce: certificates of version 1, and names only in
//! the subject. x509-cert parses the bytes; the rules are implemented here.

use x509_cert::certificate::{Raw, TbsCertificateInner, Version};
use x509_cert::der::asn1::{AnyRef, BitStringRef};
use x509_cert::der::oid::db::rfc4519::COMMON_NAME;
use x509_cert::der::oid::db::rfc5280::ID_CE_SUBJECT_ALT_NAME;
use x509_cert::der::{self, Decode, Encode, EncodeValue, Reader, SliceReader, Tag, Tagged};
use x509_cert::ext::pkix::BasicConstraints;
use x509_cert::name::Name;

/// A parsed, unverified certificate.
#[derive(Debug, Clone)]
pub(super) struct Certificate<'a> {
    /// The signed bytes.
    pub(super) signed: &'a [u8],
    pub(super) signature_algorithm: AnyRef<'a>,
    pub(super) signature: &'a [u8],
    /// The signed part, parsed without RFC 5280's rules for serial numbers and times, which OpenSSL does not
    /// check either.
    content: TbsCertificateInner<Raw>,
}

/// A subject alternative name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alternative<'a> {
    Dns(&'a [u8]),
    Address(&'a [u8]),
}

impl<'a> Certificate<'a> {
    /// Parses a certificate, which must be all of `bytes`.
    pub(super) fn parse(bytes: &'a [u8]) -> der::Result<Certificate<'a>> {
        let mut reader = SliceReader::new(bytes)?;
        let certificate = reader.sequence(|reader| {
            let signed = reader.tlv_bytes()?;
            let signature_algorithm = AnyRef::decode(reader)?;
            signature_algorithm.tag().assert_eq(Tag::Sequence)?;
            Ok::<_, der::Error>(Certificate {
                signed,
                signature_algorithm,
                signature: whole_bytes(&BitStringRef::decode(reader)?)?,
                content: TbsCertificateInner::from_der(signed)?,
            })
        })?;
        reader.finish()?;
        Ok(certificate)
    }

    /// Whether it has version 3, as rustls requires.
    pub(super) fn is_version_3(&self) -> bool {
        self.content.version() == Version::V3
    }

    pub(super) fn issuer(&self) -> &Name {
        self.content.issuer()
    }

    pub(super) fn subject(&self) -> &Name {
        self.content.subject()
    }

    /// Start and end of validity, seconds since 1970.
    pub(super) fn valid(&self) -> (u64, u64) {
        let validity = self.content.validity();
        (validity.not_before.to_unix_duration().as_secs(), validity.not_after.to_unix_duration().as_secs())
    }

    /// `second` counts from 1970.
    pub(super) fn is_valid_at(&self, second: u64) -> bool {
        let (first, last) = self.valid();
        (first..=last).contains(&second)
    }

    /// Whether its basic constraints allow it to sign others.
    pub(super) fn is_authority(&self) -> bool {
        let constraints = self.content.get_extension::<BasicConstraints>();
        constraints.is_ok_and(|constraints| constraints.is_some_and(|(_, constraints)| constraints.ca))
    }

    /// Its key, a SubjectPublicKeyInfo.
    pub(super) fn key(&self) -> der::Result<Vec<u8>> {
        self.content.subject_public_key_info().to_der()
    }

    /// The key for checking its signatures: the content of its AlgorithmIdentifier, and the key's bytes.
    pub(super) fn signing_key(&self) -> der::Result<(Vec<u8>, &[u8])> {
        let key = self.content.subject_public_key_info();
        let mut algorithm = Vec::new();
        key.algorithm.encode_value(&mut algorithm)?;
        Ok((algorithm, key.subject_public_key.as_bytes().ok_or(Tag::BitString.value_error())?))
    }

    /// The first common name of the subject.
    pub(super) fn common_name(&self) -> Option<&[u8]> {
        self.subject().iter().find(|part| part.oid == COMMON_NAME).map(|part| part.value.value())
    }

    /// Names and addresses in the subjectAltName extension; other kinds are skipped.
    pub(super) fn alternatives(&self) -> der::Result<Vec<Alternative<'_>>> {
        let mut extensions = self.content.extensions().into_iter().flatten();
        let Some(extension) = extensions.find(|extension| extension.extn_id == ID_CE_SUBJECT_ALT_NAME) else {
            return Ok(Vec::new());
        };
        let names = Vec::<AnyRef<'_>>::from_der(extension.extn_value.as_bytes())?;
        Ok(names.into_iter().filter_map(alternative).collect())
    }
}

/// The bytes of a bit string without unused bits.
fn whole_bytes<'a>(bits: &BitStringRef<'a>) -> der::Result<&'a [u8]> {
    bits.as_bytes().ok_or_else(|| Tag::BitString.value_error().into())
}

fn alternative(name: AnyRef<'_>) -> Option<Alternative<'_>> {
    // RFC 5280's GeneralName: dNSName and iPAddress.
    match name.tag() {
        Tag::ContextSpecific { constructed: false, number } if number.value() == 2 => {
            Some(Alternative::Dns(name.value()))
        }
        Tag::ContextSpecific { constructed: false, number } if number.value() == 7 => {
            Some(Alternative::Address(name.value()))
        }
        _ => None,
    }
}
