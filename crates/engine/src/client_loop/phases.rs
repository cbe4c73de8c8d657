//! The phases of a run in one thread: set-up, load, drain, end.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use spec::{Class, Error};

use super::link::LinkState;
use super::progress::RunPhase;
use super::seat::{Seat, SeatState};
use super::serve::Serving;
use super::{Assignment, ClientLoop};
use crate::client::Time;
use crate::control::{RunControl, ThreadReport};
use crate::driver::Driver;
use crate::error::NotConnected;
use crate::measured::ThreadFigures;
use crate::plan::{Pace, Until};
use crate::recorder::{Activity, SessionEnd};

/// Orders from the caller's thread, and what was reported to it.
pub(super) struct Coordination {
    thread: usize,
    place: (usize, usize),
    pub(super) control: Arc<RunControl>,
    reports: Sender<ThreadReport>,
    idle_reported: bool,
    open_reported: usize,
}

impl Coordination {
    pub(super) fn new(assignment: &Assignment) -> Self {
        Self {
            thread: assignment.thread,
            place: assignment.place,
            control: Arc::clone(&assignment.control),
            reports: assignment.reports.clone(),
            idle_reported: false,
            open_reported: 0,
        }
    }

    pub(super) fn report(&self, report: ThreadReport) {
        // The caller may be gone.
        let _ = self.reports.send(report);
    }

    pub(super) fn report_part(&self, figures: Box<ThreadFigures>) {
        self.report(ThreadReport::Part { thread: self.thread, figures });
    }

    fn report_open(&mut self, open: usize) {
        let before = std::mem::replace(&mut self.open_reported, open);
        if before != open {
            self.control.set_open(before, open);
        }
    }
}

impl<D: Driver> ClientLoop<D> {
    /// When the next turn is due if nothing happens before, on the driver's clock.
    pub(crate) fn deadline(&self) -> Time {
        self.thread.turn.driver_time(self.due())
    }

    /// As [`Self::deadline`], on the clock of the run.
    pub(super) fn due(&self) -> Time {
        let Self { thread, coordination: Coordination { control, idle_reported, .. }, .. } = self;
        if !thread.runnable.is_empty() {
            return 0;
        }
        let progress = &thread.progress;
        let phase = match progress.phase {
            RunPhase::Setup { reported: false } if thread.tally.unsettled == 0 => 0,
            RunPhase::Setup { reported: false } => progress.connect_deadline,
            RunPhase::Setup { reported: true } => control.load(),
            RunPhase::Running if thread.tally.all_over() && !idle_reported => 0,
            RunPhase::Running if self.is_newly_idle() => 0,
            RunPhase::Running => {
                let end = progress.window.end.min(control.end());
                thread.recorder.second_end().min(end).min(thread.next_due())
            }
            RunPhase::Draining { .. } if thread.is_drained() => 0,
            RunPhase::Draining { until } => until.min(thread.recorder.second_end()).min(thread.next_due()),
            RunPhase::Over => 0,
        };
        let due = thread.timers.first().unwrap_or(Time::MAX).min(phase);
        if progress.is_setup() { due } else { due.min(thread.turn.next_look()) }
    }

    /// Enters the next phase when its time has come.
    ///
    /// # Errors
    /// When a client is not ready in time.
    pub(super) fn change_phase(&mut self) -> Result<(), Error> {
        let control = &self.coordination.control;
        let (now, ends) = (self.thread.turn.now, control.end());
        self.thread.progress.stopped = control.stopped();
        if control.cancelled() || (self.thread.progress.is_setup() && ends != Time::MAX) {
            self.leave();
            return Ok(());
        }
        if let RunPhase::Setup { reported } = self.thread.progress.phase {
            self.set_up(reported)?;
        }
        if self.thread.progress.phase == RunPhase::Running {
            self.watch_running(ends);
            self.stop_clock_when_idle();
        }
        // Only once an earlier end is known: it cuts the second.
        self.thread.recorder.advance(now);
        if let RunPhase::Draining { until } = self.thread.progress.phase {
            self.coordination.report_open(self.thread.tally.busy);
            if self.thread.progress.has_timed_out(until, now) || self.thread.is_drained() {
                self.finish();
            }
        }
        Ok(())
    }

    fn set_up(&mut self, reported: bool) -> Result<(), Error> {
        let Self { thread, coordination, .. } = self;
        let now = thread.turn.now;
        if !reported && thread.tally.unsettled == 0 {
            thread.progress.phase = RunPhase::Setup { reported: true };
            coordination.report(ThreadReport::Ready);
        } else if !reported && now >= thread.progress.connect_deadline {
            return Err(self.not_ready());
        }
        let load = coordination.control.load();
        if load <= now {
            self.begin_load(load);
        }
        Ok(())
    }

    fn not_ready(&self) -> Error {
        let waiting = self.seats.iter().find(|seat| !seat.settled);
        let doing: Vec<String> = waiting.iter().flat_map(|seat| &seat.links).map(LinkState::doing).collect();
        let client = waiting.map_or(0, |seat| seat.number);
        let waited_s = self.thread.progress.plan.connect_timeout as f64 / 1e9;
        let what = format!(
            "client {client} was not ready after {waited_s:.1} s: {}; check the address and the server's load, or allow more \
             time",
            doing.join(", ")
        );
        Error::new(Class::Unreachable, what).attach(NotConnected::TooSlow)
    }

    fn begin_load(&mut self, load: Time) {
        let Self { thread, coordination, .. } = self;
        thread.progress.begin(load);
        thread.recorder.begin(thread.progress.window);
        if let Some(open) = thread.pace.open_mut() {
            open.begin(&thread.progress.plan, coordination.place, load);
        }
        for seat in &mut self.seats {
            let mut client = Serving { seat, thread };
            client.turn_to(client.between(), load);
            client.rise();
            client.resume_later();
        }
    }

    /// Starts and ends the measured part; `ends` is an earlier end than planned.
    fn watch_running(&mut self, ends: Time) {
        let Self { thread, coordination, driver, .. } = self;
        let (progress, now) = (&mut thread.progress, thread.turn.now);
        if ends < progress.window.end {
            progress.set_end(ends);
            thread.recorder.set_end(ends);
        }
        if progress.cpu_at_start.is_none() && now >= progress.window.measured {
            progress.cpu_at_start = Some(driver.cpu());
            progress.spun_at_start = driver.spun();
        }
        if thread.tally.all_over() && !std::mem::replace(&mut coordination.idle_reported, true) {
            coordination.report(ThreadReport::Idle { at: thread.tally.over_since });
        }
        if now >= progress.window.end {
            progress.drain();
            let cost = &mut thread.recorder.figures.cost;
            cost.cpu = progress.cpu_at_start.map(|start| driver.cpu().since(start)).unwrap_or_default();
            cost.spun = driver.spun().saturating_sub(progress.spun_at_start);
            cost.measured = progress.window.end.saturating_sub(progress.window.measured);
        }
    }

    /// Accounts for what is still open, and reports.
    fn finish(&mut self) {
        let (recorder, now) = (&mut self.thread.recorder, self.thread.turn.now);
        for seat in &mut self.seats {
            if seat.state == SeatState::Busy {
                recorder.left_open(&seat.transaction, now, seat.client.script(), seat.away);
                recorder.in_transaction(seat.activity.since, seat.transaction.due, now, true);
            } else {
                recorder.spent(seat.activity, now);
            }
            seat.activity = Activity::BEFORE;
        }
        for seat in &mut self.seats {
            Serving { seat, thread: &mut self.thread }.user_leaves(SessionEnd::Cut, now);
        }
        self.account_for_waiting();
        self.thread.recorder.finish(now);
        self.leave();
    }

    /// Counts arrivals of the measured part that were never started. Where each client has a number of
    /// transactions to do, only the arrivals they took were due.
    fn account_for_waiting(&mut self) {
        let thread = &mut self.thread;
        let (plan, now) = (&thread.progress.plan, thread.turn.now);
        // With a workload's own gaps, a client draws the arrival it takes; later ones may never be drawn.
        if plan.gaps.is_some() {
            return;
        }
        let are_users = matches!(thread.pace, Pace::Users(_));
        let (Some(open), Until::Elapsed(_)) = (thread.pace.open_mut(), plan.until) else { return };
        let (number, script) =
            self.seats.first_mut().map_or((0, 0), |seat| (seat.number, seat.client.script()));
        while open.peek() < thread.progress.window.end {
            let due = open.take();
            if are_users {
                thread.recorder.user_waited(due, now);
                continue;
            }
            if open.skips(due, now) {
                thread.recorder.skipped(number, due, now, script);
            } else {
                thread.recorder.unfinished(due, now, script);
            }
        }
    }

    fn leave(&mut self) {
        let busy = self.seats.iter().filter(|seat| seat.state == SeatState::Busy);
        self.thread.recorder.figures.abandoned.extend(busy.flat_map(Seat::abandoned));
        for conn in 0..self.owners.len() {
            self.driver.close(conn);
        }
        self.coordination.report_open(0);
        self.close_stretch();
        self.thread.recorder.outbox.flush();
        let figures = Box::new(std::mem::take(&mut self.thread.recorder.figures));
        self.coordination.report(ThreadReport::Finished { thread: self.coordination.thread, figures });
        self.thread.progress.phase = RunPhase::Over;
    }
}
