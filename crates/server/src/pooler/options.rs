//! What options a pooler cannot have.

use spec::plan::pooler::PoolerOptions;
use spec::{Class, Error};

/// An option that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("option {name} of the pooler: {why}")]
pub struct OptionError {
    pub name: String,
    pub why: &'static str,
}

impl From<OptionError> for Error {
    fn from(error: OptionError) -> Self {
        Self::new(Class::BadInput, error.to_string())
    }
}

/// Settings that nobody can choose, or their beginnings (`…*`), and why.
const RESERVED: [(&str, &str); 20] = [
    ("pool_mode", "it is an option of its own"),
    ("default_pool_size", "it is the option pool_size"),
    ("max_client_conn", "it follows from the number of clients"),
    ("listen_*", REACHED),
    ("unix_socket_*", REACHED),
    ("client_tls*", REACHED),
    ("auth_*", LOGIN),
    ("admin_users", LOGIN),
    ("stats_users", LOGIN),
    ("server_tls*", "TLS to the server is as its URL says"),
    ("ignore_startup_parameters", KNOWN),
    ("track_extra_parameters", KNOWN),
    ("logfile", LOG),
    ("syslog*", LOG),
    ("pidfile", RUN),
    ("user", RUN),
    ("conffile", RUN),
    ("service_name", RUN),
    ("resolv_conf", "hosts are looked up as the system does"),
    ("job_name", RUN),
];
const REACHED: &str = "pgdyno reaches the pooler by it";
const LOGIN: &str = "the load logs in by it";
const KNOWN: &str = "pgdyno tells by its default what reaches the server";
const LOG: &str = "pgdyno reads the pooler's log";
const RUN: &str = "pgdyno runs the pooler";

/// Looks for what cannot be, before anything is started.
///
/// # Errors
/// The first one.
pub fn check(options: &PoolerOptions) -> Result<(), OptionError> {
    let wrong = |name: &str, why| Err(OptionError { name: name.to_owned(), why });
    if !(1..=10_000).contains(&options.pool_size) {
        return wrong("pool_size", "it takes 1 to 10000");
    }
    for (name, value) in &options.settings {
        if let Some(why) = reserved(name) {
            return wrong(name, why);
        }
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if name.is_empty() || !name.bytes().all(fits) {
            return wrong(name, "settings of PgBouncer have names of small letters, digits and _");
        }
        if value.chars().any(char::is_control) {
            return wrong(name, "a value is one line");
        }
    }
    match options.settings.get(MAX_PREPARED) {
        Some(value) if value.trim().parse::<u32>().is_err() => wrong(MAX_PREPARED, "it takes a number"),
        _ => Ok(()),
    }
}

/// How many prepared statements it keeps for each server connection; `None` if unset.
pub(super) fn max_prepared(options: &PoolerOptions) -> Option<u32> {
    options.settings.get(MAX_PREPARED)?.trim().parse().ok()
}

const MAX_PREPARED: &str = "max_prepared_statements";

fn reserved(name: &str) -> Option<&'static str> {
    let is = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    };
    RESERVED.iter().find(|(pattern, _)| is(pattern)).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use spec::plan::pooler::PoolMode;

    use super::*;

    #[test]
    fn settings_of_ours_and_impossible_ones_are_refused_by_name() {
        for (name, value, wanted) in [
            ("server_lifetime", "60", None),
            ("max_prepared_statements", "100", None),
            ("max_prepared_statements", "many", Some("it takes a number")),
            ("auth_type", "any", Some(LOGIN)),
            ("listen_addr", "*", Some(REACHED)),
            ("client_tls13_ciphers", "x", Some(REACHED)),
            ("track_extra_parameters", "search_path", Some(KNOWN)),
            ("pool_mode", "session", Some("it is an option of its own")),
            (
                "pkt_buf\nauth_type",
                "1",
                Some("settings of PgBouncer have names of small letters, digits and _"),
            ),
            ("server_check_query", "select 1\nauth_type = any", Some("a value is one line")),
        ] {
            let settings = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let options = PoolerOptions { pool_mode: PoolMode::Session, pool_size: 1, settings };
            let why = check(&options).err().map(|error| error.why);
            assert_eq!(why, wanted, "{name} = {value}");
        }
    }

    #[test]
    fn options_are_written_as_they_are_read() {
        let text = r#"{"pool_mode":"transaction","pool_size":20}"#;
        let options: PoolerOptions = serde_json::from_str(text).unwrap();
        assert_eq!(options.pool_mode, PoolMode::Transaction);
        assert_eq!(serde_json::to_string(&options).unwrap(), text);
        for wrong in [
            r#"{"pool_mode":"transactions","pool_size":20}"#,
            r#"{"pool_mode":"session","pool_size":20,"pol":1}"#,
        ] {
            assert!(serde_json::from_str::<PoolerOptions>(wrong).is_err(), "{wrong}");
        }
        let none = PoolerOptions { pool_size: 0, ..options };
        assert_eq!(
            check(&none).unwrap_err().to_string(),
            "option pool_size of the pooler: it takes 1 to 10000"
        );
    }
}
