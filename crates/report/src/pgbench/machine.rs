//! The report for programs; docs/reference/pgbench.md describes every fact.

use stats::Histogram;

use super::facts::{self, FieldValue, SCHEMA, part};
use super::{
    CommandReport, Percentile, Report, RequestedLength, ScriptReport, Settings, TransactionFigures, losses,
    ms, percent,
};

/// The report as one JSON object.
#[must_use]
pub fn json(report: &Report) -> String {
    facts::json(&all(report))
}

/// The report as lines `name=value`, a fact a line.
#[must_use]
pub fn lines(report: &Report) -> String {
    facts::lines(&all(report))
}

fn all(report: &Report) -> FieldValue {
    let totals = report.totals();
    let reconnect = report.settings.reconnect;
    let connected = totals.processed + totals.failures.all();
    let connection_ms = average_ms(report.times.reconnecting_ns as f64, connected);
    part([
        ("schema", SCHEMA.into()),
        ("pgdyno_version", report.version.as_str().into()),
        ("server_version", report.server_version.as_str().into()),
        ("settings", settings(&report.settings, report.losses.is_some())),
        ("complete", (report.aborted_clients == 0 && !report.interrupted).into()),
        ("aborted_clients", report.aborted_clients.into()),
        ("interrupted", report.interrupted.into()),
        ("elapsed_s", (report.times.elapsed_ns as f64 / 1e9).into()),
        ("connection_initial_ms", (!reconnect).then(|| ms(report.times.connecting_ns as f64)).into()),
        ("connection_average_ms", connection_ms.filter(|_| reconnect).into()),
        ("connections_lost", report.losses.as_ref().map(|losses| losses.connections).into()),
        ("outages", report.losses.as_ref().map_or(FieldValue::List(Vec::new()), losses::facts)),
        ("tps", report.per_second(totals.processed).into()),
        ("transactions", transactions(&totals)),
        ("latency", latency(&totals.latency, &report.percentiles)),
        ("lag", lag(&totals, report.settings.rate.is_some())),
        (
            "scripts",
            FieldValue::List((0..report.scripts.len()).map(|index| script(report, index, &totals)).collect()),
        ),
    ])
}

fn settings(settings: &Settings, reconnect_lost: bool) -> FieldValue {
    let (transactions, seconds) = match settings.length {
        RequestedLength::Transactions(each) => (Some(each), None),
        RequestedLength::Seconds(seconds) => (None, Some(seconds)),
    };
    let partitions = settings.partitions.as_ref();
    part([
        ("clients", settings.clients.into()),
        ("threads", settings.threads.into()),
        ("query_mode", settings.mode.as_str().into()),
        ("scale", settings.scale.into()),
        ("partition_method", partitions.map(|partitions| partitions.method.as_str()).into()),
        ("partitions", partitions.map_or(0, |partitions| partitions.count).into()),
        ("transactions_per_client", transactions.into()),
        ("duration_s", seconds.into()),
        ("warmup_s", settings.warmup_s.into()),
        ("rate_tps", settings.rate.into()),
        ("latency_limit_ms", settings.latency_limit_us.map(|limit_us| limit_us as f64 / 1e3).into()),
        ("max_tries", settings.max_tries.into()),
        ("reconnect", settings.reconnect.into()),
        ("continue_on_error", settings.continue_on_error.into()),
        ("reconnect_lost", reconnect_lost.into()),
        ("random_seed", settings.random_seed.into()),
    ])
}

fn transactions(figures: &TransactionFigures) -> FieldValue {
    part([
        ("total", figures.all().into()),
        ("processed", figures.processed.into()),
        ("late", figures.late.into()),
        ("failed", figures.failures.all().into()),
        ("failed_serialization", figures.failures.serialization.into()),
        ("failed_deadlock", figures.failures.deadlock.into()),
        ("failed_other", figures.failures.other.into()),
        ("skipped", figures.skipped.into()),
        ("retried", figures.retried.into()),
        ("retries", figures.retries.into()),
    ])
}

fn latency(values: &Histogram, percentiles: &[Percentile]) -> FieldValue {
    let whole = |ns: Option<u64>| FieldValue::from(ns.map(|ns| ms(ns as f64)));
    let mut facts = vec![
        ("average_ms".to_owned(), values.mean_ns().map(ms).into()),
        ("stddev_ms".to_owned(), values.stddev_ns().map(ms).into()),
        ("min_ms".to_owned(), whole(values.min_ns())),
        ("max_ms".to_owned(), whole(values.max_ns())),
    ];
    for percentile in percentiles {
        facts.push((format!("{}_ms", percentile.key()), whole(percentile.of(values))));
    }
    FieldValue::Part(facts)
}

fn lag(figures: &TransactionFigures, measured: bool) -> FieldValue {
    let average = measured.then(|| average_ms(figures.lag.sum_ns as f64, figures.processed)).flatten();
    let largest = (measured && figures.processed > 0).then(|| ms(figures.lag.max_ns as f64));
    part([("average_ms", average.into()), ("max_ms", largest.into())])
}

fn average_ms(sum_ns: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| ms(sum_ns / count as f64))
}

fn script(report: &Report, index: usize, totals: &TransactionFigures) -> FieldValue {
    let ScriptReport { name, weight, figures, commands } = &report.scripts[index];
    let mut facts = vec![
        ("name", name.as_str().into()),
        ("weight", (*weight).into()),
        ("share_pct", percent(figures.all(), totals.all()).into()),
        ("tps", report.per_second(figures.processed).into()),
        ("transactions", transactions(figures)),
        ("latency", latency(&figures.latency, &report.percentiles)),
    ];
    if report.settings.per_command {
        let commands = commands.iter().map(|one| command(one, &report.percentiles));
        facts.push(("commands", FieldValue::List(commands.collect())));
    }
    part(facts)
}

fn command(command: &CommandReport, percentiles: &[Percentile]) -> FieldValue {
    part([
        ("text", command.first_line.as_str().into()),
        ("completed", command.latency.count().into()),
        ("failures", command.failures.into()),
        ("retries", command.retries.into()),
        ("latency", latency(&command.latency, percentiles)),
    ])
}
