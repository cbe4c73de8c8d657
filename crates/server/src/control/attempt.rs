//! A failed attempt to connect, reported in our own words or in libpq's.

use std::io;

use protocol::postgres::{HostAddress, HostSpec, Login, LoginError};
use protocol::{Address, wording};
use spec::Error;

use super::error;
use super::timeouts::GivenUp;

/// Why one address did not give a connection.
#[derive(Debug)]
pub(crate) struct FailedAttempt {
    pub(super) address: Address,
    pub(super) seen: FailedLayer,
}

/// The layer that failed.
#[derive(Debug)]
pub(super) enum FailedLayer {
    Io(io::Error),
    Tls(io::Error),
    Login(LoginError),
}

impl FailedAttempt {
    /// The error in our own words, with what to try; `seconds` is the timeout.
    pub(super) fn explained(self, login: &Login, seconds: u64) -> Error {
        match self.seen {
            FailedLayer::Io(error) => error::system(&self.address, seconds, error),
            FailedLayer::Tls(source) => error::tls(&self.address, source),
            FailedLayer::Login(error) => error::login(&self.address, login, error),
        }
    }

    pub(crate) fn needs_password(&self) -> bool {
        matches!(self.seen, FailedLayer::Login(LoginError::PasswordNeeded))
    }

    /// Whether libpq would try no further server.
    pub(crate) fn is_final(&self) -> bool {
        match &self.seen {
            // A server that cannot take connections at the moment is skipped; anything else is an answer.
            FailedLayer::Login(LoginError::Server { error, .. }) => error.code != "57P03",
            FailedLayer::Login(_) => true,
            FailedLayer::Io(error) => GivenUp::is_stop(error),
            FailedLayer::Tls(_) => false,
        }
    }

    pub(crate) fn libpq_words(&self, host: &HostSpec) -> String {
        let reason = match &self.seen {
            FailedLayer::Io(error) => format!("{}{}", in_words(error), wording::advice(&self.address, error)),
            FailedLayer::Tls(error) => format!("SSL error: {error}"),
            FailedLayer::Login(error) => error.to_string(),
        };
        let name = match &host.host {
            HostAddress::Tcp { name, .. } => Some(name.as_str()),
            HostAddress::Unix(_) => None,
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
