//! Measures pgdyno side by side with the programs it replaces: `make bench`.
//!
//! A and B run in turn, order swapped from pair to pair, on the same server; what is quoted is the median of the pairs'
//! ratios with their range. Client CPU is that of the whole client process, user and system, as the kernel tells it to its
//! parent.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a page")]

mod child;
mod cost;
mod init;
mod many;
mod page;
mod pairs;
mod quiet;
mod redis;
mod redis_load;
mod server;
mod truth;

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Measures what pgdyno costs, beside pgbench and redis-benchmark.
#[derive(Debug, Parser)]
struct Options {
    /// What to measure [default: all but pinned]
    #[arg(value_enum)]
    what: Vec<What>,
    /// The program under test
    #[arg(long, default_value = "target/release/pgdyno")]
    pgdyno: PathBuf,
    /// The real pgbench [default: the newest beside a server]
    #[arg(long)]
    pgbench: Option<PathBuf>,
    /// Pairs per row
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Numbers of clients
    #[arg(long, value_delimiter = ',', default_value = "1,8,64,512")]
    clients: Vec<u32>,
    /// Wait at most so many seconds for a quiet machine before each pair
    #[arg(long, default_value_t = 60)]
    patience: u64,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Client CPU and tps by clients, prepared and simple, with the driver chosen by itself
    Cost,
    /// The same with epoll only
    Epoll,
    /// Client and server on different CPUs
    Pinned,
    /// 5,000 clients beside 50 at the same rate
    Many,
    /// 32,000-byte values of Redis
    Redis,
    /// Making pgbench's tables at scale 50
    Init,
    /// Recorded latency beside the timestamps of a server with known delays
    Truth,
}

fn main() -> anyhow::Result<()> {
    let words: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    if let Some((_, rest)) = words.split_first().filter(|(first, _)| *first == redis_load::WORD) {
        return redis_load::main(rest);
    }
    let options = Options::parse();
    let all = [What::Cost, What::Epoll, What::Many, What::Redis, What::Init, What::Truth];
    let wanted = if options.what.is_empty() { &all[..] } else { &options.what };
    println!("{}", page::head(&options)?);
    for what in wanted {
        match what {
            What::Cost => cost::by_clients(&options, &cost::Manner::usual())?,
            What::Epoll => cost::by_clients(&options, &cost::Manner::epoll())?,
            What::Pinned => cost::by_clients(&options, &cost::Manner::pinned())?,
            What::Many => many::clients(&options)?,
            What::Redis => redis::values(&options)?,
            What::Init => init::tables(&options)?,
            What::Truth => truth::of_latency(&options)?,
        }
    }
    Ok(())
}
