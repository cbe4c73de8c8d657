//! How the clients spent their time, and the stretches of a held run.

use crate::client::Time;

/// How the clients spent the measured part, summed over all clients, ns.
///
/// Each term is measured where it ends, so that the equation can fail: clients x time = counted + elsewhere
/// + thinking + connecting + idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientTime {
    /// Inside transactions that ended in the measured part and count.
    pub counted: Time,
    pub elsewhere: Time,
    /// Part of `elsewhere`: inside transactions that are in no figure. They began before the measured part
    /// and did not end in it, or their client gave up.
    pub nowhere: Time,
    pub thinking: Time,
    /// Connecting and preparing, after the load started.
    pub connecting: Time,
    pub idle: Time,
}

impl ClientTime {
    pub(crate) fn add(&mut self, other: &Self) {
        self.counted += other.counted;
        self.elsewhere += other.elsewhere;
        self.nowhere += other.nowhere;
        self.thinking += other.thinking;
        self.connecting += other.connecting;
        self.idle += other.idle;
    }

    /// Sum of all terms; `nowhere` is part of `elsewhere`.
    #[must_use]
    pub fn sum(&self) -> Time {
        self.counted + self.elsewhere + self.thinking + self.connecting + self.idle
    }
}

/// What happened from the release of the clients until all of them were idle again.
///
/// Times are on the clock of the run, which is stopped while the run is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stretch {
    /// When the clients were released, ns.
    pub from: Time,
    /// No transaction started later, ns.
    pub until: Time,
    /// When the last client ended its transaction, ns.
    pub idle: Time,
    /// Successful transactions, including those that ended after `until`.
    pub succeeded: u64,
    /// Sum over the clients of the time from release to the end of their last transaction, ns.
    pub at_work: Time,
    /// Stall of the generator, ns; see [`crate::OwnCost::stalled_ns`].
    pub stalled: Time,
}

impl Stretch {
    /// How long transactions continued after the end of the stretch, ns.
    #[must_use]
    pub fn drain(&self) -> Time {
        self.idle.saturating_sub(self.until)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.idle = self.idle.max(other.idle);
        self.succeeded += other.succeeded;
        self.at_work += other.at_work;
        self.stalled = self.stalled.max(other.stalled);
    }
}
