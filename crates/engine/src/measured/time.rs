//! Where the clients' time went.

use crate::client::Time;

/// Of the measured part, what the clients' time went into, over all clients, ns.
///
/// Each term is measured where it ends, so that the equation can fail:
/// clients x time = counted + elsewhere + thinking + connecting + idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientTime {
    /// Inside transactions that ended in the measured part and count.
    pub counted: Time,
    /// Inside all other transactions.
    pub elsewhere: Time,
    /// Of `elsewhere`: inside transactions that are in no figure. They began before the measured part and did not end in
    /// it, or their client gave up.
    pub nowhere: Time,
    /// Pausing between transactions.
    pub thinking: Time,
    /// Connecting and preparing, after the load started.
    pub connecting: Time,
    /// Without a transaction, and with nothing to wait for.
    pub idle: Time,
}

impl ClientTime {
    /// Adds another part's time.
    pub(crate) fn add(&mut self, other: &Self) {
        self.counted += other.counted;
        self.elsewhere += other.elsewhere;
        self.nowhere += other.nowhere;
        self.thinking += other.thinking;
        self.connecting += other.connecting;
        self.idle += other.idle;
    }

    /// All of it; `nowhere` is part of `elsewhere`.
    #[must_use]
    pub fn sum(&self) -> Time {
        self.counted + self.elsewhere + self.thinking + self.connecting + self.idle
    }
}
