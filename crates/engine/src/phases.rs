//! The phases of a run, as one thread goes through them: set-up, load, drain, end.

use crate::client::Time;
use crate::client_loop::Core;
use crate::control::Report;
use crate::driver::{Clock, Driver};
use crate::error::EngineError;
use crate::pace::Pace;
use crate::plan::Until;
use crate::seat::{LinkState, State};
use crate::window::Window;

/// Drain time after a stop from outside, ns; less if the plan's is shorter.
const STOP_DRAIN: Time = 500_000_000;

/// The part of the run the thread is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Clients connect and prepare; `reported` once all are ready and the start is waited for.
    Setup { reported: bool },
    /// Load, in warm-up or measured.
    Running,
    /// The measured part is over; what is open may end until then.
    Draining { until: Time },
    /// Nothing more to do.
    Over,
}

impl<C: Clock> Core<C> {
    /// Whether a transaction due at `due` may be started in the present phase.
    pub(crate) fn starts(&self, due: Time) -> bool {
        let drains = match (&self.pace, self.phase) {
            (Pace::Open(open), Phase::Draining { .. }) => open.drains_queue() && !self.control.stopped(),
            _ => false,
        };
        due < self.window.end && (self.phase == Phase::Running || drains)
    }

    /// Goes on to the next part of the run when its time has come.
    ///
    /// # Errors
    /// When a client is not ready in time.
    pub(crate) fn change_phase(&mut self, driver: &mut impl Driver) -> Result<(), EngineError> {
        if self.control.cancelled() {
            self.leave(driver);
            return Ok(());
        }
        if let Phase::Setup { reported } = self.phase {
            if self.control.end() != Time::MAX {
                self.leave(driver);
                return Ok(());
            }
            if !reported && self.unsettled == 0 {
                self.phase = Phase::Setup { reported: true };
                let _ = self.reports.send(Report::Ready);
            } else if !reported && self.now >= self.connect_deadline {
                return Err(self.not_ready());
            }
            if self.control.load() <= self.now {
                self.begin_load(self.control.load());
            }
        }
        if self.phase == Phase::Running {
            self.watch_running(driver);
        }
        // Not before an earlier end is known: it cuts the second.
        self.recorder.advance(self.now);
        if let Phase::Draining { until } = self.phase {
            self.tell_open(self.busy);
            let stopped = self.control.stopped() && self.now >= self.window.end.saturating_add(STOP_DRAIN);
            if stopped || self.now >= until || self.is_drained() {
                self.finish(driver);
            }
        }
        Ok(())
    }

    fn not_ready(&self) -> EngineError {
        let waiting = self.seats.iter().find(|seat| !seat.settled);
        let doing: Vec<String> =
            waiting.iter().flat_map(|seat| &self.links[seat.conns()]).map(LinkState::doing).collect();
        EngineError::SetupTimeout {
            client: waiting.map_or(0, |seat| seat.number),
            waited: self.plan.connect_timeout,
            doing: doing.join(", "),
        }
    }

    fn begin_load(&mut self, load: Time) {
        let measured = load.saturating_add(self.plan.warmup);
        let end = match self.plan.until {
            Until::Elapsed(elapsed) => measured.saturating_add(elapsed),
            Until::PerClient(_) => Time::MAX,
        };
        self.window = Window { load, measured, end };
        self.recorder.begin(self.window);
        self.phase = Phase::Running;
        if let Pace::Open(open) = &mut self.pace {
            open.begin(&self.plan, self.place, load);
        }
        for client in 0..self.seats.len() {
            self.resume_later(client);
        }
    }

    fn watch_running(&mut self, driver: &impl Driver) {
        let end = self.control.end();
        if end < self.window.end {
            self.window.end = end;
            self.recorder.set_end(end);
        }
        if self.cpu_at_start.is_none() && self.now >= self.window.measured {
            self.cpu_at_start = Some(driver.cpu());
        }
        if self.over.0 == self.seats.len() && !self.idle_reported {
            self.idle_reported = true;
            let _ = self.reports.send(Report::Idle { at: self.over.1 });
        }
        if self.now >= self.window.end {
            let drain =
                if self.control.stopped() { self.plan.drain.min(STOP_DRAIN) } else { self.plan.drain };
            self.phase = Phase::Draining { until: self.window.end.saturating_add(drain) };
            let cost = &mut self.recorder.figures.cost;
            cost.cpu = self.cpu_at_start.map(|start| driver.cpu().since(start)).unwrap_or_default();
            cost.measured = self.window.end.saturating_sub(self.window.measured);
        }
    }

    fn tell_open(&mut self, open: usize) {
        let before = std::mem::replace(&mut self.told_open, open);
        if before != open {
            self.control.set_open(before, open);
        }
    }

    /// Whether nothing is open any more, and nothing waits that could still be started.
    pub(crate) fn is_drained(&self) -> bool {
        let waiting = match &self.pace {
            Pace::Open(open) => self.starts(open.peek()) && self.over.0 < self.seats.len(),
            _ => false,
        };
        self.busy == 0 && !waiting
    }

    /// Accounts for what is still open, and reports.
    fn finish(&mut self, driver: &mut impl Driver) {
        for seat in self.seats.iter_mut().filter(|seat| seat.state == State::Busy) {
            self.recorder.unfinished(seat.transaction.due, self.now, seat.client.script());
        }
        self.account_for_waiting();
        self.recorder.finish(self.now);
        self.leave(driver);
    }

    /// Arrivals of the measured part that were never started. When each client has a number of transactions to
    /// do, only the arrivals they took were due.
    fn account_for_waiting(&mut self) {
        // Those of a workload's own gaps are drawn by the client that takes them, and may never reach the end.
        if self.plan.gaps.is_some() {
            return;
        }
        let (Pace::Open(open), Until::Elapsed(_)) = (&mut self.pace, self.plan.until) else { return };
        let number = self.seats.first().map_or(0, |seat| seat.number);
        let script = self.seats.first_mut().map_or(0, |seat| seat.client.script());
        while open.peek() < self.window.end {
            let due = open.take();
            if open.skips(due, self.now) {
                self.recorder.skipped(number, due, self.now, script);
            } else {
                self.recorder.unfinished(due, self.now, script);
            }
        }
    }

    fn leave(&mut self, driver: &mut impl Driver) {
        for conn in 0..self.links.len() {
            driver.close(conn);
        }
        self.tell_open(0);
        self.recorder.outbox.flush();
        let figures = Box::new(std::mem::take(&mut self.recorder.figures));
        let _ = self.reports.send(Report::Finished { thread: self.place.0, figures });
        self.phase = Phase::Over;
    }
}
