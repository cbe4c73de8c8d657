//! A line of progress, as `-P` prints it.

use super::{ms, ratio};

/// Start of a line of progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Moment {
    /// Time since the start, before connecting, ns.
    Elapsed(u64),
    /// Wall clock: µs since 1970.
    Wall(i64),
}

/// What happened since the line before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgressInterval {
    pub moment: Moment,
    /// Time since the line before, ns; for the first one since the start.
    pub interval_ns: u64,
    pub processed: u64,
    pub failed: u64,
    /// Of the processed transactions, ns.
    pub latency_sum_ns: f64,
    /// Of the same latencies, ns².
    pub latency_sum_squares: f64,
    /// Of the processed transactions, ns; with a rate only.
    pub lag_sum_ns: Option<f64>,
    /// With a rate and a latency limit only.
    pub skipped: Option<u64>,
    /// Retried transactions, and tries after their first; unless only one try is allowed.
    pub retried: Option<(u64, u64)>,
}

impl ProgressInterval {
    /// The line, without its end.
    #[must_use]
    pub fn text(&self) -> String {
        let count = self.processed as f64;
        let when = match self.moment {
            Moment::Elapsed(ns) => format!("{:.1} s", ns as f64 / 1e9),
            Moment::Wall(us) => format!("{:.3} s", us as f64 / 1e6),
        };
        let tps = ratio(count * 1e9, self.interval_ns as f64);
        let mean = ratio(self.latency_sum_ns, count);
        // Rounding can make the difference of nearly equal numbers negative.
        let stddev = (ratio(self.latency_sum_squares, count) - mean * mean).max(0.0).sqrt();
        let mut line = format!(
            "progress: {when}, {tps:.1} tps, lat {:.3} ms stddev {:.3}, {} failed",
            ms(mean),
            ms(stddev),
            self.failed
        );
        if let Some(sum_ns) = self.lag_sum_ns {
            line.push_str(&format!(", lag {:.3} ms", ms(ratio(sum_ns, count))));
            if let Some(skipped) = self.skipped {
                line.push_str(&format!(", {skipped} skipped"));
            }
        }
        if let Some((retried, retries)) = self.retried {
            line.push_str(&format!(", {retried} retried, {retries} retries"));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let plain = ProgressInterval {
            moment: Moment::Elapsed(5_003_000_000),
            interval_ns: 2_500_000_000,
            processed: 2,
            failed: 1,
            latency_sum_ns: 4e6,
            latency_sum_squares: 1e12 + 9e12,
            lag_sum_ns: None,
            skipped: None,
            retried: None,
        };
        let cases = [
            (plain, "progress: 5.0 s, 0.8 tps, lat 2.000 ms stddev 1.000, 1 failed"),
            (
                ProgressInterval { lag_sum_ns: Some(1e6), skipped: Some(3), retried: Some((1, 2)), ..plain },
                "progress: 5.0 s, 0.8 tps, lat 2.000 ms stddev 1.000, 1 failed, lag 0.500 ms, 3 skipped, \
                 1 retried, 2 retries",
            ),
            (
                ProgressInterval {
                    moment: Moment::Wall(1_700_000_000_123_456),
                    lag_sum_ns: Some(0.0),
                    ..plain
                },
                "progress: 1700000000.123 s, 0.8 tps, lat 2.000 ms stddev 1.000, 1 failed, lag 0.000 ms",
            ),
            (
                ProgressInterval {
                    processed: 0,
                    latency_sum_ns: 0.0,
                    latency_sum_squares: 0.0,
                    interval_ns: 0,
                    ..plain
                },
                "progress: 5.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 1 failed",
            ),
        ];
        for (progress, wanted) in cases {
            assert_eq!(progress.text(), wanted);
        }
    }
}
