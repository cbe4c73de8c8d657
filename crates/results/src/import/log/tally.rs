//! The log of one script.

use spec::Counts;
use spec::figures::Counters;
use stats::Histogram;

use super::Columns;
use super::row::{LogRow, LoggedOutcome};

#[derive(Debug, Clone, Default)]
pub(in crate::import) struct Tally {
    pub(in crate::import) counts: Counts,
    /// From the intended start to the end.
    pub(in crate::import) response: Histogram,
    /// From the actual start; `None` if the log has no lag, since it is then the same.
    pub(in crate::import) service: Option<Histogram>,
}

impl Tally {
    pub(super) fn new(columns: Columns) -> Self {
        Self { service: columns.lag.is_some().then(Histogram::new), ..Self::default() }
    }

    pub(super) fn add(&mut self, row: &LogRow, columns: Columns, limit_us: Option<f64>) {
        tally(&mut self.counts, row, columns, limit_us);
        if let LoggedOutcome::Done(us) = row.outcome {
            self.response.record(us.saturating_mul(1000));
            if let (Some(service), Some(lag)) = (&mut self.service, columns.lag) {
                let own = us.saturating_sub(row.more[lag].max(0).unsigned_abs());
                service.record(own.saturating_mul(1000));
            }
        }
    }
}

pub(super) fn tally(counts: &mut Counts, row: &LogRow, columns: Columns, limit_us: Option<f64>) {
    match row.outcome {
        LoggedOutcome::Done(us) if limit_us.is_some_and(|limit| us as f64 > limit) => counts.late += 1,
        LoggedOutcome::Done(_) => counts.ok += 1,
        LoggedOutcome::Skipped => counts.skipped += 1,
        LoggedOutcome::Failed => counts.failed += 1,
        LoggedOutcome::Serialization => {
            counts.failed += 1;
            counts.serialization_failures += 1;
        }
        LoggedOutcome::Deadlock => {
            counts.failed += 1;
            counts.deadlock_failures += 1;
        }
        LoggedOutcome::Other => {
            counts.failed += 1;
            counts.other_failures += 1;
        }
    }
    if let Some(retries) = columns.retries.map(|place| row.more[place]).filter(|retries| *retries > 0) {
        counts.retried += 1;
        counts.retries = counts.retries.saturating_add(retries.unsigned_abs());
    }
}

/// Counters for storing; all known ones were due.
pub(in crate::import) fn stored(counts: &Counts) -> Counters {
    let due = counts.processed().saturating_add(counts.failed).saturating_add(counts.skipped);
    Counts { due, ..*counts }.transactions()
}
