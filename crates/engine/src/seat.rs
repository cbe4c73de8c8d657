//! What the loop keeps of each client and each of its links.

use crate::client::{Client, Endpoint, Link, Time};
use crate::recorder::Transaction;
use crate::tls::TlsLink;

/// Pauses before a lost link is connected again, ns: the first, doubled with each further loss, and the longest.
const RECONNECT_PAUSE: (Time, Time) = (10_000_000, 1_000_000_000);
/// How long a peer may be silent when a lost link is connected again, ns.
pub(crate) const RECONNECT_PATIENCE: Time = 10_000_000_000;

/// Where a client stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Connecting or preparing, at the start or again; takes no slot.
    Setup,
    /// Free for the next slot.
    Idle,
    /// Running a transaction.
    Busy,
    /// Stopped for good.
    Over,
}

/// One client and its place in the run.
pub(crate) struct Seat {
    pub(crate) client: Box<dyn Client>,
    /// Number of the client in the whole run.
    pub(crate) number: usize,
    /// Its links are the thread's connections `first_conn..first_conn + links`.
    pub(crate) first_conn: usize,
    pub(crate) links: usize,
    pub(crate) state: State,
    /// It was ready once, or is over: the start of the load does not wait for it.
    pub(crate) settled: bool,
    pub(crate) transaction: Transaction,
    /// Transactions that ended in the measured part, skipped ones included.
    pub(crate) ended: u64,
    /// Users: it took its first slot.
    pub(crate) visited: bool,
    /// It stands in the queue of free clients.
    pub(crate) queued: bool,
    /// It stands in the list of clients to go on with in the next turn.
    pub(crate) runnable: bool,
    /// One of its links was lost or reconnected since it was last ready.
    pub(crate) disturbed: bool,
    /// It lost a link under load, wants it back, and was not ready since.
    pub(crate) away: bool,
}

impl Seat {
    pub(crate) fn new(client: Box<dyn Client>, number: usize, first_conn: usize, links: usize) -> Self {
        // Nothing is set up before the first slot, and no event would say so.
        let settled = links == 0 || client.on_demand();
        Self {
            client,
            number,
            first_conn,
            links,
            state: if settled { State::Idle } else { State::Setup },
            settled,
            transaction: Transaction::default(),
            ended: 0,
            visited: false,
            queued: false,
            runnable: false,
            disturbed: false,
            away: false,
        }
    }

    /// The thread's connections that are this client's links.
    pub(crate) fn conns(&self) -> std::ops::Range<usize> {
        self.first_conn..self.first_conn + self.links
    }
}

/// A reconnection in progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reconnection {
    pub(crate) since: Time,
    pub(crate) opened: Option<Time>,
}

/// What a link's timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// Nothing.
    Free,
    /// To connect again.
    Pausing,
    /// To give a silent peer up.
    Waiting,
}

/// One link: the loop's side of a connection.
pub(crate) struct LinkState {
    /// Which client of this thread.
    pub(crate) client: usize,
    /// Which of its links.
    pub(crate) link: Link,
    pub(crate) endpoint: Endpoint,
    pub(crate) open: bool,
    /// Raised whenever the connection ends, so that bytes of an earlier one are not offered further.
    pub(crate) generation: u32,
    /// Plain bytes the client has not used yet.
    pub(crate) input: Vec<u8>,
    /// Bytes to send as they are, before anything in the client's output buffer: ciphertext, last words.
    pub(crate) wire: Vec<u8>,
    pub(crate) tls: Option<Box<TlsLink>>,
    pub(crate) losses: u32,
    pub(crate) reconnection: Option<Reconnection>,
    pub(crate) attempt: Attempt,
}

impl LinkState {
    pub(crate) fn new(client: usize, link: Link, endpoint: Endpoint) -> Self {
        Self {
            client,
            link,
            endpoint,
            open: false,
            generation: 0,
            input: Vec::new(),
            wire: Vec::new(),
            tls: None,
            losses: 0,
            reconnection: None,
            attempt: Attempt::Free,
        }
    }

    /// How long to wait before connecting again: not at all unless the link was lost.
    pub(crate) fn pause(&self) -> Time {
        match self.losses {
            0 => 0,
            losses => (RECONNECT_PAUSE.0 << (losses - 1).min(10)).min(RECONNECT_PAUSE.1),
        }
    }

    /// Ends the present connection; what it left unread is dropped.
    pub(crate) fn end(&mut self) {
        self.open = false;
        self.generation = self.generation.wrapping_add(1);
        self.input.clear();
        self.tls = None;
    }

    /// Takes what still has to go out before the connection is closed or turned to TLS.
    pub(crate) fn last_words(&mut self, out: &mut Vec<u8>) {
        match &mut self.tls {
            Some(tls) => tls.finish(out, &mut self.wire),
            None => self.wire.append(out),
        }
    }

    /// What it is doing, for a message about a client that is not ready.
    pub(crate) fn doing(&self) -> String {
        let verb = match (self.open, &self.tls) {
            (false, _) if self.losses > 0 => "could not reach",
            (false, _) => "still connecting to",
            (true, None) => "connected, but not served by",
            (true, Some(_)) => "connected with TLS, but not served by",
        };
        match &self.endpoint.address {
            crate::client::Address::Tcp(address) => format!("{verb} {address}"),
            crate::client::Address::Unix(path) => format!("{verb} {}", path.display()),
        }
    }
}
