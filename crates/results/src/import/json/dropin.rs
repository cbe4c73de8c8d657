//! `pgdyno pgbench --format json` (docs/reference/pgbench.md): the facts of a report of pgbench, under other
//! names.

use serde_json::{Map, Value};
use spec::{Error, figures};

use super::{LineOrigin, SEND_ALL, STRANGE};
use crate::import::ImportOptions;
use crate::import::found::{self, FoundRun, Parts};
use crate::import::report::model::{ParsedReport, Printed, ReportScript};

const SCHEMA: &str = "pgdyno-pgbench/1";

pub(super) fn run(
    facts: &Map<String, Value>,
    place: &LineOrigin<'_>,
    hash: String,
) -> Result<FoundRun, Error> {
    match facts.get("schema").and_then(Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) if other.starts_with("pgdyno-pgbench/") => {
            return Err(place.refused("written by a newer pgdyno", "import it with that one"));
        }
        _ => return Err(place.refused(STRANGE, SEND_ALL)),
    }
    let value = Value::Object(facts.clone());
    let report = report(&value);
    let rate = value.pointer("/settings/rate_tps").and_then(Value::as_f64);
    let parts = Parts {
        report: Some(&report),
        report_place: Some(place.source()),
        changed_us: place.changed_us,
        log: None,
        files: &[],
        options: &ImportOptions { rate, ..ImportOptions::default() },
    };
    let mut found = found::run(parts);
    found.hashes = vec![hash];
    found.run.events = found::events(&found);
    Ok(found)
}

fn report(all: &Value) -> ParsedReport {
    let number = |at: &str| all.pointer(at).and_then(Value::as_f64);
    let count = |at: &str| all.pointer(at).and_then(Value::as_u64);
    let text = |at: &str| all.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let scripts = all.pointer("/scripts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let kind = match scripts {
        [only] => only.pointer("/name").and_then(Value::as_str).unwrap_or_default(),
        _ => "multiple scripts",
    };
    let stored = [
        (figures::MAX_TRIES, "/settings/max_tries", 1.0),
        (figures::LATENCY_LIMIT_MS, "/settings/latency_limit_ms", 1.0),
        (figures::LAG_MEAN_US, "/lag/average_ms", 1e3),
        (figures::LAG_MAX_US, "/lag/max_ms", 1e3),
        (figures::CONNECT_MS, "/connection_initial_ms", 1.0),
        (figures::RECONNECT_MEAN_MS, "/connection_average_ms", 1.0),
    ];
    ParsedReport {
        text: serde_json::to_string_pretty(all).unwrap_or_default(),
        pgbench: text("/pgdyno_version"),
        server: text("/server_version"),
        kind: kind.to_owned(),
        scale: count("/settings/scale"),
        protocol: text("/settings/query_mode"),
        partition_method: text("/settings/partition_method"),
        partitions: count("/settings/partitions").filter(|partitions| *partitions > 0),
        clients: count("/settings/clients"),
        threads: count("/settings/threads"),
        per_client: count("/settings/transactions_per_client"),
        duration_s: number("/settings/duration_s"),
        processed: count("/transactions/processed"),
        printed: printed(all),
        figures: stored.into_iter().filter_map(|(of, at, factor)| Some((of, number(at)? * factor))).collect(),
        late: count("/transactions/late"),
        tps: number("/tps"),
        scripts: if scripts.len() > 1 { scripts.iter().map(script).collect() } else { Vec::new() },
        seed: count("/settings/random_seed"),
        aborted: count("/aborted_clients").unwrap_or(0),
        incomplete: all.pointer("/complete") == Some(&Value::Bool(false)),
        ..ParsedReport::default()
    }
}

fn script(one: &Value) -> ReportScript {
    ReportScript {
        name: one.pointer("/name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        weight: one.pointer("/weight").and_then(Value::as_u64),
        total: one.pointer("/transactions/total").and_then(Value::as_u64),
        processed: one.pointer("/transactions/processed").and_then(Value::as_u64),
        printed: printed(one),
        statements: Vec::new(),
    }
}

fn printed(of: &Value) -> Printed {
    let count = |name: &str| of.pointer(&format!("/transactions/{name}")).and_then(Value::as_u64);
    let ms = |name: &str| of.pointer(&format!("/latency/{name}")).and_then(Value::as_f64);
    let counters = [
        (figures::FAILED, "failed"),
        (figures::SERIALIZATION_FAILURES, "failed_serialization"),
        (figures::DEADLOCK_FAILURES, "failed_deadlock"),
        (figures::OTHER_FAILURES, "failed_other"),
        (figures::RETRIED, "retried"),
        (figures::RETRIES, "retries"),
        (figures::SKIPPED, "skipped"),
    ];
    Printed {
        counts: counters.into_iter().filter_map(|(of, name)| Some((of, count(name)?))).collect(),
        latency_ms: ms("average_ms"),
        stddev_ms: ms("stddev_ms"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_report_of_the_drop_in_is_a_run_with_averages() {
        let text = r#"{"schema": "pgdyno-pgbench/1", "pgdyno_version": "18.0 (pgdyno 0.1.0)", "server_version": "17.2",
            "settings": {"clients": 8, "threads": 2, "query_mode": "simple", "scale": 10, "partitions": 0,
                "rate_tps": 100.0, "latency_limit_ms": 5.0, "duration_s": 10, "random_seed": 7},
            "complete": true, "aborted_clients": 0, "tps": 99.5,
            "transactions": {"total": 1000, "processed": 990, "late": 12, "failed": 4, "skipped": 6},
            "latency": {"average_ms": 1.5, "stddev_ms": 0.5}, "lag": {"average_ms": 0.1, "max_ms": 2.0},
            "scripts": [{"name": "<builtin: TPC-B (sort of)>", "weight": 1}]}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        let place = LineOrigin { path: Path::new("a.json"), line: 1, changed_us: 0, several: false };
        let found = run(value.as_object().expect("an object"), &place, "hash".into()).expect("a run");
        let run = found.run();
        assert_eq!((run.workload.as_str(), run.clients, run.offered_rate), ("tpcb-like", 8, Some(100.0)));
        assert_eq!(
            (run.counts[figures::OK], run.counts[figures::LATE], run.counts[figures::SKIPPED]),
            (978, 12, 6)
        );
        assert_eq!(run.tps().map(|tps| (tps * 10.0).round()), Some(995.0));
        assert_eq!(run.figures[figures::LATENCY_MEAN_US], 1500.0);
        assert!(found.no_percentiles.is_some());
    }
}
