//! Finds a server that answers for a described connection.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::socket::SLICE;
use protocol::Address;
use protocol::postgres::conninfo::TargetSession;
use protocol::postgres::sql::Sql;
use protocol::postgres::tls::{client_config, server_name};
use protocol::postgres::{Config, HostAddress, HostName, HostSpec, NamedAddress, Place, ScramCache, Tls};
use spec::{Class, Error};

use super::error;
use super::timeouts::GivenUp;
use super::{ConnectFailure, Control, Timeouts};

/// Timeout of each address when the connection string has none (libpq would wait forever).
const DEFAULT_BOUND: Duration = Duration::from_secs(30);
/// Timeout of the name service; the system's own is usually shorter.
const NAME_BOUND: Duration = Duration::from_secs(60);

/// Connects to the first server of the description that answers and has the required properties.
///
/// # Errors
/// When none does: of several reasons, the one of the most advanced attempt.
pub fn connect(config: &Config) -> Result<Control, Error> {
    match config.target_session_attrs {
        TargetSession::PreferStandby => match first(config, TargetSession::Standby) {
            Err(error) if error.attached() == Some(&ConnectFailure::NoSuitableServer) => {
                first(config, TargetSession::Any)
            }
            other => other,
        },
        wanted => first(config, wanted),
    }
}

/// The place of that server, for the engine's clients.
pub fn resolve(config: &Config) -> Result<Place, Error> {
    connect(config).map(|control| control.place().clone())
}

fn first(config: &Config, wanted: TargetSession) -> Result<Control, Error> {
    let mut worst: Option<Error> = None;
    for (_, place) in places(config) {
        let attempt = place
            .and_then(|place| Control::open(&place, Some(config.connect_timeout.unwrap_or(DEFAULT_BOUND))))
            .and_then(|control| suits(control, wanted, config));
        match attempt {
            Ok(control) => return Ok(control),
            Err(error) if is_final(&error) => return Err(error),
            Err(error) => {
                if worst.as_ref().is_none_or(|known| progress(&error) > progress(known)) {
                    worst = Some(error);
                }
            }
        }
    }
    Err(worst.unwrap_or_else(|| error::description("the connection string names no server")))
}

/// Every address of every server, in the order to try, with the server's index in `config.hosts`.
pub fn places(config: &Config) -> Vec<(usize, Result<Place, Error>)> {
    let cache = Arc::new(ScramCache::default());
    let tls = client_config(&config.ssl).map_err(|error| error.to_string());
    let mut places = Vec::new();
    for (number, host) in config.hosts.iter().enumerate() {
        let login = Arc::new(config.login(host, cache.clone()));
        match addresses(host) {
            Err(error) => places.push((number, Err(error))),
            Ok((addresses, name)) => {
                places.extend(addresses.into_iter().enumerate().map(|(nth, address)| {
                    let over_socket = matches!(address, Address::Unix(_));
                    let tls = if over_socket { Ok(None) } else { tls_for(config, host, &tls) };
                    let place = |tls| Place {
                        address,
                        tls,
                        host: name_of(host),
                        named: name.clone().map(|name| NamedAddress::new(name, nth)),
                        tcp: config.tcp,
                        login: login.clone(),
                    };
                    (number, tls.map(place))
                }))
            }
        }
    }
    if config.load_balance {
        places.sort_by_cached_key(|_| uuid::Uuid::new_v4());
    }
    places
}

/// Every place of a description whose name was found, in the order to try from `first` on.
pub fn places_from(config: &Config, first: &Place) -> Vec<Place> {
    let mut found: Vec<Place> = places(config).into_iter().filter_map(|(_, place)| place.ok()).collect();
    match found.iter().position(|place| place.address == first.address) {
        Some(at) => {
            found.rotate_left(at);
            found[0] = first.clone();
        }
        None => found.insert(0, first.clone()),
    }
    found
}

/// The name of a server, unless it is a socket.
fn name_of(spec: &HostSpec) -> Option<Arc<str>> {
    match &spec.host {
        HostAddress::Unix(_) => None,
        HostAddress::Tcp { name, .. } => Some(name.as_str().into()),
    }
}

fn tls_for(
    config: &Config,
    host: &HostSpec,
    tls: &Result<Option<Arc<rustls::ClientConfig>>, String>,
) -> Result<Option<Tls>, Error> {
    match tls {
        Err(error) => Err(error::description(error)),
        Ok(None) => Ok(None),
        Ok(Some(tls)) => server_name(host, &config.ssl)
            .map(|name| Some(Tls { config: tls.clone(), name }))
            .map_err(error::description),
    }
}

/// The addresses of a server, and its name if it was looked up.
fn addresses(spec: &HostSpec) -> Result<(Vec<Address>, Option<Arc<HostName>>), Error> {
    Ok(match &spec.host {
        HostAddress::Unix(_) => (spec.socket_path().into_iter().map(Address::Unix).collect(), None),
        HostAddress::Tcp { address: Some(address), .. } => {
            (vec![Address::Tcp((*address, spec.port).into())], None)
        }
        HostAddress::Tcp { name, address: None } => {
            let found = look_up(name, spec.port)?;
            let addresses = found.iter().copied().map(Address::Tcp).collect();
            (addresses, Some(Arc::new(HostName::new(name.clone(), spec.port, found))))
        }
    })
}

/// The addresses of a name. The system's look-up of a silent name server cannot be interrupted, so a thread
/// waits for it.
pub fn look_up(name: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let unknown = |source| error::unknown_host(name, source);
    let (sender, found) = mpsc::channel();
    let wanted = name.to_owned();
    let looking = thread::Builder::new().name("name".to_owned()).spawn(move || {
        // The receiver may have given up.
        let _ = sender.send((wanted.as_str(), port).to_socket_addrs().map(Iterator::collect));
    });
    looking.map_err(unknown)?;
    let mut watch = Timeouts::usual().at_most(Some(NAME_BOUND));
    loop {
        match found.recv_timeout(SLICE) {
            Ok(found) => return found.map_err(unknown),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(unknown(io::Error::other("the name could not be looked up")));
            }
            Err(RecvTimeoutError::Timeout) => watch().map_err(|error| match error {
                error if GivenUp::is_stop(&error) => Error::stopped(),
                _ => unknown(io::Error::other(format!(
                    "the name service has not answered for {} s",
                    NAME_BOUND.as_secs()
                ))),
            })?,
        }
    }
}

/// As in libpq: a server that accepts the connection and refuses the login ends the search.
fn is_final(error: &Error) -> bool {
    use ConnectFailure::{Description, NoDatabase, NotAllowed, PasswordNeeded, WrongPassword};
    error.is_stopped()
        || matches!(
            error.attached(),
            Some(WrongPassword | NotAllowed | NoDatabase | PasswordNeeded | Description)
        )
}

/// How far an attempt came.
fn progress(error: &Error) -> u8 {
    match error.attached() {
        Some(ConnectFailure::UnknownHost | ConnectFailure::Description) => 0,
        Some(ConnectFailure::NoServer) => 1,
        Some(ConnectFailure::TimedOut | ConnectFailure::Io) => 2,
        Some(ConnectFailure::NoSuitableServer) => 4,
        _ => 3,
    }
}

pub(super) fn suits(mut control: Control, wanted: TargetSession, config: &Config) -> Result<Control, Error> {
    let (question, answer, words) = match wanted {
        TargetSession::Any | TargetSession::PreferStandby => return Ok(control),
        TargetSession::ReadWrite => ("SHOW transaction_read_only", "off", "read-write"),
        TargetSession::ReadOnly => ("SHOW transaction_read_only", "on", "read-only"),
        TargetSession::Primary => ("SELECT pg_catalog.pg_is_in_recovery()", "f", "a primary"),
        TargetSession::Standby => ("SELECT pg_catalog.pg_is_in_recovery()", "t", "a standby"),
    };
    if control.scalar(question).is_ok_and(|value| value.as_deref() == Some(answer)) {
        return Ok(control);
    }
    let tried: Vec<String> = config.hosts.iter().map(HostSpec::to_string).collect();
    let what = format!("no server of {} is {words} (target_session_attrs)", tried.join(", "));
    Err(ConnectFailure::NoSuitableServer.into_error(Class::Unreachable, what))
}

#[cfg(test)]
mod tests {
    use protocol::postgres::conninfo::Env;

    use super::*;

    fn config(dsn: &str) -> Config {
        Config::parse(Some(dsn), &Env::empty().with_user("ann")).unwrap()
    }

    #[test]
    fn every_host_gives_its_places() {
        let found = places(&config("host=127.0.0.1,/tmp port=5433 sslmode=disable"));
        let addresses: Vec<Address> = found.into_iter().map(|(_, place)| place.unwrap().address).collect();
        let wanted =
            [Address::Tcp(([127, 0, 0, 1], 5433).into()), Address::Unix("/tmp/.s.PGSQL.5433".into())];
        assert_eq!(addresses, wanted);
    }

    #[test]
    fn places_go_round_from_the_one_in_use() {
        let config = config("host=127.0.0.1,127.0.0.2,127.0.0.3 port=5433 sslmode=disable");
        let second = places(&config).remove(1).1.unwrap();
        let found = places_from(&config, &second);
        let last: Vec<u8> = found.iter().filter_map(last_byte).collect();
        assert_eq!(last, [2, 3, 1]);
        let other = self::config("host=127.0.0.9 port=5433 sslmode=disable");
        let found = places_from(&other, &second);
        assert_eq!(found.iter().filter_map(last_byte).collect::<Vec<_>>(), [2, 9]);
    }

    /// They were read and ignored: no connection sent a probe.
    #[test]
    fn tcp_keepalive_settings_of_a_connection_string_reach_its_places() {
        let given = config("host=127.0.0.1 sslmode=disable keepalives_idle=7 tcp_user_timeout=2000");
        let place = places(&given).remove(0).1.unwrap();
        assert_eq!(place.tcp, given.tcp);
        assert_eq!(place.tcp.idle, Some(Duration::from_secs(7)));
    }

    fn last_byte(place: &Place) -> Option<u8> {
        match place.address {
            Address::Tcp(std::net::SocketAddr::V4(address)) => Some(address.ip().octets()[3]),
            _ => None,
        }
    }

    #[test]
    fn failures_are_told_apart() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let error = connect(&config(&format!("host=127.0.0.1 port={free}"))).unwrap_err();
        assert!(error.attached() == Some(&ConnectFailure::NoServer), "{error}");
        let error = connect(&config("host=/no/such/folder")).unwrap_err();
        assert!(error.attached() == Some(&ConnectFailure::NoServer), "{error}");
        let error = connect(&config("host=no-such-host.invalid")).unwrap_err();
        assert!(error.attached() == Some(&ConnectFailure::UnknownHost), "{error}");
    }
}
