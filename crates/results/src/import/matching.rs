//! Whether a log and a report belong to the same run.

use super::aggregate::AggregateLog;
use super::log::TransactionLog;
use super::report::model::ParsedReport;
use spec::figures;

#[derive(Debug)]
pub(super) enum Log {
    Transactions(TransactionLog),
    Aggregates(AggregateLog),
}

impl Log {
    /// Transactions that succeeded, scaled up from a sample.
    pub(super) fn succeeded(&self) -> u64 {
        match self {
            Self::Transactions(log) => log.counts().scaled(log.share).processed(),
            Self::Aggregates(log) => log.total().counts.ok,
        }
    }
}

/// Why a log does not belong to a report; `None` if it may.
pub(super) fn misfit(report: &ParsedReport, log: &Log) -> Option<String> {
    let wanted = report.succeeded();
    let differs = |what: &str, report: u64, log: u64| {
        (report != log).then(|| format!("{what}: {report} in the report, {log} in the log"))
    };
    match log {
        Log::Transactions(log) => {
            let counts = log.counts();
            if report.clients.is_some_and(|clients| clients < u64::from(log.clients)) {
                return differs("clients", report.clients.unwrap_or(0), log.clients.into());
            }
            if log.share < 1.0 {
                // The count of a sample scatters by its square root.
                let (got, mean) = (counts.processed() as f64, wanted as f64 * log.share);
                let near = (got - mean).abs() <= 6.0 * mean.sqrt() + 10.0;
                return (!near).then(|| {
                    let all = counts.scaled(log.share).processed();
                    format!("transactions: {wanted} in the report, about {all} in the log")
                });
            }
            differs("transactions", wanted, counts.processed())
                .or_else(|| {
                    differs(
                        "skipped transactions",
                        report.printed.counts.get(figures::SKIPPED)?,
                        counts.skipped,
                    )
                })
                .or_else(|| {
                    differs("failed transactions", report.printed.counts.get(figures::FAILED)?, counts.failed)
                })
        }
        Log::Aggregates(log) => {
            let got = log.total().counts.ok;
            let threads = report.threads.filter(|threads| *threads != u64::from(log.threads));
            match threads {
                Some(threads) => differs("threads", threads, log.threads.into()),
                // The last interval of an aggregated log is missing.
                None if got > wanted => differs("transactions", wanted, got),
                None => None,
            }
        }
    }
}
