//! A server given by a connection string: accessed by SQL only.

use std::ffi::OsString;

use protocol::postgres::Place;
use protocol::postgres::conninfo::{Env, RootCertificates};
use protocol::postgres::{Config, HostAddress, PasswordSource};
use spec::Error;

use crate::child::Watchdog;
use crate::control::{Control, Pooling, connect, places_from};
use crate::error::options_not_pooled;
use crate::error::{conninfo_error, sql_error};
use crate::home::Home;
use crate::settings::journal::{
    Access, Journal, LeftBy, Leftover, Recovered, RestoreScope, left_at, recover,
};

/// What we may do on a server that we do not own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Change nothing.
    ReadOnly,
    /// Restore what a killed pgdyno had changed.
    Restore,
    /// Also change settings of the whole server, which are restored later.
    Change,
}

/// A server that we do not own.
#[derive(Debug)]
pub struct UrlServer {
    config: Config,
    place: Place,
    rights: Rights,
    home: Home,
    watchdog: Watchdog,
    recovered: Vec<Recovered>,
    pooling: Pooling,
    /// Whether statements prepared by name can be reused.
    keeps_statements: bool,
}

impl UrlServer {
    /// Connects once to check that the server exists, and undoes what a killed pgdyno left on it, as far as
    /// `rights` allow.
    ///
    /// `dsn` is anything libpq takes; the environment and the passfile count as in libpq. While settings of
    /// the whole server are changed, a watchdog of `watchdog`'s program runs.
    ///
    /// # Errors
    /// When the description is invalid or the connection fails.
    pub fn open(dsn: &str, rights: Rights, home: &Home, watchdog: &Watchdog) -> Result<Self, Error> {
        let config = described(dsn)?;
        let mut control = connect_or_report(&config, home)?;
        let seen = |error| sql_error("checking for a pooler in front of the server", error);
        let mut pooling = control.pooling().map_err(seen)?;
        let keeps_statements = match pooling {
            Pooling::None | Pooling::Session => true,
            // Statement pooling closes a connection that begins a transaction.
            Pooling::Transaction | Pooling::Statement => control.keeps_statements().unwrap_or_else(|error| {
                if Pooling::refuses_transactions(&error) {
                    pooling = Pooling::Statement;
                }
                false
            }),
        };
        if !keeps_statements {
            control = connect_or_report(&config, home)?;
        }
        let parameters = &control.place().login.parameters;
        if pooling.is_shared() && parameters.iter().any(|(name, _)| name == "options") {
            return Err(options_not_pooled());
        }
        let recovered = match rights {
            Rights::ReadOnly => Vec::new(),
            Rights::Restore | Rights::Change => {
                recover(home, Some(&mut control), RestoreScope::Everything, watchdog)?
            }
        };
        let place = control.place().clone();
        drop(control);
        let (home, watchdog) = (home.clone(), watchdog.clone());
        Ok(Self { config, place, rights, home, watchdog, recovered, pooling, keeps_statements })
    }

    /// How server connections are shared in front of it.
    #[must_use]
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// Whether statements prepared by name can be reused.
    #[must_use]
    pub fn keeps_statements(&self) -> bool {
        self.keeps_statements
    }

    /// The connection with every default filled in.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How to connect to a database there (`None`: the described one), without looking names up again.
    #[must_use]
    pub fn place(&self, database: Option<&str>) -> Place {
        self.with_database(self.place.clone(), database)
    }

    /// Where to look for it when connections to it are lost: there, then at the other addresses of the
    /// description. Names are looked up now.
    #[must_use]
    pub fn places_again(&self, database: Option<&str>) -> Vec<Place> {
        let places = places_from(&self.config, &self.place).into_iter();
        places.map(|place| self.with_database(place, database)).collect()
    }

    fn with_database(&self, mut place: Place, database: Option<&str>) -> Place {
        if let Some(database) = database.filter(|name| *name != self.config.dbname) {
            let mut login = (*place.login).clone();
            database.clone_into(&mut login.dbname);
            place.login = std::sync::Arc::new(login);
        }
        place
    }

    pub(super) fn rights(&self) -> Rights {
        self.rights
    }

    /// Where what is changed on it is recorded.
    ///
    /// # Errors
    /// When the home cannot be used.
    pub(super) fn new_journal(&self) -> Result<Journal, Error> {
        let access = Access::to(&self.place, &self.config);
        Journal::new(&self.home, &self.config.redacted(), access, &self.watchdog)
    }

    /// What had to be undone from earlier experiments, on any server.
    pub(super) fn take_recovered(&mut self) -> Vec<Recovered> {
        std::mem::take(&mut self.recovered)
    }

    /// The connection without secrets, for records and messages.
    #[must_use]
    pub fn redacted(&self) -> String {
        self.config.redacted()
    }

    /// What libpq programs need for the same connection, in addition to host, port, user, database and
    /// password.
    #[must_use]
    pub fn libpq_environment(&self) -> Vec<(OsString, OsString)> {
        let mut env = vec![("PGSSLMODE".into(), self.config.ssl.mode.name().into())];
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

    /// What commands need in addition. No variable contains a password; a passfile is only named.
    pub(super) fn command_environment(&self) -> Vec<(OsString, OsString)> {
        let passwords = self.config.hosts.iter().filter_map(|host| host.password.as_ref());
        let passfile = passwords.chain(&self.config.password).find_map(|password| match password.source() {
            PasswordSource::Passfile(path) => Some(path),
            _ => None,
        });
        let passfile = passfile.map(|path| ("PGPASSFILE".into(), path.into()));
        self.libpq_environment().into_iter().chain(passfile).collect()
    }

    /// Host in libpq's form, and port, of the server that answered.
    pub(super) fn libpq_host(&self) -> (String, u16) {
        let address = &self.place.address;
        let answers = |spec: &&protocol::postgres::HostSpec| match address {
            protocol::Address::Unix(path) => spec.socket_path().as_ref() == Some(path),
            protocol::Address::Tcp(address) => spec.socket_path().is_none() && spec.port == address.port(),
        };
        let chosen = self.config.hosts.iter().find(answers).or(self.config.hosts.first());
        match chosen.map(|spec| (&spec.host, spec.port)) {
            Some((HostAddress::Unix(folder), port)) => (folder.to_string_lossy().into_owned(), port),
            Some((HostAddress::Tcp { name, .. }, port)) => (name.clone(), port),
            None => (String::new(), 5432),
        }
    }
}

fn described(dsn: &str) -> Result<Config, Error> {
    let mut config = Config::parse(Some(dsn), &Env::process()).map_err(conninfo_error)?;
    config.application_name.get_or_insert_with(|| "pgdyno".to_owned());
    Ok(config)
}

/// Connects; a server that cannot be reached may have settings that a killed pgdyno left.
fn connect_or_report(config: &Config, home: &Home) -> Result<Control, Error> {
    // A working pgdyno there restores its own changes.
    let killed = |left: &Leftover| !matches!(left.by, LeftBy::Living(_));
    connect(config).map_err(|error| match left_at(home, config).into_iter().find(killed) {
        Some(left) => {
            let what = format!(
                "{error}; a pgdyno that was killed had changed {} there ({}); once the server is back they can be put back \
                 with: pgdyno target restore",
                left.kind(),
                left.list()
            );
            error.in_words(what)
        }
        None => error,
    })
}

/// Undoes what killed pgdynos left on servers that we do not own, as far as the environment and the passfile
/// allow a connection.
///
/// # Errors
/// When somebody else can change the home or a journal.
pub fn recover_earlier(home: &Home, watchdog: &Watchdog) -> Result<Vec<Recovered>, Error> {
    recover(home, None, RestoreScope::Everything, watchdog)
}

/// Undoes on request what killed pgdynos left on the server of `dsn`, or on all known servers.
///
/// # Errors
/// When the connection to that server fails.
pub fn restore_left(home: &Home, dsn: Option<&str>, watchdog: &Watchdog) -> Result<Vec<Recovered>, Error> {
    let Some(dsn) = dsn else { return recover(home, None, RestoreScope::Asked, watchdog) };
    let mut control = connect_or_report(&described(dsn)?, home)?;
    recover(home, Some(&mut control), RestoreScope::Asked, watchdog)
}
