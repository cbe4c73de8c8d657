//! How a promise was kept, in any load: the share of completed transactions that was late.

use serde::{Deserialize, Serialize};

use crate::figures;
use crate::run::{Run, RunKind};

/// Late transactions of one run, or the sum over several.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// The promise, ms; `None` if unknown or not the same in all runs.
    pub ms: Option<f64>,
    /// Succeeded after the promise; or still open at the end of the drain time.
    pub late: u64,
    /// Succeeded, including late transactions.
    pub done: u64,
}

impl Promise {
    /// From a stored run; `None` without a promise.
    #[must_use]
    pub fn of(run: &Run) -> Option<Self> {
        let late = run.count(figures::LATE);
        let promise = Self { ms: run.promise_ms(), late, done: run.count(figures::OK) + late };
        (run.kind == RunKind::Client && (promise.ms.is_some() || late > 0)).then_some(promise)
    }

    /// The sum of several runs; `None` if there are none.
    #[must_use]
    pub fn together(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().reduce(|sum, one| Self {
            ms: sum.ms.filter(|_| sum.ms == one.ms),
            late: sum.late + one.late,
            done: sum.done + one.done,
        })
    }

    /// Late share of the completed transactions; 0 if there are none.
    #[must_use]
    pub fn late_share(&self) -> f64 {
        self.late as f64 / self.done.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Figures;

    /// A promise in closed load was stored, but no output showed it.
    #[test]
    fn a_closed_load_has_a_promise_too() {
        let mut run = crate::fixture::one(200);
        assert_eq!(Promise::of(&run), None);
        run.figures.set(figures::PROMISE_MS, 0.05);
        assert_eq!(Promise::of(&run), Some(Promise { ms: Some(0.05), late: 0, done: 200 }));
        run.counts.extend([(figures::OK, 150), (figures::LATE, 50)]);
        let promise = Promise::of(&run).unwrap();
        assert!((promise.late_share() - 0.25).abs() < 1e-12);
        run.figures = Figures::default();
        let unnamed = Promise::of(&run).unwrap();
        assert_eq!(unnamed, Promise { ms: None, late: 50, done: 200 });
        let both = Promise::together([promise, unnamed]);
        assert_eq!(both, Some(Promise { ms: None, late: 100, done: 400 }));
        assert_eq!(Promise::together([]), None);
    }
}
