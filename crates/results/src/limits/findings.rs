//! What the trials of an arm say besides its bounds.

use std::collections::BTreeMap;

use spec::figures::{self, Figure};
use spec::{AskedLimit, Run, Term};

use super::{ArmLimit, Broke, CellLimit, GeneratorLimit, LimitState, SlowestScript};

/// Results of an arm's trials besides its bounds, computed once for all outputs.
#[derive(Debug, Clone)]
pub struct Findings {
    /// Each rate that was tried, ascending.
    pub rates: Vec<TriedRate>,
    /// Actual and required arrivals of a trial at the lower bound, or else the upper, if too few.
    pub few_arrivals: Option<(f64, f64)>,
    /// Whether a single bad arrival of a trial at the upper bound breaks the promise.
    pub one_decides: bool,
    /// Whether fewer users than those that broke the promise would have too few arrivals in a trial.
    pub too_few_below: bool,
    pub broke: Option<Broke>,
    /// What the load generator lacked at the upper bound, if that caused it: the limit is at least the
    /// lower one.
    pub generator: Option<GeneratorLimit>,
    /// Whether trials contradict each other, or a load that never exceeds the limit broke the promise.
    pub irregular: bool,
    /// Trials below the lower bound that broke the promise, all trials there, and the share that broke it
    /// in the worst of them, percent.
    pub broken_below: Option<(usize, usize, f64)>,
    /// Trials whose response times kept the promise, and whose queue did not.
    pub broken_by_queue: usize,
    /// The script that takes longest at the lower bound.
    pub slowest: Option<SlowestScript>,
    /// Whether clients were added until more clients did not do more: arrivals that wait for a client wait
    /// for the server.
    pub saturated: bool,
}

/// The counted trials at a rate. Their response times and what was done in time are figures of the rate's cell
/// ([`FoundLimit::figures_at`](super::FoundLimit::figures_at)).
#[derive(Debug, Clone, Copy)]
pub struct TriedRate {
    pub rate_per_s: f64,
    pub good: usize,
    pub bad: usize,
    /// Share of arrivals that broke the promise, percent: of the best trial and of the worst.
    pub bad_pct: [f64; 2],
}

impl Findings {
    /// Of an arm of a cell.
    #[must_use]
    pub fn of(asked: &AskedLimit, cell: &CellLimit<'_>, arm: &ArmLimit<'_>) -> Self {
        let (lower, upper) = match arm.state {
            LimitState::Ended(ended) => (ended.lower, ended.upper),
            _ => (None, None),
        };
        let rates = rates(&arm.trials);
        let by_queue = |run: &&&Run| {
            run.figures.get(figures::PROMISE_LEFT_PCT).is_some() && asked.broken(run).is_empty()
        };
        Self {
            few_arrivals: few_arrivals(asked, arm, lower.or(upper)),
            one_decides: arm.one_decides(asked),
            too_few_below: arm.has_too_few_below(asked),
            broke: upper.and_then(|upper| Broke::at(asked, arm, upper)),
            generator: arm.generator(asked),
            irregular: arm.is_irregular(),
            broken_below: lower.map(|lower| broken_below(&rates, lower)),
            broken_by_queue: arm.trials.iter().filter(by_queue).count(),
            slowest: lower.and_then(|lower| SlowestScript::at(asked, arm, lower)),
            saturated: asked.grow_clients && !cell.still_growing,
            rates,
        }
    }
}

impl Findings {
    /// The lowest rate that most of its trials broke, and the highest below it that most kept, first.
    #[must_use]
    pub fn so_far(&self) -> [Option<f64>; 2] {
        let broken = self.rates.iter().find(|rate| rate.bad > rate.good).map(|rate| rate.rate_per_s);
        let is_below = |rate: &&TriedRate| broken.is_none_or(|broken| rate.rate_per_s < broken);
        let kept = self.rates.iter().rev().filter(is_below).find(|rate| rate.good > rate.bad);
        [kept.map(|rate| rate.rate_per_s), broken]
    }
}

/// Actual and required arrivals of a term in a trial at a rate; of the term with the largest lack, `None`
/// if all have enough.
fn few_arrivals(asked: &AskedLimit, arm: &ArmLimit<'_>, rate: Option<f64>) -> Option<(f64, f64)> {
    let rate = rate?;
    let there: Vec<&Run> = arm.trials.iter().copied().filter(|run| run.tried_level() == Some(rate)).collect();
    let of_term = |term: &Term| {
        let offered = there.iter().map(|run| term.kept(run).map_or(0.0, |kept| kept.offered));
        Some((offered.reduce(f64::min)?, term.least_arrivals()))
    };
    let each = asked.promise.iter().filter_map(of_term);
    let worst = each.min_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)))?;
    // Small differences by chance, rounded widths and lengths are ignored.
    (worst.0 < 0.8 * worst.1).then_some(worst)
}

/// Broken trials below this rate, all trials there, and the share of the worst, percent.
fn broken_below(rates: &[TriedRate], lower: f64) -> (usize, usize, f64) {
    let below = || rates.iter().filter(|rate| rate.rate_per_s < lower);
    let broken = below().map(|rate| rate.bad).sum();
    let worst = below().filter(|rate| rate.bad > 0).map(|rate| rate.bad_pct[1]).fold(0.0, f64::max);
    (broken, below().map(|rate| rate.good + rate.bad).sum(), worst)
}

fn rates(trials: &[&Run]) -> Vec<TriedRate> {
    let mut by_rate: BTreeMap<u64, Vec<&Run>> = BTreeMap::new();
    for run in trials {
        // The bits of positive numbers have the same order.
        by_rate.entry(run.tried_level().unwrap_or_default().to_bits()).or_default().push(run);
    }
    let rate = |(bits, runs): (u64, Vec<&Run>)| {
        let figure = |run: &&Run, of: Figure| run.figures.get(of).unwrap_or_default();
        let good = runs.iter().filter(|run| figure(run, figures::PROMISE_KEPT) > 0.5).count();
        let bad = || runs.iter().map(|run| figure(run, figures::PROMISE_BAD_PCT));
        TriedRate {
            rate_per_s: f64::from_bits(bits),
            good,
            bad: runs.len() - good,
            bad_pct: [bad().fold(f64::INFINITY, f64::min), bad().fold(0.0, f64::max)],
        }
    };
    by_rate.into_iter().map(rate).collect()
}
