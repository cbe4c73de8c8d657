//! The caller's side of a run: starts the load when all are ready, merges what the threads measured, ends it.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use crate::client::Time;
use crate::control::{Control, Report};
use crate::error::EngineError;
use crate::measured::{Abort, Measured, Second};
use crate::merge::Merge;
use crate::observer::Observer;
use crate::outages::Outages;
use crate::outbox::{Batch, Said};
use crate::plan::{Plan, Until};
use crate::stop::Stop;
use crate::wake::Notify;

/// How long transactions may stay open after the end until the observer is told, ns.
const WAITING: Time = 5_000_000_000;
/// Messages kept over the run; the rest is only counted.
const MESSAGES_KEPT: usize = 1000;

/// Where threads get back what they handed over: their seconds, their batches.
pub(crate) struct Recycle {
    pub(crate) seconds: Sender<Box<Second>>,
    pub(crate) batches: Sender<Box<Batch>>,
}

/// Decides for all threads; told everything through [`Report`]s.
pub(crate) struct Coordinator<'a> {
    plan: &'a Plan,
    control: Arc<Control>,
    observer: &'a mut dyn Observer,
    threads: usize,
    /// How long before its start the load is announced, so that all threads are awake for it.
    lead: Time,
    notifiers: Vec<Arc<dyn Notify>>,
    ready: usize,
    idle: usize,
    last_idle: Time,
    /// When the last transaction ended.
    last_end: Time,
    batches: Vec<Sender<Box<Batch>>>,
    /// Threads that reported figures or an error.
    accounted: usize,
    gone: usize,
    load: Option<Time>,
    told_measuring: bool,
    told_waiting: bool,
    outages: Outages,
    merge: Merge,
    measured: Measured,
    aborts: Vec<(Time, Abort)>,
    failure: Option<EngineError>,
}

impl<'a> Coordinator<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        control: Arc<Control>,
        observer: &'a mut dyn Observer,
        lead: Time,
        recycle: Vec<Recycle>,
    ) -> Self {
        let (seconds, batches): (Vec<_>, Vec<_>) =
            recycle.into_iter().map(|recycle| (recycle.seconds, recycle.batches)).unzip();
        Self {
            plan,
            control,
            observer,
            threads: seconds.len(),
            lead,
            notifiers: Vec::new(),
            ready: 0,
            idle: 0,
            last_idle: 0,
            last_end: 0,
            batches,
            accounted: 0,
            gone: 0,
            load: None,
            told_measuring: false,
            told_waiting: false,
            outages: Outages::default(),
            merge: Merge::new(plan.scripts, seconds),
            measured: Measured::default(),
            aborts: Vec::new(),
            failure: None,
        }
    }

    /// Whether all threads are gone.
    pub(crate) fn is_over(&self) -> bool {
        self.gone == self.threads
    }

    /// When it wants to be asked again, beside every now and then.
    pub(crate) fn next_tick(&self) -> Option<Time> {
        self.load.filter(|_| !self.told_measuring).map(|load| load.saturating_add(self.plan.warmup))
    }

    /// Sees to what only time or the user brings about.
    pub(crate) fn tick(&mut self, now: Time, stop: &Stop) {
        if stop.is_set() && !self.control.stopped() {
            self.control.set_stopped();
            let early = now < self.planned_end().min(self.control.end());
            self.measured.interrupted = early || self.control.open() > 0;
            self.end_at(now);
        }
        if self.next_tick().is_some_and(|at| now >= at) {
            self.told_measuring = true;
            if self.control.end() == Time::MAX {
                self.observer.measuring();
            }
        }
        let end = self.planned_end().min(self.control.end());
        if !self.told_waiting && now >= end.saturating_add(WAITING) && self.gone < self.threads {
            self.told_waiting = true;
            match self.control.open() {
                0 => {}
                clients => self.observer.waiting(clients),
            }
        }
    }

    /// Takes one report.
    pub(crate) fn take(&mut self, report: Report, now: Time) {
        match report {
            Report::Up { driver, note, notify } => {
                self.measured.driver = driver;
                self.measured.driver_note = note;
                // Orders given before it could be woken.
                if self.control.cancelled() || self.control.stopped() {
                    notify.notify();
                }
                self.notifiers.push(notify);
            }
            Report::Ready => {
                self.ready += 1;
                if self.ready == self.threads {
                    self.start_load(now);
                }
            }
            Report::Second { thread, second } => self.merge.take(thread, second, self.observer),
            Report::Batch { thread, batch } => self.pass_on(thread, batch),
            Report::Idle { at } => {
                self.idle += 1;
                self.last_idle = self.last_idle.max(at);
                if self.idle == self.threads {
                    self.end_at(self.last_idle);
                }
            }
            Report::Failed { error } => {
                self.accounted += 1;
                self.failure.get_or_insert(error);
                self.cancel();
            }
            Report::Finished { thread, figures } => {
                self.accounted += 1;
                self.last_end = self.last_end.max(figures.last_end);
                self.merge.finished(thread, self.observer);
                figures.merge_into(&mut self.measured, &mut self.aborts);
            }
            Report::Gone => {
                self.gone += 1;
                // One that said nothing before panicked; the others must not go on for nobody.
                if self.gone > self.accounted {
                    self.cancel();
                }
            }
        }
    }

    /// Makes all threads leave at once.
    pub(crate) fn cancel(&mut self) {
        self.control.cancel();
        self.notify_all();
    }

    /// What the run gave.
    ///
    /// # Errors
    /// The first thread's that could not go on.
    pub(crate) fn into_measured(mut self) -> Result<Measured, EngineError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let planned_end = self.planned_end();
        self.measured.scripts = self.merge.into_totals(self.observer);
        self.aborts.sort_by_key(|(at, abort)| (*at, abort.client));
        self.measured.aborts = self.aborts.into_iter().map(|(_, abort)| abort).collect();
        if let Some(load) = self.load {
            let start = load.saturating_add(self.plan.warmup);
            let end = planned_end.min(self.control.end());
            let end = if self.plan.count_drained { end.max(self.last_end) } else { end };
            self.measured.elapsed = end.saturating_sub(start);
            (self.measured.outages, self.measured.outages_dropped) = self.outages.into_outages(start, end);
        }
        Ok(self.measured)
    }

    /// Tells the observer what a thread's clients said and did, and keeps some of it.
    fn pass_on(&mut self, thread: usize, mut batch: Box<Batch>) {
        if !batch.entries.is_empty() {
            self.observer.transactions(thread, &batch.entries);
            batch.entries.clear();
        }
        for said in batch.said.drain(..) {
            match said {
                Said::Abort(abort) => self.observer.aborted(&abort),
                Said::Left { client, at } => self.outages.left(client, at),
                Said::Back { client, at } => self.outages.back(client, at),
                Said::Message(message) => {
                    self.observer.message(&message);
                    if self.measured.messages.len() < MESSAGES_KEPT {
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

    fn planned_end(&self) -> Time {
        match (self.load, self.plan.until) {
            (Some(load), Until::Elapsed(elapsed)) => {
                load.saturating_add(self.plan.warmup).saturating_add(elapsed)
            }
            _ => Time::MAX,
        }
    }

    fn start_load(&mut self, now: Time) {
        if self.control.end() != Time::MAX {
            return;
        }
        let load = now + self.lead;
        self.load = Some(load);
        self.measured.connecting = now;
        self.control.set_load(load);
        self.notify_all();
        self.observer.loading(now);
    }

    fn end_at(&mut self, at: Time) {
        if at < self.control.end() {
            self.control.set_end(at);
        }
        self.notify_all();
    }

    fn notify_all(&self) {
        self.notifiers.iter().for_each(|notify| notify.notify());
    }
}
