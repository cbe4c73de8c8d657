//! A PostgreSQL link of a client: from the open connection to a session that takes queries.

use std::sync::Arc;

use engine::{Endpoint, Io, Link, Returned, Step};
use protocol::Address;
use protocol::postgres::conninfo::TargetSession;
use protocol::postgres::{Counted, Handshake, Session, SessionError};

use protocol::postgres::Place;

/// What libpq says of a connection that ends without a word.
pub(crate) const CLOSED: &str = "server closed the connection unexpectedly\n\tThis probably means the server \
                                 terminated abnormally\n\tbefore or while processing the request.";

/// What a session counted, as the engine takes it.
#[inline]
pub(crate) fn returned(counted: Counted) -> Returned {
    let Counted { rows, bytes, affected, queries, changes } = counted;
    Returned { rows, bytes, affected, queries, changes }
}

/// How far a link has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Answer this to the engine.
    Step(Step),
    /// The session takes queries.
    Up,
}

/// A connection and its session.
#[derive(Debug)]
pub(crate) struct PgLink {
    pub(crate) session: Session,
    connect: Place,
    link: Link,
    stage: Stage,
    /// The last failure was an answer that another try will not change.
    refused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not open, or open and logging in.
    Down,
    /// TLS is coming up.
    Securing,
    Up,
}

impl PgLink {
    pub(crate) fn new(connect: &Place, link: Link) -> Self {
        let session = Session::new(Arc::clone(&connect.login));
        Self { session, connect: connect.clone(), link, stage: Stage::Down, refused: false }
    }

    pub(crate) fn connect(&self) -> &Place {
        &self.connect
    }

    pub(crate) fn is_up(&self) -> bool {
        self.stage == Stage::Up
    }

    /// The client closes the connection itself, perhaps to open it again.
    pub(crate) fn close(&mut self) {
        self.stage = Stage::Down;
    }

    /// Goes to another server from the next connection on.
    pub(crate) fn redirect(&mut self, connect: &Place) {
        self.session = Session::new(Arc::clone(&connect.login));
        self.connect = connect.clone();
        self.stage = Stage::Down;
    }

    /// Whether another try may succeed where the last one failed.
    pub(crate) fn may_succeed(&self) -> bool {
        !self.refused
    }

    /// Whether the server is of the kind that is wanted; one that does not tell is taken.
    pub(crate) fn suits(&self, wanted: TargetSession) -> bool {
        let is = |name, value| self.session.setting(name).map(|told| told == value);
        let standby = is("in_hot_standby", "on");
        let read_only = match (standby, is("default_transaction_read_only", "on")) {
            (None, None) => None,
            (standby, read_only) => Some(standby == Some(true) || read_only == Some(true)),
        };
        match wanted {
            TargetSession::Any | TargetSession::PreferStandby => true,
            TargetSession::ReadWrite => read_only != Some(true),
            TargetSession::ReadOnly => read_only != Some(false),
            TargetSession::Primary => standby != Some(true),
            TargetSession::Standby => standby != Some(false),
        }
    }

    /// The connection is open.
    ///
    /// # Errors
    /// In words, as libpq has them; so for all of these functions.
    pub(crate) fn opened(&mut self, io: &mut Io<'_>) -> Result<Progress, String> {
        self.stage = Stage::Down;
        let handshake = self.session.start(io.out(self.link));
        self.progress(handshake)
    }

    /// TLS is up.
    pub(crate) fn secured(
        &mut self,
        certificate: Option<&[u8]>,
        io: &mut Io<'_>,
    ) -> Result<Progress, String> {
        self.stage = Stage::Down;
        let handshake = self.session.secured(certificate, io.out(self.link));
        self.progress(handshake)
    }

    /// Bytes came while logging in.
    pub(crate) fn bytes(
        &mut self,
        data: &[u8],
        used: &mut usize,
        io: &mut Io<'_>,
    ) -> Result<Progress, String> {
        match self.session.handshake(data, used, io.out(self.link)) {
            Ok(handshake) => self.progress(handshake),
            Err(error) => {
                self.refused = !is_passing(&error);
                Err(self.failure(&error.to_string()))
            }
        }
    }

    /// The connection was closed. While TLS was coming up there may be a second try without it.
    pub(crate) fn closed(&mut self, error: Option<&std::io::Error>) -> Result<Progress, String> {
        let securing = self.stage == Stage::Securing;
        let up = self.stage == Stage::Up;
        self.stage = Stage::Down;
        self.refused = false;
        if securing && self.session.tls_failed() {
            return Ok(Progress::Step(Step::Reconnect(self.link)));
        }
        let reason = match error {
            None => CLOSED.to_owned(),
            Some(error) if !up => format!("{}{}", system_words(error), self.advice(error)),
            Some(error) => system_words(error),
        };
        Err(if up { reason } else { self.failure(&reason) })
    }

    fn progress(&mut self, handshake: Handshake) -> Result<Progress, String> {
        Ok(match handshake {
            Handshake::NeedMore => Progress::Step(Step::Wait),
            Handshake::StartTls if self.connect.tls.is_none() => {
                self.refused = true;
                return Err(self.failure("TLS is wanted, but was not set up for this server"));
            }
            Handshake::StartTls => {
                self.stage = Stage::Securing;
                Progress::Step(Step::StartTls(self.link))
            }
            Handshake::Reconnect => Progress::Step(Step::Reconnect(self.link)),
            Handshake::Ready => {
                self.stage = Stage::Up;
                Progress::Up
            }
        })
    }

    fn failure(&self, reason: &str) -> String {
        let place = self.connect.address.in_words(self.connect.host.as_deref());
        format!("connection to server {place} failed: {reason}")
    }

    /// What libpq asks when nobody answers.
    fn advice(&self, error: &std::io::Error) -> &'static str {
        use std::io::ErrorKind::{ConnectionRefused, NotFound};
        match (&self.connect.address, error.kind()) {
            (Address::Unix(_), ConnectionRefused | NotFound) => {
                "\n\tIs the server running locally and accepting connections on that socket?"
            }
            (Address::Tcp(_), ConnectionRefused) => {
                "\n\tIs the server running on that host and accepting TCP/IP connections?"
            }
            _ => "",
        }
    }
}

/// A server that starts, stops, recovers or has no connection left may take one later.
fn is_passing(error: &SessionError) -> bool {
    match error {
        SessionError::Server { error, .. } => {
            ["08", "53", "57"].iter().any(|class| error.code.starts_with(class))
        }
        _ => false,
    }
}

/// As the engine connects to it.
pub(crate) fn endpoint(place: &Place) -> Endpoint {
    let tls =
        place.tls.as_ref().map(|tls| engine::Tls { config: Arc::clone(&tls.config), name: tls.name.clone() });
    Endpoint { address: address(&place.address), tls }
}

/// As the engine connects to it.
pub(crate) fn address(address: &Address) -> engine::Address {
    match address {
        Address::Tcp(address) => engine::Address::Tcp(*address),
        Address::Unix(path) => engine::Address::Unix(path.clone()),
    }
}

/// An error of the system without its number.
pub(crate) fn system_words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use protocol::postgres::Login;

    use super::*;

    #[test]
    fn refusals_read_as_libpq_has_them() {
        let unix = Address::Unix("/tmp/.s.PGSQL.5432".into());
        let tcp = Address::Tcp("127.0.0.1:5433".parse().unwrap());
        for (address, host, code, wanted) in [
            (
                unix,
                None,
                2,
                "connection to server on socket \"/tmp/.s.PGSQL.5432\" failed: No such file or directory\n\tIs the \
                 server running locally and accepting connections on that socket?",
            ),
            (
                tcp.clone(),
                Some("db.example"),
                111,
                "connection to server at \"db.example\" (127.0.0.1), port 5433 failed: Connection refused\n\tIs the \
                 server running on that host and accepting TCP/IP connections?",
            ),
            (
                tcp,
                Some("127.0.0.1"),
                111,
                "connection to server at \"127.0.0.1\", port 5433 failed: Connection refused\n\tIs the server \
                 running on that host and accepting TCP/IP connections?",
            ),
        ] {
            let connect = Place {
                address,
                tls: None,
                host: host.map(Into::into),
                login: Arc::new(Login::new("me", "db")),
            };
            let mut link = PgLink::new(&connect, 0);
            let error = std::io::Error::from_raw_os_error(code);
            assert_eq!(link.closed(Some(&error)).unwrap_err(), wanted);
        }
    }
}
