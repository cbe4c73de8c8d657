//! The output of a run: progress, log and report.

use std::path::PathBuf;

use ::report::pgbench::Percentile;

use super::fault::ArgumentError;
use super::load::PgbenchLength;

const DEFAULT_LOG_PREFIX: &str = "pgbench_log";

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PgbenchOutput {
    /// `-P`
    pub(crate) progress: Option<ProgressLines>,
    /// `-l`
    pub(crate) log: Option<LogFiles>,
    pub(crate) verbose_errors: bool,
    /// `-r`
    pub(crate) per_command: bool,
    pub(crate) failures_detailed: bool,
    /// In the order given, without duplicates.
    pub(crate) percentiles: Vec<Percentile>,
    pub(crate) format: PgbenchFormat,
    pub(crate) results: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProgressLines {
    /// Seconds between two lines, at least 1.
    pub(crate) seconds: u32,
    pub(crate) timestamp: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LogFiles {
    pub(crate) prefix: String,
    /// `--aggregate-interval`, s.
    pub(crate) aggregate: Option<u32>,
    /// `--sampling-rate`, above 0 and at most 1.
    pub(crate) sampling: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PgbenchFormat {
    /// As in pgbench.
    #[default]
    Text,
    Json,
    Lines,
}

#[derive(Debug, Default)]
pub(super) struct ProgressOptions {
    pub(super) seconds: Option<u32>,
    pub(super) timestamp: bool,
}

impl ProgressOptions {
    pub(super) fn decide(self) -> Result<Option<ProgressLines>, ArgumentError> {
        let Self { seconds, timestamp } = self;
        if timestamp && seconds.is_none() {
            return Err(ArgumentError::error("--progress-timestamp is allowed only under --progress"));
        }
        Ok(seconds.map(|seconds| ProgressLines { seconds, timestamp }))
    }
}

#[derive(Debug, Default)]
pub(super) struct LogOptions {
    pub(super) log: bool,
    pub(super) prefix: Option<String>,
    pub(super) aggregate: Option<u32>,
    pub(super) sampling: Option<f64>,
}

impl LogOptions {
    pub(super) fn decide(self, length: PgbenchLength) -> Result<Option<LogFiles>, ArgumentError> {
        let Self { log, prefix, aggregate, sampling } = self;
        let refused = if sampling.is_some() && !log {
            "log sampling (--sampling-rate) is allowed only when logging transactions (-l)"
        } else if sampling.is_some() && aggregate.is_some() {
            "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time"
        } else if aggregate.is_some() && !log {
            "log aggregation is allowed only when actually logging transactions"
        } else if prefix.is_some() && !log {
            "log file prefix (--log-prefix) is allowed only when logging transactions (-l)"
        } else {
            if let (Some(interval), PgbenchLength::Seconds(seconds)) = (aggregate, length) {
                check_interval(interval, seconds)?;
            }
            let prefix = prefix.unwrap_or_else(|| DEFAULT_LOG_PREFIX.to_owned());
            return Ok(log.then_some(LogFiles { prefix, aggregate, sampling }));
        };
        Err(ArgumentError::error(refused))
    }
}

/// The run must be a whole number of intervals.
fn check_interval(interval: u32, seconds: u32) -> Result<(), ArgumentError> {
    if interval > seconds {
        return Err(ArgumentError::error(format!(
            "number of seconds for aggregation ({interval}) must not be higher than test duration ({seconds})"
        )));
    }
    if !seconds.is_multiple_of(interval) {
        return Err(ArgumentError::error(format!(
            "duration ({seconds}) must be a multiple of aggregation interval ({interval})"
        )));
    }
    Ok(())
}
