//! The runs of a calibration: each operation at each number of clients, at full speed and then at a low rate;
//! how late scheduled arrivals start; and the highest rate at which all rules hold.

mod bottleneck;
mod limit;
mod operation;
mod placements;

use std::time::Duration;

use engine::{DriverChoice, Until};
use spec::plan::{Placement, PlannedRun};
use spec::{Run, figures};

pub(crate) use self::bottleneck::disturbed;
pub use self::limit::Limit;
use self::limit::Trials;
pub(crate) use self::operation::Operation;
pub use self::placements::{Advised, Placed};
pub(crate) use self::placements::{Level, Placements, WithPlacements, advised};
use super::{Next, PastRun, RunBlock, Strategy, search};
use crate::plan::single_run;
use crate::setup::{At, Cache, ConnectionPath, Counting, Load, Server, Setup};
use crate::words::count;

/// Arrivals per second at which the start lag is measured.
pub const LAG_RATE: f64 = 5_000.0;
/// Clients for scheduled arrivals: more than are ever busy, so that no arrival waits for one.
pub const LAG_CLIENTS: u32 = 64;

/// Shares of the time for the cells, the start lag with nothing to do and under load, and the search for the
/// highest rate.
const CELLS_SHARE: f64 = 0.55;
const IDLE_SHARE: f64 = 0.05;
const LAG_SHARE: f64 = 0.1;
const SEARCH_SHARE: f64 = 0.3;
/// Share of a cell's time at full speed; the rest is at a third of that speed.
const CLOSED_SHARE: f64 = 0.65;
/// A third of the possible rate: the thread sleeps between most arrivals, and is woken for them.
const CALM: f64 = 1.0 / 3.0;
const SHORTEST: Duration = Duration::from_millis(150);
const WARMUP: Duration = Duration::from_millis(100);
/// Runs of a cell: its cost, then its lateness.
const RUNS_OF_A_CELL: usize = 2;
/// Runs for the start lag: twice with nothing to do (a disturbance of one is not a limit of the host), once
/// under load.
const LAG_RUNS: usize = 3;

#[derive(Debug, Clone)]
pub(crate) struct Calibration {
    pub(crate) time: Duration,
    pub(crate) clients: Vec<u32>,
    /// Whether there is a server besides the sink.
    pub(crate) server: bool,
    pub(crate) driver: DriverChoice,
    pub(crate) seed: u64,
}

#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) cells: Vec<(Operation, &'a Run, &'a Run)>,
    /// Start lag with nothing to do, the better of two tries.
    pub(crate) idle: Option<&'a Run>,
    pub(crate) lag: Option<&'a Run>,
}

impl Calibration {
    pub(crate) fn lengths(&self) -> Vec<Duration> {
        let cells = self.cells().len();
        let cell = self.time.mul_f64(CELLS_SHARE / cells.max(1) as f64);
        let rest = [IDLE_SHARE / 2.0, IDLE_SHARE / 2.0, LAG_SHARE, SEARCH_SHARE];
        std::iter::repeat_n(cell, cells).chain(rest.map(|share| self.time.mul_f64(share))).collect()
    }

    /// Number of groups of runs with the same description.
    pub(crate) fn planned(&self) -> usize {
        self.lengths().len()
    }

    fn cells(&self) -> Vec<(Operation, u32)> {
        let operations = Operation::costly(self.server);
        operations
            .flat_map(|operation| self.clients.iter().map(move |clients| (operation, *clients)))
            .collect()
    }

    pub(crate) fn found<'a>(&self, done: &'a [PastRun]) -> Found<'a> {
        let cells = self.cells();
        let run = |at: usize| done.get(at).map(|done| &done.run);
        let first_lag = cells.len() * RUNS_OF_A_CELL;
        let pairs = cells.iter().enumerate().filter_map(|(cell, (operation, _))| {
            let at = cell * RUNS_OF_A_CELL;
            Some((*operation, run(at)?, run(at + 1)?))
        });
        let idle = [run(first_lag), run(first_lag + 1)].into_iter().flatten();
        let idle =
            idle.min_by(|a, b| lag_us(a).unwrap_or(f64::MAX).total_cmp(&lag_us(b).unwrap_or(f64::MAX)));
        Found { cells: pairs.collect(), idle, lag: run(first_lag + 2) }
    }

    fn trials(&self, done: &[PastRun]) -> Trials {
        let idle_us = self.found(done).idle.and_then(lag_us).unwrap_or(0.0);
        let mut trials = Trials::new(idle_us, self.time.mul_f64(SEARCH_SHARE));
        let first = self.cells().len() * RUNS_OF_A_CELL + LAG_RUNS;
        done.iter().skip(first).for_each(|done| trials.saw(&done.run));
        trials
    }

    pub(crate) fn limit(&self, done: &[PastRun], cores: u32) -> Limit {
        self.trials(done).into_limit(cores)
    }

    /// The last of these runs in one line, if it was a trial of the highest rate.
    pub(crate) fn trial_words(&self, done: &[PastRun]) -> Option<String> {
        let first = self.cells().len() * RUNS_OF_A_CELL + LAG_RUNS;
        let last = done.last().filter(|_| done.len() > first)?;
        Some(self.trials(done).words(&last.run))
    }

    fn step(&self, number: usize, what: String, part: &str, setup: Setup) -> Next {
        let mut run = single_run(&setup);
        run.factors.insert("part".to_owned(), part.to_owned());
        Next { run, what, number, takes: self.lengths()[number - 1], setup, more_clients: false }
    }

    fn setup(&self, operation: Operation, clients: u32, rate: Option<f64>, length: Duration) -> Setup {
        Setup {
            server: if operation.is_server() { Server::Target(At::default()) } else { Server::Sink },
            connection: ConnectionPath::Direct,
            changes: None,
            cache: Cache::AsLeft,
            arm: None,
            workload: operation.name().to_owned(),
            options: std::collections::BTreeMap::new(),
            load: rate.map_or(Load::Closed, |rate| Load::Rate(rate.into())),
            clients,
            threads: 1,
            promise: None,
            sought: None,
            warmup: WARMUP,
            until: Until::Elapsed(length.max(SHORTEST).as_nanos() as u64),
            statements: false,
            transactions: false,
            driver: self.driver,
            placement: Placement::default(),
            seed: self.seed,
            waiting: spec::plan::Waiting::Auto,
            counting: Counting::CALIBRATION,
        }
    }

    /// Cost at full speed, then lateness at a third of that speed.
    fn next_of_cells(&self, cells: &[(Operation, u32)], done: &[PastRun]) -> Next {
        let cell = done.len() / RUNS_OF_A_CELL;
        let (operation, clients) = cells[cell];
        let length = self.lengths()[cell];
        let (part, rate, length) = match done.last().filter(|_| !done.len().is_multiple_of(RUNS_OF_A_CELL)) {
            None => ("cost", None, length.mul_f64(CLOSED_SHARE)),
            Some(cost) => {
                let rate = search::rounded(cost.run.tps().unwrap_or_default() * CALM).max(1.0);
                ("lateness", Some(rate), length.mul_f64(1.0 - CLOSED_SHARE))
            }
        };
        let what = format!("{}, {}", operation.name(), count(clients as usize, "client"));
        self.step(cell + 1, what, part, self.setup(operation, clients, rate, length))
    }
}

impl Strategy for Calibration {
    fn next(&self, done: &[PastRun]) -> Option<RunBlock> {
        let cells = self.cells();
        let lag = |operation, number: usize, part: &str| {
            let setup = self.setup(operation, LAG_CLIENTS, Some(LAG_RATE), self.lengths()[number - 1]);
            self.step(number, format!("{part} at {LAG_RATE}/s"), part, setup)
        };
        let next = match done.len().checked_sub(cells.len() * RUNS_OF_A_CELL) {
            None => self.next_of_cells(&cells, done),
            Some(idle @ (0 | 1)) => lag(Operation::Nothing, cells.len() + idle + 1, "nothing to do"),
            Some(2) => lag(Operation::SinkSimple, cells.len() + LAG_RUNS, "start lag"),
            Some(_) => {
                let trials = self.trials(done);
                let (rate, again) = trials.next()?;
                let part = if again { "rate search, second try" } else { "rate search" };
                let setup = self.setup(Operation::SinkSimple, LAG_CLIENTS, Some(rate), trials.length());
                self.step(self.planned(), "highest clean rate".to_owned(), part, setup)
            }
        };
        Some(RunBlock { runs: vec![next] })
    }
}

/// Arrivals at [`LAG_RATE`] with nothing to do, for this length.
pub(crate) fn nothing_to_do(seed: u64, length: Duration) -> (PlannedRun, Setup) {
    let calibration =
        Calibration { time: length, clients: Vec::new(), server: false, driver: DriverChoice::Auto, seed };
    let setup = calibration.setup(Operation::Nothing, LAG_CLIENTS, Some(LAG_RATE), length);
    (single_run(&setup), setup)
}

/// How late 1 % of the arrivals of a run started, µs.
pub(crate) fn lag_us(run: &Run) -> Option<f64> {
    run.figures.get(figures::START_LAG_P99_US)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn run(rate: f64) -> Run {
        let calibration = calibration(true);
        let length = Duration::from_secs(1);
        let setup = calibration.setup(Operation::SinkSimple, 1, Some(rate), length);
        let run = single_run(&setup);
        Run { offered_rate: Some(rate), measured_s: 1.0, ..Run::new(spec::RunKind::Client, run.key()) }
    }

    fn calibration(server: bool) -> Calibration {
        let (driver, seed) = (DriverChoice::Auto, 1);
        Calibration { time: Duration::from_secs(30), clients: vec![1, 8, 64], server, driver, seed }
    }

    #[test]
    fn the_time_is_shared_out() {
        for (server, count) in [(true, 16), (false, 10)] {
            let planned = calibration(server).lengths();
            assert_eq!(planned.len(), count);
            let sum: Duration = planned.iter().sum();
            assert!((sum.as_secs_f64() - 30.0).abs() < 0.01, "{sum:?}");
        }
    }

    #[test]
    fn each_run_follows_from_those_before_it() {
        let calibration = calibration(false);
        let mut done: Vec<PastRun> = Vec::new();
        let mut told = Vec::new();
        while let Some(RunBlock { runs }) = calibration.next(&done) {
            let [Next { run: planned, setup, number, .. }] = &runs[..] else { panic!("one at a time") };
            told.push((*number, planned.factors["part"].clone(), setup.load.clone()));
            assert!(done.len() < 60, "it does not end");
            let mut run = run(setup.rate().unwrap_or(0.0));
            run.scripts.push(spec::ScriptRecord {
                name: "s".into(),
                text_hash: String::new(),
                weight: 1,
                part: None,
                counts: [].into(),
                response: stats::Histogram::new(),
                service: stats::Histogram::new(),
            });
            run.counts.set(figures::OK, 9_000);
            run.figures.set(figures::START_LAG_P99_US, if done.len() == 12 { 90.0 } else { 50.0 });
            done.push(PastRun { run, cause: None, number: 0, in_turn: false });
        }
        assert_eq!(told[0], (1, "cost".to_owned(), Load::Closed));
        assert_eq!(told[1], (1, "lateness".to_owned(), Load::Rate(3000.0.into())));
        assert_eq!(told[12], (7, "nothing to do".to_owned(), Load::Rate(LAG_RATE.into())));
        assert_eq!(told[14], (9, "start lag".to_owned(), Load::Rate(LAG_RATE.into())));
        assert_eq!(told[15], (10, "rate search".to_owned(), Load::Rate(LAG_RATE.into())));
        assert_eq!(told.last().unwrap().0, calibration.planned());
        let found = calibration.found(&done);
        assert_eq!((found.cells.len(), found.idle.and_then(lag_us)), (6, Some(50.0)));
    }
}
