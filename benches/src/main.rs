//! Compares pgdyno with the programs it replaces, and its comparisons with what they promise: `make bench`.
//!
//! A and B run in turn on the same server, in alternating order. Reported is the median of the pairs' ratios
//! with their range. Client CPU is user and system time of the whole client process, from the kernel.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a page")]

mod announced;
mod child;
mod cost;
mod growth;
mod http;
mod init;
mod load;
mod page;
mod pairs;
mod parts;
mod redis;
mod redis_load;
mod scripts;
mod served;
mod slices;
mod stop;
mod tile_load;
mod tiles;
mod truth;
mod users;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use server::child::{WATCHDOG_ARGUMENT, watchdog_main};

/// Measures what pgdyno costs, compared with pgbench and redis-benchmark, and how much it detects.
#[derive(Debug, Parser)]
struct Args {
    /// What to measure [default: all but believe, cpu, gate, announced and growth, which take long]
    #[arg(value_enum)]
    what: Vec<What>,
    /// The program under test
    #[arg(long, default_value = "target/release/pgdyno")]
    pgdyno: PathBuf,
    /// The pgbench to compare with [default: the server's]
    #[arg(long)]
    pgbench: Option<PathBuf>,
    /// Pairs per row, comparisons of each part of believe and cpu [default: 5; 100 and 3 for believe; 3 for cpu; 10 for gate, which passes four times as many equal arms]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: Option<u32>,
    /// Seconds of each run; at least 20 where connecting many clients is subtracted
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Numbers of clients [default: 1,8,64,512; 8,16,64 for tcp and tls; 16 for open]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    clients: Vec<u32>,
    /// Wait at most this many seconds for a quiet machine before each pair
    #[arg(long, default_value_t = 60)]
    patience: u64,
    /// OpenStreetMap extract to load
    #[arg(long, env = "PGDYNO_DATA", hide_env_values = true)]
    data: Option<PathBuf>,
    /// Parts of believe [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    part: Vec<slices::believe::BelievePart>,
}

impl Args {
    /// The requested numbers of clients, or the default.
    fn clients_or(&self, usual: &[u32]) -> Vec<u32> {
        if self.clients.is_empty() { usual.to_vec() } else { self.clients.clone() }
    }

    /// The requested number of pairs, or the default.
    fn pairs(&self) -> u32 {
        self.pairs.unwrap_or(5)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.patience)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Client CPU and tps by clients, prepared and simple, with the driver chosen by itself
    Cost,
    /// The same with epoll only
    Epoll,
    /// Over TCP on 127.0.0.1, prepared
    Tcp,
    /// The same with TLS
    Tls,
    /// Open load: 5,000 transactions per second, both drivers
    Open,
    /// 32,000-byte values of Redis
    Redis,
    /// Bodies of 1 kB and 20 kB of nginx, compared with wrk and oha
    Http,
    /// Map tiles, compared with pgbench and the same query
    Tiles,
    /// Making pgbench's tables at scale 50
    Init,
    /// An OSM load of the extract, compared with osm2pgsql started by hand
    Load,
    /// Recorded latency, compared with the timestamps of a server with known delays
    Truth,
    /// Users with think times, up to 10,000 on one thread, and the laws of queueing
    Users,
    /// Memory of runs with up to 1,000 scripts, and the time around a run of one transaction
    Scripts,
    /// Whether intervals of comparisons in slices hold what they promise (an hour)
    Believe,
    /// Intervals of throughput and of server CPU per transaction on a busy host (15 min)
    Cpu,
    /// How often a gate finds a known slowdown, and fails equal arms, on a busy host (an hour)
    Gate,
    /// Whether ten commands take as long as they announce (10 min)
    Announced,
    /// What one generator can drive, and what several do to the figures, in simulated time
    Parts,
    /// Time and memory of commands by the number of runs in a results file: 100, 1,000 and 10,000
    Growth,
}

impl What {
    /// Whether it checks the answers of comparisons; the others measure cost.
    fn compares(self) -> bool {
        matches!(self, Self::Believe | Self::Cpu | Self::Gate | Self::Announced)
    }

    /// Whether it is measured only if it is named.
    fn is_long(self) -> bool {
        self.compares() || self == Self::Growth
    }
}

/// Something that a measurement needs and the machine lacks. It is reported, and the others continue.
#[derive(Debug)]
struct MissingRequirement(String);

impl std::fmt::Display for MissingRequirement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "not available: {}", self.0)
    }
}

impl std::error::Error for MissingRequirement {}

fn main() -> anyhow::Result<()> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.split_first() {
        Some((first, rest)) if first == WATCHDOG_ARGUMENT => std::process::exit(watchdog_main(rest)),
        Some((first, rest)) if first == redis_load::WORD => return redis_load::main(rest),
        Some((first, rest)) if first == http::WORD => return http::load(rest),
        Some((first, rest)) if first == tile_load::WORD => return tile_load::main(rest),
        Some((first, rest)) if first == growth::WORD => return growth::main(rest),
        _ => {}
    }
    let options = Args::parse();
    stop::listen()?;
    let all = || What::value_variants().iter().copied().filter(|what| !what.is_long()).collect();
    let wanted: Vec<What> = if options.what.is_empty() { all() } else { options.what.clone() };
    println!("{}", page::head(&options, &wanted)?);
    for what in wanted {
        or_report(measure(&options, what))?;
    }
    Ok(())
}

/// Reports a measurement that was impossible for a [`MissingRequirement`] reason.
fn or_report(measured: anyhow::Result<()>) -> anyhow::Result<()> {
    match measured {
        Err(error) if error.is::<MissingRequirement>() => println!("{error}"),
        measured => measured?,
    }
    Ok(())
}

fn measure(options: &Args, what: What) -> anyhow::Result<()> {
    match what {
        What::Cost => cost::by_clients(options, &cost::Manner::usual()),
        What::Epoll => cost::by_clients(options, &cost::Manner::epoll()),
        What::Tcp => cost::by_clients(options, &cost::Manner::tcp()),
        What::Tls => cost::by_clients(options, &cost::Manner::tls()),
        What::Open => cost::by_clients(options, &cost::Manner::open()),
        What::Redis => redis::print_values(options),
        What::Http => http::bodies(options),
        What::Tiles => tiles::by_clients(options),
        What::Init => init::tables(options),
        What::Load => load::against_osm2pgsql(options),
        What::Truth => truth::of_latency(options),
        What::Users => users::tables(options),
        What::Scripts => scripts::tables(options),
        What::Believe => slices::believe::parts(options),
        What::Cpu => slices::cpu::table(options),
        What::Gate => slices::gate::table(options),
        What::Announced => announced::times(options),
        What::Parts => parts::tables(options),
        What::Growth => growth::table(options),
    }
}
