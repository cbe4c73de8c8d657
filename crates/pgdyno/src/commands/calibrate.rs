//! `pgdyno calibrate`: what this host can do as a load generator.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use lab::calibrate::{self, Calibrated, Lateness, Limit, Options, Row};
use results::{Table, Validity, Value};

use super::bench::fresh_seed;
use super::{print, results_path, signals};
use crate::cli;
use crate::exit::{Outcome, SAME_OR_BETTER};
use crate::print::{data, talk, warning};
use crate::progress::Screen;

pub(crate) fn run(args: &cli::Calibrate) -> Outcome {
    let mut clients = args.clients.clone();
    clients.sort_unstable();
    clients.dedup();
    let options = Options {
        driver: args.driver.into(),
        time: Duration::from_secs(args.seconds.into()),
        clients,
        pg_bin: args.pg_bin.clone(),
        results: results_path(&args.results),
        seed: fresh_seed(),
    };
    let stop = signals::listen()?;
    let mut screen = Screen::new(args.talk.verbose);
    let done = calibrate::run(&options, &mut screen, &stop)?;
    drop(screen);
    done.remarks.iter().for_each(|remark| warning(remark));
    match args.format.format {
        cli::Format::Text => {
            print(&narrow(&table(&done)), cli::Format::Text)?;
            data(&words(&done))?;
        }
        format => print(&table(&done), format)?,
    }
    talk(&format!("results: {} (try: pgdyno table runs -e {})", options.results.display(), done.stored.0));
    Ok(SAME_OR_BETTER)
}

/// A row for each kind of operation and number of clients, one for the start lag, one for the highest clean rate.
fn table(done: &Calibrated) -> Table {
    let mut table = Table::new(&[
        "what",
        "clients",
        "driver",
        "cpu_us",
        "per_s",
        "busy_pct",
        "at_rate",
        "wakeup_p50_us",
        "wakeup_p99_us",
        "lag_p50_us",
        "lag_p99_us",
        "verdict",
    ]);
    for row in done.rows.iter().chain([&done.start_lag]) {
        table.push(line(row));
    }
    table.push(limit(&done.limit));
    table
}

fn line(row: &Row) -> Vec<Value> {
    let p50 = |lateness: Option<Lateness>| Value::from(lateness.map(|lateness| lateness.p50_us));
    let p99 = |lateness: Option<Lateness>| Value::from(lateness.map(|lateness| lateness.p99_us));
    vec![
        row.what.into(),
        row.clients.into(),
        row.driver.clone().into(),
        row.cpu_us.into(),
        row.per_second.into(),
        row.busy_pct.into(),
        row.rate.into(),
        p50(row.wakeup),
        p99(row.wakeup),
        p50(row.start_lag),
        p99(row.start_lag),
        verdict(row.validity, row.doubts.iter().map(|doubt| doubt.reason.text())).into(),
    ]
}

/// What fits a terminal: verdicts without their reasons, which are told below.
fn narrow(table: &Table) -> Table {
    let left_out = ["driver", "busy_pct", "at_rate", "lag_p50_us"];
    let kept: Vec<usize> = (0..table.columns.len())
        .filter(|&column| !left_out.contains(&table.columns[column].as_str()))
        .collect();
    let cell = |value: &Value| match value {
        Value::Text(text) => Value::from(text.split(':').next().unwrap_or_default()),
        other => other.clone(),
    };
    Table {
        columns: kept.iter().map(|&column| table.columns[column].clone()).collect(),
        rows: table.rows.iter().map(|row| kept.iter().map(|&column| cell(&row[column])).collect()).collect(),
    }
}

/// `suspect: schedule late, client saturated`.
fn verdict(validity: Validity, reasons: impl Iterator<Item = &'static str>) -> String {
    let word = match validity {
        Validity::Valid => return "valid".to_owned(),
        Validity::Suspect => "suspect",
        Validity::Invalid => "invalid",
    };
    let mut reasons: Vec<_> = reasons.collect();
    reasons.dedup();
    format!("{word}: {}", reasons.join(", "))
}

fn limit(limit: &Limit) -> Vec<Value> {
    let figure = |name: &str| Value::from(limit.best.as_ref().and_then(|run| run.figures.get(name).copied()));
    vec![
        "highest clean rate".into(),
        limit.best.as_ref().map(|run| run.clients).into(),
        limit.best.as_ref().map_or(Value::Null, |run| run.driver.clone().into()),
        figure("client_cpu_us_per_tx"),
        limit.best.as_ref().and_then(results::Run::tps).into(),
        figure("client_busiest_thread_pct"),
        limit.rate.into(),
        figure("timer_lateness_p50_us"),
        figure("timer_lateness_p99_us"),
        figure("start_lag_p50_us"),
        figure("start_lag_p99_us"),
        limit.best.as_ref().map_or_else(|| "none found".to_owned(), |_| "valid".to_owned()).into(),
    ]
}

/// What a table cannot say.
fn words(done: &Calibrated) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for doubt in done.rows.iter().chain([&done.start_lag]).flat_map(|row| &row.doubts) {
        *counts.entry(doubt.reason.text()).or_default() += 1;
    }
    let mut out = String::from("\n");
    if !counts.is_empty() {
        let listed: Vec<_> = counts.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let _ = writeln!(out, "Suspect: {} (docs/run-verdicts.md).", listed.join(", "));
    }
    out + &sentences(&done.limit)
}

/// The limit in sentences.
fn sentences(limit: &Limit) -> String {
    let mut out = match limit.rate {
        Some(rate) => format!("Highest clean rate of this host, one thread: {rate}/s.\n"),
        None => "No rate was clean on this host as it is now.\n".to_owned(),
    };
    if let Some(next) = limit.next {
        let _ = writeln!(out, "At {next}/s: {}.", limit.why);
    }
    let _ = writeln!(out, "Limited by: {}.", limit.limited_by);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_in_sentences() {
        let limit = Limit {
            rate: Some(81_200.0),
            best: None,
            next: Some(84_000.0),
            why: "schedule late: 1 % of …".into(),
            limited_by: "the 2 CPUs".into(),
        };
        let wanted = "Highest clean rate of this host, one thread: 81200/s.\nAt 84000/s: schedule late: 1 % of ….\n\
                      Limited by: the 2 CPUs.\n";
        assert_eq!(sentences(&limit), wanted);
        let none = Limit { rate: None, next: None, ..limit };
        assert!(sentences(&none).starts_with("No rate was clean"));
    }

    #[test]
    fn verdicts_name_each_reason_once() {
        let reasons = ["schedule late", "schedule late", "CPU steal"];
        assert_eq!(verdict(Validity::Suspect, reasons.into_iter()), "suspect: schedule late, CPU steal");
        assert_eq!(verdict(Validity::Valid, [].into_iter()), "valid");
    }
}
