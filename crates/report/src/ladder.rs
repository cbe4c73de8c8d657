//! Ladders: runs of one workload at rising rates or numbers of clients, and where quality breaks. Tables, charts and
//! verdicts take them from here.

use std::cmp::Ordering;

use results::{Table, Value};
use spec::{Arrivals, figures};

use crate::arrivals::percentiles_of;
use crate::block::Block;
use crate::numbers::{self, real};
use results::InTime;
use results::ReportData;
pub use results::cells::BOUND;
use results::cells::CellFigures;
use results::data::split;

const RATE: &str = "rate";
const PER_CLIENT: &str = "rate_per_client";
const CLIENTS: &str = "clients";

/// Runs at rising rates or numbers of clients, all else alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    pub(crate) workload: String,
    /// Levels of what else varies, in words; empty where nothing does.
    pub(crate) cell: String,
    pub(crate) arm: Option<String>,
    promise_ms: Option<f64>,
    /// Share of transactions that may be late, skipped, failed or unfinished.
    bound: f64,
    /// Ascending, two at least.
    rungs: Vec<Rung>,
}

/// A step of a ladder: all its rounds together.
#[derive(Debug, Clone, PartialEq)]
struct Rung {
    clients: u32,
    /// Asked for, per second; open load only.
    rate: Option<f64>,
    runs: usize,
    invalid: u64,
    tps: Option<f64>,
    mean_ns: Option<f64>,
    stddev_ns: Option<f64>,
    /// 50, 95 and 99 % of the response times.
    percentiles_ns: [Option<f64>; 3],
    late: u64,
    late_share: Option<f64>,
    skipped: u64,
    skipped_share: Option<f64>,
    /// Share that was late, skipped, failed or unfinished; `None` where nothing was promised.
    bad_share: Option<f64>,
    /// Of how many transactions that is a share.
    of: f64,
    /// Rounds that say something of it.
    rounds: usize,
    /// Those in which that share alone passed the bound.
    rounds_broken: usize,
    quality: Quality,
    /// What the load generator or its host lacked, where it did.
    generator: Option<String>,
    started_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quality {
    /// Nothing was promised.
    NotAsked,
    /// No run counts.
    Unknown,
    Kept,
    /// Broken, and kept again higher up.
    BrokenOnce,
    /// The first from which on it stays broken.
    BreaksHere,
    Broken,
}

impl Quality {
    /// As programs read it; nothing where nothing was promised.
    fn name(self) -> Option<&'static str> {
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

/// What a ladder comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was promised, or quality breaks somewhere, or holds on every rung.
    Told,
    /// Broken from the first rung on.
    NeverHolds,
    /// Broken below a rung on which it holds.
    Irregular,
    /// Broken where the load generator or its host had reached its own limit: the server may hold more.
    ByGenerator,
    /// Rungs without a valid run keep it from being known.
    Invalid,
}

/// All ladders of the grid, by workload, other factors and arm.
#[must_use]
pub fn ladders(data: &ReportData) -> Vec<Ladder> {
    let compared = data.experiment.compare_factor.as_deref();
    if compared.is_some_and(|factor| [RATE, PER_CLIENT, CLIENTS].contains(&factor)) {
        return Vec::new();
    }
    // Rates that a search tried are no rungs.
    if data.limits().is_some() {
        return Vec::new();
    }
    let bound = data.bound().unwrap_or(BOUND);
    let mut all = Vec::new();
    for workload in data.workloads() {
        let cells: Vec<&CellFigures> =
            data.grid.iter().filter(|figures| figures.cell.workload == workload).collect();
        for (cell, part) in parts(&cells) {
            for arm in data.arms() {
                let own = part.iter().copied().filter(|figures| figures.arm.as_deref() == arm);
                // Where nothing is compared, the one arm needs no name.
                let arm = arm.filter(|_| data.compares());
                let (workload, cell, arm) = (workload.to_owned(), cell.clone(), arm.map(str::to_owned));
                all.extend(Ladder::of(workload, cell, arm, own.collect(), bound));
            }
        }
    }
    all
}

/// Figures of a workload split into what may be ladders, each with what else varies in words: by rate, where one number of
/// clients had several; else by clients, with which the rate may rise in step.
pub(crate) fn parts<'a>(cells: &[&'a CellFigures]) -> Vec<(String, Vec<&'a CellFigures>)> {
    let by_rate = split(cells, RATE);
    let several = |part: &[&CellFigures], level: fn(&CellFigures) -> f64| {
        part.iter().any(|figures| level(figures) != level(part[0]))
    };
    let rate = |figures: &CellFigures| figures.rate.unwrap_or(0.0);
    match by_rate.iter().any(|(_, part)| several(part, rate)) {
        true => by_rate,
        false => split(cells, CLIENTS),
    }
}

impl Ladder {
    /// `None` where there are no two rungs.
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
    pub fn outcome(&self) -> Outcome {
        let any = |quality| self.rungs.iter().any(|rung| rung.quality == quality);
        let judged = self.rungs.iter().filter(|rung| rung.runs > 0 || rung.quality.is_broken()).count();
        if judged == 0 || self.is_judged() && any(Quality::Unknown) {
            Outcome::Invalid
        } else if any(Quality::BrokenOnce) {
            Outcome::Irregular
        } else if self.ended_by().is_some() {
            Outcome::ByGenerator
        } else if self.rungs.iter().all(|rung| rung.quality.is_broken()) {
            Outcome::NeverHolds
        } else {
            Outcome::Told
        }
    }

    /// What the load generator or its host lacked on the rung where quality breaks; `None` where it lacked nothing.
    fn ended_by(&self) -> Option<&str> {
        let breaks = self.rungs.iter().find(|rung| rung.quality == Quality::BreaksHere)?;
        breaks.generator.as_deref()
    }

    /// Whether there is a promise that may be broken.
    pub(crate) fn is_judged(&self) -> bool {
        self.rungs.iter().any(|rung| rung.bad_share.is_some())
    }

    /// `reporting, promise 250 ms, arm gis`.
    pub(crate) fn name(&self) -> String {
        let promise = self.promise_ms.map(|ms| format!("promise {} ms", numbers::as_given(ms)));
        let arm = self.arm.as_ref().map(|arm| format!("arm {arm}"));
        // The promise may be what tells ladders apart.
        let cell = self.cell.split(", ").filter(|part| !part.is_empty() && !part.starts_with("promise "));
        let parts = cell.map(str::to_owned).chain(promise).chain(arm);
        std::iter::once(self.workload.clone()).chain(parts).collect::<Vec<_>>().join(", ")
    }

    /// Where quality breaks, and what else is to be known, in sentences.
    pub(crate) fn words(&self) -> Vec<String> {
        if !self.is_judged() {
            return Vec::new();
        }
        let mut said = vec![self.verdict()];
        said.extend(
            self.ended_by().map(|lacked| {
                format!("The generator ended it there, so the server may hold more ({lacked}).")
            }),
        );
        let one = self.rungs.iter().find(|rung| rung.bad_share.is_some() && rung.of * self.bound < 1.0);
        said.extend(one.map(|rung| {
            format!(
                "With {} transactions ({}) a single bad one passes the bound: longer runs tell more.",
                numbers::count(rung.of as u64),
                rung.name()
            )
        }));
        let split: Vec<String> = self
            .rungs
            .iter()
            .filter(|rung| rung.rounds_broken > 0 && rung.rounds_broken < rung.rounds)
            .map(|rung| format!("{} in {} of {}", rung.name(), rung.rounds_broken, rung.rounds))
            .collect();
        if !split.is_empty() {
            said.push(format!("Broken in some rounds only: {}.", split.join("; ")));
        }
        if self.rungs.iter().any(|rung| rung.started_only) {
            said.push(crate::arrivals::STARTED_ONLY.to_owned());
        }
        said
    }

    fn verdict(&self) -> String {
        let bound = numbers::percent(self.bound);
        let at = |quality| self.rungs.iter().find(|rung| rung.quality == quality);
        let bad = |rung: &Rung| {
            let share = rung.bad_share.map_or(numbers::ABSENT.to_owned(), numbers::percent);
            format!("{share} late, skipped, failed or unfinished (bound {bound})")
        };
        let breaks = match at(Quality::BreaksHere) {
            Some(rung) if self.rungs.first() == Some(rung) => {
                format!("Quality is broken from the first rung on, {}: {}.", rung.name(), bad(rung))
            }
            Some(rung) => format!("Quality breaks at {}: {}.", rung.name(), bad(rung)),
            None => match (self.named(Quality::Kept), self.rungs.len()) {
                (kept, all) if kept.len() == all => {
                    format!("Quality holds on every rung, up to {} (bound {bound}).", kept[all - 1])
                }
                (kept, _) if kept.is_empty() => "Nothing can be said of quality.".to_owned(),
                (kept, _) if self.rungs.iter().any(|rung| rung.quality == Quality::Broken) => {
                    format!("Quality holds from {} on (bound {bound}).", kept[0])
                }
                (kept, _) => format!("Quality holds at {} (bound {bound}).", kept.join("; ")),
            },
        };
        let more = [
            (Quality::BrokenOnce, "Irregular: broken at ", ", and kept higher up."),
            (Quality::Unknown, "Not known, since no run there is valid: ", "."),
        ];
        let more = more.map(|(quality, before, after)| match self.named(quality) {
            none if none.is_empty() => String::new(),
            some => format!(" {before}{}{after}", some.join("; ")),
        });
        breaks + &more.concat()
    }

    fn named(&self, quality: Quality) -> Vec<String> {
        self.rungs.iter().filter(|rung| rung.quality == quality).map(Rung::name).collect()
    }

    /// Rungs with what people want of them, within the width of a terminal.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::captioned(format_args!("Ladder: {}", self.name())).named([
            "clients",
            "rate",
            "tps",
            "mean_us",
            "stddev_us",
            "late_pct",
            "skipped_pct",
            "p50_us",
            "p99_us",
            "quality",
        ]);
        table.optional(["rate", "late_pct", "skipped_pct", "quality"]);
        for rung in &self.rungs {
            let [p50, _, p99] = rung.percentiles_ns.map(micros);
            table.push(vec![
                rung.clients.into(),
                rung.rate.map(numbers::as_given).into(),
                real(rung.tps),
                micros(rung.mean_ns),
                micros(rung.stddev_ns),
                percent(rung.late_share),
                percent(rung.skipped_share),
                p50,
                p99,
                rung.quality.name().map(shown).into(),
            ]);
        }
        table
    }
}

/// What is sought stands out, and takes one line.
fn shown(quality: &'static str) -> &'static str {
    if quality == "breaks here" { "BREAKS" } else { quality }
}

fn micros(ns: Option<f64>) -> Value {
    real(ns.map(|ns| ns / 1e3))
}

fn percent(share: Option<f64>) -> Value {
    real(share.map(|share| share * 100.0))
}

/// Tells the first rung from which on it stays broken from others that are. Where only clients rise at one rate, more of them
/// help: what is broken before there are enough stays that.
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

    /// `12 clients, 12/s`.
    fn name(&self) -> String {
        let clients = numbers::counted(self.clients as usize, "client");
        self.rate.map_or(clients.clone(), |rate| format!("{clients}, {}/s", numbers::as_given(rate)))
    }
}

/// One line per rung of every ladder, for programs.
#[must_use]
pub fn ladder(data: &ReportData) -> Table {
    let mut table = Table::new([
        "workload",
        "cell",
        "arm",
        figures::PROMISE_MS.name,
        "bound_pct",
        "clients",
        "rate",
        "runs",
        "tps_mean",
        "mean_us",
        "stddev_us",
        "p50_us",
        "p95_us",
        "p99_us",
        figures::LATE.name,
        "late_share_pct",
        figures::SKIPPED.name,
        "skipped_share_pct",
        "bad_share_pct",
        "quality",
        "generator",
        "percentiles_of",
        "invalid",
    ]);
    table.optional([
        "cell",
        "arm",
        figures::PROMISE_MS.name,
        "bound_pct",
        "rate",
        figures::LATE.name,
        figures::SKIPPED.name,
        "generator",
        "invalid",
    ]);
    for of in ladders(data) {
        for rung in &of.rungs {
            let [p50, p95, p99] = rung.percentiles_ns.map(micros);
            let started_only = rung
                .started_only
                .then(|| percentiles_of(&Arrivals { started_only: true, ..Arrivals::default() }));
            table.push(vec![
                of.workload.clone().into(),
                of.cell.clone().into(),
                of.arm.clone().into(),
                real(of.promise_ms),
                real(of.is_judged().then_some(of.bound * 100.0)),
                rung.clients.into(),
                real(rung.rate),
                (rung.runs as u64).into(),
                real(rung.tps),
                micros(rung.mean_ns),
                micros(rung.stddev_ns),
                p50,
                p95,
                p99,
                rung.late.into(),
                percent(rung.late_share),
                rung.skipped.into(),
                percent(rung.skipped_share),
                percent(rung.bad_share),
                rung.quality.name().into(),
                rung.generator.clone().into(),
                started_only.unwrap_or("all").into(),
                rung.invalid.into(),
            ]);
        }
    }
    table
}

/// The ladders for people: of each its rungs, and what is to be said of it. `judged_only` leaves out those that nothing was
/// promised of.
#[must_use]
pub fn ladders_in_words(data: &ReportData, judged_only: bool) -> Vec<Block> {
    let shown = ladders(data).into_iter().filter(|ladder| ladder.is_judged() || !judged_only);
    shown.flat_map(|ladder| ladder.blocks()).collect()
}

impl Ladder {
    pub(crate) fn blocks(&self) -> Vec<Block> {
        [self.table().into()].into_iter().chain(self.words().into_iter().map(Block::remark)).collect()
    }
}
