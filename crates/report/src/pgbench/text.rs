//! The report as pgbench 18 prints it, plus requested percentiles.

use std::fmt::Write;

use stats::Histogram;

use super::{
    CommandReport, Percentile, Report, RequestedLength, ScriptReport, TransactionFigures, ms, percent, ratio,
};
use crate::visible;

/// The line above everything else: `version` is pgdyno's.
#[must_use]
pub fn banner(version: &str, server_version: &str) -> String {
    if version == server_version {
        format!("pgbench ({version})\n")
    } else {
        format!("pgbench ({version}, server {server_version})\n")
    }
}

/// The report, without the banner.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    let _ = write(report, &mut out);
    out
}

fn write(report: &Report, out: &mut String) -> std::fmt::Result {
    let totals = report.totals();
    write_settings(report, totals.processed, out)?;
    if totals.all() > 0 {
        write_failures(report, &totals, "", out)?;
    }
    if let Some(losses) = &report.losses {
        write!(out, "{losses}")?;
    }
    if totals.all() == 0 {
        return Ok(());
    }
    write_latency(report, &totals, out)?;
    write_speed(report, &totals, out)?;
    let several = report.scripts.len() > 1;
    for (index, script) in report.scripts.iter().enumerate() {
        if several {
            write_script(report, index, &totals, out)?;
        }
        if report.settings.per_command {
            write_commands(report, script, if several { " - " } else { "" }, out)?;
        }
    }
    Ok(())
}

fn write_settings(report: &Report, processed: u64, out: &mut String) -> std::fmt::Result {
    let settings = &report.settings;
    let kind = match report.scripts.as_slice() {
        [one] => visible::line(&one.name),
        _ => "multiple scripts".into(),
    };
    writeln!(out, "transaction type: {kind}")?;
    writeln!(out, "scaling factor: {}", settings.scale)?;
    if let Some(partitions) = &settings.partitions {
        writeln!(out, "partition method: {}\npartitions: {}", partitions.method, partitions.count)?;
    }
    writeln!(out, "query mode: {}", settings.mode)?;
    writeln!(out, "number of clients: {}", settings.clients)?;
    writeln!(out, "number of threads: {}", settings.threads)?;
    if settings.max_tries != 0 {
        writeln!(out, "maximum number of tries: {}", settings.max_tries)?;
    }
    match settings.length {
        RequestedLength::Transactions(each) => {
            let all = each.saturating_mul(u64::from(settings.clients));
            writeln!(out, "number of transactions per client: {each}")?;
            writeln!(out, "number of transactions actually processed: {processed}/{all}")
        }
        RequestedLength::Seconds(seconds) => {
            writeln!(out, "duration: {seconds} s")?;
            writeln!(out, "number of transactions actually processed: {processed}")
        }
    }
}

/// Failed, retried and skipped transactions, each line behind `start`.
fn write_failures(
    report: &Report,
    figures: &TransactionFigures,
    start: &str,
    out: &mut String,
) -> std::fmt::Result {
    let settings = &report.settings;
    let all = figures.all();
    let failures = &figures.failures;
    let mut line = |what: &str, count: u64| {
        writeln!(out, "{start}number of {what}: {count} ({:.3}%)", percent(count, all))
    };
    line("failed transactions", failures.all())?;
    if settings.failures_detailed {
        line("serialization failures", failures.serialization)?;
        line("deadlock failures", failures.deadlock)?;
        if settings.continue_on_error || report.losses.is_some() {
            line("other failures", failures.other)?;
        }
    }
    if settings.max_tries != 1 {
        line("transactions retried", figures.retried)?;
        writeln!(out, "{start}total number of retries: {}", figures.retries)?;
    }
    if settings.rate.is_some() && settings.latency_limit_us.is_some() {
        let skipped = figures.skipped;
        writeln!(out, "{start}number of transactions skipped: {skipped} ({:.3}%)", percent(skipped, all))?;
    }
    Ok(())
}

fn write_latency(report: &Report, totals: &TransactionFigures, out: &mut String) -> std::fmt::Result {
    let settings = &report.settings;
    if let Some(limit_us) = settings.latency_limit_us {
        writeln!(
            out,
            "number of transactions above the {:.1} ms latency limit: {}/{} ({:.3}%)",
            limit_us as f64 / 1e3,
            totals.late,
            totals.processed,
            percent(totals.late, totals.processed)
        )?;
    }
    if settings.rate.is_some() || settings.progress || settings.latency_limit_us.is_some() {
        write_measured("latency", &totals.latency, out)?;
    } else {
        // Not measured: derived from the run's length, as in pgbench.
        let elapsed_ms = ms(report.times.elapsed_ns as f64);
        let average = ratio(elapsed_ms * f64::from(settings.clients), totals.all() as f64);
        let note = if totals.failures.all() > 0 { " (including failures)" } else { "" };
        writeln!(out, "latency average = {average:.3} ms{note}")?;
    }
    write_percentiles("latency", &totals.latency, &report.percentiles, out)?;
    if settings.rate.is_some() {
        let average = quotient_ms(totals.lag.sum_ns as f64, totals.processed);
        let largest = ms(totals.lag.max_ns as f64);
        writeln!(out, "rate limit schedule lag: avg {average} (max {largest:.3}) ms")?;
    }
    Ok(())
}

fn write_measured(name: &str, latency: &Histogram, out: &mut String) -> std::fmt::Result {
    if let (Some(mean), Some(stddev)) = (latency.mean_ns(), latency.stddev_ns()) {
        writeln!(out, "{name} average = {:.3} ms", ms(mean))?;
        writeln!(out, "{name} stddev = {:.3} ms", ms(stddev))?;
    }
    Ok(())
}

fn write_percentiles(
    name: &str,
    latency: &Histogram,
    percentiles: &[Percentile],
    out: &mut String,
) -> std::fmt::Result {
    for percentile in percentiles {
        if let Some(ns) = percentile.of(latency) {
            writeln!(out, "{name} p{percentile} = {:.3} ms", ms(ns as f64))?;
        }
    }
    Ok(())
}

fn write_speed(report: &Report, totals: &TransactionFigures, out: &mut String) -> std::fmt::Result {
    let tps = report.per_second(totals.processed);
    if report.settings.reconnect {
        let connected = totals.processed + totals.failures.all();
        let average = quotient_ms(report.times.reconnecting_ns as f64, connected);
        writeln!(out, "average connection time = {average} ms")?;
        writeln!(out, "tps = {tps:.6} (including reconnection times)")
    } else {
        writeln!(out, "initial connection time = {:.3} ms", ms(report.times.connecting_ns as f64))?;
        writeln!(out, "tps = {tps:.6} (without initial connection time)")
    }
}

fn write_script(
    report: &Report,
    index: usize,
    totals: &TransactionFigures,
    out: &mut String,
) -> std::fmt::Result {
    let script = &report.scripts[index];
    let figures = &script.figures;
    let weights: u64 = report.scripts.iter().map(|script| script.weight).sum();
    writeln!(out, "SQL script {}: {}", index + 1, visible::line(&script.name))?;
    writeln!(out, " - weight: {} (targets {:.1}% of total)", script.weight, percent(script.weight, weights))?;
    writeln!(
        out,
        " - {} transactions ({:.1}% of total)",
        figures.all(),
        percent(figures.all(), totals.all())
    )?;
    if figures.all() > 0 {
        writeln!(
            out,
            " - number of transactions actually processed: {} (tps = {:.6})",
            figures.processed,
            report.per_second(figures.processed)
        )?;
        write_failures(report, figures, " - ", out)?;
    }
    write_measured(" - latency", &figures.latency, out)?;
    write_percentiles(" - latency", &figures.latency, &report.percentiles, out)
}

fn write_commands(report: &Report, script: &ScriptReport, start: &str, out: &mut String) -> std::fmt::Result {
    let retries = report.settings.max_tries != 1;
    let what = if retries { ", failures and retries" } else { " and failures" };
    writeln!(out, "{start}statement latencies in milliseconds{what}:")?;
    for CommandReport { first_line, latency, failures, retries: tried } in &script.commands {
        let average = ms(latency.mean_ns().unwrap_or(0.0));
        if retries {
            writeln!(out, "   {average:11.3}  {failures:10} {tried:10} {first_line}")?;
        } else {
            writeln!(out, "   {average:11.3}  {failures:10} {first_line}")?;
        }
    }
    write_command_percentiles(report, script, start, out)
}

/// In a separate block, so that the one before stays as pgbench prints it: a column for each percentile.
fn write_command_percentiles(
    report: &Report,
    script: &ScriptReport,
    start: &str,
    out: &mut String,
) -> std::fmt::Result {
    if report.percentiles.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = report.percentiles.iter().map(|percentile| format!("p{percentile}")).collect();
    writeln!(out, "{start}statement latency percentiles in milliseconds ({}):", names.join(", "))?;
    for command in &script.commands {
        out.push_str("  ");
        for percentile in &report.percentiles {
            let value = ms(percentile.of(&command.latency).unwrap_or(0) as f64);
            write!(out, " {value:11.3}")?;
        }
        writeln!(out, " {}", command.first_line)?;
    }
    Ok(())
}

/// A quotient of ns in ms, with pgbench's text if nothing was processed.
fn quotient_ms(sum_ns: f64, count: u64) -> String {
    match ms(sum_ns / count as f64) {
        average if average.is_nan() => "NaN".to_owned(),
        average if average.is_infinite() => "Infinity".to_owned(),
        average => format!("{average:.3}"),
    }
}
