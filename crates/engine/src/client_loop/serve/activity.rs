//! Changes of what a client does.

use super::Serving;
use crate::client::Time;
use crate::client_loop::seat::State;
use crate::driver::Clock;
use crate::plan::Pace;
use crate::recorder::{Activity, Doing};

impl<C: Clock> Serving<'_, C> {
    /// The client does something else from `now` on. Ends of transactions are counted where their outcome is known.
    #[inline]
    pub(in crate::client_loop) fn turn_to(&mut self, doing: Doing, now: Time) {
        let Self { seat, thread } = self;
        thread.recorder.spent(seat.activity, now);
        seat.activity = Activity { doing, since: now };
    }

    /// What a client does that is not in a transaction.
    #[inline]
    pub(in crate::client_loop) fn between(&self) -> Doing {
        match (self.seat.state, &self.thread.pace) {
            (State::Setup, _) => Doing::Connecting,
            (State::Idle, Pace::Users { .. }) => Doing::Thinking,
            (State::Over, _) if self.thread.progress.is_held() => Doing::Held,
            _ => Doing::Idle,
        }
    }
}
