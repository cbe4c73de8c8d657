//! Limits on what a server can make pgdyno keep in memory.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Environment variable that sets [`max_answer`].
pub const MAX_ANSWER: &str = "PGDYNO_MAX_ANSWER";

const DEFAULT: usize = 64 << 20;

static ANSWER: AtomicUsize = AtomicUsize::new(DEFAULT);

/// Most bytes of one message of a server, and of an answer on a control connection. What the load counts and
/// skips has no limit.
#[must_use]
pub fn max_answer() -> usize {
    ANSWER.load(Ordering::Relaxed)
}

/// Most bytes of one error, notice or notification.
#[must_use]
pub fn max_notice() -> usize {
    max_answer() / 64
}

/// Changes [`max_answer`] for this process.
pub fn set_max_answer(bytes: usize) {
    ANSWER.store(bytes, Ordering::Relaxed);
}

/// Describes the limit for an answer that is longer, and how to raise it.
#[must_use]
pub fn too_long(limit: usize) -> String {
    let limit = limit as f64 / f64::from(1 << 20);
    let now = max_answer() >> 20;
    format!("longer than the limit of {limit} MB; {MAX_ANSWER}, now {now}MB, raises it")
}
