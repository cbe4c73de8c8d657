//! Slots: when a client's next transaction is due, by the load's pace, and its start.

use crate::client::{Event, Step, Time};
use crate::client_loop::Core;
use crate::driver::Clock;
use crate::pace::Pace;
use crate::phases::Phase;
use crate::seat::State;

impl<C: Clock> Core<C> {
    /// Gives the next due arrival to the client that has been free the longest.
    pub(crate) fn next_arrival(&mut self) -> Option<usize> {
        loop {
            let Pace::Open(open) = &mut self.pace else { return None };
            let due = open.peek();
            if due > self.now || self.skips_left == 0 {
                return None;
            }
            let client = open.free.pop_front()?;
            let seat = &mut self.seats[client];
            seat.queued = false;
            if seat.state != State::Idle {
                continue;
            }
            self.stamp();
            if due == std::mem::replace(&mut self.waited_for, Time::MAX) {
                self.recorder.timer_lateness(self.now, self.now.saturating_sub(due));
            }
            let due = self.next_slot(client, true)?;
            let step = self.begin(client, due, true);
            self.follow(client, step);
            self.offer_unread(client, None);
            return Some(client);
        }
    }

    /// When a free client's next transaction is due, if that has come; else sees to it that the client is thought of then.
    /// A client that `waited` for an arrival starts it, however late we are: only an arrival that had to wait is skipped.
    pub(crate) fn next_slot(&mut self, client: usize, waited: bool) -> Option<Time> {
        if self.seats[client].state != State::Idle {
            return None;
        }
        if self.slots_left == 0 {
            self.resume_later(client);
            return None;
        }
        match self.pace {
            Pace::Closed => self.starts(self.now).then_some(self.now),
            Pace::Users { think, ramp } => {
                self.next_visit(client, think, ramp);
                None
            }
            Pace::Open(_) => self.next_scheduled(client, waited),
        }
    }

    fn next_visit(&mut self, client: usize, think: Time, ramp: Time) {
        if self.phase != Phase::Running {
            return;
        }
        let key = self.seats.len() + client;
        if self.timers.is_set(key) {
            return;
        }
        let seat = &mut self.seats[client];
        let due = if std::mem::replace(&mut seat.visited, true) {
            self.now.saturating_add(think)
        } else {
            self.window.load.saturating_add(ramp.saturating_mul(seat.number as Time))
        };
        self.timers.set(key, due);
    }

    fn next_scheduled(&mut self, client: usize, waited: bool) -> Option<Time> {
        loop {
            let Pace::Open(open) = &mut self.pace else { return None };
            let due = open.peek();
            if due > self.now || due >= self.window.end {
                if !std::mem::replace(&mut self.seats[client].queued, true) {
                    open.free.push_back(client);
                }
                return None;
            }
            if !self.starts(due) {
                return None;
            }
            if self.skips_left == 0 {
                self.resume_later(client);
                return None;
            }
            let Pace::Open(open) = &mut self.pace else { return None };
            open.take();
            if waited || !open.skips(due, self.now) {
                if self.phase != Phase::Running {
                    self.recorder.drained(due);
                }
                return Some(due);
            }
            self.skips_left -= 1;
            let script = self.seats[client].client.script();
            if self.recorder.skipped(self.seats[client].number, due, self.now, script) {
                self.count_ended(client);
                if self.seats[client].state == State::Over {
                    return None;
                }
            }
        }
    }

    /// Starts a transaction; `found_free` when its arrival did not have to wait for a client.
    pub(crate) fn begin(&mut self, client: usize, due: Time, found_free: bool) -> Step {
        self.slots_left = self.slots_left.saturating_sub(1);
        self.now = self.clock.now();
        // In closed load the intended start is the start.
        let due = if matches!(self.pace, Pace::Closed) { self.now } else { due };
        if found_free {
            self.recorder.start_lag(self.now, self.now.saturating_sub(due));
        }
        let seat = &mut self.seats[client];
        seat.state = State::Busy;
        seat.transaction.due = due;
        seat.transaction.started = self.now;
        self.busy += 1;
        self.call(client, Event::Slot { due })
    }
}
