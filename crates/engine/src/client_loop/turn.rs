//! One turn of the loop: its time, and how much is done before other clients are served.

use super::gap::LOOK;
use crate::client::Time;
use crate::driver::Clock;

/// Transactions a client may start in one turn.
const SLOTS: u32 = 32;
/// Scheduled arrivals that may be skipped in one turn.
const SKIPS: u32 = 10_000;

/// The clock of the run: the driver's minus the time it was stopped.
struct RunClock<C: Clock> {
    driver: C,
    /// Total time it was stopped, ns.
    behind: Time,
    /// Time at which it is stopped; `Time::MAX` while it runs.
    stopped_at: Time,
}

impl<C: Clock> RunClock<C> {
    #[inline]
    fn now(&self) -> Time {
        (self.driver.now() - self.behind).min(self.stopped_at)
    }
}

pub(super) struct Turn<C: Clock> {
    clock: RunClock<C>,
    pub(super) now: Time,
    /// Just begun: `now` also dates its first event.
    is_fresh: bool,
    began: Option<Time>,
    /// Deadline of the wait before it.
    waited_for: Time,
    pub(super) slots_left: u32,
    pub(super) skips_left: u32,
}

impl<C: Clock> Turn<C> {
    pub(super) fn new(clock: C) -> Self {
        let now = clock.now();
        let clock = RunClock { driver: clock, behind: 0, stopped_at: Time::MAX };
        Self { clock, now, is_fresh: false, began: None, waited_for: 0, slots_left: 0, skips_left: 0 }
    }

    /// Ends the turn; returns the time, and how long the turn took.
    pub(super) fn close(&mut self) -> (Time, Option<Time>) {
        let now = self.clock.now();
        (now, self.began.take().map(|began| now.saturating_sub(began)))
    }

    /// Begins the next turn, after a wait with the deadline `waited_for`.
    pub(super) fn open(&mut self, waited_for: Time) {
        self.now = self.clock.now();
        self.began = Some(self.now);
        (self.is_fresh, self.waited_for, self.skips_left) = (true, waited_for, SKIPS);
    }

    /// When the thread looks at the clock next, even if nothing happens.
    #[inline]
    pub(super) fn next_look(&self) -> Time {
        self.now.saturating_add(LOOK)
    }

    pub(super) fn stop_clock(&mut self) {
        self.clock.stopped_at = self.now;
    }

    /// Starts the clock again, `behind` ns behind the driver's.
    pub(super) fn start_clock(&mut self, behind: Time) {
        (self.clock.behind, self.clock.stopped_at) = (behind, Time::MAX);
        self.now = self.clock.now();
        self.began = Some(self.now);
    }

    /// A time of the run on the driver's clock; `Time::MAX` for a time that a stopped clock never reaches.
    pub(super) fn driver_time(&self, at: Time) -> Time {
        if at > self.clock.stopped_at { Time::MAX } else { at.saturating_add(self.clock.behind) }
    }

    /// Takes the time of a new event, and gives its client a full allowance.
    #[inline]
    pub(super) fn stamp(&mut self) {
        if !std::mem::take(&mut self.is_fresh) {
            self.now = self.clock.now();
        }
        self.slots_left = SLOTS;
    }

    #[inline]
    pub(super) fn start_transaction(&mut self) {
        self.slots_left = self.slots_left.saturating_sub(1);
        self.now = self.clock.now();
    }

    /// How late the wait before this turn ended, given its deadline `due`; returned once.
    pub(super) fn lateness(&mut self, due: Time) -> Option<Time> {
        let waited = due == std::mem::replace(&mut self.waited_for, Time::MAX);
        waited.then(|| self.now.saturating_sub(due))
    }
}
