//! A connection string as the user gave it: parsed once, and never shown or stored with its secrets.

use std::fmt;

use super::config::Config;
use super::env::Env;
use super::error::ConnInfoError;
use super::keywords::KEYWORDS;
use super::parameters::Parameters;
use super::secret::shown_options;
use super::text::connection_string;

/// A connection string, a URI, a database name, or nothing, as libpq takes them.
///
/// `Display` and `Debug` hide the password, and settings in `options` other than the server's built-in ones.
/// It does not implement serde: the text of `Display` is stored.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ConnectionString {
    written: String,
    parameters: Parameters,
}

impl ConnectionString {
    /// Parses what the user wrote.
    ///
    /// # Errors
    /// As [`Parameters::parse`], and for values that are invalid in every environment.
    pub fn parse(written: &str) -> Result<Self, ConnInfoError> {
        let string = Self { written: written.to_owned(), parameters: Parameters::parse(written)? };
        match string.resolve(&Env::empty().with_user("user")) {
            Err(error @ ConnInfoError::Value { .. }) => Err(error),
            // What is missing here, such as a service file, may exist in another environment.
            _ => Ok(string),
        }
    }

    /// The whole string with secrets, for connecting only.
    #[must_use]
    pub fn with_secrets(&self) -> &str {
        &self.written
    }

    /// The connection that it describes in this environment.
    ///
    /// # Errors
    /// As [`Parameters::resolve`].
    pub fn resolve(&self, env: &Env) -> Result<Config, ConnInfoError> {
        self.parameters.resolve(env)
    }

    /// Whether `Display` hides something.
    #[must_use]
    pub fn has_secret(&self) -> bool {
        !self.without_secrets().1.is_empty()
    }

    /// The text of `Display`, and the names of the hidden options.
    #[must_use]
    pub fn in_words(&self) -> String {
        let (shown, hidden) = self.without_secrets();
        match (shown.is_empty(), hidden.is_empty()) {
            (true, true) => "(as the environment says)".to_owned(),
            (_, true) => shown,
            (_, false) => format!("{shown} (and {}, not shown)", hidden.join(", ")).trim_start().to_owned(),
        }
    }

    /// The string without host, user, password, files and service, to share it.
    #[must_use]
    pub fn without_place(&self) -> String {
        let (mut parts, _) = self.parts();
        let is_kept =
            |name: &str| matches!(name, "port" | "dbname" | "sslmode" | "options" | "connect_timeout");
        let has_host = parts.iter().any(|(name, _)| matches!(*name, "host" | "hostaddr" | "service"));
        parts.retain(|(name, _)| is_kept(name));
        if has_host {
            parts.insert(0, ("host", "redacted".to_owned()));
        }
        connection_string(&parts)
    }

    /// The string itself if it has no secrets, otherwise its public options in libpq's order; and the names
    /// of the secret options.
    fn without_secrets(&self) -> (String, Vec<&'static str>) {
        let (parts, hidden) = self.parts();
        match hidden.is_empty() {
            true => (self.written.trim().to_owned(), hidden),
            false => (connection_string(&parts), hidden),
        }
    }

    /// The public options, and the names of the secret ones.
    fn parts(&self) -> (Vec<(&'static str, String)>, Vec<&'static str>) {
        let mut parts = Vec::new();
        let mut hidden = Vec::new();
        for name in KEYWORDS.iter().map(|keyword| keyword.name) {
            match (name, self.parameters.get(name)) {
                (_, None) => {}
                ("password", Some(_)) => hidden.push(name),
                ("options", Some(given)) => {
                    let shown = shown_options(given);
                    if shown != given {
                        hidden.push(name);
                    }
                    parts.push((name, shown));
                }
                (_, Some(value)) => parts.push((name, value.to_owned())),
            }
        }
        (parts, hidden)
    }
}

impl fmt::Display for ConnectionString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_secrets().0)
    }
}

impl fmt::Debug for ConnectionString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectionString({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_left_out_whole() {
        for (written, shown) in [
            ("postgres://me:geheim@h:5433/shop?sslkey=/home/me/k", "host=redacted port=5433 dbname=shop"),
            ("service=mine sslmode=require", "host=redacted sslmode=require"),
            ("shop", "dbname=shop"),
        ] {
            assert_eq!(ConnectionString::parse(written).unwrap().without_place(), shown);
        }
    }

    #[test]
    fn it_is_shown_without_its_secrets() {
        for (written, shown, words) in [
            (
                "postgres://me:s3?cr@db:5433/shop",
                "host=db port=5433 dbname=shop user=me",
                "host=db port=5433 dbname=shop user=me (and password, not shown)",
            ),
            ("password=geheim", "", "(and password, not shown)"),
            (
                "host=h options='-c app.key=geheim -c jit=off' sslkey=/k",
                "host=h options='-c pgdyno.hidden=yes -c jit=off' sslkey=/k",
                "host=h options='-c pgdyno.hidden=yes -c jit=off' sslkey=/k (and options, not shown)",
            ),
            ("postgres://me@h/d?sslkey=/k", "postgres://me@h/d?sslkey=/k", "postgres://me@h/d?sslkey=/k"),
            ("", "", "(as the environment says)"),
            (" shop ", "shop", "shop"),
        ] {
            let string = ConnectionString::parse(written).unwrap();
            assert_eq!((string.to_string(), string.in_words()), (shown.to_owned(), words.to_owned()));
            assert_eq!(string.has_secret(), words.ends_with("not shown)"), "{written}");
            assert_eq!(format!("{string:?}"), format!("ConnectionString({shown})"));
            assert_eq!(string.with_secrets(), written);
        }
    }
}
