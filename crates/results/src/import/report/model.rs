//! The values of a text report of pgbench.

use super::super::labels::Labels;
use spec::Counts;
use spec::figures::{self, Counters, Figures};

#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::import) struct ParsedReport {
    /// First and last line, from 1.
    pub(in crate::import) lines: (u64, u64),
    pub(in crate::import) text: String,
    /// Version of pgbench, from its banner (14 and later).
    pub(in crate::import) pgbench: Option<String>,
    /// Version of the server, if the banner has a different one.
    pub(in crate::import) server: Option<String>,
    /// Transaction type: a builtin, a file, `multiple scripts`.
    pub(in crate::import) kind: String,
    pub(in crate::import) scale: Option<u64>,
    pub(in crate::import) protocol: Option<String>,
    pub(in crate::import) partition_method: Option<String>,
    pub(in crate::import) partitions: Option<u64>,
    pub(in crate::import) clients: Option<u64>,
    pub(in crate::import) threads: Option<u64>,
    pub(in crate::import) per_client: Option<u64>,
    pub(in crate::import) duration_s: Option<f64>,
    /// Transactions "actually processed", as printed.
    pub(in crate::import) processed: Option<u64>,
    /// The requested number (`-t`).
    pub(in crate::import) wanted: Option<u64>,
    pub(in crate::import) printed: Printed,
    /// Limits, lag and connecting times, as they are stored. The lag is present with `-R` only.
    pub(in crate::import) figures: Figures,
    pub(in crate::import) late: Option<u64>,
    /// Whether the version counts skipped transactions as processed (9.5 to 10).
    pub(in crate::import) skipped_processed: bool,
    /// Transactions per second: without the initial connections, or with the reconnections of `-C`.
    pub(in crate::import) tps: Option<f64>,
    /// Scripts, if there are several; one unnamed script with the statements of a single one and `-r`.
    pub(in crate::import) scripts: Vec<ReportScript>,
    pub(in crate::import) seed: Option<u64>,
    pub(in crate::import) progress: Vec<ProgressLine>,
    pub(in crate::import) aborted: u64,
    pub(in crate::import) incomplete: bool,
    /// Labels in the text before it.
    pub(in crate::import) labels: Labels,
    /// What is to be said about the lines between it and others.
    pub(in crate::import) between: Option<String>,
}

/// Figures that are printed for the whole run and for each script.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::import) struct Printed {
    pub(in crate::import) counts: Counters,
    pub(in crate::import) latency_ms: Option<f64>,
    pub(in crate::import) stddev_ms: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::import) struct ReportScript {
    pub(in crate::import) name: String,
    pub(in crate::import) weight: Option<u64>,
    /// Its transactions: the successful ones (before 18, with skipped ones until 10), or all (18 and
    /// later).
    pub(in crate::import) total: Option<u64>,
    /// Successful transactions (18 and later).
    pub(in crate::import) processed: Option<u64>,
    pub(in crate::import) printed: Printed,
    /// Latency of each statement (`-r`).
    pub(in crate::import) statements: Vec<Statement>,
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::import) struct Statement {
    pub(in crate::import) latency_ms: f64,
    pub(in crate::import) failures: Option<u64>,
    pub(in crate::import) retries: Option<u64>,
    pub(in crate::import) text: String,
}

/// A line of `pgbench -P`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::import) struct ProgressLine {
    /// Seconds since the start, or since 1970 (`--progress-timestamp`).
    pub(in crate::import) time_s: f64,
    pub(in crate::import) tps: f64,
    pub(in crate::import) latency_ms: Option<f64>,
    pub(in crate::import) stddev_ms: Option<f64>,
    pub(in crate::import) failed: u64,
    pub(in crate::import) lag_ms: Option<f64>,
    pub(in crate::import) skipped: u64,
    pub(in crate::import) retried: u64,
    pub(in crate::import) retries: u64,
}

impl ParsedReport {
    /// What tells its cell from others by its own text.
    pub(in crate::import) fn cell(&self) -> String {
        let reconnect = self.figures.get(figures::RECONNECT_MEAN_MS).is_some();
        let scripts: Vec<&str> = self.scripts.iter().map(|script| script.name.as_str()).collect();
        format!(
            "{} {scripts:?} {:?} {:?} {:?} {:?} {:?} {reconnect}",
            self.kind, self.clients, self.scale, self.protocol, self.partitions, self.partition_method
        )
    }

    pub(in crate::import) fn succeeded(&self) -> u64 {
        let processed = self.processed.unwrap_or(0);
        if self.skipped_processed {
            processed.saturating_sub(self.printed.counts.count(figures::SKIPPED))
        } else {
            processed
        }
    }

    pub(in crate::import) fn throttled(&self) -> bool {
        self.figures.get(figures::LAG_MEAN_US).is_some()
    }

    /// Length of the measured part, seconds, derived from the rate; `None` if unknown.
    pub(in crate::import) fn measured_s(&self) -> Option<f64> {
        let from_rate = self
            .tps
            .filter(|tps| *tps > 0.0)
            .zip(self.processed.filter(|count| *count > 0))
            .map(|(tps, count)| count as f64 / tps);
        from_rate.or(self.duration_s)
    }

    /// Why the run was shorter than asked for (`-T`), if it was: its transactions at its rate take less. Without
    /// the time for connecting (13 and earlier) nothing follows from the rate.
    pub(in crate::import) fn cut_short(&self) -> Option<String> {
        let whole = |_: &f64| !self.text.contains("(excluding connections");
        let rate = self.figures.get(figures::TPS_WITH_CONNECTING).or(self.tps.filter(whole))?;
        let (asked_s, processed) = (self.duration_s?, self.processed?);
        let lasted_s = processed as f64 / rate;
        let waits_s = if self.throttled() { 10.0 / rate } else { 0.0 };
        let is_short = lasted_s.is_finite() && asked_s - lasted_s > (asked_s / 10.0).max(1.0) + waits_s;
        is_short.then(|| {
            format!(
                "{} at {rate:.0} tps take {lasted_s:.1} s, where pgbench was to run for {asked_s:.0} s: it ended early",
                spec::count(processed, "transaction")
            )
        })
    }

    /// Names of the scripts, in the order of their numbers.
    pub(in crate::import) fn script_names(&self) -> Vec<String> {
        let several =
            self.scripts.len() > 1 || self.scripts.first().is_some_and(|script| !script.name.is_empty());
        if several {
            self.scripts.iter().map(|script| short(&script.name)).collect()
        } else {
            vec![short(&self.kind)]
        }
    }

    /// Counters of each script; for several scripts late ones are not reported.
    pub(in crate::import) fn script_counts(&self) -> Vec<Counts> {
        let several = self.scripts.iter().any(|script| script.total.is_some());
        if !several {
            return vec![self.counts()];
        }
        let one = |script: &ReportScript| {
            let skipped =
                if self.skipped_processed { script.printed.counts.count(figures::SKIPPED) } else { 0 };
            let ok = script.processed.or(script.total).unwrap_or(0).saturating_sub(skipped);
            script.printed.counts(ok, 0)
        };
        self.scripts.iter().map(one).collect()
    }

    pub(in crate::import) fn counts(&self) -> Counts {
        let late = self.late.unwrap_or(0).min(self.succeeded());
        self.printed.counts(self.succeeded() - late, late)
    }
}

impl Printed {
    /// Counters, with the given successful and late transactions.
    pub(in crate::import) fn counts(&self, ok: u64, late: u64) -> Counts {
        Counts { ok, late, ..Counts::of(&self.counts) }
    }
}

/// Builtin scripts by the names of `-b`, in all versions; others unchanged.
pub(crate) fn short(name: &str) -> String {
    match name {
        "<builtin: TPC-B (sort of)>" | "TPC-B (sort of)" => "tpcb-like",
        "<builtin: simple update>" | "Update only pgbench_accounts" => "simple-update",
        "<builtin: select only>" | "SELECT only" => "select-only",
        "Custom query" => "custom",
        other => other,
    }
    .to_owned()
}
