//! The simulated server's side of connections.

use std::io;

use crate::client::{Address, Time};

/// How a simulated connection attempt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    /// Connected after this many ns.
    Accept(Time),
    /// Refused with this error after this many ns.
    Refuse(io::ErrorKind, Time),
    /// It never answers.
    Ignore,
}

/// The server of a simulation.
///
/// Called in the order of simulated time. Connections are numbered from 0 in the order of attempts; a
/// reconnection gets a new number.
pub trait SimServer {
    /// A link tries to connect.
    fn connect(&mut self, connection: usize, address: &Address, now: Time) -> Greeting {
        let _ = (connection, address, now);
        Greeting::Accept(0)
    }

    /// The connection is open; a server that speaks first does it here.
    fn opened(&mut self, connection: usize, replies: &mut Replies) {
        let _ = (connection, replies);
    }

    /// Bytes arrived, in the piece in which the client's side sent them.
    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies);

    /// When a turn that is due at `at` begins: later, where the generator itself is stalled.
    fn generator_runs_at(&mut self, at: Time) -> Time {
        at
    }

    fn closed(&mut self, connection: usize, now: Time) {
        let _ = (connection, now);
    }
}

/// The simulated server's actions on a connection, now or later.
///
/// Actions reach the client's side in the order they were given, whatever their delays: a later one never
/// overtakes.
#[derive(Debug, Default)]
pub struct Replies {
    pub(crate) now: Time,
    pub(crate) chunk: Option<usize>,
    pub(crate) actions: Vec<(Time, ServerAction)>,
}

#[derive(Debug)]
pub(crate) enum ServerAction {
    Bytes(Vec<u8>),
    Close(Option<io::ErrorKind>),
}

impl Replies {
    /// The simulated time, ns.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Splits this call's later bytes into pieces of at most `size` bytes (at least 1), each a separate
    /// event.
    pub fn chunk(&mut self, size: usize) {
        self.chunk = Some(size.max(1));
    }

    /// Sends `bytes`; they arrive `after` ns from now.
    pub fn send(&mut self, after: Time, bytes: &[u8]) {
        let size = self.chunk.unwrap_or(bytes.len()).max(1);
        let at = self.now + after;
        self.actions.extend(bytes.chunks(size).map(|piece| (at, ServerAction::Bytes(piece.to_vec()))));
    }

    /// Closes the stream in order, `after` ns from now.
    pub fn close(&mut self, after: Time) {
        self.actions.push((self.now + after, ServerAction::Close(None)));
    }

    /// Breaks the connection with an error, `after` ns from now.
    pub fn reset(&mut self, after: Time) {
        self.actions.push((self.now + after, ServerAction::Close(Some(io::ErrorKind::ConnectionReset))));
    }
}
