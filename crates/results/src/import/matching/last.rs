//! The last interval of an aggregated log, which pgbench does not write: what the report leaves for it, and
//! what the other intervals make of it.

use spec::figures;

use crate::import::aggregate::{AggregateLog, Interval};
use crate::import::report::model::ParsedReport;

/// By how much the start of a run and its connections blur times, seconds.
const BLUR_S: f64 = 0.05;
/// Relative scatter of rates and latencies of intervals, at least.
const LEAST_SCATTER: f64 = 0.03;
/// Beyond this factor from the range of all intervals a latency is another run's.
const OTHER_LATENCY: f64 = 1.5;
/// Beyond this factor of what is expected the transactions are another run's.
const OTHER_COUNT: f64 = 2.0;
/// Rounding of a printed latency, µs.
const ROUNDING_US: f64 = 0.5;

#[derive(Debug, Clone, Copy)]
pub(super) struct LastInterval {
    count: f64,
    expected: f64,
    /// Standard error of what is expected.
    error: f64,
    latency: Option<LastLatency>,
}

#[derive(Debug, Clone, Copy)]
struct LastLatency {
    mean_us: f64,
    /// Standard error by rounding and blur, µs.
    error_us: f64,
    /// Of the other intervals: mean, relative scatter, range.
    others_us: f64,
    scatter: f64,
    range_us: (f64, f64),
}

impl LastInterval {
    /// `None` if the log has too few intervals, or the report no time.
    pub(super) fn of(report: &ParsedReport, log: &AggregateLog) -> Option<Self> {
        let (length_s, ran_s) = (log.length_s? as f64, report.measured_s()?);
        let intervals: Vec<&Interval> = log.intervals.values().collect();
        // The first is as short as the run begins late in it.
        let (first, full) = intervals.split_first().filter(|(_, full)| !full.is_empty())?;
        let is_closed = !report.throttled();
        let size =
            |interval: &Interval| if is_closed { interval.latency.sum() } else { interval.counts.ok as f64 };
        let full_size = full.iter().map(|interval| size(interval)).sum::<f64>() / full.len() as f64;
        let share = if full_size > 0.0 { (size(first) / full_size).clamp(0.0, 1.0) } else { 1.0 };
        let whole_s = full.len() as f64 * length_s;
        let left_s = (ran_s - share * length_s - whole_s).clamp(0.0, length_s);
        let counts: Vec<f64> = full.iter().map(|interval| interval.counts.ok as f64).collect();
        let rate = counts.iter().sum::<f64>() / whole_s;
        let (expected, count) = (rate * left_s, report.succeeded() as f64 - log.total().counts.ok as f64);
        let scatter = scatter(&counts);
        let error = ((scatter * expected).powi(2) + (BLUR_S * rate).powi(2) + count.max(0.0) + 1.0).sqrt();
        let latency = LastLatency::of(report, log, &intervals, whole_s, ran_s);
        Some(Self { count, expected, error, latency })
    }

    /// Squared distance from what the other intervals make of it, in standard errors.
    pub(super) fn distance(&self) -> f64 {
        let latency = self.latency.map_or(0.0, |latency| {
            let error = (latency.scatter * latency.others_us).hypot(latency.error_us);
            ((latency.mean_us - latency.others_us) / error).powi(2)
        });
        ((self.count - self.expected) / self.error).powi(2) + latency
    }

    /// Why the log is of another run.
    pub(super) fn misfit(&self) -> Option<String> {
        if let Some(LastLatency { mean_us, error_us, range_us: (low, high), .. }) = self.latency {
            let is_low = mean_us + 3.0 * error_us < low / OTHER_LATENCY;
            if is_low || mean_us - 3.0 * error_us > high * OTHER_LATENCY {
                let (mean_ms, low_ms, high_ms) = (mean_us.max(0.0) / 1e3, low / 1e3, high / 1e3);
                return Some(match self.count < 1.0 {
                    true => format!("latency: {mean_ms:.3} ms in the report, {low_ms:.3} ms in the log"),
                    false => format!(
                        "latency: {mean_ms:.3} ms are left for the {} transactions of the last interval, where the others have \
                         {low_ms:.3} to {high_ms:.3} ms",
                        self.count
                    ),
                });
            }
        }
        let (low, high) =
            (self.expected / OTHER_COUNT - 4.0 * self.error, self.expected * OTHER_COUNT + 4.0 * self.error);
        (self.count < low || self.count > high).then(|| {
            format!(
                "transactions: {} are left for the last interval, where its time and the rate of the others make about {:.0}",
                self.count, self.expected
            )
        })
    }
}

impl LastLatency {
    fn of(
        report: &ParsedReport,
        log: &AggregateLog,
        all: &[&Interval],
        whole_s: f64,
        ran_s: f64,
    ) -> Option<Self> {
        let total = log.total();
        let wanted = report.succeeded() as f64;
        let count = wanted - total.counts.ok as f64;
        let printed_us = report.printed.latency_ms.filter(|ms| *ms > 0.0)? * 1e3;
        // Without -P, -R or -L the printed one is the time of the clients by their transactions.
        let is_measured = report.printed.stddev_ms.is_some();
        let failed = report.printed.counts.get(figures::FAILED).unwrap_or(0);
        if count < 1.0 {
            // Nothing is missing: the latencies are those of the same transactions.
            let mean_us = total.latency.mean().filter(|mean| is_measured && *mean > 0.0)?;
            let range_us = (mean_us, mean_us);
            let others_us = mean_us;
            return Some(Self {
                mean_us: printed_us,
                error_us: ROUNDING_US,
                others_us,
                scatter: LEAST_SCATTER,
                range_us,
            });
        }
        let (sum_us, error_us) = if is_measured {
            (printed_us * wanted, ROUNDING_US * wanted / count)
        } else {
            let clients = report.clients.filter(|_| failed == 0 && !report.throttled())? as f64;
            let busy_us = all[1..].iter().map(|interval| interval.latency.sum()).sum::<f64>();
            let busy = (busy_us / (clients * whole_s * 1e6)).min(1.0);
            (clients * ran_s * 1e6 * busy, clients * BLUR_S * 1e6 / count)
        };
        let means: Vec<f64> = all.iter().filter_map(|interval| interval.latency.mean()).collect();
        let range_us = means
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), mean| (low.min(*mean), high.max(*mean)));
        Some(Self {
            mean_us: (sum_us - total.latency.sum()) / count,
            error_us,
            others_us: total.latency.mean().filter(|mean| *mean > 0.0)?,
            scatter: scatter(&means),
            range_us,
        })
    }
}

/// Relative standard deviation.
fn scatter(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    if mean > 0.0 { (variance.sqrt() / mean).max(LEAST_SCATTER) } else { LEAST_SCATTER }
}
