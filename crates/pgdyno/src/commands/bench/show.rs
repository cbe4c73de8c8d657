//! What a run of `pgdyno bench` prints: pgbench's lines, and the distribution that pgbench lacks.

use std::fmt::Write;

use engine::{Counts, Until};
use lab::bench::{Benched, Options};
use results::{Run, Table, Value};
use stats::Histogram;

use crate::commands::pgbench::losses;

const QUANTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")];

/// The report for people.
pub(super) fn text(options: &Options, done: &Benched) -> String {
    let mut out = String::new();
    let seconds = done.run.measured_s;
    head(&mut out, options, done);
    let totals = done.measured.totals();
    counts(&mut out, "", &totals, options);
    if options.workload.reconnect_lost {
        let _ = write!(out, "{}", losses(&done.measured));
    }
    distribution(&mut out, "", &done.run.response());
    if options.rate.is_some() {
        let lag = &done.measured.own.start_lag;
        if let (Some(mean), Some(most)) = (lag.mean_ns(), lag.max_ns()) {
            let _ = writeln!(
                out,
                "rate limit schedule lag: avg {:.3} (max {:.3}) ms",
                mean / 1e6,
                most as f64 / 1e6
            );
        }
    }
    let _ = writeln!(out, "initial connection time = {:.3} ms", done.measured.connecting as f64 / 1e6);
    if totals.processed() > 0 {
        let own = &done.measured.own;
        let cpu = (own.user_ns + own.system_ns) as f64 / 1e3 / totals.processed() as f64;
        let _ = writeln!(out, "client CPU per transaction = {cpu:.2} µs ({})", done.measured.driver);
    }
    let tps = done.run.tps().unwrap_or_default();
    let _ = writeln!(out, "tps = {tps:.6} (without initial connection time)");
    if done.scripts.len() > 1 {
        scripts(&mut out, options, done, seconds);
    }
    statements(&mut out, done);
    out
}

fn head(out: &mut String, options: &Options, done: &Benched) {
    let kind = match &done.scripts[..] {
        [only] => only.name.clone(),
        _ => "multiple scripts".to_owned(),
    };
    let _ = writeln!(out, "transaction type: {kind}");
    let _ = writeln!(out, "scaling factor: {}", done.scale);
    let _ = writeln!(out, "query mode: {}", options.workload.mode.name());
    let _ = writeln!(out, "number of clients: {}", options.clients);
    let _ = writeln!(out, "number of threads: {}", done.run.threads);
    let _ = match options.until {
        Until::Elapsed(ns) => writeln!(out, "duration: {} s", ns / 1_000_000_000),
        Until::PerClient(count) => writeln!(out, "number of transactions per client: {count}"),
    };
    let _ = writeln!(out, "random seed: {}", options.seed);
}

fn counts(out: &mut String, prefix: &str, counts: &Counts, options: &Options) {
    let all = counts.processed() + counts.failed + counts.skipped;
    let share = |part: u64| if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 };
    let _ = writeln!(out, "{prefix}number of transactions actually processed: {}", counts.processed());
    let _ = writeln!(
        out,
        "{prefix}number of failed transactions: {} ({:.3}%)",
        counts.failed,
        share(counts.failed)
    );
    if options.workload.max_tries != 1 {
        let _ = writeln!(
            out,
            "{prefix}number of transactions retried: {} ({:.3}%)",
            counts.retried,
            share(counts.retried)
        );
        let _ = writeln!(out, "{prefix}total number of retries: {}", counts.retries);
    }
    if options.rate.is_some() && options.limit.is_some() {
        let _ = writeln!(
            out,
            "{prefix}number of transactions skipped: {} ({:.3}%)",
            counts.skipped,
            share(counts.skipped)
        );
    }
    if let Some(limit) = options.limit {
        let late = 100.0 * counts.late as f64 / counts.processed().max(1) as f64;
        let _ = writeln!(
            out,
            "{prefix}number of transactions above the {:.1} ms latency limit: {}/{} ({late:.3}%)",
            limit.as_secs_f64() * 1e3,
            counts.late,
            counts.processed()
        );
    }
    let _ = writeln!(
        out,
        "{prefix}number of rows returned: {} ({} bytes), changed: {}",
        counts.rows, counts.bytes, counts.affected
    );
    if counts.unfinished > 0 {
        let _ = writeln!(out, "{prefix}number of transactions unfinished at the end: {}", counts.unfinished);
    }
}

fn distribution(out: &mut String, prefix: &str, latency: &Histogram) {
    let (Some(mean), Some(stddev), Some(most)) = (latency.mean_ns(), latency.stddev_ns(), latency.max_ns())
    else {
        return;
    };
    let _ = writeln!(out, "{prefix}latency average = {:.3} ms", mean / 1e6);
    let _ = writeln!(out, "{prefix}latency stddev = {:.3} ms", stddev / 1e6);
    let mut parts: Vec<String> = QUANTILES
        .iter()
        .filter_map(|(q, name)| Some(format!("{name} {:.3}", latency.quantile_ns(*q)? as f64 / 1e6)))
        .collect();
    parts.push(format!("max {:.3}", most as f64 / 1e6));
    let _ = writeln!(out, "{prefix}latency percentiles = {} ms", parts.join(", "));
}

fn scripts(out: &mut String, options: &Options, done: &Benched, seconds: f64) {
    let weights: u64 = done.scripts.iter().map(|script| u64::from(script.weight)).sum();
    for (index, (script, figures)) in done.scripts.iter().zip(&done.measured.scripts).enumerate() {
        let share = 100.0 * f64::from(script.weight) / weights.max(1) as f64;
        let _ = writeln!(out, "SQL script {}: {}", index + 1, script.name);
        let _ = writeln!(out, " - weight: {} (targets {share:.1}% of total)", script.weight);
        let tps = figures.counts.processed() as f64 / seconds.max(f64::MIN_POSITIVE);
        let _ = writeln!(out, " - tps = {tps:.6}");
        counts(out, " - ", &figures.counts, options);
        distribution(out, " - ", &figures.response);
    }
}

fn statements(out: &mut String, done: &Benched) {
    if done.statements.is_empty() {
        return;
    }
    let _ = writeln!(out, "statement latencies in milliseconds (average, p95, p99) and failures:");
    let mut script = usize::MAX;
    for (statement, figures) in done.statements.iter().zip(&done.measured.statements) {
        if statement.script != script && done.scripts.len() > 1 {
            let _ = writeln!(out, " {}:", done.scripts[statement.script].name);
        }
        script = statement.script;
        let ms = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", ns / 1e6));
        let latency = &figures.latency;
        let quantile = |q| ms(latency.quantile_ns(q).map(|ns| ns as f64));
        let _ = writeln!(
            out,
            "{:>12} {:>10} {:>10} {:>8}  {}",
            ms(latency.mean_ns()),
            quantile(0.95),
            quantile(0.99),
            figures.failures,
            statement.text
        );
    }
}

/// The same for programs: a row per script, and one for all of them.
pub(super) fn table(done: &Benched) -> Table {
    let mut table = Table::new(&[
        "script",
        "weight",
        "tps",
        "due",
        "ok",
        "late",
        "failed",
        "skipped",
        "unfinished",
        "mean_us",
        "p50_us",
        "p95_us",
        "p99_us",
        "p999_us",
        "max_us",
        "rows",
        "bytes",
        "affected",
        "seed",
        "validity",
    ]);
    for (script, figures) in done.scripts.iter().zip(&done.measured.scripts) {
        let weight = script.weight.into();
        table.push(row(script.name.clone().into(), weight, &figures.counts, &figures.response, done));
    }
    if done.scripts.len() != 1 {
        table.push(row("all".into(), Value::Null, &done.measured.totals(), &done.run.response(), done));
    }
    table
}

fn row(name: Value, weight: Value, counts: &Counts, latency: &Histogram, done: &Benched) -> Vec<Value> {
    let us = |ns: Option<f64>| Value::from(ns.map(|ns| ns / 1e3));
    let quantile = |q| us(latency.quantile_ns(q).map(|ns| ns as f64));
    let validity = format!("{:?}", done.run.validity).to_lowercase();
    vec![
        name,
        weight,
        (counts.processed() as f64 / done.run.measured_s.max(f64::MIN_POSITIVE)).into(),
        counts.due.into(),
        counts.ok.into(),
        counts.late.into(),
        counts.failed.into(),
        counts.skipped.into(),
        counts.unfinished.into(),
        us(latency.mean_ns()),
        quantile(0.5),
        quantile(0.95),
        quantile(0.99),
        quantile(0.999),
        us(latency.max_ns().map(|ns| ns as f64)),
        counts.rows.into(),
        counts.bytes.into(),
        counts.affected.into(),
        done.run.seed.to_string().into(),
        validity.into(),
    ]
}

/// Phases of a job, in milliseconds.
pub(crate) fn phases(run: &Run) -> Table {
    let mut table = Table::new(&["phase", "item", "ms", "count"]);
    for phase in &run.phases {
        let ms = phase.duration_us as f64 / 1e3;
        table.push(vec![phase.name.clone().into(), phase.item.clone().into(), ms.into(), phase.count.into()]);
    }
    let whole = vec!["all".into(), "".into(), (run.measured_s * 1e3).into(), Value::Null];
    table.push(whole);
    table
}
