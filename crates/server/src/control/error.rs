//! Why a connection failed, and what to try.

use std::io;

use protocol::Address;
use protocol::postgres::{Login, LoginError, ServerError};
use spec::{Class, Error};

use super::timeouts::GivenUp;

/// Why a connection failed, and what to try.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("cannot find host {host:?}: {source}; check its spelling and the network")]
    UnknownHost {
        /// As written.
        host: String,
        source: io::Error,
    },
    #[error("no server listens at {place}; check that it runs, and host and port")]
    Refused { place: String },
    #[error(
        "no answer from {place} within {seconds} s; check host, port and firewall, or raise connect_timeout"
    )]
    TimedOut { place: String, seconds: u64 },
    #[error(
        "{place} asks for the password of role {user:?}; give it by PGPASSWORD or ~/.pgpass, which keep it out of \
         other people's sight"
    )]
    PasswordNeeded { place: String, user: String },
    #[error("{place} does not accept the password of role {user:?}; check PGPASSWORD, ~/.pgpass or the URL")]
    WrongPassword { place: String, user: String },
    #[error(
        "{place} does not let role {user:?} in: {message}; check the role, and pg_hba.conf on the server"
    )]
    NotAllowed { place: String, user: String, message: String },
    #[error(
        "{place} takes no more connections: {message}; use fewer clients, or raise what lets in so few (max_connections, or CONNECTION LIMIT of the role or database)"
    )]
    TooManyConnections { place: String, message: String },
    #[error(
        "{place} has no database {database:?}; create it (createdb {}), or name another one",
        in_shell(database)
    )]
    NoDatabase { place: String, database: String },
    #[error("{place} takes no connections now: {message}; try again when it is ready")]
    NotReady { place: String, message: String },
    #[error(
        "{place} refuses a startup parameter: {message}; a pooler such as PgBouncer does: leave it out (of the connection string, \
         of PGOPTIONS, or of the arm), or connect to the server itself"
    )]
    StartupParameter { place: String, message: String },
    #[error("TLS to {place} failed: {source}; check sslmode, sslrootcert and the server's certificate")]
    Tls { place: String, source: io::Error },
    #[error("{0}")]
    Description(String),
    #[error("stopped")]
    Stopped,
    /// No server has the properties required by `target_session_attrs`.
    #[error("no server of {tried} is {wanted} (target_session_attrs)")]
    NoSuitableServer { tried: String, wanted: String },
    #[error("connection to {place} failed: {source}")]
    Login { place: String, source: LoginError },
    #[error("connection to {place} failed: {source}")]
    Io { place: String, source: io::Error },
}

impl ConnectError {
    /// Whether a retry a little later may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::NotReady { .. } | Self::TooManyConnections { .. })
    }

    /// The exit class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::UnknownHost { .. }
            | Self::Refused { .. }
            | Self::TimedOut { .. }
            | Self::NotReady { .. }
            | Self::NoSuitableServer { .. }
            | Self::Io { .. } => Class::Unreachable,
            Self::Description(_) => Class::Usage,
            Self::StartupParameter { .. } => Class::Missing,
            Self::Stopped => Class::Interrupted,
            _ => Class::Refused,
        }
    }

    pub(super) fn io(address: &Address, seconds: u64, source: io::Error) -> Self {
        let place = describe(address);
        match source.kind() {
            _ if GivenUp::is_stop(&source) => Self::Stopped,
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Self::Refused { place },
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::TimedOut { place, seconds },
            _ => Self::Io { place, source },
        }
    }

    pub(super) fn login(address: &Address, login: &Login, source: LoginError) -> Self {
        let place = describe(address);
        match source {
            LoginError::PasswordNeeded => Self::PasswordNeeded { place, user: login.user.clone() },
            LoginError::Server { error, earlier } => match Self::server(&place, login, &error) {
                Some(known) => known,
                None => Self::Login { place, source: LoginError::Server { error, earlier } },
            },
            source => Self::Login { place, source },
        }
    }

    /// Common refusals, by SQLSTATE.
    fn server(place: &str, login: &Login, error: &ServerError) -> Option<Self> {
        let (place, user, message) = (place.to_owned(), login.user.clone(), error.message.clone());
        match error.code.as_str() {
            "28P01" => Some(Self::WrongPassword { place, user }),
            "28000" => Some(Self::NotAllowed { place, user, message }),
            "53300" => Some(Self::TooManyConnections { place, message }),
            "3D000" => Some(Self::NoDatabase { place, database: login.dbname.clone() }),
            "57P03" | "57P01" | "57P02" => Some(Self::NotReady { place, message }),
            "08P01" if message.contains("startup parameter") => {
                Some(Self::StartupParameter { place, message })
            }
            _ => None,
        }
    }
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        Self::new(error.class(), error.to_string()).because(error)
    }
}

pub(super) fn describe(address: &Address) -> String {
    match address {
        Address::Tcp(address) => format!("{}, port {}", address.ip(), address.port()),
        Address::Unix(path) => format!("socket {}", path.display()),
    }
}

/// Quotes a word for a shell, since advice is copied.
fn in_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: &str) -> ConnectError {
        let error = ServerError { code: code.into(), message: "reason".into(), ..ServerError::default() };
        let source = LoginError::Server { error: Box::new(error), earlier: None };
        let address = Address::Tcp(([127, 0, 0, 1], 5432).into());
        ConnectError::login(&address, &Login::new("ann", "shop"), source)
    }

    #[test]
    fn every_refusal_says_what_to_try() {
        let cases = [
            ("28P01", "127.0.0.1, port 5432 does not accept the password of role \"ann\"; check PGPASSWORD"),
            ("28000", "127.0.0.1, port 5432 does not let role \"ann\" in: reason; check the role"),
            ("53300", "127.0.0.1, port 5432 takes no more connections: reason; use fewer clients"),
            ("3D000", "127.0.0.1, port 5432 has no database \"shop\"; create it (createdb shop)"),
            ("57P03", "127.0.0.1, port 5432 takes no connections now: reason"),
            ("XX000", "connection to 127.0.0.1, port 5432 failed: "),
        ];
        for (code, wanted) in cases {
            let text = refusal(code).to_string();
            assert!(text.starts_with(wanted), "{code}: {text}");
        }
    }

    #[test]
    fn refusals_of_the_system() {
        let address = Address::Unix("/run/s".into());
        let error = ConnectError::io(&address, 2, io::ErrorKind::NotFound.into());
        assert!(error.to_string().starts_with("no server listens at socket /run/s"), "{error}");
        assert!(error.is_passing());
        let error = ConnectError::io(&address, 2, io::ErrorKind::TimedOut.into());
        assert!(error.to_string().contains("within 2 s"), "{error}");
    }

    /// `createdb x; touch pwned` was advised for a database of that name.
    #[test]
    fn what_is_advised_can_be_copied() {
        for (name, word) in
            [("shop", "shop"), ("x; touch y #", "'x; touch y #'"), ("it's", "'it'\\''s'"), ("-x", "'-x'")]
        {
            assert_eq!(in_shell(name), word);
        }
    }
}
