//! One link of a client: the loop's side of a connection.

use super::timers::{Timer, Timers};
use super::tls::TlsLink;
use crate::client::{Address, Endpoint, Time};
use crate::driver::{Conn, Driver};

/// Pauses before a lost link is connected again, ns: the first, doubled with each further loss, and the longest.
const RECONNECT_PAUSE: (Time, Time) = (10_000_000, 1_000_000_000);
/// How long a peer may stay silent while a lost link reconnects, ns.
const RECONNECT_TIMEOUT: Time = 10_000_000_000;

#[derive(Debug, Clone, Copy)]
enum Order {
    Connect,
    Close,
}

/// What a link's timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Free,
    Pausing,
    Waiting,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Reconnection {
    pub(super) since: Time,
    pub(super) opened: Option<Time>,
}

pub(super) struct LinkState {
    conn: Conn,
    pub(super) endpoint: Endpoint,
    pub(super) open: bool,
    /// Incremented when the connection ends, so that its bytes are not offered later.
    pub(super) generation: u32,
    /// Decrypted bytes that the client has not used yet.
    pub(super) input: Vec<u8>,
    /// Bytes to send unchanged before the client's output buffer: ciphertext and pending output.
    wire: Vec<u8>,
    pub(super) tls: Option<Box<TlsLink>>,
    pub(super) losses: u32,
    pub(super) reconnection: Option<Reconnection>,
    attempt: Attempt,
    order: Option<Order>,
}

impl LinkState {
    pub(super) fn new(conn: Conn, endpoint: Endpoint) -> Self {
        Self {
            conn,
            endpoint,
            open: false,
            generation: 0,
            input: Vec::new(),
            wire: Vec::new(),
            tls: None,
            losses: 0,
            reconnection: None,
            attempt: Attempt::Free,
            order: None,
        }
    }

    /// Sends what the client wrote to `out`, then closes or connects as it asked.
    #[inline]
    pub(super) fn flush(&mut self, out: &mut Vec<u8>, driver: &mut impl Driver) {
        if let Some(tls) = &mut self.tls
            && (!out.is_empty() || tls.wants_write())
        {
            tls.seal(out, &mut self.wire);
        }
        if !self.wire.is_empty() {
            driver.send(self.conn, &mut self.wire);
        }
        if !out.is_empty() {
            if self.open {
                driver.send(self.conn, out);
            } else {
                // The link is closed.
                out.clear();
            }
        }
        match self.order.take() {
            None => {}
            Some(Order::Close) => driver.close(self.conn),
            Some(Order::Connect) => driver.connect(self.conn, &self.endpoint),
        }
    }

    /// Ends the connection and drops unread bytes.
    pub(super) fn end(&mut self) {
        self.open = false;
        self.generation = self.generation.wrapping_add(1);
        self.input.clear();
        self.tls = None;
    }

    /// Closes the connection after its pending output; no event follows.
    pub(super) fn shut(&mut self, out: &mut Vec<u8>, timers: &mut Timers) {
        if self.open {
            self.pending_output(out);
        }
        out.clear();
        self.end();
        self.answered(timers);
        self.order = Some(Order::Close);
    }

    /// Takes the output that must be sent before the connection is closed or starts TLS.
    pub(super) fn pending_output(&mut self, out: &mut Vec<u8>) {
        match &mut self.tls {
            Some(tls) => tls.finish(out, &mut self.wire),
            None => self.wire.append(out),
        }
    }

    pub(super) fn reconnect(&mut self, now: Time, timers: &mut Timers) {
        self.reconnection.get_or_insert(Reconnection { since: now, opened: None });
        match self.losses {
            0 => self.order = Some(Order::Connect),
            losses => {
                let pause = (RECONNECT_PAUSE.0 << (losses - 1).min(10)).min(RECONNECT_PAUSE.1);
                self.attempt = Attempt::Pausing;
                timers.set(Timer::Link(self.conn), now.saturating_add(pause));
            }
        }
    }

    /// Handles the link's timer; returns what the timer was for.
    pub(super) fn attempt(&mut self, now: Time, timers: &mut Timers) -> Attempt {
        let attempt = std::mem::replace(&mut self.attempt, Attempt::Free);
        if attempt == Attempt::Pausing {
            self.attempt = Attempt::Waiting;
            timers.set(Timer::Link(self.conn), now.saturating_add(RECONNECT_TIMEOUT));
            self.order = Some(Order::Connect);
        }
        attempt
    }

    /// The peer answered, or is not waited for any more.
    #[inline]
    pub(super) fn answered(&mut self, timers: &mut Timers) {
        if self.attempt != Attempt::Free {
            self.attempt = Attempt::Free;
            timers.cancel(Timer::Link(self.conn));
        }
    }

    /// The link's state in words, for a message about a client that is not ready.
    pub(super) fn doing(&self) -> String {
        let verb = match (self.open, &self.tls) {
            (false, _) if self.losses > 0 => "could not reach",
            (false, _) => "still connecting to",
            (true, None) => "connected, but not served by",
            (true, Some(_)) => "connected with TLS, but not served by",
        };
        match &self.endpoint.address {
            Address::Tcp(address) => format!("{verb} {address}"),
            Address::Unix(path) => format!("{verb} {}", path.display()),
        }
    }
}
