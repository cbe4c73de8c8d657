//! Whether a limit holds under changing rates: trials like the search's, after it ended.

use spec::{Profile, Run, figures};
use stats::{LimitClass, LimitGoal};

use super::tried::{counted, kept};

/// After this many trials of one shape, most of which did not count, it is abandoned.
const MOST_TRIALS: usize = 10;

/// A rate that changes, around a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Shaped {
    /// As requested, in shares of the limit.
    pub shares: Profile,
    /// Transactions per second.
    pub offered: Profile,
}

/// Result of a limit under a rate that changes.
#[derive(Debug, Clone)]
pub struct Confirmed<'r> {
    pub shaped: Shaped,
    /// The same classes as for a rate of a search.
    pub class: LimitClass,
    pub trials: Vec<&'r Run>,
    pub uncounted: usize,
    /// Least number of missing trials; 0 if it is decided or abandoned.
    pub left: usize,
    /// Number of the next trial, from 1.
    pub round: u32,
}

impl Shaped {
    pub(super) fn of(shares: &Profile, limit: f64) -> Self {
        Self { shares: shares.clone(), offered: shares.scaled(limit) }
    }

    /// Whether it never exceeds the limit, so that a promise that holds at the limit should hold under it.
    #[must_use]
    pub fn stays_below(&self) -> bool {
        self.shares.greatest() <= 1.0
    }
}

impl<'r> Confirmed<'r> {
    /// Trials of a shape if they agree.
    pub(super) const LEAST: usize = 3;

    /// From the confirming trials of one arm, which may include other shapes.
    pub(super) fn of(goal: &LimitGoal, shaped: Shaped, runs: &[&'r Run]) -> Self {
        let offered = shaped.offered.to_string();
        let own = |run: &&&'r Run| run.factors.get("rate") == Some(&offered);
        let own: Vec<&'r Run> = runs.iter().filter(own).copied().collect();
        let trials = counted(&own);
        let good = trials.iter().filter(|run| kept(run)).count();
        let class = goal.class(good as u32, (trials.len() - good) as u32);
        let missing = Self::LEAST.saturating_sub(good.max(trials.len() - good));
        Self {
            class,
            uncounted: own.len() - trials.len(),
            left: if class == LimitClass::Undecided && own.len() < MOST_TRIALS { missing.max(1) } else { 0 },
            round: own.iter().map(|run| run.round).max().unwrap_or(0) + 1,
            trials,
            shaped,
        }
    }

    /// How many trials kept the promise.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.trials.iter().filter(|run| kept(run)).count()
    }

    /// Share of arrivals that broke the worst term, percent: of the median trial; `None` without any.
    #[must_use]
    pub fn bad_pct(&self) -> Option<f64> {
        let mut bad: Vec<f64> =
            self.trials.iter().filter_map(|run| run.figures.get(figures::PROMISE_BAD_PCT)).collect();
        bad.sort_by(f64::total_cmp);
        bad.get(bad.len() / 2).copied()
    }

    /// Whether a load that never exceeded the limit broke the promise.
    #[must_use]
    pub fn refutes(&self) -> bool {
        self.class == LimitClass::Upper && self.shaped.stays_below()
    }
}

pub(super) fn is_confirming(run: &Run) -> bool {
    run.factors.get("rate").is_some_and(|rate| rate.parse::<f64>().is_err())
}
