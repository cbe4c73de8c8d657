//! The runs of a calibration: which are known before it begins, how long each lasts, and the setup of each.

mod operation;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::{DriverChoice, Until};
use spec::plan::topology::Topology;
use spec::plan::{Placement, Plan, PlannedCalibration, PlannedRun, Waiting};

pub(crate) use self::operation::Operation;
use crate::factors::{PLACEMENT, PLACES, own_placement};
use crate::setup::{At, Cache, ConnectionPath, Counting, Load, Server, Setup, driver_choice};

/// Arrivals per second at which the start lag is measured.
pub(crate) const LAG_RATE: f64 = 5_000.0;
/// Clients for scheduled arrivals: more than are ever busy, so that no arrival waits for one.
pub(crate) const LAG_CLIENTS: u32 = 64;

/// The factor whose levels are the parts of a calibration.
pub(crate) const PART: &str = "part";
pub(crate) const PLACED: &str = "placement";
pub(crate) const COST: &str = "cost";
pub(crate) const LATENESS: &str = "lateness";
pub(crate) const IDLE: &str = "nothing to do";
pub(crate) const LAG: &str = "start lag";

/// Shares of the time for the cells, the start lag with nothing to do and under load, and the search for the
/// highest rate.
const CELLS_SHARE: f64 = 0.55;
const IDLE_SHARE: f64 = 0.05;
const LAG_SHARE: f64 = 0.1;
const SEARCH_SHARE: f64 = 0.3;
/// Share of a cell's time at full speed; the rest is at a lower rate.
const CLOSED_SHARE: f64 = 0.65;
const SHORTEST: Duration = Duration::from_millis(150);
const WARMUP: Duration = Duration::from_millis(100);

/// Approximate time for all placements, as a share of the time for the rest, and its maximum.
const PLACED_SHARE: f64 = 0.6;
const PLACED_MOST: Duration = Duration::from_secs(18);
/// Time of such a run outside its measured part.
const AROUND: Duration = Duration::from_millis(200);
/// Turns: each connects again, which is when the scheduler chooses.
const FEWEST_TURNS: usize = 3;
const MOST_TURNS: usize = 5;
/// More would exceed the connections of a server with default settings.
const MOST_CLIENTS: u32 = 64;

/// Number of trials that the time of the search is divided by; most searches need fewer.
const TRIALS: f64 = 18.0;
/// Time of a trial outside its measured part.
pub(crate) const AROUND_TRIAL: Duration = Duration::from_millis(150);
const SHORTEST_TRIAL: Duration = Duration::from_millis(250);
const LONGEST_TRIAL: Duration = Duration::from_secs(10);

/// The runs that are known before it begins, each once, in order: placements, the cost of each operation, and the
/// start lag. The others follow from their results.
pub(super) fn runs(asked: &PlannedCalibration, cores: u32, seed: u64) -> Vec<PlannedRun> {
    let mut runs = Vec::new();
    let mut add = |operation: Operation, clients, rate, part: &str, placement: Option<&str>| {
        let placement = placement.map(|level| (PLACEMENT.to_owned(), level.to_owned()));
        let mut run = run(operation, clients, rate, part, seed);
        Arc::make_mut(&mut run.factors).extend(placement);
        run.sequence = runs.len() as u32;
        runs.push(run);
    };
    // As many clients as CPUs: all CPUs are busy, and no client waits long for one.
    for clients in [1, cores.clamp(2, MOST_CLIENTS)] {
        for level in PLACES {
            add(Operation::PointRead, clients, None, PLACED, Some(level));
        }
    }
    for operation in Operation::COSTLY {
        asked.clients.iter().for_each(|clients| add(operation, *clients, None, COST, None));
    }
    add(Operation::Nothing, LAG_CLIENTS, Some(LAG_RATE), IDLE, None);
    add(Operation::SinkSimple, LAG_CLIENTS, Some(LAG_RATE), LAG, None);
    runs
}

/// A run of a part.
pub(crate) fn run(
    operation: Operation,
    clients: u32,
    rate: Option<f64>,
    part: &str,
    seed: u64,
) -> PlannedRun {
    let workload = operation.name().to_owned();
    let factors = [("workload", workload.clone()), ("clients", clients.to_string()), (PART, part.to_owned())];
    let rated = rate.map(|rate| ("rate".to_owned(), rate.to_string()));
    PlannedRun {
        sequence: 0,
        round: 1,
        workload,
        factors: Arc::new(
            factors.map(|(key, level)| (key.to_owned(), level)).into_iter().chain(rated).collect(),
        ),
        arm: None,
        position_in_pair: 1,
        seed,
        clients,
        threads: 1,
        rate,
        beside: false,
    }
}

/// The part of a run: a level of [`PART`].
pub(crate) fn part(run: &PlannedRun) -> &str {
    run.factors.get(PART).map_or("", String::as_str)
}

/// The planned runs of a part.
pub(crate) fn of_part<'p>(plan: &'p Plan, of: &str) -> Vec<&'p PlannedRun> {
    plan.runs.iter().filter(|run| part(run) == of).collect()
}

/// What a run needs in addition to its server, as text.
pub(crate) fn needs_words(run: &PlannedRun) -> String {
    run.factors
        .get(PLACEMENT)
        .map_or_else(|| "the load generator".to_owned(), |level| format!("{PLACEMENT} {level}"))
}

/// How the time of a calibration is divided among its runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    time: Duration,
    placements: usize,
    cells: usize,
}

impl Times {
    pub(crate) fn of(plan: &Plan, asked: &PlannedCalibration) -> Self {
        let count = |part| of_part(plan, part).len();
        Self { time: Duration::from_secs_f64(asked.time_s), placements: count(PLACED), cells: count(COST) }
    }

    /// Of all placements together.
    fn placed(self) -> Duration {
        if self.placements == 0 { Duration::ZERO } else { self.time.mul_f64(PLACED_SHARE).min(PLACED_MOST) }
    }

    fn turns(self) -> usize {
        let turn = (AROUND + SHORTEST).as_secs_f64() * self.placements as f64;
        ((self.placed().as_secs_f64() / turn) as usize).clamp(FEWEST_TURNS, MOST_TURNS)
    }

    /// Number of runs for placements: all of them by turns.
    pub(crate) fn placed_runs(self) -> usize {
        if self.placements == 0 { 0 } else { self.placements * self.turns() }
    }

    pub(crate) fn of_search(self) -> Duration {
        self.time.mul_f64(SEARCH_SHARE)
    }

    /// Of each measurement, in order: all placements, the cells, the start lag with nothing to do (twice) and under
    /// load, and the search.
    pub(crate) fn of_measurements(self) -> Vec<Duration> {
        let placed = Some(self.placed()).filter(|time| !time.is_zero());
        let cell = self.time.mul_f64(CELLS_SHARE / self.cells.max(1) as f64);
        let rest = [IDLE_SHARE / 2.0, IDLE_SHARE / 2.0, LAG_SHARE, SEARCH_SHARE];
        let rest = rest.map(|share| self.time.mul_f64(share));
        placed.into_iter().chain(std::iter::repeat_n(cell, self.cells)).chain(rest).collect()
    }

    /// The measured part of a run.
    pub(crate) fn length(self, part: &str) -> Duration {
        let cell = self.time.mul_f64(CELLS_SHARE / self.cells.max(1) as f64);
        let length = match part {
            PLACED => self.placed().div_f64(self.placed_runs().max(1) as f64).saturating_sub(AROUND),
            COST => cell.mul_f64(CLOSED_SHARE),
            LATENESS => cell.mul_f64(1.0 - CLOSED_SHARE),
            IDLE => self.time.mul_f64(IDLE_SHARE / 2.0),
            LAG => self.time.mul_f64(LAG_SHARE),
            _ => {
                let trial = self.of_search().div_f64(TRIALS).saturating_sub(AROUND_TRIAL);
                trial.clamp(SHORTEST_TRIAL, LONGEST_TRIAL)
            }
        };
        length.max(SHORTEST)
    }
}

/// The setup of a run.
pub(super) fn setup(plan: &Plan, asked: &PlannedCalibration, run: &PlannedRun) -> Setup {
    let level = run.factors.get(PLACEMENT);
    let placement = level.and_then(|level| own_placement(level, plan.content.cpus.as_ref()).ok());
    let length = Times::of(plan, asked).length(part(run));
    let driver = driver_choice(plan.content.measure.driver);
    Setup { placement: placement.unwrap_or_default(), ..setup_of(run, length, driver) }
}

/// Arrivals at [`LAG_RATE`] with nothing to do, for this length.
pub(crate) fn nothing_to_do(seed: u64, length: Duration) -> (PlannedRun, Setup) {
    let run = run(Operation::Nothing, LAG_CLIENTS, Some(LAG_RATE), IDLE, seed);
    let setup = setup_of(&run, length.max(SHORTEST), DriverChoice::Auto);
    (run, setup)
}

fn setup_of(run: &PlannedRun, length: Duration, driver: DriverChoice) -> Setup {
    let is_server = Operation::named(&run.workload).is_some_and(Operation::is_server);
    Setup {
        server: if is_server { Server::Target(At::default()) } else { Server::Sink },
        connection: ConnectionPath::Direct,
        topology: Topology::default(),
        changes: None,
        cache: Cache::AsLeft,
        arm: None,
        workload: run.workload.clone(),
        options: BTreeMap::new(),
        load: run.rate.map_or(Load::Closed, |rate| Load::Rate(rate.into())),
        clients: run.clients,
        threads: 1,
        promise: None,
        sought: None,
        warmup: WARMUP,
        until: Until::Elapsed(length.as_nanos() as u64),
        statements: false,
        transactions: false,
        driver,
        placement: Placement::default(),
        seed: run.seed,
        waiting: Waiting::Auto,
        part: engine::LoadPart::WHOLE,
        counting: Counting::CALIBRATION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seconds: u64, placements: usize, cells: usize) -> Times {
        Times { time: Duration::from_secs(seconds), placements, cells }
    }

    #[test]
    fn the_time_is_shared_out() {
        for (cells, count) in [(12, 16), (6, 10)] {
            let planned = times(30, 0, cells).of_measurements();
            assert_eq!(planned.len(), count);
            let sum: Duration = planned.iter().sum();
            assert!((sum.as_secs_f64() - 30.0).abs() < 0.01, "{sum:?}");
        }
    }

    #[test]
    fn the_look_at_placements_is_short() {
        for (seconds, most) in [(5, 10.0), (30, 18.5), (3600, 18.5)] {
            let times = times(seconds, 8, 12);
            let takes = (times.length(PLACED) + AROUND).as_secs_f64() * times.placed_runs() as f64;
            assert!(takes <= most, "{takes} s beside {seconds} s");
        }
        assert_eq!((times(30, 4, 12).placed_runs(), times(30, 0, 12).placed_runs()), (4 * MOST_TURNS, 0));
    }
}
