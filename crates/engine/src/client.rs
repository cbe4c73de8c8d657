//! The interface between the engine and a workload: events that a client receives, and its answers.

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

/// What a link needs to start TLS.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Roots, client certificate and verification policy.
    pub config: Arc<rustls::ClientConfig>,
    /// Name to verify and to send as SNI.
    pub name: rustls_pki_types::ServerName<'static>,
}

/// TCP keepalive and timeouts; `None` leaves them to the system. Unix sockets ignore them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Send probes while nothing else is sent.
    pub keepalive: Option<Keepalive>,
    /// How long sent data may stay unacknowledged, in ms; Linux only.
    pub user_timeout: Option<Duration>,
}

/// When keepalive probes are sent; `None` leaves it to the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keepalive {
    /// Idle time before the first probe, in s.
    pub idle: Option<Duration>,
    /// Time between probes, in s.
    pub interval: Option<Duration>,
    /// Unanswered probes after which the connection is closed.
    pub count: Option<u32>,
}

/// Work that a client left running on the server, and the request that cancels it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abandoned {
    pub address: Address,
    /// Sent to `address` over a separate connection.
    pub request: Vec<u8>,
}

/// One end point a client keeps a connection to.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub address: Address,
    /// Present when the client may answer [`Step::StartTls`] for this link.
    pub tls: Option<Tls>,
    pub tcp: TcpOptions,
}

impl Endpoint {
    /// An endpoint without TLS and with the system's TCP defaults.
    #[must_use]
    pub fn plain(address: Address) -> Self {
        Self { address, tls: None, tcp: TcpOptions::default() }
    }
}

/// An event, passed to [`Client::handle`] one at a time.
#[derive(Debug)]
pub enum Event<'a> {
    /// The link is connected, without TLS. Sent once per connection, first at the start of the run.
    Opened(Link),
    /// TLS is up on the link; `certificate` is the peer's, in DER, for channel binding.
    Secured { link: Link, certificate: Option<&'a [u8]> },
    /// Bytes arrived. The client raises `used` by what it consumed; the engine keeps the rest, joins it with
    /// what follows, and offers it again at once while the client uses some of it or answers with a step other
    /// than [`Step::Wait`] and [`Step::Until`], and after every other event.
    Bytes {
        link: Link,
        data: &'a [u8],
        /// Starts at 0; at most `data.len()`.
        used: &'a mut usize,
    },
    /// Start the next transaction now. `due` is its intended start: `now` in a closed load, possibly
    /// earlier in an open one.
    Slot { due: Time },
    /// The time asked for with [`Step::Until`] has come.
    Timer,
    /// The link was closed by the peer, or could not be opened or written.
    Closed {
        link: Link,
        /// What the system said; `None` for an orderly end of stream.
        error: Option<&'a io::Error>,
    },
    /// Another thread called this client's [`Io::waker`].
    Woken,
}

/// How a transaction failed; pgbench's kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Failure {
    /// SQLSTATE 40001, after the last permitted try.
    Serialization,
    /// SQLSTATE 40P01, after the last permitted try.
    Deadlock,
    Other,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionOutcome {
    /// Which script (statement set, tile layer, command) ran: index below `RunPlan::scripts`.
    pub script: u16,
    pub failure: Option<Failure>,
    /// How often it was tried; 1 without a retry.
    pub tries: u32,
    /// What the server returned; a failed transaction counts as nothing.
    pub returned: Returned,
}

/// What a transaction returned and changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Returned {
    pub rows: u64,
    /// Bytes of payload (row data, tile bytes, values) received.
    pub bytes: u64,
    pub affected: u64,
    /// Statements that should return rows, whether they did or not.
    pub queries: u32,
    /// Statements that should change rows, whether they did or not.
    pub changes: u32,
    /// 1 where the transaction read or wrote by key.
    pub keyed: u32,
    /// 1 where it did so and no row was returned or changed.
    pub keyed_empty: u32,
}

/// A client's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing to do until the next event.
    Wait,
    /// Send [`Event::Timer`] at this time; replaces an earlier one.
    Until(Time),
    /// The server agreed to TLS: start the handshake on this link (needs [`Endpoint::tls`]).
    StartTls(Link),
    /// Close the link if open, connect again, then send [`Event::Opened`]. Bytes in its output buffer are
    /// sent first. A link that was open reconnects at once. A lost link waits first (10 ms, doubling to 1 s),
    /// and an attempt counts as lost after 10 s without an answer. A client that was idle gets no slot until
    /// it answers [`Step::Ready`].
    Reconnect(Link),
    /// Set-up is over (connected, authenticated, prepared): the client can take its next slot. A transaction
    /// still open, because its link was lost under it, counts as failed ([`Failure::Other`]).
    Ready,
    /// The current transaction ended; the client can take its next slot.
    Ended(TransactionOutcome),
    /// The client stops for good (aborted, see [`Io::abort`], or nothing more to do); its links are closed after
    /// their output is sent. A transaction still open counts as unfinished; as failed where the client gives up
    /// ([`Io::abort_because`]).
    Done,
}

/// Kind of a client's message; the engine passes the text on unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MessageLevel {
    /// Output of a script or the server, shown unchanged.
    Plain,
    /// A detail that helps to find a mistake.
    Debug,
    Info,
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

/// Why a client gave up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Abort {
    pub client: usize,
    /// The protocol's error code (an SQLSTATE), if any. Equal codes mean equal reasons, whatever the texts
    /// say.
    pub code: Option<String>,
    /// Whether the server ended, closed the connection, or refuses new ones.
    pub lost: bool,
    /// Whether the open transaction had asked for nothing yet: it is not counted as failed.
    pub before_start: bool,
    /// The command that failed, counted as by [`Io::statement`].
    pub statement: Option<usize>,
    /// Causes, oldest first; often empty.
    pub causes: Vec<String>,
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

/// What a client can read and do while it handles an event.
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

/// What a client reported while it handled one event, in addition to its step.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Start of the transaction's service time (and, in closed load, of its response time).
    pub(crate) restarted: Option<Time>,
    pub(crate) statements: Vec<StatementNote>,
    pub(crate) items: Vec<ItemNote>,
    pub(crate) abort: Option<Abort>,
    pub(crate) messages: Vec<(MessageLevel, String)>,
    pub(crate) close: Option<Link>,
    /// The open transaction's outcome, though the client is not free yet.
    pub(crate) ended: Option<TransactionOutcome>,
    pub(crate) lost: Option<Link>,
    pub(crate) redirected: Option<(Link, Box<Endpoint>)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct StatementNote {
    pub(crate) statement: usize,
    pub(crate) end: StatementEnd,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemNote {
    pub(crate) item: u32,
    pub(crate) elapsed: Time,
    pub(crate) bytes: u64,
}

impl Notes {
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
    /// The output buffer of a link; its bytes are sent after the event.
    #[inline]
    pub fn out(&mut self, link: Link) -> &mut Vec<u8> {
        &mut self.out[link]
    }

    /// Starts the transaction's clock now, after a reconnection that does not count.
    pub fn restart(&mut self) {
        self.notes.restarted = Some(self.now);
    }

    /// Records how one statement of the current script ended; `statement` counts over all scripts.
    #[inline]
    pub fn statement(&mut self, statement: usize, end: StatementEnd) {
        self.notes.statements.push(StatementNote { statement, end });
    }

    /// Records that an item (an index below [`crate::RunPlan::items`]) arrived `elapsed` ns after its request.
    #[inline]
    pub fn item(&mut self, item: u32, elapsed: Time, bytes: u64) {
        self.notes.items.push(ItemNote { item, elapsed, bytes });
    }

    /// Records why this client gives up. Answer [`Step::Done`] next, or [`Step::Ended`] to count the open
    /// transaction first.
    pub fn abort(&mut self, message: String) {
        self.abort_because(Abort { message, ..Abort::default() });
    }

    /// As [`Io::abort`], with causes; the engine sets the client's number.
    pub fn abort_because(&mut self, abort: Abort) {
        self.notes.abort = Some(abort);
    }

    /// A [`MessageLevel::Plain`] message: a NOTICE, or debug output.
    pub fn message(&mut self, text: String) {
        self.say(MessageLevel::Plain, text);
    }

    /// A message for the user. All reach [`crate::Observer::message`] in order; the run stores a bounded
    /// number.
    pub fn say(&mut self, level: MessageLevel, text: String) {
        self.notes.messages.push((level, text));
    }

    /// Closes a link after its output is sent; no event follows. [`Step::Reconnect`] opens it again, at once.
    pub fn close(&mut self, link: Link) {
        self.notes.close = Some(link);
    }

    /// Ends the open transaction with this outcome while the client is not free yet: it answers
    /// [`Step::Reconnect`], and later [`Step::Ready`] or [`Step::Done`].
    pub fn ended(&mut self, outcome: TransactionOutcome) {
        self.notes.ended = Some(outcome);
    }

    /// Marks the link as lost although it may still be open, as the peer announced its end. [`Step::Reconnect`]
    /// then pauses as after a loss.
    pub fn lost(&mut self, link: Link) {
        self.notes.lost = Some(link);
    }

    /// Changes the link's endpoint from its next [`Step::Reconnect`] on.
    pub fn redirect(&mut self, link: Link, endpoint: Endpoint) {
        self.notes.redirected = Some((link, Box::new(endpoint)));
    }

    /// A handle with which another thread can send this client [`Event::Woken`].
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker { queue: Arc::clone(self.wakes), client: self.client }
    }
}

/// The transaction of a session that a user begins next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    /// `None` leaves the choice to the client.
    pub script: Option<u16>,
    pub is_first: bool,
    pub is_last: bool,
    /// Connect before the first transaction of the session, and close the connection when the session ends.
    pub reconnects: bool,
}

/// One simulated user of the target: a script interpreter, a tile picker, a Redis stream.
///
/// Called by the engine on the thread that owns it. After [`Event::Opened`] it sets its links up and answers
/// [`Step::Ready`]; each [`Event::Slot`] starts one transaction that ends with [`Step::Ended`]. A client that
/// loses its link answers [`Step::Reconnect`] or [`Step::Done`]; it never blocks, and never reads a clock.
pub trait Client: Send {
    /// The endpoints of this client's links, in link order; called once, before the run. A client without
    /// links is ready from the start.
    fn endpoints(&self) -> Vec<Endpoint>;

    /// Script of the open transaction; between transactions the next script, or the last one if the next is
    /// not drawn yet. Skipped, lost and unfinished transactions count under it. A client may draw its next
    /// script here.
    fn script(&mut self) -> u16 {
        0
    }

    /// Users: the next [`Event::Slot`] is this part of a session. A transaction that fails ends the session.
    fn visit(&mut self, visit: Visit) {
        let _ = visit;
    }

    /// Whether links open only on [`Step::Reconnect`]; the client is then ready from the start.
    fn on_demand(&self) -> bool {
        false
    }

    /// The request that cancels the open transaction, sent over a separate connection to the link's endpoint.
    /// Called for each link when the run ends before the transaction. `None` where nothing is running.
    fn abandon(&self, _link: Link) -> Option<Vec<u8>> {
        None
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step;
}
