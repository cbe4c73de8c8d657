//! Is recorded latency right? Compares percentiles of service time with the timestamps of a server with known
//! delays, in a separate process.
//!
//! The server's time lies inside ours: it begins when the server has woken up for a request and read it, and
//! ends before it writes the reply, for which our thread has to wake up. The difference is the time of a
//! reply without delay at the same rate, which is measured first and shown as well. `explained` is the
//! percentile of the sum of the server's time and that round trip, taken as independent: anything beyond it
//! is the engine's error.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use engine::{
    DriverChoice, GapDistribution, Load, Rate, RunPlan, ScriptFigures, StopFlag, Time, Timeline, Until,
};
use server::child::Watchdog;
use server::home::Home;
use server::sink::{Delay, Sink};
use stats::Histogram;
use workloads::pgbench::{self, Pgbench, ScriptSource};
use workloads::{ClientWorkload, Clients, Places};

use crate::{Args, What, page, pairs, stop};

/// Allowed error: the greater of 1 % and 100 µs.
const SHARE: f64 = 0.01;
const FLOOR_US: f64 = 100.0;
/// Slower transactions met a stall.
const DELAYED: Time = 100_000_000;
const PERCENTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (1.0, "max")];
/// Arrivals per second of open load.
const RATE: f64 = 500.0;

/// Values taken from each of two distributions to add them.
const POINTS: u32 = 1000;

/// One server in closed and open load.
struct Case {
    title: &'static str,
    delay: Delay,
    seconds: u64,
    /// Clients in closed load, for about the open load's rate.
    closed_clients: usize,
    /// Clients in open load; one to make a queue.
    open_clients: usize,
}

fn cases(seconds: u64) -> [Case; 4] {
    let ms = Duration::from_millis;
    let case =
        |title, delay, closed_clients| Case { title, delay, seconds, closed_clients, open_clients: 16 };
    let stalls = Delay::Stalls { base: ms(1), every: ms(10_000), length: ms(1_000) };
    [
        case("1 ms", Delay::Constant(ms(1)), 1),
        case("20 ms", Delay::Constant(ms(20)), 8),
        case("1 ms, every twentieth 20 ms", Delay::Bimodal { fast: ms(1), slow: ms(20), every: 20 }, 1),
        Case { seconds: 15, open_clients: 1, ..case("1 ms, a stall of 1 s every 10 s", stalls, 1) },
    ]
}

/// A table per kind of delay and of load.
pub(crate) fn of_latency(options: &Args) -> anyhow::Result<()> {
    let program = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
    println!(
        "{}",
        page::title(options, What::Truth, "Recorded latency compared with the server's own timestamps", "")
    );
    let seconds = options.seconds.into();
    let none = Case { title: "no delay", delay: Delay::None, seconds, closed_clients: 1, open_clients: 16 };
    pairs::wait_until_quiet(options.patience());
    let (figures, seen) = drive(&program, &none, open(), none.open_clients)?;
    let round_trip = figures.service().clone();
    print(&none, open(), &figures, &seen, None);
    for case in cases(seconds) {
        for (load, clients) in [(Load::Closed, case.closed_clients), (open(), case.open_clients)] {
            pairs::wait_until_quiet(options.patience());
            let (figures, seen) = drive(&program, &case, load.clone(), clients)?;
            print(&case, load, &figures, &seen, Some(&round_trip));
        }
    }
    Ok(())
}

fn open() -> Load {
    Load::Rate(Rate { profile: RATE.into(), arrivals: GapDistribution::Poisson, timeline: Timeline::Global })
}

/// The engine's record, and the server's.
fn drive(
    program: &Path,
    case: &Case,
    load: Load,
    clients: usize,
) -> anyhow::Result<(ScriptFigures, Histogram)> {
    let home = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let watchdog = Watchdog::current()?;
    let sink = Sink::start(&Home::at(home.path()), program, &watchdog, case.delay)?;
    let source = ScriptSource::Text { name: "one".into(), text: b"SELECT 1;".to_vec(), weight: 1 };
    let workload = Pgbench::with_scripts(
        &pgbench::PgbenchOptions { vacuum: false, ..pgbench::PgbenchOptions::default() },
        &[source],
    )?;
    let places = Places::from(sink.place().clone());
    let crew = Clients { count: clients, threads: 1, seed: 1, statements: false };
    let plan = plan(load, Duration::from_secs(case.seconds));
    let measured = engine::run(
        &plan,
        workload.clients(&places, crew)?,
        &mut (),
        &StopFlag::from(stop::switch().flag()),
    )?;
    stop::check()?;
    let figures = measured.scripts.into_iter().next().ok_or_else(|| anyhow!("nothing was measured"))?;
    Ok((figures, sink.figures()?))
}

pub(crate) fn plan(load: Load, length: Duration) -> RunPlan {
    let ns = |duration: Duration| duration.as_nanos() as Time;
    let patience = ns(Duration::from_secs(20));
    RunPlan {
        threads: 1,
        part: engine::LoadPart::WHOLE,
        cpus: None,
        spin: 0,
        driver: DriverChoice::Auto,
        load,
        warmup: 0,
        until: Until::Elapsed(ns(length)),
        promise: None,
        skip_late: false,
        drain: patience,
        // The server counts all transactions.
        count_drained: true,
        transactions: false,
        gaps: None,
        connect_timeout: patience,
        seed: 1,
        scripts: 1,
        statements: 0,
        items: 0,
    }
}

fn print(case: &Case, load: Load, figures: &ScriptFigures, seen: &Histogram, round_trip: Option<&Histogram>) {
    let how = if load == Load::Closed { "closed".to_owned() } else { format!("{RATE}/s") };
    let (ours, theirs) = (figures.service().count(), seen.count());
    println!("\n### {}, {how}: {ours} transactions, {theirs} at the server\n", case.title);
    println!("| percentile | engine | server | difference | agrees | no delay | explained | rest |");
    println!("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |");
    for (q, name) in PERCENTILES {
        let at = |figures: &Histogram| figures.quantile_ns(q);
        // The maximum of sums is not the sum of maxima.
        let explained = round_trip.filter(|_| q < 1.0).and_then(|alone| together(seen, alone, q));
        println!("{}", row(name, [at(figures.service()), at(seen), round_trip.and_then(at), explained]));
    }
    if matches!(case.delay, Delay::Stalls { .. }) {
        let (response, service) =
            (figures.response.count_above(DELAYED), figures.service().count_above(DELAYED));
        println!("\nMore than 100 ms: {response} response times, {service} service times.");
    }
}

/// Quantile of the sum of two independent values, ns.
fn together(one: &Histogram, other: &Histogram, q: f64) -> Option<u64> {
    let values = |figures: &Histogram| -> Option<Vec<u64>> {
        (0..POINTS).map(|k| figures.quantile_ns((f64::from(k) + 0.5) / f64::from(POINTS))).collect()
    };
    let (one, other) = (values(one)?, values(other)?);
    let mut sums: Vec<u64> = one.iter().flat_map(|a| other.iter().map(move |b| a + b)).collect();
    let index = ((sums.len() as f64 * q) as usize).min(sums.len() - 1);
    Some(*sums.select_nth_unstable(index).1)
}

/// Ours, theirs, the round trip without delay, and both together, ns.
fn row(name: &str, figures: [Option<u64>; 4]) -> String {
    let [ours, theirs, alone, explained] = figures.map(|ns| ns.map(|ns| ns as f64 / 1e3));
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return format!("| {name} | - | - | - | - | - | - | - |");
    };
    let difference = ours - theirs;
    let agrees = if difference.abs() <= FLOOR_US.max(SHARE * theirs) { "yes" } else { "**no**" };
    let us = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), |us| format!("{us:.1} µs"));
    let rest = explained.map_or_else(|| "-".to_owned(), |explained| format!("{:+.1} µs", ours - explained));
    format!(
        "| {name} | {ours:.1} µs | {theirs:.1} µs | {difference:+.1} µs | {agrees} | {} | {} | {rest} |",
        us(alone),
        us(explained)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_or_a_hundred_microseconds_is_allowed() {
        let cases = [
            (5_090_000, 5_000_000, true),
            (5_110_000, 5_000_000, false),
            (1_009_000_000, 1_000_000_000, true),
            (1_011_000_000, 1_000_000_000, false),
        ];
        for (ours, theirs, agrees) in cases {
            let row = row("p50", [Some(ours), Some(theirs), Some(9_000), Some(ours - 1_000)]);
            assert!(row.contains("| 9.0 µs |") && row.contains("| yes |") == agrees, "{row}");
            assert!(row.ends_with("| +1.0 µs |"), "{row}");
        }
        assert_eq!(row("max", [None, Some(1), None, None]), "| max | - | - | - | - | - | - | - |");
    }

    #[test]
    fn two_distributions_add_up() {
        let of = |values: &[u64]| {
            let mut figures = Histogram::new();
            values.iter().for_each(|ns| figures.record(*ns));
            figures
        };
        // 10 or 30 µs and 1 or 2 µs, half of the time each: 11, 12, 31 and 32.
        let (one, other) = (of(&[10_000, 30_000]), of(&[1_000, 2_000]));
        for (q, us) in [(0.1, 11), (0.4, 12), (0.6, 31), (0.9, 32)] {
            let ns = together(&one, &other, q).unwrap();
            assert!(ns.abs_diff(us * 1000) < 100, "{ns} at {q}");
        }
        assert_eq!(together(&one, &of(&[]), 0.5), None);
    }
}
