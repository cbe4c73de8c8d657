//! Ending another connection's statement.

use std::io;
use std::time::{Duration, Instant};

use super::socket::Socket;
use protocol::Address;
use protocol::postgres::conninfo::TcpOptions;
use protocol::postgres::{CancelKey, Place, frontend};

use super::Control;
use super::patience::GivenUp;

/// Cancels whatever statement a control connection runs; usable from another thread.
///
/// The request goes in clear, as libpq's does up to version 16: it holds no secret but the key, which is of use
/// only for cancelling.
#[derive(Debug, Clone)]
pub struct Canceller {
    place: Place,
    key: CancelKey,
}

impl Canceller {
    /// Asks the server to cancel, unless `given_up` answers `true` before it can be asked; it may come too late, or find
    /// nothing to cancel. The server says nothing to it.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn cancel(&self, given_up: &dyn Fn() -> bool) -> io::Result<()> {
        let mut watch = || if given_up() { Err(GivenUp::Stopped.into()) } else { Ok(()) };
        let mut socket = Socket::connect(&self.place.address, &self.place.tcp, &mut watch)?;
        let mut out = Vec::new();
        frontend::cancel_request(&mut out, self.key);
        socket.send(&out, &mut watch)
    }
}

/// Sends requests to cancel, as [`Canceller::cancel`] does, within `bound` in all: what clients that are gone left running
/// would go on for its own time, and be in the way of whoever comes next. A place that cannot be reached is asked once.
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
    /// What it takes to cancel this connection's statements.
    #[must_use]
    pub fn canceller(&self) -> Option<Canceller> {
        let key = self.connection.cancel_key()?;
        Some(Canceller { place: self.connect.clone(), key })
    }
}
