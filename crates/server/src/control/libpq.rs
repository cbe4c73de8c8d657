//! Connects as libpq does: its rules, its order of attempts, its error texts.

use protocol::postgres::Config;
use protocol::postgres::conninfo::{Env, Parameters, TargetSession};
use protocol::postgres::sql::Sql;
use protocol::postgres::{HostAddress, HostSpec, Place, PlaceWithRole, Role};
use protocol::wording;
use spec::Error;

use super::resolve::suits;
use super::{ConnectFailure, Control, Timeouts, places, places_from};

/// Where to connect, from the command line; what is `None` comes from the environment.
#[derive(Debug, Clone, Copy, Default)]
pub struct ConnectorOptions<'a> {
    /// A database name, a connection string or a URI.
    pub database: Option<&'a str>,
    pub host: Option<&'a str>,
    pub port: Option<&'a str>,
    pub user: Option<&'a str>,
    /// Default name of the program in `pg_stat_activity`.
    pub program: &'a str,
}

/// Makes control connections; asks for a password at most once.
#[derive(Debug)]
pub struct Connector {
    parameters: Parameters,
    env: Env,
    config: Config,
    asked: bool,
}

/// Why no server gave a connection.
struct Refused {
    words: Vec<String>,
    needs_password: bool,
}

impl Connector {
    /// Resolves the connection.
    ///
    /// # Errors
    /// In words, when the description is invalid.
    pub fn new(wanted: &ConnectorOptions<'_>) -> Result<Self, String> {
        let env = Env::process();
        let described = || {
            let mut parameters = Parameters::parse(wanted.database.unwrap_or_default())?;
            for (keyword, value) in [("host", wanted.host), ("port", wanted.port), ("user", wanted.user)] {
                parameters.set_default(keyword, value.unwrap_or_default())?;
            }
            parameters.set_default("fallback_application_name", wanted.program)?;
            let config = parameters.resolve(&env)?;
            Ok((parameters, config))
        };
        let (parameters, config) =
            described().map_err(|error: protocol::postgres::conninfo::ConnInfoError| error.to_string())?;
        Ok(Self { parameters, env, config, asked: false })
    }

    /// The resolved connection.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A connection string for the same place, including the password.
    #[must_use]
    pub fn dsn(&self) -> String {
        let mut dsn = self.config.redacted();
        if let Some(password) = &self.config.password {
            let text = String::from_utf8_lossy(password.as_bytes());
            let quoted = text.replace('\\', "\\\\").replace('\'', "\\'");
            dsn = format!("{dsn} password='{quoted}'");
        }
        dsn
    }

    /// Connects to the first server that accepts us. `ask` is called when a server wants a password and there
    /// is none; it returns `None` when nobody can be asked.
    ///
    /// # Errors
    /// libpq's text: a line for each server tried.
    pub fn connect(&mut self, ask: &mut dyn FnMut() -> Option<String>) -> Result<Control, String> {
        loop {
            let refused = match self.search() {
                Ok(control) => return Ok(control),
                Err(refused) => refused,
            };
            if !refused.needs_password || self.asked {
                return Err(refused.words.join("\n"));
            }
            self.asked = true;
            let Some(password) = ask() else { return Err(refused.words.join("\n")) };
            self.parameters.set("password", &password).map_err(|error| error.to_string())?;
            self.config = self.parameters.resolve(&self.env).map_err(|error| error.to_string())?;
        }
    }

    /// Every server of the description that answers, with its role, in the given order.
    ///
    /// # Errors
    /// As [`Connector::connect`], when one of them cannot be reached.
    pub fn servers(&mut self, ask: &mut dyn FnMut() -> Option<String>) -> Result<Vec<PlaceWithRole>, String> {
        let mut servers = Vec::new();
        for host in self.config.hosts.clone() {
            let config =
                Config { hosts: vec![host], target_session_attrs: TargetSession::Any, ..self.config.clone() };
            let one = Self {
                config,
                env: self.env.clone(),
                parameters: self.parameters.clone(),
                asked: self.asked,
            };
            let mut control = match one.search() {
                Ok(control) => control,
                Err(refused) if refused.needs_password && !self.asked => {
                    // Asks, and stores the answer for all.
                    self.connect(ask)?;
                    return self.servers(ask);
                }
                Err(refused) => return Err(refused.words.join("\n")),
            };
            let standby =
                control.scalar("SELECT pg_catalog.pg_is_in_recovery()").map_err(|error| error.text)?;
            let role = if standby.as_deref() == Some("t") { Role::Standby } else { Role::Primary };
            servers.push(PlaceWithRole { place: control.place().clone(), role });
        }
        Ok(servers)
    }

    /// Where a client that lost its connection to `first` looks for a server: there, then at the other
    /// addresses of the description. Names are looked up now.
    #[must_use]
    pub fn places_from(&self, first: &Place) -> Vec<Place> {
        places_from(&self.config, first)
    }

    fn search(&self) -> Result<Control, Refused> {
        match self.config.target_session_attrs {
            TargetSession::PreferStandby => {
                self.first(TargetSession::Standby).or_else(|_| self.first(TargetSession::Any))
            }
            wanted => self.first(wanted),
        }
    }

    fn first(&self, wanted: TargetSession) -> Result<Control, Refused> {
        let mut refused = Refused { words: Vec::new(), needs_password: false };
        for (number, place) in places(&self.config) {
            match place {
                Err(error) => refused.words.push(unresolved(&self.config.hosts[number], &error)),
                Ok(place) => {
                    if let Some(control) = self.one(number, &place, wanted, &mut refused) {
                        return control.ok_or(refused);
                    }
                }
            }
        }
        Err(refused)
    }

    /// Tries one address; `None` to continue with the next one, `Some(None)` to stop.
    fn one(
        &self,
        number: usize,
        place: &Place,
        wanted: TargetSession,
        refused: &mut Refused,
    ) -> Option<Option<Control>> {
        let host = &self.config.hosts[number];
        match Control::attempt(place, self.config.connect_timeout, Timeouts::endless()) {
            Ok(control) => match suits(control, wanted, &self.config) {
                Ok(control) => return Some(Some(control)),
                Err(error) => refused.words.push(format!("connection to {host} failed: {error}")),
            },
            Err(failed) => {
                refused.words.push(failed.libpq_words(host));
                refused.needs_password = failed.needs_password();
                if failed.is_final() {
                    return Some(None);
                }
            }
        }
        None
    }
}

/// libpq's text for a name without an address.
fn unresolved(host: &HostSpec, error: &Error) -> String {
    match (&host.host, error.attached(), error.cause()) {
        (HostAddress::Tcp { name, .. }, Some(ConnectFailure::UnknownHost), Some(source)) => {
            wording::unknown_host(name, source)
        }
        _ => error.to_string(),
    }
}
