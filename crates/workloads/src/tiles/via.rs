//! How tiles are fetched.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::unknown_word;

/// How tiles are fetched: the same list fetched in another way is another arm.
#[derive(Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// From the database, by the layer's statement.
    #[default]
    Sql,
    Tipg,
    Martin,
    /// From the target's Redis, and missing tiles from the database.
    Redis,
    /// From a web server.
    Http(String),
}

impl Via {
    /// Option values; `http` is written as a URL: `"http://…/{z}/{x}/{y}"` or `{ http =
    /// "http://…/{z}/{x}/{y}" }`.
    pub const NAMES: [&'static str; 5] = ["sql", "tipg", "martin", "redis", "http"];

    /// Whether the database is asked by the layer's own statement.
    pub(super) fn is_sql(&self) -> bool {
        matches!(self, Self::Sql | Self::Redis)
    }

    /// The target's tile server that it uses.
    #[must_use]
    pub fn tile_server(&self) -> Option<&'static str> {
        match self {
            Self::Tipg => Some("tipg"),
            Self::Martin => Some("martin"),
            Self::Sql | Self::Redis | Self::Http(_) => None,
        }
    }

    /// Without user and password.
    pub(super) fn portable(&self) -> Self {
        match self {
            Self::Http(url) => Self::Http(without_login(url)),
            other => other.clone(),
        }
    }

    /// Its name in remarks; a URL may contain a password.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::Sql => "SQL",
            Self::Tipg => "TiPg",
            Self::Martin => "martin",
            Self::Redis => "Redis",
            Self::Http(_) => "HTTP",
        }
    }
}

/// Without a URL's password.
impl std::fmt::Debug for Via {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http(url) => write!(formatter, "Http({})", without_login(url)),
            other => formatter.write_str(other.words()),
        }
    }
}

/// Removes user and password from a URL.
fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpTable {
    /// The URL of a web server.
    http: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "\"sql\", \"tipg\", \"martin\", \"redis\" or a URL, such as \"http://host/{z}/{x}/{y}\""
)]
pub(super) enum ViaForm {
    Word(String),
    Http(HttpTable),
}

impl<'de> Deserialize<'de> for Via {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match ViaForm::deserialize(source)? {
            ViaForm::Http(table) => Ok(Self::Http(table.http)),
            ViaForm::Word(url) if url.contains("://") => Ok(Self::Http(url)),
            ViaForm::Word(word) => match word.as_str() {
                "sql" => Ok(Self::Sql),
                "tipg" => Ok(Self::Tipg),
                "martin" => Ok(Self::Martin),
                "redis" => Ok(Self::Redis),
                "http" => Err(serde::de::Error::custom(
                    "a web server is named by its URL: \"http://host/{z}/{x}/{y}\"",
                )),
                other => Err(serde::de::Error::custom(unknown_word("way", other, &Self::NAMES))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_not_shown() {
        let via = Via::Http("http://me:ge@heim@h:80/{z}/{x}/{y}?a=b@c".to_owned());
        assert_eq!(format!("{via:?}"), "Http(http://h:80/{z}/{x}/{y}?a=b@c)");
        assert_eq!(via.portable(), Via::Http("http://h:80/{z}/{x}/{y}?a=b@c".to_owned()));
    }
}
