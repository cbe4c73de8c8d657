//! Ladders: runs of one workload at rising rates or numbers of clients, and where quality breaks.

use std::cmp::Ordering;

use spec::OfferedLoad;

use crate::cells::{BOUND, CellFigures, InTime};
use crate::data::{ReportData, split_cells};

const RATE: &str = "rate";
const PER_CLIENT: &str = "rate_per_client";
const CLIENTS: &str = "clients";

/// Runs at rising rates or numbers of clients, otherwise equal.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    pub workload: String,
    /// Levels of the other varying factors, as text; empty if none varies.
    pub cell: String,
    pub arm: Option<String>,
    pub promise_ms: Option<f64>,
    /// Share of transactions that may be late, skipped, failed or unfinished.
    pub bound: f64,
    /// Ascending, at least two.
    pub rungs: Vec<Rung>,
}

/// A step of a ladder: all its rounds together.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    pub clients: u32,
    /// Whether each client is a user.
    pub are_users: bool,
    /// Requested, per second; open load only.
    pub rate: Option<f64>,
    pub runs: usize,
    pub invalid: u64,
    pub tps: Option<f64>,
    pub mean_ns: Option<f64>,
    pub stddev_ns: Option<f64>,
    /// 50, 95 and 99 % of the response times.
    pub percentiles_ns: [Option<f64>; 3],
    pub late: u64,
    pub late_share: Option<f64>,
    pub skipped: u64,
    pub skipped_share: Option<f64>,
    /// Share that was late, skipped, failed or unfinished; `None` without a promise.
    pub bad_share: Option<f64>,
    /// Number of transactions of that share.
    pub of: f64,
    /// Rounds with such a share.
    pub rounds: usize,
    /// The ones in which that share alone passed the bound.
    pub rounds_broken: usize,
    pub quality: Quality,
    /// What the load generator or its host lacked, if anything.
    pub generator: Option<String>,
    pub started_only: bool,
}

/// Whether a rung keeps its promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    NotAsked,
    /// No run counts.
    Unknown,
    Kept,
    /// Broken, and kept again on a higher rung.
    BrokenOnce,
    /// The first from which on it stays broken.
    BreaksHere,
    Broken,
}

impl Quality {
    /// For programs; `None` without a promise.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::NotAsked => None,
            Self::Unknown => Some("no valid run"),
            Self::Kept => Some("kept"),
            Self::BrokenOnce => Some("broken here only"),
            Self::BreaksHere => Some("breaks here"),
            Self::Broken => Some("broken"),
        }
    }

    fn is_broken(self) -> bool {
        matches!(self, Self::Broken | Self::BrokenOnce | Self::BreaksHere)
    }
}

/// The outcome of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LadderOutcome {
    /// No promise, or quality breaks somewhere, or holds on every rung.
    Decided,
    NeverHolds,
    /// Broken below a rung on which it holds.
    Irregular,
    /// Broken where the load generator or its host had reached its limit: the server may hold more.
    ByGenerator,
    Invalid,
}

/// All ladders of the grid, by workload, other factors and arm.
#[must_use]
pub fn ladders(data: &ReportData) -> Vec<Ladder> {
    let compared = data.experiment.compare_factor.as_deref();
    if compared.is_some_and(|factor| [RATE, PER_CLIENT, CLIENTS].contains(&factor)) {
        return Vec::new();
    }
    // Rates of a search are not rungs.
    if data.limits().is_some() {
        return Vec::new();
    }
    let bound = data.bound().unwrap_or(BOUND);
    let mut all = Vec::new();
    for workload in data.workloads() {
        let cells: Vec<&CellFigures> =
            data.grid().iter().filter(|figures| figures.cell.workload == workload).collect();
        for (cell, part) in parts(&cells) {
            for arm in data.arms() {
                let own = part.iter().copied().filter(|figures| figures.arm.as_deref() == arm);
                // If nothing is compared, the one arm needs no name.
                let arm = arm.filter(|_| data.compares());
                let (workload, cell, arm) = (workload.to_owned(), cell.clone(), arm.map(str::to_owned));
                all.extend(Ladder::of(workload, cell, arm, own.collect(), bound));
            }
        }
    }
    all
}

/// Figures of a workload split into possible ladders, each with its other varying levels as text: by rate,
/// if one number of clients had several; else by clients, with which the rate may rise in step.
pub fn parts<'a>(cells: &[&'a CellFigures]) -> Vec<(String, Vec<&'a CellFigures>)> {
    let by_rate = split_cells(cells, RATE);
    let several = |part: &[&CellFigures], level: fn(&CellFigures) -> f64| {
        part.iter().any(|figures| level(figures) != level(part[0]))
    };
    let rate = |figures: &CellFigures| figures.rate.unwrap_or(0.0);
    match by_rate.iter().any(|(_, part)| several(part, rate)) {
        true => by_rate,
        false => split_cells(cells, CLIENTS),
    }
}

impl Ladder {
    /// `None` with fewer than two rungs.
    fn of(
        workload: String,
        cell: String,
        arm: Option<String>,
        mut own: Vec<&CellFigures>,
        bound: f64,
    ) -> Option<Self> {
        own.sort_by(|one, other| {
            let rates = one.rate.unwrap_or(0.0).total_cmp(&other.rate.unwrap_or(0.0));
            if rates == Ordering::Equal { one.clients.cmp(&other.clients) } else { rates }
        });
        let promises: Vec<f64> = own.iter().filter_map(|figures| figures.in_time.promise?.ms).collect();
        let promise_ms = promises.first().copied().filter(|first| promises.iter().all(|own| own == first));
        let mut rungs: Vec<Rung> = own.iter().map(|figures| Rung::of(figures, bound)).collect();
        let level = |rung: &Rung| (rung.clients, rung.rate);
        let distinct = rungs.windows(2).filter(|pair| level(&pair[0]) != level(&pair[1])).count();
        if distinct == 0 {
            return None;
        }
        mark(&mut rungs);
        Some(Self { workload, cell, arm, promise_ms, bound, rungs })
    }

    /// What it comes to.
    #[must_use]
    pub fn outcome(&self) -> LadderOutcome {
        let any = |quality| self.rungs.iter().any(|rung| rung.quality == quality);
        let judged = self.rungs.iter().filter(|rung| rung.runs > 0 || rung.quality.is_broken()).count();
        if judged == 0 || self.is_judged() && any(Quality::Unknown) {
            LadderOutcome::Invalid
        } else if any(Quality::BrokenOnce) {
            LadderOutcome::Irregular
        } else if self.ended_by().is_some() {
            LadderOutcome::ByGenerator
        } else if self.rungs.iter().all(|rung| rung.quality.is_broken()) {
            LadderOutcome::NeverHolds
        } else {
            LadderOutcome::Decided
        }
    }

    /// What the load generator or its host lacked on the rung where quality breaks; `None` if nothing.
    #[must_use]
    pub fn ended_by(&self) -> Option<&str> {
        let breaks = self.rungs.iter().find(|rung| rung.quality == Quality::BreaksHere)?;
        breaks.generator.as_deref()
    }

    /// Whether there is a promise that may be broken.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.rungs.iter().any(|rung| rung.bad_share.is_some())
    }
}

/// Distinguishes the first rung from which on it stays broken from other broken ones. If only clients rise
/// at one rate, more clients help: rungs with too few stay broken.
fn mark(rungs: &mut [Rung]) {
    let same_rate = rungs[0].rate.is_some() && rungs.iter().all(|rung| rung.rate == rungs[0].rate);
    let enough = rungs.iter().position(|rung| rung.quality == Quality::Kept).filter(|_| same_rate);
    let rungs = &mut rungs[enough.unwrap_or(0)..];
    let last_kept = rungs.iter().rposition(|rung| rung.quality == Quality::Kept);
    let mut first = true;
    for (at, rung) in rungs.iter_mut().enumerate().filter(|(_, rung)| rung.quality.is_broken()) {
        rung.quality = match last_kept {
            Some(kept) if at < kept => Quality::BrokenOnce,
            _ if std::mem::take(&mut first) => Quality::BreaksHere,
            _ => Quality::Broken,
        };
    }
}

impl Rung {
    fn of(figures: &CellFigures, bound: f64) -> Self {
        let InTime { arrivals, promise } = figures.in_time;
        let bad_share = figures.judged.bad_share(Some(figures.judged_failed));
        let skipped = arrivals.map_or(0, |arrivals| arrivals.skipped);
        let quality = match bad_share {
            _ if figures.tps.n == 0 && figures.bad_shares.is_empty() => Quality::Unknown,
            None => Quality::NotAsked,
            Some(share) if share > bound => Quality::Broken,
            Some(_) => Quality::Kept,
        };
        let done = figures.judged.promise.map(|promise| (promise.done + figures.judged_failed) as f64);
        Self {
            clients: figures.clients,
            are_users: figures.load == OfferedLoad::Users,
            rate: figures.rate,
            runs: figures.tps.n,
            invalid: figures.invalid,
            tps: figures.tps.mean,
            mean_ns: figures.response.mean_ns,
            stddev_ns: figures.response.stddev_ns,
            percentiles_ns: [0.5, 0.95, 0.99].map(|q| figures.response.ns(q)),
            late: promise.map_or(0, |promise| promise.late),
            late_share: promise.map(|promise| promise.late_share()),
            skipped,
            skipped_share: arrivals.map(|of| skipped as f64 / (of.due.max(1)) as f64),
            bad_share,
            of: figures.judged.arrivals.map(|arrivals| arrivals.offered).or(done).unwrap_or(0.0),
            rounds: figures.bad_shares.len(),
            rounds_broken: figures.bad_shares.iter().filter(|share| **share > bound).count(),
            quality,
            generator: figures.generator.clone(),
            started_only: figures.is_of_started_only(),
        }
    }
}
