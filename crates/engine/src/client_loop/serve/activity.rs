//! Changes of what a client does, and whether it is at work in a held run.

use super::Serving;
use crate::client::Time;
use crate::client_loop::seat::SeatState;
use crate::driver::Clock;
use crate::plan::Pace;
use crate::recorder::{Activity, Doing};

impl<C: Clock> Serving<'_, C> {
    /// Changes the client's activity at `now`. Ends of transactions are counted where their outcome is known.
    #[inline]
    pub(in crate::client_loop) fn turn_to(&mut self, doing: Doing, now: Time) {
        let Self { seat, thread } = self;
        thread.recorder.spent(seat.activity, now);
        seat.activity = Activity { doing, since: now };
    }

    /// What a client does outside a transaction.
    #[inline]
    pub(in crate::client_loop) fn between(&self) -> Doing {
        match (self.seat.state, &self.thread.pace) {
            (SeatState::Setup, _) => Doing::Connecting,
            (SeatState::Idle, Pace::Users(_)) if self.seat.user.thinks() => Doing::Thinking,
            (SeatState::Over, _) if self.thread.progress.is_held() => Doing::Held,
            _ => Doing::Idle,
        }
    }

    /// Marks the client as at work.
    pub(in crate::client_loop) fn rise(&mut self) {
        let Self { seat, thread } = self;
        if seat.state != SeatState::Over && !std::mem::replace(&mut seat.at_work, true) {
            let now = thread.turn.now;
            thread.hold.rise(now);
            if seat.activity.doing == Doing::Held {
                self.turn_to(self.between(), now);
            }
        }
    }

    /// The client is free and may start nothing now, or stops for good.
    #[cold]
    pub(in crate::client_loop) fn rest(&mut self) {
        let Self { seat, thread } = self;
        if std::mem::take(&mut seat.at_work) {
            let now = thread.turn.now;
            thread.hold.rest(now);
            if thread.progress.is_held() {
                self.turn_to(Doing::Held, now);
            }
        }
    }
}
