//! How much time a plan takes.

use std::time::Duration;

use super::{Content, Plan, PlannedRun, Scheme};
use crate::experiment::{DurationSpec, ExperimentFile};

/// Connecting, counters, a checkpoint and storing, before and after a run, in seconds; measured on two cores and an
/// ordinary disk. Only an estimate hangs on it, and the length of runs that are sized by a budget.
pub(super) const AROUND_RUN_S: f64 = 0.35;
/// A restart with what it writes and reads, seconds.
pub(crate) const RESTART_S: f64 = 1.0;
/// A start of a copy, which was stopped cleanly and reads what is in memory already, seconds: 0.35 to 0.5 measured.
const COPY_START_S: f64 = 0.5;

/// The factor that has the server started again before each run.
pub(super) const CACHE: &str = "cache";

/// How long a plan takes, preparation not counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// All runs.
    pub total: Duration,
    pub per_run: Duration,
    pub restarts: usize,
}

impl Plan {
    /// How long all runs take.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let per_run =
            self.content.measure.warmup_s + self.content.measure.duration_s + self.content.around_run_s();
        let (restarts, each_s) = match self.copies() {
            Some(_) => (self.starts(&self.runs.iter().collect::<Vec<_>>()), COPY_START_S),
            None if self.content.restarts() => (self.switches(), RESTART_S),
            None => (0, 0.0),
        };
        // How long jobs take nobody knows beforehand.
        let of_clients = || self.runs.iter().filter(|run| !run.is_job());
        let no_warmup = of_clients().map(|run| self.content.measure.warmup_s - self.warmup_of(run));
        let total = of_clients().count() as f64 * per_run + restarts as f64 * each_s - no_warmup.sum::<f64>();
        Estimate {
            total: Duration::from_secs_f64(total),
            per_run: Duration::from_secs_f64(per_run),
            restarts,
        }
    }

    /// What is said where even the shortest runs take more time than the file allows; `None` where they fit.
    #[must_use]
    pub fn over_budget(&self, file: &ExperimentFile) -> Option<String> {
        let DurationSpec::Sized { budget, from, .. } = file.measure.duration else { return None };
        if file.asked_rounds.is_some() {
            return None;
        }
        let total = self.estimate().total;
        // The estimate is no promise either.
        (total.as_secs_f64() > 1.05 * budget.as_secs_f64()).then(|| {
            let [total, budget] = [total, budget].map(crate::words::duration);
            // Runs are sized for one server: their length is the same wherever arms stand.
            let with = match self.content.measure.duration_s > from.as_secs_f64() {
                true => "every server started anew each round",
                false => "the shortest runs allowed",
            };
            format!("measure.budget is {budget}, but with {with} it takes about {total}: fewer rounds or levels, or a shorter duration.from")
        })
    }

    /// How often the server is brought to another state.
    fn switches(&self) -> usize {
        let runs = self.runs.iter().filter(|run| !run.beside);
        let states: Vec<_> = runs.map(|run| self.content.state_of(run)).collect();
        states.windows(2).filter(|pair| pair[0] != pair[1]).count() + 1
    }
}

impl Content {
    /// What happens before and after each run, seconds.
    pub(super) fn around_run_s(&self) -> f64 {
        AROUND_RUN_S + if self.factors.contains_key(CACHE) || self.varies_storage() { RESTART_S } else { 0.0 }
    }

    /// Whether there are runs that begin cold.
    pub(super) fn starts_cold(&self) -> bool {
        self.factors.get(CACHE).is_some_and(|levels| levels.iter().any(|level| level == "cold"))
    }

    /// Load before a run counts, seconds: a warm-up would heat a cold one unseen.
    pub(crate) fn warmup_of(&self, run: &PlannedRun) -> f64 {
        let setup = self.setup(&run.factors, run.arm.as_deref());
        setup.map_or(self.measure.warmup_s, |setup| setup.warmup.as_secs_f64())
    }

    /// Whether going on from one run to the next may take a restart.
    pub(super) fn restarts(&self) -> bool {
        self.scheme == Scheme::HalfRounds || self.blocked()
    }
}

/// The length of runs that fills a budget: a tenth of a second exact, within the bounds.
pub(super) fn sized(
    budget_s: f64,
    (warmup_s, around_s): (f64, f64),
    runs: usize,
    restarts: usize,
    from_s: f64,
    to_s: f64,
) -> f64 {
    let free = budget_s - restarts as f64 * RESTART_S;
    let each = free / runs.max(1) as f64 - warmup_s - around_s;
    ((each * 10.0 + 1e-6).floor() / 10.0).clamp(from_s, to_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_shared_out() {
        assert_eq!(sized(100.0, (0.65, AROUND_RUN_S), 20, 0, 1.0, 10.0), 4.0);
        assert_eq!(sized(102.0, (0.65, AROUND_RUN_S), 20, 2, 1.0, 10.0), 4.0);
        assert_eq!(sized(10.0, (0.65, AROUND_RUN_S), 20, 0, 1.0, 10.0), 1.0);
        assert_eq!(sized(1000.0, (0.65, AROUND_RUN_S), 20, 0, 1.0, 10.0), 10.0);
    }
}
