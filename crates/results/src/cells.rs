//! Figures of the runs of one cell and arm together: computed once, shown by tables, charts and sentences.

mod in_time;
mod scripts;

use std::collections::BTreeMap;

use spec::figures::{self, Counter};
use spec::{Arrivals, OfferedLoad, Profile, Run, Term, Validity};
use stats::Histogram;

pub use self::in_time::InTime;
pub use self::scripts::ScriptFigures;
use crate::comparison::{Cell, Grouped, Summary};

/// Share of transactions that may be late, skipped, failed or unfinished, unless the file sets another.
pub const BOUND: f64 = 0.01;

const QUANTILES: [f64; 9] = [0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1.0];

/// Figures of the runs of one cell and arm; of invalid runs only their number.
#[derive(Debug, Clone, PartialEq)]
pub struct CellFigures {
    pub cell: Cell,
    pub arm: Option<String>,
    pub clients: u32,
    pub load: OfferedLoad,
    pub rate: Option<f64>,
    pub invalid: u64,
    /// Over rounds, per second.
    pub tps: Summary,
    /// Duration of a job, over rounds, seconds; empty for clients.
    pub took_s: Summary,
    pub response: Response,
    /// 99th percentiles of the runs one by one, ns.
    pub p99_ns: Summary,
    /// Achieved rates of the runs one by one, per second; open load only.
    pub achieved: Summary,
    /// The fate of the arrivals of all rounds if the load is open, and how their promise was kept.
    pub in_time: InTime,
    /// The same, including runs that are invalid only because too much of them failed: that breaks a
    /// promise, too.
    pub judged: InTime,
    pub judged_failed: u64,
    /// Of these runs one by one: share that was late, skipped, failed or unfinished; empty without a
    /// promise.
    pub bad_shares: Vec<f64>,
    /// What the load generator or its host lacked in most of these runs, from one of them.
    pub generator: Option<String>,
    /// Failed transactions; `None` if all runs are invalid.
    pub failed: Option<u64>,
    pub bytes_per_transaction: Option<f64>,
    /// Commands per second over rounds, if a transaction is a pipeline of several.
    pub commands_per_s: Option<f64>,
    /// Hit rate of a cache in which keys may be missing, percent, all rounds together.
    pub hit_pct: Option<f64>,
    /// Keys that a cache evicted for lack of memory, all rounds together, if it counted any.
    pub evicted: Option<f64>,
    pub groups: Option<Grouped>,
    pub sliced: bool,
    pub scripts: Vec<ScriptFigures>,
    /// (second, throughput): the mean over rounds; a shorter last second counts by its length.
    pub by_second: Vec<(f64, f64)>,
    pub changing_rate: Option<Profile>,
    /// Start of each run, UTC as stored, and its throughput.
    pub each: Vec<(String, f64)>,
}

/// Response times, as far as some output shows them.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub count: u64,
    pub mean_ns: Option<f64>,
    pub stddev_ns: Option<f64>,
    /// Quantile (0..=1) and ns, for each of [`QUANTILES`] with enough values.
    quantiles: Vec<(f64, f64)>,
    pub curve: Vec<(f64, u64)>,
}

impl Response {
    /// Of some runs together.
    #[must_use]
    pub fn of(runs: &[&Run]) -> Self {
        let all = Histogram::sum(runs.iter().flat_map(|run| &run.scripts).map(|script| &script.response));
        let quantile = |q: f64| Some((q, all.percentile_ns(q)? as f64));
        Self {
            count: all.count(),
            mean_ns: all.mean_ns(),
            stddev_ns: all.stddev_ns(),
            quantiles: QUANTILES.into_iter().filter_map(quantile).collect(),
            curve: if all.is_empty() { Vec::new() } else { all.curve() },
        }
    }

    /// At 0, 0.5, 0.9, 0.95, 0.99, … or 1, ns; `None` with too few transactions for it.
    #[must_use]
    pub fn ns(&self, quantile: f64) -> Option<f64> {
        debug_assert!(QUANTILES.contains(&quantile));
        self.quantiles.iter().find(|(q, _)| *q == quantile).map(|(_, ns)| *ns)
    }
}

impl CellFigures {
    /// Figures of these runs by cell, then arm, both in order; `groups` are the experiment's.
    pub fn of<'a>(
        runs: impl Iterator<Item = &'a Run>,
        arms: &[Option<&str>],
        groups: &[Grouped],
    ) -> Vec<Self> {
        let mut by_cell: BTreeMap<(Cell, usize), Vec<&Run>> = BTreeMap::new();
        for run in runs {
            if let Some(arm) = arms.iter().position(|arm| run.arm.as_deref() == *arm) {
                by_cell.entry((Cell::of(run), arm)).or_default().push(run);
            }
        }
        let one = |((cell, arm), runs): ((Cell, usize), Vec<&Run>)| {
            let arm = arms[arm].map(str::to_owned);
            let found = groups.iter().find(|found| found.cell == cell && found.arm == arm).cloned();
            Self::gathered(cell, arm, found, &runs)
        };
        by_cell.into_iter().map(one).collect()
    }

    fn gathered(cell: Cell, arm: Option<String>, groups: Option<Grouped>, all: &[&Run]) -> Self {
        let runs: Vec<&Run> = all.iter().copied().filter(|run| run.validity != Validity::Invalid).collect();
        let judged: Vec<&Run> = all
            .iter()
            .copied()
            .filter(|run| run.validity != Validity::Invalid || run.is_only_failing())
            .collect();
        let sum = |of: Counter| runs.iter().map(|run| run.count(of)).sum::<u64>();
        let (done, bytes) = (sum(figures::OK) + sum(figures::LATE), sum(figures::BYTES));
        Self {
            cell,
            arm,
            clients: all.iter().map(|run| run.clients).max().unwrap_or(0),
            load: all.first().map_or(OfferedLoad::Closed, |run| run.load),
            rate: all.iter().find_map(|run| run.offered_rate),
            invalid: (all.len() - runs.len()) as u64,
            tps: runs.iter().filter_map(|run| run.tps()).collect(),
            took_s: runs.iter().filter_map(|run| run.took_s()).collect(),
            response: Response::of(&runs),
            p99_ns: runs
                .iter()
                .filter_map(|run| run.response().percentile_ns(0.99))
                .map(|ns| ns as f64)
                .collect(),
            achieved: runs.iter().filter_map(|run| Some(Arrivals::of(run)?.achieved_per_s())).collect(),
            in_time: InTime::of(&runs),
            judged: InTime::of(&judged),
            judged_failed: judged.iter().map(|run| run.count(figures::FAILED)).sum(),
            bad_shares: judged
                .iter()
                .filter_map(|run| InTime::of(&[run]).bad_share(Some(run.count(figures::FAILED))))
                .collect(),
            generator: generator(&judged),
            failed: (!runs.is_empty()).then(|| sum(figures::FAILED)),
            bytes_per_transaction: (done > 0 && bytes > 0).then(|| bytes as f64 / done as f64),
            commands_per_s: runs.iter().filter_map(|run| run.commands_per_s()).collect::<Summary>().mean,
            hit_pct: hit_pct(&runs),
            evicted: evicted(&runs),
            groups,
            sliced: runs.iter().any(|run| run.is_sliced()),
            scripts: ScriptFigures::of(&runs),
            by_second: by_second(&runs),
            changing_rate: runs.iter().find_map(|run| run.changing_rate()),
            each: runs.iter().filter_map(|run| Some((run.started_at.clone(), run.tps()?))).collect(),
        }
    }

    /// Whether it is a job: done once to its end, by no client.
    #[must_use]
    pub fn is_job(&self) -> bool {
        self.load == OfferedLoad::Job
    }

    /// Whether there is a valid run.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.failed.is_some()
    }

    /// Whether the response times leave out arrivals.
    #[must_use]
    pub fn is_of_started_only(&self) -> bool {
        self.in_time.arrivals.is_some_and(|arrivals| arrivals.started_only)
    }
}

fn generator(runs: &[&Run]) -> Option<String> {
    let by_lag = |run: &Run| run.promise_ms().is_some_and(|ms| promised(ms).is_broken_by_lag(run));
    let doubts = runs.iter().filter_map(|run| run.generators_doubt(|| by_lag(run)));
    let doubts: Vec<&spec::Doubt> = doubts.collect();
    let first = doubts.first().filter(|_| 2 * doubts.len() > runs.len())?;
    Some(first.to_string())
}

fn promised(ms: f64) -> Term {
    Term { script: None, within_us: (ms * 1e3) as u64, share: BOUND, written: String::new() }
}

/// From the counts of all runs together, never from shares.
fn hit_pct(runs: &[&Run]) -> Option<f64> {
    let caches = || runs.iter().filter(|run| run.hit_pct().is_some());
    // For tiles, hits and misses are counted separately; a miss asks twice.
    let of_tiles = |cached: bool| {
        let scripts = caches().flat_map(|run| &run.scripts);
        let own =
            scripts.filter(move |script| script.part.as_ref().and_then(|part| part.cached) == Some(cached));
        own.map(|script| spec::Counts::of(&script.counts).processed()).sum::<u64>() as f64
    };
    let (hits, misses) = (of_tiles(true), of_tiles(false));
    if hits + misses > 0.0 {
        return Some(100.0 * hits / (hits + misses));
    }
    let sum = |of: Counter| caches().map(|run| run.count(of)).sum::<u64>();
    let asked = sum(figures::QUERIES);
    (asked > 0).then(|| 100.0 * sum(figures::ROWS) as f64 / asked as f64)
}

fn evicted(runs: &[&Run]) -> Option<f64> {
    let found: f64 = runs.iter().filter_map(|run| run.figures.get(figures::REDIS_EVICTED_KEYS)).sum();
    (found > 0.0).then_some(found)
}

fn by_second(runs: &[&Run]) -> Vec<(f64, f64)> {
    let mut rates: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for run in runs {
        let mut own: BTreeMap<i64, f64> = BTreeMap::new();
        for point in run.series.iter().filter(|point| point.length_us >= 500_000) {
            let rate = (point.ok + point.late) as f64 * 1e6 / point.length_us as f64;
            *own.entry(point.start_us.div_euclid(1_000_000)).or_default() += rate;
        }
        own.into_iter().for_each(|(second, rate)| rates.entry(second).or_default().push(rate));
    }
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    rates.into_iter().map(|(second, rates)| (second as f64, mean(&rates))).collect()
}
