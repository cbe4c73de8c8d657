//! The next run of a calibration: placements by turns; each operation at each number of clients, at full speed and
//! then at a low rate; how late scheduled arrivals start; and the highest rate at which all rules hold.

mod bottleneck;
mod limit;
mod placements;

use std::borrow::Cow;
use std::time::Duration;

use spec::plan::{Plan, PlannedCalibration, PlannedRun};
use spec::{Run, figures};

pub(crate) use self::bottleneck::disturbed;
pub use self::limit::Limit;
use self::limit::Trials;
pub(crate) use self::placements::advised;
pub use self::placements::{Advised, Placed};
use super::{Course, Next, PastRun, RunBlock, Strategy, search};
use crate::plan::calibration::{
    COST, IDLE, LAG, LAG_CLIENTS, LAG_RATE, LATENESS, Operation, PLACED, Times, of_part, run,
};
use crate::plan::setups;
use crate::words::count;

/// A third of the possible rate: the thread sleeps between most arrivals, and is woken for them.
const CALM: f64 = 1.0 / 3.0;
/// Runs of a cell: its cost, then its lateness.
const RUNS_OF_A_CELL: usize = 2;
/// Runs for the start lag: twice with nothing to do (a disturbance of one is not a limit of the host), once
/// under load.
const LAG_RUNS: usize = 3;

/// The measurements of a plan, in order; its runs are the cells of each part.
pub(crate) struct Calibration<'p> {
    plan: &'p Plan,
    times: Times,
    placements: Vec<&'p PlannedRun>,
    cells: Vec<&'p PlannedRun>,
}

#[derive(Debug)]
pub(crate) struct Found<'a> {
    /// Cost and lateness.
    pub(crate) cells: Vec<(&'a Run, &'a Run)>,
    /// Start lag with nothing to do, the better of two tries.
    pub(crate) idle: Option<&'a Run>,
    pub(crate) lag: Option<&'a Run>,
}

/// The place of a run in its calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Which of all runs for placements.
    Placed(usize),
    Cost(usize),
    Lateness(usize),
    /// Which of both tries.
    Idle(usize),
    Lag,
    /// Which trial of the search.
    Trial(usize),
}

impl<'p> Calibration<'p> {
    pub(crate) fn new(plan: &'p Plan, asked: &PlannedCalibration) -> Self {
        let (placements, cells) = (of_part(plan, PLACED), of_part(plan, COST));
        Self { plan, times: Times::of(plan, asked), placements, cells }
    }

    /// Number of measurements, and of runs before the search.
    fn count(&self) -> (usize, usize) {
        let before = self.times.placed_runs() + self.cells.len() * RUNS_OF_A_CELL + LAG_RUNS;
        (self.times.of_measurements().len(), before)
    }

    /// The place of the run after so many.
    fn place(&self, done: usize) -> Place {
        let placed = self.times.placed_runs();
        let Some(after) = done.checked_sub(placed) else { return Place::Placed(done) };
        let Some(after) = after.checked_sub(self.cells.len() * RUNS_OF_A_CELL) else {
            let cell = after / RUNS_OF_A_CELL;
            return if after.is_multiple_of(RUNS_OF_A_CELL) {
                Place::Cost(cell)
            } else {
                Place::Lateness(cell)
            };
        };
        match after {
            idle @ (0 | 1) => Place::Idle(idle),
            2 => Place::Lag,
            trial => Place::Trial(trial - LAG_RUNS),
        }
    }

    /// The measurement of a place, from 1.
    fn number(&self, place: Place) -> usize {
        let before = usize::from(!self.placements.is_empty());
        let cells = before + self.cells.len();
        match place {
            Place::Placed(_) => 1,
            Place::Cost(cell) | Place::Lateness(cell) => before + cell + 1,
            Place::Idle(number) => cells + number + 1,
            Place::Lag => cells + LAG_RUNS,
            Place::Trial(_) => cells + LAG_RUNS + 1,
        }
    }

    /// The runs for placements, and the others.
    pub(crate) fn parts<'a>(&self, done: &'a [PastRun]) -> (&'a [PastRun], &'a [PastRun]) {
        done.split_at(self.times.placed_runs().min(done.len()))
    }

    pub(crate) fn found<'a>(&self, done: &'a [PastRun]) -> Found<'a> {
        let (_, done) = self.parts(done);
        let run = |at: usize| done.get(at).map(|done| &done.run);
        let first_lag = self.cells.len() * RUNS_OF_A_CELL;
        let cells = (0..self.cells.len()).map(|cell| cell * RUNS_OF_A_CELL);
        let cells = cells.filter_map(|at| Some((run(at)?, run(at + 1)?)));
        let idle = [run(first_lag), run(first_lag + 1)].into_iter().flatten();
        let idle =
            idle.min_by(|a, b| lag_us(a).unwrap_or(f64::MAX).total_cmp(&lag_us(b).unwrap_or(f64::MAX)));
        Found { cells: cells.collect(), idle, lag: run(first_lag + 2) }
    }

    fn trials<'a>(&self, done: &'a [PastRun], more: Option<&'a Run>) -> Trials {
        let idle_us = self.found(done).idle.and_then(lag_us).unwrap_or(0.0);
        let mut trials = Trials::new(idle_us, self.times.of_search());
        let (_, first) = self.count();
        done.iter().skip(first).map(|done| &done.run).chain(more).for_each(|run| trials.saw(run));
        trials
    }

    pub(crate) fn limit(&self, done: &[PastRun], cores: u32) -> Limit {
        self.trials(done, None).into_limit(cores)
    }

    /// The run of a place, and its measurement as text; `None` at the end of the search.
    fn run(&self, place: Place, done: &[PastRun]) -> Option<(PlannedRun, String)> {
        let seed = self.plan.seed();
        let of_cell = |cell: usize| {
            let run = self.cells[cell].clone();
            let what = format!("{}, {}", run.workload, count(run.clients as usize, "client"));
            (run, what)
        };
        let planned = |part: &str| {
            let run = of_part(self.plan, part).into_iter().next().cloned();
            run.map(|run| (run, format!("{part} at {LAG_RATE}/s")))
        };
        match place {
            Place::Placed(at) => {
                Some((self.placed(at).clone(), "placement of clients and server".to_owned()))
            }
            Place::Cost(cell) => Some(of_cell(cell)),
            Place::Lateness(cell) => {
                let (cost, what) = of_cell(cell);
                let per_second = done.last().and_then(|cost| cost.run.tps()).unwrap_or_default();
                let rate = search::rounded(per_second * CALM).max(1.0);
                let operation = Operation::named(&cost.workload)?;
                Some((run(operation, cost.clients, Some(rate), LATENESS, seed), what))
            }
            Place::Idle(_) => planned(IDLE),
            Place::Lag => planned(LAG),
            Place::Trial(_) => {
                let (rate, again) = self.trials(done, None).next()?;
                let part = if again { "rate search, second try" } else { "rate search" };
                let run = run(Operation::SinkSimple, LAG_CLIENTS, Some(rate), part, seed);
                Some((run, "highest clean rate".to_owned()))
            }
        }
    }
}

impl Strategy for Calibration<'_> {
    fn next(&self, done: &[PastRun]) -> Option<RunBlock> {
        let place = self.place(done.len());
        let (run, what) = self.run(place, done)?;
        let run = PlannedRun { sequence: done.len() as u32, ..run };
        let number = self.number(place);
        let next = Next {
            setup: setups::setup(self.plan, &run),
            what,
            number,
            takes: self.times.of_measurements()[number - 1],
            more_clients: false,
            run,
        };
        let (goes_on, with_next) = match place {
            Place::Placed(at) => (at > 0, at + 1 < self.times.placed_runs()),
            Place::Cost(_) => (false, true),
            Place::Lateness(_) => (true, false),
            Place::Idle(_) | Place::Lag => (false, false),
            // Trials take long, and each is a result.
            Place::Trial(trial) => (trial > 0, false),
        };
        Some(RunBlock { runs: vec![next], goes_on, with_next })
    }
}

impl Course for Calibration<'_> {
    fn planned(&self, _done: &[PastRun]) -> usize {
        self.count().0
    }

    /// The next run: the others follow from it.
    fn left(&self, done: &[PastRun]) -> Vec<PlannedRun> {
        let next = self.next(done).into_iter().flat_map(|block| block.runs);
        next.map(|next| next.run).collect()
    }

    /// What is invalid is a finding about the host.
    fn may_set_aside(&self, _run: &Run) -> bool {
        false
    }

    /// A measurement by its first run, and a search by the best.
    fn reported<'r>(&self, done: &'r [PastRun], run: &'r Run) -> Option<Cow<'r, Run>> {
        match self.place(done.len()) {
            Place::Placed(at) if at + 1 < self.times.placed_runs() => None,
            Place::Placed(at) => {
                Some(Cow::Borrowed(done.get(done.len() - at).map_or(run, |first| &first.run)))
            }
            Place::Cost(_) => None,
            Place::Lateness(_) => done.last().map(|cost| Cow::Borrowed(&cost.run)),
            Place::Idle(_) | Place::Lag => Some(Cow::Borrowed(run)),
            Place::Trial(_) => {
                let trials = self.trials(done, Some(run));
                if trials.next().is_some() {
                    return None;
                }
                // Who limited it does not matter here.
                let limit = trials.into_limit(1);
                limit.clean.or(limit.kept).map(Cow::Owned)
            }
        }
    }

    fn trial_words(&self, done: &[PastRun]) -> Option<String> {
        let (_, first) = self.count();
        let last = done.last().filter(|_| done.len() > first)?;
        Some(self.trials(done, None).words(&last.run))
    }

    fn measured(&self, runs: usize) -> usize {
        self.number(self.place(runs)) - 1
    }

    fn time_left(&self, runs: usize) -> Option<Duration> {
        let place = self.place(runs);
        let left = self.times.of_measurements().into_iter().skip(self.number(place) - 1);
        // How many trials follow is not known.
        Some(if matches!(place, Place::Trial(1..)) { Duration::ZERO } else { left.sum() })
    }
}

/// How late 1 % of the arrivals of a run started, µs.
pub(crate) fn lag_us(run: &Run) -> Option<f64> {
    run.figures.get(figures::START_LAG_P99_US)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    use spec::plan::Fact;

    use crate::factors::PLACES;
    use crate::plan::tests::plan_with;
    use crate::setup::Load;

    const TEXT: &str =
        "question = \"?\"\n[target]\nmanaged = { name = \"calibrate\" }\n[prepare.pgbench]\n[calibrate]\n";

    /// A run against the sink at this rate.
    pub(crate) fn run(rate: f64) -> Run {
        let run = crate::plan::calibration::run(Operation::SinkSimple, 1, Some(rate), "", 1);
        Run { offered_rate: Some(rate), measured_s: 1.0, ..Run::new(spec::RunKind::Client, run.key()) }
    }

    fn missing(what: String) -> Fact {
        Fact::Missing { what, why: "not here".to_owned() }
    }

    /// A calibration of a host with a server and these placements.
    pub(crate) fn plan(placements: &[&str]) -> Plan {
        let others = PLACES.into_iter().filter(|name| !placements.contains(name));
        plan_with(TEXT, others.map(|name| missing(format!("placement {name}")))).0
    }

    /// A machine that only generates load need not have a server.
    #[test]
    fn without_a_server_the_sink_is_measured() {
        let (plan, _) = plan_with(TEXT, [missing("the server".to_owned())]);
        let strategy = Calibration::new(&plan, plan.content.calibrate.as_ref().unwrap());
        assert_eq!((strategy.planned(&[]), strategy.placements.len()), (10, 0));
        assert!(setups::sites(&plan).is_empty());
        let told: Vec<_> = plan.not_run().iter().map(|not_run| not_run.what.as_str()).collect();
        assert_eq!(told, ["the server"]);
        let (whole, _) = plan_with(TEXT, []);
        assert_eq!((setups::sites(&whole).len(), whole.not_run().len()), (1, 0));
    }

    #[test]
    fn each_run_follows_from_those_before_it() {
        let (plan, _) = plan_with(TEXT, [missing("the server".to_owned())]);
        let calibration = Calibration::new(&plan, plan.content.calibrate.as_ref().unwrap());
        let mut done: Vec<PastRun> = Vec::new();
        let (mut told, mut blocks) = (Vec::new(), Vec::new());
        while let Some(RunBlock { runs, goes_on, with_next }) = calibration.next(&done) {
            let [Next { run: planned, setup, number, .. }] = &runs[..] else { panic!("one at a time") };
            told.push((*number, planned.factors["part"].clone(), setup.load.clone()));
            blocks.push((*number, goes_on, with_next));
            assert_eq!(calibration.measured(done.len()), number - 1);
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
        assert_eq!(told.last().unwrap().0, calibration.planned(&done));
        // The cost is stored with its lateness, and trials one by one.
        assert_eq!(blocks[..3], [(1, false, true), (1, true, false), (2, false, true)]);
        assert_eq!(blocks[15..17], [(10, false, false), (10, true, false)]);
        assert!(calibration.left(&done).is_empty());
        let found = calibration.found(&done);
        assert_eq!((found.cells.len(), found.idle.and_then(lag_us)), (6, Some(50.0)));
    }
}
