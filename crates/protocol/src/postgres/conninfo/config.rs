//! A fully described connection.

use std::sync::Arc;
use std::time::Duration;

use super::hosts::{HostAddress, HostSpec};
use super::options::{SslOptions, TargetSession, TcpOptions};
use super::password::Password;
use crate::postgres::login::{AuthPolicy, ChannelBinding, Login, SslMode};
use crate::postgres::scram::ScramCache;

/// A fully described connection, with every default filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Servers to try in this order, at least one.
    pub hosts: Vec<HostSpec>,
    pub user: String,
    pub dbname: String,
    /// From the string, the environment or the service file; it takes precedence over the passfile.
    pub password: Option<Password>,
    /// Command-line options for the server process, such as `-c work_mem=64MB`.
    pub options: Option<String>,
    pub application_name: Option<String>,
    /// The server's choice if `None`.
    pub client_encoding: Option<String>,
    /// Settings from `PGDATESTYLE`, `PGTZ` and `PGGEQO`.
    pub settings: Vec<(String, String)>,
    /// How TLS is used on TCP connections; Unix sockets never use it.
    pub ssl: SslOptions,
    pub channel_binding: ChannelBinding,
    pub require_auth: AuthPolicy,
    /// Per host; unlimited if `None`.
    pub connect_timeout: Option<Duration>,
    /// Which of several servers to accept.
    pub target_session_attrs: TargetSession,
    /// Try hosts and their addresses in random order.
    pub load_balance: bool,
    pub tcp: TcpOptions,
    /// Warnings for the user, such as a passfile that others can read.
    pub warnings: Vec<String>,
}

impl Config {
    /// The password for this host.
    #[must_use]
    pub fn password_for<'a>(&'a self, host: &'a HostSpec) -> Option<&'a Password> {
        self.password.as_ref().or(host.password.as_ref())
    }

    /// What a connection to this host needs to log in; share the result and the cache between all
    /// connections.
    #[must_use]
    pub fn login(&self, host: &HostSpec, scram_cache: Arc<ScramCache>) -> Login {
        let over_socket = matches!(host.host, HostAddress::Unix(_));
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

    /// Startup parameters in addition to user and database.
    fn startup_parameters(&self) -> Vec<(String, String)> {
        let named = [
            ("options", &self.options),
            ("application_name", &self.application_name),
            ("client_encoding", &self.client_encoding),
        ];
        let given = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        given.chain(self.settings.iter().cloned()).collect()
    }
}
