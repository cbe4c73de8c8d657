//! Figures of users: sessions and think times.

use stats::Histogram;

use crate::client::Time;

/// Sessions and think times of the measured part: sessions that were open at its start + begun = finished +
/// failed + cut.
#[derive(Debug, Clone, Default)]
pub struct UserFigures {
    /// Sessions that were due in the measured part and began.
    pub begun: u64,
    /// Sessions that ended with their last transaction, in the measured part.
    pub finished: u64,
    /// Sessions that ended with a failed transaction, in the measured part.
    pub failed: u64,
    /// Sessions that were open at the end of the measured part, or whose client stopped.
    pub cut: u64,
    /// Open arrivals: users who came in the measured part and found no free client until its end.
    pub waiting: u64,
    /// Time that users spent in sessions, waiting users included, summed, ns.
    pub in_session: Time,
    /// Think times that ended in the measured part.
    pub thinks: u64,
    /// Their sum as drawn, ns.
    pub think_wanted: Time,
    /// Their sum from the end of a transaction to the start of the next, ns.
    pub think_actual: Time,
    /// From the intended start of a session to its end, of finished sessions.
    pub duration: Histogram,
    /// Sum of the response times of a session, of the same sessions.
    pub response: Histogram,
}

impl UserFigures {
    /// Adds another part's figures.
    pub fn add(&mut self, other: &Self) {
        self.begun += other.begun;
        self.finished += other.finished;
        self.failed += other.failed;
        self.cut += other.cut;
        self.waiting += other.waiting;
        self.in_session += other.in_session;
        self.thinks += other.thinks;
        self.think_wanted += other.think_wanted;
        self.think_actual += other.think_actual;
        self.duration.add(&other.duration);
        self.response.add(&other.response);
    }
}
