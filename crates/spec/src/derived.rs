//! Figures of a run that are derived when reading, each in one place.

use stats::Histogram;

use crate::ExperimentRecord;
use crate::figures::{self, Counter, Counters};
use crate::plan::OrderScheme;
use crate::run::{OfferedLoad, Run, RunKind, ScriptRecord};

impl ExperimentRecord {
    /// Whether the runs of the arms alternate, so that drift affects all of them alike. Imported runs and two
    /// separate experiments do not alternate, nor do levels that are set by hand.
    #[must_use]
    pub fn is_interleaved(&self) -> bool {
        !matches!(self.order_scheme, OrderScheme::Imported | OrderScheme::Apart | OrderScheme::Sets)
    }
}

impl Run {
    /// Whether a schedule offered the transactions: the schedule then sets the throughput, as long as the
    /// server keeps up.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.load == OfferedLoad::Rate
    }

    /// Whether a schedule or users' think times set the throughput, as long as the server keeps up.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        self.is_open() || self.load == OfferedLoad::Users
    }

    /// Whether all shares of its load are in it. If not, what the server did for it is more than its transactions.
    #[must_use]
    pub fn is_whole_load(&self) -> bool {
        self.parts.first().is_none_or(|part| part.of as usize == self.parts.len())
    }

    /// A counter of [`Run::counts`], 0 if it was not counted.
    #[must_use]
    pub fn count(&self, of: Counter) -> u64 {
        self.counts.count(of)
    }

    /// Transactions that throughput counts: in closed load those that succeeded and ended in the measured
    /// part. Runs that do not distinguish these, such as imported ones, count all that succeeded.
    #[must_use]
    pub fn completed(&self) -> u64 {
        completed(&self.counts)
    }

    /// Successful transactions per second: [`Self::completed`] / measured seconds; in slices, over the slices
    /// that count; of an imported number the number. `None` for jobs and runs of length 0.
    #[must_use]
    pub fn tps(&self) -> Option<f64> {
        if let Some(reported) = self.figures.get(figures::REPORTED_PER_S) {
            return Some(reported);
        }
        if self.is_sliced() {
            return self.rate_of(self.slices.iter().filter(|slice| !slice.is_void));
        }
        (self.kind == RunKind::Client && self.measured_s > 0.0 && !self.scripts.is_empty())
            .then(|| self.completed() as f64 / self.measured_s)
    }

    /// Whether its time or rate is a result: transactions of clients, or a job of the grid; not a
    /// preparation.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.kind == RunKind::Client || self.round > 0
    }

    /// Successful commands per second; `None` where a transaction is a single command or does not consist of
    /// commands.
    #[must_use]
    pub fn commands_per_s(&self) -> Option<f64> {
        Some(self.tps()? * self.figures.get(figures::COMMANDS_PER_TX)?)
    }

    /// Share of cache lookups that were hits, percent; `None` where no lookup can miss.
    #[must_use]
    pub fn hit_pct(&self) -> Option<f64> {
        self.figures.get(figures::HIT_PCT)
    }

    /// Speed per second: transactions (commands, where a transaction has several), or 1 / duration of a job.
    /// `None` if nothing was measured.
    #[must_use]
    pub fn speed(&self) -> Option<f64> {
        match self.kind {
            RunKind::Client => self.commands_per_s().or_else(|| self.tps()),
            RunKind::Job => self.took_s().map(f64::recip),
        }
    }

    /// How long a completed job took, seconds; `None` for client runs.
    #[must_use]
    pub fn took_s(&self) -> Option<f64> {
        (self.kind == RunKind::Job && self.measured_s > 0.0).then_some(self.measured_s)
    }

    /// The promise, ms; imported runs have it under pgbench's name.
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

    /// Response time at quantile `q` (0..=1), µs; `None` if there are too few transactions.
    #[must_use]
    pub fn response_us(&self, q: f64) -> Option<f64> {
        self.response().percentile_ns(q).map(|ns| ns as f64 / 1000.0)
    }
}

impl ScriptRecord {
    /// The same as [`Run::completed`].
    #[must_use]
    pub fn completed(&self) -> u64 {
        completed(&self.counts)
    }
}

fn completed(counts: &Counters) -> u64 {
    counts.get(figures::COMPLETED).unwrap_or_else(|| counts.count(figures::OK) + counts.count(figures::LATE))
}

fn merged(scripts: &[ScriptRecord], of: impl Fn(&ScriptRecord) -> &Histogram) -> Histogram {
    match scripts {
        [] => return Histogram::new(),
        // Most runs have one script, and files have thousands of runs.
        [only] => return of(only).clone(),
        _ => {}
    }
    let mut all = Histogram::new();
    for script in scripts {
        all.add(of(script));
    }
    all
}
