//! The effect of placement on this host: the same reads in each placement in turns, repeatedly, and which one
//! is advised.

use spec::Run;
use spec::figures::{self, Figure};
use spec::plan::PlannedRun;

use super::Calibration;
use crate::factors::PLACEMENT;
use crate::strategies::PastRun;

/// Highest ratio of a placement's fastest to its slowest run that needs no action.
const STEADY: f64 = 1.25;
/// One placement is clearly steadier if the spread of its runs is less than this share of the other's.
const CLEARLY: f64 = 0.5;
/// A placement slower than this share of the speed without placement has another bottleneck, which would be
/// measured instead.
const FAST_ENOUGH: f64 = 0.7;

/// The result for a placement and a number of clients.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    pub level: String,
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
    pub level: String,
    pub why: String,
}

impl Calibration<'_> {
    /// A run for placements; every other turn is reversed, so that no placement always comes first.
    pub(super) fn placed(&self, run: usize) -> &PlannedRun {
        let count = self.placements.len();
        let (turn, at) = (run / count, run % count);
        self.placements[if turn.is_multiple_of(2) { at } else { count - 1 - at }]
    }

    /// The results for placements.
    pub(crate) fn placements_found(&self, done: &[PastRun]) -> Vec<Placed> {
        let (done, _) = self.parts(done);
        let of = |cell: &&PlannedRun| {
            let own = done.iter().map(|done| &done.run).filter(|run| run.factors == *cell.factors);
            placed(cell.factors.get(PLACEMENT)?, cell.clients, &own.collect::<Vec<_>>())
        };
        self.placements.iter().filter_map(of).collect()
    }
}

fn placed(level: &str, clients: u32, runs: &[&Run]) -> Option<Placed> {
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
        level: level.to_owned(),
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
    let advise = |level: &str, why| Some(Advised { level: level.to_owned(), why });
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

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::tests::{plan, run};
    use crate::strategies::{Course, Strategy};

    #[test]
    fn placements_take_turns_and_come_first() {
        let plan = plan(&["free", "apart"]);
        let strategy = Calibration::new(&plan, plan.content.calibrate.as_ref().unwrap());
        let runs = strategy.times.placed_runs();
        let done =
            |runs: usize| vec![PastRun { run: run(1.0), cause: None, number: 0, in_turn: false }; runs];
        let cell = |at: usize| {
            let block = strategy.next(&done(at)).unwrap();
            assert_eq!((block.runs[0].number, block.goes_on), (1, at > 0));
            assert_eq!(block.with_next, at + 1 < runs, "all of them are stored together");
            let next = &block.runs[0];
            (next.run.factors["placement"].clone(), next.setup.clients)
        };
        // The machine of the plan has 4 CPUs.
        let turn = [("free", 1), ("apart", 1), ("free", 4), ("apart", 4)];
        for (at, (level, clients)) in turn.iter().chain(turn.iter().rev()).enumerate() {
            assert_eq!(cell(at), ((*level).to_owned(), *clients), "run {at}");
        }
        let after = strategy.next(&done(runs)).unwrap().runs.remove(0);
        assert_eq!((after.number, after.run.factors["part"].as_str()), (2, "cost"));
        let without = super::super::tests::plan(&[]);
        let without = Calibration::new(&without, without.content.calibrate.as_ref().unwrap());
        assert_eq!(
            (without.planned(&[]) + 1, without.next(&[]).unwrap().runs[0].number),
            (strategy.planned(&[]), 1)
        );
    }

    #[test]
    fn advice_goes_by_steadiness_and_then_by_speed() {
        let found = |levels: &[(&'static str, f64, f64)]| {
            let at = |(level, tps, spread): &(&'static str, f64, f64)| Placed {
                level: (*level).to_owned(),
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
            assert_eq!(found(levels).as_deref(), wanted, "{levels:?}");
        }
    }
}
