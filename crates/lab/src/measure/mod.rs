//! One measurement: the engine runs the clients of a setup, and collectors observe. Only this module calls
//! the engine.

mod cpu_by_arm;
mod memory;
mod own_cost;
mod plan;
mod series;
mod sessions;
mod turns;
mod users;

use std::path::Path;
use std::time::{Duration, SystemTime};

use engine::{Abort, ClientMessage, Observer, Second, Time, TransactionEntry};
use protocol::postgres::sql::SqlError;
use results::Spool;
use server::Stop;
use server::control::Names;
use spec::figures::Figures;
use spec::{Error, Sample, SeriesPoint};
use workloads::{ClientWorkload, Places};

pub(crate) use self::cpu_by_arm::Postmasters;
use self::series::Series;
pub(crate) use self::sessions::Sessions;
pub(crate) use self::turns::{LONGEST, SHORTEST, Taken, Turns, USUAL, fits};
use crate::collectors::Collector;
use crate::setup::Setup;

/// What is kept of the seconds of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep<'a> {
    Nothing,
    Counters,
    /// Distributions too, next to this results file until they are stored there.
    Distributions(&'a Path),
}

/// The result of one measurement.
#[derive(Debug)]
pub struct Measured {
    /// UTC, RFC 3339.
    pub started_at: String,
    pub engine: engine::EngineResult,
    pub series: Vec<SeriesPoint>,
    /// Response times of these steps.
    pub seconds: Spool,
    pub samples: Vec<Sample>,
    /// The engine's own figures, and the collectors' figures for the whole.
    pub figures: Figures,
    /// Figures that are missing, and why.
    pub missing: Vec<&'static str>,
    /// Why a collector failed.
    pub trouble: Option<SqlError>,
}

/// A load to measure: workload, setup, places, and observers.
pub struct Measurement<'a, 'c> {
    pub workload: &'a dyn ClientWorkload,
    pub places: &'a Places,
    pub setup: &'a Setup,
    pub keep: Keep<'a>,
    /// Called on the caller's thread, like the collectors.
    pub observer: &'a mut dyn Observer,
    pub collectors: &'a mut [Box<dyn Collector + 'c>],
}

/// Runs a load on its servers.
///
/// # Errors
/// Why nothing was measured; what happens after the start of the load is counted.
pub fn measure(load: Measurement<'_, '_>, stop: &Stop) -> Result<Measured, Error> {
    let clients = load.workload.clients(load.places, load.setup.clients())?;
    let plan = plan::plan(load.setup, load.workload);
    let names = load.places.names();
    let mut watch = Watch::begin(load)?;
    // DNS names are resolved again while clients may reconnect.
    let _names = Names::follow(names);
    let engine = engine::run(&plan, clients, &mut watch, &engine::StopFlag::from(stop.flag()))?;
    // Keep what was measured so far, even if the user stops now.
    let _concluding = stop.concluding();
    end_abandoned(&engine.abandoned);
    Ok(watch.end(engine))
}

/// How long servers are asked to end clients' remaining statements.
const ASKING: Duration = Duration::from_millis(500);

fn end_abandoned(left: &[engine::Abandoned]) {
    let requests: Vec<_> =
        left.iter().map(|of| (workloads::address_of(&of.address), of.request.clone())).collect();
    server::control::cancel_all(&requests, ASKING);
}

/// Called while loads that take turns connect, with the index of one.
pub(crate) trait Arrival {
    fn connecting(&mut self, load: usize);
    fn connected(&mut self, load: usize);
}

/// What loads that took turns came to.
pub(crate) struct MeasuredInTurn {
    pub(crate) measured: Vec<Measured>,
    pub(crate) taken: Taken,
    /// The clients, still connected, if they are kept and nothing happened to any of them.
    pub(crate) sessions: Option<Vec<Sessions>>,
}

/// Runs several loads on their servers in turns; their threads are kept on `cpus` unless a load sets its own.
/// The CPU time of the servers is read around each turn. Clients that were `kept` work on, in the order of the loads;
/// without them all connect.
///
/// # Errors
/// With the index of the load that did not start.
pub(crate) fn measure_in_turn(
    (loads, servers): (Vec<Measurement<'_, '_>>, &Postmasters),
    turns: &Turns,
    cpus: Option<&[usize]>,
    arrival: &mut dyn Arrival,
    stop: &Stop,
    kept: Option<Vec<Sessions>>,
) -> Result<MeasuredInTurn, (usize, Error)> {
    let mut arms = match kept {
        Some(kept) => loads
            .into_iter()
            .zip(kept)
            .enumerate()
            .map(|(number, (load, sessions))| Part::kept(load, sessions).map_err(|error| (number, error)))
            .collect::<Result<Vec<_>, _>>()?,
        None => connect((loads, servers), cpus, arrival, stop)?,
    };
    let ages = arms.iter().map(|arm| arm.sessions.age()).collect();
    let taken = turns::take(&mut arms, turns, servers).map_err(|error| (0, error))?;
    let taken = Taken { ages, ..taken };
    let _concluding = stop.concluding();
    let keeps = turns.keep && taken.hung.is_none();
    let (mut measured, mut sessions) = (Vec::with_capacity(arms.len()), Vec::with_capacity(arms.len()));
    for Part { sessions: own, mut watch } in arms {
        let (engine, own) = own.end(turns.warmup, keeps, &mut watch).map_err(|error| (0, error))?;
        end_abandoned(&engine.abandoned);
        measured.push(watch.end(engine));
        sessions.extend(own);
    }
    let sessions = (sessions.len() == measured.len()).then_some(sessions);
    Ok(MeasuredInTurn { measured, taken, sessions })
}

/// Connects all loads.
fn connect<'w, 'c>(
    (loads, servers): (Vec<Measurement<'w, 'c>>, &Postmasters),
    cpus: Option<&[usize]>,
    arrival: &mut dyn Arrival,
    stop: &Stop,
) -> Result<Vec<Part<'w, 'c>>, (usize, Error)> {
    let mut ready = Vec::with_capacity(loads.len());
    for (number, load) in loads.into_iter().enumerate() {
        ready.push(ReadyLoad::of(load, cpus).map_err(|error| (number, error))?);
    }
    let stop = engine::StopFlag::from(stop.flag());
    let mut arms = Vec::with_capacity(ready.len());
    for (number, mut load) in ready.into_iter().enumerate() {
        arrival.connecting(number);
        let postmaster = servers.by_arm.get(number).copied().flatten();
        let sessions =
            Sessions::connect(load.plan, load.clients, load.names, postmaster, (&mut load.watch, &stop));
        arms.push(Part { sessions: sessions.map_err(|error| (number, error))?, watch: load.watch });
        arrival.connected(number);
    }
    Ok(arms)
}

struct ReadyLoad<'w, 'c> {
    plan: engine::RunPlan,
    clients: Vec<Box<dyn engine::Client>>,
    watch: Watch<'w, 'c>,
    /// DNS names are resolved again while clients may reconnect.
    names: Option<Names>,
}

impl<'w, 'c> ReadyLoad<'w, 'c> {
    fn of(load: Measurement<'w, 'c>, cpus: Option<&[usize]>) -> Result<Self, Error> {
        Ok(Self {
            plan: plan::held(load.setup, load.workload, cpus),
            clients: load.workload.clients(load.places, load.setup.clients())?,
            names: Names::follow(load.places.names()),
            watch: Watch::begin(load)?,
        })
    }
}

/// A load that takes turns: its clients, and who observes this round of them.
struct Part<'w, 'c> {
    sessions: Sessions,
    watch: Watch<'w, 'c>,
}

impl<'w, 'c> Part<'w, 'c> {
    fn kept(load: Measurement<'w, 'c>, sessions: Sessions) -> Result<Self, Error> {
        let mut watch = Watch::begin(load)?;
        watch.loading(0);
        Ok(Self { sessions, watch })
    }
}

/// Forwards events of a run, and keeps its seconds.
struct Watch<'w, 'c> {
    started_at: String,
    observer: &'w mut dyn Observer,
    collectors: &'w mut [Box<dyn Collector + 'c>],
    series: Option<Series>,
    samples: Vec<Sample>,
    /// Whether active users are counted at the end of each step.
    are_users: bool,
    trouble: Option<SqlError>,
}

impl<'w, 'c> Watch<'w, 'c> {
    fn begin(load: Measurement<'w, 'c>) -> Result<Self, Error> {
        let Measurement { workload, setup, keep, observer, collectors, .. } = load;
        let scripts = workload.scripts().len();
        let series = match keep {
            Keep::Nothing => None,
            Keep::Counters => Some(Series::of(setup.until, scripts, None)?),
            Keep::Distributions(results) => Some(Series::of(setup.until, scripts, Some(results))?),
        };
        let started_at = jiff::Timestamp::now().to_string();
        let are_users = setup.users().is_some();
        Ok(Self { started_at, observer, collectors, series, samples: Vec::new(), are_users, trouble: None })
    }

    fn end(self, engine: engine::EngineResult) -> Measured {
        let Self { started_at, collectors, series, mut samples, mut trouble, .. } = self;
        let mut figures = own_cost::own_figures(&engine);
        let mut missing = Vec::new();
        for collector in collectors {
            match collector.end(&engine, &mut samples) {
                Ok(found) => figures.append(found),
                Err(error) => {
                    trouble.get_or_insert(error);
                }
            }
            missing.extend(collector.missing());
        }
        let (series, seconds) = series.map(Series::into_parts).unwrap_or_default();
        Measured { started_at, engine, series, seconds, samples, figures, missing, trouble }
    }
}

impl Observer for Watch<'_, '_> {
    fn began(&mut self, epoch: SystemTime) {
        self.observer.began(epoch);
    }

    fn ready(&mut self) -> Result<(), Error> {
        self.observer.ready()
    }

    fn loading(&mut self, connecting: Time) {
        self.observer.loading(connecting);
    }

    fn measuring(&mut self) {
        for collector in &mut *self.collectors {
            if let Err(error) = collector.begin() {
                self.trouble.get_or_insert(error);
            }
        }
        self.observer.measuring();
    }

    fn ending(&mut self) {
        self.collectors.iter_mut().for_each(|collector| collector.ending());
    }

    fn message(&mut self, message: &ClientMessage) {
        self.observer.message(message);
    }

    fn aborted(&mut self, abort: &Abort) {
        self.observer.aborted(abort);
    }

    fn waiting(&mut self, clients: usize) {
        self.observer.waiting(clients);
    }

    fn transactions(&mut self, thread: usize, entries: &[TransactionEntry]) {
        self.observer.transactions(thread, entries);
    }

    fn second(&mut self, second: &Second) {
        // The series shows throughput, which ends with the measured part.
        if second.is_drain {
            return;
        }
        self.observer.second(second);
        let Some(series) = &mut self.series else { return };
        if let Some(ended_us) = series.add(second) {
            if self.are_users {
                self.samples.extend(users::samples(second, ended_us));
            }
            for collector in &mut *self.collectors {
                collector.tick(ended_us, &mut self.samples);
            }
        }
    }
}
