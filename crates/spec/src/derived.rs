//! What is derived from a run when reading, each in one place.

use stats::Histogram;

use crate::experiment::Experiment;
use crate::figures::{self, Counter, Counters};
use crate::plan::OrderScheme;
use crate::run::{Load, Run, RunKind, ScriptRecord};

impl Experiment {
    /// Whether the runs of its arms alternate, so that what drifts is alike for all of them. Imported ones do not, nor do two
    /// experiments.
    #[must_use]
    pub fn is_interleaved(&self) -> bool {
        !matches!(self.order_scheme, OrderScheme::Imported | OrderScheme::Apart)
    }
}

impl Run {
    /// Whether a schedule offered its transactions: then the schedule sets the throughput, as long as it is kept.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.load == Load::Rate
    }

    /// One of [`Run::counts`], 0 when it was not counted.
    #[must_use]
    pub fn count(&self, of: Counter) -> u64 {
        self.counts.count(of)
    }

    /// Transactions that throughput counts: of a closed load those that succeeded and ended in the measured part. Runs that do
    /// not tell them apart, such as imported ones, count all that succeeded.
    #[must_use]
    pub fn completed(&self) -> u64 {
        completed(&self.counts)
    }

    /// Transactions per second that succeeded: [`Self::completed`] / measured seconds; in slices, over those that count. `None`
    /// for jobs and runs of no length.
    #[must_use]
    pub fn tps(&self) -> Option<f64> {
        if self.is_sliced() {
            return self.rate_of(self.slices.iter().filter(|slice| !slice.is_void));
        }
        (self.kind == RunKind::Client && self.measured_s > 0.0 && !self.scripts.is_empty())
            .then(|| self.completed() as f64 / self.measured_s)
    }

    /// Whether its time or its rate is what counts: transactions of clients, or a job that is a run of the grid; a
    /// preparation is none.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.kind == RunKind::Client || self.round > 0
    }

    /// Commands per second that succeeded; `None` where a transaction is one command, or is not made of commands.
    #[must_use]
    pub fn commands_per_s(&self) -> Option<f64> {
        Some(self.tps()? * self.figures.get(figures::COMMANDS_PER_TX)?)
    }

    /// Share of what was looked for in a cache and found there, percent; `None` where nothing may be missing.
    #[must_use]
    pub fn hit_pct(&self) -> Option<f64> {
        self.figures.get(figures::HIT_PCT)
    }

    /// How fast it was, per second: transactions (commands, where a transaction has several), or how many such jobs would fit
    /// into one. `None` where nothing was measured.
    #[must_use]
    pub fn speed(&self) -> Option<f64> {
        match self.kind {
            RunKind::Client => self.commands_per_s().or_else(|| self.tps()),
            RunKind::Job => self.took_s().map(f64::recip),
        }
    }

    /// How long a job took that came to its end, seconds; `None` of clients.
    #[must_use]
    pub fn took_s(&self) -> Option<f64> {
        (self.kind == RunKind::Job && self.measured_s > 0.0).then_some(self.measured_s)
    }

    /// The promise that was asked for, ms; imported runs have it under pgbench's name.
    #[must_use]
    pub fn promise_ms(&self) -> Option<f64> {
        self.figures.get(figures::PROMISE_MS).or_else(|| self.figures.get(figures::LATENCY_LIMIT_MS))
    }

    /// Response times over all scripts.
    #[must_use]
    pub fn response(&self) -> Histogram {
        merged(&self.scripts, |script| &script.response)
    }

    /// Service times over all scripts.
    #[must_use]
    pub fn service(&self) -> Histogram {
        merged(&self.scripts, |script| &script.service)
    }

    /// Response time at quantile `q` (0..=1), in µs; `None` where there are too few transactions for it.
    #[must_use]
    pub fn response_us(&self, q: f64) -> Option<f64> {
        self.response().percentile_ns(q).map(|ns| ns as f64 / 1000.0)
    }
}

impl ScriptRecord {
    /// As [`Run::completed`].
    #[must_use]
    pub fn completed(&self) -> u64 {
        completed(&self.counts)
    }
}

fn completed(counts: &Counters) -> u64 {
    counts.get(figures::COMPLETED).unwrap_or_else(|| counts.count(figures::OK) + counts.count(figures::LATE))
}

fn merged(scripts: &[ScriptRecord], of: impl Fn(&ScriptRecord) -> &Histogram) -> Histogram {
    let mut all = Histogram::new();
    for script in scripts {
        all.add(of(script));
    }
    all
}
