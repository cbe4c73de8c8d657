//! Values of a run from a log, from a report, and from both.

use stats::Histogram;

use super::aggregate::AggregateLog;
use super::log::{Tally, TransactionLog, stored};
use super::report;
use super::report::model::ParsedReport;
use crate::spool::Spooled;
use spec::figures::{self, Figure, Figures};
use spec::{Artifact, Counts, ScriptRecord, SeriesPoint};

#[derive(Default)]
pub(super) struct ImportedFigures {
    pub(super) counts: Counts,
    pub(super) scripts: Vec<ScriptRecord>,
    pub(super) series: Vec<SeriesPoint>,
    pub(super) seconds: Vec<Spooled>,
    /// First start, µs since 1970.
    pub(super) began_us: Option<i64>,
    pub(super) length_s: Option<f64>,
    pub(super) clients: Option<u32>,
    pub(super) threads: Option<u32>,
    pub(super) throttled: bool,
    pub(super) hashes: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) no_percentiles: Option<&'static str>,
    pub(super) figures: Figures,
    pub(super) artifacts: Vec<Artifact>,
}

fn script(name: String, weight: u32, counts: &Counts) -> ScriptRecord {
    ScriptRecord {
        name,
        text_hash: String::new(),
        weight,
        part: None,
        counts: stored(counts),
        response: Histogram::new(),
        service: Histogram::new(),
    }
}

fn weight(report: &ParsedReport, position: usize) -> u32 {
    let weight = report.scripts.get(position).and_then(|script| script.weight);
    weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or(1)
}

/// A per-transaction log: distributions of all its scripts.
pub(super) fn of_transactions(log: TransactionLog, report: Option<&ParsedReport>) -> ImportedFigures {
    let names = report.map(ParsedReport::script_names).unwrap_or_default();
    let single = log.scripts.len() == 1;
    let mut counts = Counts::default();
    let mut scripts = Vec::new();
    for (number, tally) in log.scripts {
        let Tally { counts: own, response, service } = tally;
        let own = own.scaled(log.share);
        counts.add(&own);
        let place = usize::from(number);
        let name = names
            .get(place)
            .cloned()
            .unwrap_or_else(|| if single { "pgbench".to_owned() } else { format!("script {}", number + 1) });
        scripts.push(ScriptRecord {
            service: service.unwrap_or_else(|| response.clone()),
            response,
            ..script(name, report.map_or(1, |report| weight(report, place)), &own)
        });
    }
    // The report has the exact values of which a sample holds a part.
    if let Some(report) = report.filter(|_| log.share < 1.0) {
        let late = counts.late;
        counts = report.counts();
        if report.late.is_none() {
            counts.late = late.min(counts.ok);
            counts.ok -= counts.late;
        }
    }
    ImportedFigures {
        counts,
        scripts,
        series: log.series,
        seconds: log.seconds,
        began_us: Some(log.time_us.0),
        length_s: Some((log.time_us.1 - log.time_us.0) as f64 / 1e6),
        clients: Some(log.clients),
        threads: Some(log.threads),
        throttled: log.throttled,
        hashes: log.sha256,
        notes: log.notes,
        ..ImportedFigures::default()
    }
}

/// An aggregated log: means and extremes, no distribution.
pub(super) fn of_aggregates(log: &AggregateLog, report: Option<&ParsedReport>) -> ImportedFigures {
    let total = log.total();
    let mut measured = report.map(|report| of_report(Some(report))).unwrap_or_default();
    measured.no_percentiles =
        Some("an aggregated log has only sums; they need the log of each transaction (pgbench -l)");
    if report.is_none() {
        measured.counts = total.counts;
        measured.scripts = vec![script("pgbench".to_owned(), 1, &total.counts)];
    }
    let mut us = |of: Figure, value: Option<f64>| {
        measured.figures.extend(value.map(|value| (of, value)));
    };
    let extremes = total.latency.extremes();
    us(figures::LATENCY_MEAN_US, total.latency.mean());
    us(figures::LATENCY_STDDEV_US, total.latency.stddev());
    us(figures::LATENCY_MIN_US, extremes.map(|(min, _)| min));
    us(figures::LATENCY_MAX_US, extremes.map(|(_, max)| max));
    us(figures::LAG_MEAN_US, total.lag.mean());
    us(figures::LAG_MAX_US, total.lag.extremes().map(|(_, max)| max));
    measured.throttled |= total.lag.count > 0;
    measured.threads = measured.threads.or(Some(log.threads));
    measured.hashes.clone_from(&log.sha256);
    measured.notes.clone_from(&log.notes);
    measured.series.clear();
    measured.seconds.clear();
    let first = log.intervals.keys().next().copied();
    measured.began_us = first.map(|first| first * 1_000_000);
    match (log.time_s(), measured.scripts.len()) {
        (None, _) => {
            let note = "a single interval: its length is not in the file (--aggregate-interval says it)";
            measured.notes.push(note.to_owned());
        }
        (Some((first, last)), scripts) => {
            measured.length_s = Some((last - first) as f64);
            if scripts == 1 {
                measured.series = intervals(log, first);
            } else {
                let note = "intervals are over all scripts: kept as intervals.csv, not as a series";
                measured.notes.push(note.to_owned());
            }
        }
    }
    measured.artifacts.push(text(
        "intervals.csv",
        "text/csv",
        "the intervals of the aggregated log",
        log.csv(),
    ));
    measured
}

fn intervals(log: &AggregateLog, first: i64) -> Vec<SeriesPoint> {
    let length_us = log.length_s.unwrap_or(1).unsigned_abs() * 1_000_000;
    log.intervals
        .iter()
        .map(|(start, interval)| SeriesPoint {
            script: 0,
            start_us: (start - first) * 1_000_000,
            length_us,
            ok: interval.counts.ok,
            late: 0,
            failed: interval.counts.failed,
            skipped: interval.counts.skipped,
        })
        .collect()
}

/// A report alone: counters and means.
pub(super) fn of_report(report: Option<&ParsedReport>) -> ImportedFigures {
    let Some(report) = report else { return ImportedFigures::default() };
    let names = report.script_names();
    let scripts: Vec<ScriptRecord> = names
        .into_iter()
        .zip(report.script_counts())
        .enumerate()
        .map(|(at, (name, counts))| script(name, weight(report, at), &counts))
        .collect();
    let mut notes = Vec::new();
    let series = match scripts.len() {
        _ if report.progress.is_empty() => Vec::new(),
        1 => {
            notes.push("figures over time come from progress lines: counts are rounded".to_owned());
            report::progress::series(&report.progress)
        }
        _ => {
            notes.push(
                "progress lines are over all scripts: kept as progress.csv, not as a series".to_owned(),
            );
            Vec::new()
        }
    };
    ImportedFigures {
        counts: report.counts(),
        scripts,
        series,
        began_us: report::progress::began_us(&report.progress),
        throttled: report.throttled(),
        notes,
        no_percentiles: Some("a report has only averages; give the log of the run (pgbench -l) with it"),
        ..ImportedFigures::default()
    }
}

pub(super) fn add_report(measured: &mut ImportedFigures, report: &ParsedReport) {
    measured.throttled |= report.throttled();
    let logged = std::mem::take(&mut measured.figures);
    let figures = &mut measured.figures;
    let mut add = |of: Figure, value: Option<f64>| figures.extend(value.map(|value| (of, value)));
    let us = |ms: Option<f64>| ms.map(|ms| ms * 1000.0);
    // Without a deviation the average is not measured: clients times duration by transactions.
    let is_measured = report.printed.stddev_ms.is_some();
    let mean = if is_measured { figures::LATENCY_MEAN_US } else { figures::LATENCY_MEAN_FROM_TPS_US };
    add(mean, us(report.printed.latency_ms));
    add(figures::LATENCY_STDDEV_US, us(report.printed.stddev_ms));
    figures.append(report.figures.clone());
    if report.scripts.len() > 1 {
        for (at, script) in report.scripts.iter().enumerate() {
            // A name for each script, which cannot be the name of a table.
            let each = [
                (figures::LATENCY_MEAN_US, script.printed.latency_ms),
                (figures::LATENCY_STDDEV_US, script.printed.stddev_ms),
            ];
            for (of, value) in each.into_iter().filter_map(|(of, ms)| Some((of, us(ms)?))) {
                figures.set_named(format!("script_{}_{}", at + 1, of.name), value);
            }
        }
    }
    figures.append(logged);
    let artifacts = &mut measured.artifacts;
    artifacts.push(text("report.txt", "text/plain", "the report, as it was printed", report.text.clone()));
    if !report.progress.is_empty() {
        let csv = report::progress::csv(&report.progress);
        artifacts.push(text("progress.csv", "text/csv", "the progress lines of the run", csv));
    }
    if let Some(statements) = statements(report) {
        artifacts.push(text(
            "statements.json",
            "application/json",
            "latencies of the statements",
            statements,
        ));
    }
}

fn text(name: &str, media_type: &str, caption: &str, content: String) -> Artifact {
    Artifact {
        name: name.to_owned(),
        media_type: media_type.to_owned(),
        caption: caption.to_owned(),
        bytes: content.into_bytes(),
    }
}

/// Latencies of the statements as a JSON array, for `json_each`; `None` if they were not reported.
fn statements(report: &ParsedReport) -> Option<String> {
    let names = report.script_names();
    let listed: Vec<serde_json::Value> = report
        .scripts
        .iter()
        .zip(&names)
        .flat_map(|(script, name)| {
            script.statements.iter().enumerate().map(move |(at, statement)| {
                serde_json::json!({
                    "script": name,
                    "statement": at + 1,
                    "text": statement.text,
                    "latency_mean_us": statement.latency_ms * 1000.0,
                    "failures": statement.failures,
                    "retries": statement.retries,
                })
            })
        })
        .collect();
    (!listed.is_empty()).then(|| serde_json::Value::from(listed).to_string())
}
