//! A run that no experiment file planned: one cell of its own, judged by the rules of all runs.

use results::Spool;
use std::collections::BTreeMap;
use std::time::Duration;

use record::Run;
use workloads::ScriptInfo;

use crate::execute::{Taken, fill, planned};
use crate::plan::PlannedRun;
use crate::validity::{Evidence, judge};

/// What is known of such a run before it is measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Single {
    /// As it is shown.
    pub(crate) workload: String,
    /// At least 1.
    pub(crate) clients: u32,
    /// At least 1.
    pub(crate) threads: u32,
    /// Arrivals per second; `None` in closed load.
    pub(crate) rate: Option<f64>,
    /// Slower transactions are late.
    pub(crate) limit: Option<Duration>,
    /// Load before anything counts.
    pub(crate) warmup: Duration,
    /// Seed of its randomness.
    pub(crate) seed: u64,
    /// Whether it was said that nothing may come back.
    pub(crate) may_be_empty: bool,
}

impl Single {
    /// Its record, with nothing measured yet.
    pub(crate) fn record(&self) -> Run {
        let mut factors = BTreeMap::from([
            ("workload".to_owned(), self.workload.clone()),
            ("clients".to_owned(), self.clients.to_string()),
        ]);
        factors.extend(self.rate.map(|rate| ("rate".to_owned(), rate.to_string())));
        let run = PlannedRun {
            sequence: 0,
            round: 1,
            workload: self.workload.clone(),
            factors,
            arm: None,
            position_in_pair: 1,
            seed: self.seed,
            clients: self.clients,
            threads: self.threads,
            rate: self.rate,
            beside: false,
        };
        let load = if self.rate.is_some() { "rate" } else { "closed" };
        let mut record = planned(&run, load, self.warmup.as_secs_f64(), 1);
        let promise = self.limit.map(|limit| ("promise_ms".to_owned(), limit.as_secs_f64() * 1e3));
        record.figures.extend(promise);
        record
    }

    /// Fills its record in with what was measured, and with the verdict.
    pub(crate) fn fill(&self, record: &mut Run, taken: Taken, scripts: &[ScriptInfo]) -> Spool {
        (record.validity, record.doubts) = judge(&Evidence {
            measured: &taken.measured,
            series: &taken.series,
            rate: self.rate,
            clients: self.clients,
            limit_s: self.limit.map(|limit| limit.as_secs_f64()),
            changed: taken.changed.as_deref(),
            steal_pct: taken.figures.get("steal_pct").copied(),
            // There are no runs before it to compare with.
            probe_ms: None,
            scripts,
            may_be_empty: self.may_be_empty,
        });
        fill(record, taken, scripts)
    }
}
