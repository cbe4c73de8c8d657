//! The duration of a plan.

use std::time::Duration;

use spec::plan::{CACHE, Content, Plan, Scheme};

use super::setups::Setups;
use super::{cells, turns};
use crate::experiment::{DurationSpec, ExperimentFile};

/// Connecting, counters, a checkpoint and storing, before and after a run, in seconds; measured on two cores
/// and an ordinary disk. Only estimates and the length of runs with a budget depend on it.
pub(super) const AROUND_RUN_S: f64 = 0.35;
/// A restart with its writes and reads, seconds.
pub(crate) const RESTART_S: f64 = 1.0;
/// A start of a copy, which was stopped cleanly and reads data in memory, seconds: 0.35 to 0.5 measured.
const COPY_START_S: f64 = 0.5;

/// Estimated duration of a plan, without preparation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanDuration {
    pub total: Duration,
    pub per_run: Duration,
    pub restarts: usize,
}

/// The length of runs that fills a budget: exact to a tenth of a second, within the bounds.
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

/// The duration of all runs.
#[must_use]
pub fn estimate(plan: &Plan) -> PlanDuration {
    let per_run =
        plan.content.measure.warmup_s + plan.content.measure.duration_s + around_run_s(&plan.content);
    let (restarts, each_s) = match plan.copies() {
        Some(_) => (plan.starts(&plan.runs.iter().collect::<Vec<_>>()), COPY_START_S),
        None if may_restart(&plan.content) => (plan.switches(), RESTART_S),
        None => (0, 0.0),
    };
    // The duration of jobs is not known beforehand.
    let of_clients = || plan.runs.iter().filter(|run| !run.is_job());
    let mut setups = Setups::of(plan);
    let no_warmup = of_clients()
        .map(|run| plan.content.measure.warmup_s - turns::warmup_s(plan, run, setups.without_load(run)));
    let total = of_clients().count() as f64 * per_run + restarts as f64 * each_s - no_warmup.sum::<f64>();
    PlanDuration {
        total: Duration::from_secs_f64(total),
        per_run: Duration::from_secs_f64(per_run),
        restarts,
    }
}

/// The message if even the shortest runs exceed the budget; `None` if they fit.
#[must_use]
pub fn over_budget(plan: &Plan, file: &ExperimentFile) -> Option<String> {
    let DurationSpec::Sized { budget, from, .. } = file.measure.duration else { return None };
    if file.asked_rounds.is_some() {
        return None;
    }
    let total = estimate(plan).total;
    // The estimate is not exact either.
    (total.as_secs_f64() > 1.05 * budget.as_secs_f64()).then(|| {
        let [total, budget] = [total, budget].map(crate::words::duration);
        // Runs are sized for one server: their length does not depend on where arms run.
        let with = match plan.content.measure.duration_s > from.as_secs_f64() {
            true => "every server restarted each round",
            false => "the shortest runs allowed",
        };
        format!("measure.budget is {budget}, but with {with} it takes about {total}: fewer rounds or levels, or a shorter duration.from")
    })
}

pub(super) fn around_run_s(content: &Content) -> f64 {
    AROUND_RUN_S
        + if content.factors.contains_key(CACHE) || content.varies_storage() { RESTART_S } else { 0.0 }
}

pub(super) fn may_restart(content: &Content) -> bool {
    content.scheme == Scheme::HalfRounds || cells::blocked(content)
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
