//! What the pgbench drop-in prints: pgbench 18's report, machine formats, progress and log lines.
//!
//! [`Report`] is the result of a run; [`text()`] prints it as pgbench does, [`json`] and [`lines`] as
//! docs/reference/pgbench.md describes.

mod aggregate;
mod facts;
mod log;
mod losses;
mod machine;
mod percentile;
mod progress;
#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
mod text;

use spec::Outage;
use stats::Histogram;

pub use aggregate::Aggregates;
pub use log::{LogFormat, LoggedTransaction, TransactionEnd};
pub use machine::{json, lines};
pub use percentile::{Percentile, PercentileError};
pub use progress::{Moment, ProgressInterval};
pub use text::{banner, text};

/// The result of a run, as printed at its end.
#[derive(Debug, Clone)]
pub struct Report {
    pub version: String,
    pub server_version: String,
    pub settings: Settings,
    /// At least one.
    pub scripts: Vec<ScriptReport>,
    pub times: Times,
    pub percentiles: Vec<Percentile>,
    pub aborted_clients: u32,
    pub interrupted: bool,
    /// `None` if lost connections are not re-established.
    pub losses: Option<Losses>,
}

/// Connections that were lost during a run, and what it cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    pub connections: u64,
    pub outages: Vec<Outage>,
    /// Outages missing in this list.
    pub outages_dropped: u64,
}

/// Options of a run, as far as its report shows them.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Counted from the tables with a builtin script, else as given.
    pub scale: u64,
    pub partitions: Option<Partitions>,
    /// `simple`, `extended` or `prepared`.
    pub mode: String,
    pub clients: u32,
    pub threads: u32,
    /// Most tries of a transaction; 0 is unlimited.
    pub max_tries: u32,
    pub length: RequestedLength,
    /// Whether each transaction has its own connection.
    pub reconnect: bool,
    /// Scheduled transactions per second.
    pub rate: Option<f64>,
    pub latency_limit_us: Option<u64>,
    /// Whether progress was reported: then the text shows the measured latency.
    pub progress: bool,
    pub per_command: bool,
    pub failures_detailed: bool,
    /// Whether any SQL error counts as a failure: then the text shows their number.
    pub continue_on_error: bool,
    pub random_seed: u64,
    /// Load before the measured part, s.
    pub warmup_s: f64,
}

/// Partitions of `pgbench_accounts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partitions {
    /// `range` or `hash`.
    pub method: String,
    pub count: u64,
}

/// The requested length of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedLength {
    /// Per client.
    Transactions(u64),
    Seconds(u64),
}

/// Durations of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// From the time when all clients were connected to the end of the last transaction, ns.
    pub elapsed_ns: u64,
    pub connecting_ns: u64,
    pub reconnecting_ns: u64,
}

/// Failed transactions by their kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failures {
    pub serialization: u64,
    pub deadlock: u64,
    /// Other SQL errors; with [`Settings::continue_on_error`] only.
    pub other: u64,
}

impl Failures {
    /// Failures of all kinds.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.serialization + self.deadlock + self.other
    }
}

/// How late transactions started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lag {
    /// Sum over successful transactions, ns.
    pub sum_ns: u128,
    pub max_ns: u64,
}

/// Figures of one script, or of all.
#[derive(Debug, Clone, Default)]
pub struct TransactionFigures {
    /// Transactions that succeeded: "actually processed".
    pub processed: u64,
    pub failures: Failures,
    /// Transactions that were never started, because they were already too late.
    pub skipped: u64,
    /// Processed transactions above the latency limit.
    pub late: u64,
    pub retried: u64,
    /// Tries after the first, over all transactions.
    pub retries: u64,
    /// Latency of processed transactions, from their scheduled start.
    pub latency: Histogram,
    pub lag: Lag,
}

impl TransactionFigures {
    /// Number of processed, failed and skipped transactions.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.processed + self.failures.all() + self.skipped
    }

    /// Adds another script's figures.
    pub fn add(&mut self, other: &Self) {
        self.processed += other.processed;
        self.failures.serialization += other.failures.serialization;
        self.failures.deadlock += other.failures.deadlock;
        self.failures.other += other.failures.other;
        self.skipped += other.skipped;
        self.late += other.late;
        self.retried += other.retried;
        self.retries += other.retries;
        self.latency.add(&other.latency);
        self.lag.sum_ns += other.lag.sum_ns;
        self.lag.max_ns = self.lag.max_ns.max(other.lag.max_ns);
    }
}

/// The figures of one script of several.
#[derive(Debug, Clone)]
pub struct ScriptReport {
    /// Description of a builtin script, else the file's name as given.
    pub name: String,
    pub weight: u64,
    pub figures: TransactionFigures,
    /// Includes backslash commands; read with [`Settings::per_command`] only.
    pub commands: Vec<CommandReport>,
}

/// One command of a script.
#[derive(Debug, Clone)]
pub struct CommandReport {
    /// The first line of its text, cut as pgbench cuts it.
    pub first_line: String,
    pub latency: Histogram,
    /// Executions that failed, with their transaction.
    pub failures: u64,
    /// Executions that failed, after which the transaction was tried again.
    pub retries: u64,
}

impl Report {
    /// Figures over all scripts.
    #[must_use]
    pub fn totals(&self) -> TransactionFigures {
        let mut totals = TransactionFigures::default();
        for script in &self.scripts {
            totals.add(&script.figures);
        }
        totals
    }

    /// Per second; 0 for a run of length 0.
    fn per_second(&self, count: u64) -> f64 {
        ratio(count as f64 * 1e9, self.times.elapsed_ns as f64)
    }
}

/// A ratio; 0 if the divisor is 0.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Percent of a whole; 0 if the whole is 0.
fn percent(part: u64, whole: u64) -> f64 {
    ratio(100.0 * part as f64, whole as f64)
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}
