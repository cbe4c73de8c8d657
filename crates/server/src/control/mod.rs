//! Blocking control connections, for everything outside the timed part of a run.
//!
//! They use the same protocol code as the engine's clients. Every wait ends: the user can end it, short
//! queries have a timeout, and during long work the server is checked ([`Timeouts`]).

mod attempt;
mod cancel;
mod copy;
mod error;
mod libpq;
mod look;
mod names;
mod open;
mod options;
mod pooling;
mod process;
mod query;
mod resolve;
pub(crate) mod socket;
mod stall_watch;
pub(crate) mod stream;
#[cfg(test)]
mod tests;
mod timeouts;

use protocol::postgres::sql::SqlError;
use protocol::postgres::{Connection, Place};

pub use cancel::{Canceller, cancel_all};
pub use error::ConnectFailure;
pub use libpq::{Connector, ConnectorOptions};
pub use look::{ServerCheck, ServerChecker};
pub use names::Names;
pub use options::with_session_settings;
pub use pooling::Pooling;
pub use resolve::{connect, look_up, places, places_from, resolve};
pub use timeouts::{ANSWER_BOUND, HURRY, LOOK_AFTER, LOOK_BOUND, Timeouts};

/// A blocking connection to a PostgreSQL server; its queries are in [`protocol::postgres::sql::Sql`].
#[derive(Debug)]
pub struct Control {
    stream: stream::Stream,
    connection: Connection,
    connect: Place,
    /// Bytes received; those before `at` are consumed.
    input: Vec<u8>,
    at: usize,
    out: Vec<u8>,
    /// Notices since the last call, as libpq prints them.
    notices: Vec<String>,
    timeouts: Timeouts,
    peer: process::Peer,
    /// The server process of this connection, once asked for; none where a pooler may change it.
    process: Option<Option<u32>>,
    /// An answer was abandoned: the next bytes would be mistaken for another answer.
    broken: Option<SqlError>,
}

impl Control {
    /// Where it is connected to.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.connect
    }

    /// The timeouts that it was opened with.
    #[must_use]
    pub fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// A setting that the server reports, such as `server_version`.
    #[must_use]
    pub fn reported(&self, name: &str) -> Option<&str> {
        self.connection.setting(name)
    }

    /// The server's notices and warnings since the last call, as libpq prints them.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.connection.is_secure()
    }

    /// Pid of the server process of this connection.
    #[must_use]
    pub fn server_process(&self) -> Option<u32> {
        self.connection.cancel_key().map(|key| key.process_id)
    }

    /// Pid of the server's postmaster, if it certainly runs on this machine without a pooler in between.
    #[must_use]
    pub fn postmaster_here(&self) -> Option<u32> {
        self.peer.postmaster(self.server_process()?)
    }

    /// Major version of the server as a number (`server_version` 9.6 counts as 9).
    #[must_use]
    pub fn server_major(&self) -> Option<u32> {
        let version = self.reported("server_version")?;
        let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    }
}
