//! A thread's part of the present stretch of a run that is held and let go.

use crate::client::Time;
use crate::measured::Stretch;

/// Who is at work, and what came of the stretch so far.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// Orders to let go that the thread has heard of.
    pub(super) heard: u64,
    /// Clients at work: in a transaction, about to start one, or connecting.
    at_work: usize,
    /// Its time at work is the sum of the clients' ends less that of their releases; below 0 in between.
    stretch: Stretch,
    /// Transactions that had succeeded before it.
    succeeded: u64,
    /// Its end was reported.
    pub(super) told: bool,
}

impl Hold {
    /// A stretch begins when so many transactions have succeeded.
    pub(super) fn begin(&mut self, from: Time, until: Time, succeeded: u64) {
        self.stretch = Stretch { from, until, idle: from, ..Stretch::default() };
        (self.succeeded, self.told) = (succeeded, false);
    }

    /// A client goes to work.
    pub(super) fn rise(&mut self, now: Time) {
        self.at_work += 1;
        self.stretch.at_work = self.stretch.at_work.wrapping_sub(now);
    }

    /// A client's work is over.
    pub(super) fn rest(&mut self, now: Time) {
        self.at_work -= 1;
        self.stretch.idle = now;
        self.stretch.at_work = self.stretch.at_work.wrapping_add(now);
    }

    /// The generator stood still for so long, ns.
    pub(super) fn stalled(&mut self, length: Time) {
        self.stretch.stalled += length;
    }

    /// Whether all clients rest, and nobody was told.
    pub(super) fn is_newly_idle(&self) -> bool {
        self.at_work == 0 && !self.told
    }

    /// The stretch, to be told when so many transactions have succeeded.
    pub(super) fn tell(&mut self, succeeded: u64) -> Stretch {
        self.told = true;
        self.stretch.succeeded = succeeded - self.succeeded;
        self.stretch
    }
}
