//! How long a plan takes, from its preparation to its last run: a range.

use std::collections::BTreeSet;
use std::time::Duration;

use spec::plan::{Plan, TargetSpec};

use super::setups::Setups;
use super::{cost, setups, turns, users};
use crate::words::{count, duration};

/// The time before the first run that depends on what was done earlier, seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PreparationTime {
    /// 0 where the data may be there already.
    pub least_s: f64,
    pub most_s: f64,
    /// What is done of which nobody knows how long it takes.
    pub unknown: Vec<String>,
}

/// A range of time, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TimeRange {
    least_s: f64,
    most_s: f64,
}

/// Start of a server, or its creation; measured on two cores and an ordinary disk.
const SERVER: TimeRange = TimeRange { least_s: 0.2, most_s: 6.0 };
/// A copy of a server, without its data.
const COPY: TimeRange = TimeRange { least_s: 0.4, most_s: 4.0 };
/// A replica, for each run that needs other ones than the run before.
const REPLICA: TimeRange = TimeRange { least_s: 0.5, most_s: 4.0 };
/// Checking that a workload does something, comparing its answers, and explaining its statements.
const CHECKS: TimeRange = TimeRange { least_s: 0.05, most_s: 1.5 };
/// The same of tiles: of each zoom, some are fetched and explained.
const CHECKS_OF_TILES: TimeRange = TimeRange { least_s: 0.3, most_s: 20.0 };
/// Share of the runs that may be measured again, as a disturbed machine needs.
const AGAIN: f64 = 0.25;
/// Differences between runs, and between machines.
const SPREAD: f64 = 0.1;

impl TimeRange {
    fn times(self, count: usize) -> Self {
        let count = count as f64;
        Self { least_s: count * self.least_s, most_s: count * self.most_s }
    }

    fn plus(self, other: Self) -> Self {
        Self { least_s: self.least_s + other.least_s, most_s: self.most_s + other.most_s }
    }

    fn words(self, unknown: &[String]) -> String {
        let [least, most] =
            [self.least_s, self.most_s].map(|seconds| duration(Duration::from_secs_f64(seconds)));
        let besides = match unknown {
            [] => String::new(),
            unknown => format!("; not known yet: {}", unknown.join(", ")),
        };
        format!("{least} to {most} in all, with preparation and checks{besides}")
    }
}

/// Number, length and total time of the runs, in words; `None` if there are none.
#[must_use]
pub fn length_words(plan: &Plan, preparation: &PreparationTime) -> Option<String> {
    let (measure, estimate) = (&plan.content.measure, cost::estimate(plan));
    let before = before(plan, preparation);
    if measure.search.is_some() {
        let [least, most] = crate::strategies::of(plan, &[]).usual(&[]);
        let per_run_s = estimate.per_run.as_secs_f64();
        let least_s = least as f64 * (per_run_s - cost::AROUND_RUN_S);
        let all = TimeRange { least_s, most_s: most as f64 * per_run_s };
        return Some(format!(
            "{least} to {most} runs of {} s (warm-up {} s), {}, more where trials disagree",
            measure.duration_s,
            measure.warmup_s,
            all.plus(before).words(&preparation.unknown)
        ));
    }
    let of_clients = plan.runs.iter().filter(|run| !run.is_job()).count();
    if of_clients == 0 {
        return None;
    }
    let runs = count(of_clients, "run");
    if let Some(sessions) = users::each(plan) {
        let number = count(sessions as usize, "session");
        return Some(format!("{runs} of {number} of each user; how long that takes is not known"));
    }
    if let Some(number) = measure.transactions {
        let number = count(number as usize, "transaction");
        let warmup_s = measure.warmup_s;
        return Some(format!(
            "{runs} of {number} of each client (warm-up {warmup_s} s); how long that takes is not known"
        ));
    }
    let total_s = estimate.total.as_secs_f64();
    // What is around a run may take no time at all.
    let least_s = total_s - of_clients as f64 * cost::AROUND_RUN_S;
    let all = TimeRange { least_s, most_s: total_s * (1.0 + AGAIN + SPREAD) }.plus(before);
    Some(format!(
        "{runs} of {} s (warm-up {} s{}{}), {}",
        measure.duration_s,
        measure.warmup_s,
        if plan.content.starts_cold() { ", none where cold" } else { "" },
        longer_warmup(plan),
        all.words(&preparation.unknown),
    ))
}

/// What is done besides the runs.
fn before(plan: &Plan, preparation: &PreparationTime) -> TimeRange {
    let is_managed = matches!(plan.content.target, TargetSpec::Managed { .. });
    let servers = SERVER.times(if is_managed { setups::sites(plan).len() } else { 0 });
    let copies = plan.copies().map_or(0, |_| plan.content.arms.len().max(2));
    let replicas = match plan.content.most_replicas() as usize {
        0 => 0,
        most => most * plan.switches(),
    };
    let own = TimeRange { least_s: preparation.least_s, most_s: preparation.most_s };
    [servers, COPY.times(copies), REPLICA.times(replicas), checks(plan)]
        .into_iter()
        .fold(own, TimeRange::plus)
}

/// Each workload is checked in each arm.
fn checks(plan: &Plan) -> TimeRange {
    let mut setups = Setups::of(plan);
    let asked = |run| (setups.without_load(run).asked(), &run.arm, &run.workload);
    let asked: BTreeSet<_> = plan.runs.iter().filter(|run| !run.is_job()).map(asked).collect();
    let is_of_tiles = |workload: &str| {
        let planned = plan.content.workloads.get(workload);
        planned.is_some_and(|planned| !planned.spec.tables("tiles").is_empty())
    };
    let of_tiles = asked.iter().filter(|(.., workload)| is_of_tiles(workload)).count();
    CHECKS_OF_TILES.times(of_tiles).plus(CHECKS.times(asked.len() - of_tiles))
}

/// A note that arms which take turns are always warmed up.
fn longer_warmup(plan: &Plan) -> String {
    let asked = plan.content.measure.warmup_s;
    let mut setups = Setups::of(plan);
    let given = plan
        .runs
        .iter()
        .filter(|run| turns::takes_turns(plan, run))
        .map(|run| turns::warmup_s(plan, run, setups.without_load(run)));
    match given.reduce(f64::max).filter(|given| *given > asked) {
        Some(given) => format!(", {given} s where arms take turns: it tells how long slices are to be"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(workload: &str, preparation: &PreparationTime) -> String {
        let text = format!(
            "question = \"?\"\n[target]\nmanaged = {{}}\n[workload.w]\n{workload}\n[settings.a]\n[settings.b]\njit = \"off\"\n\
             [compare]\nfactor = \"settings\"\nbase = \"a\"\n[measure]\nwarmup = \"1s\"\nduration = \"4s\"\nrounds = 2\n"
        );
        length_words(&crate::plan::tests::plan(&text), preparation).unwrap()
    }

    /// Preparation, checks and what is measured again came on top of what was announced.
    #[test]
    fn a_range_has_what_is_done_before_and_between_runs() {
        let select = "pgbench = { builtin = \"select-only\" }";
        let none = words(select, &PreparationTime::default());
        assert!(none.starts_with("4 runs of 4 s (warm-up 1 s), 20 s to "), "{none}");
        let loaded = PreparationTime { least_s: 0.0, most_s: 600.0, unknown: vec!["run a.sql".to_owned()] };
        let loaded = words(select, &loaded);
        assert!(
            loaded.contains("20 s to 10 min ") && loaded.ends_with("not known yet: run a.sql"),
            "{loaded}"
        );
        let tiles = words("tiles = { table = \"t\", zooms = [3, 4] }", &PreparationTime::default());
        assert!(tiles.contains("21 s to 1 min "), "checks of tiles take longer: {tiles}");
    }
}
