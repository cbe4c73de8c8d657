//! Carries out runs: applies a setup to servers, settles them, measures, judges, makes the record.
//!
//! The caller selects steps with `RunSteps`; only the drop-in measures without it.

mod cache;
mod changes;
mod checked;
mod crash;
mod credits;
mod happened;
mod job;
mod keep;
mod kept;
mod pace;
mod parts;
mod plans;
mod ready;
mod record;
mod reported;
mod settle;
pub(crate) mod texts;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{NotConnected, Observer, Second, Time, Until};
use results::{Finished, Spool};
use server::child::Watchdog;
use server::home::Home;
use server::managed::NetworkAccess;
use server::measuring;
use server::meeting::Meeting;
use server::placement::Placed;
use server::pooler::pgpool::NodeSelects;
use server::sink::{Delay, Sink};
use server::{Stop, StopPhase};
use spec::figures::{self, Figure};
use spec::plan::{Placement, PlannedRun};
use spec::{Class, Doubt, Error, Reason, Run, RunEvent, Validity};
use workloads::jobs::relation_sizes;
use workloads::{ClientWorkload, Places};

pub use self::changes::FailedChange;
pub(crate) use self::changes::check_undone;
pub(crate) use self::checked::Checked;
pub(crate) use self::crash::CrashedRun;
use self::credits::Credits;
pub(crate) use self::keep::{Results, Surroundings};
use self::kept::KeptSessions;
pub(crate) use self::pace::Pace;
pub(crate) use self::parts::SharedLoad;
use self::parts::Start;
pub(crate) use self::ready::{Ready, changed_data};
pub(crate) use self::record::{Judged, judge_and_record, planned};
use self::reported::reported;
pub(crate) use self::settle::settle;
pub(crate) use self::turns::Turn;
use crate::collectors::{
    self, BalancingLook, Encryption, Look, Members, Replication, Watched, balanced_words,
};
use crate::concurrent;
use crate::error::of_sql;
pub(crate) use crate::event::ProgressExt;
pub use crate::event::{EVENTS_VERSION, ExperimentStep, LabEvent, Progress, ScriptSecond, Trial};
use crate::fixed_cost::Probe;
use crate::measure::{Keep, Measured, Measurement, measure};
use crate::setup::{At, Cache, ConnectionPath, Server, Setup};
pub(crate) use crate::stage::{Stage, Takes, load_of};
use crate::strategies::Cause;
use crate::validity::machine::STEADY_SECONDS;
use crate::validity::{self, Probes};
use crate::words;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunSteps {
    pub(crate) settle: bool,
    /// Read the server's counters before and after, and check whether its settings stayed the same.
    pub(crate) counters: bool,
    /// Accept as a result that a server refuses so many clients.
    pub(crate) more_clients: bool,
    /// Explain a sample of transactions, for at most so long.
    pub(crate) explain: Option<Duration>,
    pub(crate) seconds: bool,
}

impl RunSteps {
    pub(crate) const FULL: Self =
        Self { settle: true, counters: true, more_clients: false, explain: None, seconds: true };
    pub(crate) const NONE: Self =
        Self { settle: false, counters: false, more_clients: false, explain: None, seconds: true };
}

#[derive(Debug)]
pub(crate) struct MeasuredRun {
    pub(crate) finished: Finished,
    /// Why it is invalid, as far as it distinguishes such runs.
    pub(crate) cause: Option<Cause>,
    /// The engine's counts; empty for a run without meaning.
    pub(crate) measured: engine::EngineResult,
    /// Why the server could not be queried about it; the clients' figures remain valid.
    pub(crate) lost: Option<Error>,
}

impl MeasuredRun {
    /// A run without load; its record has the reason.
    fn without_a_load(run: Run) -> Self {
        let finished = Finished { run, seconds: Spool::default() };
        Self { finished, cause: None, measured: engine::EngineResult::default(), lost: None }
    }
}

/// Open servers, ready workloads, and what is in force.
pub(crate) struct Runner<'a> {
    /// The experiment's servers; empty if only a sink is used.
    stages: BTreeMap<At, Stage>,
    sink: Option<Sink>,
    pub(crate) progress: &'a mut dyn Progress,
    stop: &'a Stop,
    workloads: BTreeMap<String, Ready>,
    concluding: BTreeSet<(String, At)>,
    /// Idle probes before runs so far, by server and arm.
    probes: BTreeMap<(At, Option<String>), Vec<Probe>>,
    credits: Credits,
    /// How late 1 % of the arrivals start on this host with nothing to do, µs, if schedules are judged by it.
    host_lag_us: Option<f64>,
    kept: KeptSessions,
    /// What this process has of the loads, if several make them.
    shared: Option<SharedLoad>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(
        stages: impl IntoIterator<Item = (At, Stage)>,
        progress: &'a mut dyn Progress,
        stop: &'a Stop,
    ) -> Self {
        Self {
            stages: stages.into_iter().collect(),
            sink: None,
            progress,
            stop,
            workloads: BTreeMap::new(),
            concluding: BTreeSet::new(),
            probes: BTreeMap::new(),
            credits: Credits::default(),
            host_lag_us: None,
            kept: KeptSessions::default(),
            shared: None,
        }
    }

    /// From now on each load is made together with other processes.
    pub(crate) fn share(&mut self, load: SharedLoad) {
        self.shared = Some(load);
    }

    pub(crate) fn stage(&mut self, at: &At) -> Result<&mut Stage, Error> {
        self.stages.get_mut(at).ok_or_else(not_opened)
    }

    /// The same with the progress and the stop.
    pub(crate) fn on_stage(&mut self, at: &At) -> Result<(&mut Stage, &mut dyn Progress, &'a Stop), Error> {
        Ok((self.stages.get_mut(at).ok_or_else(not_opened)?, &mut *self.progress, self.stop))
    }

    /// Starts a process of ours that answers instead of the target.
    pub(crate) fn start_sink(&mut self) -> Result<(), Error> {
        let watchdog = Watchdog::current().map_err(|source| {
            Error::new(Class::Internal, format!("cannot find pgdyno's own program: {source}"))
        })?;
        self.sink = Some(Sink::start(&Home::locate()?, &watchdog.exe, &watchdog, Delay::None)?);
        Ok(())
    }

    pub(crate) fn end_sink(&mut self) {
        self.sink = None;
    }

    /// From now on schedules are judged by this host's own lag.
    pub(crate) fn set_host_lag(&mut self, p99_us: f64) {
        self.host_lag_us = Some(p99_us);
    }

    pub(crate) fn stop(&self) -> &'a Stop {
        self.stop
    }

    pub(crate) fn add(&mut self, name: &str, ready: Ready) {
        self.workloads.insert(name.to_owned(), ready);
    }

    pub(crate) fn stage_and_ready(&mut self, setup: &Setup) -> Option<(&mut Stage, &mut Ready)> {
        Some((self.stages.get_mut(&setup.at())?, self.workloads.get_mut(&setup.asked())?))
    }

    pub(crate) fn ready(&mut self, name: &str) -> Option<&mut Ready> {
        self.workloads.get_mut(name)
    }

    /// Adds the log of a server of ours if its end may have caused the error.
    pub(crate) fn explain(&mut self, error: Error) -> Error {
        let died = self.stages.values_mut().find_map(|stage| stage.check().err());
        match died.filter(|_| error.class() != Class::Interrupted) {
            // What was found before stays attached.
            Some(died) => {
                let (class, hint) = (died.class(), died.hint().unwrap_or_default().to_owned());
                error.in_words(died.to_string()).with_class(class).with_hint(hint)
            }
            None => {
                if let Some(stage) = self.crashed_stage(&error) {
                    return stage.explain(error);
                }
                let error = self.stages.values_mut().fold(error, |error, stage| stage.explain(error));
                self.which_is_gone(error)
            }
        }
    }

    /// With several servers, the error names the server that refuses connections.
    fn which_is_gone(&self, error: Error) -> Error {
        if error.class() != Class::Unreachable || self.stages.len() < 2 {
            return error;
        }
        let gone =
            self.stages.iter().filter(|(_, stage)| !stage.is_at_rest() && stage.target.control().is_err());
        let gone: Vec<String> =
            gone.map(|(at, stage)| format!("{at} ({})", stage.target.redacted())).collect();
        match gone.is_empty() {
            true => error,
            false => {
                let told = format!("{error}\nno connection can be made to {} any more", gone.join(", "));
                error.in_words(told)
            }
        }
    }

    /// Carries out a run; returns nothing when the user stopped at once.
    pub(crate) fn run(
        &mut self,
        run: &PlannedRun,
        setup: &Setup,
        steps: RunSteps,
        keep: Keep<'_>,
    ) -> Result<MeasuredRun, Error> {
        let mut record = planned(run, setup);
        self.bring_about(setup, steps, &mut record)?;
        self.with_what_is_known_of(setup, &mut record)?;
        if record.validity == Validity::Invalid {
            // LevelNames from the guard, so no time is spent, and each run records it.
            return Ok(MeasuredRun::without_a_load(record));
        }
        let clients = self.workloads.get(&setup.asked()).and_then(|ready| ready.workload.clients());
        let routes = clients.and_then(|clients| clients.routes(setup.topology.replicas as usize, setup.seed));
        record.events.extend(routes.map(|words| event("routes", words)));
        self.bring_cache(setup, &mut record)?;
        if self.workloads.get(&setup.asked()).is_some_and(|ready| ready.workload.job().is_some()) {
            return self.do_job(setup, record);
        }
        let mut seen = Seen::default();
        let mut start = self.meeting(run, setup)?;
        let mut taken = self.measure(setup, &record.uuid, (steps, keep), &mut seen, start.as_mut());
        if taken.as_ref().is_err_and(is_of_connecting) && self.kept.end_all() {
            // Kept sessions of other cells may have been in the way.
            taken = self.measure(setup, &record.uuid, (steps, keep), &mut seen, start.as_mut());
        }
        let taken = match taken {
            Err(error) if steps.more_clients && is_of_connecting(&error) => {
                record.validity = Validity::Invalid;
                let detail = format!("not as many clients are let in: {error}");
                record.doubts.push(Doubt { reason: Reason::Errors, detail });
                return Ok(MeasuredRun::without_a_load(record));
            }
            Err(error) => return Err(self.not_started(&setup.at(), error)),
            Ok(taken) => taken,
        };
        let (mut measured, lost, changed) = taken;
        if by_tls(setup) && lost.is_none() && measured.engine.totals().processed() > 0 {
            record.events.push(event("connection", seen.encryption.words().map_err(not_by_tls)?));
        }
        if steps.settle && lost.is_none() {
            self.probe_after(setup, &mut record);
        }
        self.judge(setup, &mut record, &mut measured, changed.as_deref());
        if let Some(stage) = self.stages.get(&setup.at()) {
            stage.explain_replicas(&mut seen.replication);
        }
        validity::replication::mark(&mut record, &seen.replication);
        if let Some((shared, start)) = self.shared.as_ref().zip(start) {
            start.keep(&mut record, shared.part);
        }
        record.events.extend(balanced_words(&seen.balanced).map(|words| event("pooler", words)));
        if let Some(time) = steps.explain.filter(|_| lost.is_none()) {
            let place = self.stage(&setup.at())?.target.place();
            self.take_plans(setup, &place, &mut record, time);
        }
        let cause = Cause::of(&record, &measured.engine.aborts);
        let finished = Finished { run: record, seconds: measured.seconds };
        Ok(MeasuredRun { finished, cause, measured: measured.engine, lost })
    }

    /// Meets the other parts of a load, and returns the least of the places of their next runs; `next` is this part's.
    pub(crate) fn agree(&mut self, setup: &Setup, next: u32) -> Result<u32, Error> {
        let Some(agenda) = self.shared.as_ref().map(|shared| shared.opening(next)) else { return Ok(next) };
        let place = self.stage(&setup.at())?.target.place();
        let mut meeting = Meeting::join(&place, agenda)?;
        let progress = &mut self.progress;
        let released = meeting.wait(self.stop, |missing| progress.note(format!("waiting for {missing}")))?;
        meeting.end();
        Ok(released.position.unwrap_or(next))
    }

    /// Where this process waits for the other parts of a load.
    fn meeting(&mut self, run: &PlannedRun, setup: &Setup) -> Result<Option<Start>, Error> {
        let Some(agenda) = self.shared.as_ref().map(|shared| shared.agenda(run)) else { return Ok(None) };
        let place = self.stage(&setup.at())?.target.place();
        Ok(Some(Start::new(Meeting::join(&place, agenda)?)))
    }

    /// The idle probe directly after a run, before credits are earned again.
    fn probe_after(&mut self, setup: &Setup, record: &mut Run) {
        let probe =
            self.stage(&setup.at()).and_then(|stage| Ok(Probe::take(stage.control()?, is_long(setup))));
        // A failed query shows when the next run begins.
        keep_probe(record, PROBE_AFTER, probe.ok().flatten());
    }

    fn bring_about(&mut self, setup: &Setup, steps: RunSteps, record: &mut Run) -> Result<(), Error> {
        measuring::forget();
        self.switch_to(setup)?;
        self.replicate(setup)?;
        let version = self.connect_by(setup)?;
        record.events.extend(version.map(|version| event("version", version)));
        if let Some(stage) = self.stages.get(&setup.at()) {
            record.events.extend(stage.tile_server_words().into_iter().map(|words| event("version", words)));
        }
        if let Some(stage) = self.stages.get(&setup.at()) {
            let told =
                stage.pooled_words(&setup.at()).into_iter().chain(stage.shared_words().iter().cloned());
            record.events.extend(told.map(|words| event(RunEvent::REMARK, words)));
        }
        if let Some(stage) = self.stages.get(&setup.at()) {
            record
                .events
                .extend(stage.replica_words().into_iter().map(|words| event(RunEvent::REPLICA, words)));
        }
        if setup.placement != Placement::default() {
            record.events.push(event("placement", setup.placement.words()));
        }
        if steps.settle {
            self.settle(setup, record)?;
        }
        let Server::Target(at) = &setup.server else { return Ok(()) };
        let stage = self.stage(at)?;
        stage.await_replicas()?;
        if stage.in_force.settings.is_empty() {
            stage.in_force.settings = stage.recorded()?.into();
        }
        record.settings = Arc::clone(&stage.in_force.settings);
        if setup.changes.is_some() || *at != At::default() {
            // An index may exist in one arm only; tables may differ in size between servers.
            record.relations = relation_sizes(stage.control()?)?;
        }
        if *at != At::default() {
            let on = stage.target.storage_label().map(|label| format!(", on {label}")).unwrap_or_default();
            record.events.push(event(RunEvent::SERVER, format!("{at}: {}{on}", stage.target.redacted())));
        }
        Ok(())
    }

    /// Judges a measured run; changed settings are read again before the next one.
    fn judge(&mut self, setup: &Setup, record: &mut Run, measured: &mut Measured, changed: Option<&str>) {
        let (before, after) = (kept_probe(record, PROBE_BEFORE), kept_probe(record, PROBE_AFTER));
        let earlier = self.probes.entry((setup.at(), record.arm.clone())).or_default();
        let probes = Probes { usual: Probe::usual(earlier), before, after };
        earlier.extend(before);
        let ready = &self.workloads[&setup.asked()];
        let counts: Vec<_> = measured.engine.scripts.iter().map(|script| script.counts).collect();
        measured.figures.append(ready.workload.figures(&counts));
        let judged = Judged {
            changed,
            probes,
            host_lag_us: self.host_lag_us,
            scripts: &ready.scripts,
            items: &ready.items,
            may_be_empty: ready.workload.may_be_empty(),
            advice_on_empty: ready.workload.advice_on_empty(),
        };
        judge_and_record(record, setup, measured, &judged);
        let on_server = self.stage(&setup.at()).map(Stage::others_measuring).unwrap_or_default();
        concurrent::mark(record, on_server);
        let ready = &self.workloads[&setup.asked()];
        let remark = |note: &String| event(RunEvent::REMARK, words::of_workload(&record.workload, note));
        let notes = ready.guarded.warnings.iter().chain(&ready.guarded.notes);
        let remarks: Vec<RunEvent> = notes.map(remark).collect();
        record.events.extend(remarks);
        record.events.extend(ready.guarded.is_of_osm.map(RunEvent::map_source));
        let ended = self.credits.after(&setup.at(), record, Instant::now());
        if let Some(ended) = ended {
            self.progress.note(ended.detail.clone());
            record.events.push(ended);
        }
        if changed.is_some()
            && let Ok(stage) = self.stage(&setup.at())
        {
            // The next run sets and reads the settings of its arm again.
            stage.in_force.arm = None;
            stage.in_force.settings = Arc::default();
        }
    }

    /// Brings the server to the state that a run needs; returns whether it changed.
    pub(crate) fn switch_to(&mut self, setup: &Setup) -> Result<bool, Error> {
        if let Some(stage) = self.stages.get_mut(&setup.at()) {
            stage.wake()?;
        }
        let set = self.set(setup)?;
        Ok(self.change(setup)? || set)
    }

    /// Brings the replicas that a run needs.
    pub(crate) fn replicate(&mut self, setup: &Setup) -> Result<(), Error> {
        let Self { stages, progress, .. } = self;
        let stage = stages.get_mut(&setup.at());
        stage.map_or(Ok(()), |stage| stage.replicate(setup.topology, &mut **progress))
    }

    /// Restarts every copy before its next use: a round begins.
    pub(crate) fn mark_restart(&mut self) {
        self.stages.values_mut().for_each(Stage::mark_restart);
    }

    /// Stops all copies but one, which is restarted: for runs that need to be alone.
    pub(crate) fn leave_alone(&mut self, at: &At) -> Result<(), Error> {
        let Self { stages, progress, .. } = self;
        reported(&mut **progress, "the other servers to stop", || {
            for (other, stage) in stages {
                if other == at { stage.start_alone()? } else { stage.rest()? }
            }
            Ok(())
        })
    }

    /// Stops all servers but one, which is restarted: no background work remains for another one, and each
    /// run begins in the same state.
    pub(crate) fn start_alone(&mut self, at: &At) -> Result<(), Error> {
        let Self { stages, progress, .. } = self;
        reported(&mut **progress, "the servers to stop", || stages.values_mut().try_for_each(Stage::rest))?;
        let stage = stages.get_mut(at).ok_or_else(not_opened)?;
        reported(&mut **progress, "the server to start", || stage.wake())
    }

    pub(crate) fn wake_all(&mut self) -> Result<(), Error> {
        let Self { stages, progress, .. } = self;
        reported(&mut **progress, "the servers to restart", || stages.values_mut().try_for_each(Stage::wake))
    }

    pub(crate) fn remove_copies(&mut self) -> Result<(), Error> {
        let (copies, others) =
            std::mem::take(&mut self.stages).into_iter().partition(|(at, _)| at.copy.is_some());
        self.stages = others;
        // Each of them, even if one fails.
        let removed: Vec<_> = reported(&mut *self.progress, "the copies to stop", || {
            BTreeMap::into_values(copies).map(Stage::remove).collect()
        });
        removed.into_iter().collect()
    }

    fn set(&mut self, setup: &Setup) -> Result<bool, Error> {
        let Some(arm) = &setup.arm else { return Ok(false) };
        let (stage, mut progress, _) = self.on_stage(&setup.at())?;
        if stage.in_force.arm.as_ref() == Some(arm) && !stage.is_to_restart() {
            return Ok(false);
        }
        let name = arm.name.clone().unwrap_or_else(|| "the server's own settings".to_owned());
        let on = setup.at().copy.map(|number| format!(", on copy {number}")).unwrap_or_default();
        progress.step(ExperimentStep::Settings, format!("{name}{on}"));
        let first = stage.in_force.arm.take().is_none();
        let applied =
            reported(&mut *progress, "the server to take its settings", || stage.apply(&arm.settings))?;
        for added in applied.added.iter().filter(|_| first) {
            progress.note(added.clone());
        }
        stage.in_force.settings = stage.recorded()?.into();
        stage.in_force.arm = Some(arm.clone());
        Ok(true)
    }

    fn change(&mut self, setup: &Setup) -> Result<bool, Error> {
        let Some(changes) = &setup.changes else { return Ok(false) };
        let (stage, progress, _) = self.on_stage(&setup.at())?;
        changes::bring(stage, changes, progress)
    }

    /// Sets how the run's clients connect; returns the program of a pooler and its version.
    fn connect_by(&mut self, setup: &Setup) -> Result<Option<String>, Error> {
        let Self { stages, workloads, .. } = self;
        let Some(stage) = stages.get_mut(&setup.at()) else { return Ok(None) };
        let carried = workloads.get(&setup.asked()).map(|ready| ready.workload.carried()).unwrap_or_default();
        stage.connect_by(&setup.connection, setup.clients, carried)?;
        match setup.clients {
            // A job may replace the tables that they know.
            0 => stage.stop_tile_servers(),
            _ => stage.start_tile_servers()?,
        }
        Ok(stage.pooler_version())
    }

    /// If a factor sets which data are in memory: the last step before the load, so that nothing else changes
    /// the cache.
    fn bring_cache(&mut self, setup: &Setup, record: &mut Run) -> Result<(), Error> {
        if setup.cache == Cache::AsLeft {
            return Ok(());
        }
        self.progress.step(ExperimentStep::Cache, "the server is restarted");
        let stop = self.stop;
        let (told, resident) = cache::bring(self.stage(&setup.at())?, setup.cache, stop)?;
        record.figures.set(figures::PAGE_CACHE_PCT, resident.pct());
        record.events.push(event("cache", told));
        self.connect_by(setup).map(drop)
    }

    /// The same state before every run, recorded with it.
    fn settle(&mut self, setup: &Setup, record: &mut Run) -> Result<(), Error> {
        self.progress.step(ExperimentStep::Reset, "the workload's own data, autovacuum, a checkpoint");
        let stop = self.stop;
        let Self { stages, workloads, concluding, .. } = self;
        let Some(stage) = stages.get_mut(&setup.at()) else { return Ok(()) };
        let ready = workloads.get_mut(&setup.asked());
        // Of a load in parts, the first resets what all use.
        if let Some(ready) = ready.filter(|_| setup.part.number == 0) {
            if ready.workload.asks_redis() {
                concluding.insert((setup.asked(), setup.at()));
            }
            stage.look_by(setup.search_path())?;
            let remarks = stage.with_site(|site| {
                site.state = setup.answered_by();
                ready.workload.reset(site)
            })?;
            stage.look_by(None)?;
            record.events.extend(remarks.into_iter().map(|remark| event("remark", remark)));
        }
        let control = stage.control()?;
        let settled = settle(control, &|| stop.ends_waits()).map_err(of_sql)?;
        record.figures.extend(settled.checkpoint_s.map(|seconds| (figures::CHECKPOINT_BEFORE_S, seconds)));
        record.figures.set(figures::AUTOVACUUM_WAIT_S, settled.autovacuum_s);
        if settled.autovacuum_at_work {
            let detail = "autovacuum was still at work when the run began".to_owned();
            record.events.push(event("autovacuum", detail));
        }
        let probe = Probe::take(control, is_long(setup));
        keep_probe(record, PROBE_BEFORE, probe);
        record.events.extend(self.credits.before(&setup.at(), Instant::now()));
        Ok(())
    }

    /// Records facts about its workload from before the run.
    fn with_what_is_known_of(&mut self, setup: &Setup, record: &mut Run) -> Result<(), Error> {
        let missing = || Error::new(Class::Internal, format!("no workload {}", setup.asked()));
        let ready = self.workloads.get_mut(&setup.asked()).ok_or_else(missing)?;
        record.artifacts = std::mem::take(&mut ready.artifacts);
        record.figures.append(ready.guarded.figures.clone());
        record.tile_samples.clone_from(&ready.guarded.samples);
        record.tile_probes.clone_from(&ready.guarded.probes);
        if !ready.prepared.hash.is_empty() {
            record.events.push(event("prepared", ready.prepared.hash.clone()));
        }
        if let Some(why) = ready.guarded.empty.clone() {
            record.validity = Validity::Invalid;
            record.doubts.push(Doubt { reason: Reason::EmptyResults, detail: why });
        }
        Ok(())
    }

    /// Measures; also returns why the server could not be queried, and which settings were changed in the
    /// meantime.
    fn measure(
        &mut self,
        setup: &Setup,
        run: &str,
        (steps, keep): (RunSteps, Keep<'_>),
        Seen { encryption, replication, balanced }: &mut Seen,
        start: Option<&mut Start>,
    ) -> Result<(Measured, Option<Error>, Option<String>), Error> {
        self.progress.step(ExperimentStep::WarmUp, "clients connect, then warm up");
        let under_test = self.under_test(&setup.asked());
        let Self { stages, sink, workloads, progress, stop, .. } = self;
        let mut stage = stages.get_mut(&setup.at());
        let workload = clients_of(workloads, setup)?;
        let mut telling =
            Telling { progress: &mut **progress, run, stop, seconds: steps.seconds, measuring: None, start };
        let (places, server) = match (&setup.server, &sink, &mut stage) {
            (Server::Sink, Some(sink), _) => (Places::from(sink.place().clone()), Some(sink.pid())),
            (_, _, Some(stage)) => (stage.places(), stage.postmaster()?),
            _ => return Err(Error::new(Class::Internal, "nobody to ask")),
        };
        let stage_is_managed = stage.as_ref().is_none_or(|stage| stage.target.postmaster().is_some());
        // Released after the load.
        let _placed = match (&setup.server, &stage) {
            (Server::Target(_), Some(stage)) => stage.place(&setup.placement)?,
            _ => Placed::default(),
        };
        let mut look = match &stage {
            Some(stage) if by_tls(setup) => Some(stage.target.control()?),
            _ => None,
        };
        let look = look.as_mut().map(|sql| Look { sql, seen: encryption });
        let (pooler, replicas) = stage.as_ref().map(|stage| stage.member_pids()).unwrap_or_default();
        let balancing = stage.as_ref().and_then(|stage| stage.balancing_pooler());
        let balancing = balancing.map(|place| BalancingLook { place, seen: balanced });
        let members = Members { pooler, replicas, balancing };
        let mut of_replicas = match &stage {
            Some(stage) if steps.counters && !setup.topology.is_alone() => Some(stage.target.control()?),
            _ => None,
        };
        let replication = of_replicas
            .as_mut()
            .zip(stage.as_ref())
            .and_then(|(sql, stage)| stage.replication_look(sql, replication));
        let sql = match &mut stage {
            Some(stage) if steps.counters => Some(stage.control()? as _),
            _ => None,
        };
        // For a trial, report what the server waited for.
        let waits = setup.sought.is_some() && setup.rate().is_some();
        let asks_redis = steps.counters && workload.asks_redis();
        let mut collectors = collectors::all(Watched {
            sql,
            redis: places.redis().ok().filter(|_| asks_redis),
            server,
            managed: stage_is_managed,
            under_test,
            elsewhere: server.is_none(),
            uncut: true,
            encryption: look,
            waits,
            warmup: setup.warmup,
            replication,
            members,
        });
        let load = Measurement {
            workload,
            places: &places,
            setup,
            keep,
            observer: &mut telling,
            collectors: &mut collectors,
        };
        let measured = measure(load, stop);
        drop(collectors);
        let _concluding = stop.concluding();
        let mut measured = measured?;
        let Some(stage) = stage.filter(|_| steps.counters) else { return Ok((measured, None, None)) };
        telling.progress.step(ExperimentStep::Collect, "counters and verdict");
        let (lost, changed) = stage.afterwards(&mut measured, stop);
        Ok((measured, lost, changed))
    }

    /// Processes of all servers under test, if they are known to be on this machine; `asked` is one of the
    /// workloads on them.
    fn under_test(&mut self, asked: &str) -> Option<Vec<u32>> {
        if self.workloads.get(asked).is_some_and(|ready| ready.workload.asks_web()) {
            return None;
        }
        let sink = self.sink.as_ref().map(Sink::pid);
        let mut all: Vec<u32> = sink.into_iter().chain(measuring::of_our_load()).collect();
        for stage in self.stages.values_mut() {
            all.extend(stage.processes()?);
        }
        Some(all)
    }

    /// Clients could not connect: if the server has ended or refuses us too, that is the better error.
    fn not_started(&mut self, at: &At, error: Error) -> Error {
        if let Some(stage) = self.stages.get_mut(at).filter(|_| is_of_connecting(&error)) {
            if let Err(gone) = stage.check() {
                return gone;
            }
            stage.close_control();
            if let Err(refused) = stage.control() {
                return refused;
            }
        }
        error
    }

    /// Tells the job of a setup that its run is stored.
    pub(crate) fn stored(&self, setup: &Setup) -> Result<(), Error> {
        let job = self.workloads.get(&setup.asked()).and_then(|ready| ready.workload.job());
        job.map_or(Ok(()), |job| job.stored())
    }

    /// Lets every workload clean up; returns the failures.
    fn conclude(&mut self) -> Result<(), Error> {
        let Self { stages, workloads, concluding, .. } = self;
        let mut all = Ok(());
        for (asked, at) in &*concluding {
            let Some((ready, stage)) = workloads.get_mut(asked).zip(stages.get_mut(at)) else { continue };
            // A stopped copy is removed or made again.
            if !(at.copy.is_some() && stage.is_at_rest()) {
                let concluded =
                    stage.wake().and_then(|()| stage.with_site(|site| ready.workload.conclude(site)));
                all = all.and(concluded);
            }
        }
        all
    }

    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.kept.end_all();
        let concluded = self.conclude();
        self.progress.step(ExperimentStep::Restore, "the server's own settings");
        // Each of them, even if one fails.
        let undone: Vec<_> = self.stages.values_mut().map(changes::undo_all).collect();
        let restored: Vec<_> = self.stages.values_mut().map(Stage::restore).collect();
        self.progress.step(ExperimentStep::Stop, "what was started");
        let stages = std::mem::take(&mut self.stages);
        reported(&mut *self.progress, "the servers to stop", || drop(stages));
        std::iter::once(concluded).chain(undone).chain(restored).collect()
    }
}

/// Findings of collectors other than figures.
#[derive(Default)]
struct Seen {
    encryption: Encryption,
    replication: Replication,
    balanced: Vec<NodeSelects>,
}

fn clients_of<'r>(
    workloads: &'r BTreeMap<String, Ready>,
    setup: &Setup,
) -> Result<&'r dyn ClientWorkload, Error> {
    let ready = workloads.get(&setup.asked());
    let missing = || Error::new(Class::Internal, format!("nobody carries {} out", setup.asked()));
    ready.and_then(|ready| ready.workload.clients()).ok_or_else(missing)
}

/// Whether clients could not connect, for any reason: fewer may.
fn is_of_connecting(error: &Error) -> bool {
    error.attached::<NotConnected>().is_some()
}

fn not_opened() -> Error {
    Error::new(Class::Internal, "no server was opened")
}

fn event(kind: &str, detail: String) -> RunEvent {
    RunEvent { time_us: 0, kind: kind.to_owned(), detail }
}

fn by_tls(setup: &Setup) -> bool {
    setup.connection == ConnectionPath::Via(NetworkAccess::Tls)
}

fn not_by_tls(why: String) -> Error {
    let what = format!("clients should have connected by TLS, but {why}: the figures would be without TLS");
    Error::new(Class::Guard, what).with_hint("look at `ssl` among the server's settings, and at its log")
}

/// Whether the measured part is long enough to judge its steadiness, and to use a thorough idle probe.
fn is_long(setup: &Setup) -> bool {
    const LONG_NS: Time = STEADY_SECONDS as Time * 1_000_000_000;
    matches!(setup.until, Until::Elapsed(length) if length >= LONG_NS)
}

/// Figures of the idle probe before the run, and of the one after it: minimum and mean.
const PROBE_BEFORE: [Figure; 2] = [figures::PROBE_BEFORE_MS, figures::PROBE_BEFORE_MEAN_MS];
const PROBE_AFTER: [Figure; 2] = [figures::PROBE_AFTER_MS, figures::PROBE_AFTER_MEAN_MS];

fn keep_probe(record: &mut Run, of: [Figure; 2], probe: Option<Probe>) {
    let values = probe.map(|Probe { least_ms, mean_ms }| [least_ms, mean_ms]);
    record.figures.extend(values.into_iter().flat_map(|values| of.into_iter().zip(values)));
}

fn kept_probe(record: &Run, [least, mean]: [Figure; 2]) -> Option<Probe> {
    Some(Probe { least_ms: record.figures.get(least)?, mean_ms: record.figures.get(mean)? })
}

struct Telling<'a> {
    progress: &'a mut dyn Progress,
    run: &'a str,
    stop: &'a Stop,
    seconds: bool,
    /// Once the load has started, the first interrupt lets the run finish.
    measuring: Option<StopPhase>,
    /// Where the other parts of the load are waited for.
    start: Option<&'a mut Start>,
}

impl Observer for Telling<'_> {
    fn ready(&mut self) -> Result<(), Error> {
        let Self { start, stop, progress, .. } = self;
        start.as_mut().map_or(Ok(()), |start| start.wait(stop, &mut **progress))
    }

    fn loading(&mut self, _connecting: Time) {
        if let Some(start) = &mut self.start {
            start.announced();
        }
        self.measuring = Some(self.stop.measuring());
    }

    fn measuring(&mut self) {
        self.progress.step(ExperimentStep::Measure, "what happens from now on counts");
    }

    fn second(&mut self, second: &Second) {
        if !self.seconds {
            return;
        }
        self.progress.event(LabEvent::second(self.run, second));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 9,276 tps of a second with nothing to do were above the 2,614 of the database.
    #[test]
    fn seconds_of_the_idle_look_are_not_shown() {
        struct Heard(usize);
        impl Progress for Heard {
            fn event(&mut self, _event: LabEvent) {
                self.0 += 1;
            }
        }
        for (seconds, wanted) in [(false, 0), (true, 1)] {
            let (mut heard, stop) = (Heard(0), Stop::new());
            let mut telling = Telling {
                progress: &mut heard,
                run: "idle",
                stop: &stop,
                seconds,
                measuring: None,
                start: None,
            };
            telling.second(&Second { length_ns: 1_000_000_000, ..Second::default() });
            assert_eq!(heard.0, wanted);
        }
    }
}
