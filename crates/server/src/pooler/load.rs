//! What does not work through a pooler, and why: checked before anything is started.

use spec::plan::pooler::{PoolMode, PoolerOptions};
use spec::{Class, Error};

use super::Version;
use super::options::max_prepared;
use crate::settings::SettingValues;

/// A load that should go through a pooler.
#[derive(Debug, Clone, Copy)]
pub struct PooledLoad<'a> {
    /// Concurrent connections.
    pub clients: u32,
    /// Each transaction has a separate connection (`-C`).
    pub reconnects: bool,
    /// Statements are prepared once by name and reused (query mode `prepared`).
    pub prepared: bool,
    /// Its scripts begin transactions of several statements.
    pub transaction_blocks: bool,
    pub session: &'a SettingValues,
}

/// Why a pooler cannot carry a load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedLoad {
    /// Prepared statements belong to one server connection.
    #[error(
        "prepared statements do not go through PgBouncer {version} in {mode} pooling; use 1.21 or newer, pool_mode = \
         session, or the query mode simple or extended"
    )]
    Prepared { version: Version, mode: PoolMode },
    /// It could keep prepared statements, but is configured not to.
    #[error(
        "prepared statements do not go through PgBouncer {version} in {mode} pooling unless max_prepared_statements is \
         above 0 (which it is by itself from 1.24 on); set it, e.g. to 200"
    )]
    PreparedOff { version: Version, mode: PoolMode },
    #[error(
        "transactions of several statements (BEGIN) do not go through statement pooling; use pool_mode = transaction"
    )]
    TransactionBlocks,
    /// Some clients would wait forever.
    #[error(
        "session pooling keeps a server connection for each of the {clients} clients, and pool_size is {pool_size}: the \
         others would wait in vain; use pool_size = {clients}, or pool_mode = transaction"
    )]
    TooFewConnections { clients: u32, pool_size: u32 },
    /// A startup parameter that PgBouncer refuses.
    #[error(
        "PgBouncer {version} does not pass on {parameter:?}, which the connection string or the environment sets for \
         each connection; leave it out, or make it a setting of the arm"
    )]
    Parameter { parameter: String, version: Version },
    /// PgBouncer itself sets session settings.
    #[error(
        "server_reset_query cannot be chosen together with the session setting {setting:?}, which pgdyno keeps in force \
         by it"
    )]
    ResetQuery { setting: String },
    /// A configuration file cannot contain the value.
    #[error(
        "the session setting {setting:?} has a value of more than one line, which does not go through a pooler"
    )]
    Value { setting: String },
}

impl From<UnsupportedLoad> for Error {
    fn from(error: UnsupportedLoad) -> Self {
        Self::new(Class::Missing, error.to_string()).because(error)
    }
}

/// Startup parameters that every version of PgBouncer keeps for each client, in lower case.
const KEPT: [&str; 5] =
    ["application_name", "client_encoding", "datestyle", "standard_conforming_strings", "timezone"];
/// Kept by default from 1.20 on (`track_extra_parameters`).
const KEPT_LATER: &str = "intervalstyle";
/// The first version that can keep prepared statements for each client, and the first that does so by
/// default.
const PREPARED: Version = Version::of(1, 21);
const PREPARED_BY_DEFAULT: Version = Version::of(1, 24);
/// The first version that keeps more parameters than [`KEPT`].
const EXTRA_PARAMETERS: Version = Version::of(1, 20);

/// Checks that a pooler can carry a load. `parameters` are the startup parameters of the connection to the
/// server, such as `options` of a URL (none on managed servers), without the settings of an arm.
pub fn check_load(
    version: Version,
    options: &PoolerOptions,
    parameters: &[(String, String)],
    load: &PooledLoad<'_>,
) -> Result<(), UnsupportedLoad> {
    let mode = options.pool_mode;
    if load.prepared && mode != PoolMode::Session {
        if version < PREPARED {
            return Err(UnsupportedLoad::Prepared { version, mode });
        }
        if max_prepared(options).unwrap_or(if version < PREPARED_BY_DEFAULT { 0 } else { 200 }) == 0 {
            return Err(UnsupportedLoad::PreparedOff { version, mode });
        }
    }
    if load.transaction_blocks && mode == PoolMode::Statement {
        return Err(UnsupportedLoad::TransactionBlocks);
    }
    if mode == PoolMode::Session && !load.reconnects && load.clients > options.pool_size {
        return Err(UnsupportedLoad::TooFewConnections {
            clients: load.clients,
            pool_size: options.pool_size,
        });
    }
    if let Some((name, _)) = parameters.iter().find(|(name, _)| !is_kept(name, version)) {
        return Err(UnsupportedLoad::Parameter { parameter: name.clone(), version });
    }
    session_settings(options, load.session)
}

fn session_settings(options: &PoolerOptions, session: &SettingValues) -> Result<(), UnsupportedLoad> {
    if let Some((setting, _)) = session.iter().find(|(_, value)| value.chars().any(char::is_control)) {
        return Err(UnsupportedLoad::Value { setting: setting.clone() });
    }
    match session.keys().next() {
        Some(setting) if options.settings.contains_key("server_reset_query") => {
            Err(UnsupportedLoad::ResetQuery { setting: setting.clone() })
        }
        _ => Ok(()),
    }
}

/// Whether a startup parameter reaches the server connection that serves the client.
pub(super) fn is_kept(name: &str, version: Version) -> bool {
    let name = name.to_ascii_lowercase();
    KEPT.contains(&name.as_str()) || (version >= EXTRA_PARAMETERS && name == KEPT_LATER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1_18: Version = Version::of(1, 18);

    fn options(pool_mode: PoolMode, settings: &[(&str, &str)]) -> PoolerOptions {
        let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        PoolerOptions { pool_mode, pool_size: 4, settings }
    }

    fn load(session: &SettingValues) -> PooledLoad<'_> {
        PooledLoad { clients: 4, reconnects: false, prepared: false, transaction_blocks: true, session }
    }

    #[test]
    fn prepared_statements_go_where_the_version_keeps_them() {
        use PoolMode::{Session, Statement, Transaction};
        struct Case {
            minor: u32,
            mode: PoolMode,
            max: Option<&'static str>,
            /// The beginning of the reason.
            wanted: Option<&'static str>,
        }
        let too_old = Some("prepared statements do not go through PgBouncer 1.18.0 in");
        for Case { minor, mode, max, wanted } in [
            Case { minor: 18, mode: Session, max: None, wanted: None },
            Case { minor: 18, mode: Transaction, max: None, wanted: too_old },
            Case { minor: 18, mode: Statement, max: Some("100"), wanted: too_old },
            Case { minor: 21, mode: Transaction, max: Some("100"), wanted: None },
            Case { minor: 21, mode: Statement, max: Some("100"), wanted: None },
            Case {
                minor: 23,
                mode: Transaction,
                max: None,
                wanted: Some(
                    "prepared statements do not go through PgBouncer 1.23.0 in transaction pooling unless",
                ),
            },
            Case { minor: 24, mode: Transaction, max: None, wanted: None },
            Case {
                minor: 24,
                mode: Transaction,
                max: Some("0"),
                wanted: Some(
                    "prepared statements do not go through PgBouncer 1.24.0 in transaction pooling unless",
                ),
            },
        ] {
            let none = SettingValues::new();
            let prepared = PooledLoad { prepared: true, transaction_blocks: false, ..load(&none) };
            let settings: Vec<_> = max.into_iter().map(|max| ("max_prepared_statements", max)).collect();
            let got = check_load(Version::of(1, minor), &options(mode, &settings), &[], &prepared);
            let got = got.err().map(|reason| reason.to_string());
            let fits = match (&got, wanted) {
                (Some(got), Some(wanted)) => got.starts_with(wanted),
                (got, wanted) => got.is_none() && wanted.is_none(),
            };
            assert!(fits, "1.{minor} {mode} {max:?}: {got:?}");
        }
    }

    #[test]
    fn clients_that_would_wait_for_ever_are_refused() {
        let none = SettingValues::new();
        let many = PooledLoad { clients: 5, ..load(&none) };
        let session = options(PoolMode::Session, &[]);
        let refusal = UnsupportedLoad::TooFewConnections { clients: 5, pool_size: 4 };
        assert_eq!(check_load(V1_18, &session, &[], &many), Err(refusal));
        assert_eq!(check_load(V1_18, &session, &[], &PooledLoad { reconnects: true, ..many }), Ok(()));
        assert_eq!(check_load(V1_18, &options(PoolMode::Transaction, &[]), &[], &many), Ok(()));
        let statement = options(PoolMode::Statement, &[]);
        assert_eq!(check_load(V1_18, &statement, &[], &many), Err(UnsupportedLoad::TransactionBlocks));
    }

    #[test]
    fn what_a_connection_sets_for_itself_goes_through_or_is_refused() {
        let none = SettingValues::new();
        let transaction = options(PoolMode::Transaction, &[]);
        for (name, version, wanted) in [
            ("application_name", V1_18, true),
            ("TimeZone", V1_18, true),
            ("IntervalStyle", V1_18, false),
            ("IntervalStyle", Version::of(1, 20), true),
            ("options", V1_18, false),
            ("options", Version::of(1, 25), false),
            ("geqo", Version::of(1, 25), false),
        ] {
            let parameters = [(name.to_owned(), "x".to_owned())];
            let got = check_load(version, &transaction, &parameters, &load(&none));
            assert_eq!(got.is_ok(), wanted, "{name} through {version}");
        }
        let session = SettingValues::from([("work_mem".to_owned(), "1MB".to_owned())]);
        assert_eq!(check_load(V1_18, &transaction, &[], &load(&session)), Ok(()));
        let reset = options(PoolMode::Transaction, &[("server_reset_query", "DISCARD ALL")]);
        let refusal = UnsupportedLoad::ResetQuery { setting: "work_mem".to_owned() };
        assert_eq!(check_load(V1_18, &reset, &[], &load(&session)), Err(refusal));
        let lines = SettingValues::from([("app.x".to_owned(), "a\nb".to_owned())]);
        let refusal = UnsupportedLoad::Value { setting: "app.x".to_owned() };
        assert_eq!(check_load(V1_18, &transaction, &[], &load(&lines)), Err(refusal));
    }
}
