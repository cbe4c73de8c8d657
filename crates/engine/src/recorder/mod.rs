//! Counts what happens on one thread, second by second, without locks or allocation.
//!
//! A second's figures are filled here and handed to the caller's thread when the second is over. There they
//! are merged and emptied, and come back to be filled again.

mod outbox;
mod sessions;

use std::sync::mpsc::{Receiver, Sender};

pub(crate) use self::outbox::Outbox;
pub(crate) use self::sessions::SessionEnd;
use crate::client::{Failure, ItemNote, Returned, StatementNote, Time, TransactionOutcome};
use crate::control::ThreadReport;
use crate::measured::{ScriptFigures, Second, ThreadFigures};
use crate::observer::{EntryEnd, TransactionEntry};
use crate::plan::{Load, RunPlan, Until, Window};
use spec::Counts;
use stats::Histogram;

/// What a client does; its time is accounted for at each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Free, without a transaction; or stopped for good.
    Idle,
    Transaction,
    Thinking,
    /// Connecting or preparing.
    Connecting,
    /// Held between two stretches: the run's clock does not count this time.
    Held,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) doing: Doing,
    pub(crate) since: Time,
}

impl Activity {
    pub(crate) const BEFORE: Self = Self { doing: Doing::Held, since: 0 };
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StartedTransaction {
    pub(crate) due: Time,
    pub(crate) started: Time,
}

/// Which of a transaction's times decides in which part of the run it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountBy {
    /// Closed load and users for a time: transactions that began in the measured part, however long they
    /// take, or the longest would be missing. Open load: every arrival of the measured part.
    Start,
    /// A number of transactions per client, and pgbench's way of counting. Nothing is open when the clients
    /// are done.
    End,
}

/// The parts of a run in which a transaction counts.
#[derive(Debug, Clone, Copy)]
struct Parts {
    measured: bool,
    warmup: bool,
}

pub(crate) struct Recorder {
    thread: usize,
    promise: Option<Time>,
    is_open: bool,
    is_closed: bool,
    count_by: CountBy,
    count_drained: bool,
    transactions: bool,
    pub(crate) outbox: Outbox,
    window: Window,
    second: Box<Second>,
    second_start: Time,
    second_end: Time,
    reports: Sender<ThreadReport>,
    recycled: Receiver<Box<Second>>,
    pub(crate) figures: ThreadFigures,
    /// Successful transactions so far, including warm-up.
    pub(crate) succeeded: u64,
    /// Users in a session, now.
    active_users: u32,
    /// Transactions that are open, now.
    pub(crate) in_flight: u32,
}

impl Recorder {
    pub(crate) fn new(
        thread: usize,
        plan: &RunPlan,
        reports: Sender<ThreadReport>,
        recycled: Receiver<Box<Second>>,
        outbox: Outbox,
    ) -> Self {
        let (is_open, is_closed) = (matches!(plan.load, Load::Rate(_)), plan.load == Load::Closed);
        let by_end = plan.count_drained || matches!(plan.until, Until::PerClient(_) | Until::PerUser(_));
        let count_by = if by_end && !is_open { CountBy::End } else { CountBy::Start };
        Self {
            thread,
            promise: plan.promise,
            is_open,
            is_closed,
            count_by,
            count_drained: plan.count_drained,
            transactions: plan.transactions,
            outbox,
            window: Window::UNKNOWN,
            second: Second::empty(plan.scripts, is_closed),
            second_start: Time::MAX,
            second_end: Time::MAX,
            reports,
            recycled,
            figures: ThreadFigures::new(plan.statements, plan.items),
            succeeded: 0,
            active_users: 0,
            in_flight: 0,
        }
    }

    pub(crate) fn begin(&mut self, window: Window) {
        self.window = window;
        self.second_start = window.load;
        self.second_end = window.second_end(window.load);
    }

    pub(crate) fn set_end(&mut self, end: Time) {
        self.window.end = end;
        self.second_end = self.second_end.min(end.max(self.second_start));
    }

    /// Sets the start of the measured part, which was unknown.
    pub(crate) fn measure_from(&mut self, now: Time) {
        self.window.measured = now;
        self.second.clear();
        (self.second_start, self.second_end) = (now, self.window.second_end(now));
    }

    /// Ends a part of a held run between two stretches, and returns its figures: what comes now is the warm-up of
    /// the next part.
    pub(crate) fn end_part(&mut self, now: Time) -> ThreadFigures {
        self.finish(now);
        self.window.measured = Time::MAX;
        self.second.clear();
        (self.second_start, self.second_end) = (now, self.window.second_end(now));
        let next = ThreadFigures::new(self.figures.statements.len(), self.figures.items.len());
        std::mem::replace(&mut self.figures, next)
    }

    /// Response times so far of a warm-up without a known end; `None` after it.
    pub(crate) fn warm_up(&self) -> Option<Histogram> {
        (self.window.measured == Time::MAX).then(|| {
            let mut all = Histogram::new();
            self.second.scripts.iter().for_each(|figures| all.add(&figures.response));
            all
        })
    }

    pub(crate) fn second_end(&self) -> Time {
        self.second_end
    }

    /// Hands over the seconds that are over.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        while now >= self.second_end {
            self.close_second(self.second_end);
        }
    }

    /// Hands over the rest when the thread ends.
    pub(crate) fn finish(&mut self, now: Time) {
        self.advance(now);
        self.close_second(now.max(self.second_start));
    }

    /// A transaction ended; true when it counts in the measured part.
    #[inline]
    pub(crate) fn ended(
        &mut self,
        client: usize,
        transaction: &StartedTransaction,
        now: Time,
        outcome: &TransactionOutcome,
    ) -> bool {
        self.advance(now);
        let succeeded = outcome.failure.is_none();
        self.succeeded += u64::from(succeeded);
        let Parts { measured, warmup } = self.parts(transaction.due, now);
        let completes = match self.count_by {
            CountBy::Start if !self.is_open => self.window.measures(now) || warmup,
            CountBy::Start | CountBy::End => measured || warmup,
        };
        let figures = &mut self.second.scripts[usize::from(outcome.script)];
        figures.completed += u64::from(succeeded && completes);
        if !measured && !warmup {
            return false;
        }
        count(&mut figures.counts, outcome);
        if succeeded {
            let response = now.saturating_sub(transaction.due);
            figures.record(response, now.saturating_sub(transaction.started));
            let lag = transaction.started.saturating_sub(transaction.due);
            figures.lag_max_ns = figures.lag_max_ns.max(lag);
            if self.promise.is_some_and(|promise| response > promise) {
                figures.counts.late += 1;
            } else {
                figures.counts.ok += 1;
            }
        }
        if measured {
            self.figures.last_end = now;
            if self.transactions {
                let end = outcome.failure.map_or(EntryEnd::Succeeded, EntryEnd::Failed);
                let StartedTransaction { due, started } = *transaction;
                let client = client as u32;
                let (script, tries) = (outcome.script, outcome.tries);
                self.outbox.push_entry(TransactionEntry {
                    client,
                    script,
                    end,
                    tries,
                    due,
                    started,
                    ended: now,
                });
            }
        }
        measured
    }

    /// An arrival is skipped because it is later than the promise; true when it counts in the measured part.
    pub(crate) fn skipped(&mut self, client: usize, due: Time, now: Time, script: u16) -> bool {
        self.advance(now);
        let Parts { measured, warmup } = self.parts(due, now);
        if !measured && !warmup {
            return false;
        }
        let figures = &mut self.second.scripts[usize::from(script)];
        figures.counts.due += 1;
        figures.counts.skipped += 1;
        if measured && self.transactions {
            let (client, end) = (client as u32, EntryEnd::Skipped);
            self.outbox.push_entry(TransactionEntry {
                client,
                script,
                end,
                tries: 0,
                due,
                started: now,
                ended: now,
            });
        }
        measured
    }

    /// The last transaction of a client that gives up: it failed. pgbench does not count it.
    pub(crate) fn given_up(
        &mut self,
        client: usize,
        transaction: &StartedTransaction,
        now: Time,
        script: u16,
    ) {
        if self.count_drained {
            return self.unfinished(transaction.due, now, script);
        }
        let failed = TransactionOutcome {
            script,
            failure: Some(Failure::Other),
            tries: 1,
            returned: Returned::default(),
        };
        self.ended(client, transaction, now, &failed);
    }

    /// A transaction or arrival will never end: it never started, or its client stopped.
    pub(crate) fn unfinished(&mut self, due: Time, now: Time, script: u16) {
        self.advance(now);
        // Where ends decide, it would have ended later: it belongs to the current part of the run.
        let by_end = self.count_by == CountBy::End;
        let dated = if by_end { now.min(self.window.end.saturating_sub(1)) } else { now };
        let Parts { measured, warmup } = self.parts(due, dated);
        if measured || warmup {
            let figures = &mut self.second.scripts[usize::from(script)];
            figures.counts.due += 1;
            figures.counts.unfinished += 1;
        }
    }

    /// A transaction is still open after the drain. In closed load it counts as late, with its time so far,
    /// or as failed where its connection was `lost`. An arrival of an open load belongs to its queue; pgbench
    /// counts none.
    pub(crate) fn left_open(&mut self, transaction: &StartedTransaction, now: Time, script: u16, lost: bool) {
        if self.is_open || self.count_drained {
            return self.unfinished(transaction.due, now, script);
        }
        self.advance(now);
        if self.window.measures(transaction.due) {
            let figures = &mut self.second.scripts[usize::from(script)];
            figures.counts.due += 1;
            if lost {
                figures.counts.failed += 1;
                return;
            }
            figures.counts.late += 1;
            figures.record(now.saturating_sub(transaction.due), now.saturating_sub(transaction.started));
            self.figures.left_open += 1;
        }
    }

    /// An arrival of the measured part is started in the drain.
    pub(crate) fn drained(&mut self, due: Time) {
        self.figures.drained += u64::from(self.window.measures(due));
    }

    /// Counts a statement in the part of the run of its transaction, which was `due` then.
    #[inline]
    pub(crate) fn statement(&mut self, note: StatementNote, due: Time, now: Time) {
        if !self.parts(due, now).measured {
            return;
        }
        if let Some(figures) = self.figures.statements.get_mut(note.statement) {
            figures.count(note.end);
        }
    }

    /// Counts an item in the part of the run of its transaction, which was `due` then.
    #[inline]
    pub(crate) fn item(&mut self, note: ItemNote, due: Time, now: Time) {
        if !self.parts(due, now).measured {
            return;
        }
        if let Some(figures) = self.figures.items.get_mut(note.item as usize) {
            figures.count(note.elapsed, note.bytes);
        }
    }

    pub(crate) fn timer_lateness(&mut self, now: Time, late: Time) {
        if self.window.measures(now) {
            self.figures.cost.timer_lateness.record(late);
        }
    }

    pub(crate) fn turn(&mut self, now: Time, length: Time) {
        if self.window.measures(now) {
            self.figures.cost.turn.record(length);
        }
    }

    /// An arrival found a free client and started this much after it was due.
    pub(crate) fn start_lag(&mut self, now: Time, lag: Time) {
        if self.window.measures(now) {
            self.figures.cost.start_lag.record(lag);
        }
    }

    #[inline]
    pub(crate) fn measures(&self, now: Time) -> bool {
        self.window.measures(now) || (self.count_drained && now >= self.window.end)
    }

    /// Ends an activity at `now`; transactions are counted by [`Self::in_transaction`].
    #[inline]
    pub(crate) fn spent(&mut self, activity: Activity, now: Time) {
        let measured = self.measured_of(activity.since, now);
        let time = &mut self.figures.time;
        match activity.doing {
            Doing::Idle => time.idle += measured,
            Doing::Thinking => time.thinking += measured,
            Doing::Connecting => time.connecting += measured,
            Doing::Transaction | Doing::Held => {}
        }
    }

    /// Adds the time in a transaction that was `due` then, from `since` until `now`; `counts` unless it was
    /// given up.
    #[inline]
    pub(crate) fn in_transaction(&mut self, since: Time, due: Time, now: Time, counts: bool) {
        let measured = self.measured_of(since, now);
        let ended_in_it = self.window.measures(now);
        let time = &mut self.figures.time;
        if counts && ended_in_it {
            time.counted += measured;
            return;
        }
        time.elsewhere += measured;
        if !(counts && self.window.measures(due)) {
            time.nowhere += measured;
        }
    }

    #[cold]
    pub(crate) fn stalled(&mut self, length: Time, now: Time) {
        let from = now.saturating_sub(length).max(self.window.measured);
        self.figures.cost.stalled += now.saturating_sub(from);
    }

    pub(crate) fn paused(&mut self, length: Time, now: Time) {
        let from = now.saturating_sub(length).max(self.window.measured);
        self.figures.cost.paused += now.saturating_sub(from);
    }

    /// The part of `since`..`now` that is in the measured part, ns.
    #[inline]
    fn measured_of(&self, since: Time, now: Time) -> Time {
        now.min(self.window.end).saturating_sub(since.max(self.window.measured))
    }

    /// The parts of the run in which a transaction counts that was `due` then and ends `now`; none if it
    /// began in warm-up and ended after it.
    #[inline]
    fn parts(&self, due: Time, now: Time) -> Parts {
        let measured = match self.count_by {
            CountBy::Start => self.window.measures(due),
            CountBy::End => self.measures(now),
        };
        let warmup = now < self.window.measured && now < self.window.end && due < self.window.measured;
        Parts { measured, warmup }
    }

    fn close_second(&mut self, end: Time) {
        let start = self.second_start;
        self.second_start = end;
        self.second_end = self.window.second_end(end);
        // After the end, and if the end is on a boundary, only a second with contents is reported.
        let extra = start >= self.window.end || end == start;
        if self.window.measured == Time::MAX {
            // A warm-up of unknown length has no place on the time line; it is one second, reported by
            // `warm_up`.
            return;
        }
        if extra && self.second.scripts.iter().all(ScriptFigures::is_empty) {
            return;
        }
        let scripts = self.second.scripts.len();
        let next = self.recycled.try_recv().unwrap_or_else(|_| Second::empty(scripts, self.is_closed));
        let mut second = std::mem::replace(&mut self.second, next);
        second.start_ns = start as i64 - self.window.measured as i64;
        second.length_ns = end - start;
        (second.active_users, second.in_flight) = (self.active_users, self.in_flight);
        second.is_drain = start >= self.window.end && self.count_by == CountBy::Start && !self.is_open;
        // The caller may be gone.
        let _ = self.reports.send(ThreadReport::Second { thread: self.thread, second });
    }
}

/// Counts a transaction that ended, but not whether it was in time.
#[inline]
fn count(counts: &mut Counts, outcome: &TransactionOutcome) {
    counts.due += 1;
    counts.retried += u64::from(outcome.tries > 1);
    counts.retries += u64::from(outcome.tries.saturating_sub(1));
    if let Some(failure) = outcome.failure {
        counts.failed += 1;
        counts.serialization_failures += u64::from(failure == Failure::Serialization);
        counts.deadlock_failures += u64::from(failure == Failure::Deadlock);
        return;
    }
    let Returned { rows, bytes, affected, queries, changes, keyed, keyed_empty } = outcome.returned;
    counts.rows += rows;
    counts.bytes += bytes;
    counts.affected += affected;
    counts.queries += u64::from(queries);
    counts.changes += u64::from(changes);
    counts.keyed += u64::from(keyed);
    counts.keyed_empty += u64::from(keyed_empty);
}
