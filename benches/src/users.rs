//! What users cost, and whether their figures obey the laws of queueing, against a server of known delay in a separate
//! process.
//!
//! All numbers of users ask at the same total rate: the think time grows with them. So the CPU per transaction differs
//! only by the number of users that the thread keeps.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use engine::{
    EngineResult, Load, Pause, RunPlan, Second, SessionStep, StopFlag, Time, Until, UserArrival, Users,
};
use server::child::Watchdog;
use server::home::Home;
use server::sink::{Delay, Sink};
use workloads::pgbench::{self, Pgbench, ScriptSource};
use workloads::{ClientWorkload, Clients, Places};

use crate::{Args, What, page, pairs, stop, truth};

/// Transactions per second of all users together.
const RATE: f64 = 5_000.0;
/// A user among many may cost at most this much more per transaction.
const MOST: f64 = 1.0;
/// Allowed deviation from a law.
const OFF: f64 = 0.02;
const SCRIPTS: usize = 3;
const SECOND: f64 = 1e9;

/// The cost by number of users, then the laws.
pub(crate) fn tables(options: &Args) -> anyhow::Result<()> {
    let program = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
    cost(options, &program)?;
    laws(options, &program)
}

fn cost(options: &Args, program: &Path) -> anyhow::Result<()> {
    let numbers = options.clients_or(&[100, 1_000, 10_000]);
    let more = page::clients_option(&numbers);
    println!("{}", page::title(options, What::Users, "Users on one thread, by their number", &more));
    println!(
        "{RATE} transactions per second in all, sessions of three scripts, a server that answers at once.\n"
    );
    // First, while nothing was freed that could be used again.
    let most = numbers.iter().copied().max().unwrap_or(1);
    let memory = Measured::of(program, most as usize, 1)?.memory;
    println!("Memory of the load generator for each of {most} users: {:.1} kB.\n", memory / 1e3);
    println!(
        "| users | think time | client CPU per transaction | of that of {} (range) | start lag p99 |",
        numbers[0]
    );
    println!("| ---: | ---: | ---: | --- | ---: |");
    // All numbers in turn, in both orders: what disturbs the machine for a while disturbs all of them.
    let mut each: Vec<Vec<Measured>> = numbers.iter().map(|_| Vec::new()).collect();
    for pair in 0..options.pairs() {
        pairs::wait_until_quiet(options.patience());
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        if pair % 2 == 1 {
            order.reverse();
        }
        for index in order {
            each[index].push(Measured::of(program, numbers[index] as usize, options.seconds.into())?);
        }
    }
    let mut last = 1.0;
    for (users, own) in numbers.iter().zip(&each) {
        let ratios = own.iter().zip(&each[0]).map(|(own, first)| own.cpu_us / first.cpu_us);
        let [ratio, least, most] = spread(ratios.collect());
        let [cpu, ..] = spread(own.iter().map(|own| own.cpu_us).collect());
        let [lag, ..] = spread(own.iter().map(|own| own.lag_us).collect());
        let think = f64::from(*users) / RATE;
        println!(
            "| {users} | {think:.2} s | {cpu:.2} µs | {ratio:.2} ({least:.2}-{most:.2}) | {lag:.0} µs |"
        );
        last = ratio;
    }
    println!("\nMost compared with fewest: {last:.2} (aim: {MOST}, the range decides).");
    Ok(())
}

/// Median, least and most.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    [values[values.len() / 2], values[0], values[values.len() - 1]]
}

struct Measured {
    cpu_us: f64,
    /// Bytes.
    memory: f64,
    lag_us: f64,
}

impl Measured {
    fn of(program: &Path, users: usize, seconds: u64) -> anyhow::Result<Self> {
        let think = users as f64 / RATE * SECOND;
        let steps = [
            Pause::Exponential { mean: think },
            Pause::Exponential { mean: think },
            Pause::Exponential { mean: think },
        ];
        let arrival = UserArrival::Apart((think / users as f64) as Time);
        let before = resident();
        let mut most = 0;
        let mut look = |_: &Second| most = most.max(resident());
        let (measured, _) =
            drive(program, Delay::None, users, (session(&steps), arrival), seconds, &mut look)?;
        let cpu = (measured.own.user_ns + measured.own.system_ns) as f64 / 1e3;
        Ok(Self {
            cpu_us: cpu / measured.completed().max(1) as f64,
            memory: most.saturating_sub(before) as f64 / users as f64,
            lag_us: measured.own.start_lag.quantile_ns(0.99).unwrap_or_default() as f64 / 1e3,
        })
    }
}

fn laws(options: &Args, program: &Path) -> anyhow::Result<()> {
    println!("{}", page::title(options, What::Users, "Users compared with the laws of queueing", ""));
    println!(
        "| users | law | by the law | measured | difference | holds |\n| --- | --- | ---: | ---: | ---: | --- |"
    );
    let delay = Duration::from_millis(20);
    let think = 0.2 * SECOND;
    let steps = [
        Pause::Exponential { mean: think },
        Pause::Constant(think as Time),
        Pause::LogNormal { median: 1.5e8, sigma: 0.5 },
    ];
    let mean_think = (2.0 * think + 1.5e8 * 0.125_f64.exp()) / 3.0 / SECOND;
    let users = 60;
    let seconds = u64::from(options.seconds).max(20);
    let kept = |closed: &EngineResult| closed.elapsed as f64 / SECOND;
    pairs::wait_until_quiet(options.patience());
    let arrival = UserArrival::Apart(3_000_000);
    let (closed, service_s) =
        drive(program, Delay::Constant(delay), users, (session(&steps), arrival), seconds, &mut ())?;
    let (x, r) = (closed.completed() as f64 / kept(&closed), mean_response(&closed));
    row(&format!("{users}, closed"), "N = X (R + Z)", users as f64, x * (r + mean_think), "users");
    let sessions = closed.users.as_ref().map_or(0, |users| users.finished) as f64 / kept(&closed) * 3600.0;
    let by_delay = users as f64 / (3.0 * (service_s + mean_think)) * 3600.0;
    row(&format!("{users}, closed"), "sessions per hour = N / (3 (S + Z))", by_delay, sessions, "");
    let steps = [Pause::Constant(think as Time), Pause::Constant(think as Time)];
    pairs::wait_until_quiet(options.patience());
    let arrival = UserArrival::Open(50.0.into());
    let (open, open_s) =
        drive(program, Delay::Constant(delay), 200, (session(&steps), arrival), seconds, &mut ())?;
    let of = open.users.clone().unwrap_or_default();
    let active = of.in_session as f64 / SECOND / kept(&open);
    let duration = of.duration.mean_ns().unwrap_or_default() / SECOND;
    row(
        "50 per second, open",
        "L = lambda W",
        of.finished as f64 / kept(&open) * duration,
        active,
        "active users",
    );
    let by_delay = 2.0 * think / SECOND + 3.0 * open_s;
    row("50 per second, open", "session = 2 Z + 3 S", by_delay * 1e3, duration * 1e3, "ms");
    Ok(())
}

fn row(users: &str, law: &str, wanted: f64, found: f64, unit: &str) {
    let off = found / wanted - 1.0;
    let holds = if off.abs() <= OFF { "yes" } else { "**no**" };
    println!(
        "| {users} | {law} | {wanted:.2} {unit} | {found:.2} {unit} | {:+.2} % | {holds} |",
        100.0 * off
    );
}

fn mean_response(measured: &EngineResult) -> f64 {
    let all = || measured.scripts.iter().map(|script| &script.response);
    let sum: f64 = all().map(|response| response.sum_ns() as f64).sum();
    sum / SECOND / all().map(|response| response.count()).sum::<u64>().max(1) as f64
}

/// Three scripts with these pauses after them.
fn session(pauses: &[Pause]) -> Arc<[SessionStep]> {
    let step = |script: usize| SessionStep {
        script: Some(script as u16),
        pauses: pauses.get(script).cloned().into_iter().collect(),
    };
    (0..SCRIPTS).map(step).collect()
}

fn drive(
    program: &Path,
    delay: Delay,
    users: usize,
    (session, arrival): (Arc<[SessionStep]>, UserArrival),
    seconds: u64,
    observer: &mut dyn engine::Observer,
) -> anyhow::Result<(EngineResult, f64)> {
    let home = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let watchdog = Watchdog::current()?;
    let sink = Sink::start(&Home::at(home.path()), program, &watchdog, delay)?;
    let source = |number: usize| ScriptSource::Text {
        name: format!("step{number}.sql"),
        text: b"SELECT 1;".to_vec(),
        weight: 1,
    };
    let options = pgbench::PgbenchOptions { vacuum: false, ..pgbench::PgbenchOptions::default() };
    let workload = Pgbench::with_scripts(&options, &(1..=SCRIPTS).map(source).collect::<Vec<_>>())?;
    let places = Places::from(sink.place().clone());
    let crew = Clients { count: users, threads: 1, seed: 1, statements: false };
    let load = Load::Users(Users { session, arrival, reconnect: false });
    let plan = truth::plan(load, Duration::from_secs(seconds));
    let plan = RunPlan {
        warmup: 3_000_000_000,
        until: Until::Elapsed(seconds * 1_000_000_000),
        count_drained: false,
        scripts: SCRIPTS,
        ..plan
    };
    let clients = workload.clients(&places, crew)?;
    let measured = engine::run(&plan, clients, observer, &StopFlag::from(stop::switch().flag()))?;
    stop::check()?;
    // The server's own time, which is longer than its delay where the machine is busy.
    let service_s = sink.figures()?.mean_ns().unwrap_or_default() / SECOND;
    Ok((measured, service_s))
}

/// Memory of this process, bytes; 0 where the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() * 1024
}
