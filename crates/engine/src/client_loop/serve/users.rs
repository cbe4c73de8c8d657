//! A user at work: when its next transaction is due, and its sessions.

use super::Serving;
use crate::client::{Time, Visit};
use crate::client_loop::progress::RunPhase;
use crate::client_loop::timers::Timer;
use crate::driver::Clock;
use crate::plan::{Pace, Until, UserArrival};
use crate::recorder::SessionEnd;

impl<C: Clock> Serving<'_, C> {
    /// When the user's next transaction is due, if that time has come; otherwise sets a timer for it. A user that
    /// comes openly waits for its turn among the free clients.
    pub(super) fn next_visit(&mut self) -> Option<Time> {
        let Self { seat, thread } = self;
        let now = thread.turn.now;
        if thread.progress.phase != RunPhase::Running {
            return None;
        }
        let Pace::Users(pace) = &mut thread.pace else { return None };
        if let Some(open) = pace.open.as_mut().filter(|_| !seat.user.in_session) {
            let due = open.peek();
            if due > now || due >= thread.progress.window.end {
                if !std::mem::replace(&mut seat.queued, true) {
                    open.free.push_back(seat.index);
                }
                return None;
            }
            return thread.progress.starts(due).then(|| open.take());
        }
        if !std::mem::replace(&mut seat.user.has_begun, true) {
            let apart = match pace.users.arrival {
                UserArrival::Apart(apart) => apart.saturating_mul(seat.number as Time),
                UserArrival::Share { .. } | UserArrival::Open(_) => 0,
            };
            let first = thread.progress.window.load.saturating_add(apart);
            seat.user.due = pace.present(seat.number, first, thread.progress.window.measured);
            seat.user.is_away = seat.user.due != Some(first);
            self.turn_to(self.between(), now);
        }
        let Self { seat, thread } = self;
        let due = seat.user.due?;
        if due <= now {
            return thread.progress.starts(due).then_some(due);
        }
        thread.timers.set(Timer::Visit(seat.index), due);
        None
    }

    /// A user begins a transaction, and with its first one a session.
    pub(super) fn user_begins(&mut self, due: Time, now: Time) {
        let Self { seat, thread } = self;
        let Pace::Users(pace) = &thread.pace else { return };
        let user = &mut seat.user;
        (user.due, user.has_begun) = (None, true);
        let pause = std::mem::take(&mut user.pause);
        if pause > 0 && !user.is_away && due == user.ended.saturating_add(pause) {
            thread.recorder.thought(pause, now.saturating_sub(user.ended), now);
        }
        if !std::mem::replace(&mut user.in_session, true) {
            (user.at, user.session_due, user.session_response) = (0, due, 0);
            thread.recorder.session_began(due);
        }
        let session = &pace.users.session;
        let visit = Visit {
            script: session[user.at].script,
            is_first: user.at == 0,
            is_last: user.at + 1 == session.len(),
            reconnects: pace.users.reconnect,
        };
        seat.client.visit(visit);
    }

    /// A transaction of a user ended: the session goes on, or ends with it.
    pub(super) fn user_ended(&mut self, failed: bool, now: Time) {
        let Self { seat, thread } = self;
        let Pace::Users(pace) = &thread.pace else { return };
        let user = &mut seat.user;
        let session = &pace.users.session;
        user.session_response =
            user.session_response.saturating_add(now.saturating_sub(seat.transaction.due));
        user.pause = user.random.pause(&session[user.at].pauses);
        user.ended = now;
        let next = now.saturating_add(user.pause);
        user.at += 1;
        if !failed && user.at < session.len() {
            user.due = Some(next);
            return;
        }
        let end = if failed { SessionEnd::Failed } else { SessionEnd::Finished };
        user.in_session = false;
        user.due = pace.present(seat.number, next, thread.progress.window.measured);
        user.is_away = user.due != Some(next);
        thread.recorder.session_ended(end, user.session_due, user.session_response, now);
        if thread.recorder.measures(now) {
            user.sessions += 1;
            if thread.progress.plan.until == Until::PerUser(user.sessions) {
                self.stop();
            }
        }
    }

    /// The user's client stops, or the run is over.
    pub(in crate::client_loop) fn user_leaves(&mut self, end: SessionEnd, now: Time) {
        let user = &mut self.seat.user;
        if std::mem::take(&mut user.in_session) {
            self.thread.recorder.session_ended(end, user.session_due, user.session_response, now);
        }
    }
}
