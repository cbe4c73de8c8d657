//! Counts sessions and think times of users.

use super::Recorder;
use crate::client::Time;

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    /// With its last transaction.
    Finished,
    /// With a transaction that failed after its last try.
    Failed,
    /// Its client stopped, or the run was over.
    Cut,
}

impl Recorder {
    /// A session begins that was `due` then.
    pub(crate) fn session_began(&mut self, due: Time) {
        self.active_users += 1;
        self.figures.users.begun += u64::from(self.window.measures(due));
    }

    /// A session that was `due` then ends; its transactions took `response` together, ns. A session that ends
    /// after the measured part was cut by its end.
    pub(crate) fn session_ended(&mut self, end: SessionEnd, due: Time, response: Time, now: Time) {
        self.active_users = self.active_users.saturating_sub(1);
        let in_session = self.measured_of(due, now);
        let users = &mut self.figures.users;
        users.in_session += in_session;
        if now < self.window.measured {
            return;
        }
        match end {
            SessionEnd::Finished if now < self.window.end => {
                users.finished += 1;
                users.duration.record(now.saturating_sub(due));
                users.response.record(response);
            }
            SessionEnd::Failed if now < self.window.end => users.failed += 1,
            _ => users.cut += 1,
        }
    }

    /// A user who came openly, `due` then, found no free client until the end.
    pub(crate) fn user_waited(&mut self, due: Time, now: Time) {
        let in_session = self.measured_of(due, now);
        self.figures.users.in_session += in_session;
        self.figures.users.waiting += u64::from(self.window.measures(due));
    }

    /// A user paused: the time that was drawn, and the time until its next transaction began, both ns.
    pub(crate) fn thought(&mut self, wanted: Time, actual: Time, now: Time) {
        if self.window.measures(now) {
            let users = &mut self.figures.users;
            users.thinks += 1;
            users.think_wanted += wanted;
            users.think_actual += actual;
        }
    }
}
