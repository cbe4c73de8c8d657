//! A connection, fully described.

use std::sync::Arc;
use std::time::Duration;

use super::env::Env;
use super::error::ConnInfoError;
use super::hosts::{DEFAULT_PORT, Host, HostSpec, is_default_folder};
use super::options::{RootCertificates, SslOptions, TargetSession, TcpOptions};
use super::parameters::Parameters;
use super::password::Password;
use super::secret::shown_options;
use super::text::quote;
use crate::postgres::login::{AuthPolicy, ChannelBinding, Login, SslMode};
use crate::postgres::scram::ScramCache;

/// A connection with every default filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Servers to try in this order, at least one.
    pub hosts: Vec<HostSpec>,
    /// Role to log in as.
    pub user: String,
    /// Database to connect to.
    pub dbname: String,
    /// The password given in the string, the environment or the service file; it comes before those of the passfile.
    pub password: Option<Password>,
    /// Command-line options for the server process, such as `-c work_mem=64MB`.
    pub options: Option<String>,
    /// Name shown in `pg_stat_activity`.
    pub application_name: Option<String>,
    /// Encoding of what is sent and received; the server's choice if `None`.
    pub client_encoding: Option<String>,
    /// Settings from `PGDATESTYLE`, `PGTZ` and `PGGEQO`.
    pub settings: Vec<(String, String)>,
    /// How TLS is used on TCP connections; Unix sockets never use it.
    pub ssl: SslOptions,
    /// Whether SCRAM must be tied to the TLS connection.
    pub channel_binding: ChannelBinding,
    /// Which authentication methods the server may ask for.
    pub require_auth: AuthPolicy,
    /// How long to wait for each host; for ever if `None`.
    pub connect_timeout: Option<Duration>,
    /// Which of several servers will do.
    pub target_session_attrs: TargetSession,
    /// Try hosts and their addresses in random order.
    pub load_balance: bool,
    /// How TCP connections are kept and given up.
    pub tcp: TcpOptions,
    /// What the user should know, such as a passfile that others can read.
    pub warnings: Vec<String>,
}

impl Config {
    /// Describes a connection by what the user wrote (a connection string, a URI, a database's name or nothing) and the
    /// environment.
    ///
    /// # Errors
    /// When an option is unknown, unsupported or has an impossible value, or a file that is needed cannot be read.
    pub fn parse(dsn: Option<&str>, env: &Env) -> Result<Config, ConnInfoError> {
        Parameters::parse(dsn.unwrap_or_default())?.resolve(env)
    }

    /// The password for this host.
    #[must_use]
    pub fn password_for<'a>(&'a self, host: &'a HostSpec) -> Option<&'a Password> {
        self.password.as_ref().or(host.password.as_ref())
    }

    /// What a session with this host needs to log in; share the result and the cache between all sessions.
    #[must_use]
    pub fn login(&self, host: &HostSpec, scram_cache: Arc<ScramCache>) -> Login {
        let over_socket = matches!(host.host, Host::Unix(_));
        Login {
            user: self.user.clone(),
            dbname: self.dbname.clone(),
            parameters: self.startup_parameters(),
            password: self.password_for(host).cloned(),
            ssl_mode: if over_socket { SslMode::Disable } else { self.ssl.mode },
            ssl_negotiation: self.ssl.negotiation,
            channel_binding: self.channel_binding,
            require_auth: self.require_auth,
            scram_cache,
        }
    }

    /// What is sent at startup beside user and database.
    fn startup_parameters(&self) -> Vec<(String, String)> {
        let named = [
            ("options", &self.options),
            ("application_name", &self.application_name),
            ("client_encoding", &self.client_encoding),
        ];
        let given = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        given.chain(self.settings.iter().cloned()).collect()
    }

    /// A connection string without password, to show and to store. Another connection described by it goes to the same
    /// place if the password is found elsewhere.
    #[must_use]
    pub fn redacted(&self) -> String {
        self.in_words_with(shown_options)
    }

    /// A connection string without password, its server options written by `options`.
    pub(super) fn in_words_with(&self, options: impl Fn(&str) -> String) -> String {
        let mut parts = vec![("host", self.host_list())];
        if let Some(addresses) = self.address_list() {
            parts.push(("hostaddr", addresses));
        }
        parts.push(("port", self.port_list()));
        parts.push(("user", self.user.clone()));
        parts.push(("dbname", self.dbname.clone()));
        if self.hosts.iter().any(|host| host.socket_path().is_none()) {
            parts.extend(self.ssl_parts());
        }
        parts.extend(self.options.as_ref().map(|given| ("options", options(given))));
        in_words(&parts)
    }

    /// Where the connection leads, whoever uses it: servers, database, and what of the options may change what is
    /// measured there. However it was spelled, the same place gives the same text; neither a user name nor a password is
    /// in it.
    #[must_use]
    pub fn place(&self) -> String {
        let named = self.join_hosts(|spec| match &spec.host {
            Host::Unix(folder) if is_default_folder(folder) => String::new(),
            Host::Unix(folder) => folder.to_string_lossy().into_owned(),
            Host::Tcp { name, .. } => name.to_ascii_lowercase(),
        });
        let mut parts = vec![("host", named)];
        parts.extend(self.address_list().map(|addresses| ("hostaddr", addresses)));
        parts.push(("port", self.port_list()));
        parts.push(("dbname", self.dbname.clone()));
        if self.hosts.iter().any(|host| host.socket_path().is_none()) {
            parts.push(("sslmode", self.ssl_mode().to_owned()));
        }
        if self.target_session_attrs != TargetSession::Any {
            parts.push(("target_session_attrs", format!("{:?}", self.target_session_attrs)));
        }
        parts.extend(self.options.as_ref().map(|options| ("options", shown_options(options))));
        in_words(&parts)
    }

    fn host_list(&self) -> String {
        self.join_hosts(|spec| match &spec.host {
            Host::Unix(folder) => folder.to_string_lossy().into_owned(),
            Host::Tcp { name, .. } => name.clone(),
        })
    }

    /// Addresses, unless names alone say it all.
    fn address_list(&self) -> Option<String> {
        let list = self.join_hosts(|spec| match &spec.host {
            Host::Tcp { name, address: Some(address) } if name.parse() != Ok(*address) => address.to_string(),
            _ => String::new(),
        });
        Some(list).filter(|list| list.chars().any(|c| c != ','))
    }

    fn port_list(&self) -> String {
        let first = self.hosts.first().map_or(DEFAULT_PORT, |spec| spec.port);
        if self.hosts.iter().all(|spec| spec.port == first) {
            return first.to_string();
        }
        self.join_hosts(|spec| spec.port.to_string())
    }

    fn join_hosts(&self, text: impl Fn(&HostSpec) -> String) -> String {
        self.hosts.iter().map(text).collect::<Vec<_>>().join(",")
    }

    fn ssl_mode(&self) -> &'static str {
        match self.ssl.mode {
            SslMode::Disable => "disable",
            SslMode::Allow => "allow",
            SslMode::Prefer => "prefer",
            SslMode::Require => "require",
            SslMode::VerifyCa => "verify-ca",
            SslMode::VerifyFull => "verify-full",
        }
    }

    fn ssl_parts(&self) -> Vec<(&'static str, String)> {
        let mut parts = vec![("sslmode", self.ssl_mode().to_owned())];
        match &self.ssl.root {
            RootCertificates::None => {}
            RootCertificates::System => parts.push(("sslrootcert", "system".to_owned())),
            RootCertificates::File(path) => parts.push(("sslrootcert", path.to_string_lossy().into_owned())),
        }
        parts
    }
}

/// A connection string of these options.
pub(super) fn in_words(parts: &[(&'static str, String)]) -> String {
    parts.iter().map(|(name, value)| format!("{name}={}", quote(value))).collect::<Vec<_>>().join(" ")
}
