//! Cancels another connection's statement.

use std::io;
use std::time::{Duration, Instant};

use super::socket::Socket;
use protocol::Address;
use protocol::postgres::conninfo::TcpOptions;
use protocol::postgres::{CancelKey, Place, frontend};

use super::Control;
use super::timeouts::GivenUp;

/// Cancels whatever statement a control connection runs; usable from another thread.
///
/// The request is not encrypted, as in libpq up to version 16: its only secret is the key, which is useful
/// only for cancelling.
#[derive(Debug, Clone)]
pub struct Canceller {
    place: Place,
    key: CancelKey,
}

impl Canceller {
    /// Sends a cancel request, unless `given_up` returns `true` before. It may come too late, or find nothing
    /// to cancel; the server does not answer it.
    pub fn cancel(&self, given_up: &dyn Fn() -> bool) -> io::Result<()> {
        let mut watch = || if given_up() { Err(GivenUp::Stopped.into()) } else { Ok(()) };
        let mut socket = Socket::connect(&self.place.address, &self.place.tcp, &mut watch)?;
        let mut out = Vec::new();
        frontend::cancel_request(&mut out, self.key);
        socket.send(&out, &mut watch)
    }
}

/// Sends cancel requests as [`Canceller::cancel`] does, within `bound` in total: otherwise work that clients
/// left running would disturb what follows. An unreachable place is tried once.
pub fn cancel_all(requests: &[(Address, Vec<u8>)], bound: Duration) {
    let begun = Instant::now();
    let mut watch = || match begun.elapsed() < bound {
        true => Ok(()),
        false => Err(io::ErrorKind::TimedOut.into()),
    };
    let mut silent: Vec<&Address> = Vec::new();
    for (address, request) in requests {
        if silent.contains(&address) {
            continue;
        }
        let sent = Socket::connect(address, &TcpOptions::default(), &mut watch)
            .and_then(|mut socket| socket.send(request, &mut watch));
        if sent.is_err() {
            silent.push(address);
        }
    }
}

impl Control {
    /// A handle that can cancel this connection's statements.
    #[must_use]
    pub fn canceller(&self) -> Option<Canceller> {
        let key = self.connection.cancel_key()?;
        Some(Canceller { place: self.connect.clone(), key })
    }
}
