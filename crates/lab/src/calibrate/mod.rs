//! What this host can do as a load generator: `pgdyno calibrate`.
//!
//! The cost of an operation and the lateness of wake-ups against a [`Sink`](crate::sink) and a private server, how late
//! scheduled arrivals start, and up to which rate all of that is in order. Every measurement is an ordinary run, judged
//! by the rules of all runs, and stored.

mod asked;
mod drive;
mod keep;
mod limit;
mod search;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use engine::DriverChoice;
use results::{Doubt, ExperimentId, Run, Validity};

use self::asked::Asked;
use self::drive::{Bench, Shape};
use self::keep::Book;
pub use self::limit::Limit;
use crate::error::{Class, LabError};
use crate::execute::{LabEvent, Progress, Stage, Step, Tell, prepare};
use crate::experiment::TargetSpec;
use crate::plan::PlannedPreparation;
use crate::stop::Stop;

/// The private server that is measured; it stays for the next time.
const SERVER: &str = "calibrate";
/// Arrivals per second at which the start lag is measured.
pub const LAG_RATE: f64 = 5_000.0;
/// Clients where arrivals are scheduled: more than are ever busy, so that none has to wait for one.
pub const LAG_CLIENTS: u32 = 64;
/// Shares of the time for the cells, the start lag, and the search for the highest rate.
const CELLS_SHARE: f64 = 0.6;
const LAG_SHARE: f64 = 0.1;
const SEARCH_SHARE: f64 = 0.3;
/// Of a cell's time, what is measured as fast as it goes; the rest at a third of that speed.
const CLOSED_SHARE: f64 = 0.65;
/// A third of what was possible: the thread sleeps between most arrivals, and is woken for them.
const CALM: f64 = 1.0 / 3.0;
/// Shortest measured part that says anything.
const SHORTEST: Duration = Duration::from_millis(150);

/// How to calibrate.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which driver moves the bytes.
    pub driver: DriverChoice,
    /// About how long all measurements together take.
    pub time: Duration,
    /// Numbers of clients; each at least 1.
    pub clients: Vec<u32>,
    /// Folder with PostgreSQL's programs.
    pub pg_bin: Option<PathBuf>,
    /// Where the runs are stored.
    pub results: PathBuf,
    /// Seed of all randomness.
    pub seed: u64,
}

/// Least and almost greatest of a distribution, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lateness {
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
}

/// What was found for one kind of operation and one number of clients.
#[derive(Debug, Clone)]
pub struct Row {
    /// What was asked, e.g. `null sink, simple`.
    pub what: &'static str,
    /// Clients, on one thread.
    pub clients: u32,
    /// Driver that ran.
    pub driver: String,
    /// Client CPU per operation, µs, as fast as it goes; `None` where only arrivals were scheduled.
    pub cpu_us: Option<f64>,
    /// Operations per second.
    pub per_second: Option<f64>,
    /// Share of the time the load thread was running, percent.
    pub busy_pct: Option<f64>,
    /// Arrivals per second of what follows.
    pub rate: Option<f64>,
    /// How late the thread woke up for an arrival.
    pub wakeup: Option<Lateness>,
    /// How late arrivals started that found a free client.
    pub start_lag: Option<Lateness>,
    /// Whether the runs behind the row can be believed.
    pub validity: Validity,
    /// Why not.
    pub doubts: Vec<Doubt>,
}

/// Everything that was found.
#[derive(Debug, Clone)]
pub struct Calibrated {
    /// Cost and lateness, by what was asked and clients.
    pub rows: Vec<Row>,
    /// Start lag at [`LAG_RATE`].
    pub start_lag: Row,
    /// The highest clean rate.
    pub limit: Limit,
    /// Its experiment in the results file.
    pub stored: ExperimentId,
    /// What could not be measured, and why.
    pub remarks: Vec<String>,
}

/// Measures this host.
///
/// # Errors
/// [`LabError`], with what to try; runs finished before it are stored.
pub fn run(options: &Options, progress: &mut dyn Progress, stop: &Stop) -> Result<Calibrated, LabError> {
    let mut remarks = Vec::new();
    let mut stage = server(options, &mut *progress, stop, &mut remarks)?;
    let mut bench = Bench::open(stage.as_mut(), options, stop)?;
    let book = Book::open(options, stage.as_ref())?;
    let mut session =
        Session { options, progress, stop, book, started: 0, planned: planned(options, stage.is_some()) };
    session.begin();
    let mut rows = Vec::new();
    for asked in Asked::ALL.into_iter().filter(|asked| stage.is_some() || asked.is_sink()) {
        for clients in &options.clients {
            rows.push(session.cell(&mut bench, asked, *clients)?);
        }
    }
    let start_lag = session.start_lag(&mut bench)?;
    let limit = session.limit(&mut bench)?;
    Ok(Calibrated { rows, start_lag, limit, stored: session.book.experiment(), remarks })
}

/// The private server with small tables; `None`, and a remark, where there is no PostgreSQL.
fn server(
    options: &Options,
    mut progress: &mut dyn Progress,
    stop: &Stop,
    remarks: &mut Vec<String>,
) -> Result<Option<Stage>, LabError> {
    progress.step(Step::Target, "a sink and a private server");
    let spec =
        TargetSpec::Managed { name: SERVER.to_owned(), version: None, extensions: Vec::new(), redis: false };
    let mut stage = match Stage::open(&spec, options.pg_bin.clone(), stop) {
        Ok(stage) => stage,
        // A machine that only makes load need not have a server.
        Err(error) if error.class() == Class::Missing && options.pg_bin.is_none() => {
            remarks.push(format!("no server was measured: {error}"));
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let tables = workloads::pgbench::init::InitOptions::default();
    let plan = PlannedPreparation { pgbench: Some(tables), ..PlannedPreparation::default() };
    prepare(&mut stage, &plan, true, progress, stop)?;
    Ok(Some(stage))
}

/// Nominal lengths of all that is to be measured, in order.
fn planned(options: &Options, server: bool) -> Vec<Duration> {
    let asked = Asked::ALL.into_iter().filter(|asked| server || asked.is_sink()).count();
    let cells = asked * options.clients.len();
    let cell = options.time.mul_f64(CELLS_SHARE / cells.max(1) as f64);
    let mut planned = vec![cell; cells];
    planned.extend([LAG_SHARE, SEARCH_SHARE].map(|share| options.time.mul_f64(share)));
    planned
}

/// Measurement after measurement.
struct Session<'a> {
    options: &'a Options,
    progress: &'a mut dyn Progress,
    stop: &'a Stop,
    book: Book,
    planned: Vec<Duration>,
    started: usize,
}

impl Session<'_> {
    /// Unlike an experiment it does not go on where it stopped: the machine may be another one by then.
    fn stopped(&self) -> LabError {
        let kept = crate::words::count(self.started.saturating_sub(1), "measurement");
        LabError::failed(
            Class::Interrupted,
            format!("stopped; {kept} of {} are kept", self.planned.len()),
            "",
        )
    }

    fn begin(&mut self) {
        let results = self.options.results.clone();
        let (planned, left) = (self.planned.len(), self.planned.iter().sum());
        self.progress.event(LabEvent::Begin { planned, stored: 0, left, results });
    }

    /// Announces the next measurement, and gives its length.
    fn next(&mut self, what: &str) -> Result<Duration, LabError> {
        let planned = self.planned.len();
        let (takes, left) = (self.planned[self.started], self.planned[self.started..].iter().sum());
        self.started += 1;
        if self.stop.soon() {
            return Err(self.stopped());
        }
        let (number, what) = (self.started, what.to_owned());
        self.progress.event(LabEvent::RunStarted { number, planned, what, takes, next: None, left });
        Ok(takes)
    }

    fn finished(&mut self, what: &str, run: &Run) {
        let ms = |q| run.response_us(q).map(|us| us / 1e3);
        self.progress.event(LabEvent::RunFinished {
            number: self.started,
            planned: self.planned.len(),
            what: what.to_owned(),
            tps: run.tps().unwrap_or_default(),
            latency_mean_ms: run.response().mean_ns().map(|ns| ns / 1e6),
            latency_p99_ms: ms(0.99),
            validity: run.validity,
            doubts: run.doubts.clone(),
            left: self.planned[self.started..].iter().sum(),
        });
    }

    /// One run, stored.
    fn measure(&mut self, bench: &mut Bench<'_>, shape: &Shape<'_>) -> Result<Run, LabError> {
        let mut run = bench.measure(shape, self.stop)?;
        if self.stop.at_once() {
            return Err(self.stopped());
        }
        self.book.enter(&mut run)?;
        Ok(run)
    }

    /// Cost as fast as it goes, then lateness at a third of that speed.
    fn cell(&mut self, bench: &mut Bench<'_>, asked: Asked, clients: u32) -> Result<Row, LabError> {
        let what = format!("{}, {}", asked.name(), crate::words::count(clients as usize, "client"));
        let length = self.next(&what)?;
        let (closed, open) = (length.mul_f64(CLOSED_SHARE), length.mul_f64(1.0 - CLOSED_SHARE));
        let fast = Shape { asked, clients, rate: None, part: "cost", length: closed.max(SHORTEST) };
        let cost = self.measure(bench, &fast)?;
        let rate = search::rounded(cost.tps().unwrap_or_default() * CALM);
        let calm = Shape { rate: Some(rate.max(1.0)), part: "lateness", length: open.max(SHORTEST), ..fast };
        let lateness = self.measure(bench, &calm)?;
        self.finished(&what, &cost);
        Ok(Row { rate: calm.rate, ..row(asked, &cost, &lateness) })
    }

    fn start_lag(&mut self, bench: &mut Bench<'_>) -> Result<Row, LabError> {
        let what = format!("start lag at {LAG_RATE}/s");
        let length = self.next(&what)?.max(SHORTEST);
        let (asked, rate) = (Asked::SinkSimple, Some(LAG_RATE));
        let shape = Shape { asked, clients: LAG_CLIENTS, rate, part: "start lag", length };
        let run = self.measure(bench, &shape)?;
        self.finished(&what, &run);
        Ok(Row { what: "start lag", rate, ..row(asked, &run, &run) })
    }

    fn limit(&mut self, bench: &mut Bench<'_>) -> Result<Limit, LabError> {
        let what = "highest clean rate";
        let length = self.next(what)?;
        let mut trials = limit::Trials::new(length, Instant::now());
        while let Some(shape) = trials.next(Instant::now()).filter(|_| !self.stop.soon()) {
            let run = self.measure(bench, &shape)?;
            let mut progress: &mut dyn Progress = &mut *self.progress;
            progress.step(Step::Measure, limit::words(&run));
            trials.saw(run);
        }
        if self.stop.soon() {
            return Err(self.stopped());
        }
        let limit = trials.into_limit(crate::host::cores());
        if let Some(best) = &limit.best {
            self.finished(what, best);
        }
        Ok(limit)
    }
}

fn row(asked: Asked, cost: &Run, lateness: &Run) -> Row {
    let figure = |run: &Run, name: &str| run.figures.get(name).copied();
    let late = |name: &str| {
        let of = |quantile: &str| figure(lateness, &format!("{name}_{quantile}_us"));
        Some(Lateness { p50_us: of("p50")?, p99_us: of("p99")? })
    };
    let mut doubts = cost.doubts.clone();
    doubts.extend(lateness.doubts.iter().filter(|doubt| !cost.doubts.contains(doubt)).cloned());
    Row {
        what: asked.name(),
        clients: cost.clients,
        driver: cost.driver.clone(),
        cpu_us: figure(cost, "client_cpu_us_per_tx"),
        per_second: cost.tps(),
        busy_pct: figure(cost, "client_busiest_thread_pct"),
        rate: None,
        wakeup: late("timer_lateness"),
        start_lag: late("start_lag"),
        validity: crate::validity::worst([cost.validity, lateness.validity].into_iter()),
        doubts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_shared_out() {
        let options = Options {
            driver: DriverChoice::Auto,
            time: Duration::from_secs(30),
            clients: vec![1, 8, 64],
            pg_bin: None,
            results: PathBuf::new(),
            seed: 1,
        };
        for (server, count) in [(true, 14), (false, 8)] {
            let planned = planned(&options, server);
            assert_eq!(planned.len(), count);
            let sum: Duration = planned.iter().sum();
            assert!((sum.as_secs_f64() - 30.0).abs() < 0.01, "{sum:?}");
        }
    }
}
