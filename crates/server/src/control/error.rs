//! Why a connection failed, and what to try.

use std::fmt::Display;
use std::io;

use protocol::Address;
use protocol::postgres::{Login, LoginError, ServerError};
use spec::{Class, Error};

use super::timeouts::GivenUp;

/// Attached to the error of a connection that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectFailure {
    UnknownHost,
    /// Nothing listens there.
    NoServer,
    TimedOut,
    Io,
    Tls,
    PasswordNeeded,
    WrongPassword,
    NotAllowed,
    TooManyConnections,
    NoDatabase,
    NotReady,
    StartupParameter,
    /// Another refusal at login.
    Login,
    /// The connection string is wrong.
    Description,
    /// No server has the properties required by `target_session_attrs`.
    NoSuitableServer,
}

impl ConnectFailure {
    /// Whether a retry a little later may succeed.
    #[must_use]
    pub fn is_passing(self) -> bool {
        use ConnectFailure::{Io, NoServer, NotReady, TimedOut, TooManyConnections};
        matches!(self, NoServer | NotReady | TooManyConnections | TimedOut | Io)
    }

    pub(super) fn into_error(self, class: Class, what: impl Into<String>) -> Error {
        Error::new(class, what).attach(self)
    }
}

/// A wrong connection string.
pub(super) fn description(problem: impl Display) -> Error {
    ConnectFailure::Description.into_error(Class::Usage, problem.to_string())
}

pub(super) fn unknown_host(host: &str, source: io::Error) -> Error {
    let what = format!("cannot find host {host:?}: {source}; check its spelling and the network");
    ConnectFailure::UnknownHost.into_error(Class::Unreachable, what).because(source)
}

pub(super) fn tls(address: &Address, source: io::Error) -> Error {
    let place = describe(address);
    let what =
        format!("TLS to {place} failed: {source}; check sslmode, sslrootcert and the server's certificate");
    ConnectFailure::Tls.into_error(Class::Refused, what).because(source)
}

/// An error of the system; `seconds` is the timeout.
pub(super) fn system(address: &Address, seconds: u64, source: io::Error) -> Error {
    let failed = failed(address);
    let (failure, what) = match source.kind() {
        _ if GivenUp::is_stop(&source) => return Error::stopped(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => (
            ConnectFailure::NoServer,
            format!("{failed}: no server listens there; check that it runs, and host and port"),
        ),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => (
            ConnectFailure::TimedOut,
            format!(
                "{failed}: no answer within {seconds} s; check host, port and firewall, or raise connect_timeout"
            ),
        ),
        _ => (ConnectFailure::Io, format!("{failed}: {source}")),
    };
    failure.into_error(Class::Unreachable, what).because(source)
}

/// A refusal at login; the common ones by SQLSTATE.
pub(super) fn login(address: &Address, login: &Login, source: LoginError) -> Error {
    let (failed, user) = (failed(address), &login.user);
    let known = match &source {
        LoginError::PasswordNeeded => Some((
            ConnectFailure::PasswordNeeded,
            Class::Refused,
            format!(
                "{failed}: role {user:?} needs a password; give it by PGPASSWORD or ~/.pgpass, which others cannot see"
            ),
        )),
        LoginError::Server { error, .. } => refusal(error, &failed, login),
        _ => None,
    };
    let (failure, class, what) =
        known.unwrap_or_else(|| (ConnectFailure::Login, Class::Refused, format!("{failed}: {source}")));
    failure.into_error(class, what).because(source)
}

/// The common refusals of a server, by SQLSTATE.
fn refusal(error: &ServerError, failed: &str, login: &Login) -> Option<(ConnectFailure, Class, String)> {
    let (message, user) = (&error.message, &login.user);
    let known = match error.code.as_str() {
        "28P01" => (
            ConnectFailure::WrongPassword,
            Class::Refused,
            format!(
                "{failed}: {message}; check the password of role {user:?}: PGPASSWORD, ~/.pgpass or the URL"
            ),
        ),
        "28000" => (
            ConnectFailure::NotAllowed,
            Class::Refused,
            format!("{failed}: {message}; check role {user:?}, and pg_hba.conf on the server"),
        ),
        "53300" => (
            ConnectFailure::TooManyConnections,
            Class::Refused,
            format!(
                "{failed}: {message}; use fewer clients, or raise max_connections or the CONNECTION LIMIT of the role or \
                 database"
            ),
        ),
        "3D000" => (
            ConnectFailure::NoDatabase,
            Class::Refused,
            format!(
                "{failed}: database {:?} does not exist; create it (createdb {}), or name another one",
                login.dbname,
                in_shell(&login.dbname)
            ),
        ),
        "57P03" | "57P01" | "57P02" => (
            ConnectFailure::NotReady,
            Class::Unreachable,
            format!("{failed}: {message}; try again when it is ready"),
        ),
        "08P01" if message.contains("startup parameter") => (
            ConnectFailure::StartupParameter,
            Class::Missing,
            format!(
                "{failed}: {message}; a pooler such as PgBouncer does: leave it out (of \
                 the connection string, of PGOPTIONS, or of the arm), or connect to the server itself"
            ),
        ),
        _ => return None,
    };
    Some(known)
}

/// As libpq begins its messages.
fn failed(address: &Address) -> String {
    format!("connection to server at {} failed", describe(address))
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

    fn refusal(code: &str) -> Error {
        let error = protocol::postgres::ServerError {
            code: code.into(),
            message: "reason".into(),
            ..Default::default()
        };
        let source = LoginError::Server { error: Box::new(error), earlier: None };
        let address = Address::Tcp(([127, 0, 0, 1], 5432).into());
        login(&address, &Login::new("ann", "shop"), source)
    }

    #[test]
    fn every_refusal_says_what_to_try() {
        let cases = [
            ("28P01", "reason; check the password of role \"ann\": PGPASSWORD"),
            ("28000", "reason; check role \"ann\", and"),
            ("53300", "reason; use fewer clients"),
            ("3D000", "database \"shop\" does not exist; create it (createdb shop)"),
            ("57P03", "reason; try again"),
            ("XX000", ""),
        ];
        for (code, wanted) in cases {
            let text = refusal(code).to_string();
            let said = text.strip_prefix("connection to server at 127.0.0.1, port 5432 failed: ");
            assert!(said.is_some_and(|said| said.starts_with(wanted)), "{code}: {text}");
        }
    }

    #[test]
    fn refusals_of_the_system() {
        let address = Address::Unix("/run/s".into());
        let error = system(&address, 2, io::ErrorKind::NotFound.into());
        assert!(
            error.to_string().starts_with("connection to server at socket /run/s failed: no server listens"),
            "{error}"
        );
        assert!(error.attached::<ConnectFailure>().is_some_and(|failure| failure.is_passing()));
        let error = system(&address, 2, io::ErrorKind::TimedOut.into());
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
