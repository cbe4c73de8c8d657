//! Runs in the formats of other programs that compare benchmarks: Go's lines for benchstat, and the JSON of Bencher.

use std::collections::BTreeMap;
use std::fmt::Write;

use results::ReportData;
use results::comparison::Cell;
use serde::Serialize;
use spec::{Run, Validity};

/// Lines of Go's benchmarks, one for each run of the grid that is not invalid: `benchstat -col /arm` compares the arms.
///
/// An operation is a transaction, and its time is taken from the whole load, as in Go's parallel benchmarks: a second divided
/// by the throughput.
#[must_use]
pub fn benchstat(data: &ReportData) -> String {
    let mut out = String::from("Unit tps better=higher\n");
    for run in valid(data) {
        let Some(speed) = run.speed().filter(|speed| *speed > 0.0) else { continue };
        let _ = write!(out, "{} {} {} ns/op", name(run), run.completed().max(1), 1e9 / speed);
        if let Some(tps) = run.tps() {
            let _ = write!(out, " {tps} tps");
        }
        for (q, unit) in [(0.5, "p50-ns"), (0.99, "p99-ns")] {
            if let Some(us) = run.response_us(q) {
                let _ = write!(out, " {} {unit}", us * 1e3);
            }
        }
        if let Some(us) = run.server_cpu_us_per_tx() {
            let _ = write!(out, " {} server-cpu-ns/op", us * 1e3);
        }
        out.push('\n');
    }
    out
}

/// The name of a run's benchmark. It ends with the number of threads, which Go's names have there, too: benchstat would
/// take the end of a level for it.
fn name(run: &Run) -> String {
    let cell = Cell::of(run);
    let mut name = format!("BenchmarkPgdyno/workload={}", word(&cell.workload));
    for (factor, level) in &cell.factors {
        let _ = write!(name, "/{}={}", word(factor), word(&level.0));
    }
    if let Some(arm) = &run.arm {
        let _ = write!(name, "/arm={}", word(arm));
    }
    format!("{name}-{}", run.threads.max(1))
}

/// A part of a name has no blanks, slashes, or control characters.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() || c == '/' { '_' } else { c }).collect()
}

fn valid(data: &ReportData) -> impl Iterator<Item = &Run> {
    data.grid_runs().filter(|run| run.validity != Validity::Invalid && run.set_aside.is_none())
}

/// A measure of Bencher's JSON.
#[derive(Debug, Serialize)]
struct Measure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Bencher Metric Format, an object for each cell and arm that has a valid run: `throughput` per second with the lowest and
/// the highest run as its bounds, `latency` (the mean response time) and `p99-latency` in ns.
#[must_use]
pub fn bencher(data: &ReportData) -> String {
    let mut all: BTreeMap<String, BTreeMap<&str, Measure>> = BTreeMap::new();
    for figures in data.grid() {
        let own: Vec<f64> = valid(data)
            .filter(|run| run.arm == figures.arm && Cell::of(run) == figures.cell)
            .filter_map(Run::speed)
            .collect();
        if own.is_empty() {
            continue;
        }
        let name = match &figures.arm {
            Some(arm) => format!("{}, {arm}", figures.cell.text()),
            None => figures.cell.text(),
        };
        let throughput = Measure {
            value: own.iter().sum::<f64>() / own.len() as f64,
            lower_value: own.iter().copied().reduce(f64::min),
            upper_value: own.iter().copied().reduce(f64::max),
        };
        let measures = all.entry(name).or_default();
        measures.insert("throughput", throughput);
        let latencies = [("latency", figures.response.mean_ns), ("p99-latency", figures.response.ns(0.99))];
        for (measure, value) in latencies {
            if let Some(value) = value {
                measures.insert(measure, Measure { value, lower_value: None, upper_value: None });
            }
        }
    }
    serde_json::to_string_pretty(&all).expect("plain data") + "\n"
}

#[cfg(test)]
mod tests {
    use spec::figures;
    use stats::Histogram;

    use super::*;

    fn data() -> ReportData {
        let run = |arm: &str, round: u32, ok: u64, validity: Validity| {
            let factors = [("clients".to_owned(), "4".to_owned())].into();
            let key = spec::RunKey { workload: "a b/c".into(), factors, arm: Some(arm.into()), round };
            let mut times = Histogram::new();
            (0..ok).for_each(|_| times.record(2_000_000));
            let script = spec::ScriptRecord {
                name: "x".into(),
                text_hash: String::new(),
                weight: 1,
                part: None,
                counts: Default::default(),
                response: times.clone(),
                service: times,
            };
            Run {
                validity,
                measured_s: 1.0,
                threads: 2,
                scripts: vec![script],
                counts: [(figures::DUE, ok), (figures::OK, ok)].into(),
                ..Run::new(spec::RunKind::Client, key)
            }
        };
        let valid = Validity::Valid;
        let runs = vec![
            run("v-3", 1, 1000, valid),
            run("v-3", 2, 2000, valid),
            run("new", 1, 4000, valid),
            run("new", 2, 9000, Validity::Invalid),
        ];
        let arms = ["v-3", "new"]
            .map(|name| serde_json::json!({"name": name, "settings": {}, "unsafe_settings": []}));
        let experiment = serde_json::json!({
            "hash": "", "name": "", "question": "", "file_text": "", "seed": 1, "order_scheme": "pairs", "rounds": 2,
            "compare_factor": "version", "base": "v-3", "arms": arms, "margin": 0.03, "created_at": "",
        });
        let host = serde_json::json!({"uuid": "", "name": "", "cpu": "", "cores": 2, "memory_bytes": 0, "facts": {}});
        let target =
            serde_json::json!({"kind": "url", "dsn_redacted": "", "server_version": "", "versions": {}});
        let [experiment, host, target] = [experiment, host, target].map(|value| value.to_string());
        ReportData::new(
            serde_json::from_str(&experiment).unwrap(),
            serde_json::from_str(&host).unwrap(),
            serde_json::from_str(&target).unwrap(),
            runs,
        )
    }

    #[test]
    fn each_valid_run_is_a_line_for_benchstat() {
        let wanted = "Unit tps better=higher\n\
            BenchmarkPgdyno/workload=a_b_c/clients=4/arm=v-3-2 1000 1000000 ns/op 1000 tps 2000000 p50-ns 2000000 p99-ns\n\
            BenchmarkPgdyno/workload=a_b_c/clients=4/arm=v-3-2 2000 500000 ns/op 2000 tps 2000000 p50-ns 2000000 p99-ns\n\
            BenchmarkPgdyno/workload=a_b_c/clients=4/arm=new-2 4000 250000 ns/op 4000 tps 2000000 p50-ns 2000000 p99-ns\n";
        let mut found: Vec<String> = benchstat(&data()).lines().map(str::to_owned).collect();
        let mut wanted: Vec<&str> = wanted.lines().collect();
        found.sort();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
    }

    #[test]
    fn each_cell_and_arm_is_a_benchmark_for_bencher() {
        let found: serde_json::Value = serde_json::from_str(&bencher(&data())).unwrap();
        let throughput = |name: &str| found[name]["throughput"].clone();
        let bounds = |value: f64, lower: f64, upper: f64| serde_json::json!({"value": value, "lower_value": lower, "upper_value": upper});
        assert_eq!(throughput("a b/c, clients 4, v-3"), bounds(1500.0, 1000.0, 2000.0));
        assert_eq!(throughput("a b/c, clients 4, new"), bounds(4000.0, 4000.0, 4000.0));
        assert_eq!(found["a b/c, clients 4, new"]["latency"]["value"], 2e6);
    }
}
