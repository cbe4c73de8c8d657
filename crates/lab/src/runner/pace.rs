//! How long the rest will take, from what the runs so far took.

use std::time::Duration;

use crate::plan::{Plan, RESTART_S};

/// Time spent around runs and on restarts so far.
#[derive(Debug)]
pub(crate) struct Pace {
    warmup_s: f64,
    duration_s: f64,
    around_s: Mean,
    restart_s: Mean,
}

#[derive(Debug)]
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
        let estimate = plan.estimate();
        let (warmup_s, duration_s) = (plan.content.measure.warmup_s, plan.content.measure.duration_s);
        Self {
            warmup_s,
            duration_s,
            around_s: Mean::guess(estimate.per_run.as_secs_f64() - warmup_s - duration_s),
            restart_s: Mean::guess(RESTART_S),
        }
    }

    /// A run took this long, with all around it but switching arms.
    pub(crate) fn ran(&mut self, took: Duration) {
        self.around_s.add((took.as_secs_f64() - self.warmup_s - self.duration_s).max(0.0));
    }

    /// Switching arms took this long.
    pub(crate) fn switched(&mut self, took: Duration) {
        self.restart_s.add(took.as_secs_f64());
    }

    /// Time for so many runs and switches.
    pub(crate) fn left(&self, runs: usize, switches: usize) -> Duration {
        let per_run = self.warmup_s + self.duration_s + self.around_s.value();
        Duration::from_secs_f64(runs as f64 * per_run + switches as f64 * self.restart_s.value())
    }
}
