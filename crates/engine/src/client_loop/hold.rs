//! Holding the clients of a thread, and letting them go.
//!
//! When a stretch is to end is known when it begins, so nobody is woken for it: it bounds the start of transactions just as
//! the end of the run does. While no client is at work, the clock of the run stands still. All that this costs a
//! transaction is a comparison that is there anyway.

use super::ClientLoop;
use super::progress::Phase;
use super::seat::State;
use super::serve::Serving;
use crate::client::Time;
use crate::control::Report;
use crate::driver::{Clock, Driver};
use crate::measured::Stretch;

/// A thread's part of the present stretch.
#[derive(Debug, Default)]
pub(super) struct Hold {
    /// Orders to let go that it has heard of.
    heard: u64,
    /// Clients at work: in a transaction, about to start one, or connecting.
    at_work: usize,
    /// Its time at work is the sum of the clients' ends less that of their releases; below 0 in between.
    stretch: Stretch,
    /// Transactions that had succeeded before it.
    succeeded: u64,
    /// Its end was reported.
    told: bool,
}

impl<C: Clock> Serving<'_, C> {
    /// The client goes to work, unless it is there.
    pub(super) fn rise(&mut self) {
        let Self { seat, thread } = self;
        if seat.state != State::Over && !std::mem::replace(&mut seat.at_work, true) {
            thread.hold.at_work += 1;
            let sum = &mut thread.hold.stretch.at_work;
            *sum = sum.wrapping_sub(thread.turn.now);
        }
    }

    /// The client is free and may start nothing now, or stops for good.
    #[cold]
    pub(super) fn rest(&mut self) {
        let Self { seat, thread } = self;
        if std::mem::take(&mut seat.at_work) {
            thread.hold.at_work -= 1;
            let stretch = &mut thread.hold.stretch;
            stretch.idle = thread.turn.now;
            stretch.at_work = stretch.at_work.wrapping_add(thread.turn.now);
        }
    }
}

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
        // Some may have been held by now while others were not: then the stretch goes on for these.
        if std::mem::take(&mut thread.hold.told) {
            let from = thread.turn.now;
            thread.hold.stretch = Stretch { from, until: order.until, idle: from, ..Stretch::default() };
            thread.hold.succeeded = thread.recorder.succeeded;
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
    }

    /// Whether all clients rest, and nobody was told.
    pub(super) fn is_newly_idle(&self) -> bool {
        let Self { thread, .. } = self;
        thread.progress.is_held() && thread.hold.at_work == 0 && !thread.hold.told
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
        let hold = &mut thread.hold;
        hold.told = true;
        hold.stretch.succeeded = thread.recorder.succeeded - hold.succeeded;
        let warm = thread.recorder.warm_up().map(Box::new);
        coordination.report(Report::Rests { at: thread.turn.now, stretch: hold.stretch, warm });
    }
}
