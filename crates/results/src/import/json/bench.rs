//! `pgdyno bench --format json`: a row per script, and for several scripts a row for all.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use spec::figures::{self, Counters};
use spec::{Arrivals, Counts, Error, OfferedLoad, Run, RunKey, RunKind, ScriptRecord, Setting, Validity};
use stats::Histogram;

use super::LineOrigin;
use crate::import::found::{self, FoundRun};
use crate::import::judge::judge;
use crate::import::report::model::short;

#[derive(Debug, Deserialize)]
struct ScriptRow {
    script: String,
    weight: Option<u32>,
    offered_tps: Option<f64>,
    promise_ms: Option<f64>,
    due: u64,
    ok: u64,
    late: u64,
    failed: u64,
    skipped: u64,
    unfinished: u64,
    retried: u64,
    retries: u64,
    /// Transactions that throughput counts.
    completed: u64,
    rows: u64,
    bytes: u64,
    affected: u64,
    seed: String,
    validity: String,
    doubts: String,
    clients: u32,
    threads: u32,
    protocol: String,
    scale: Option<u64>,
    rate_tps: Option<f64>,
    warmup_s: f64,
    measured_s: f64,
    started_at: String,
    server_version: Option<String>,
    pgdyno: String,
    run: String,
    /// `None` if no transaction succeeded.
    response: Option<String>,
    /// `None` in closed load: equal to the response.
    service: Option<String>,
}

pub(super) fn run(value: &Value, place: &LineOrigin<'_>, hash: String) -> Result<FoundRun, Error> {
    let rows = Vec::<ScriptRow>::deserialize(value).map_err(|error| {
        place.refused(&format!("not as bench --format json prints it: {error}"), "print it again")
    })?;
    // The last of several is for all of them together.
    let several = rows.len() > 1;
    let own: Vec<&ScriptRow> = rows.iter().filter(|row| !several || row.weight.is_some()).collect();
    let first = own.first().ok_or_else(|| place.refused(super::STRANGE, super::SEND_ALL))?;
    let scripts = own.iter().map(|row| script(row)).collect::<Result<Vec<_>, _>>();
    let scripts = scripts.map_err(|what| place.refused(&what, "print it again"))?;
    let mut found = FoundRun {
        run: of_scripts(&own, first, scripts),
        seconds: Vec::new().into(),
        source: place.source(),
        hashes: vec![hash],
        notes: Vec::new(),
        no_percentiles: None,
        pgbench: None,
        server: first.server_version.clone(),
        uuid: Some(first.run.clone()),
        round: None,
    };
    found.run.events = found::events(&found);
    Ok(found)
}

/// All scripts together: the common columns are the same in every row, here the first.
fn of_scripts(own: &[&ScriptRow], first: &ScriptRow, scripts: Vec<ScriptRecord>) -> Run {
    let mut counts = Counts::default();
    own.iter().for_each(|row| counts.add(&row.counts()));
    let completed = own.iter().map(|row| row.completed).sum();
    let throttled = first.rate_tps.is_some() || first.offered_tps.is_some();
    let workload = scripts.iter().map(|script| script.name.as_str()).collect::<Vec<_>>().join(", ");
    let key = RunKey { factors: factors(&workload, first, throttled), workload, arm: None, round: 1 };
    let setting = |value: &String| Setting {
        name: "server_version".into(),
        value: value.clone(),
        source: "pgdyno bench --format json".into(),
        is_initial: None,
    };
    let mut run = Run {
        load: if throttled { OfferedLoad::Rate } else { OfferedLoad::Closed },
        offered_rate: first.rate_tps,
        clients: first.clients,
        threads: first.threads,
        driver: format!("pgdyno {}", first.pgdyno),
        seed: first.seed.parse().unwrap_or(0),
        warmup_s: first.warmup_s,
        measured_s: first.measured_s.max(0.0),
        started_at: first.started_at.clone(),
        counts: with_completed(&counts, completed),
        figures: first.promise_ms.map(|ms| (figures::PROMISE_MS, ms)).into_iter().collect(),
        settings: first.server_version.iter().map(setting).collect(),
        scripts,
        ..Run::new(RunKind::Client, key)
    };
    believe(&mut run, &counts, first);
    run
}

/// As for every imported run, plus the remarks from its measurement.
fn believe(run: &mut Run, counts: &Counts, row: &ScriptRow) {
    (run.validity, run.doubts) = judge(counts, Arrivals::of(run), 0, false, &run.driver);
    if row.validity == "invalid" {
        run.validity = Validity::Invalid;
    }
    let why = if row.doubts.is_empty() { String::new() } else { format!(": {}", row.doubts) };
    if let Some(imported) = run.doubts.first_mut() {
        imported.detail = format!("measured by {} elsewhere; {} there{why}", run.driver, row.validity);
    }
}

fn script(row: &ScriptRow) -> Result<ScriptRecord, String> {
    let read = |name: &str, text: &Option<String>| {
        let histogram = text.as_deref().map(Histogram::from_text).transpose();
        histogram.map_err(|error| format!("{name}: {error}"))
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

fn with_completed(counts: &Counts, completed: u64) -> Counters {
    let mut counters = counts.stored();
    counters.set(figures::COMPLETED, completed);
    counters
}

fn factors(workload: &str, row: &ScriptRow, throttled: bool) -> BTreeMap<String, String> {
    let unknown = throttled.then(|| "not known".to_owned());
    let all = [
        ("workload", Some(workload.to_owned())),
        ("clients", Some(row.clients.to_string())),
        ("scale", row.scale.map(|scale| scale.to_string())),
        ("protocol", Some(row.protocol.clone())),
        ("rate", row.rate_tps.map(|rate| rate.to_string()).or(unknown)),
    ];
    all.into_iter().filter_map(|(name, level)| Some((name.to_owned(), level?))).collect()
}

impl ScriptRow {
    fn counts(&self) -> Counts {
        Counts {
            due: self.due,
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
