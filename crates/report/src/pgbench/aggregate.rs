//! Lines of aggregated log files, one per interval.

use std::fmt::Write;

use super::log::{LogFormat, LoggedTransaction, TransactionEnd};

const SECOND_US: i64 = 1_000_000;

/// Count, sum, sum of squares, smallest and largest of some values in µs; all 0 without any.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    count: u64,
    sum: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Sums {
    fn add(&mut self, value: f64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let Self { sum, squares, least, most, .. } = self;
        write!(out, " {sum:.0} {squares:.0} {least:.0} {most:.0}")
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Aggregate {
    latency: Sums,
    lag: Sums,
    skipped: u64,
    retried: u64,
    retries: u64,
    serialization: u64,
    deadlock: u64,
    other: u64,
}

impl Aggregate {
    fn add(&mut self, transaction: &LoggedTransaction) {
        if transaction.end == TransactionEnd::Skipped {
            self.skipped += 1;
            return;
        }
        self.retried += u64::from(transaction.retries > 0);
        self.retries += u64::from(transaction.retries);
        match transaction.end {
            TransactionEnd::Processed { latency_us } => {
                self.latency.add(latency_us as f64);
                self.lag.add(transaction.lag_us as f64);
            }
            TransactionEnd::Serialization => self.serialization += 1,
            TransactionEnd::Deadlock => self.deadlock += 1,
            TransactionEnd::Other => self.other += 1,
            TransactionEnd::Skipped => {}
        }
    }

    /// Appends its line with a line break; `start_s` is the interval's start in s since 1970. Columns that
    /// the run's options do not ask for are 0.
    fn append(&self, start_s: i64, format: &LogFormat, out: &mut String) {
        let _ = self.write(start_s, format, out);
    }

    fn write(&self, start_s: i64, format: &LogFormat, out: &mut String) -> std::fmt::Result {
        let if_asked = |asked: bool, count: u64| if asked { count } else { 0 };
        write!(out, "{start_s} {}", self.latency.count)?;
        self.latency.write(out)?;
        if format.lag { self.lag } else { Sums::default() }.write(out)?;
        write!(out, " {}", if_asked(format.limit, self.skipped))?;
        write!(
            out,
            " {} {}",
            if_asked(format.retries, self.retried),
            if_asked(format.retries, self.retries)
        )?;
        write!(
            out,
            " {} {}",
            if_asked(format.detailed, self.serialization),
            if_asked(format.detailed, self.deadlock)
        )?;
        if format.other {
            write!(out, " {}", if_asked(format.detailed, self.other))?;
        }
        out.push('\n');
        Ok(())
    }
}

/// The intervals of one log file, in order.
#[derive(Debug, Clone)]
pub struct Aggregates {
    length_us: i64,
    start_us: i64,
    format: LogFormat,
    current: Aggregate,
}

impl Aggregates {
    /// Intervals of `seconds` (at least 1) from the whole second in which the run starts, `start_us` since
    /// 1970.
    #[must_use]
    pub fn new(seconds: u32, start_us: i64, format: LogFormat) -> Self {
        let start_us = start_us.div_euclid(SECOND_US) * SECOND_US;
        let length_us = i64::from(seconds.max(1)) * SECOND_US;
        Self { length_us, start_us, format, current: Aggregate::default() }
    }

    /// Counts a transaction; first appends the lines of all intervals that ended before it, including empty
    /// ones.
    pub fn add(&mut self, transaction: &LoggedTransaction, out: &mut String) {
        self.advance(transaction.wall_us, out);
        self.current.add(transaction);
    }

    /// Appends the lines of all intervals that end at or before `now_us`, µs since 1970.
    pub fn advance(&mut self, now_us: i64, out: &mut String) {
        while self.start_us + self.length_us <= now_us {
            self.current.append(self.start_us / SECOND_US, &self.format, out);
            self.current = Aggregate::default();
            self.start_us += self.length_us;
        }
    }

    /// Appends the line of the last, incomplete interval if anything happened in it: pgbench loses it.
    pub fn finish(&mut self, out: &mut String) {
        if self.current != Aggregate::default() {
            self.current.append(self.start_us / SECOND_US, &self.format, out);
            self.current = Aggregate::default();
            self.start_us += self.length_us;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: LoggedTransaction = LoggedTransaction {
        client: 0,
        number: 1,
        end: TransactionEnd::Processed { latency_us: 30 },
        script: 0,
        wall_us: 1_000_900_000,
        lag_us: 4,
        retries: 2,
    };

    #[test]
    fn intervals_follow_each_other() {
        let format = LogFormat { lag: true, limit: true, retries: true, detailed: true, other: false };
        let mut aggregates = Aggregates::new(2, 1_000_700_000, format);
        let mut out = String::new();
        aggregates.add(&SOME, &mut out);
        aggregates.add(
            &LoggedTransaction { end: TransactionEnd::Processed { latency_us: 10 }, retries: 0, ..SOME },
            &mut out,
        );
        aggregates.add(&LoggedTransaction { end: TransactionEnd::Deadlock, ..SOME }, &mut out);
        assert_eq!(out, "");
        aggregates.add(
            &LoggedTransaction { end: TransactionEnd::Skipped, wall_us: 1_004_000_000, ..SOME },
            &mut out,
        );
        assert_eq!(out, "1000 2 40 1000 10 30 8 32 4 4 0 2 4 0 1\n1002 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
        out.clear();
        aggregates.finish(&mut out);
        assert_eq!(out, "1004 0 0 0 0 0 0 0 0 0 1 0 0 0 0\n");
        out.clear();
        aggregates.finish(&mut out);
        assert_eq!(out, "");
    }

    #[test]
    fn what_was_not_asked_for_is_zero() {
        let mut aggregate = Aggregate::default();
        for end in [SOME.end, TransactionEnd::Skipped, TransactionEnd::Serialization, TransactionEnd::Other] {
            aggregate.add(&LoggedTransaction { end, ..SOME });
        }
        let line = |format| {
            let mut out = String::new();
            aggregate.append(5, &format, &mut out);
            out
        };
        assert_eq!(line(LogFormat::default()), "5 1 30 900 30 30 0 0 0 0 0 0 0 0 0\n");
        let all = LogFormat { lag: true, limit: true, retries: true, detailed: true, other: true };
        assert_eq!(line(all), "5 1 30 900 30 30 4 16 4 4 1 3 6 1 0 1\n");
    }
}
