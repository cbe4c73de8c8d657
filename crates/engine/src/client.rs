//! The seam between the engine and a workload: what a client is told, and what it answers.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::wake::{WakeQueue, Waker};

/// Nanoseconds on the monotonic clock since the run's epoch; simulated in tests.
pub type Time = u64;

/// Index of one of a client's links.
pub type Link = usize;

/// Where a link connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    /// A Unix-domain socket, at most 107 bytes long.
    Unix(PathBuf),
}

/// What a link needs to start TLS when its client asks for it.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Shared configuration: roots, client certificate, verification policy.
    pub config: Arc<rustls::ClientConfig>,
    /// Name to verify and to send as SNI.
    pub name: rustls_pki_types::ServerName<'static>,
}

/// How TCP connections are kept and given up; `None` leaves it to the system. Unix sockets have none of this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Send probes while nothing else is sent.
    pub keepalive: Option<Keepalive>,
    /// How long sent data may stay without acknowledgement; in ms, where the system has this (Linux).
    pub user_timeout: Option<Duration>,
}

/// When keepalive probes are sent; `None` leaves it to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keepalive {
    /// Idle time before the first probe, in s.
    pub idle: Option<Duration>,
    /// Time between probes, in s.
    pub interval: Option<Duration>,
    /// Probes without an answer before the connection is given up.
    pub count: Option<u32>,
}

/// What a client left running, and what ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abandoned {
    /// Where it runs.
    pub address: Address,
    /// To be sent there, over its own connection.
    pub request: Vec<u8>,
}

/// One end point a client keeps a connection to.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Where to connect.
    pub address: Address,
    /// Present when the client may answer [`Step::StartTls`] for this link.
    pub tls: Option<Tls>,
    pub tcp: TcpOptions,
}

impl Endpoint {
    /// Without TLS, and with the system's ways for TCP.
    #[must_use]
    pub fn plain(address: Address) -> Self {
        Self { address, tls: None, tcp: TcpOptions::default() }
    }
}

/// What happened; handed to [`Client::handle`] one at a time.
#[derive(Debug)]
pub enum Event<'a> {
    /// The link is connected (plain). Sent once per connection, first at the start of the run.
    Opened(Link),
    /// TLS is up on the link; `certificate` is the peer's, in DER, for channel binding.
    Secured {
        link: Link,
        /// The server's end-entity certificate (DER), if it sent one.
        certificate: Option<&'a [u8]>,
    },
    /// Bytes arrived. The client raises `used` by what it consumed; the engine keeps the rest, joins it with
    /// what follows, and offers it again at once while the client uses some of it or answers with a step other
    /// than [`Step::Wait`] and [`Step::Until`], and after every other event.
    Bytes {
        link: Link,
        /// All bytes not yet used.
        data: &'a [u8],
        /// Starts at 0; at most `data.len()`.
        used: &'a mut usize,
    },
    /// Start the next transaction now. `due` is its intended start: `now` in a closed load, possibly
    /// earlier in an open one.
    Slot {
        /// Intended start of the transaction.
        due: Time,
    },
    /// The time asked for with [`Step::Until`] has come.
    Timer,
    /// The link was closed by the peer, or could not be opened or written.
    Closed {
        link: Link,
        /// What the system said; `None` for an orderly end of stream.
        error: Option<&'a io::Error>,
    },
    /// A helper outside the thread finished what this client waits for.
    Woken,
}

/// How a transaction failed; pgbench's kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// SQLSTATE 40001, after the last permitted try.
    Serialization,
    /// SQLSTATE 40P01, after the last permitted try.
    Deadlock,
    /// Any other error after which the client goes on.
    Other,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Which script (statement set, tile layer, command) ran: index below `Plan::scripts`.
    pub script: u16,
    /// `None` when it succeeded.
    pub failure: Option<Failure>,
    /// How often it was tried; 1 without a retry.
    pub tries: u32,
    /// What the server gave in it; of one that failed it counts for nothing.
    pub returned: Returned,
}

/// What a transaction brought back, and what it left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Returned {
    pub rows: u64,
    /// Bytes of payload (row data, tile bytes, values) received.
    pub bytes: u64,
    /// Rows the server says it changed.
    pub affected: u64,
    /// Statements that were to return rows, whether they did or not.
    pub queries: u32,
    /// Statements that were to change rows, whether they did or not.
    pub changes: u32,
    /// 1 where the transaction read or wrote by key.
    pub keyed: u32,
    /// 1 where it did so and returned or changed no row by that.
    pub keyed_empty: u32,
}

/// A client's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing to do until the next event.
    Wait,
    /// Send [`Event::Timer`] at this time (it replaces an earlier wish).
    Until(Time),
    /// The server agreed to TLS: start the handshake on this link (needs [`Endpoint::tls`]).
    StartTls(Link),
    /// Close the link if open, connect again, then send [`Event::Opened`]. Bytes in its output buffer are sent
    /// first. At once for a link that was open; after a pause (10 ms doubling to 1 s) for one that was lost, and an
    /// attempt then counts as lost itself when nothing is heard for 10 s.
    /// A client that was idle gets no slot until it answers [`Step::Ready`].
    Reconnect(Link),
    /// Set-up is over (connected, authenticated, prepared): the client can take its next slot. A transaction
    /// still open, because its link was lost under it, counts as failed ([`Failure::Other`]).
    Ready,
    /// The current transaction ended; the client can take its next slot.
    Ended(Outcome),
    /// The client stops for good (aborted, see [`Io::abort`], or nothing more to do); its links are closed after
    /// their output is sent. A transaction still open counts as unfinished; as failed where the client gives up
    /// ([`Io::abort_because`]).
    Done,
}

/// What kind of message a client gives; the engine passes it on as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// To be shown as it is: what a script or the server says.
    Plain,
    /// A step of the client, for those who look for a mistake.
    Debug,
    /// What happened.
    Info,
    /// What went wrong.
    Error,
}

/// How one execution of a statement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementEnd {
    /// Well, after this many ns.
    Completed(u64),
    /// With an error after which its transaction is tried again.
    Retried,
    /// With an error that fails its transaction.
    Failed,
}

/// A client that gave up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Abort {
    /// Number of the client, from 0.
    pub client: usize,
    /// Code of the error behind it, in the words of the client's protocol (an SQLSTATE), where it has one: what tells
    /// equal reasons from different ones, whatever their texts say.
    pub code: Option<String>,
    /// Whether it lost its server: that ended, ended the connection, or does not take it any more.
    pub lost: bool,
    /// The command it was at, counted as by [`Io::statement`], where it was one that failed.
    pub statement: Option<usize>,
    /// What led to it, oldest first; often nothing.
    pub causes: Vec<String>,
    /// Its reason.
    pub message: String,
}

impl fmt::Display for Abort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for cause in &self.causes {
            writeln!(formatter, "{cause}")?;
        }
        formatter.write_str(&self.message)
    }
}

/// What the engine lends a client while it handles an event.
#[derive(Debug)]
pub struct Io<'a> {
    pub now: Time,
    /// The measured part of the run is over: end soon, start nothing new, do not retry.
    pub stopping: bool,
    pub(crate) out: &'a mut [Vec<u8>],
    pub(crate) notes: &'a mut Notes,
    pub(crate) wakes: &'a Arc<WakeQueue>,
    pub(crate) client: usize,
}

/// What a client told the engine while handling one event, beside its step.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The transaction's service time starts here (and, in closed load, its response time).
    pub(crate) restarted: Option<Time>,
    pub(crate) statements: Vec<StatementNote>,
    /// For figures of single items.
    pub(crate) items: Vec<ItemNote>,
    /// The abort that the step carries out.
    pub(crate) abort: Option<Abort>,
    /// For the user.
    pub(crate) messages: Vec<(Level, String)>,
    pub(crate) close: Option<Link>,
    /// How the open transaction ended, though the client is not free yet.
    pub(crate) ended: Option<Outcome>,
    /// A link that is of no use any more.
    pub(crate) lost: Option<Link>,
    /// Where a link goes from now on.
    pub(crate) redirected: Option<(Link, Box<Endpoint>)>,
}

/// One completed or failed statement of a script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatementNote {
    pub(crate) statement: usize,
    pub(crate) end: StatementEnd,
}

/// An item that was asked for and came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemNote {
    pub(crate) item: u32,
    pub(crate) elapsed: Time,
    pub(crate) bytes: u64,
}

impl Notes {
    /// Whether the client left anything here.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.restarted.is_some()
            || !self.statements.is_empty()
            || !self.items.is_empty()
            || !self.messages.is_empty()
            || self.close.is_some()
            || self.ended.is_some()
            || self.lost.is_some()
            || self.redirected.is_some()
    }
}

impl Io<'_> {
    /// The output buffer of a link; what is appended is sent after the event.
    #[inline]
    pub fn out(&mut self, link: Link) -> &mut Vec<u8> {
        &mut self.out[link]
    }

    /// The transaction really starts now (after a reconnection that does not count).
    pub fn restart(&mut self) {
        self.notes.restarted = Some(self.now);
    }

    /// Records how one statement of the current script ended; `statement` counts over all scripts.
    #[inline]
    pub fn statement(&mut self, statement: usize, end: StatementEnd) {
        self.notes.statements.push(StatementNote { statement, end });
    }

    /// Records that an item (below [`crate::Plan::items`]) came, so many ns after it was asked for.
    #[inline]
    pub fn item(&mut self, item: u32, elapsed: Time, bytes: u64) {
        self.notes.items.push(ItemNote { item, elapsed, bytes });
    }

    /// Says why this client gives up; answer [`Step::Done`] after it, or [`Step::Ended`] if the open transaction
    /// is to be counted before the client stops.
    pub fn abort(&mut self, message: String) {
        self.abort_because(Abort { message, ..Abort::default() });
    }

    /// As [`Io::abort`], with what led to it; the engine puts the client's number in.
    pub fn abort_because(&mut self, abort: Abort) {
        self.notes.abort = Some(abort);
    }

    /// Something for the user to be shown as it is (NOTICE, debug).
    pub fn message(&mut self, text: String) {
        self.say(Level::Plain, text);
    }

    /// A message for the user; all reach [`crate::Observer::message`] in order, the run's record keeps a bounded number.
    pub fn say(&mut self, level: Level, text: String) {
        self.notes.messages.push((level, text));
    }

    /// Closes a link after its output is sent; no event follows. [`Step::Reconnect`] opens it again, at once.
    pub fn close(&mut self, link: Link) {
        self.notes.close = Some(link);
    }

    /// The open transaction ends with this outcome, but the client is not free yet: it answers [`Step::Reconnect`],
    /// and later [`Step::Ready`] when it can take its next slot, or [`Step::Done`].
    pub fn ended(&mut self, outcome: Outcome) {
        self.notes.ended = Some(outcome);
    }

    /// The link is of no use any more, though it may still be open: the peer said so. [`Step::Reconnect`] pauses then
    /// as after a loss.
    pub fn lost(&mut self, link: Link) {
        self.notes.lost = Some(link);
    }

    /// The link goes to another end point from its next [`Step::Reconnect`] on.
    pub fn redirect(&mut self, link: Link, endpoint: Endpoint) {
        self.notes.redirected = Some((link, Box::new(endpoint)));
    }

    /// What a helper on another thread needs to send this client [`Event::Woken`].
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker { queue: Arc::clone(self.wakes), client: self.client }
    }
}

/// One simulated user of the target: a script interpreter, a tile picker, a Redis stream.
///
/// Called by the engine on the thread that owns it. After [`Event::Opened`] it sets its links up and answers
/// [`Step::Ready`]; each [`Event::Slot`] starts one transaction that ends with [`Step::Ended`]. A client that
/// loses its link answers [`Step::Reconnect`] or [`Step::Done`]; it never blocks, and never reads a clock.
pub trait Client: Send {
    /// The end points of this client's links, in link order; asked once, before the run. A client without
    /// links is ready from the start.
    fn endpoints(&self) -> Vec<Endpoint>;

    /// Which script the open transaction runs, or, between transactions, the next one (the last one, where that
    /// is not drawn yet): what is skipped, lost or left unfinished is counted under it. A client may draw its next
    /// script here.
    fn script(&mut self) -> u16 {
        0
    }

    /// Whether its links are opened only when it asks with [`Step::Reconnect`]; then it is ready from the start.
    fn on_demand(&self) -> bool {
        false
    }

    /// What ends the open transaction where it runs, sent over its own connection to where the link leads: asked for
    /// each link when the run ends without it. `None` where nothing goes on there.
    fn abandon(&self, _link: Link) -> Option<Vec<u8>> {
        None
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step;
}
