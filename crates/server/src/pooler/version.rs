//! Versions of PgBouncer.

use std::fmt;

/// A version of PgBouncer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl Version {
    /// The first version of a series, for comparisons.
    #[must_use]
    pub const fn of(major: u32, minor: u32) -> Self {
        Self { major, minor, patch: 0 }
    }

    /// `PgBouncer 1.18.0`.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let text = line.trim().strip_prefix("PgBouncer ")?;
        let mut parts = text.split('.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse().ok()
        });
        let mut next = || parts.next().flatten();
        Some(Self { major: next()?, minor: next()?, patch: next().unwrap_or(0) })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        for (line, wanted) in [
            ("PgBouncer 1.18.0", Some("1.18.0")),
            ("PgBouncer 1.25.1\n", Some("1.25.1")),
            ("PgBouncer 1.9", Some("1.9.0")),
            ("PgBouncer 1.26.0dev", Some("1.26.0")),
            ("libevent 2.1.12-stable", None),
            ("PgBouncer x", None),
        ] {
            assert_eq!(Version::parse(line).map(|version| version.to_string()).as_deref(), wanted, "{line}");
        }
        assert!(Version::of(1, 9) < Version::of(1, 21));
    }
}
