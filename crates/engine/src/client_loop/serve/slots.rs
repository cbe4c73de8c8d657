//! Slots: when a client's next transaction is due, by the load's pace, and its start.

use super::Serving;
use crate::client::{Event, Step, Time};
use crate::client_loop::progress::RunPhase;
use crate::client_loop::seat::SeatState;
use crate::driver::Clock;
use crate::plan::Pace;
use crate::recorder::Doing;

impl<C: Clock> Serving<'_, C> {
    /// Gives a due arrival to the client that has been free the longest; false when it must not be started
    /// any more.
    pub(in crate::client_loop) fn arrival(&mut self, due: Time) -> bool {
        self.thread.turn.stamp();
        if let Some(late) = self.thread.turn.lateness(due) {
            self.thread.recorder.timer_lateness(self.thread.turn.now, late);
        }
        let Some(due) = self.next_slot(true) else { return false };
        self.start(due, true);
        self.offer_unread(None);
        true
    }

    /// When a free client's next transaction is due, if that time has come; otherwise sets a timer for it. A
    /// client that `waited` for an arrival starts it however late: only an arrival that had to wait is
    /// skipped.
    pub(super) fn next_slot(&mut self, waited: bool) -> Option<Time> {
        if self.seat.state != SeatState::Idle {
            return None;
        }
        if self.thread.turn.slots_left == 0 {
            self.resume_later();
            return None;
        }
        match self.thread.pace {
            Pace::Closed => {
                let now = self.thread.turn.now;
                if self.thread.progress.starts(now) {
                    return Some(now);
                }
                self.rest();
                None
            }
            Pace::Users(_) => self.next_visit(),
            Pace::Open(_) => self.next_scheduled(waited),
        }
    }

    fn next_scheduled(&mut self, waited: bool) -> Option<Time> {
        loop {
            let Self { seat, thread } = self;
            let now = thread.turn.now;
            let Pace::Open(open) = &mut thread.pace else { return None };
            let due = open.peek();
            if due > now || due >= thread.progress.window.end {
                if !std::mem::replace(&mut seat.queued, true) {
                    open.free.push_back(seat.index);
                }
                return None;
            }
            if !thread.progress.starts(due) {
                return None;
            }
            if thread.turn.skips_left == 0 {
                self.resume_later();
                return None;
            }
            open.take();
            if waited || !open.skips(due, now) {
                if thread.progress.phase != RunPhase::Running {
                    thread.recorder.drained(due);
                }
                return Some(due);
            }
            thread.turn.skips_left -= 1;
            if thread.recorder.skipped(seat.number, due, now, seat.client.script()) {
                self.count_ended();
                if self.seat.state == SeatState::Over {
                    return None;
                }
            }
        }
    }

    /// Starts a transaction and follows its steps; `found_free` when its arrival did not wait for a client.
    pub(super) fn start(&mut self, due: Time, found_free: bool) {
        let step = self.begin(due, found_free);
        self.follow(step);
    }

    pub(super) fn begin(&mut self, due: Time, found_free: bool) -> Step {
        let Self { seat, thread } = self;
        thread.turn.start_transaction();
        let now = thread.turn.now;
        // In closed load the intended start is the start.
        let due = if matches!(thread.pace, Pace::Closed) { now } else { due };
        if found_free {
            thread.recorder.start_lag(now, now.saturating_sub(due));
        }
        seat.state = SeatState::Busy;
        seat.transaction.due = due;
        seat.transaction.started = now;
        thread.tally.busy += 1;
        thread.recorder.in_flight = thread.tally.busy as u32;
        self.turn_to(Doing::Transaction, now);
        self.user_begins(due, now);
        self.call(Event::Slot { due })
    }
}
