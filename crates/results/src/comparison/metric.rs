//! The figure by which arms are compared.

use spec::Run;
use spec::plan::WorkMetric;
use stats::{Better, Histogram};

use super::Summary;

/// The compared figure. Throughput and server CPU per transaction are the two metrics of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    Tps,
    P50,
    P95,
    P99,
    /// Server CPU per transaction.
    Cpu,
}

impl From<WorkMetric> for Metric {
    fn from(asked: WorkMetric) -> Self {
        match asked {
            WorkMetric::Tps => Self::Tps,
            WorkMetric::Cpu => Self::Cpu,
        }
    }
}

impl Metric {
    /// Its value for a run: per second, or µs; `None` if the run has none. For a job it is the number of
    /// jobs per second.
    #[must_use]
    pub fn of(self, run: &Run) -> Option<f64> {
        match self {
            Self::Tps => run.speed(),
            Self::Cpu => run.server_cpu_us_per_tx(),
            Self::P50 | Self::P95 | Self::P99 => run.response_us(self.quantile()?),
        }
    }

    /// The one figure of several runs of a cell and arm, in every output: throughput is the mean of the
    /// runs', a percentile is taken over all their response times together, never a mean of percentiles;
    /// for jobs it is the reciprocal of their mean time. CPU per transaction is all their CPU time by all
    /// their transactions. `None` if none was measured.
    #[must_use]
    pub fn of_runs(self, runs: &[&Run]) -> Option<f64> {
        match self.quantile() {
            None if self == Self::Cpu => {
                let read = runs.iter().filter_map(|run| run.server_cpu_us());
                let (cpu_us, all) = read.fold((0.0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
                (all > 0).then(|| cpu_us / all as f64)
            }
            None if runs.iter().any(|run| run.took_s().is_some()) => {
                runs.iter().filter_map(|run| run.took_s()).collect::<Summary>().mean.map(f64::recip)
            }
            None => runs.iter().filter_map(|run| run.speed()).collect::<Summary>().mean,
            Some(quantile) => {
                let scripts = runs.iter().flat_map(|run| &run.scripts);
                let all = Histogram::sum(scripts.map(|script| &script.response));
                all.percentile_ns(quantile).map(|ns| ns as f64 / 1000.0)
            }
        }
    }

    /// Its name in commands and columns.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tps => "tps",
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Cpu => "cpu",
        }
    }

    /// Its quantile of response times, if it is one.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::Tps | Self::Cpu => None,
            Self::P50 => Some(0.5),
            Self::P95 => Some(0.95),
            Self::P99 => Some(0.99),
        }
    }

    /// The changed quantity, for a sentence.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Tps => "throughput",
            Self::P50 => "p50 response time",
            Self::P95 => "p95 response time",
            Self::P99 => "p99 response time",
            Self::Cpu => "server CPU per transaction",
        }
    }

    /// Whether a higher or a lower value is better.
    #[must_use]
    pub fn better(self) -> Better {
        match self {
            Self::Tps => Better::Larger,
            Self::P50 | Self::P95 | Self::P99 | Self::Cpu => Better::Smaller,
        }
    }

    /// In words, with the unit.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Tps => "throughput, transactions per second",
            Self::P50 => "median response time (p50), µs",
            Self::P95 => "95th percentile of response time (p95), µs",
            Self::P99 => "99th percentile of response time (p99), µs",
            Self::Cpu => "server CPU per transaction, µs",
        }
    }
}
