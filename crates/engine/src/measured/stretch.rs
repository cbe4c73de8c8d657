//! A stretch of a run that is held and let go.

use crate::client::Time;

/// What happened from the moment the clients were let go until all of them were idle again.
///
/// Times are on the clock of the run, which stands still while it is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stretch {
    /// When the clients were let go, ns.
    pub from: Time,
    /// When they were to be held again, ns; no transaction started later.
    pub until: Time,
    /// When the last of them ended its transaction, ns.
    pub idle: Time,
    /// Transactions that ended well, those that ended after `until` included.
    pub succeeded: u64,
    /// Sum over the clients of the time from their release to the end of their last transaction, ns.
    pub at_work: Time,
    /// How long the generator stood still in it, ns; see [`crate::OwnCost::stalled_ns`].
    pub stalled: Time,
}

impl Stretch {
    /// How long transactions went on after the hold, ns.
    #[must_use]
    pub fn drain(&self) -> Time {
        self.idle.saturating_sub(self.until)
    }

    /// Adds another thread's part of the same stretch.
    pub(crate) fn add(&mut self, other: &Self) {
        self.idle = self.idle.max(other.idle);
        self.succeeded += other.succeeded;
        self.at_work += other.at_work;
        self.stalled = self.stalled.max(other.stalled);
    }
}
