//! A client's PostgreSQL link: from the open connection to its readiness for queries.

use std::sync::Arc;

use engine::{Endpoint, Io, Keepalive, Link, Returned, Step};
use protocol::postgres::conninfo::{TargetSession, TcpOptions};
use protocol::postgres::{Connection, Counted, Handshake, LoginError, Place, frontend};
use protocol::{Address, wording};

/// Most failures that a client reports with a message; the others are only counted.
pub(crate) const MOST_MESSAGES: u32 = 3;

/// A connection's counters, for the engine.
#[inline]
pub(crate) fn returned(counted: Counted) -> Returned {
    let Counted { rows, bytes, affected, queries, changes } = counted;
    Returned { rows, bytes, affected, queries, changes, ..Returned::default() }
}

/// The progress of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkProgress {
    /// Return this to the engine.
    Step(Step),
    /// Ready for queries.
    Up,
}

/// Why the connection failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotConnected {
    /// libpq's text.
    pub(crate) message: String,
    /// The server's SQLSTATE, if any.
    pub(crate) code: Option<String>,
}

impl From<String> for NotConnected {
    fn from(message: String) -> Self {
        Self { message, code: None }
    }
}

/// A connection, its place, and its state.
#[derive(Debug)]
pub(crate) struct PgLink {
    pub(crate) connection: Connection,
    connect: Place,
    link: Link,
    stage: LinkStage,
    /// The last failure was an answer that a retry will not change.
    refused: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkStage {
    /// Not open, or open and logging in.
    Down,
    Securing,
    Up,
}

impl PgLink {
    pub(crate) fn new(connect: &Place, link: Link) -> Self {
        let connection = Connection::new(Arc::clone(&connect.login));
        Self { connection, connect: connect.clone(), link, stage: LinkStage::Down, refused: false }
    }

    pub(crate) fn connect(&self) -> &Place {
        &self.connect
    }

    pub(crate) fn is_up(&self) -> bool {
        self.stage == LinkStage::Up
    }

    /// The request that cancels its running statement, over another connection.
    pub(crate) fn cancel(&self) -> Option<Vec<u8>> {
        let key = self.connection.cancel_key().filter(|_| self.is_up())?;
        let mut request = Vec::new();
        frontend::cancel_request(&mut request, key);
        Some(request)
    }

    /// The client closes the connection, perhaps to reopen it.
    pub(crate) fn close(&mut self) {
        self.stage = LinkStage::Down;
    }

    /// Reconnects, to the current address of the server's name.
    pub(crate) fn again(&mut self, io: &mut Io<'_>) -> Step {
        self.close();
        if self.connect.follow_name() {
            io.redirect(self.link, endpoint(&self.connect));
        }
        Step::Reconnect(self.link)
    }

    /// Uses another server from the next connection on.
    pub(crate) fn redirect(&mut self, connect: &Place) {
        self.connection = Connection::new(Arc::clone(&connect.login));
        self.connect = connect.clone();
        self.stage = LinkStage::Down;
    }

    /// Whether a retry may succeed after the last failure.
    pub(crate) fn may_succeed(&self) -> bool {
        !self.refused
    }

    /// Whether the server is of the wanted kind; a server that does not report it is accepted.
    pub(crate) fn suits(&self, wanted: TargetSession) -> bool {
        let is = |name, value| self.connection.setting(name).map(|reported| reported == value);
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
    /// [`NotConnected`], as for all of these functions.
    pub(crate) fn opened(&mut self, io: &mut Io<'_>) -> Result<LinkProgress, NotConnected> {
        self.stage = LinkStage::Down;
        let handshake = self.connection.start(io.out(self.link));
        self.progress(handshake)
    }

    pub(crate) fn secured(
        &mut self,
        certificate: Option<&[u8]>,
        io: &mut Io<'_>,
    ) -> Result<LinkProgress, NotConnected> {
        self.stage = LinkStage::Down;
        let handshake = self.connection.secured(certificate, io.out(self.link));
        self.progress(handshake)
    }

    pub(crate) fn bytes(
        &mut self,
        data: &[u8],
        used: &mut usize,
        io: &mut Io<'_>,
    ) -> Result<LinkProgress, NotConnected> {
        match self.connection.handshake(data, used, io.out(self.link)) {
            Ok(handshake) => self.progress(handshake),
            Err(error) => {
                let code = match &error {
                    LoginError::Server { error, .. } => Some(error.code.clone()),
                    _ => None,
                };
                self.refused = !code.as_deref().is_some_and(is_passing);
                Err(NotConnected { message: self.failure(&error.to_string()), code })
            }
        }
    }

    /// The connection was closed. After a failed TLS handshake there may be a second try without TLS.
    pub(crate) fn closed(&mut self, error: Option<&std::io::Error>) -> Result<LinkProgress, NotConnected> {
        let securing = self.stage == LinkStage::Securing;
        let up = self.stage == LinkStage::Up;
        self.stage = LinkStage::Down;
        self.refused = false;
        let why = || error.map_or_else(|| wording::CLOSED.to_owned(), wording::system);
        if securing && self.connection.tls_failed(&why()) {
            return Ok(LinkProgress::Step(Step::Reconnect(self.link)));
        }
        let reason = match error {
            None => wording::CLOSED.to_owned(),
            Some(error) if !up => {
                format!("{}{}", wording::system(error), wording::advice(&self.connect.address, error))
            }
            Some(error) => wording::system(error),
        };
        Err(if up { reason.into() } else { self.failure(&reason).into() })
    }

    fn progress(&mut self, handshake: Handshake) -> Result<LinkProgress, NotConnected> {
        Ok(match handshake {
            Handshake::NeedMore => LinkProgress::Step(Step::Wait),
            Handshake::StartTls if self.connect.tls.is_none() => {
                self.refused = true;
                return Err(self.failure("TLS is wanted, but was not set up for this server").into());
            }
            Handshake::StartTls => {
                self.stage = LinkStage::Securing;
                LinkProgress::Step(Step::StartTls(self.link))
            }
            Handshake::Reconnect => LinkProgress::Step(Step::Reconnect(self.link)),
            Handshake::Ready => {
                self.stage = LinkStage::Up;
                LinkProgress::Up
            }
        })
    }

    fn failure(&self, reason: &str) -> String {
        wording::not_connected(&self.connect.address, self.connect.host.as_deref(), reason)
    }
}

/// A server that starts, stops, recovers or has no connection left may accept one later.
fn is_passing(sqlstate: &str) -> bool {
    ["08", "53", "57"].iter().any(|class| sqlstate.starts_with(class))
}

/// Converts an address of the engine's.
#[must_use]
pub fn address_of(address: &engine::Address) -> Address {
    match address {
        engine::Address::Tcp(address) => Address::Tcp(*address),
        engine::Address::Unix(path) => Address::Unix(path.clone()),
    }
}

pub(crate) fn endpoint(place: &Place) -> Endpoint {
    let tls =
        place.tls.as_ref().map(|tls| engine::Tls { config: Arc::clone(&tls.config), name: tls.name.clone() });
    let TcpOptions { keepalives, idle, interval, count, user_timeout } = place.tcp;
    let keepalive = keepalives.then_some(Keepalive { idle, interval, count });
    let tcp = engine::TcpOptions { keepalive, user_timeout };
    Endpoint { address: address(&place.address), tls, tcp }
}

pub(crate) fn address(address: &Address) -> engine::Address {
    match address {
        Address::Tcp(address) => engine::Address::Tcp(*address),
        Address::Unix(path) => engine::Address::Unix(path.clone()),
    }
}

#[cfg(test)]
mod tests {
    use protocol::postgres::Login;

    use super::*;

    #[test]
    fn tcp_keepalive_settings_of_a_place_reach_its_end_point() {
        let seconds = |seconds| Some(std::time::Duration::from_secs(seconds));
        let address = Address::Tcp("127.0.0.1:5433".parse().unwrap());
        let tcp_of = |tcp| {
            let place = Place { tcp, ..Place::new(address.clone(), Arc::new(Login::new("me", "db"))) };
            endpoint(&place).tcp
        };
        let (idle, interval, count) = (seconds(7), seconds(8), Some(9));
        let user_timeout = seconds(2);
        let given = TcpOptions { keepalives: true, idle, interval, count, user_timeout };
        let keepalive = Keepalive { idle, interval, count };
        assert_eq!(tcp_of(given), engine::TcpOptions { keepalive: Some(keepalive), user_timeout });
        let off = TcpOptions { keepalives: false, ..given };
        assert_eq!(tcp_of(off), engine::TcpOptions { keepalive: None, user_timeout });
        let usual = engine::TcpOptions { keepalive: Some(Keepalive::default()), user_timeout: None };
        assert_eq!(tcp_of(TcpOptions::default()), usual);
    }

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
            let login = Arc::new(Login::new("me", "db"));
            let connect = Place { host: host.map(Into::into), ..Place::new(address, login) };
            let mut link = PgLink::new(&connect, 0);
            let error = std::io::Error::from_raw_os_error(code);
            assert_eq!(link.closed(Some(&error)).unwrap_err().message, wanted);
        }
    }
}
