//! `pgdyno bench --format json`: a row per script, and with several of them one for all.

use std::collections::BTreeMap;

use record::{Arrivals, COMPLETED, Counts, Load, Run, RunKey, RunKind, ScriptRecord, Setting, Validity};
use serde::Deserialize;
use serde_json::Value;
use stats::Histogram;

use super::Place;
use crate::import::ImportError;
use crate::import::found::{self, FoundRun};
use crate::import::judge::judge;
use crate::import::report::model::short;

/// A row. What earlier versions did not print may be missing.
#[derive(Debug, Deserialize)]
struct Row {
    script: String,
    weight: Option<u32>,
    tps: Option<f64>,
    offered_tps: Option<f64>,
    promise_ms: Option<f64>,
    #[serde(default)]
    due: u64,
    ok: u64,
    #[serde(default)]
    late: u64,
    #[serde(default)]
    failed: u64,
    #[serde(default)]
    skipped: u64,
    #[serde(default)]
    unfinished: u64,
    #[serde(default)]
    retried: u64,
    #[serde(default)]
    retries: u64,
    /// Transactions that throughput counts; earlier versions did not tell them apart.
    completed: Option<u64>,
    #[serde(default)]
    rows: u64,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    affected: u64,
    seed: Option<String>,
    #[serde(default)]
    validity: String,
    #[serde(default)]
    doubts: String,
    clients: Option<u32>,
    threads: Option<u32>,
    protocol: Option<String>,
    scale: Option<u64>,
    rate_tps: Option<f64>,
    warmup_s: Option<f64>,
    measured_s: Option<f64>,
    started_at: Option<String>,
    server_version: Option<String>,
    pgdyno: Option<String>,
    run: Option<String>,
    response: Option<String>,
    service: Option<String>,
}

pub(super) fn run(value: &Value, place: &Place<'_>, hash: String) -> Result<FoundRun, ImportError> {
    let rows = Vec::<Row>::deserialize(value).map_err(|error| {
        place.refused(&format!("not as bench --format json prints it: {error}"), "print it anew")
    })?;
    // The last of several is all of them together.
    let several = rows.len() > 1;
    let own: Vec<&Row> = rows.iter().filter(|row| !several || row.weight.is_some()).collect();
    let first = own.first().ok_or_else(|| place.refused(super::STRANGE, super::SEND_ALL))?;
    let scripts = own.iter().map(|row| script(row)).collect::<Result<Vec<_>, _>>();
    let scripts = scripts.map_err(|what| place.refused(&what, "print it anew"))?;
    let unknown = first.started_at.is_none();
    let file_time = || jiff::Timestamp::from_microsecond(place.changed_us).unwrap_or_default().to_string();
    let started_at = first.started_at.clone().unwrap_or_else(file_time);
    let run = of_scripts(&own, first, scripts, started_at);
    let missing = own.iter().any(|row| row.response.is_none() && row.counts().processed() > 0);
    let mut notes = Vec::new();
    if unknown {
        notes.push("when it ran is not known: the file's own time stands for it".to_owned());
    }
    let mut found = FoundRun {
        run,
        seconds: Vec::new().into(),
        source: place.source(),
        hashes: vec![hash],
        notes,
        no_percentiles: missing.then_some("the JSON holds no distribution (an earlier pgdyno printed it)"),
        pgbench: None,
        server: first.server_version.clone(),
        uuid: first.run.clone(),
    };
    found.run.events = found::events(&found);
    Ok(found)
}

/// All scripts together: what stands in a row of one of them, their first, is the same in all.
fn of_scripts(own: &[&Row], first: &Row, scripts: Vec<ScriptRecord>, started_at: String) -> Run {
    let mut counts = Counts::default();
    own.iter().for_each(|row| counts.add(&row.counts()));
    let completed = own.iter().map(|row| row.completed).sum::<Option<u64>>();
    let throttled = first.rate_tps.is_some() || first.offered_tps.is_some();
    let workload = scripts.iter().map(|script| script.name.as_str()).collect::<Vec<_>>().join(", ");
    let key = RunKey { factors: factors(&workload, first, throttled), workload, arm: None, round: 1 };
    let setting = |value: &String| Setting {
        name: "server_version".into(),
        value: value.clone(),
        source: "pgdyno bench --format json".into(),
    };
    let mut run = Run {
        load: if throttled { Load::Rate } else { Load::Closed },
        offered_rate: first.rate_tps,
        clients: first.clients.unwrap_or(0),
        threads: first.threads.unwrap_or(0),
        driver: format!(
            "pgdyno{}",
            first.pgdyno.as_ref().map(|version| format!(" {version}")).unwrap_or_default()
        ),
        seed: first.seed.as_deref().and_then(|seed| seed.parse().ok()).unwrap_or(0),
        warmup_s: first.warmup_s.unwrap_or(0.0),
        measured_s: measured_s(own),
        started_at,
        counts: with_completed(&counts, completed),
        figures: first.promise_ms.map(|ms| ("promise_ms".to_owned(), ms)).into_iter().collect(),
        settings: first.server_version.iter().map(setting).collect(),
        scripts,
        ..Run::new(RunKind::Client, key)
    };
    believe(&mut run, &counts, first);
    run
}

/// As with every imported run, and with what was said of it where it was measured.
fn believe(run: &mut Run, counts: &Counts, row: &Row) {
    (run.validity, run.doubts) = judge(counts, Arrivals::of(run), 0, false, &run.driver);
    if row.validity == "invalid" {
        run.validity = Validity::Invalid;
    }
    let why = if row.doubts.is_empty() { String::new() } else { format!(": {}", row.doubts) };
    if let Some(imported) = run.doubts.first_mut().filter(|_| !row.validity.is_empty()) {
        imported.detail = format!("measured by {} elsewhere; {} there{why}", run.driver, row.validity);
    }
}

fn script(row: &Row) -> Result<ScriptRecord, String> {
    let read = |name: &str, text: &Option<String>| match text {
        Some(text) => Histogram::from_text(text).map(Some).map_err(|error| format!("{name}: {error}")),
        None => Ok(None),
    };
    let response = read("response", &row.response)?.unwrap_or_default();
    let service = read("service", &row.service)?.unwrap_or_else(|| response.clone());
    Ok(ScriptRecord {
        name: short(&row.script),
        text_hash: String::new(),
        weight: row.weight.unwrap_or(1),
        part: None,
        counts: with_completed(&row.counts(), row.completed),
        response,
        service,
    })
}

/// Counters by name, with what throughput counts, where that is known.
fn with_completed(counts: &Counts, completed: Option<u64>) -> BTreeMap<String, u64> {
    let completed = completed.map(|count| (COMPLETED.to_owned(), count));
    counts.named().into_iter().chain(completed).collect()
}

/// What is not told is computed from the rate.
fn measured_s(rows: &[&Row]) -> f64 {
    let from_rate = |row: &&Row| {
        let done = row.completed.unwrap_or_else(|| row.counts().processed()) as f64;
        row.tps.filter(|tps| *tps > 0.0).map(|tps| done / tps)
    };
    let told = rows.iter().find_map(|row| row.measured_s);
    told.or_else(|| rows.iter().find_map(from_rate)).filter(|s| s.is_finite() && *s >= 0.0).unwrap_or(0.0)
}

fn factors(workload: &str, row: &Row, throttled: bool) -> BTreeMap<String, String> {
    let unknown = throttled.then(|| "not known".to_owned());
    let all = [
        ("workload", Some(workload.to_owned())),
        ("clients", row.clients.map(|clients| clients.to_string())),
        ("scale", row.scale.map(|scale| scale.to_string())),
        ("protocol", row.protocol.clone()),
        ("rate", row.rate_tps.map(|rate| rate.to_string()).or(unknown)),
    ];
    all.into_iter().filter_map(|(name, level)| Some((name.to_owned(), level?))).collect()
}

impl Row {
    fn counts(&self) -> Counts {
        let due = self.due.max(self.ok.saturating_add(self.late));
        Counts {
            due,
            ok: self.ok,
            late: self.late,
            failed: self.failed,
            skipped: self.skipped,
            unfinished: self.unfinished,
            retried: self.retried,
            retries: self.retries,
            rows: self.rows,
            bytes: self.bytes,
            affected: self.affected,
            ..Counts::default()
        }
    }
}
