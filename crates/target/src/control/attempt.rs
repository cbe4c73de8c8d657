//! One attempt to connect that failed: what was seen, for our own words and for libpq's.

use std::io;

use protocol::Address;
use protocol::postgres::{Host, HostSpec, Login, SessionError};

use super::ConnectError;
use super::error::describe;
use super::patience::GivenUp;
use super::socket::system_words;

/// Why one address did not give a session.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(super) address: Address,
    pub(super) seen: Seen,
}

/// At which layer.
#[derive(Debug)]
pub(super) enum Seen {
    Io(io::Error),
    Tls(io::Error),
    Session(SessionError),
}

impl Failed {
    /// In our own words, with what to try; `seconds` is how long was waited at most.
    pub(super) fn explained(self, login: &Login, seconds: u64) -> ConnectError {
        match self.seen {
            Seen::Io(error) => ConnectError::io(&self.address, seconds, error),
            Seen::Tls(source) => ConnectError::Tls { place: describe(&self.address), source },
            Seen::Session(error) => ConnectError::session(&self.address, login, error),
        }
    }

    /// Whether a password would have helped.
    pub(crate) fn needs_password(&self) -> bool {
        matches!(self.seen, Seen::Session(SessionError::PasswordNeeded))
    }

    /// Whether libpq would try no further server.
    pub(crate) fn is_final(&self) -> bool {
        match &self.seen {
            // A server that cannot take connections just now is passed over; all else is an answer.
            Seen::Session(SessionError::Server { error, .. }) => error.code != "57P03",
            Seen::Session(_) => true,
            Seen::Io(error) => GivenUp::is_stop(error),
            Seen::Tls(_) => false,
        }
    }

    /// As libpq words it.
    pub(crate) fn libpq_words(&self, host: &HostSpec) -> String {
        let reason = match &self.seen {
            Seen::Io(error) => format!("{}{}", in_words(error), advice(&self.address, error)),
            Seen::Tls(error) => format!("SSL error: {error}"),
            Seen::Session(error) => error.to_string(),
        };
        let name = match &host.host {
            Host::Tcp { name, .. } => Some(name.as_str()),
            Host::Unix(_) => None,
        };
        format!("connection to server {} failed: {}", self.address.in_words(name), reason.trim_end())
    }
}

/// An error of the system without its number.
pub(super) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "timeout expired".to_owned(),
        io::ErrorKind::ConnectionAborted if error.raw_os_error().is_none() => error.to_string(),
        _ => system_words(error),
    }
}

/// What libpq asks when nobody answers.
fn advice(address: &Address, error: &io::Error) -> &'static str {
    match (address, error.kind()) {
        (Address::Unix(_), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
            "\n\tIs the server running locally and accepting connections on that socket?"
        }
        (Address::Tcp(_), io::ErrorKind::ConnectionRefused) => {
            "\n\tIs the server running on that host and accepting TCP/IP connections?"
        }
        _ => "",
    }
}
