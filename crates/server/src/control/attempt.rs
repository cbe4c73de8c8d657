//! A failed attempt to connect, reported in our own words or in libpq's.

use std::io;

use protocol::postgres::{Host, HostSpec, Login, LoginError};
use protocol::{Address, wording};
use spec::Error;

use super::error;
use super::timeouts::GivenUp;

/// Why one address did not give a connection.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(super) address: Address,
    pub(super) seen: Seen,
}

/// The layer that failed.
#[derive(Debug)]
pub(super) enum Seen {
    Io(io::Error),
    Tls(io::Error),
    Login(LoginError),
}

impl Failed {
    /// The error in our own words, with what to try; `seconds` is the timeout.
    pub(super) fn explained(self, login: &Login, seconds: u64) -> Error {
        match self.seen {
            Seen::Io(error) => error::system(&self.address, seconds, error),
            Seen::Tls(source) => error::tls(&self.address, source),
            Seen::Login(error) => error::login(&self.address, login, error),
        }
    }

    pub(crate) fn needs_password(&self) -> bool {
        matches!(self.seen, Seen::Login(LoginError::PasswordNeeded))
    }

    /// Whether libpq would try no further server.
    pub(crate) fn is_final(&self) -> bool {
        match &self.seen {
            // A server that cannot take connections at the moment is skipped; anything else is an answer.
            Seen::Login(LoginError::Server { error, .. }) => error.code != "57P03",
            Seen::Login(_) => true,
            Seen::Io(error) => GivenUp::is_stop(error),
            Seen::Tls(_) => false,
        }
    }

    pub(crate) fn libpq_words(&self, host: &HostSpec) -> String {
        let reason = match &self.seen {
            Seen::Io(error) => format!("{}{}", in_words(error), wording::advice(&self.address, error)),
            Seen::Tls(error) => format!("SSL error: {error}"),
            Seen::Login(error) => error.to_string(),
        };
        let name = match &host.host {
            Host::Tcp { name, .. } => Some(name.as_str()),
            Host::Unix(_) => None,
        };
        wording::not_connected(&self.address, name, reason.trim_end())
    }
}

/// A system error without its number.
pub(super) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "timeout expired".to_owned(),
        io::ErrorKind::ConnectionAborted if error.raw_os_error().is_none() => error.to_string(),
        _ => wording::system(error),
    }
}
