//! Holds and releases the clients of a thread.
//!
//! The end of a stretch is known when it begins, so no wake-up is needed: it bounds the start of
//! transactions as the end of the run does. While no client is at work, the clock of the run is stopped. The
//! only cost for a transaction is a comparison that the loop makes anyway.

use super::ClientLoop;
use super::progress::RunPhase;
use super::serve::Serving;
use crate::client::Time;
use crate::control::ThreadReport;
use crate::driver::Driver;

impl<D: Driver> ClientLoop<D> {
    /// Releases the clients, if that was ordered since the last turn.
    pub(super) fn take_order(&mut self) {
        let Self { thread, coordination, .. } = self;
        if !thread.progress.is_held() || thread.progress.is_setup() {
            return;
        }
        let Some((seen, order)) = coordination.control.order_after(thread.hold.orders_seen) else { return };
        thread.turn.start_clock(order.behind);
        thread.hold.orders_seen = seen;
        if std::mem::replace(&mut thread.hold.part, order.part) != order.part {
            self.end_part();
        }
        let Self { thread, seats, .. } = self;
        let late = thread.turn.now.saturating_sub(order.from);
        // Some clients may be idle by now while others are not: the stretch continues for those.
        if thread.hold.reported {
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

    /// Hands over the figures of a part while all clients are idle.
    #[cold]
    fn end_part(&mut self) {
        let Self { thread, coordination, driver, .. } = self;
        let (progress, now) = (&mut thread.progress, thread.turn.now);
        let cost = &mut thread.recorder.figures.cost;
        cost.cpu = progress.cpu_at_start.take().map(|start| driver.cpu().since(start)).unwrap_or_default();
        cost.spun = driver.spun().saturating_sub(progress.spun_at_start);
        cost.measured = now.saturating_sub(progress.window.measured);
        progress.window.measured = Time::MAX;
        let figures = Box::new(thread.recorder.end_part(now));
        coordination.report_part(figures);
    }

    pub(super) fn is_newly_idle(&self) -> bool {
        self.thread.progress.is_held() && self.thread.hold.is_newly_idle()
    }

    pub(super) fn stop_clock_when_idle(&mut self) {
        if self.thread.progress.phase == RunPhase::Running && self.is_newly_idle() {
            self.thread.recorder.outbox.flush();
            self.report_stretch();
            self.thread.turn.stop_clock();
        }
    }

    /// Reports the stretch before the thread leaves, so that nobody waits for it.
    pub(super) fn close_stretch(&mut self) {
        let Self { thread, seats, .. } = self;
        if thread.progress.is_held() && !thread.progress.is_setup() && !thread.hold.reported {
            for seat in seats {
                Serving { seat, thread }.rest();
            }
            self.report_stretch();
        }
    }

    fn report_stretch(&mut self) {
        let Self { thread, coordination, .. } = self;
        let stretch = thread.hold.report(thread.recorder.succeeded);
        let warm = thread.recorder.warm_up().map(Box::new);
        coordination.report(ThreadReport::Rests { at: thread.turn.now, stretch, warm });
    }
}
