//! What a simulated server is asked and what it may answer.

use std::io;

use crate::client::{Address, Time};

/// How a simulated connection attempt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Greeting {
    /// Connected after this many ns.
    Accept(Time),
    /// Refused with this error after so many ns.
    Refuse(io::ErrorKind, Time),
    /// Never answered.
    Ignore,
}

/// The server of a simulation.
///
/// Called with the simulated time, in the order of time. Connections are numbered from 0 in the order they
/// were attempted; a connection made again has a new number.
pub trait Server {
    /// A link tries to connect.
    fn connect(&mut self, connection: usize, address: &Address, now: Time) -> Greeting {
        let _ = (connection, address, now);
        Greeting::Accept(0)
    }

    /// The connection is open; a server that speaks first does it here.
    fn opened(&mut self, connection: usize, replies: &mut Replies) {
        let _ = (connection, replies);
    }

    /// Bytes arrived, exactly as the client's side sent them in one piece.
    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies);

    /// When a turn of the generator that is due at `at` really begins: later, where the generator itself is stopped then.
    fn generator_runs_at(&mut self, at: Time) -> Time {
        at
    }

    /// The client's side closed the connection.
    fn closed(&mut self, connection: usize, now: Time) {
        let _ = (connection, now);
    }
}

/// What a simulated server does to a connection, now or later.
///
/// Actions reach the client's side in the order they were given, however their delays differ: a later one
/// never overtakes.
#[derive(Debug, Default)]
pub struct Replies {
    pub(crate) now: Time,
    pub(crate) chunk: Option<usize>,
    pub(crate) actions: Vec<(Time, Action)>,
}

/// One thing that happens to a connection.
#[derive(Debug)]
pub(crate) enum Action {
    Bytes(Vec<u8>),
    Close(Option<io::ErrorKind>),
}

impl Replies {
    /// The simulated time, ns.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// From now on this call's bytes arrive in pieces of at most `size` bytes (at least 1), each as its own event.
    pub fn chunk(&mut self, size: usize) {
        self.chunk = Some(size.max(1));
    }

    /// Sends `bytes`; they arrive `after` ns from now.
    pub fn send(&mut self, after: Time, bytes: &[u8]) {
        let size = self.chunk.unwrap_or(bytes.len()).max(1);
        let at = self.now + after;
        self.actions.extend(bytes.chunks(size).map(|piece| (at, Action::Bytes(piece.to_vec()))));
    }

    /// Ends the stream in order, `after` ns from now.
    pub fn close(&mut self, after: Time) {
        self.actions.push((self.now + after, Action::Close(None)));
    }

    /// Breaks the connection with an error, `after` ns from now.
    pub fn reset(&mut self, after: Time) {
        self.actions.push((self.now + after, Action::Close(Some(io::ErrorKind::ConnectionReset))));
    }
}
