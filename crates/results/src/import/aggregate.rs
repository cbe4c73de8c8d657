//! Aggregated logs of pgbench (`-l --aggregate-interval`): sums per interval, in every layout since 9.3.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

use spec::{Counts, Error};

use super::lines::Lines;
use super::log::row::{Fields, LATEST_S, unsigned};
use super::{Hints, ImportProgress};
use crate::import::error::{at, of_file, unreadable};

/// Sum, sum of squares, minimum and maximum of some times, µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sums {
    pub(super) count: u64,
    sum: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, squares: 0.0, min: f64::INFINITY, max: 0.0 }
    }
}

impl Sums {
    fn of(count: u64, [sum, squares, min, max]: [f64; 4]) -> Self {
        if count == 0 { Self::default() } else { Self { count, sum, squares, min, max } }
    }

    fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// µs of all of them.
    pub(super) fn sum(&self) -> f64 {
        self.sum
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Standard deviation of the population, µs.
    pub(super) fn stddev(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.squares / self.count as f64 - mean * mean).max(0.0).sqrt())
    }

    pub(super) fn extremes(&self) -> Option<(f64, f64)> {
        (self.count > 0).then_some((self.min, self.max))
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Interval {
    pub(super) counts: Counts,
    pub(super) latency: Sums,
    pub(super) lag: Sums,
}

impl Interval {
    fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.latency.merge(&other.latency);
        self.lag.merge(&other.lag);
    }

    /// Parses a line: the start of the interval (seconds since 1970), and its sums.
    pub(super) fn parse(line: &[u8]) -> Result<(i64, Self), String> {
        let mut fields = Fields(line);
        let start = fields.number("interval_start")?;
        let count = fields.number("num_transactions")?;
        let mut rest = Vec::with_capacity(14);
        while let Some(field) = fields.take() {
            if rest.len() == 14 {
                return Err("more than 16 columns".to_owned());
            }
            rest.push(number(field).ok_or_else(|| format!("column {} is not a number", rest.len() + 3))?);
        }
        let four = |at: usize| [rest[at], rest[at + 1], rest[at + 2], rest[at + 3]];
        let whole = |at: usize| rest.get(at).map_or(0, |value| *value as u64);
        // 6 columns; 10 with -R; 11 with -R and -L, where the count includes skipped ones; 15 always since
        // 15, 16 since 19.
        let skipped_counted = match rest.len() + 2 {
            6 | 10 | 15 | 16 => false,
            11 => true,
            other => return Err(format!("{other} columns: pgbench writes 6, 10, 11, 15 or 16")),
        };
        let skipped = whole(8);
        let done = if skipped_counted { count.saturating_sub(skipped) } else { count };
        let (serialization, deadlock, other) = (whole(11), whole(12), whole(13));
        let counts = Counts {
            ok: done,
            failed: serialization.saturating_add(deadlock).saturating_add(other),
            serialization_failures: serialization,
            deadlock_failures: deadlock,
            other_failures: other,
            skipped,
            retried: whole(9),
            retries: whole(10),
            ..Counts::default()
        };
        let lag = if rest.len() >= 8 { four(4) } else { [0.0; 4] };
        let lags = if lag == [0.0; 4] { 0 } else { done };
        let start = i64::try_from(start)
            .ok()
            .filter(|start| *start <= LATEST_S)
            .ok_or_else(|| format!("invalid interval_start {start}"))?;
        Ok((start, Self { counts, latency: Sums::of(done, four(0)), lag: Sums::of(lags, lag) }))
    }
}

/// Sums of squares may have more digits than whole numbers hold.
fn number(field: &[u8]) -> Option<f64> {
    if let Some(whole) = unsigned(field) {
        return Some(whole as f64);
    }
    let value: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    value.is_finite().then_some(value.max(0.0))
}

#[derive(Debug, Default)]
pub(super) struct AggregateLog {
    pub(super) intervals: BTreeMap<i64, Interval>,
    /// Length of an interval, seconds; `None` if there is only one, and no option sets it.
    pub(super) length_s: Option<i64>,
    pub(super) threads: u32,
    pub(super) rows: u64,
    /// Of each thread.
    pub(super) files: Vec<FileIntervals>,
    pub(super) sha256: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// The intervals in the file of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FileIntervals {
    /// Starts of the first and the last, seconds since 1970.
    span: Option<(i64, i64)>,
    /// Shortest time between two starts, seconds.
    shortest_s: Option<i64>,
    /// Start of the first that does not follow the one before it by the shortest time.
    after_gap: Option<i64>,
    /// Most transactions in one of them.
    most: u64,
}

/// Reads all files of one run.
///
/// # Errors
/// The first invalid line, with its place.
pub(super) fn read<R: Read>(
    files: Vec<(PathBuf, R)>,
    hints: &Hints,
    progress: &mut ImportProgress<'_>,
) -> Result<AggregateLog, Error> {
    let mut log =
        AggregateLog { threads: u32::try_from(files.len()).unwrap_or(u32::MAX), ..Default::default() };
    let first = files.first().map(|(file, _)| file.clone()).unwrap_or_default();
    let mut bytes = 0;
    for (file, input) in files {
        let mut lines = Lines::new(input);
        log.read_file(&file, &mut lines)?;
        bytes += lines.bytes();
        log.sha256.push(lines.sha256());
        progress.show(log.rows, bytes);
    }
    if log.intervals.is_empty() {
        return Err(of_file(&first, "no interval in it"));
    }
    log.length_s = hints.interval_s.or(log.files.iter().filter_map(|file| file.shortest_s).min());
    if let Some(start) = log.gap() {
        log.notes.push(format!("intervals before {start} are missing: pgbench writes each, also empty ones"));
    }
    log.notes.push(
        "intervals are whole: pgbench does not write the last one, unless it ends with the run".to_owned(),
    );
    Ok(log)
}

impl FileIntervals {
    fn take(&mut self, start: i64, transactions: u64) {
        self.most = self.most.max(transactions);
        let Some((first, last)) = self.span else {
            self.span = Some((start, start));
            return;
        };
        let since = start.saturating_sub(last);
        if since > 0 {
            let shortest = self.shortest_s.get_or_insert(since);
            if since > *shortest {
                self.after_gap.get_or_insert(start);
            } else if since < *shortest {
                *shortest = since;
                self.after_gap = Some(last);
            }
        }
        self.span = Some((first.min(start), last.max(start)));
    }
}

impl AggregateLog {
    fn read_file<R: Read>(&mut self, file: &Path, lines: &mut Lines<R>) -> Result<(), Error> {
        let mut seen = FileIntervals::default();
        while let Some(line) = lines.next().map_err(|error| unreadable(file, error))? {
            if line.text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if !line.whole {
                self.notes.push(format!("{}: the last line is not whole, and was left out", file.display()));
                continue;
            }
            let (start, interval) = Interval::parse(line.text).map_err(|what| at(file, line.number, what))?;
            self.intervals.entry(start).or_default().merge(&interval);
            seen.take(start, interval.counts.ok);
            self.rows += 1;
        }
        self.files.push(seen);
        Ok(())
    }

    /// Start of an interval before which others are missing.
    pub(super) fn gap(&self) -> Option<i64> {
        self.files.iter().find_map(|file| file.after_gap)
    }

    /// Time in whole intervals of the thread that has most, seconds.
    pub(super) fn covered_s(&self) -> Option<i64> {
        let length_s = self.length_s?;
        let of_file = |file: &FileIntervals| file.span.map(|(first, last)| last - first + length_s);
        self.files.iter().filter_map(of_file).max()
    }

    /// Most transactions that the last interval of all threads together may hold, by the others: half as many
    /// again, and chance.
    pub(super) fn most_in_last(&self) -> u64 {
        let of_file = |file: &FileIntervals| {
            let most = file.most as f64;
            (most * 1.5 + 6.0 * most.sqrt() + 10.0) as u64
        };
        self.files.iter().map(of_file).sum()
    }

    pub(super) fn total(&self) -> Interval {
        self.intervals.values().fold(Interval::default(), |mut total, interval| {
            total.merge(interval);
            total
        })
    }

    pub(super) fn time_s(&self) -> Option<(i64, i64)> {
        let (first, last) = (*self.intervals.keys().next()?, *self.intervals.keys().next_back()?);
        Some((first, last + self.length_s?))
    }

    pub(super) fn csv(&self) -> String {
        let mut text = String::from(
            "start_s,transactions,latency_mean_us,latency_stddev_us,latency_min_us,latency_max_us,lag_mean_us,\
             lag_max_us,skipped,retried,retries,failed\n",
        );
        let shown = |value: Option<f64>| value.map(|value| format!("{value:.3}")).unwrap_or_default();
        for (start, Interval { counts, latency, lag }) in &self.intervals {
            let _ = writeln!(
                text,
                "{start},{},{},{},{},{},{},{},{},{},{},{}",
                counts.ok,
                shown(latency.mean()),
                shown(latency.stddev()),
                shown(latency.extremes().map(|(min, _)| min)),
                shown(latency.extremes().map(|(_, max)| max)),
                shown(lag.mean()),
                shown(lag.extremes().map(|(_, max)| max)),
                counts.skipped,
                counts.retried,
                counts.retries,
                counts.failed
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Interval {
        Interval::parse(line.as_bytes()).unwrap().1
    }

    #[test]
    fn every_layout_is_read() {
        let old = parsed("1345828501 5601 1542744 483552416 61 2573");
        assert_eq!((old.counts.ok, old.lag.count), (5601, 0));
        assert_eq!(old.latency.mean().map(f64::round), Some(275.0));
        let throttled = parsed("1345828501 10 1000 200000 50 300 500 30000 5 99");
        assert_eq!((throttled.lag.mean(), throttled.lag.extremes()), (Some(50.0), Some((5.0, 99.0))));
        let skipped = parsed("1345828501 10 1000 200000 50 300 500 30000 5 99 4");
        assert_eq!((skipped.counts.ok, skipped.counts.skipped), (6, 4), "old counts include skipped ones");
        let new = parsed("1649114136 5815 27552565 177846919143078 1078 86241 0 0 0 0 0 1 2 3 4");
        assert_eq!(
            (new.counts.ok, new.counts.failed, new.counts.retried, new.counts.retries),
            (5815, 7, 1, 2)
        );
        let newest = parsed("1649114136 5 10 20 1 4 0 0 0 0 6 1 2 3 4 5");
        assert_eq!((newest.counts.skipped, newest.counts.other_failures, newest.counts.failed), (6, 5, 12));
        let large = parsed("1649114136 5 10 123456789012345678901234 1 4");
        assert!(large.latency.stddev().unwrap() > 1e11);
    }

    #[test]
    fn mistakes_are_named() {
        for (line, wanted) in [
            ("1345828501 5601 1542744", "3 columns: pgbench writes 6, 10, 11, 15 or 16"),
            ("1345828501 5601 1542744 x 61 2573", "column 4 is not a number"),
            ("1345828501 -1 1542744 5 61 2573", "invalid num_transactions \"-1\""),
            ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", "more than 16 columns"),
        ] {
            assert_eq!(Interval::parse(line.as_bytes()).unwrap_err(), wanted);
        }
    }

    #[test]
    fn threads_are_added_and_the_length_is_found() {
        let files = [
            ("a", "100000000 1 10 100 10 10\n100000005 0 0 0 0 0\n100000010 2 20 200 10 10\n"),
            ("b", "100000000 3 60 1200 20 20\n100000005 1 5 25 5 5\n100000010 1 5"),
        ];
        let files = files.map(|(name, text)| (PathBuf::from(name), text.as_bytes())).into();
        let log = read(files, &Hints::default(), &mut ImportProgress::new(&mut |_, _| {})).unwrap();
        assert_eq!((log.length_s, log.threads, log.rows), (Some(5), 2, 5));
        assert_eq!(log.time_s(), Some((100_000_000, 100_000_015)));
        let total = log.total();
        assert_eq!((total.counts.ok, total.latency.extremes()), (7, Some((5.0, 20.0))));
        assert_eq!(log.notes.len(), 2);
        assert_eq!(log.csv().lines().count(), 4);
        assert!(log.csv().contains("\n100000005,1,5.000,0.000,5.000,5.000,,,0,0,0,0\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(line in "[0-9 .eE+-]{0,120}|.{0,60}") {
            let _ = Interval::parse(line.as_bytes());
        }
    }
}
