//! What a client is doing, and since when: where its time goes is measured at each change.

use crate::client::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Free, without a transaction; or stopped for good.
    Idle,
    Transaction,
    /// Pausing until its next transaction.
    Thinking,
    /// Connecting or preparing.
    Connecting,
    /// Held between two stretches: the run's clock does not count this time.
    Held,
}

/// What a client is doing, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) doing: Doing,
    pub(crate) since: Time,
}

impl Activity {
    /// What it does before the load starts.
    pub(crate) const BEFORE: Self = Self { doing: Doing::Held, since: 0 };
}
