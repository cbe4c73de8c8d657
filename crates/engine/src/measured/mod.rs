//! The figures of a run.

mod thread;
mod time;
mod users;

use spec::{Counts, Outage};
use stats::Histogram;

pub(crate) use self::thread::ThreadFigures;
pub use self::time::{ClientTime, Stretch};
pub use self::users::UserFigures;
use crate::client::{Abandoned, Abort, Time};

/// Lines of counters that the histograms of a thread's second share at first: all of four scripts, 0.9 MB.
const LINES: usize = 8 * Histogram::ALL_LINES;

/// Figures of one script: over the run, or over one second of it.
#[derive(Debug, Clone, Default)]
pub struct ScriptFigures {
    pub counts: Counts,
    /// Transactions that throughput counts: they succeeded and ended in the measured part, whenever they
    /// began. In open load, and with [`crate::RunPlan::count_drained`], every success in `counts`.
    pub completed: u64,
    /// From intended start to end, of successful transactions and of those still open after the drain, which
    /// took at least this long.
    pub response: Histogram,
    /// From actual start to end, of the same transactions; empty while each of them started when it was due, as in
    /// closed load: then it is `response`, and a thousand scripts need the memory once.
    apart: Histogram,
    /// Longest lag of a successful transaction behind its intended start, ns.
    pub lag_max_ns: u64,
}

impl ScriptFigures {
    /// Figures of transactions whose times are recorded later.
    #[must_use]
    pub fn counted(counts: Counts, completed: u64) -> Self {
        Self { counts, completed, ..Self::default() }
    }

    /// Records the times of a transaction, ns.
    #[inline]
    pub fn record(&mut self, response_ns: u64, service_ns: u64) {
        if service_ns != response_ns || !self.apart.is_empty() {
            self.take_apart();
            self.apart.record(service_ns);
        }
        self.response.record(response_ns);
    }

    /// From actual start to end, of the same transactions as `response`.
    #[must_use]
    pub fn service(&self) -> &Histogram {
        if self.apart.is_empty() { &self.response } else { &self.apart }
    }

    /// Adds another part's figures.
    pub fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.completed += other.completed;
        if !self.apart.is_empty() || !other.apart.is_empty() {
            self.take_apart();
            self.apart.add(other.service());
        }
        self.response.add(&other.response);
        self.lag_max_ns = self.lag_max_ns.max(other.lag_max_ns);
    }

    /// From now on service times are recorded, too.
    fn take_apart(&mut self) {
        if self.apart.is_empty() {
            self.apart.add(&self.response);
        }
    }

    /// Packs histograms that take more than so many bytes, each.
    pub(crate) fn shrink_beyond(&mut self, bytes: usize) {
        for histogram in [&mut self.response, &mut self.apart] {
            histogram.shrink_beyond(bytes);
        }
    }

    /// Transactions in `completed` that were not late.
    #[must_use]
    pub fn in_time(&self) -> u64 {
        self.completed.saturating_sub(self.counts.late)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts == Counts::default() && self.completed == 0
    }

    fn clear(&mut self) {
        self.counts = Counts::default();
        self.completed = 0;
        self.response.clear();
        self.apart.clear();
        self.lag_max_ns = 0;
    }
}

/// Figures of one statement over the run.
#[derive(Debug, Clone, Default)]
pub struct StatementFigures {
    pub latency: Histogram,
    /// Executions that failed, and their transaction with them.
    pub failures: u64,
    /// Executions that failed, after which the transaction was tried again.
    pub retries: u64,
}

/// Figures of one item over the run: of a tile, for example.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ItemFigures {
    pub requests: u64,
    /// Sum of the times from request to arrival, ns.
    pub total_ns: Time,
    pub max_ns: Time,
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
/// Everything counts in the second it happened in. The seconds of the measured part and after it add up to
/// the run's figures exactly: a transaction that began, or was due, in the measured part may end after it, in
/// a second of [the drain](Self::is_drain).
#[derive(Debug, Clone, Default)]
pub struct Second {
    /// Start, in ns from the start of the measured part; negative during warm-up.
    pub start_ns: i64,
    /// Length in ns; the last one may be shorter than a second.
    pub length_ns: u64,
    /// Closed load: whether the second is after the measured part. Its transactions are in every figure
    /// except the throughput.
    pub is_drain: bool,
    /// Users in a session at its end.
    pub active_users: u32,
    /// Transactions that were open at its end.
    pub in_flight: u32,
    pub scripts: Vec<ScriptFigures>,
}

impl Second {
    /// To be filled by a thread, with memory for counters: with few scripts recording never allocates, and with many
    /// their histograms grow in the first seconds, and keep that memory. In closed load they need one each.
    pub(crate) fn empty(scripts: usize, is_closed: bool) -> Box<Self> {
        let lines = LINES / (2 * scripts.max(1));
        let with_room = || ScriptFigures {
            response: Histogram::with_room(lines),
            apart: if is_closed { Histogram::new() } else { Histogram::with_room(lines) },
            ..ScriptFigures::default()
        };
        Box::new(Self { scripts: (0..scripts).map(|_| with_room()).collect(), ..Self::default() })
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, part) in self.scripts.iter_mut().zip(&other.scripts) {
            sum.add(part);
        }
        self.length_ns = self.length_ns.max(other.length_ns);
        self.active_users += other.active_users;
        self.in_flight += other.in_flight;
    }

    pub(crate) fn clear(&mut self) {
        (self.active_users, self.in_flight) = (0, 0);
        self.scripts.iter_mut().for_each(ScriptFigures::clear);
    }
}

/// What the engine itself used, and how it was delayed.
#[derive(Debug, Clone, Default)]
pub struct OwnCost {
    /// User CPU of the engine's threads in the measured part, ns.
    pub user_ns: u64,
    /// System CPU of the engine's threads in the measured part, ns.
    pub system_ns: u64,
    /// Time in the measured part that threads spent spinning, over all of them, ns. It is part of their CPU
    /// time, unless the system took the CPU away.
    pub spun_ns: u64,
    /// Largest share (0..=1) of the measured part that a single thread was running and not spinning.
    pub busiest_thread: f64,
    /// Stall of the generator between two turns, ns: of the thread with the most. Only gaps of [`crate::GAP`]
    /// or more, in the measured part and the drain.
    pub stalled_ns: u64,
    /// The same in gaps from [`crate::PAUSE`] up to [`crate::GAP`], ns: of the thread with the most.
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
pub struct EngineResult {
    /// Name of the driver that ran: `io_uring`, `epoll`, `kqueue`, `simulated`.
    pub driver: &'static str,
    /// Why it was not the better driver.
    pub driver_note: Option<String>,
    /// CPUs its threads were pinned to, by thread; empty where they were not pinned.
    pub cpus: Vec<usize>,
    /// Longest spin before a sleep, ns; 0 for none.
    pub spin: Time,
    /// Length of the measured part, ns; with [`crate::RunPlan::count_drained`] until the last transaction's end.
    /// In a run of stretches, the average time at work per client, so that idle time in the drains is not
    /// counted.
    pub elapsed: Time,
    /// From the start of the run until all clients were ready, ns.
    pub connecting: Time,
    /// The measured part's stretches, if it was held in between.
    pub stretches: Vec<Stretch>,
    pub scripts: Vec<ScriptFigures>,
    pub statements: Vec<StatementFigures>,
    pub items: Vec<ItemFigures>,
    /// Connections made in the measured part after the clients' first ones.
    pub reconnections: u64,
    /// Total time from a client's wish to reconnect until it was ready, ns.
    pub reconnecting: Time,
    pub connections_lost: u64,
    /// Open load: arrivals of the measured part that waited until it was over and were started in the drain.
    /// They are among those that succeeded, failed or stayed unfinished.
    pub drained: u64,
    /// Closed load: transactions still open after the drain. They count as late.
    pub left_open: u64,
    /// Closed load and users: how the clients spent their time; `None` with [`crate::RunPlan::count_drained`].
    pub client_time: Option<ClientTime>,
    /// Sessions and think times; users only.
    pub users: Option<UserFigures>,
    /// When clients were without a connection; bounded, see `outages_dropped`.
    pub outages: Vec<Outage>,
    pub outages_dropped: u64,
    /// Clients that gave up, in that order; at most one entry per client.
    pub aborts: Vec<Abort>,
    /// Requests that clients left running at the end of the run; the caller cancels them.
    pub abandoned: Vec<Abandoned>,
    /// Messages of clients; bounded, see `messages_dropped`.
    pub messages: Vec<String>,
    pub messages_dropped: u64,
    /// Whether the run was stopped from outside before its end, or while transactions were still waited for.
    pub interrupted: bool,
    pub own: OwnCost,
}

impl EngineResult {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(second: &Second) -> usize {
        let of = |script: &ScriptFigures| script.response.heap_bytes() + script.apart.heap_bytes();
        second.scripts.iter().map(of).sum()
    }

    /// They took 440 kB each, whatever was recorded.
    #[test]
    fn a_thousand_scripts_take_a_few_kilobytes_each_in_a_second() {
        assert!(bytes_each(true) < 1_500 && bytes_each(false) < 3_000);
    }

    /// Bytes for each of a thousand scripts, in closed or open load.
    fn bytes_each(is_closed: bool) -> usize {
        const SCRIPTS: usize = 1_000;
        let mut second = Second::empty(SCRIPTS, is_closed);
        for (number, script) in second.scripts.iter_mut().enumerate() {
            // 30 transactions around half a millisecond, and one transaction twenty times as long.
            for k in 0..30_u64 {
                let ns = 400_000 + (number as u64 * 7_919 + k * 104_729) % 200_000;
                let ns = if k == 17 { 20 * ns } else { ns };
                script.record(ns, if is_closed { ns } else { ns - 1_000 });
            }
        }
        let each = bytes(&second) / SCRIPTS;
        second.clear();
        assert_eq!(bytes(&second) / SCRIPTS, each, "the next second does not allocate it again");
        each
    }

    #[test]
    fn service_times_are_apart_from_the_first_that_differs() {
        let all = |times: &[(u64, u64)]| {
            let mut figures = ScriptFigures::default();
            times.iter().for_each(|(response, service)| figures.record(*response, *service));
            figures
        };
        let (same, differs) =
            (all(&[(100, 100), (7_000, 7_000)]), all(&[(300, 300), (9_000, 200), (5_000, 5_000)]));
        assert!(same.apart.is_empty());
        assert_eq!(same.service().to_text(), same.response.to_text());
        assert_eq!(
            differs.service().to_text(),
            all(&[(300, 300), (200, 200), (5_000, 5_000)]).response.to_text()
        );
        let (mut one, mut other) = (same.clone(), differs.clone());
        one.add(&differs);
        other.add(&same);
        for sum in [one, other] {
            assert_eq!((sum.response.sum_ns(), sum.service().sum_ns()), (21_400, 12_600));
            assert_eq!((sum.response.count(), sum.service().count()), (5, 5));
        }
    }

    #[test]
    fn with_few_scripts_recording_never_allocates() {
        for is_closed in [true, false] {
            let mut second = Second::empty(4, is_closed);
            let before = bytes(&second);
            for script in &mut second.scripts {
                for ns in (0..42).flat_map(|bits| (0..1_000).map(move |k| (1 << bits) + (k << bits) / 1_000))
                {
                    script.record(ns, if is_closed { ns } else { ns / 2 });
                }
            }
            assert_eq!(bytes(&second), before);
        }
    }
}
