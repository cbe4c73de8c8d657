//! What this host can do as a load generator: `pgdyno calibrate`.
//!
//! The cost of an operation and the lateness of wake-ups against a [`Sink`](target::sink) and a private server, how late
//! scheduled arrivals start, with nothing to do and with something, and up to which rate all of that is in order. Every
//! measurement is an ordinary run, judged by the rules of all runs, and stored.

mod asked;
mod bottleneck;
mod drive;
mod keep;
mod limit;
mod search;
mod session;

use std::path::PathBuf;
use std::time::Duration;

use engine::DriverChoice;
use record::{Doubt, Validity};
use results::ExperimentId;

use self::asked::Asked;
use self::drive::Bench;
use self::keep::Book;
pub use self::limit::{HOST_FACTOR, Limit};
use self::session::{Session, operations};
use crate::bench::try_results;
use crate::error::{Class, LabError};
use crate::execute::{Progress, Stage, Step, Tell, prepare};
use crate::experiment::TargetSpec;
use crate::plan::PlannedPreparation;
use target::Stop;

/// The private server that is measured; it stays for the next time.
const SERVER: &str = "calibrate";
/// Arrivals per second at which the start lag is measured.
pub const LAG_RATE: f64 = 5_000.0;
/// Clients where arrivals are scheduled: more than are ever busy, so that none has to wait for one.
pub const LAG_CLIENTS: u32 = 64;
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
#[derive(Debug)]
pub struct Calibrated {
    /// Cost and lateness, by what was asked and clients.
    pub rows: Vec<Row>,
    /// Start lag at [`LAG_RATE`] of arrivals with nothing to do, the better of two tries: this host's own.
    pub idle: Row,
    /// Start lag at [`LAG_RATE`].
    pub start_lag: Row,
    /// The highest clean rate, and the highest that is kept as well as the host can.
    pub limit: Limit,
    /// Its experiment in the results file.
    pub stored: ExperimentId,
    /// Why the rest of its runs could not be stored there.
    pub not_stored: Option<LabError>,
    /// What could not be measured, and why.
    pub remarks: Vec<String>,
}

/// Measures this host.
///
/// # Errors
/// [`LabError`], with what to try; runs finished before it are stored.
pub fn run(options: &Options, progress: &mut dyn Progress, stop: &Stop) -> Result<Calibrated, LabError> {
    crate::error::explain(stop, calibrate(options, progress, stop))
}

fn calibrate(options: &Options, progress: &mut dyn Progress, stop: &Stop) -> Result<Calibrated, LabError> {
    let mut remarks = Vec::new();
    try_results(Some(&options.results), &mut *progress)?;
    let mut stage = server(options, &mut *progress, stop, &mut remarks)?;
    let mut bench = Bench::open(stage.as_mut(), options, stop)?;
    let book = Book::open(options, stage.as_ref())?;
    let mut session = Session::begin(options, stage.is_some(), book, progress, stop);
    let mut rows = Vec::new();
    for asked in operations(stage.is_some()) {
        for clients in &options.clients {
            rows.push(session.cell(&mut bench, asked, *clients)?);
        }
    }
    let mut idle = session.start_lag(&mut bench, Asked::Nothing, "nothing to do")?;
    let again = session.start_lag(&mut bench, Asked::Nothing, "nothing to do")?;
    // What disturbed one of them is not what the host can do.
    if p99(&again) < p99(&idle) {
        idle = again;
    }
    let start_lag = session.start_lag(&mut bench, Asked::SinkSimple, "start lag")?;
    let limit = session.limit(&mut bench, p99(&idle).unwrap_or(0.0))?;
    let (stored, not_stored) = session.end();
    Ok(Calibrated { rows, idle, start_lag, limit, stored, not_stored, remarks })
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
    let mut stage = match Stage::open(&spec, options.pg_bin.clone(), progress, stop) {
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

/// How late 1 % of the arrivals started, µs.
fn p99(row: &Row) -> Option<f64> {
    row.start_lag.map(|lag| lag.p99_us)
}
