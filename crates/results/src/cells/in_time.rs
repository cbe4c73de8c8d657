//! Whether runs were in time: the fate of the arrivals of an open load, and how a promise was kept.

use spec::{Arrivals, Promise, Run};

/// Lateness of some runs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct InTime {
    pub arrivals: Option<Arrivals>,
    pub promise: Option<Promise>,
}

impl InTime {
    /// Of several runs taken together.
    #[must_use]
    pub fn of(runs: &[&Run]) -> Self {
        Self {
            arrivals: Arrivals::together(runs.iter().filter_map(|run| Arrivals::of(run))),
            promise: Promise::together(runs.iter().filter_map(|run| Promise::of(run))),
        }
    }

    /// The arrivals, if the load was too much.
    #[must_use]
    pub fn overload(&self) -> Option<Arrivals> {
        self.arrivals.filter(Arrivals::is_overloaded)
    }

    /// Share that was late, skipped, failed or unfinished. Without a promise, for an open load: the share
    /// not done in time, except what was open at the end by chance. `None` if the load is closed and
    /// nothing was promised.
    #[must_use]
    pub fn bad_share(&self, failed: Option<u64>) -> Option<f64> {
        let (bad, of) = match (self.arrivals, self.promise) {
            (Some(arrivals), promise) => {
                let luck = (arrivals.unfinished + arrivals.drained).min(arrivals.clients);
                let luck = if promise.is_some() { 0 } else { luck };
                (arrivals.offered - (arrivals.in_time() + luck) as f64, arrivals.offered)
            }
            (None, Some(promise)) => {
                let failed = failed.unwrap_or(0);
                ((promise.late + failed) as f64, (promise.done + failed) as f64)
            }
            (None, None) => return None,
        };
        Some(if of > 0.0 { (bad / of).max(0.0) } else { 0.0 })
    }

    /// How many were late; `None` without a promise.
    #[must_use]
    pub fn late(&self) -> Option<u64> {
        self.promise.map(|promise| promise.late).or(self.arrivals.map(|arrivals| arrivals.late))
    }
}
