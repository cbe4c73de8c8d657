//! From the contents of files to the record of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::judge::judge;
use super::lines::sha256;
use super::log::stored;
use super::matching::Log;
use super::measured::{ImportedFigures, add_report, of_aggregates, of_report, of_transactions};
use super::report::model::ParsedReport;
use super::{ImportOptions, report};
use crate::spool::Spool;
use spec::{
    Arrivals, Doubt, OfferedLoad, Reason, Run, RunEvent, RunKey, RunKind, Setting, Validity, figures,
};

/// A run with its origin.
#[derive(Debug, Clone)]
pub struct FoundRun {
    pub(crate) run: Run,
    pub(crate) seconds: Spool,
    pub source: String,
    /// Hashes (SHA-256, hex) of its sources.
    pub hashes: Vec<String>,
    pub notes: Vec<String>,
    pub no_percentiles: Option<&'static str>,
    pub pgbench: Option<String>,
    pub server: Option<String>,
    /// Identity of the run when it was measured, if pgdyno did.
    pub(crate) uuid: Option<String>,
    /// Its round, where its source numbers them.
    pub(crate) round: Option<u32>,
}

impl FoundRun {
    /// The record that is stored; arm and round are chosen when it is.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }
}

pub(super) struct Parts<'a> {
    pub(super) report: Option<&'a ParsedReport>,
    pub(super) report_place: Option<String>,
    /// Last change of the report's file, µs since 1970.
    pub(super) changed_us: i64,
    pub(super) log: Option<Log>,
    pub(super) files: &'a [PathBuf],
    pub(super) options: &'a ImportOptions,
}

pub(super) fn run(parts: Parts<'_>) -> FoundRun {
    let Parts { report, report_place, changed_us, log, files, options } = parts;
    let files = files.iter().map(|file| file.display().to_string());
    let source = report_place.into_iter().chain(files).collect::<Vec<_>>().join(", ");
    let mut measured = measured(log, report);
    if measured.began_us.is_none() {
        measured.notes.push("when it ran is not known: the time of the file is used".to_owned());
    }
    measured.notes.extend(report.and_then(|report| report.between.clone()));
    let started_us = measured.began_us.unwrap_or(changed_us);
    let mut run = Run {
        started_at: jiff::Timestamp::from_microsecond(started_us).unwrap_or_default().to_string(),
        counts: stored(&measured.counts),
        ..described(&measured, report, options)
    };
    let (gave_up, incomplete) = report.map_or((0, false), |report| (report.aborted, report.incomplete));
    (run.validity, run.doubts) =
        judge(&measured.counts, Arrivals::of(&run), gave_up, incomplete, &run.driver);
    if let Some(detail) = report.and_then(ParsedReport::cut_short) {
        run.validity = Validity::Invalid;
        run.doubts.push(Doubt { reason: Reason::Errors, detail });
    }
    run.figures = measured.figures;
    run.scripts = measured.scripts;
    run.series = measured.series;
    run.artifacts = measured.artifacts;
    let mut found = FoundRun {
        run,
        seconds: measured.seconds.into(),
        source,
        hashes: measured.hashes,
        notes: measured.notes,
        no_percentiles: measured.no_percentiles,
        pgbench: report.and_then(|report| report.pgbench.clone()),
        server: server(report),
        uuid: None,
        round: report.and_then(|report| report.labels.round),
    };
    found.run.events = events(&found);
    found
}

fn measured(log: Option<Log>, report: Option<&ParsedReport>) -> ImportedFigures {
    let mut measured = match log {
        Some(Log::Transactions(log)) => of_transactions(log, report),
        Some(Log::Aggregates(log)) => of_aggregates(&log, report),
        None => of_report(report),
    };
    if let Some(report) = report {
        measured.hashes.push(fingerprint(report));
        add_report(&mut measured, report);
    }
    // Many runs may be read before the first is stored.
    for script in &mut measured.scripts {
        script.response.shrink();
        script.service.shrink();
    }
    measured
}

/// A run with its description and options, without its figures.
fn described(measured: &ImportedFigures, report: Option<&ParsedReport>, options: &ImportOptions) -> Run {
    let number =
        |of: fn(&ParsedReport) -> Option<u64>| report.and_then(of).and_then(|n| u32::try_from(n).ok());
    let clients = number(|report| report.clients).or(measured.clients);
    let names: Vec<&str> = measured.scripts.iter().map(|script| script.name.as_str()).collect();
    let workload = names.join(", ");
    let version = report.and_then(|report| report.pgbench.as_ref());
    let factors = factors(&workload, clients, report, measured.throttled, options);
    let key = RunKey { workload, factors, arm: None, round: 1 };
    Run {
        load: if measured.throttled { OfferedLoad::Rate } else { OfferedLoad::Closed },
        offered_rate: options.rate,
        clients: clients.unwrap_or(0),
        threads: number(|report| report.threads).or(measured.threads).unwrap_or(0),
        driver: version.map_or("pgbench".to_owned(), |version| format!("pgbench {version}")),
        seed: report.and_then(|report| report.seed).unwrap_or(0),
        measured_s: report.and_then(ParsedReport::measured_s).or(measured.length_s).unwrap_or(0.0),
        settings: settings(report).into(),
        ..Run::new(RunKind::Client, key)
    }
}

/// Hash of the measured values: recognises the same report in another file.
fn fingerprint(report: &ParsedReport) -> String {
    let progress = report::progress::csv(&report.progress);
    let labels = report.labels.identity().map(|labels| labels + "\n").unwrap_or_default();
    sha256(&format!("{:?} {:?}\n{labels}{progress}{}", report.pgbench, report.server, report.text))
}

fn factors(
    workload: &str,
    clients: Option<u32>,
    report: Option<&ParsedReport>,
    throttled: bool,
    options: &ImportOptions,
) -> BTreeMap<String, String> {
    let mut factors = BTreeMap::from([("workload".to_owned(), workload.to_owned())]);
    let mut add = |name: &str, level: Option<String>| {
        factors.extend(level.map(|level| (name.to_owned(), level)));
    };
    add("clients", clients.map(|clients| clients.to_string()));
    let unknown = throttled.then(|| "not known".to_owned());
    add("rate", options.rate.map(|rate| rate.to_string()).or(unknown));
    if let Some(report) = report {
        add(
            "reconnect",
            report.figures.get(figures::RECONNECT_MEAN_MS).map(|_| "each transaction".to_owned()),
        );
        add("scale", report.scale.map(|scale| scale.to_string()));
        add("protocol", report.protocol.clone());
        add("partitions", report.partitions.map(|partitions| partitions.to_string()));
        add("partition_method", report.partition_method.clone());
        for (name, level) in &report.labels.levels {
            factors.entry(name.clone()).or_insert_with(|| level.clone());
        }
    }
    factors
}

fn server(report: Option<&ParsedReport>) -> Option<String> {
    report.and_then(|report| report.server.clone().or_else(|| report.pgbench.clone()))
}

fn settings(report: Option<&ParsedReport>) -> Vec<Setting> {
    let source = || "pgbench's banner".to_owned();
    let setting =
        |value| Setting { name: "server_version".into(), value, source: source(), is_initial: None };
    server(report).map(setting).into_iter().collect()
}

pub(super) fn events(found: &FoundRun) -> Vec<RunEvent> {
    let event = |kind: &str, detail: String| RunEvent { time_us: 0, kind: kind.to_owned(), detail };
    let FoundRun { source, hashes, notes, no_percentiles, .. } = found;
    let mut events = vec![event("imported", format!("{source}; sha256 {}", hashes.join(" ")))];
    events.extend(no_percentiles.map(|why| event("not available", format!("percentiles: {why}"))));
    events.extend(notes.iter().map(|note| event("note", note.clone())));
    events
}
