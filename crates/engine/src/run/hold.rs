//! The caller's side of a run that is held and let go.

use crate::client::Time;
use crate::control::Order;
use crate::measured::Stretch;
use stats::Histogram;

/// Where the run stands between its stretches, and what they gave.
#[derive(Debug, Default)]
pub(super) struct Hold {
    threads: usize,
    /// Threads whose clients rest.
    resting: usize,
    /// Where the run's clock stands once all do.
    stands_at: Time,
    order: Order,
    /// The present or last stretch.
    stretch: Stretch,
    /// Response times of the warm-up so far.
    warm: Histogram,
    /// The stretches of the measured part that are over.
    stretches: Vec<Stretch>,
}

impl Hold {
    pub(super) fn new(threads: usize) -> Self {
        Self { threads, ..Self::default() }
    }

    /// Whether nothing goes on.
    pub(super) fn is_idle(&self) -> bool {
        self.resting >= self.threads
    }

    /// The driver's time on the clock of the run.
    pub(super) fn run_time(&self, now: Time) -> Time {
        if self.is_idle() { self.stands_at } else { now.saturating_sub(self.order.behind) }
    }

    /// A thread's clients rest, and its clock stands at `at`.
    pub(super) fn rests(&mut self, at: Time, stretch: &Stretch, warm: Option<&Histogram>) {
        self.resting += 1;
        self.stands_at = self.stands_at.max(at);
        self.stretch.add(stretch);
        if let Some(warm) = warm {
            self.warm.add(warm);
        }
    }

    /// Response times of the warm-up.
    pub(super) fn warm_up(&self) -> &Histogram {
        &self.warm
    }

    /// What happens from the next stretch on counts.
    pub(super) fn measure(&mut self) {
        self.order.measured.get_or_insert(self.stands_at);
    }

    /// The order that lets the clients go at `now`, on the driver's clock, for so long.
    pub(super) fn let_go(&mut self, now: Time, length: Time) -> Order {
        self.keep_stretch();
        self.warm.clear();
        let from = self.stands_at;
        self.order.behind = now.saturating_sub(from);
        self.order.from = from;
        self.order.until = from.saturating_add(length);
        self.stretch = Stretch { from, until: self.order.until, idle: from, ..Stretch::default() };
        self.resting = 0;
        self.order
    }

    /// The order that lets the clocks go on after the run's end was set, so that its end comes.
    pub(super) fn wind_up(&mut self, now: Time) -> Order {
        if self.is_idle() {
            return self.let_go(now, 0);
        }
        // Those that rest already are woken, and say so again.
        self.resting = 0;
        self.order
    }

    /// The last stretch, once it is over.
    pub(super) fn last(&self) -> Option<Stretch> {
        self.is_idle().then_some(self.stretch)
    }

    /// The measured part's stretches, and how long each of so many clients was at work in them on average, ns.
    pub(super) fn into_stretches(mut self, clients: usize) -> (Vec<Stretch>, Time) {
        self.keep_stretch();
        let at_work: Time = self.stretches.iter().map(|stretch| stretch.at_work).sum();
        (self.stretches, at_work / clients.max(1) as Time)
    }

    fn keep_stretch(&mut self) {
        let Stretch { from, until, .. } = self.stretch;
        if from < until && self.order.measured.is_some_and(|measured| measured <= from) {
            self.stretches.push(self.stretch);
        }
    }
}
