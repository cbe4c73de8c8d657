//! How the journal's watchdog logs in to a server.

use std::time::Duration;

use protocol::Address;
use protocol::postgres::Place;
use protocol::postgres::conninfo::{ConnInfoError, TargetSession};
use protocol::postgres::{Config, Env, HostAddress, HostSpec, Password, PasswordSource};
use serde::{Deserialize, Serialize};

/// Timeout of a connection for repairs.
pub(super) const CONNECT_BOUND: Duration = Duration::from_secs(3);

/// Connection and password, sent only through a pipe.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Access {
    /// Without the password.
    dsn: String,
    password: Option<Vec<u8>>,
}

impl Access {
    /// For the one server at `place`, which `config` led to.
    pub(crate) fn to(place: &Place, config: &Config) -> Self {
        let server = HostSpec { host: host(place), port: port(place), password: None };
        let only = Config {
            hosts: vec![server],
            target_session_attrs: TargetSession::Any,
            load_balance: false,
            connect_timeout: Some(CONNECT_BOUND),
            ..config.clone()
        };
        let password = place.login.password.as_ref().map(|password| password.as_bytes().to_vec());
        Self { dsn: only.exact(), password }
    }

    /// The connection to make.
    ///
    /// # Errors
    /// When it was not written by [`Access::to`].
    pub(super) fn config(&self) -> Result<Config, ConnInfoError> {
        let mut config = Config::parse(Some(&self.dsn), &Env::empty())?;
        let password = self.password.clone();
        config.password = password.map(|password| Password::new(password, PasswordSource::Prompt));
        Ok(config)
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Access").field("dsn", &self.dsn).finish_non_exhaustive()
    }
}

fn host(place: &Place) -> HostAddress {
    match &place.address {
        Address::Unix(path) => HostAddress::Unix(path.parent().unwrap_or(path).to_owned()),
        Address::Tcp(address) => {
            let name = place.host.as_ref().map_or_else(|| address.ip().to_string(), ToString::to_string);
            HostAddress::Tcp { name, address: Some(address.ip()) }
        }
    }
}

fn port(place: &Place) -> u16 {
    super::server::port_of(&place.address).unwrap_or(5432)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::places;

    #[test]
    fn the_very_server_and_its_password_survive_the_way() {
        let passfile = "127.0.0.2:5434:*:*:second \\\\ secret\n";
        let env = Env::empty().with_home("/home/ann").with_file("/home/ann/.pgpass", passfile, 0o600);
        let dsn =
            "host=127.0.0.1,127.0.0.2 port=5433,5434 user=ann sslmode=disable target_session_attrs=primary";
        let config = Config::parse(Some(dsn), &env).unwrap();
        let second = places(&config).remove(1).1.unwrap();
        let access = Access::to(&second, &config);
        assert!(!format!("{access:?}").contains("secret"));
        let sent: Access = serde_json::from_str(&serde_json::to_string(&access).unwrap()).unwrap();
        let there = sent.config().unwrap();
        let place = places(&there).remove(0).1.unwrap();
        assert_eq!(place.address, second.address);
        let password = place.login.password.as_ref().map(|password| password.as_bytes().to_vec());
        assert_eq!(password.as_deref(), Some(b"second \\ secret".as_slice()));
        assert_eq!((there.user.as_str(), there.connect_timeout), ("ann", Some(CONNECT_BOUND)));
        assert_eq!(there.target_session_attrs, TargetSession::Any);
    }

    #[test]
    fn a_socket_stays_a_socket() {
        let env = Env::empty().with_user("ann");
        let config = Config::parse(Some("host=/run/x port=5433 password=p"), &env).unwrap();
        let place = places(&config).remove(0).1.unwrap();
        let there = Access::to(&place, &config).config().unwrap();
        assert_eq!(places(&there).remove(0).1.unwrap().address, place.address);
        assert_eq!(there.password.unwrap().as_bytes(), b"p");
    }
}
