//! A user: its place in the session, its think times, and when its next transaction is due.

use crate::client::Time;
use crate::plan::UserRandom;

/// A user. Unused in other loads.
#[derive(Debug)]
pub(super) struct UserState {
    pub(super) random: UserRandom,
    /// Index of the next transaction of the session, or of the open one.
    pub(super) at: usize,
    pub(super) in_session: bool,
    /// It has begun a session, or was about to.
    pub(super) has_begun: bool,
    /// When its next transaction is due, once that is known.
    pub(super) due: Option<Time>,
    /// It is not there until then, by a shape of arrivals.
    pub(super) is_away: bool,
    /// End of its last transaction, and the pause after it, ns.
    pub(super) ended: Time,
    pub(super) pause: Time,
    /// Intended start of the session, and the response times of its transactions so far, ns.
    pub(super) session_due: Time,
    pub(super) session_response: Time,
    /// Sessions that ended in the measured part.
    pub(super) sessions: u64,
}

impl UserState {
    pub(super) fn new(seed: u64, user: usize) -> Self {
        Self {
            random: UserRandom::new(seed, user),
            at: 0,
            in_session: false,
            has_begun: false,
            due: None,
            is_away: false,
            ended: 0,
            pause: 0,
            session_due: 0,
            session_response: 0,
            sessions: 0,
        }
    }

    /// Whether it pauses: before its first session, between two transactions, or between two sessions.
    pub(super) fn thinks(&self) -> bool {
        self.in_session || !self.has_begun || (self.due.is_some() && !self.is_away)
    }
}
