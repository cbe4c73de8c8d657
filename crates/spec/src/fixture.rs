//! A made-up run for tests.

use crate::figures;
use crate::run::{Run, RunKey, RunKind};

/// A run of one second with this many transactions.
pub(crate) fn one(done: u64) -> Run {
    let key = RunKey { workload: "w".into(), factors: [].into(), arm: None, round: 1 };
    let counts = [(figures::DUE, done), (figures::OK, done), (figures::LATE, 0)];
    Run { clients: 4, measured_s: 1.0, counts: counts.into(), ..Run::new(RunKind::Client, key) }
}
