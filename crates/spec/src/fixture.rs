//! A made-up run for tests.

use crate::run::{Run, RunKey, RunKind};

/// A run of one second that did so much.
pub(crate) fn one(done: u64) -> Run {
    let key = RunKey { workload: "w".into(), factors: [].into(), arm: None, round: 1 };
    let counts = [("due", done), ("ok", done), ("late", 0)].map(|(name, count)| (name.to_owned(), count));
    Run { clients: 4, measured_s: 1.0, counts: counts.into(), ..Run::new(RunKind::Client, key) }
}
