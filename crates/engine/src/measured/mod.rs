//! What a run of the engine gives back.

mod stretch;
mod thread;
mod time;

use spec::{Counts, Outage};
use stats::Histogram;

pub use self::stretch::Stretch;
pub(crate) use self::thread::ThreadFigures;
pub use self::time::ClientTime;
use crate::client::{Abandoned, Abort, Time};

/// Figures of one script: over the run, or over one second of it.
#[derive(Debug, Clone, Default)]
pub struct ScriptFigures {
    /// Counters.
    pub counts: Counts,
    /// Transactions that throughput counts. They succeeded and ended in the measured part, whenever they began. In open load,
    /// and with [`crate::Plan::count_drained`], all of `counts` that succeeded.
    pub completed: u64,
    /// From intended start to end, of successful transactions and of those still open when the drain was over, which have
    /// taken at least so long.
    pub response: Histogram,
    /// From actual start to end, of the same.
    pub service: Histogram,
    /// Longest lag of a successful transaction behind its intended start, ns.
    pub lag_max_ns: u64,
}

impl ScriptFigures {
    /// Adds another part's figures.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.completed += other.completed;
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.lag_max_ns = self.lag_max_ns.max(other.lag_max_ns);
    }

    /// Of `completed`, what was not late.
    #[must_use]
    pub fn in_time(&self) -> u64 {
        self.completed.saturating_sub(self.counts.late)
    }

    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts == Counts::default() && self.completed == 0
    }

    /// Empties the figures and keeps their memory.
    fn clear(&mut self) {
        self.counts = Counts::default();
        self.completed = 0;
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

/// What was asked for one by one, over the run: a tile, for example.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ItemFigures {
    /// How often it came.
    pub requests: u64,
    /// Time from asking for it until it came, over all requests, ns.
    pub total_ns: Time,
    /// Longest of these, ns.
    pub max_ns: Time,
    /// Payload received, over all requests.
    pub bytes: u64,
}

impl ItemFigures {
    #[inline]
    pub(crate) fn count(&mut self, elapsed: Time, bytes: u64) {
        self.requests += 1;
        self.total_ns += elapsed;
        self.max_ns = self.max_ns.max(elapsed);
        self.bytes += bytes;
    }

    /// Adds another part's figures.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.total_ns += other.total_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
        self.bytes += other.bytes;
    }
}

/// One second of load, over all threads.
///
/// What happened is counted in the second it happened in. The seconds of the measured part and after it add up
/// to the run's figures exactly: a transaction that began, or was due, in the measured part may end after it, in a
/// second that [is of the drain](Self::is_drain).
#[derive(Debug, Clone, Default)]
pub struct Second {
    /// Start, in ns from the start of the measured part; negative during warm-up.
    pub start_ns: i64,
    /// Length in ns; the last one may be shorter than a second.
    pub length_ns: u64,
    /// Closed load: whether it comes after the measured part. What is in it is in every figure but the throughput.
    pub is_drain: bool,
    /// One entry per script.
    pub scripts: Vec<ScriptFigures>,
}

impl Second {
    pub(crate) fn empty(scripts: usize) -> Box<Self> {
        Box::new(Self { scripts: vec![ScriptFigures::default(); scripts], ..Self::default() })
    }

    /// Adds what another thread did in this second.
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, part) in self.scripts.iter_mut().zip(&other.scripts) {
            sum.add(part);
        }
        self.length_ns = self.length_ns.max(other.length_ns);
    }

    /// Empties it so that a thread can fill it again.
    pub(crate) fn clear(&mut self) {
        self.scripts.iter_mut().for_each(ScriptFigures::clear);
    }
}

/// What the engine says of itself.
#[derive(Debug, Clone, Default)]
pub struct OwnCost {
    /// User CPU of the engine's threads in the measured part, ns.
    pub user_ns: u64,
    /// System CPU of the engine's threads in the measured part, ns.
    pub system_ns: u64,
    /// Of the measured part, how long threads looked for news before they slept, over all of them, ns. It is among their
    /// CPU time, unless the system took the CPU away.
    pub spun_ns: u64,
    /// Largest share (0..=1) of the measured part that a single thread spent running, not looking for news.
    pub busiest_thread: f64,
    /// How long the generator stood still between two turns of its loops, ns: of the thread that did longest. Only gaps of
    /// [`crate::GAP`] or more, in the measured part and the drain.
    pub stalled_ns: u64,
    /// The same in gaps from [`crate::PAUSE`] up to [`crate::GAP`], ns: the sum of the thread that has most.
    pub paused_ns: u64,
    /// How late timers fired.
    pub timer_lateness: Histogram,
    /// Time from the return of one wait to the entry of the next.
    pub turn: Histogram,
    /// Actual start minus intended start of open-load arrivals that found a free client.
    pub start_lag: Histogram,
}

/// Everything a run of the engine measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Name of the driver that ran: `io_uring`, `epoll`, `kqueue`, `simulated`.
    pub driver: &'static str,
    /// Why it was not the better one, if so.
    pub driver_note: Option<String>,
    /// CPUs its threads were kept on, by thread; empty where they were free.
    pub cpus: Vec<usize>,
    /// How long they looked for news before they slept, ns; 0 for not at all.
    pub spin: Time,
    /// Length of the measured part, ns; with [`crate::Plan::count_drained`] until the last transaction's end. Of a run in
    /// stretches, how long a client was at work in them on average, so that what they drained is charged to nobody.
    pub elapsed: Time,
    /// From the start of the run until all clients were ready, ns.
    pub connecting: Time,
    /// The measured part's stretches, where it was held in between.
    pub stretches: Vec<Stretch>,
    /// Per script.
    pub scripts: Vec<ScriptFigures>,
    /// Per statement; empty when not wanted.
    pub statements: Vec<StatementFigures>,
    /// Per item; empty where clients report none.
    pub items: Vec<ItemFigures>,
    /// Connections made in the measured part after the clients' first ones, for each transaction or after a loss.
    pub reconnections: u64,
    /// Sum of the time from the wish to reconnect until the client could go on, ns.
    pub reconnecting: Time,
    /// Connections in use that were lost in the measured part, whatever their clients did then.
    pub connections_lost: u64,
    /// Open load: arrivals of the measured part that no client was free for before it was over, and that were started
    /// while it drained. They are among those that succeeded, failed or stayed unfinished.
    pub drained: u64,
    /// Closed load: transactions that were still open when the drain was over. They count as late.
    pub left_open: u64,
    /// Closed load and users: where the clients' time went; nothing with [`crate::Plan::count_drained`].
    pub client_time: Option<ClientTime>,
    /// When clients were away because of that (bounded; the rest is only counted).
    pub outages: Vec<Outage>,
    /// Outages not kept.
    pub outages_dropped: u64,
    /// Clients that gave up, in the order they did; at most one entry per client.
    pub aborts: Vec<Abort>,
    /// What clients left running when the run ended without it; the caller's to end.
    pub abandoned: Vec<Abandoned>,
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

    /// Transactions that throughput counts, over all scripts.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.scripts.iter().map(|script| script.completed).sum()
    }
}
