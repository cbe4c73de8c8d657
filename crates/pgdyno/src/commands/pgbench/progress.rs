//! `-P`, also for `pgdyno bench`: progress since the last line.

use std::time::{SystemTime, UNIX_EPOCH};

use ::report::pgbench::{Moment, ProgressInterval};
use engine::{ScriptFigures, Second};
use lab::runner::ScriptSecond;
use stats::Histogram;

use super::args::ProgressLines;

/// Collects seconds until a line is due.
pub(crate) struct Ticker {
    lines: ProgressLines,
    line: ProgressInterval,
}

struct ProgressSums<'a> {
    processed: u64,
    failed: u64,
    skipped: u64,
    retried: u64,
    retries: u64,
    lag_ns: f64,
    response: &'a Histogram,
}

impl<'a> From<&'a ScriptFigures> for ProgressSums<'a> {
    fn from(script: &'a ScriptFigures) -> Self {
        let ScriptFigures { counts, response, .. } = script;
        Self {
            processed: counts.processed(),
            failed: counts.failed,
            skipped: counts.skipped,
            retried: counts.retried,
            retries: counts.retries,
            lag_ns: response.sum_ns().saturating_sub(script.service().sum_ns()) as f64,
            response,
        }
    }
}

impl<'a> From<&'a ScriptSecond> for ProgressSums<'a> {
    fn from(script: &'a ScriptSecond) -> Self {
        let ScriptSecond { ok, late, failed, skipped, retried, retries, lag_ns, response } = script;
        Self {
            processed: ok + late,
            failed: *failed,
            skipped: *skipped,
            retried: *retried,
            retries: *retries,
            lag_ns: *lag_ns,
            response,
        }
    }
}

impl Ticker {
    /// `rate`, `limit` and `retries` select optional parts of the lines.
    pub(crate) fn new(lines: ProgressLines, rate: bool, limit: bool, retries: bool) -> Self {
        let line = ProgressInterval {
            moment: Moment::Elapsed(0),
            interval_ns: 0,
            processed: 0,
            failed: 0,
            latency_sum_ns: 0.0,
            latency_sum_squares: 0.0,
            lag_sum_ns: rate.then_some(0.0),
            skipped: (rate && limit).then_some(0),
            retried: retries.then_some((0, 0)),
        };
        Self { lines, line }
    }

    /// Adds one second of load; returns the line due at its end, if any.
    pub(super) fn second(&mut self, second: &Second) -> Option<String> {
        self.take(second.start_ns, second.length_ns, second.scripts.iter().map(ProgressSums::from))
    }

    /// The same for a second as reported by run events.
    pub(crate) fn told(&mut self, start_us: i64, length_us: u64, scripts: &[ScriptSecond]) -> Option<String> {
        self.take(start_us * 1000, length_us * 1000, scripts.iter().map(ProgressSums::from))
    }

    fn take<'a>(
        &mut self,
        start_ns: i64,
        length_ns: u64,
        parts: impl Iterator<Item = ProgressSums<'a>>,
    ) -> Option<String> {
        let start = u64::try_from(start_ns).ok()?;
        self.line.interval_ns += length_ns;
        parts.for_each(|part| self.add(&part));
        let end = start + length_ns;
        let interval = u64::from(self.lines.seconds) * 1_000_000_000;
        if !end.is_multiple_of(interval) || length_ns == 0 {
            return None;
        }
        self.line.moment = if self.lines.timestamp {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Moment::Wall(now.as_micros() as i64)
        } else {
            Moment::Elapsed(end)
        };
        let text = self.line.text();
        let fresh = |part: Option<u64>| part.map(|_| 0);
        self.line = ProgressInterval {
            interval_ns: 0,
            processed: 0,
            failed: 0,
            latency_sum_ns: 0.0,
            latency_sum_squares: 0.0,
            lag_sum_ns: self.line.lag_sum_ns.map(|_| 0.0),
            skipped: fresh(self.line.skipped),
            retried: self.line.retried.map(|_| (0, 0)),
            ..self.line
        };
        Some(text)
    }

    fn add(&mut self, part: &ProgressSums<'_>) {
        let line = &mut self.line;
        line.processed += part.processed;
        line.failed += part.failed;
        line.latency_sum_ns += part.response.sum_ns() as f64;
        line.latency_sum_squares += part.response.sum_squares();
        if let Some(lag) = &mut line.lag_sum_ns {
            *lag += part.lag_ns;
        }
        if let Some(skipped) = &mut line.skipped {
            *skipped += part.skipped;
        }
        if let Some((retried, retries)) = &mut line.retried {
            *retried += part.retried;
            *retries += part.retries;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(start_s: i64, length_ns: u64, latencies_ms: &[u64]) -> Second {
        let mut figures = ScriptFigures::default();
        for ms in latencies_ms {
            figures.counts.ok += 1;
            figures.record(ms * 1_000_000, ms * 1_000_000);
        }
        Second { start_ns: start_s * 1_000_000_000, length_ns, scripts: vec![figures], ..Second::default() }
    }

    #[test]
    fn a_line_comes_with_the_last_second_of_an_interval() {
        let lines = ProgressLines { seconds: 2, timestamp: false };
        let mut ticker = Ticker::new(lines, false, false, false);
        let full = 1_000_000_000;
        assert_eq!(ticker.second(&second(-1, full, &[9])), None, "warm-up");
        assert_eq!(ticker.second(&second(0, full, &[1, 3])), None);
        let line = ticker.second(&second(1, full, &[2, 2])).unwrap();
        assert_eq!(line, "progress: 2.0 s, 2.0 tps, lat 2.000 ms stddev 0.707, 0 failed");
        assert_eq!(ticker.second(&second(2, full, &[4])), None);
        assert_eq!(ticker.second(&second(3, 200_000_000, &[4])), None, "the end of the run");
    }
}
