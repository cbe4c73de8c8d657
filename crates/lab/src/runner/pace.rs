//! Remaining time, estimated from the runs so far.

use std::collections::BTreeMap;
use std::time::Duration;

use spec::plan::{Plan, PlannedRun};

use crate::plan::{RESTART_S, cost};

#[derive(Debug)]
pub(crate) struct Pace {
    warmup_s: f64,
    duration_s: f64,
    around_s: Mean,
    restart_s: Mean,
    /// Whole duration of jobs, by workload: only earlier ones predict it.
    jobs_s: BTreeMap<String, Mean>,
}

#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    /// Starts from a guess that counts like one observation.
    fn guess(value: f64) -> Self {
        Self { sum: value, count: 1.0 }
    }

    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1.0;
    }

    fn value(&self) -> f64 {
        self.sum / self.count
    }
}

impl Pace {
    pub(crate) fn of(plan: &Plan) -> Self {
        let estimate = cost::estimate(plan);
        let (warmup_s, duration_s) = (plan.content.measure.warmup_s, plan.content.measure.duration_s);
        Self {
            warmup_s,
            duration_s,
            around_s: Mean::guess(estimate.per_run.as_secs_f64() - warmup_s - duration_s),
            restart_s: Mean::guess(RESTART_S),
            jobs_s: BTreeMap::new(),
        }
    }

    /// Duration of earlier jobs of this workload, seconds; counts like one observation.
    pub(crate) fn learn(&mut self, workload: &str, seconds: f64) {
        self.jobs_s.insert(workload.to_owned(), Mean::guess(seconds + self.around_s.value()));
    }

    pub(crate) fn knows(&self, run: &PlannedRun) -> bool {
        !run.is_job() || self.jobs_s.contains_key(&run.workload)
    }

    pub(crate) fn ran(&mut self, run: &PlannedRun, took: Duration) {
        match run.is_job() {
            true => self.jobs_s.entry(run.workload.clone()).or_default().add(took.as_secs_f64()),
            false => self.around_s.add((took.as_secs_f64() - self.warmup_s - self.duration_s).max(0.0)),
        }
    }

    /// Approximate duration of a run, seconds; an unknown job is assumed to take as long as others.
    pub(crate) fn takes_s(&self, run: &PlannedRun) -> f64 {
        if !run.is_job() {
            return self.warmup_s + self.duration_s + self.around_s.value();
        }
        let all = || {
            let known = self.jobs_s.values().map(Mean::value);
            known.clone().sum::<f64>() / known.count().max(1) as f64
        };
        self.jobs_s.get(&run.workload).map_or_else(all, Mean::value)
    }

    pub(crate) fn switched(&mut self, took: Duration) {
        self.restart_s.add(took.as_secs_f64());
    }

    pub(crate) fn left<'r>(&self, runs: impl Iterator<Item = &'r PlannedRun>, switches: usize) -> Duration {
        let runs_s: f64 = runs.map(|run| self.takes_s(run)).sum();
        Duration::from_secs_f64(runs_s + switches as f64 * self.restart_s.value())
    }
}
