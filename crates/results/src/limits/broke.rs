//! What broke first above a limit, from the trials that did not keep the promise.

use std::collections::BTreeMap;

use spec::{Arrivals, AskedLimit, Counts, Reason, Run, WAITS, WAITS_UNIT, figures};

use super::{ArmLimit, GeneratorLimit};

/// A wait below this share of the samples is not listed.
const LEAST_WAIT: f64 = 0.03;
const MOST_WAITS: usize = 4;

/// What broke first, as far as it can be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The load generator or its host: it had no time left, started arrivals late, or took the CPU time
    /// that the server lacked.
    Client,
    /// The machine: its processor was throttled or taken away.
    Host,
    OtherPrograms,
    Errors,
    /// Arrivals waited for a free client; their times after that would have kept the promise.
    Clients,
    Latency,
    /// A queue grew: less was done than arrived.
    Backlog,
}

impl Cause {
    /// Whether the machine or the load generator broke the promise: then nothing is known of the server.
    #[must_use]
    pub fn is_the_machine(self) -> bool {
        match self {
            Self::Client | Self::Host | Self::OtherPrograms => true,
            Self::Errors | Self::Clients | Self::Latency | Self::Backlog => false,
        }
    }
}

/// A broken term of the promise, over all the trials at this rate.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokenTerm {
    pub term: String,
    pub bad_pct: f64,
    pub allowed_pct: f64,
    /// Time within which the promised share was done, ms; `None` if it never was.
    pub took_ms: Option<f64>,
}

/// Waits of active server processes, by samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Waited {
    /// `Lock:transactionid`; `CPU` without a wait.
    pub what: String,
    /// Of all samples of active processes, percent.
    pub share_pct: f64,
}

/// Findings at the lowest rate that does not keep the promise.
#[derive(Debug, Clone, PartialEq)]
pub struct Broke {
    pub rate_per_s: f64,
    pub cause: Cause,
    pub terms: Vec<BrokenTerm>,
    /// Of the offered arrivals, percent.
    pub failed_pct: f64,
    pub skipped_pct: f64,
    pub unfinished_pct: f64,
    /// The most frequent first.
    pub waits: Vec<Waited>,
}

impl Broke {
    /// Of the trials of an arm at this rate that did not keep the promise; `None` without any.
    #[must_use]
    pub fn at(asked: &AskedLimit, arm: &ArmLimit<'_>, rate: f64) -> Option<Self> {
        let bad = |run: &&&Run| {
            run.tried_level() == Some(rate)
                && run.figures.get(figures::PROMISE_KEPT).is_some_and(|kept| kept < 0.5)
        };
        let runs: Vec<&Run> = arm.trials.iter().filter(bad).copied().collect();
        let counts = runs.iter().map(|run| Counts::of(&run.counts)).reduce(|mut sum, own| {
            sum.add(&own);
            sum
        })?;
        let arrivals = Arrivals::together(runs.iter().filter_map(|run| Arrivals::of(run)));
        let offered = arrivals.map_or(counts.due as f64, |arrivals| arrivals.offered);
        let percent = |count: u64| 100.0 * count as f64 / offered.max(1.0);
        let drained: u64 = runs.iter().map(|run| run.count(figures::DRAINED)).sum();
        let mut broke = Self {
            rate_per_s: rate,
            cause: Cause::Backlog,
            terms: terms(asked, &runs),
            failed_pct: percent(counts.failed),
            skipped_pct: percent(counts.skipped),
            unfinished_pct: percent(counts.unfinished + drained),
            waits: waits(&runs),
        };
        broke.cause = match GeneratorLimit::at(asked, &arm.trials, &arm.stalled, rate) {
            Some(_) => Cause::Client,
            None => broke.cause(&runs),
        };
        Some(broke)
    }

    fn cause(&self, runs: &[&Run]) -> Cause {
        let doubted = |reasons: &[Reason]| {
            runs.iter().all(|run| run.doubts.iter().any(|doubt| reasons.contains(&doubt.reason)))
        };
        let by_clients =
            || runs.iter().all(|run| run.figures.get(figures::CLIENTS_LIMIT).is_some_and(|by| by > 0.5));
        match () {
            () if doubted(&[Reason::Throttled, Reason::Steal]) => Cause::Host,
            () if doubted(&[Reason::Throttled, Reason::Steal, Reason::OtherPrograms]) => Cause::OtherPrograms,
            () if self.terms.iter().any(|term| 2.0 * self.failed_pct > term.bad_pct) => Cause::Errors,
            () if by_clients() => Cause::Clients,
            () if self.terms.is_empty() => Cause::Backlog,
            () => Cause::Latency,
        }
    }
}

fn terms(asked: &AskedLimit, runs: &[&Run]) -> Vec<BrokenTerm> {
    let broken = asked.promise.iter().filter_map(|term| {
        let kept: Vec<_> = runs.iter().filter_map(|run| term.kept(run)).collect();
        let sum = |of: fn(&spec::TermResult) -> f64| kept.iter().map(of).sum::<f64>();
        let (bad, offered) = (sum(|kept| kept.bad), sum(|kept| kept.offered));
        let (bad_pct, allowed_pct) = (100.0 * bad / offered.max(1.0), 100.0 * term.share);
        let mut response = stats::Histogram::new();
        let scripts = runs.iter().flat_map(|run| &run.scripts);
        let meant = scripts.filter(|script| term.is_of(&script.name));
        meant.for_each(|script| response.add(&script.response));
        // Unfinished arrivals come after all finished ones.
        let quantile = (1.0 - term.share) * offered / response.count().max(1) as f64;
        let took = (quantile <= 1.0).then(|| response.quantile_ns(quantile)).flatten();
        let broken = BrokenTerm {
            term: term.written.clone(),
            bad_pct,
            allowed_pct,
            took_ms: took.map(|ns| ns as f64 / 1e6),
        };
        (bad_pct > allowed_pct).then_some(broken)
    });
    broken.collect()
}

fn waits(runs: &[&Run]) -> Vec<Waited> {
    let mut seen: BTreeMap<&str, f64> = BTreeMap::new();
    let samples = runs.iter().flat_map(|run| &run.samples).filter(|sample| sample.source == WAITS);
    for sample in samples {
        let what = sample.name.strip_suffix(WAITS_UNIT).unwrap_or(&sample.name);
        *seen.entry(what).or_default() += sample.value;
    }
    let all: f64 = seen.values().sum();
    let mut waits: Vec<Waited> = seen
        .into_iter()
        .map(|(what, count)| Waited { what: what.to_owned(), share_pct: 100.0 * count / all })
        .filter(|waited| waited.share_pct >= 100.0 * LEAST_WAIT)
        .collect();
    waits.sort_by(|a, b| b.share_pct.total_cmp(&a.share_pct));
    waits.truncate(MOST_WAITS);
    waits
}
