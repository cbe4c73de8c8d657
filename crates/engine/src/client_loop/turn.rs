//! One turn of the loop: its time, and how much is done in it before others get theirs.

use super::gap::LOOK;
use crate::client::Time;
use crate::driver::Clock;

/// Transactions a client may start in one turn.
const SLOTS: u32 = 32;
/// Scheduled arrivals that may be skipped in one turn.
const SKIPS: u32 = 10_000;

/// The clock of the run: the driver's, except for the time it stood still.
struct RunClock<C: Clock> {
    driver: C,
    /// How far it is behind the driver's.
    behind: Time,
    /// Where it stands still; `Time::MAX` while it runs.
    stands_at: Time,
}

impl<C: Clock> RunClock<C> {
    #[inline]
    fn now(&self) -> Time {
        (self.driver.now() - self.behind).min(self.stands_at)
    }
}

pub(super) struct Turn<C: Clock> {
    clock: RunClock<C>,
    /// Time of the event being served.
    pub(super) now: Time,
    /// It has only just begun: `now` serves its first event.
    is_fresh: bool,
    began: Option<Time>,
    /// Until when the wait before it was to last.
    waited_for: Time,
    /// Transactions the client being served may still start.
    pub(super) slots_left: u32,
    /// Scheduled arrivals that may still be skipped.
    pub(super) skips_left: u32,
}

impl<C: Clock> Turn<C> {
    pub(super) fn new(clock: C) -> Self {
        let now = clock.now();
        let clock = RunClock { driver: clock, behind: 0, stands_at: Time::MAX };
        Self { clock, now, is_fresh: false, began: None, waited_for: 0, slots_left: 0, skips_left: 0 }
    }

    /// The turn is over: gives the time, and how long it took.
    pub(super) fn close(&mut self) -> (Time, Option<Time>) {
        let now = self.clock.now();
        (now, self.began.take().map(|began| now.saturating_sub(began)))
    }

    /// The next turn begins, after a wait that was to last until `waited_for`.
    pub(super) fn open(&mut self, waited_for: Time) {
        self.now = self.clock.now();
        self.began = Some(self.now);
        (self.is_fresh, self.waited_for, self.skips_left) = (true, waited_for, SKIPS);
    }

    /// When the thread looks at the clock again, whatever happens.
    #[inline]
    pub(super) fn next_look(&self) -> Time {
        self.now.saturating_add(LOOK)
    }

    /// The clock stands still from now on.
    pub(super) fn stand_still(&mut self) {
        self.clock.stands_at = self.now;
    }

    /// The clock goes on, so far behind the driver's.
    pub(super) fn go_on(&mut self, behind: Time) {
        (self.clock.behind, self.clock.stands_at) = (behind, Time::MAX);
        self.now = self.clock.now();
        self.began = Some(self.now);
    }

    /// A time of the run on the driver's clock; what is to come while this one stands still never comes.
    pub(super) fn driver_time(&self, at: Time) -> Time {
        if at > self.clock.stands_at { Time::MAX } else { at.saturating_add(self.clock.behind) }
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

    /// How late the wait before this turn ended, if it was to end at `due`; told once.
    pub(super) fn lateness(&mut self, due: Time) -> Option<Time> {
        let waited = due == std::mem::replace(&mut self.waited_for, Time::MAX);
        waited.then(|| self.now.saturating_sub(due))
    }
}
