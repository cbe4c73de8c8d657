//! Lines of the log files of `-l`, one per transaction.

use std::fmt::Write;

/// Optional fields of log lines, by the run's options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogFormat {
    /// With a rate.
    pub lag: bool,
    /// With a latency limit.
    pub limit: bool,
    /// Tries after the first, unless only one try is allowed.
    pub retries: bool,
    /// With `--failures-detailed`.
    pub detailed: bool,
    /// A field for other failures in aggregates, with `--continue-on-error`.
    pub other: bool,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionEnd {
    /// Succeeded, this many µs after its scheduled start.
    Processed {
        latency_us: u64,
    },
    Skipped,
    Serialization,
    Deadlock,
    Other,
}

/// One transaction of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedTransaction {
    /// From 0.
    pub client: usize,
    /// Number among the client's transactions, from 1, including skipped and failed ones.
    pub number: u64,
    pub end: TransactionEnd,
    /// From 0.
    pub script: usize,
    /// Wall clock of the log entry: µs since 1970.
    pub wall_us: i64,
    /// µs; 0 unless it was processed.
    pub lag_us: u64,
    /// Tries after the first.
    pub retries: u32,
}

impl LoggedTransaction {
    /// Appends its line, with the line break.
    pub fn append(&self, format: &LogFormat, out: &mut String) {
        let _ = self.write(format, out);
    }

    fn write(&self, format: &LogFormat, out: &mut String) -> std::fmt::Result {
        write!(out, "{} {} ", self.client, self.number)?;
        match self.end {
            TransactionEnd::Processed { latency_us } => write!(out, "{latency_us}")?,
            TransactionEnd::Skipped => out.push_str("skipped"),
            _ if !format.detailed => out.push_str("failed"),
            TransactionEnd::Serialization => out.push_str("serialization"),
            TransactionEnd::Deadlock => out.push_str("deadlock"),
            TransactionEnd::Other => out.push_str("other"),
        }
        let (seconds, rest) = (self.wall_us.div_euclid(1_000_000), self.wall_us.rem_euclid(1_000_000));
        write!(out, " {} {seconds} {rest}", self.script)?;
        if format.lag {
            write!(out, " {}", self.lag_us)?;
        }
        if format.retries {
            write!(out, " {}", self.retries)?;
        }
        out.push('\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let transaction = LoggedTransaction {
            client: 2,
            number: 7,
            end: TransactionEnd::Processed { latency_us: 1234 },
            script: 1,
            wall_us: 1_700_000_000_000_045,
            lag_us: 9,
            retries: 3,
        };
        let plain = LogFormat::default();
        let full = LogFormat { lag: true, limit: true, retries: true, detailed: true, other: true };
        let cases = [
            (transaction.end, plain, "2 7 1234 1 1700000000 45\n"),
            (transaction.end, full, "2 7 1234 1 1700000000 45 9 3\n"),
            (TransactionEnd::Skipped, plain, "2 7 skipped 1 1700000000 45\n"),
            (TransactionEnd::Deadlock, plain, "2 7 failed 1 1700000000 45\n"),
            (TransactionEnd::Serialization, full, "2 7 serialization 1 1700000000 45 9 3\n"),
            (TransactionEnd::Deadlock, full, "2 7 deadlock 1 1700000000 45 9 3\n"),
            (TransactionEnd::Other, full, "2 7 other 1 1700000000 45 9 3\n"),
        ];
        for (end, format, wanted) in cases {
            let mut line = String::new();
            LoggedTransaction { end, ..transaction }.append(&format, &mut line);
            assert_eq!(line, wanted);
        }
    }
}
