//! Blocking control connections: everything that is asked of a server outside the timed part of a run.
//!
//! They speak through the same protocol code as the engine's clients. None of their waits is for ever: the user ends
//! each of them, what should be answered at once has a bound, and long work is looked after ([`Patience`]).

mod attempt;
pub(crate) mod brief;
mod cancel;
mod copy;
mod error;
mod libpq;
mod look;
mod names;
mod open;
mod options;
mod patience;
mod pooling;
mod process;
mod query;
mod resolve;
pub(crate) mod socket;
pub(crate) mod stream;
#[cfg(test)]
mod tests;
mod vigil;

use protocol::postgres::sql::SqlError;
use protocol::postgres::{Connection, Place};

pub use cancel::{Canceller, cancel_all};
pub use error::ConnectError;
pub use libpq::{Connector, Wanted};
pub use look::{Looker, Seen};
pub use names::Names;
pub use options::with_session_settings;
pub use patience::{ANSWER_BOUND, HURRY, LOOK_AFTER, LOOK_BOUND, Patience};
pub use pooling::Pooling;
pub use resolve::{connect, look_up, places, places_from, resolve};

/// A blocking connection to a PostgreSQL server; its queries are those of [`protocol::postgres::sql::Sql`].
#[derive(Debug)]
pub struct Control {
    stream: stream::Stream,
    connection: Connection,
    connect: Place,
    /// Bytes received; those before `at` are used up.
    input: Vec<u8>,
    at: usize,
    out: Vec<u8>,
    /// What the server remarked since it was last asked for, as libpq prints it.
    notices: Vec<String>,
    patience: Patience,
    peer: process::Peer,
    /// The process that serves us, once it was asked for; none where a pooler may change it.
    process: Option<Option<u32>>,
    /// An answer was given up: what comes next would be taken for it.
    broken: Option<SqlError>,
}

impl Control {
    /// Where it is connected to.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.connect
    }

    /// How long it waits.
    #[must_use]
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// A setting that the server reports by itself, such as `server_version`.
    #[must_use]
    pub fn reported(&self, name: &str) -> Option<&str> {
        self.connection.setting(name)
    }

    /// Takes what the server remarked (NOTICE, WARNING) since the last call, as libpq prints it.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Whether the connection is encrypted.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.connection.is_secure()
    }

    /// Process id of the server process that serves us.
    #[must_use]
    pub fn server_process(&self) -> Option<u32> {
        self.connection.cancel_key().map(|key| key.process_id)
    }

    /// Pid of the server's postmaster, where it is known for certain that it runs on this machine and that no pooler stands between.
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
