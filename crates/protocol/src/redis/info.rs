//! The fields of a server's `INFO`.

use std::collections::BTreeMap;

/// The fields of `INFO`, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Info(BTreeMap<String, String>);

impl Info {
    /// Parses lines such as `used_memory:1048576`; skips all others.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let fields = text.lines().filter(|line| !line.starts_with('#'));
        let fields = fields.filter_map(|line| line.trim_end().split_once(':'));
        Self(fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// A field's text; `None` where the server does not report it.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A field's whole number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }
}

/// A server's memory limit, and what it does when the memory is full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// `maxmemory` in bytes; 0 is unlimited.
    pub memory_bytes: u64,
    /// `maxmemory-policy`, e.g. `noeviction`.
    pub policy: String,
}

impl Limits {
    /// The limits in force; `None` where the server does not report them.
    #[must_use]
    pub fn of(info: &Info) -> Option<Self> {
        Some(Self {
            memory_bytes: info.number("maxmemory")?,
            policy: info.text("maxmemory_policy")?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Info, Limits};

    #[test]
    fn fields_are_found_by_their_names() {
        let info = Info::parse(
            "# Memory\r\nused_memory:1048576\r\nmaxmemory:67108864\r\nmaxmemory_policy:allkeys-lru\r\n\r\n# Stats\r\nevicted_keys:7\r\nno field\r\n",
        );
        assert_eq!(info.number("used_memory"), Some(1_048_576));
        assert_eq!((info.number("evicted_keys"), info.number("expired_keys")), (Some(7), None));
        let wanted = Limits { memory_bytes: 64 << 20, policy: "allkeys-lru".to_owned() };
        assert_eq!(Limits::of(&info), Some(wanted));
        assert_eq!(Limits::of(&Info::parse("maxmemory:0\r\n")), None);
    }
}
