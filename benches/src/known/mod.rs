//! Are limits found where they are? Searches against servers of known capacity: so many connections, each busy for a time that
//! is drawn from a known distribution, behind which arrivals queue up. The same with a tenth of the time bad, and slowed down
//! for a while.

mod queue;
mod speed;

use std::path::Path;

use anyhow::{Context, anyhow};
use serde_json::Value;

use self::queue::{Queue, Service};
use self::speed::{Disturbance, Speed};
use crate::slices::program::Program;
use crate::{Args, What, page, quiet};

/// Connections of the server, and clients of the search: enough that a short trial has thousands of arrivals. With few, how
/// many of them happened to take long varies by more than what a search looks for.
const CLIENTS: usize = 16;
/// Mean time that a transaction keeps a connection busy, seconds.
const MEAN_S: f64 = 0.01;
/// How far from the true limit a search may end, as a share.
const MAY_BE_OFF: f64 = 0.05;
/// Length of a trial with all around it, seconds, beyond its measured part.
const AROUND_S: f64 = 1.0;

/// What a search ended with.
struct Found {
    lower: f64,
    upper: f64,
    trials: u64,
    state: String,
}

/// A table of all servers and disturbances.
pub(crate) fn limits(options: &Args) -> anyhow::Result<()> {
    println!("{}", page::title(options, What::Limit, "Limits of servers of known capacity", ""));
    let searches = options.pairs(What::Limit);
    println!("| service time | disturbed | true limit | within 5 % | found, over the true one | trials |");
    println!("| --- | --- | ---: | ---: | --- | ---: |");
    for service in Service::ALL {
        for disturbance in Disturbance::ALL {
            quiet::wait(options.patience());
            let row = row(options, service, disturbance, searches)?;
            println!("{row}");
        }
    }
    Ok(())
}

fn row(options: &Args, service: Service, disturbance: Disturbance, searches: u32) -> anyhow::Result<String> {
    let program = Program::start_plain(options)?;
    let speed = Speed::new(program.folder())?;
    std::fs::write(program.folder().join("known.sql"), speed.script(&service.sql(MEAN_S)))?;
    std::fs::write(program.folder().join("sleep.sql"), speed.script(&Service::Fixed.sql(MEAN_S)))?;
    let queue = Queue {
        service,
        connections: CLIENTS,
        mean_s: MEAN_S,
        overhead_s: overhead_s(&program)?,
        within_s: service.within_s(),
        skips: true,
        whole_ms: true,
    };
    let truth = queue.limit();
    let (mut ratios, mut trials) = (Vec::new(), Vec::new());
    for number in 0..searches {
        let _disturbed = speed.disturb(disturbance, f64::from(options.seconds) + AROUND_S, number.into());
        let found = search(&program, options, &program.folder().join("known.sql"), service)?;
        if found.state != "found" {
            ratios.push(f64::NAN);
            continue;
        }
        ratios.push((found.lower * found.upper).sqrt() / truth);
        trials.push(found.trials);
    }
    trials.sort_unstable();
    let within = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= MAY_BE_OFF).count();
    let each: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.3}")).collect();
    Ok(format!(
        "| {} | {} | {truth:.0}/s | {within} of {searches} | {} | {} |",
        service.name(),
        disturbance.name(),
        each.join(", "),
        trials.get(trials.len() / 2).copied().unwrap_or_default(),
    ))
}

/// What a server takes beyond the time that it is told to sleep, seconds: with all connections busy, one sleep after the
/// other.
fn overhead_s(program: &Program<'_>) -> anyhow::Result<f64> {
    let script = program.folder().join("sleep.sql").display().to_string();
    let clients = format!("1,{CLIENTS}");
    let words = [
        "ladder",
        "--managed",
        "-n",
        "-f",
        &script,
        "-c",
        &clients,
        "-T",
        "4",
        "--warmup",
        "0.5",
        "--rounds",
        "1",
        "--again",
        "--format",
        "json",
    ];
    let ran = program.run(&words, 0..=0)?;
    let rows: Vec<Value> = serde_json::from_str(&ran.output).context("what a sleep takes")?;
    let mean_us = rows.last().and_then(|row| row["mean_us"].as_f64()).context("no mean of sleeps")?;
    Ok((mean_us / 1e6 - MEAN_S).max(0.0))
}

fn search(program: &Program<'_>, options: &Args, script: &Path, service: Service) -> anyhow::Result<Found> {
    let script = script.display().to_string();
    let (seconds, clients) = (options.seconds.to_string(), CLIENTS.to_string());
    let words = [
        "limit",
        "--managed",
        "-n",
        "-f",
        &script,
        "-c",
        &clients,
        "-T",
        &seconds,
        "--warmup",
        "0.5",
        "--again",
        "--promise",
        service.promise(),
        "--format",
        "json",
    ];
    let ran = program.run(&words, 0..=3)?;
    let rows: Vec<Value> = serde_json::from_str(&ran.output).context("what the search ended with")?;
    let row = rows.first().ok_or_else(|| anyhow!("no limit"))?;
    let number = |name: &str| row[name].as_f64().unwrap_or_default();
    Ok(Found {
        lower: number("lower_per_s"),
        upper: number("upper_per_s"),
        trials: row["trials"].as_u64().unwrap_or_default(),
        state: row["state"].as_str().unwrap_or_default().to_owned(),
    })
}
