//! The figure by which arms are compared.

use spec::Run;
use stats::{Better, Histogram};

use super::Summary;

/// The compared figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    Tps,
    P50,
    P95,
    P99,
}

impl Metric {
    /// Its value for a run: per second, or µs; `None` if the run has none. For a job it is the number of
    /// jobs per second.
    #[must_use]
    pub fn of(self, run: &Run) -> Option<f64> {
        match self.quantile() {
            None => run.speed(),
            Some(quantile) => run.response_us(quantile),
        }
    }

    /// The one figure of several runs of a cell and arm, in every output: throughput is the mean of the
    /// runs', a percentile is taken over all their response times together, never a mean of percentiles;
    /// for jobs it is the reciprocal of their mean time. `None` if none was measured.
    #[must_use]
    pub fn of_runs(self, runs: &[&Run]) -> Option<f64> {
        match self.quantile() {
            None if runs.iter().any(|run| run.took_s().is_some()) => {
                runs.iter().filter_map(|run| run.took_s()).collect::<Summary>().mean.map(f64::recip)
            }
            None => runs.iter().filter_map(|run| run.speed()).collect::<Summary>().mean,
            Some(quantile) => {
                let mut all = Histogram::new();
                runs.iter().flat_map(|run| &run.scripts).for_each(|script| all.add(&script.response));
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
        }
    }

    /// Its quantile of response times, if it is one.
    #[must_use]
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::Tps => None,
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
        }
    }

    /// Whether a higher or a lower value is better.
    #[must_use]
    pub fn better(self) -> Better {
        match self {
            Self::Tps => Better::Larger,
            Self::P50 | Self::P95 | Self::P99 => Better::Smaller,
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
        }
    }
}
