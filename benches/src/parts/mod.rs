//! From which load one generator is too small, and what several do to the figures.
//!
//! The first table is measured: a sink answers at once, so what is left is the generator. The second one is a model in
//! simulated time, which shows what parts that begin late, and merging, do to percentiles and throughput.

mod model;

use std::time::Duration;

use anyhow::Context;
use engine::{Load, RunPlan, StopFlag};
use server::child::Watchdog;
use server::home::Home;
use server::sink::{Delay, Sink};
use workloads::pgbench::{self, Pgbench, ScriptSource};
use workloads::{ClientWorkload, Clients, Places};

use self::model::{Lateness, Model, Outcome};
use crate::{Args, What, page, pairs, stop, truth};

const CLIENTS: usize = 64;
/// A generator that uses more of a CPU than that is doubted.
const BUSY: f64 = 0.9;

pub(crate) fn tables(options: &Args) -> anyhow::Result<()> {
    println!("{}", page::title(options, What::Parts, "One generator against a sink", ""));
    println!(
        "| threads | transactions per second | client CPU per transaction | busiest thread | one thread is too small from |"
    );
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for threads in [1, 2] {
        let mut all = Vec::new();
        for _ in 0..options.pairs() {
            pairs::wait_until_quiet(options.patience());
            all.push(driven(options, threads)?);
        }
        all.sort_by(|one, other| one.cpu_us.total_cmp(&other.cpu_us));
        let median = &all[all.len() / 2];
        println!(
            "| {threads} | {:.0} | {:.2} µs ({:.2}-{:.2}) | {:.0} % | {:.0} per second |",
            median.per_second,
            median.cpu_us,
            all[0].cpu_us,
            all[all.len() - 1].cpu_us,
            100.0 * median.busiest,
            BUSY * 1e6 / median.cpu_us
        );
    }
    modelled(options)
}

/// What a generator came to.
struct Driven {
    per_second: f64,
    cpu_us: f64,
    busiest: f64,
}

fn driven(options: &Args, threads: usize) -> anyhow::Result<Driven> {
    let program = options.pgdyno.canonicalize().context("build it first: cargo build --release")?;
    let home = tempfile::Builder::new().prefix("pgdyno-benches").tempdir()?;
    let sink = Sink::start(&Home::at(home.path()), &program, &Watchdog::current()?, Delay::None)?;
    let source = ScriptSource::Text { name: "one".into(), text: b"SELECT 1;".to_vec(), weight: 1 };
    let asked = pgbench::PgbenchOptions { vacuum: false, ..pgbench::PgbenchOptions::default() };
    let workload = Pgbench::with_scripts(&asked, &[source])?;
    let wanted = Clients { count: CLIENTS, threads, seed: 1, statements: false };
    let clients = workload.clients(&Places::from(sink.place().clone()), wanted)?;
    let plan = truth::plan(Load::Closed, Duration::from_secs(options.seconds.into()));
    let plan = RunPlan { threads, ..plan };
    let done = engine::run(&plan, clients, &mut (), &StopFlag::from(stop::switch().flag()))?;
    stop::check()?;
    let count = done.totals().processed() as f64;
    Ok(Driven {
        per_second: count * 1e9 / done.elapsed as f64,
        cpu_us: (done.own.user_ns + done.own.system_ns) as f64 / 1e3 / count,
        busiest: done.own.busiest_thread,
    })
}

fn modelled(options: &Args) -> anyhow::Result<()> {
    println!("{}", page::title(options, What::Parts, "Several generators, in simulated time", ""));
    println!(
        "{:.0} transactions per second of 1 ms on average, {} servers ({:.0} % busy), {} s and a warm-up of {} s. Figures beside one \
         generator with the same arrivals; response times are counted from the time of the whole load.\n",
        model::PER_SECOND,
        model::SERVERS,
        100.0 * model::PER_SECOND * model::MEAN_S / model::SERVERS as f64,
        model::MEASURED_S,
        model::WARMUP_S
    );
    println!("| parts | begin | throughput | p99 of all, histograms added | p99, mean of the parts' |");
    println!("| ---: | --- | ---: | ---: | ---: |");
    let alone = Model { parts: 1, lateness: Lateness::None }.outcome();
    for parts in [2, 10, 100, 1_000, 10_000] {
        for (words, lateness) in [
            ("at once", Lateness::None),
            ("0.5 ms late on average", Lateness::Random { mean_s: 0.0005 }),
            ("5 ms late on average", Lateness::Random { mean_s: 0.005 }),
            ("part 1 100 ms late", Lateness::First { late_s: 0.1 }),
            ("part 1 2 s late", Lateness::First { late_s: 2.0 }),
        ] {
            stop::check()?;
            let Outcome { per_second, p99_s, mean_of_p99_s } = Model { parts, lateness }.outcome();
            let beside = |one: f64, other: f64| format!("{:+.2} %", 100.0 * (one / other - 1.0));
            println!(
                "| {parts} | {words} | {} | {} | {} |",
                beside(per_second, alone.per_second),
                beside(p99_s, alone.p99_s),
                beside(mean_of_p99_s, alone.p99_s)
            );
        }
    }
    Ok(())
}
