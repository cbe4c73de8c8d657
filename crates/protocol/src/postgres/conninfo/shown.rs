//! A description of a connection as it may be shown and stored.

use super::env::Env;
use super::keywords::KEYWORDS;
use super::parameters::Parameters;
use super::secret::shown_options;
use super::text::connection_string;

/// What may be seen of a connection string or URI: this, and nothing else of it, goes into messages, plans, results
/// and reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// For people: the string itself where nothing in it is secret, else what else it says; of a string that cannot be
    /// read, why.
    pub text: String,
    /// A connection string for the same place that only lacks what is secret; `None` where it cannot be read.
    pub dsn: Option<String>,
    /// Where it leads together with the environment ([`super::Config::place`]); `None` where that cannot be told.
    pub place: Option<String>,
}

/// Options that may be shown; all others are only named.
const SHOWN: [&str; 12] = [
    "host",
    "hostaddr",
    "port",
    "user",
    "dbname",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
    "load_balance_hosts",
    "connect_timeout",
    "service",
    "options",
];

impl Shown {
    /// Of a description as a user wrote it.
    #[must_use]
    pub fn of(dsn_given: &str, env: &Env) -> Shown {
        let read = Parameters::parse(dsn_given).and_then(|given| Ok((given.resolve(env)?, given)));
        match read {
            Ok((config, given)) => {
                let (dsn, hidden) = words(&given);
                let text = match (dsn.is_empty(), hidden.as_slice()) {
                    (true, []) => "(as the environment says)".to_owned(),
                    (_, []) => dsn_given.trim().to_owned(),
                    (_, hidden) => {
                        format!("{dsn} (and {}, not shown)", hidden.join(", ")).trim_start().to_owned()
                    }
                };
                Shown { text, dsn: Some(dsn), place: Some(config.place()) }
            }
            Err(error) => Shown { text: format!("(not shown: {error})"), dsn: None, place: None },
        }
    }
}

/// The options given, in libpq's order, as a connection string, and those that are kept back.
fn words(given: &Parameters) -> (String, Vec<&'static str>) {
    let mut parts = Vec::new();
    let mut hidden = Vec::new();
    for name in KEYWORDS.iter().map(|keyword| keyword.name) {
        let Some(value) = given.get(name) else { continue };
        let shown = if name == "options" { shown_options(value) } else { value.to_owned() };
        if shown != value || !SHOWN.contains(&name) {
            hidden.push(name);
        }
        if SHOWN.contains(&name) {
            parts.push((name, shown));
        }
    }
    (connection_string(&parts), hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_shown_without_its_password() {
        let env = Env::empty().with_user("os");
        for (dsn, text, place) in [
            (
                "postgres://me:s3?cr@db:5433/shop",
                "host=db port=5433 dbname=shop user=me (and password, not shown)",
                Some("host=db port=5433 dbname=shop sslmode=prefer"),
            ),
            (
                "host=DB port=5433 dbname=shop user=you",
                "host=DB port=5433 dbname=shop user=you",
                Some("host=db port=5433 dbname=shop sslmode=prefer"),
            ),
            ("", "(as the environment says)", Some("host='' port=5432 dbname=os")),
            ("shop", "shop", Some("host='' port=5432 dbname=shop")),
            (
                "host=h passwd=geheim",
                "(not shown: invalid connection option (number 2); did you mean \"password\"?)",
                None,
            ),
        ] {
            let shown = Shown::of(dsn, &env);
            assert_eq!((shown.text.as_str(), shown.place.as_deref()), (text, place), "{dsn}");
        }
    }
}
