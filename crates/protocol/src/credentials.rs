//! Removes credentials from values that are addresses, before they are shown or stored.

use std::borrow::Cow;

use crate::http::Url;
use crate::postgres::conninfo::ConnectionString;

/// The value without credentials. Only complete addresses have any: URLs of web servers and connection
/// strings. The result is owned if the value had credentials; any other value is returned unchanged.
#[must_use]
pub fn without_credentials(value: &str) -> Cow<'_, str> {
    if let Ok(url) = Url::parse(value) {
        return if url.has_credentials() { url.to_string().into() } else { value.into() };
    }
    match ConnectionString::parse(value) {
        Ok(string) if string.has_secret() => string.to_string().into(),
        _ => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_lose_something() {
        for (value, shown) in [
            ("postgres://me:geheim@h/d", "host=h dbname=d user=me"),
            ("host=h user=me password='ge heim'", "host=h user=me"),
            ("http://me:geheim@h/{z}/{x}/{y}", "http://h/{z}/{x}/{y}"),
            ("https://h/{z}/{x}/{y}?api_key=geheim", "https://h/{z}/{x}/{y}?api_key=hidden"),
        ] {
            assert_eq!(without_credentials(value), shown);
            assert!(matches!(without_credentials(shown), Cow::Borrowed(_)), "{shown}");
        }
        for value in [
            "",
            "shop",
            "postgres://me@h/d",
            "http://h/{z}/{x}/{y}?map=roads",
            "ALTER ROLE r PASSWORD 'secret'",
            "SELECT dblink_connect('host=h password=secret')",
            "script: a.sql@2",
        ] {
            assert!(matches!(without_credentials(value), Cow::Borrowed(_)), "{value}");
        }
    }
}
