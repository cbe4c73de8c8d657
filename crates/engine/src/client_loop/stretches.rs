//! Holding the clients of a thread, and letting them go.
//!
//! When a stretch is to end is known when it begins, so nobody is woken for it: it bounds the start of transactions just as
//! the end of the run does. While no client is at work, the clock of the run stands still. All that this costs a
//! transaction is a comparison that is there anyway.

use super::ClientLoop;
use super::progress::Phase;
use super::serve::Serving;
use crate::client::Time;
use crate::control::Report;
use crate::driver::Driver;

impl<D: Driver> ClientLoop<D> {
    /// Lets the clients go, if that was ordered since the last turn.
    pub(super) fn obey(&mut self) {
        let Self { thread, coordination, seats, .. } = self;
        if !thread.progress.is_held() || thread.progress.is_setup() {
            return;
        }
        let Some((heard, order)) = coordination.control.order_after(thread.hold.heard) else { return };
        thread.turn.go_on(order.behind);
        thread.hold.heard = heard;
        let late = thread.turn.now.saturating_sub(order.from);
        // Some may have been held by now while others were not: then the stretch goes on for these.
        if thread.hold.told {
            thread.hold.begin(thread.turn.now, order.until, thread.recorder.succeeded);
        }
        let progress = &mut thread.progress;
        if let Some(measured) = order.measured
            && progress.window.measured == Time::MAX
        {
            progress.window.measured = measured;
            thread.recorder.measure_from(measured);
        }
        progress.takes_until = order.until.min(progress.window.end);
        for seat in seats {
            let mut client = Serving { seat, thread };
            client.rise();
            client.resume_later();
        }
        self.gap(late);
    }

    /// Whether all clients rest, and nobody was told.
    pub(super) fn is_newly_idle(&self) -> bool {
        self.thread.progress.is_held() && self.thread.hold.is_newly_idle()
    }

    /// Stops the clock and says so, when all clients rest.
    pub(super) fn watch_hold(&mut self) {
        if self.thread.progress.phase == Phase::Running && self.is_newly_idle() {
            self.thread.recorder.outbox.flush();
            self.tell_stretch();
            self.thread.turn.stand_still();
        }
    }

    /// The thread leaves: whatever the stretch came to is told, so that nobody waits for it.
    pub(super) fn close_stretch(&mut self) {
        let Self { thread, seats, .. } = self;
        if thread.progress.is_held() && !thread.progress.is_setup() && !thread.hold.told {
            for seat in seats {
                Serving { seat, thread }.rest();
            }
            self.tell_stretch();
        }
    }

    fn tell_stretch(&mut self) {
        let Self { thread, coordination, .. } = self;
        let stretch = thread.hold.tell(thread.recorder.succeeded);
        let warm = thread.recorder.warm_up().map(Box::new);
        coordination.report(Report::Rests { at: thread.turn.now, stretch, warm });
    }
}
