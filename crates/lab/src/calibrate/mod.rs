//! What this host can do as a load generator: `pgdyno calibrate`.
//!
//! It measures placements of client and server first. Then come the cost of an operation and the lateness of
//! wake-ups against a [`Sink`](server::sink) and a private server, how late scheduled arrivals start, idle
//! and under load, and the highest rate without a fault. Every measurement is an ordinary run, judged by the
//! rules of all runs, and stored.

mod placements;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use engine::DriverChoice;
use results::ExperimentId;
use server::Stop;
use server::host;
use spec::figures::{self, Figure};
use spec::plan::CalibrationPlan;
use spec::{Class, Doubt, Error, MeasuredTarget, Run, Validity};

use crate::concurrent;
use crate::error::{explain, of_sql};
use crate::facts;
use crate::jobs::prepare;
use crate::known_host::{Advice, KnownHost, Lag};
use crate::measure::Keep;
use crate::runner::{
    ExperimentStep, Identity, LabEvent, Progress, ProgressExt, Ready, Results, RunSteps, Runner, Stage,
    Surroundings, try_results,
};
use crate::setup::At;
pub use crate::strategies::calibration::{Advised, LAG_CLIENTS, LAG_RATE, Limit, Placed};
use crate::strategies::calibration::{Calibration, Operation, WithPlacements, advised, disturbed, lag_us};
use crate::strategies::{PastRun, Strategy};
use crate::target_spec::TargetAccess;
pub use crate::validity::HOST_FACTOR;

/// The private server to measure; kept for the next calibration.
const SERVER: &str = "calibrate";
const QUESTION: &str =
    "What does an operation cost this load generator, how punctual is it, and where does it end?";

/// Options of a calibration.
#[derive(Debug, Clone)]
pub struct CalibrationOptions {
    pub driver: DriverChoice,
    /// Approximate time of all measurements together.
    pub time: Duration,
    /// Each at least 1.
    pub clients: Vec<u32>,
    pub pg_bin: Option<PathBuf>,
    pub results: PathBuf,
    pub seed: u64,
}

/// Quantiles of a distribution, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lateness {
    pub p50_us: f64,
    pub p99_us: f64,
}

/// Result for one kind of operation and one number of clients.
#[derive(Debug, Clone)]
pub struct Row {
    pub what: &'static str,
    /// All on one thread.
    pub clients: u32,
    pub driver: String,
    /// Client CPU per operation, µs, at full speed; `None` if arrivals were scheduled.
    pub cpu_us: Option<f64>,
    pub per_second: Option<f64>,
    /// Share of the time in which the load thread ran, percent.
    pub busy_pct: Option<f64>,
    /// Arrivals per second for `wakeup` and `start_lag`.
    pub rate: Option<f64>,
    pub wakeup: Option<Lateness>,
    /// How late arrivals started that found a free client.
    pub start_lag: Option<Lateness>,
    pub validity: Validity,
    pub doubts: Vec<Doubt>,
}

/// The result of a calibration.
#[derive(Debug)]
pub struct Calibrated {
    pub rows: Vec<Row>,
    pub placements: Vec<Placed>,
    pub not_placed: Vec<(&'static str, String)>,
    pub advised: Option<Advised>,
    /// Start lag at [`LAG_RATE`] of arrivals with nothing to do, the better of two tries: the lag of the host
    /// itself.
    pub idle: Row,
    pub start_lag: Row,
    /// The highest clean rate, and the highest rate that is kept as well as the host can.
    pub limit: Limit,
    pub stored: ExperimentId,
    pub not_stored: Option<Error>,
    pub remarks: Vec<String>,
}

/// Measures this host.
///
/// # Errors
/// [`Error`], with what to try; runs finished before it are stored.
pub fn run(
    options: &CalibrationOptions,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Calibrated, Error> {
    explain(stop, calibrate(options, progress, stop))
}

fn calibrate(
    options: &CalibrationOptions,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<Calibrated, Error> {
    let mut remarks = Vec::new();
    try_results(Some(&options.results), &mut *progress)?;
    let mut stage = server(options, &mut *progress, stop, &mut remarks)?;
    // Without a server nothing else waits.
    concurrent::take_turn(&mut *progress, stop)?;
    if let Some(stage) = &mut stage {
        let control = stage.control()?;
        crate::runner::settle(control, &|| stop.soon()).map_err(of_sql)?;
    }
    let (placements, not_placed) = placements::available(stage.as_ref());
    let strategy = WithPlacements {
        placements,
        calibration: Calibration {
            time: options.time,
            clients: options.clients.clone(),
            server: stage.is_some(),
            driver: options.driver,
            seed: options.seed,
        },
    };
    let results = results(options, stage.as_ref())?;
    let mut runner = Runner::new(stage.map(|stage| (At::default(), stage)), progress, stop);
    get_ready(&mut runner, strategy.calibration.server)?;
    let mut session =
        Calibrating { options, strategy: &strategy, results, done: Vec::new(), not_placed, not_stored: None };
    session.carry_out(&mut runner)?;
    session.conclude(remarks)
}

struct Calibrating<'a> {
    options: &'a CalibrationOptions,
    strategy: &'a WithPlacements,
    results: Results,
    done: Vec<PastRun>,
    not_placed: Vec<(&'static str, String)>,
    /// Why no more runs are stored; results are reported nevertheless.
    not_stored: Option<Error>,
}

impl Calibrating<'_> {
    fn carry_out(&mut self, runner: &mut Runner<'_>) -> Result<(), Error> {
        let lengths = self.strategy.lengths();
        let left = |number: usize| lengths.iter().skip(number).sum::<Duration>();
        let (planned, results) = (self.strategy.planned(), self.options.results.clone());
        runner.progress.event(LabEvent::Begin {
            planned,
            stored: 0,
            left: left(0),
            left_at_most: None,
            results,
        });
        // The group of runs with the same description: its number, description and first run.
        let mut group: Option<(usize, String, usize)> = None;
        // Runs that are not stored yet. A group is stored as a whole, but the trials of a search one by one.
        let mut pending: Vec<results::Finished> = Vec::new();
        let mut begun = None;
        while let Some(block) = self.strategy.next(&self.done) {
            for next in block.runs {
                if group.as_ref().is_none_or(|(number, ..)| *number != next.number) {
                    self.store(&mut pending);
                    begun = None;
                    if let Some(group) = group.take() {
                        self.tell_finished(runner, &group, left(group.0));
                    }
                    let (number, takes, what) = (next.number, next.takes, next.what.clone());
                    let left = left(number - 1);
                    runner.progress.event(LabEvent::RunStarted {
                        number,
                        planned,
                        what,
                        takes,
                        next: None,
                        left,
                    });
                    group = Some((next.number, next.what.clone(), self.done.len()));
                }
                self.stopped(pending.is_empty() && runner.stop().soon(), next.number)?;
                let keep = Keep::Distributions(&self.options.results);
                let ran = runner.run(&next.run, &next.setup, RunSteps::NONE, keep)?;
                self.stopped(runner.stop().at_once(), next.number)?;
                self.done.push(PastRun {
                    run: ran.finished.run.clone(),
                    cause: ran.cause,
                    number: 0,
                    in_turn: false,
                });
                pending.push(ran.finished);
                if next.number == planned {
                    self.store(&mut pending);
                } else {
                    // After the first interrupt the other runs of the group still finish.
                    begun.get_or_insert_with(|| runner.stop().measuring());
                }
                if let Some(words) = self.strategy.calibration.trial_words(self.strategy.parts(&self.done).1)
                {
                    runner.progress.step(ExperimentStep::Measure, words);
                }
            }
        }
        if let Some(group) = group {
            self.tell_finished(runner, &group, Duration::ZERO);
        }
        Ok(())
    }

    /// A stopped calibration starts again from the beginning: the machine may have changed.
    fn stopped(&self, stop: bool, number: usize) -> Result<(), Error> {
        let are = if number == 2 { "is" } else { "are" };
        let what = format!("stopped; {} of {} measurements {are} kept", number - 1, self.strategy.planned());
        if stop { Err(Error::new(Class::Interrupted, what)) } else { Ok(()) }
    }

    /// Stores runs that belong together, unless storing failed before.
    fn store(&mut self, pending: &mut Vec<results::Finished>) {
        if self.not_stored.is_none() && !pending.is_empty() {
            self.not_stored = self.results.keep(pending).err();
        }
        pending.clear();
    }

    /// Reports a group of runs by its first run, or by the best of a search.
    fn tell_finished(&self, runner: &mut Runner<'_>, group: &(usize, String, usize), left: Duration) {
        let (number, what, first) = group;
        let planned = self.strategy.planned();
        let limit = self.strategy.calibration.limit(self.strategy.parts(&self.done).1, host::cores());
        let shown = match *number == planned {
            true => limit.clean.as_ref().or(limit.kept.as_ref()),
            false => self.done.get(*first).map(|done| &done.run),
        };
        if let Some(run) = shown {
            runner.progress.event(LabEvent::finished(run, *number, planned, what.clone(), left));
        }
    }

    fn conclude(self, remarks: Vec<String>) -> Result<Calibrated, Error> {
        let missing = || Error::new(Class::Internal, "a measurement is missing");
        let (placed, calibrated) = self.strategy.parts(&self.done);
        let placements = self.strategy.placements.found(placed);
        let mut advised = advised(&placements);
        let busy = disturbed(placed.iter().map(|done| &done.run), host::cores());
        if let Some((advised, busy)) = advised.as_mut().zip(busy) {
            advised.why += &format!(" ({busy}: calibrate again when it is quiet)");
        }
        let found = self.strategy.calibration.found(calibrated);
        let mut remarks = remarks;
        let quiet = found.idle.filter(|idle| match disturbed([*idle], host::cores()) {
            Some(busy) => {
                remarks.push(format!("how late this host wakes up by itself is not kept: {busy}"));
                false
            }
            None => true,
        });
        remarks.extend(
            keep(advised.as_ref(), quiet)
                .err()
                .map(|error| format!("what was found is not kept for experiments to come: {error}")),
        );
        let lag = |what, run: &Run| Row { what, rate: Some(LAG_RATE), ..row(what, run, run) };
        let cells = found.cells.iter();
        Ok(Calibrated {
            rows: cells
                .map(|(operation, cost, calm)| Row {
                    rate: calm.offered_rate,
                    ..row(operation.name(), cost, calm)
                })
                .collect(),
            idle: lag("nothing to do", found.idle.ok_or_else(missing)?),
            start_lag: lag("start lag", found.lag.ok_or_else(missing)?),
            placements,
            not_placed: self.not_placed,
            advised,
            limit: self.strategy.calibration.limit(calibrated, host::cores()),
            stored: self.results.id().ok_or_else(missing)?,
            not_stored: self.not_stored,
            remarks,
        })
    }
}

/// Stores what later runs use: the advised placement and the lag of this host.
fn keep(advised: Option<&Advised>, idle: Option<&Run>) -> Result<(), Error> {
    let advice = advised.map(|Advised { level, why }| Advice::now(level, why));
    let lag = idle.and_then(lag_us).map(Lag::now);
    KnownHost::update(|known| {
        known.lag = lag.or(known.lag.take());
        known.placement = advice.or(known.placement.take());
    })
}

fn get_ready(runner: &mut Runner<'_>, server: bool) -> Result<(), Error> {
    runner.start_sink()?;
    for operation in Operation::costly(server).chain([Operation::Nothing]) {
        let mut workload = operation.workload()?;
        if operation.is_server() {
            use workloads::Workload;
            runner.stage(&At::default())?.with_site(|site| workload.check(site))?;
        }
        runner.add(operation.name(), Ready::without_facts(workload));
    }
    Ok(())
}

/// One more round of the experiment with the same options.
fn results(options: &CalibrationOptions, stage: Option<&Stage>) -> Result<Results, Error> {
    let at = match stage {
        Some(stage) => Surroundings::of(stage)?,
        None => Surroundings { host: host::describe(None), target: without_server() },
    };
    let plan = CalibrationPlan {
        driver: format!("{:?}", options.driver),
        time_s: options.time.as_secs_f64(),
        clients: options.clients.clone(),
        server: at.target.server_version.clone(),
        host: at.host.uuid.clone(),
    };
    let identity = Identity { name: "calibrate", question: QUESTION, plan: plan.into(), seed: options.seed };
    Results::next_round(&options.results, &identity, at)
}

fn without_server() -> MeasuredTarget {
    MeasuredTarget {
        kind: "sink".to_owned(),
        dsn_redacted: String::new(),
        server_version: String::new(),
        postgis_version: None,
        versions: BTreeMap::from([("pgdyno".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
    }
}

/// The private server with small tables; `None`, and a remark, if PostgreSQL is not installed.
fn server(
    options: &CalibrationOptions,
    mut progress: &mut dyn Progress,
    stop: &Stop,
    remarks: &mut Vec<String>,
) -> Result<Option<Stage>, Error> {
    progress.step(ExperimentStep::Target, "a sink and a private server");
    let target = TargetAccess::managed(SERVER, &[]);
    let mut stage = match Stage::open(&target, options.pg_bin.clone(), progress, stop) {
        Ok(stage) => stage,
        // A machine that only generates load need not have a server.
        Err(error) if error.class() == Class::Missing && options.pg_bin.is_none() => {
            remarks.push(format!("no server was measured: {error}"));
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let tables = workloads::pgbench::init::InitOptions::default();
    let plan = facts::preparation(&workloads::Preparation { pgbench: Some(tables), ..Default::default() })?;
    prepare(&mut stage, &plan, true, progress, stop)?;
    Ok(Some(stage))
}

fn row(what: &'static str, cost: &Run, lateness: &Run) -> Row {
    let late = |p50: Figure, p99: Figure| {
        Some(Lateness { p50_us: lateness.figures.get(p50)?, p99_us: lateness.figures.get(p99)? })
    };
    let mut doubts = cost.doubts.clone();
    doubts.extend(lateness.doubts.iter().filter(|doubt| !cost.doubts.contains(doubt)).cloned());
    Row {
        what,
        clients: cost.clients,
        driver: cost.driver.clone(),
        cpu_us: cost.figures.get(figures::CLIENT_CPU_US_PER_TX),
        per_second: cost.tps(),
        busy_pct: cost.figures.get(figures::CLIENT_BUSIEST_THREAD_PCT),
        rate: None,
        wakeup: late(figures::TIMER_LATENESS_P50_US, figures::TIMER_LATENESS_P99_US),
        start_lag: late(figures::START_LAG_P50_US, figures::START_LAG_P99_US),
        validity: crate::validity::worst([cost.validity, lateness.validity].into_iter()),
        doubts,
    }
}
