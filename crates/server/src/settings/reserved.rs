//! Settings that no arm can vary, because pgdyno depends on them; and settings that apply to the load only.

use super::SettingValues;
use super::compare::seconds;

/// Name, and what pgdyno needs it for; sorted by name.
const RESERVED: [(&str, &str); 16] = [
    ("application_name", "pgdyno knows its own connections by it"),
    ("client_encoding", "pgdyno and its scripts speak UTF-8"),
    ("config_file", FILES),
    ("data_directory", FILES),
    ("external_pid_file", FILES),
    ("hba_file", FILES),
    ("ident_file", FILES),
    ("listen_addresses", REACHED),
    ("port", REACHED),
    ("role", "the load works as the user that it logs in as"),
    ("session_authorization", "the load works as the user that it logs in as"),
    ("ssl", CONNECTION),
    ("ssl_cert_file", CONNECTION),
    ("ssl_key_file", CONNECTION),
    ("unix_socket_directories", REACHED),
    ("unix_socket_permissions", REACHED),
];
const FILES: &str = "the server is found by where its files lie";
const CONNECTION: &str = "how clients connect is a separate factor, `connection`";
const REACHED: &str = "pgdyno reaches the server by it";

/// Timeouts in ms. They apply to the load; pgdyno's own connections do not use them.
const TIMEOUTS: [&str; 5] = [
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "lock_timeout",
    "statement_timeout",
    "transaction_timeout",
];
/// Shortest statement timeout under which settings can still be read back, seconds.
const SHORTEST_S: f64 = 1.0;
const TOO_SHORT: &str =
    "with less than 1 s the settings could not be read back over a connection like the load's";

/// Why a setting cannot be varied, or not have this value; `None` where it can.
#[must_use]
pub fn reserved(name: &str, value: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if let Ok(at) = RESERVED.binary_search_by_key(&name.as_str(), |(name, _)| name) {
        return Some(RESERVED[at].1);
    }
    let ends_statements = ["statement_timeout", "transaction_timeout"].contains(&name.as_str());
    let short = |seconds: f64| seconds > 0.0 && seconds < SHORTEST_S;
    (ends_statements && seconds(value, "ms").is_some_and(short)).then_some(TOO_SHORT)
}

/// An arm's session settings for pgdyno's own connections: all except timeouts, which would end a checkpoint,
/// or the connection itself during a run.
#[must_use]
pub fn without_timeouts(session: &SettingValues) -> SettingValues {
    let own = |(name, _): &(&String, &String)| !TIMEOUTS.contains(&name.to_ascii_lowercase().as_str());
    session.iter().filter(own).map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pgdyno_works_by_cannot_be_a_factor() {
        for (name, value, wanted) in [
            ("application_name", "x", true),
            ("Application_Name", "x", true),
            ("port", "1", true),
            ("ssl", "off", true),
            ("ssl_ciphers", "HIGH", false),
            ("work_mem", "1MB", false),
            ("statement_timeout", "0", false),
            ("statement_timeout", "5", true),
            ("statement_timeout", "999ms", true),
            ("statement_timeout", "1s", false),
            ("transaction_timeout", "1us", true),
            ("lock_timeout", "5", false),
        ] {
            assert_eq!(reserved(name, value).is_some(), wanted, "{name} = {value}");
        }
        assert!(RESERVED.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn limits_of_time_are_for_the_load_alone() {
        let session = [("lock_timeout", "5"), ("work_mem", "1MB"), ("idle_session_timeout", "1s")];
        let session = session.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(without_timeouts(&session), SettingValues::from([("work_mem".into(), "1MB".into())]));
    }
}
