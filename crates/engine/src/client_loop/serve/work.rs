//! Whether a client is at work, in a run that is held and let go.

use super::Serving;
use crate::client_loop::seat::State;
use crate::driver::Clock;
use crate::recorder::Doing;

impl<C: Clock> Serving<'_, C> {
    /// The client goes to work, unless it is there.
    pub(in crate::client_loop) fn rise(&mut self) {
        let Self { seat, thread } = self;
        if seat.state != State::Over && !std::mem::replace(&mut seat.at_work, true) {
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
