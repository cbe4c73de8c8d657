//! Figures per second, in bounded memory: long logs get longer spans.

use std::collections::BTreeMap;
use std::ops::Range;

use stats::Histogram;

use super::Columns;
use super::row::{LogRow, LoggedOutcome};
use super::tally::tally;
use crate::spool::Spooled;
use spec::{Counts, SeriesPoint};

/// Spans per run, at most; beyond that neighbours are merged, which only loses resolution.
const MOST: i64 = 600;
/// Spans of all scripts together, at most: each may hold 100 kB.
const MOST_IN_ALL: usize = 2_000;
/// The shortest span, µs.
const SECOND: i64 = 1_000_000;

#[derive(Debug, Clone, Default)]
struct Span {
    counts: Counts,
    response: Histogram,
}

impl Span {
    fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.response.add(&other.response);
    }
}

/// Spans of equal length since an origin, by script.
#[derive(Debug)]
pub(super) struct Spans {
    origin_us: i64,
    width_us: i64,
    /// By number (may be negative if a clock was set back), then script.
    closed: BTreeMap<i64, BTreeMap<u16, Span>>,
    /// The current span, and its times.
    now: i64,
    covers: Range<i64>,
    open: BTreeMap<u16, Span>,
}

impl Spans {
    /// Spans of one second since `origin_us` (µs since 1970).
    pub(super) fn new(origin_us: i64) -> Self {
        let covers = origin_us..origin_us + SECOND;
        Self { origin_us, width_us: SECOND, closed: BTreeMap::new(), now: 0, covers, open: BTreeMap::new() }
    }

    fn number(&self, time_us: i64) -> i64 {
        (time_us - self.origin_us).div_euclid(self.width_us)
    }

    /// End of the span with this time.
    pub(super) fn end_of(&self, time_us: i64) -> i64 {
        self.origin_us + (self.number(time_us) + 1) * self.width_us
    }

    /// Adds a transaction. Fast if rows are in order; any order is correct.
    pub(super) fn add(&mut self, row: &LogRow, columns: Columns, limit_us: Option<f64>) {
        if row.end_us >= self.covers.end {
            self.close();
            self.now = self.number(row.end_us);
            let start = self.origin_us + self.now * self.width_us;
            self.covers = start..start + self.width_us;
        }
        let spans = if row.end_us < self.covers.start {
            self.closed.entry(self.number(row.end_us)).or_default()
        } else {
            &mut self.open
        };
        let span = spans.entry(row.script).or_default();
        tally(&mut span.counts, row, columns, limit_us);
        if let LoggedOutcome::Done(us) = row.outcome {
            span.response.record(us.saturating_mul(1000));
        }
    }

    /// Compresses the open span, and doubles the length of all spans while there are too many.
    fn close(&mut self) {
        for (script, mut span) in std::mem::take(&mut self.open) {
            span.response.shrink();
            merge(self.closed.entry(self.now).or_default(), script, span);
        }
        while self.range() > MOST || self.in_all() > MOST_IN_ALL {
            self.width_us *= 2;
            for (number, scripts) in std::mem::take(&mut self.closed) {
                let wider = self.closed.entry(number.div_euclid(2)).or_default();
                for (script, span) in scripts {
                    merge(wider, script, span);
                }
            }
        }
    }

    /// Spans from the origin (or before, if a clock was set back) to the last.
    fn range(&self) -> i64 {
        match (self.closed.first_key_value(), self.closed.last_key_value()) {
            (Some((first, _)), Some((last, _))) => last.max(&0) - first.min(&0) + 1,
            _ => 0,
        }
    }

    fn in_all(&self) -> usize {
        if self.closed.len() < 2 { 0 } else { self.closed.values().map(BTreeMap::len).sum() }
    }

    /// The series up to `end_us`, including empty spans. `scripts` gives each script's position in the run;
    /// counts are divided by `share`.
    pub(super) fn finish(
        mut self,
        end_us: i64,
        scripts: &[u16],
        share: f64,
    ) -> (Vec<SeriesPoint>, Vec<Spooled>) {
        self.close();
        let (mut series, mut seconds) = (Vec::new(), Vec::new());
        let Some(last) = self.closed.keys().next_back().copied() else { return (series, seconds) };
        let first = self.closed.keys().next().copied().unwrap_or_default().min(0);
        let none = BTreeMap::new();
        for (position, script) in scripts.iter().enumerate() {
            for number in first..=last {
                let span = self.closed.get(&number).unwrap_or(&none).get(script);
                let start_us = number * self.width_us;
                let length_us = self.width_us.min(end_us - self.origin_us - start_us).max(1).unsigned_abs();
                let position = position as u32;
                series.push(point(position, start_us, length_us, span, share));
                seconds.extend(span.map(|span| Spooled {
                    script: position,
                    start_us,
                    length_us,
                    response: span.response.encoded(),
                }));
            }
        }
        (series, seconds)
    }
}

fn merge(into: &mut BTreeMap<u16, Span>, script: u16, span: Span) {
    match into.entry(script) {
        std::collections::btree_map::Entry::Vacant(vacant) => {
            vacant.insert(span);
        }
        std::collections::btree_map::Entry::Occupied(mut there) => {
            there.get_mut().merge(&span);
            there.get_mut().response.shrink();
        }
    }
}

fn point(script: u32, start_us: i64, length_us: u64, span: Option<&Span>, share: f64) -> SeriesPoint {
    let counts = span.map(|span| span.counts.scaled(share)).unwrap_or_default();
    SeriesPoint {
        script,
        start_us,
        length_us,
        ok: counts.ok,
        late: counts.late,
        failed: counts.failed,
        skipped: counts.skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Columns = Columns { lag: None, retries: None };

    fn row(end_us: i64, script: u16, us: u64) -> LogRow {
        let line = format!("0 1 {us} {script} {} {}", end_us / 1_000_000, end_us % 1_000_000);
        LogRow::parse(line.as_bytes()).unwrap()
    }

    fn add(spans: &mut Spans, end_us: i64) {
        spans.add(&row(end_us, 0, 70), PLAIN, None);
    }

    #[test]
    fn seconds_without_a_transaction_are_kept_as_such() {
        let mut spans = Spans::new(10_000_000);
        for end in [10_000_001, 10_900_000, 13_000_000, 12_999_999, 10_999_999] {
            add(&mut spans, end);
        }
        let (series, seconds) = spans.finish(13_500_000, &[0], 1.0);
        let seen: Vec<_> = series.iter().map(|p| (p.start_us, p.length_us, p.ok)).collect();
        let wanted = [
            (0, 1_000_000, 3),
            (1_000_000, 1_000_000, 0),
            (2_000_000, 1_000_000, 1),
            (3_000_000, 500_000, 1),
        ];
        assert_eq!(seen, wanted);
        let distributions: Vec<_> = seconds.iter().map(|s| (s.start_us, s.response.count)).collect();
        assert_eq!(distributions, [(0, 3), (2_000_000, 1), (3_000_000, 1)]);
    }

    #[test]
    fn long_logs_have_longer_spans_and_lose_nothing() {
        let mut spans = Spans::new(0);
        for second in 0..5_000i64 {
            add(&mut spans, second * 1_000_000 + 5);
        }
        let (series, seconds) = spans.finish(5_000_000_000, &[0], 0.5);
        assert!(series.len() as i64 <= MOST && series.len() as i64 > MOST / 2, "{}", series.len());
        assert_eq!(seconds.iter().map(|s| s.response.count).sum::<u64>(), 5_000);
        assert_eq!(series.iter().map(|p| p.ok).sum::<u64>(), 10_000);
        assert!(series.windows(2).all(|pair| pair[1].start_us - pair[0].start_us == 16_000_000));
    }

    #[test]
    fn a_clock_that_jumps_years_costs_neither_memory_nor_time() {
        let mut spans = Spans::new(1_700_000_000_000_000);
        for end in [1_700_000_000_000_000, 5, 250_000_000_000_000_000, 1_700_000_001_000_000] {
            add(&mut spans, end);
        }
        let (series, _) = spans.finish(250_000_000_000_000_000, &[0], 1.0);
        assert!(series.len() as i64 <= MOST + 1);
        assert_eq!(series.iter().map(|p| p.ok).sum::<u64>(), 4);
    }

    #[test]
    fn scripts_stay_apart() {
        let mut spans = Spans::new(0);
        spans.add(&row(5, 3, 10), PLAIN, None);
        spans.add(&row(6, 1, 20_000), PLAIN, Some(15_000.0));
        let (series, _) = spans.finish(1_000, &[1, 3], 1.0);
        let seen: Vec<_> = series.iter().map(|p| (p.script, p.ok, p.late, p.length_us)).collect();
        assert_eq!(seen, [(0, 0, 1, 1_000), (1, 1, 0, 1_000)]);
    }
}
