//! What a log says of one script.

use std::collections::BTreeMap;

use stats::Histogram;

use super::row::{Outcome, Row};
use super::{Columns, Counts};

/// Counters and distributions of one script.
#[derive(Debug, Clone, Default)]
pub(in crate::import) struct Tally {
    /// Counters.
    pub(in crate::import) counts: Counts,
    /// From the intended start to the end.
    pub(in crate::import) response: Histogram,
    /// From the actual start; `None` where the log has no lag, and it is the same.
    pub(in crate::import) service: Option<Histogram>,
}

impl Tally {
    pub(super) fn new(columns: Columns) -> Self {
        Self { service: columns.lag.is_some().then(Histogram::new), ..Self::default() }
    }

    /// Takes a transaction in.
    pub(super) fn add(&mut self, row: &Row, columns: Columns, limit_us: Option<f64>) {
        self.counts.add(row, columns, limit_us);
        if let Outcome::Done(us) = row.outcome {
            self.response.record(us.saturating_mul(1000));
            if let (Some(service), Some(lag)) = (&mut self.service, columns.lag) {
                let own = us.saturating_sub(row.more[lag].max(0).unsigned_abs());
                service.record(own.saturating_mul(1000));
            }
        }
    }
}

impl Counts {
    /// Takes a transaction in.
    pub(super) fn add(&mut self, row: &Row, columns: Columns, limit_us: Option<f64>) {
        match row.outcome {
            Outcome::Done(us) if limit_us.is_some_and(|limit| us as f64 > limit) => self.late += 1,
            Outcome::Done(_) => self.ok += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Serialization => {
                self.failed += 1;
                self.serialization += 1;
            }
            Outcome::Deadlock => {
                self.failed += 1;
                self.deadlock += 1;
            }
            Outcome::Other => {
                self.failed += 1;
                self.other += 1;
            }
        }
        if let Some(retries) = columns.retries.map(|place| row.more[place]).filter(|retries| *retries > 0) {
            self.retried += 1;
            self.retries = self.retries.saturating_add(retries.unsigned_abs());
        }
    }

    /// Adds another's.
    pub(in crate::import) fn merge(&mut self, other: &Self) {
        for (own, others) in self.all_mut().into_iter().zip(other.all()) {
            *own = own.saturating_add(others);
        }
    }

    /// Those of all transactions, from those of a sample of this share (0..=1).
    #[must_use]
    pub(in crate::import) fn scaled(mut self, share: f64) -> Self {
        for count in self.all_mut() {
            *count = (*count as f64 / share).round() as u64;
        }
        self
    }

    fn all(&self) -> [u64; 9] {
        let Self { ok, late, failed, serialization, deadlock, other, skipped, retried, retries } = *self;
        [ok, late, failed, serialization, deadlock, other, skipped, retried, retries]
    }

    fn all_mut(&mut self) -> [&mut u64; 9] {
        let Self { ok, late, failed, serialization, deadlock, other, skipped, retried, retries } = self;
        [ok, late, failed, serialization, deadlock, other, skipped, retried, retries]
    }

    /// Transactions that succeeded, as pgbench counts "processed".
    #[must_use]
    pub(in crate::import) fn processed(&self) -> u64 {
        self.ok.saturating_add(self.late)
    }

    /// By name, as they are stored.
    #[must_use]
    pub(in crate::import) fn named(&self) -> BTreeMap<String, u64> {
        let mut named: BTreeMap<String, u64> = [
            ("due", self.processed().saturating_add(self.failed).saturating_add(self.skipped)),
            ("ok", self.ok),
            ("late", self.late),
            ("failed", self.failed),
            ("serialization_failures", self.serialization),
            ("deadlock_failures", self.deadlock),
            ("skipped", self.skipped),
            ("unfinished", 0),
            ("retried", self.retried),
            ("retries", self.retries),
        ]
        .map(|(name, count)| (name.to_owned(), count))
        .into();
        if self.other > 0 {
            named.insert("other_failures".to_owned(), self.other);
        }
        named
    }
}
