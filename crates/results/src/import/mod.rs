//! Results of other tools as runs: pgbench's logs and text reports, osm2pgsql's logs, JSON that pgdyno printed
//! elsewhere, tables of numbers, and the last lines of other load testers.
//!
//! [`read`] turns files into [`FoundRuns`]; nothing is stored before all files are read
//! ([`crate::Store::import`]). Missing values are not made up: reports and aggregated logs have no
//! percentiles.

mod aggregate;
mod error;
mod found;
mod gather;
mod json;
mod judge;
mod labels;
mod lines;
mod log;
mod matching;
mod measured;
mod moment;
mod names;
mod numbers;
mod osm2pgsql;
mod report;
mod sniff;
mod source;

pub use found::FoundRun;
pub use gather::{FoundRuns, read};
pub(crate) use numbers::script;
pub use numbers::table::{TableColumns, read_table};
pub use sniff::is_database;

use self::report::model::ParsedReport;
pub(crate) use self::report::model::short as builtin_name;

/// Known options of the pgbench run, besides its files; named like its options.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportOptions {
    /// Share of the transactions that was logged, above 0 up to 1.
    pub sampling_rate: Option<f64>,
    /// Scheduled transactions per second (`-R`).
    pub rate: Option<f64>,
    /// Latency limit, ms (`-L`): slower transactions are late.
    pub latency_limit_ms: Option<f64>,
    pub max_tries: Option<u32>,
    /// Length of the intervals of an aggregated log, seconds.
    pub aggregate_interval_s: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Hints {
    sampling_rate: Option<f64>,
    latency_limit_ms: Option<f64>,
    /// Whether there was a schedule, and so a column with the lag.
    throttled: Option<bool>,
    /// Whether transactions were tried again, and so a column with the retries.
    retries: Option<bool>,
    interval_s: Option<i64>,
}

impl ImportOptions {
    fn hints(&self, report: Option<&ParsedReport>) -> Hints {
        Hints {
            sampling_rate: self.sampling_rate,
            latency_limit_ms: report
                .and_then(|report| report.figures.get(spec::figures::LATENCY_LIMIT_MS))
                .or(self.latency_limit_ms),
            throttled: report.map(ParsedReport::throttled).or(self.rate.map(|_| true)),
            retries: self.max_tries.map(|tries| tries != 1),
            interval_s: self.aggregate_interval_s.map(i64::from),
        }
    }
}

struct ImportProgress<'a> {
    show: &'a mut dyn FnMut(u64, u64),
    rows: u64,
    bytes: u64,
    now: (u64, u64),
}

impl<'a> ImportProgress<'a> {
    fn new(show: &'a mut dyn FnMut(u64, u64)) -> Self {
        Self { show, rows: 0, bytes: 0, now: (0, 0) }
    }

    fn show(&mut self, rows: u64, bytes: u64) {
        self.now = (rows, bytes);
        (self.show)(self.rows + rows, self.bytes + bytes);
    }

    fn done(&mut self) {
        self.rows += self.now.0;
        self.bytes += self.now.1;
        self.now = (0, 0);
    }
}
