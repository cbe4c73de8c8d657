//! BenchBase: the last line of its output, and its `summary.json`.

use serde_json::Value;
use spec::figures;

use super::{Number, ToolReader, after};

#[derive(Debug, Default)]
pub(super) struct BenchBase {
    /// A summary so far, and how deep its braces are.
    json: String,
    depth: i32,
    benchmark: Option<String>,
    terminals: Option<u32>,
    scale: Option<String>,
}

impl ToolReader for BenchBase {
    fn line(&mut self, line: &str) -> (Option<Number>, bool) {
        if self.depth > 0 || line.trim_start().starts_with('{') {
            return (self.json(line), true);
        }
        let value = |name: &str| {
            let (_, rest) = line.split_once(name)?;
            Some(rest.trim_matches([':', ' ', '=']).split_whitespace().next()?.to_lowercase())
        };
        self.benchmark = value("Benchmark:").or(self.benchmark.take());
        self.scale = value("Scale Factor:").or(self.scale.take());
        self.terminals = value("Terminals:").and_then(|n| n.parse().ok()).or(self.terminals);
        let own = line.starts_with("[INFO") || line.contains("com.oltpbenchmark");
        // Before 2022 there was no goodput.
        let results = line.split_once(" requests/sec (throughput)").or_else(|| {
            line.split_once(" requests/sec").filter(|(before, _)| before.contains("measuredRequests="))
        });
        let Some((before, rest)) = results else { return (None, own) };
        let tps = before.rsplit(' ').next().and_then(|tps| tps.parse::<f64>().ok()).filter(|tps| *tps > 0.0);
        let result = tps.map(|tps| {
            let mut result = Number {
                done: after(before, "measuredRequests=").map(|count| count as u64),
                length_s: after(before, "nanoSeconds=").map(|ns| ns / 1e9),
                ..self.result(tps, line)
            };
            let goodput = rest.trim_start_matches([',', ' ']).split(' ').next();
            let goodput = goodput.and_then(|text| text.parse::<f64>().ok());
            goodput.into_iter().for_each(|value| result.figures.set_named("goodput_per_s".to_owned(), value));
            result
        });
        (result, true)
    }

    fn end(&mut self) -> Option<Number> {
        None
    }
}

impl BenchBase {
    fn result(&self, tps: f64, text: &str) -> Number {
        Number {
            workload: self.benchmark.clone().unwrap_or_else(|| "benchbase".to_owned()),
            tps,
            clients: self.terminals,
            scale: self.scale.clone(),
            text: format!("{text}\n"),
            ..Number::default()
        }
    }

    /// Takes a line of a summary; the result when it is complete.
    fn json(&mut self, line: &str) -> Option<Number> {
        // Names and values of a summary have no braces.
        for letter in line.chars() {
            self.depth += i32::from(letter == '{') - i32::from(letter == '}');
        }
        self.json.push_str(line);
        self.json.push('\n');
        if self.depth > 0 && self.json.len() < LONGEST {
            return None;
        }
        self.depth = 0;
        let text = std::mem::take(&mut self.json);
        let value: Value = serde_json::from_str(&text).ok()?;
        summary(&value, text)
    }
}

/// Bytes of a summary; a real one has 2,000.
const LONGEST: usize = 256 * 1024;

fn summary(value: &Value, text: String) -> Option<Number> {
    let real = |name: &str| value.get(name).and_then(Value::as_f64);
    let words = |name: &str| match value.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let tps = real("Throughput (requests/second)").filter(|tps| *tps > 0.0)?;
    let mut result = Number {
        workload: words("Benchmark Type").unwrap_or_else(|| "benchbase".to_owned()).to_lowercase(),
        tps,
        done: real("Measured Requests").map(|count| count as u64),
        length_s: real("Elapsed Time (nanoseconds)").map(|ns| ns / 1e9),
        clients: words("terminals").and_then(|number| number.parse().ok()),
        scale: words("scalefactor"),
        server: words("DBMS Version"),
        text,
        ..Number::default()
    };
    let latency =
        |name: &str| value.pointer(&format!("/Latency Distribution/{name} Latency (microseconds)"))?.as_f64();
    let known = [
        (figures::LATENCY_MIN_US, latency("Minimum")),
        (figures::LATENCY_MEAN_US, latency("Average")),
        (figures::LATENCY_MAX_US, latency("Maximum")),
    ];
    result.figures.extend(known.into_iter().filter_map(|(of, value)| Some((of, value?))));
    let named = [
        ("latency_p50_us", latency("Median")),
        ("latency_p95_us", latency("95th Percentile")),
        ("latency_p99_us", latency("99th Percentile")),
        ("goodput_per_s", real("Goodput (requests/second)")),
    ];
    for (name, value) in named {
        value.into_iter().for_each(|value| result.figures.set_named(name.to_owned(), value));
    }
    Some(result)
}
