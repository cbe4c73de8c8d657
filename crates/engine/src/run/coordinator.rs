//! The caller's side of a run: starts the load when all are ready, merges the threads' figures, ends the run.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::assign::Recycle;
use super::cpus;
use super::hold::Hold;
use super::merge::Merge;
use super::outages::Outages;
use crate::client::Time;
use crate::client_loop::GAP;
use crate::control::{Batch, Notice, RunControl, ThreadReport};
use crate::measured::{EngineResult, Stretch, ThreadFigures};
use crate::observer::Observer;
use crate::plan::{Load, RunPlan, Until};
use crate::stop::StopFlag;
use spec::Error;
use stats::Histogram;

/// How long transactions may stay open after the end before the observer is called, ns.
const WAITING: Time = 5_000_000_000;
/// Messages stored; the others are only counted.
const MESSAGES_KEPT: usize = 1000;
const MESSAGE_BYTES_KEPT: usize = 1 << 20;

/// Decides for all threads, from their [`ThreadReport`]s.
pub(crate) struct Coordinator {
    plan: RunPlan,
    control: Arc<RunControl>,
    /// How long before its start the load is announced, so that all threads are awake, and how long before its
    /// planned end the end is, so that all clients are still connected.
    lead: Time,
    clients: usize,
    threads: Threads,
    gathered: Gathered,
    hold: Hold,
    load: Option<Time>,
    measuring_reported: bool,
    ending_reported: bool,
    told_waiting: bool,
    failure: Option<Error>,
}

/// Number of threads in each state.
struct Threads {
    count: usize,
    ready: usize,
    idle: usize,
    /// When the last idle thread had nothing left to do.
    idle_since: Time,
    accounted: usize,
    gone: usize,
}

struct Gathered {
    measured: EngineResult,
    message_bytes: usize,
    figures: Vec<ThreadFigures>,
    merge: Merge,
    outages: Outages,
    /// Stall of the caller's thread in the measured part, ns.
    stalled: Time,
    /// Where batches are returned, by thread.
    batches: Vec<Sender<Box<Batch>>>,
}

impl Coordinator {
    pub(crate) fn new(
        plan: &RunPlan,
        control: Arc<RunControl>,
        lead: Time,
        clients: usize,
        recycle: Vec<Recycle>,
    ) -> Self {
        let count = recycle.len();
        let (seconds, batches) =
            recycle.into_iter().map(|recycle| (recycle.seconds, recycle.batches)).unzip();
        Self {
            plan: plan.clone(),
            control,
            lead,
            clients,
            threads: Threads { count, ready: 0, idle: 0, idle_since: 0, accounted: 0, gone: 0 },
            gathered: Gathered {
                measured: EngineResult {
                    cpus: (0..count).filter_map(|thread| cpus::of_thread(plan, thread)).collect(),
                    spin: plan.spin,
                    ..EngineResult::default()
                },
                message_bytes: 0,
                figures: Vec::with_capacity(count),
                merge: Merge::new(plan.scripts, seconds),
                outages: Outages::default(),
                stalled: 0,
                batches,
            },
            hold: Hold::new(count),
            load: None,
            // The caller reports it.
            measuring_reported: plan.until == Until::Caller,
            ending_reported: !matches!(plan.until, Until::Elapsed(_)),
            told_waiting: false,
            failure: None,
        }
    }

    /// The caller's thread woke `length` too late, at `now`.
    pub(crate) fn stalled(&mut self, length: Time, now: Time) {
        let measured = self.load.map(|load| load.saturating_add(self.plan.warmup));
        let is_measured = self.plan.until != Until::Caller && measured.is_some_and(|measured| now > measured);
        if length >= GAP && is_measured && !self.is_over() {
            self.gathered.stalled += length;
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.threads.gone == self.threads.count
    }

    /// When `tick` is due next, in addition to the regular interval.
    pub(crate) fn next_tick(&self) -> Option<Time> {
        let load = self.load?;
        match (self.measuring_reported, self.ending_reported) {
            (false, _) => Some(load.saturating_add(self.plan.warmup)),
            (true, false) => Some(self.planned_end().saturating_sub(self.lead)),
            (true, true) => None,
        }
    }

    /// Does what time or the user requires.
    pub(crate) fn tick(&mut self, now: Time, stop: &StopFlag, observer: &mut dyn Observer) {
        let driver_now = now;
        let now = self.hold.run_time(driver_now);
        if stop.is_set() && !self.control.stopped() {
            self.control.set_stopped();
            let early = now < self.planned_end().min(self.control.end());
            self.gathered.measured.interrupted = early || self.control.open() > 0;
            self.end_at(now, driver_now);
        }
        if self.next_tick().is_some_and(|at| now >= at) {
            let report = match std::mem::replace(&mut self.measuring_reported, true) {
                false => Observer::measuring,
                true => {
                    self.ending_reported = true;
                    Observer::ending
                }
            };
            if self.control.end() == Time::MAX {
                report(observer);
            }
        }
        let end = self.planned_end().min(self.control.end());
        if !self.told_waiting && now >= end.saturating_add(WAITING) && !self.is_over() {
            self.told_waiting = true;
            match self.control.open() {
                0 => {}
                clients => observer.waiting(clients),
            }
        }
    }

    pub(crate) fn take(&mut self, report: ThreadReport, now: Time, observer: &mut dyn Observer) {
        match report {
            ThreadReport::Up { driver, note } => {
                self.gathered.measured.driver = driver;
                self.gathered.measured.driver_note = note;
            }
            ThreadReport::Ready => self.threads.ready += 1,
            ThreadReport::Second { thread, second } => self.gathered.merge.take(thread, second, observer),
            ThreadReport::Batch { thread, batch } => self.gathered.pass_on(thread, batch, observer),
            ThreadReport::Idle { at } => {
                self.threads.idle += 1;
                self.threads.idle_since = self.threads.idle_since.max(at);
                if self.threads.idle == self.threads.count {
                    self.end_at(self.threads.idle_since, now);
                }
            }
            ThreadReport::Rests { at, stretch, warm } => self.hold.rests(at, &stretch, warm.as_deref()),
            ThreadReport::Failed { error } => {
                self.threads.accounted += 1;
                self.failure.get_or_insert(error);
                self.cancel();
            }
            ThreadReport::Part { thread, figures } => {
                self.gathered.merge.finished(thread, observer);
                self.gathered.figures.push(*figures);
            }
            ThreadReport::Finished { thread, figures } => {
                self.threads.accounted += 1;
                self.gathered.merge.finished(thread, observer);
                self.gathered.figures.push(*figures);
            }
            ThreadReport::Gone => {
                self.threads.gone += 1;
                // A thread without a report panicked; the others must not continue.
                if self.threads.gone > self.threads.accounted {
                    self.cancel();
                }
            }
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.hold.is_idle()
    }

    /// The last stretch of a held run, once it is over.
    pub(crate) fn last_stretch(&self) -> Option<Stretch> {
        self.hold.last()
    }

    /// Response times of a held run's warm-up so far.
    pub(crate) fn warm_up(&self) -> &Histogram {
        self.hold.warm_up()
    }

    /// Releases the clients of a held run at `now` for `length` ns.
    pub(crate) fn release(&mut self, now: Time, length: Time) {
        if self.control.end() == Time::MAX {
            self.control.release(self.hold.release(now, length));
            self.control.wake_all();
        }
    }

    /// Ends the warm-up of a held run: the next stretch counts.
    pub(crate) fn measure(&mut self, observer: &mut dyn Observer) {
        self.hold.measure();
        observer.measuring();
    }

    /// Orders the threads of a held run to hand over the figures of a part.
    pub(crate) fn end_part(&mut self, now: Time) {
        if self.control.end() == Time::MAX {
            self.control.release(self.hold.end_part(now));
            self.control.wake_all();
        }
    }

    /// Whether all threads have handed over a part, and their clients are idle.
    pub(crate) fn is_part_over(&self) -> bool {
        self.gathered.figures.len() == self.threads.count && self.is_idle()
    }

    /// The figures of a part that is over.
    pub(crate) fn take_part(&mut self, observer: &mut dyn Observer) -> EngineResult {
        let end = self.hold.run_time(0);
        self.take_figures(end, observer)
    }

    /// Ends a held run now.
    pub(crate) fn finish(&mut self, now: Time) {
        self.end_at(self.hold.run_time(now), now);
    }

    pub(crate) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Whether it was ended, or failed.
    pub(crate) fn is_ended(&self) -> bool {
        self.control.end() != Time::MAX || self.control.cancelled() || self.is_over()
    }

    pub(crate) fn cancel(&mut self) {
        self.control.cancel();
        self.control.wake_all();
    }

    /// The run's figures.
    ///
    /// # Errors
    /// Of the first thread that could not continue.
    pub(crate) fn into_measured(mut self, observer: &mut dyn Observer) -> Result<EngineResult, Error> {
        let end = self.planned_end().min(self.control.end());
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(self.take_figures(end, observer)),
        }
    }

    /// The figures since the part before, of a part that ended at `end`.
    fn take_figures(&mut self, end: Time, observer: &mut dyn Observer) -> EngineResult {
        let Self { plan, gathered, hold, clients, .. } = self;
        let (mut measured, figures) = (gathered.take_measured(), std::mem::take(&mut gathered.figures));
        let outages = std::mem::take(&mut gathered.outages);
        let stalled = std::mem::take(&mut gathered.stalled);
        gathered.message_bytes = 0;
        measured.scripts = gathered.merge.take_totals(observer);
        ThreadFigures::merge(&figures, &mut measured);
        measured.own.stalled_ns = measured.own.stalled_ns.max(stalled);
        let is_closed = !matches!(plan.load, Load::Rate(_)) && !plan.count_drained;
        measured.client_time = is_closed.then(|| ThreadFigures::client_time(&figures));
        measured.users = matches!(plan.load, Load::Users(_)).then(|| ThreadFigures::of_users(&figures));
        if let Some(load) = self.load {
            let start = load.saturating_add(plan.warmup);
            let last_end = figures.iter().map(|thread| thread.last_end).max().unwrap_or_default();
            let end = if plan.count_drained { end.max(last_end) } else { end };
            measured.elapsed = end.saturating_sub(start);
            if plan.until == Until::Caller {
                (measured.stretches, measured.elapsed) = hold.take_stretches(*clients);
            }
            (measured.outages, measured.outages_dropped) = outages.into_outages(start, end);
        }
        measured
    }

    fn planned_end(&self) -> Time {
        match (self.load, self.plan.until) {
            (Some(load), Until::Elapsed(elapsed)) => {
                load.saturating_add(self.plan.warmup).saturating_add(elapsed)
            }
            _ => Time::MAX,
        }
    }

    /// Starts the load once all threads are ready and the observer lets it begin.
    pub(crate) fn start_if_ready(&mut self, now: impl Fn() -> Time, observer: &mut dyn Observer) {
        let is_ready = self.threads.ready == self.threads.count;
        if !is_ready || self.load.is_some() || self.failure.is_some() || self.control.end() != Time::MAX {
            return;
        }
        let ready_at = now();
        match observer.ready() {
            Ok(()) => self.start_load(ready_at, now(), observer),
            Err(error) => {
                self.failure = Some(error);
                self.cancel();
            }
        }
    }

    fn start_load(&mut self, connecting: Time, now: Time, observer: &mut dyn Observer) {
        let load = now + self.lead;
        self.load = Some(load);
        self.gathered.measured.connecting = connecting;
        self.control.set_load(load);
        self.control.wake_all();
        observer.loading(connecting);
    }

    /// Ends the run at `at` on its clock; the driver's clock is at `now`.
    fn end_at(&mut self, at: Time, now: Time) {
        if at < self.control.end() {
            self.control.set_end(at);
        }
        if self.plan.until == Until::Caller {
            self.control.release(self.hold.wind_up(now));
        }
        self.control.wake_all();
    }
}

impl Gathered {
    /// What was measured; the next part has the same driver and CPUs.
    fn take_measured(&mut self) -> EngineResult {
        let EngineResult { driver, driver_note, connecting, cpus, spin, .. } = &self.measured;
        let next = EngineResult {
            driver,
            driver_note: driver_note.clone(),
            connecting: *connecting,
            cpus: cpus.clone(),
            spin: *spin,
            ..EngineResult::default()
        };
        std::mem::replace(&mut self.measured, next)
    }

    /// Passes a thread's notices and records to the observer, and keeps some of them.
    fn pass_on(&mut self, thread: usize, mut batch: Box<Batch>, observer: &mut dyn Observer) {
        if !batch.entries.is_empty() {
            observer.transactions(thread, &batch.entries);
            batch.entries.clear();
        }
        for said in batch.said.drain(..) {
            match said {
                Notice::Abort(abort) => observer.aborted(&abort),
                Notice::Left { client, at } => self.outages.left(client, at),
                Notice::Back { client, at } => self.outages.back(client, at),
                Notice::Message(message) => {
                    observer.message(&message);
                    self.message_bytes = self.message_bytes.saturating_add(message.text.len());
                    let has_room = self.message_bytes <= MESSAGE_BYTES_KEPT;
                    if has_room && self.measured.messages.len() < MESSAGES_KEPT {
                        self.measured.messages.push(message.text);
                    } else {
                        self.measured.messages_dropped += 1;
                    }
                }
            }
        }
        // A thread that has ended does not need it.
        let _ = self.batches[thread].send(batch);
    }
}
