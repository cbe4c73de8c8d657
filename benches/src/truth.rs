//! Is what is recorded what happened? Percentiles of service time beside those that a server with known delays, a process
//! of its own, timestamped itself.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use engine::{Arrivals, DriverChoice, Load, Plan, Rate, ScriptFigures, Stop, Time, Timeline, Until};
use lab::child::Watchdog;
use lab::place::Home;
use lab::sink::{Delay, Sink};
use stats::Histogram;
use workloads::pgbench::{Options as Workload, Pgbench, ScriptSource};
use workloads::{ClientWorkload, Crew, Places};

use crate::Options;
use crate::quiet;

/// What may be off: the greater of 1 % and 100 µs.
const SHARE: f64 = 0.01;
const FLOOR_US: f64 = 100.0;
/// Slower ones met a stall.
const DELAYED: Time = 100_000_000;
const PERCENTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (1.0, "max")];
/// Arrivals per second where load is open.
const RATE: f64 = 500.0;

/// One server, asked in two ways.
struct Case {
    title: &'static str,
    delay: Delay,
    seconds: u64,
    /// Clients in open load; one, where a queue is wanted.
    open_clients: usize,
}

fn cases(seconds: u64) -> [Case; 4] {
    let ms = Duration::from_millis;
    let case = |title, delay, open_clients| Case { title, delay, seconds, open_clients };
    let stalls = Delay::Stalls { base: ms(1), every: ms(10_000), length: ms(1_000) };
    [
        case("no delay: the round trip itself", Delay::None, 16),
        case("5 ms", Delay::Constant(ms(5)), 16),
        case("1 ms, every twentieth 20 ms", Delay::Bimodal { fast: ms(1), slow: ms(20), every: 20 }, 16),
        Case { seconds: 15, ..case("1 ms, a stall of 1 s every 10 s", stalls, 1) },
    ]
}

/// A table per kind of delay and of load.
pub(crate) fn of_latency(options: &Options) -> anyhow::Result<()> {
    let program = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
    println!("\n## Recorded latency beside the server's own timestamps");
    // Service times without any delay, closed and open: what two processes and a socket take by themselves.
    let mut round_trips: Vec<Histogram> = Vec::new();
    for case in cases(options.seconds.into()) {
        for (kind, (load, clients)) in
            [(Load::Closed, 1), (open(), case.open_clients)].into_iter().enumerate()
        {
            quiet::wait(Duration::from_secs(options.patience));
            let (figures, seen) = drive(&program, &case, load, clients)?;
            if case.delay == Delay::None {
                round_trips.push(figures.service.clone());
            }
            print(&case, load, &figures, &seen, &round_trips[kind]);
        }
    }
    Ok(())
}

fn open() -> Load {
    Load::Rate(Rate { per_second: RATE, arrivals: Arrivals::Poisson, timeline: Timeline::Global })
}

/// What the engine recorded, and what the server saw.
fn drive(
    program: &Path,
    case: &Case,
    load: Load,
    clients: usize,
) -> anyhow::Result<(ScriptFigures, Histogram)> {
    let home = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let watchdog = Watchdog { exe: program.to_owned() };
    let sink = Sink::start(&Home::at(home.path()), program, &watchdog, case.delay)?;
    let source = ScriptSource::Text { name: "one".into(), text: b"SELECT 1;".to_vec(), weight: 1 };
    let workload = Pgbench::with_scripts(&Workload { vacuum: false, ..Workload::default() }, &[source])?;
    let places = Places { postgres: Some(sink.place().clone()), ..Places::default() };
    let crew = Crew { clients, threads: 1, seed: 1, statements: false };
    let plan = plan(load, Duration::from_secs(case.seconds));
    let measured = engine::run(&plan, workload.clients(&places, crew)?, &mut (), &Stop::new())?;
    let figures = measured.scripts.into_iter().next().ok_or_else(|| anyhow!("nothing was measured"))?;
    Ok((figures, sink.figures()?))
}

fn plan(load: Load, length: Duration) -> Plan {
    let ns = |duration: Duration| duration.as_nanos() as Time;
    let patience = ns(Duration::from_secs(20));
    Plan {
        threads: 1,
        driver: DriverChoice::Auto,
        load,
        warmup: 0,
        until: Until::Elapsed(ns(length)),
        limit: None,
        skip_late: false,
        drain: patience,
        // The server counts all of them.
        count_drained: true,
        transactions: false,
        gaps: None,
        connect_timeout: patience,
        seed: 1,
        scripts: 1,
        statements: 0,
    }
}

fn print(case: &Case, load: Load, figures: &ScriptFigures, seen: &Histogram, round_trip: &Histogram) {
    let how = if load == Load::Closed { "closed".to_owned() } else { format!("{RATE}/s") };
    let (ours, theirs) = (figures.service.count(), seen.count());
    println!("\n### {}, {how}: {ours} transactions, {theirs} at the server\n", case.title);
    println!("| percentile | engine | server | difference | within | round trip |");
    println!("| --- | ---: | ---: | ---: | --- | ---: |");
    for (q, name) in PERCENTILES {
        let [ours, theirs, base] = [&figures.service, seen, round_trip].map(|figures| figures.quantile_ns(q));
        println!("{}", row(name, [ours, theirs, base]));
    }
    if matches!(case.delay, Delay::Stalls { .. }) {
        let (response, service) =
            (figures.response.count_above(DELAYED), figures.service.count_above(DELAYED));
        println!("\nMore than 100 ms: {response} response times, {service} service times.");
    }
}

/// Ours, theirs and the round trip without delay, ns.
fn row(name: &str, figures: [Option<u64>; 3]) -> String {
    let [Some(ours), Some(theirs), Some(round_trip)] = figures.map(|ns| ns.map(|ns| ns as f64 / 1e3)) else {
        return format!("| {name} | - | - | - | - | - |");
    };
    let difference = ours - theirs;
    let within = if difference.abs() <= FLOOR_US.max(SHARE * theirs) { "yes" } else { "**no**" };
    format!(
        "| {name} | {ours:.1} µs | {theirs:.1} µs | {difference:+.1} µs | {within} | {round_trip:.1} µs |"
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
        for (ours, theirs, within) in cases {
            let row = row("p50", [Some(ours), Some(theirs), Some(9_000)]);
            assert!(row.ends_with("| 9.0 µs |") && row.contains("| yes |") == within, "{row}");
        }
        assert_eq!(row("max", [None, Some(1), None]), "| max | - | - | - | - | - |");
    }
}
