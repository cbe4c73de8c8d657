//! The effect of placement on this host: the same reads in each placement in turns, repeatedly, and which one
//! is advised.

use std::time::Duration;

use spec::Run;
use spec::figures::{self, Figure};
use spec::plan::Placement;

use super::{Calibration, Operation};
use crate::setup::Setup;
use crate::strategies::{Next, PastRun, RunBlock, Strategy};

/// Approximate time for all of them, as a share of the time for the rest, and its maximum.
const SHARE: f64 = 0.6;
const MOST: Duration = Duration::from_secs(18);
/// Time of a run outside its measured part.
const AROUND: Duration = Duration::from_millis(200);
const SHORTEST: Duration = Duration::from_millis(150);
/// Turns: each connects again, which is when the scheduler chooses.
const FEWEST_TURNS: usize = 3;
const MOST_TURNS: usize = 5;

/// Highest ratio of a placement's fastest to its slowest run that needs no action.
const STEADY: f64 = 1.25;
/// One placement is clearly steadier if the spread of its runs is less than this share of the other's.
const CLEARLY: f64 = 0.5;
/// A placement slower than this share of the speed without placement has another bottleneck, which would be
/// measured instead.
const FAST_ENOUGH: f64 = 0.7;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Level {
    pub(crate) name: &'static str,
    pub(crate) placement: Placement,
}

#[derive(Debug, Clone)]
pub(crate) struct Placements {
    /// Empty if there is nothing to compare.
    pub(crate) levels: Vec<Level>,
    pub(crate) clients: Vec<u32>,
}

/// The result for a placement and a number of clients.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub level: &'static str,
    pub clients: u32,
    /// Transactions per second; the median of the runs.
    pub tps: f64,
    /// Median response time, µs; the median of the runs.
    pub p50_us: Option<f64>,
    /// Share of samples in which a client thread and a busy backend had the same CPU, percent; the mean of
    /// the runs.
    pub same_cpu_pct: Option<f64>,
    /// Moves of client threads and backends to another CPU, per second; the mean of the runs.
    pub moves_per_s: Option<f64>,
    /// Ratio of the fastest to the slowest run.
    pub spread: f64,
}

/// The advised placement, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advised {
    pub level: &'static str,
    pub why: String,
}

impl Placements {
    fn cells(&self) -> Vec<(&Level, u32)> {
        let with = |clients: &u32| self.levels.iter().map(move |level| (level, *clients)).collect::<Vec<_>>();
        self.clients.iter().flat_map(with).collect()
    }

    pub(crate) fn time(&self, calibration: Duration) -> Duration {
        if self.cells().is_empty() { Duration::ZERO } else { calibration.mul_f64(SHARE).min(MOST) }
    }

    fn turns(&self, calibration: Duration) -> usize {
        let turn = (AROUND + SHORTEST).as_secs_f64() * self.cells().len() as f64;
        ((self.time(calibration).as_secs_f64() / turn) as usize).clamp(FEWEST_TURNS, MOST_TURNS)
    }

    pub(crate) fn runs(&self, calibration: Duration) -> usize {
        self.cells().len() * self.turns(calibration)
    }

    fn length(&self, calibration: Duration) -> Duration {
        let each = self.time(calibration).div_f64(self.runs(calibration).max(1) as f64);
        each.saturating_sub(AROUND).max(SHORTEST)
    }

    /// The cell of a run; every other turn is reversed, so that no placement always comes first.
    fn cell(&self, run: usize) -> (&Level, u32) {
        let mut cells = self.cells();
        let (turn, at) = (run / cells.len(), run % cells.len());
        if turn % 2 == 1 {
            cells.reverse();
        }
        cells[at]
    }

    fn next(&self, calibration: &Calibration, done: usize) -> Next {
        let (level, clients) = self.cell(done);
        let length = self.length(calibration.time);
        let plain = calibration.setup(Operation::PointRead, clients, None, length);
        let setup = Setup { placement: level.placement.clone(), ..plain };
        let mut next = calibration.step(1, "placement of clients and server".to_owned(), "placement", setup);
        next.run.factors.insert("placement".to_owned(), level.name.to_owned());
        next.takes = self.time(calibration.time);
        next
    }

    pub(crate) fn found(&self, done: &[PastRun]) -> Vec<Placed> {
        let of = |cell: (&Level, u32)| {
            let own = done.iter().enumerate().filter(|(at, _)| self.cell(*at) == cell);
            placed(cell.0.name, cell.1, &own.map(|(_, done)| &done.run).collect::<Vec<_>>())
        };
        self.cells().into_iter().filter_map(of).collect()
    }
}

fn placed(level: &'static str, clients: u32, runs: &[&Run]) -> Option<Placed> {
    let mut tps: Vec<f64> = runs.iter().filter_map(|run| run.tps()).filter(|tps| *tps > 0.0).collect();
    tps.sort_by(f64::total_cmp);
    let mut p50: Vec<f64> =
        runs.iter().filter_map(|run| run.response().quantile_ns(0.5)).map(|ns| ns as f64 / 1e3).collect();
    p50.sort_by(f64::total_cmp);
    let figure = |of: Figure| {
        let all: Vec<f64> = runs.iter().filter_map(|run| run.figures.get(of)).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    };
    let moves = [figure(figures::CLIENT_MOVES_PER_S), figure(figures::BACKEND_MOVES_PER_S)];
    Some(Placed {
        level,
        clients,
        tps: *tps.get(tps.len() / 2)?,
        p50_us: p50.get(p50.len() / 2).copied(),
        same_cpu_pct: figure(figures::SAME_CPU_PCT),
        moves_per_s: moves.into_iter().flatten().reduce(|one, other| one + other),
        spread: tps.last()? / tps.first()?,
    })
}

/// The placement for comparisons: `free` if runs are steady without. Else the steadiest that is clearly
/// steadier and about as fast with several clients, but never `same`, in which the load takes CPU time from
/// the server.
pub(crate) fn advised(found: &[Placed]) -> Option<Advised> {
    let worst = |level: &str| {
        let of = found.iter().filter(|placed| placed.level == level);
        of.map(|placed| placed.spread).max_by(f64::total_cmp)
    };
    let speed = |level: &str| {
        let of = found.iter().filter(|placed| placed.level == level);
        of.max_by_key(|placed| placed.clients).map(|placed| placed.tps)
    };
    let free = worst("free")?;
    let differ = |spread: f64| format!("the fastest run is {spread:.2} times as fast as the slowest");
    let advise = |level, why| Some(Advised { level, why });
    if free <= STEADY {
        return advise("free", format!("runs are steady without: {}", differ(free)));
    }
    let fast =
        |level: &&str| speed(level).zip(speed("free")).is_some_and(|(tps, free)| tps >= free * FAST_ENOUGH);
    let candidates = ["apart", "awake"].into_iter().filter(fast);
    let steadiest =
        candidates.filter_map(|level| Some((level, worst(level)?))).min_by(|a, b| a.1.total_cmp(&b.1));
    match steadiest.filter(|(_, spread)| spread - 1.0 < (free - 1.0) * CLEARLY) {
        Some((level, spread)) => advise(level, format!("{}, with free {free:.2} times", differ(spread))),
        None => {
            advise("free", format!("nothing else is clearly steadier and about as fast: {}", differ(free)))
        }
    }
}

/// A calibration after the placement runs, which are its first group.
#[derive(Debug, Clone)]
pub(crate) struct WithPlacements {
    pub(crate) placements: Placements,
    pub(crate) calibration: Calibration,
}

impl WithPlacements {
    pub(crate) fn parts<'a>(&self, done: &'a [PastRun]) -> (&'a [PastRun], &'a [PastRun]) {
        done.split_at(self.placements.runs(self.calibration.time).min(done.len()))
    }

    pub(crate) fn lengths(&self) -> Vec<Duration> {
        let time = self.placements.time(self.calibration.time);
        let first = (!time.is_zero()).then_some(time);
        first.into_iter().chain(self.calibration.lengths()).collect()
    }

    pub(crate) fn planned(&self) -> usize {
        self.lengths().len()
    }
}

impl Strategy for WithPlacements {
    fn next(&self, done: &[PastRun]) -> Option<RunBlock> {
        if done.len() < self.placements.runs(self.calibration.time) {
            return Some(RunBlock { runs: vec![self.placements.next(&self.calibration, done.len())] });
        }
        let before = self.lengths().len() - self.calibration.planned();
        let mut block = self.calibration.next(self.parts(done).1)?;
        block.runs.iter_mut().for_each(|next| next.number += before);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use engine::DriverChoice;

    use super::*;

    fn placements(names: &[&'static str]) -> Placements {
        let level = |name: &&'static str| Level { name, placement: Placement::default() };
        Placements { levels: names.iter().map(level).collect(), clients: vec![1, 2] }
    }

    fn both(seconds: u64, names: &[&'static str]) -> WithPlacements {
        let (time, clients) = (Duration::from_secs(seconds), vec![1]);
        let calibration = Calibration { time, clients, server: true, driver: DriverChoice::Auto, seed: 1 };
        WithPlacements { placements: placements(names), calibration }
    }

    #[test]
    fn placements_take_turns_and_come_first() {
        let strategy = both(30, &["free", "apart"]);
        let (runs, done) = (strategy.placements.runs(Duration::from_secs(30)), |runs| {
            vec![PastRun { run: super::super::tests::run(1.0), cause: None, number: 0, in_turn: false }; runs]
        });
        assert_eq!(runs, 4 * MOST_TURNS);
        let cell = |at: usize| {
            let next = strategy.next(&done(at)).unwrap().runs.remove(0);
            assert_eq!(next.number, 1);
            (next.run.factors["placement"].clone(), next.setup.clients)
        };
        let turn = [("free", 1), ("apart", 1), ("free", 2), ("apart", 2)];
        for (at, (level, clients)) in turn.iter().chain(turn.iter().rev()).enumerate() {
            assert_eq!(cell(at), ((*level).to_owned(), *clients), "run {at}");
        }
        let after = strategy.next(&done(runs)).unwrap().runs.remove(0);
        assert_eq!((after.number, after.run.factors["part"].as_str()), (2, "cost"));
        assert_eq!(strategy.planned(), 1 + strategy.calibration.planned());
        let without = both(30, &[]);
        assert_eq!(
            (without.planned(), without.next(&[]).unwrap().runs[0].number),
            (without.calibration.planned(), 1)
        );
    }

    #[test]
    fn the_look_at_placements_is_short() {
        for (seconds, most) in [(5, 10.0), (30, 18.5), (3600, 18.5)] {
            let (time, all) = (Duration::from_secs(seconds), placements(&["free", "same", "apart", "awake"]));
            let each = all.length(time) + AROUND;
            let takes = each.as_secs_f64() * all.runs(time) as f64;
            assert!(takes <= most, "{takes} s beside {seconds} s");
        }
    }

    #[test]
    fn advice_goes_by_steadiness_and_then_by_speed() {
        let found = |levels: &[(&'static str, f64, f64)]| {
            let at = |(level, tps, spread): &(&'static str, f64, f64)| Placed {
                level,
                clients: 2,
                tps: *tps,
                p50_us: None,
                same_cpu_pct: None,
                moves_per_s: None,
                spread: *spread,
            };
            advised(&levels.iter().map(at).collect::<Vec<_>>()).map(|advised| advised.level)
        };
        for (levels, wanted) in [
            (&[("free", 100.0, 1.2), ("apart", 100.0, 1.01)][..], Some("free")),
            (&[("free", 100.0, 3.0), ("apart", 90.0, 1.1), ("awake", 100.0, 1.2)], Some("apart")),
            (&[("free", 100.0, 3.0), ("apart", 90.0, 1.4), ("awake", 100.0, 1.2)], Some("awake")),
            // Not clearly steadier; not fast enough.
            (&[("free", 100.0, 1.4), ("apart", 100.0, 1.3)], Some("free")),
            (&[("free", 100.0, 3.0), ("apart", 60.0, 1.1)], Some("free")),
            // No real server shares its only CPU with its client.
            (&[("free", 100.0, 3.0), ("same", 200.0, 1.0)], Some("free")),
            (&[("apart", 100.0, 1.0)], None),
        ] {
            assert_eq!(found(levels), wanted, "{levels:?}");
        }
    }
}
