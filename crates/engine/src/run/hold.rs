//! The caller's side of a held run.

use crate::client::Time;
use crate::control::Order;
use crate::measured::Stretch;
use stats::Histogram;

/// The state of a held run, and its stretches.
#[derive(Debug, Default)]
pub(super) struct Hold {
    threads: usize,
    /// Threads whose clients are idle.
    resting: usize,
    /// Time at which the run's clock is stopped once all threads are idle.
    stopped_at: Time,
    order: Order,
    /// The current or last stretch.
    stretch: Stretch,
    warm: Histogram,
    /// Stretches of the measured part that are over.
    stretches: Vec<Stretch>,
}

impl Hold {
    pub(super) fn new(threads: usize) -> Self {
        Self { threads, ..Self::default() }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.resting >= self.threads
    }

    /// The driver's time `now` on the clock of the run.
    pub(super) fn run_time(&self, now: Time) -> Time {
        if self.is_idle() { self.stopped_at } else { now.saturating_sub(self.order.behind) }
    }

    /// A thread's clients are idle, and its clock is stopped at `at`.
    pub(super) fn rests(&mut self, at: Time, stretch: &Stretch, warm: Option<&Histogram>) {
        self.resting += 1;
        self.stopped_at = self.stopped_at.max(at);
        self.stretch.add(stretch);
        if let Some(warm) = warm {
            self.warm.add(warm);
        }
    }

    pub(super) fn warm_up(&self) -> &Histogram {
        &self.warm
    }

    /// The next stretch and all later ones count.
    pub(super) fn measure(&mut self) {
        self.order.measured.get_or_insert(self.stopped_at);
    }

    /// The order that releases the clients at `now`, on the driver's clock, for `length` ns.
    pub(super) fn release(&mut self, now: Time, length: Time) -> Order {
        self.keep_stretch();
        self.warm.clear();
        let from = self.stopped_at;
        self.order.behind = now.saturating_sub(from);
        self.order.from = from;
        self.order.until = from.saturating_add(length);
        self.stretch = Stretch { from, until: self.order.until, idle: from, ..Stretch::default() };
        self.resting = 0;
        self.order
    }

    /// The order that ends a part: no transaction starts, and what follows is warm-up.
    pub(super) fn end_part(&mut self, now: Time) -> Order {
        self.release(now, 0);
        self.order.part += 1;
        self.order.measured = None;
        self.order
    }

    /// The order that starts the clocks after the run's end was set, so that the end comes.
    pub(super) fn wind_up(&mut self, now: Time) -> Order {
        if self.is_idle() {
            return self.release(now, 0);
        }
        // Threads that are idle already are woken, and report it again.
        self.resting = 0;
        self.order
    }

    pub(super) fn last(&self) -> Option<Stretch> {
        self.is_idle().then_some(self.stretch)
    }

    /// The measured part's stretches, and the average time at work per client, ns.
    pub(super) fn take_stretches(&mut self, clients: usize) -> (Vec<Stretch>, Time) {
        self.keep_stretch();
        let stretches = std::mem::take(&mut self.stretches);
        let at_work: Time = stretches.iter().map(|stretch| stretch.at_work).sum();
        (stretches, at_work / clients.max(1) as Time)
    }

    fn keep_stretch(&mut self) {
        let Stretch { from, until, .. } = self.stretch;
        if from < until && self.order.measured.is_some_and(|measured| measured <= from) {
            self.stretches.push(self.stretch);
        }
    }
}
