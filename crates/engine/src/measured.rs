//! What a run of the engine gives back.

use std::fmt;

use stats::Histogram;

use crate::client::{Returned, Time};

/// Counters of one script. In open load `due = ok + late + failed + skipped + unfinished`; in closed load
/// `due` counts the transactions that ended inside the measured part, plus the unfinished ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions that were to be done.
    pub due: u64,
    /// Succeeded within the limit (all successes, when there is no limit).
    pub ok: u64,
    /// Succeeded, but later than the limit.
    pub late: u64,
    /// Failed after their last try.
    pub failed: u64,
    /// Of `failed`: serialization failures.
    pub serialization_failures: u64,
    /// Of `failed`: deadlocks.
    pub deadlock_failures: u64,
    /// Never started: their limit had passed before a client was free.
    pub skipped: u64,
    /// Still open when the drain time was over (in open load also: never started), or given up with their client.
    pub unfinished: u64,
    /// Transactions that needed more than one try.
    pub retried: u64,
    /// Extra tries over all transactions.
    pub retries: u64,
    /// Rows received.
    pub rows: u64,
    /// Payload bytes received.
    pub bytes: u64,
    /// Statements that were to return rows, whether they did or not.
    pub queries: u64,
    /// Statements that were to change rows, whether they did or not.
    pub changes: u64,
    /// Rows changed.
    pub affected: u64,
}

impl Counts {
    /// Adds another part's counters.
    pub fn add(&mut self, other: &Self) {
        self.due += other.due;
        self.ok += other.ok;
        self.late += other.late;
        self.failed += other.failed;
        self.serialization_failures += other.serialization_failures;
        self.deadlock_failures += other.deadlock_failures;
        self.skipped += other.skipped;
        self.unfinished += other.unfinished;
        self.retried += other.retried;
        self.retries += other.retries;
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.queries += other.queries;
        self.changes += other.changes;
        self.affected += other.affected;
    }

    /// Adds what one transaction gave.
    #[inline]
    pub(crate) fn take(&mut self, returned: &Returned) {
        self.rows += returned.rows;
        self.bytes += returned.bytes;
        self.queries += u64::from(returned.queries);
        self.changes += u64::from(returned.changes);
        self.affected += returned.affected;
    }

    /// pgbench's "transactions actually processed".
    #[must_use]
    pub fn processed(&self) -> u64 {
        self.ok + self.late
    }
}

/// Figures of one script: over the run, or over one second of it.
#[derive(Debug, Clone, Default)]
pub struct ScriptFigures {
    /// Counters.
    pub counts: Counts,
    /// From intended start to end, of successful transactions.
    pub response: Histogram,
    /// From actual start to end, of successful transactions.
    pub service: Histogram,
    /// Longest lag of a successful transaction behind its intended start, ns.
    pub lag_max_ns: u64,
}

impl ScriptFigures {
    /// Adds another part's figures.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.lag_max_ns = self.lag_max_ns.max(other.lag_max_ns);
    }

    /// Empties the figures and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.counts = Counts::default();
        self.response.clear();
        self.service.clear();
        self.lag_max_ns = 0;
    }
}

/// Figures of one statement over the run.
#[derive(Debug, Clone, Default)]
pub struct StatementFigures {
    /// Latency of completed executions.
    pub latency: Histogram,
    /// Executions that failed, and with them their transaction.
    pub failures: u64,
    /// Executions that failed, after which the transaction was tried again.
    pub retries: u64,
}

impl StatementFigures {
    /// Adds another part's figures.
    pub(crate) fn add(&mut self, other: &Self) {
        self.latency.add(&other.latency);
        self.failures += other.failures;
        self.retries += other.retries;
    }
}

/// One second of load, over all threads.
///
/// What happened is counted in the second it happened in. The seconds of the measured part and after it add up
/// to the run's figures exactly: in open load a transaction due in the measured part may end after it, in a
/// second that starts at or past [`Measured::elapsed`].
#[derive(Debug, Clone, Default)]
pub struct Second {
    /// Start, in ns from the start of the measured part; negative during warm-up.
    pub start_ns: i64,
    /// Length in ns; the last one may be shorter than a second.
    pub length_ns: u64,
    /// One entry per script.
    pub scripts: Vec<ScriptFigures>,
}

/// What the engine says of itself.
#[derive(Debug, Clone, Default)]
pub struct OwnCost {
    /// User CPU of the engine's threads in the measured part, ns.
    pub user_ns: u64,
    /// System CPU of the engine's threads in the measured part, ns.
    pub system_ns: u64,
    /// Largest share (0..=1) of the measured part that a single thread spent running.
    pub busiest_thread: f64,
    /// How late timers fired.
    pub timer_lateness: Histogram,
    /// Time from the return of one wait to the entry of the next.
    pub turn: Histogram,
    /// Actual start minus intended start of open-load arrivals that found a free client.
    pub start_lag: Histogram,
}

/// A client that gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abort {
    /// Number of the client, from 0.
    pub client: usize,
    /// Code of the error behind it, in the words of the client's protocol (an SQLSTATE), where it has one: what tells
    /// equal reasons from different ones, whatever their texts say.
    pub code: Option<String>,
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

/// A time in which at least one client was without a connection it wanted back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// When the first client lost its connection, in ns from the start of the measured part; negative during warm-up.
    pub from_ns: i64,
    /// When all clients went on again (had set up their new connections); else the end of the run.
    pub to_ns: i64,
    /// Clients that were away in it, at least 1.
    pub clients: usize,
    /// Whether it was over before the run was.
    pub over: bool,
}

/// Everything a run of the engine measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Name of the driver that ran: `io_uring`, `epoll`, `kqueue`, `simulated`.
    pub driver: &'static str,
    /// Why it was not the better one, if so.
    pub driver_note: Option<String>,
    /// Length of the measured part, ns; with [`crate::Plan::count_drained`] until the last transaction's end.
    pub elapsed: Time,
    /// From the start of the run until all clients were ready, ns.
    pub connecting: Time,
    /// Per script.
    pub scripts: Vec<ScriptFigures>,
    /// Per statement; empty when not wanted.
    pub statements: Vec<StatementFigures>,
    /// Connections made in the measured part after the clients' first ones, for each transaction or after a loss.
    pub reconnections: u64,
    /// Sum of the time from the wish to reconnect until the client could go on, ns.
    pub reconnecting: Time,
    /// Connections in use that were lost in the measured part, whatever their clients did then.
    pub connections_lost: u64,
    /// Open load: arrivals of the measured part that no client was free for before it was over, and that were started
    /// while it drained. They are among those that succeeded, failed or stayed unfinished.
    pub drained: u64,
    /// When clients were away because of that (bounded; the rest is only counted).
    pub outages: Vec<Outage>,
    /// Outages not kept.
    pub outages_dropped: u64,
    /// Clients that gave up, in the order they did; at most one entry per client.
    pub aborts: Vec<Abort>,
    /// Messages of clients (bounded; the rest is only counted).
    pub messages: Vec<String>,
    /// Messages not kept.
    pub messages_dropped: u64,
    /// Whether the run was stopped from outside before its end, or while transactions were still waited for.
    pub interrupted: bool,
    /// The engine's own cost.
    pub own: OwnCost,
}

impl Measured {
    /// Counters over all scripts.
    #[must_use]
    pub fn totals(&self) -> Counts {
        let mut totals = Counts::default();
        for script in &self.scripts {
            totals.add(&script.counts);
        }
        totals
    }
}
