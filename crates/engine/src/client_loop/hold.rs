//! A thread's part of the current stretch of a held run.

use crate::client::Time;
use crate::measured::Stretch;

#[derive(Debug, Default)]
pub(super) struct Hold {
    /// Release orders that the thread has seen.
    pub(super) orders_seen: u64,
    /// Number of the part that the figures are of.
    pub(super) part: u32,
    /// Clients at work: in a transaction, about to start one, or connecting.
    at_work: usize,
    /// Its `at_work` is the sum of the clients' ends minus the sum of their starts; it wraps in between.
    stretch: Stretch,
    /// Transactions that had succeeded before the stretch.
    succeeded: u64,
    /// Whether the end of the stretch was reported.
    pub(super) reported: bool,
}

impl Hold {
    /// Begins a stretch; `succeeded` is the number of transactions so far.
    pub(super) fn begin(&mut self, from: Time, until: Time, succeeded: u64) {
        self.stretch = Stretch { from, until, idle: from, ..Stretch::default() };
        (self.succeeded, self.reported) = (succeeded, false);
    }

    pub(super) fn rise(&mut self, now: Time) {
        self.at_work += 1;
        self.stretch.at_work = self.stretch.at_work.wrapping_sub(now);
    }

    pub(super) fn rest(&mut self, now: Time) {
        self.at_work -= 1;
        self.stretch.idle = now;
        self.stretch.at_work = self.stretch.at_work.wrapping_add(now);
    }

    pub(super) fn stalled(&mut self, length: Time) {
        self.stretch.stalled += length;
    }

    /// Whether all clients are idle and that is not reported yet.
    pub(super) fn is_newly_idle(&self) -> bool {
        self.at_work == 0 && !self.reported
    }

    pub(super) fn report(&mut self, succeeded: u64) -> Stretch {
        self.reported = true;
        self.stretch.succeeded = succeeded - self.succeeded;
        self.stretch
    }
}
