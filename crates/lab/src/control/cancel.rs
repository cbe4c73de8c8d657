//! Ending another connection's statement.

use std::time::Duration;

use engine::Address;
use protocol::postgres::{CancelKey, frontend};

use super::Control;
use super::stream::{Socket, Stream};

/// Cancels whatever statement a control connection runs; usable from another thread.
///
/// The request goes in clear, as libpq's does up to version 16: it holds no secret but the key, which is of use
/// only for cancelling.
#[derive(Debug, Clone)]
pub struct Canceller {
    address: Address,
    key: CancelKey,
}

impl Canceller {
    /// Asks the server to cancel; it may come too late, or find nothing to cancel.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub fn cancel(&self) -> std::io::Result<()> {
        let bound = Duration::from_secs(5);
        let socket = Socket::connect(&self.address, Some(bound))?;
        socket.set_bound(Some(bound))?;
        let mut stream = Stream::Plain(socket);
        let mut out = Vec::new();
        frontend::cancel_request(&mut out, self.key);
        stream.send(&mut out)?;
        // The server closes when it has passed the request on.
        stream.receive(&mut out).map(drop)
    }
}

impl Control {
    /// What it takes to cancel this connection's statements.
    #[must_use]
    pub fn canceller(&self) -> Option<Canceller> {
        let key = self.session.cancel_key()?;
        Some(Canceller { address: self.connect.endpoint.address.clone(), key })
    }
}
