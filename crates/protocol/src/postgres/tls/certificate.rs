//! The parts of an X.509 certificate that libpq's rules look at and rustls does not show.
//!
//! rustls leaves out what PostgreSQL's own instructions produce: certificates of version 1, and names that stand only
//! in the subject.

use super::der::{self, Der, Element};

/// A certificate, borrowed from its DER form. Nothing is verified by reading it.
#[derive(Debug, Clone)]
pub(super) struct Certificate<'a> {
    /// 1, 2 or 3.
    pub(super) version: u8,
    /// What the issuer signed.
    pub(super) signed: &'a [u8],
    /// How it was signed: the content of an AlgorithmIdentifier.
    pub(super) signature_algorithm: &'a [u8],
    pub(super) signature: &'a [u8],
    pub(super) issuer: &'a [u8],
    pub(super) subject: &'a [u8],
    /// First and last second of its life, since 1970.
    pub(super) valid: (u64, u64),
    pub(super) key: PublicKey<'a>,
    /// It says of itself that it may sign others.
    pub(super) is_authority: bool,
    /// Names and addresses in the extension made for them.
    pub(super) alternatives: Vec<Alternative<'a>>,
}

/// A SubjectPublicKeyInfo.
#[derive(Debug, Clone)]
pub(super) struct PublicKey<'a> {
    /// All of it.
    pub(super) whole: &'a [u8],
    /// The content of its AlgorithmIdentifier.
    pub(super) algorithm: &'a [u8],
    pub(super) bits: &'a [u8],
}

/// A subject alternative name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alternative<'a> {
    Dns(&'a [u8]),
    Address(&'a [u8]),
}

/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 2.5.29.19
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
/// 2.5.29.17
const SUBJECT_ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];
/// Tags of dNSName and iPAddress in a GeneralName.
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

impl<'a> Certificate<'a> {
    /// Reads a certificate; `None` if it is none.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Certificate<'a>> {
        let mut outer = Der::new(Der::new(bytes).expect(der::SEQUENCE)?);
        let signed = outer.element(der::SEQUENCE)?;
        let signature_algorithm = outer.expect(der::SEQUENCE)?;
        let signature = bits(outer.expect(der::BIT_STRING)?)?;

        let mut fields = Der::new(signed.content);
        let version = match fields.optional(der::context(0)) {
            None => 1,
            Some(explicit) => Der::new(explicit).expect(der::INTEGER)?.last()?.checked_add(1)?,
        };
        fields.expect(der::INTEGER)?;
        fields.expect(der::SEQUENCE)?;
        let issuer = fields.element(der::SEQUENCE)?.whole;
        let mut validity = Der::new(fields.expect(der::SEQUENCE)?);
        let valid = (time(validity.next()?)?, time(validity.next()?)?);
        let subject = fields.element(der::SEQUENCE)?.whole;
        let key = PublicKey::parse(fields.element(der::SEQUENCE)?)?;
        let extensions =
            fields.find(|field| field.tag == der::context(3)).map_or(&[][..], |field| field.content);
        Some(Certificate {
            version,
            signed: signed.whole,
            signature_algorithm,
            signature,
            issuer,
            subject,
            valid,
            key,
            is_authority: is_authority(extensions),
            alternatives: alternatives(extensions),
        })
    }

    /// The first common name of the subject.
    pub(super) fn common_name(&self) -> Option<&'a [u8]> {
        let subject = Der::new(self.subject).expect(der::SEQUENCE)?;
        Der::new(subject).filter(|set| set.tag == der::SET).flat_map(|set| Der::new(set.content)).find_map(
            |attribute| {
                let mut parts = Der::new(attribute.content);
                let is_common_name = parts.expect(der::OID)? == COMMON_NAME;
                parts.next().filter(|_| is_common_name).map(|value| value.content)
            },
        )
    }

    /// True when the certificate is valid at this second since 1970.
    pub(super) fn is_valid_at(&self, second: u64) -> bool {
        (self.valid.0..=self.valid.1).contains(&second)
    }
}

impl<'a> PublicKey<'a> {
    fn parse(element: Element<'a>) -> Option<PublicKey<'a>> {
        let mut parts = Der::new(element.content);
        let algorithm = parts.expect(der::SEQUENCE)?;
        Some(PublicKey { whole: element.whole, algorithm, bits: bits(parts.expect(der::BIT_STRING)?)? })
    }
}

/// The bytes of a bit string, which must be whole.
fn bits(content: &[u8]) -> Option<&[u8]> {
    content.strip_prefix(&[0])
}

/// The value of an extension.
fn extension<'a>(extensions: &'a [u8], oid: &[u8]) -> Option<&'a [u8]> {
    Der::new(Der::new(extensions).expect(der::SEQUENCE)?).find_map(|extension| {
        let mut parts = Der::new(extension.content);
        let wanted = parts.expect(der::OID)? == oid;
        // A boolean may stand between: whether the extension is critical.
        parts.find(|part| part.tag == der::OCTET_STRING).filter(|_| wanted).map(|value| value.content)
    })
}

fn is_authority(extensions: &[u8]) -> bool {
    let constraints =
        extension(extensions, BASIC_CONSTRAINTS).and_then(|value| Der::new(value).expect(der::SEQUENCE));
    constraints.and_then(|parts| Der::new(parts).optional(der::BOOLEAN)).is_some_and(|value| value != [0])
}

fn alternatives(extensions: &[u8]) -> Vec<Alternative<'_>> {
    let names = extension(extensions, SUBJECT_ALTERNATIVE_NAME)
        .and_then(|value| Der::new(value).expect(der::SEQUENCE));
    names.map(|names| Der::new(names).filter_map(alternative).collect()).unwrap_or_default()
}

fn alternative(name: Element<'_>) -> Option<Alternative<'_>> {
    match name.tag {
        DNS_NAME => Some(Alternative::Dns(name.content)),
        IP_ADDRESS => Some(Alternative::Address(name.content)),
        _ => None,
    }
}

/// Seconds since 1970 of a UTCTime or GeneralizedTime.
fn time(element: Element<'_>) -> Option<u64> {
    let text = std::str::from_utf8(element.content).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match (element.tag, text.len()) {
        (der::GENERALIZED_TIME, 14) => (text[..4].parse::<u64>().ok()?, &text[4..]),
        (der::UTC_TIME, 12) => {
            let year: u64 = text[..2].parse().ok()?;
            // RFC 5280: 50 to 99 are of the last century.
            (if year >= 50 { 1900 + year } else { 2000 + year }, &text[2..])
        }
        _ => return None,
    };
    let number = |at: usize| rest[at..at + 2].parse::<u64>().ok();
    let (month, day) = (number(0)?, number(2)?);
    let (hour, minute, second) = (number(4)?, number(6)?, number(8)?);
    // What began before 1970 began long enough ago.
    let days = days_since_1970(year, month, day)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; 0 for earlier dates.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years from March, so that a leap day is a year's last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    /// The same sum for 1970-01-01.
    const EPOCH: u64 = 719_468;
    Some(days.saturating_sub(EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_certificates() {
        for (tag, text, expected) in [
            (der::UTC_TIME, "700101000000Z", Some(0)),
            (der::UTC_TIME, "260229120000Z", Some(1_772_366_400)),
            (der::UTC_TIME, "491231235959Z", Some(2_524_607_999)),
            (der::UTC_TIME, "500101000000Z", Some(0)),
            (der::GENERALIZED_TIME, "20000301000000Z", Some(951_868_800)),
            (der::GENERALIZED_TIME, "99991231235959Z", Some(253_402_300_799)),
            (der::GENERALIZED_TIME, "20001301000000Z", None),
            (der::UTC_TIME, "7001010000Z", None),
            (der::UTC_TIME, "70010100000+Z", None),
            (der::UTC_TIME, "", None),
        ] {
            let element = Element { tag, content: text.as_bytes(), whole: &[] };
            assert_eq!(time(element), expected, "{text}");
        }
    }
}
