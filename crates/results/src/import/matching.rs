//! Whether a log and a report belong to the same run.

mod assign;
mod last;

pub(super) use self::assign::{Distances, nearest, undecided};
use self::last::LastInterval;
use super::aggregate::AggregateLog;
use super::log::TransactionLog;
use super::report::model::ParsedReport;
use spec::figures;

#[derive(Debug)]
pub(super) enum Log {
    Transactions(TransactionLog),
    Aggregates(AggregateLog),
}

/// Why a log of transactions does not belong to a report; `None` if it may.
pub(super) fn misfit(report: &ParsedReport, log: &TransactionLog) -> Option<String> {
    let wanted = report.succeeded();
    let differs = |what: &str, report: u64, log: u64| {
        (report != log).then(|| format!("{what}: {report} in the report, {log} in the log"))
    };
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
            let skipped = report.printed.counts.get(figures::SKIPPED)?;
            differs("skipped transactions", skipped, counts.skipped)
        })
        .or_else(|| {
            let failed = report.printed.counts.get(figures::FAILED)?;
            differs("failed transactions", failed, counts.failed)
        })
}

/// Only the last interval may be missing: pgbench does not write it unless it ends with the run.
pub(super) fn aggregates_misfit(report: &ParsedReport, log: &AggregateLog) -> Option<String> {
    let (wanted, got) = (report.succeeded(), log.total().counts.ok);
    if let Some(threads) = report.threads.filter(|threads| *threads != u64::from(log.threads)) {
        return Some(format!("threads: {threads} in the report, {} in the log", log.threads));
    }
    if let Some(start) = log.gap() {
        return Some(format!("intervals before {start} are missing in the log, where only the last may be"));
    }
    let missing = wanted.checked_sub(got);
    if missing.is_none_or(|missing| missing > log.most_in_last()) {
        let more = if missing.is_some() { ", more than its last interval may lack" } else { "" };
        return Some(format!("transactions: {wanted} in the report, {got} in the log{more}"));
    }
    let (length_s, covered_s) = (log.length_s?, log.covered_s()?);
    let ran_s = report.measured_s()?;
    let each_s = report.clients.unwrap_or(1) as f64 * ran_s / wanted.max(1) as f64;
    let slack_s = 1.0 + length_s as f64 + 3.0 * each_s;
    if (ran_s - covered_s as f64).abs() > slack_s {
        return Some(format!("time: {ran_s:.0} s in the report, {covered_s} s in intervals of the log"));
    }
    LastInterval::of(report, log)?.misfit()
}

/// How unlike the log of a report an aggregated log is that fits it, in squared standard errors of its last
/// interval.
pub(super) fn distance(report: &ParsedReport, log: &AggregateLog) -> f64 {
    LastInterval::of(report, log).map_or(0.0, |last| last.distance())
}

#[cfg(test)]
mod tests;
