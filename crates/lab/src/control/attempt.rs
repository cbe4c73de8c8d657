//! One attempt to connect that failed: what was seen, for our own words and for libpq's.

use std::io;

use engine::Address;
use protocol::postgres::{Host, HostSpec, Login, SessionError};

use super::ConnectError;
use super::error::describe;
use super::patience::GivenUp;

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
        format!("connection to server {} failed: {}", place(host, &self.address), reason.trim_end())
    }
}

/// `on socket "/tmp/.s.PGSQL.5432"`, `at "localhost" (127.0.0.1), port 5432`.
fn place(host: &HostSpec, address: &Address) -> String {
    match (address, &host.host) {
        (Address::Unix(path), _) => format!("on socket \"{}\"", path.display()),
        (Address::Tcp(address), Host::Tcp { name, .. }) if *name != address.ip().to_string() => {
            format!("at \"{name}\" ({}), port {}", address.ip(), address.port())
        }
        (Address::Tcp(address), _) => format!("at \"{}\", port {}", address.ip(), address.port()),
    }
}

/// An error of the system without its number.
pub(super) fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "timeout expired".to_owned(),
        io::ErrorKind::ConnectionAborted if error.raw_os_error().is_none() => error.to_string(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
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
