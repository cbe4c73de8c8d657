//! Checks by libpq's rules whether a certificate is for a host.

use std::net::IpAddr;

use rustls_pki_types::ServerName;
use x509_cert::der;

use super::certificate::{Alternative, Certificate};

/// The hosts a certificate is for.
///
/// Alternative names are checked first. The common name counts only if none of them has the host's kind (a
/// DNS name for a name, an address for an address).
pub(super) struct Names<'a> {
    alternatives: Vec<Alternative<'a>>,
    common: Option<&'a [u8]>,
}

impl<'a> Names<'a> {
    /// Unreadable alternative names are an error, or the common name would replace them.
    pub(super) fn of(certificate: &'a Certificate<'_>) -> der::Result<Names<'a>> {
        Ok(Names { alternatives: certificate.alternatives()?, common: certificate.common_name() })
    }

    pub(super) fn include(&self, host: &ServerName<'_>) -> bool {
        let text = host.to_str();
        let address = match host {
            ServerName::IpAddress(address) => Some(IpAddr::from(*address)),
            _ => None,
        };
        let mut of_kind = false;
        for alternative in &self.alternatives {
            let matches = match alternative {
                Alternative::Dns(pattern) => name_matches(pattern, &text),
                Alternative::Address(bytes) => address.is_some_and(|address| address_matches(bytes, address)),
            };
            if matches {
                return true;
            }
            of_kind |= matches!(alternative, Alternative::Address(_)) == address.is_some();
        }
        !of_kind && self.common.is_some_and(|name| name_matches(name, &text))
    }

    pub(super) fn shown(&self) -> Vec<String> {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let shown = |alternative: &Alternative<'_>| match alternative {
            Alternative::Dns(name) => text(name),
            Alternative::Address(bytes) => {
                match (<[u8; 4]>::try_from(*bytes), <[u8; 16]>::try_from(*bytes)) {
                    (Ok(octets), _) => IpAddr::from(octets).to_string(),
                    (_, Ok(octets)) => IpAddr::from(octets).to_string(),
                    _ => "an address that is none".to_owned(),
                }
            }
        };
        match self.alternatives.as_slice() {
            [] => self.common.map(text).into_iter().collect(),
            alternatives => alternatives.iter().map(shown).collect(),
        }
    }
}

fn address_matches(bytes: &[u8], address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => bytes == address.octets(),
        IpAddr::V6(address) => bytes == address.octets(),
    }
}

/// Ignores case; `*.` at the start of the pattern matches exactly one label.
fn name_matches(pattern: &[u8], name: &str) -> bool {
    let Ok(pattern) = std::str::from_utf8(pattern) else {
        return false;
    };
    // "db1\0.evil.org" must not match "db1".
    if pattern.contains('\0') {
        return false;
    }
    if pattern.eq_ignore_ascii_case(name) {
        return true;
    }
    match (pattern.strip_prefix("*."), name.split_once('.')) {
        (Some(domain), Some((label, behind))) => {
            !label.is_empty() && !domain.is_empty() && domain.eq_ignore_ascii_case(behind)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::name_matches;

    #[test]
    fn names_and_wildcards() {
        for (pattern, name, expected) in [
            ("db.example.org", "db.example.org", true),
            ("DB.example.org", "db.Example.org", true),
            ("*.example.org", "db.example.org", true),
            ("*.example.org", "a.db.example.org", false),
            ("*.example.org", "example.org", false),
            ("*.example.org", ".example.org", false),
            ("d*.example.org", "db.example.org", false),
            ("db.*.org", "db.example.org", false),
            ("*", "db", false),
            ("*.", "db.", false),
            ("", "", true),
            ("localhost", "localhost", true),
            ("localhost\0.evil.org", "localhost", false),
        ] {
            assert_eq!(name_matches(pattern.as_bytes(), name), expected, "{pattern:?} for {name:?}");
        }
    }
}
