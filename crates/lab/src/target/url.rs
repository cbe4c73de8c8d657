//! A server given by a connection string: never more than SQL.

use std::ffi::OsString;
use std::time::Duration;

use protocol::postgres::conninfo::{Env, RootCertificates};
use protocol::postgres::{Config, Host, SslMode};
use workloads::Connect;

use super::TargetError;
use super::settings::journal::{Journal, Recovered, recover};
use crate::control::{Control, connect, places_from};
use crate::place::Home;

/// A server that is not ours.
#[derive(Debug)]
pub struct UrlServer {
    config: Config,
    place: Connect,
    /// There when the experiment allows changes to the server.
    pub(super) journal: Option<Journal>,
    recovered: Vec<Recovered>,
}

impl UrlServer {
    /// Connects once to see that the server is there, and undoes what a killed pgdyno left on it.
    ///
    /// `dsn` is anything libpq takes; the environment and the passfile count as they do there. With `change_server`
    /// settings of the whole server may be changed (and are put back).
    ///
    /// # Errors
    /// When the description is wrong or the server cannot be connected to.
    pub fn open(dsn: &str, change_server: bool, home: &Home) -> Result<Self, TargetError> {
        let mut config = Config::parse(Some(dsn), &Env::process())?;
        config.application_name.get_or_insert_with(|| "pgdyno".to_owned());
        let control = connect(&config)?;
        let place = control.place().clone();
        drop(control);
        let recovered = recover(home, &mut |entry| reach(&entry.dsn, Some(&config)));
        let journal = if change_server {
            home.prepare(crate::child::Account::unprivileged()?.as_ref())?;
            Some(Journal::new(home, &config.redacted()))
        } else {
            None
        };
        Ok(Self { config, place, journal, recovered })
    }

    /// The connection as described, with every default filled in.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How to connect to a database there (`None`: the one described), without looking names up again.
    #[must_use]
    pub fn place(&self, database: Option<&str>) -> Connect {
        self.with_database(self.place.clone(), database)
    }

    /// Where to look for it when connections to it are lost: there, then at the other addresses of the description.
    /// Names are looked up now.
    #[must_use]
    pub fn places_again(&self, database: Option<&str>) -> Vec<Connect> {
        let places = places_from(&self.config, &self.place).into_iter();
        places.map(|place| self.with_database(place, database)).collect()
    }

    fn with_database(&self, mut place: Connect, database: Option<&str>) -> Connect {
        if let Some(database) = database.filter(|name| *name != self.config.dbname) {
            let mut login = (*place.login).clone();
            database.clone_into(&mut login.dbname);
            place.login = std::sync::Arc::new(login);
        }
        place
    }

    /// What was found to be undone from earlier experiments, on any server.
    pub(super) fn take_recovered(&mut self) -> Vec<Recovered> {
        std::mem::take(&mut self.recovered)
    }

    /// The connection without secrets, for records and messages.
    #[must_use]
    pub fn redacted(&self) -> String {
        self.config.redacted()
    }

    /// What libpq programs need to connect alike, beside host, port, user, database and password.
    #[must_use]
    pub fn libpq_environment(&self) -> Vec<(OsString, OsString)> {
        let mode = match self.config.ssl.mode {
            SslMode::Disable => "disable",
            SslMode::Allow => "allow",
            SslMode::Prefer => "prefer",
            SslMode::Require => "require",
            SslMode::VerifyCa => "verify-ca",
            SslMode::VerifyFull => "verify-full",
        };
        let mut env = vec![("PGSSLMODE".into(), mode.into())];
        match &self.config.ssl.root {
            RootCertificates::None => {}
            RootCertificates::System => env.push(("PGSSLROOTCERT".into(), "system".into())),
            RootCertificates::File(path) => env.push(("PGSSLROOTCERT".into(), path.into())),
        }
        if let Some(client) = &self.config.ssl.client {
            env.push(("PGSSLCERT".into(), (&client.certificate).into()));
            env.push(("PGSSLKEY".into(), (&client.key).into()));
        }
        env
    }

    /// Host as libpq programs take it, and port, of the server that answered.
    pub(super) fn libpq_host(&self) -> (String, u16) {
        let address = &self.place.endpoint.address;
        let answers = |spec: &&protocol::postgres::HostSpec| match address {
            engine::Address::Unix(path) => spec.socket_path().as_ref() == Some(path),
            engine::Address::Tcp(address) => spec.socket_path().is_none() && spec.port == address.port(),
        };
        let chosen = self.config.hosts.iter().find(answers).or(self.config.hosts.first());
        match chosen.map(|spec| (&spec.host, spec.port)) {
            Some((Host::Unix(folder), port)) => (folder.to_string_lossy().into_owned(), port),
            Some((Host::Tcp { name, .. }, port)) => (name.clone(), port),
            None => (String::new(), 5432),
        }
    }
}

/// Undoes what killed pgdynos left on servers that are not ours, as far as the environment and the passfile let us
/// connect there.
pub fn recover_earlier(home: &Home) -> Vec<Recovered> {
    recover(home, &mut |entry| reach(&entry.dsn, None))
}

/// Patience with a server that only needs to be mended.
const RECOVERY_BOUND: Duration = Duration::from_secs(5);

/// Connects to the server of a journal: the one just described (whose password we know), or another one.
fn reach(dsn: &str, described: Option<&Config>) -> Result<Control, String> {
    let mut config = match described.filter(|config| config.redacted() == dsn) {
        Some(config) => config.clone(),
        None => Config::parse(Some(dsn), &Env::process()).map_err(|error| error.to_string())?,
    };
    config.connect_timeout =
        Some(config.connect_timeout.map_or(RECOVERY_BOUND, |own| own.min(RECOVERY_BOUND)));
    connect(&config).map_err(|error| error.to_string())
}
