//! Counters by the names they are stored under.

use std::collections::BTreeMap;

use engine::Counts;

/// Counters of a run, as they are stored.
pub(crate) fn counts(measured: &engine::Measured, open: bool) -> BTreeMap<String, u64> {
    let drained = open.then(|| ("drained".to_owned(), measured.drained));
    named(&measured.totals()).into_iter().chain(drained).collect()
}

/// Counters by name.
pub(crate) fn named(counts: &Counts) -> BTreeMap<String, u64> {
    [
        ("due", counts.due),
        ("ok", counts.ok),
        ("late", counts.late),
        ("failed", counts.failed),
        ("serialization_failures", counts.serialization_failures),
        ("deadlock_failures", counts.deadlock_failures),
        ("skipped", counts.skipped),
        ("unfinished", counts.unfinished),
        ("retried", counts.retried),
        ("retries", counts.retries),
        ("rows", counts.rows),
        ("bytes", counts.bytes),
        ("queries", counts.queries),
        ("changes", counts.changes),
        ("affected", counts.affected),
    ]
    .into_iter()
    .map(|(name, count)| (name.to_owned(), count))
    .collect()
}
