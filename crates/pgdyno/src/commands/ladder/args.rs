//! The arguments of `pgdyno ladder`: `bench`'s, with lists for the steps.

use clap::{ArgAction, Args};

use crate::commands::bench::against::made_args::MadeArgs;

/// `pgdyno ladder`.
#[derive(Debug, Args)]
#[command(version, disable_help_flag = true, args_override_self = true, infer_long_args = true)]
#[command(after_help = "Clients and rate together, at two promises (the study of a Raspberry Pi):\n  \
    pgdyno ladder --clients 3,8,10,12,14,16 --rate-per-client 1 --promise 500ms,250ms -f reporting.sql DBNAME\n\
    How throughput grows with clients:\n  pgdyno ladder --clients 1,2,4,8,16,32 -S DBNAME\n\
    How response times grow with users:\n  pgdyno ladder --clients 10,20,40,80 --users 'login.sql, 5s, search.sql x3, 2s, order.sql' DBNAME\n\
    The highest rate that keeps a promise, searched: pgdyno limit (docs/reference/figures.md)")]
pub(crate) struct LadderArgs {
    /// Print help
    #[arg(long, short = '?', action = ArgAction::Help)]
    help: Option<bool>,
    #[command(flatten)]
    pub(super) rungs: Rungs,
    #[command(flatten)]
    pub(crate) made: MadeArgs,
}

/// What rises, and how each rung is measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Ladder")]
pub(super) struct Rungs {
    /// Clients (with --users, users) of each step, such as 1,2,4,8. With -R: one number for all steps [default: 16 with
    /// -R]
    #[arg(short = 'c', long, alias = "client", value_name = "N,N,…", value_delimiter = ',')]
    pub(super) clients: Vec<u32>,
    /// Rate of each step in transactions per second, over all clients
    #[arg(short = 'R', long, alias = "rates", value_name = "TPS,TPS,…", value_delimiter = ',')]
    pub(super) rate: Vec<f64>,
    /// Rate of each client in transactions per second
    #[arg(long, value_name = "TPS", conflicts_with = "rate", allow_negative_numbers = true)]
    pub(super) rate_per_client: Option<f64>,
    /// Latency that must hold, such as 'p99 < 500ms', or 500ms with --bound. A plain number is in milliseconds. Several
    /// make one ladder each
    #[arg(short = 'L', long, alias = "latency-limit", value_name = "TIME,TIME,…", value_delimiter = ',', value_parser = promise)]
    pub(super) promise: Vec<RungPromise>,
    /// Share of transactions, in percent, that may be late, skipped, failed or unfinished [default: 1]
    #[arg(long, value_name = "PCT", value_parser = bound, allow_negative_numbers = true)]
    pub(super) bound: Option<f64>,
    /// Seconds of each step in each round
    #[arg(short = 'T', long, value_name = "SEC", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) time: u64,
    /// Warm-up in seconds, which does not count
    #[arg(long, value_name = "SEC", default_value_t = 2.0, allow_negative_numbers = true)]
    pub(super) warmup: f64,
    /// Number of rounds over all steps, in random order. A larger number extends a finished ladder
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) rounds: u32,
    /// Number of threads, at most one for each client
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) jobs: u32,
}

/// A promise, with its time in the format of experiment files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RungPromise {
    /// `p99 < 500ms`.
    P99(String),
    /// `500ms`, for the share of `--bound`.
    Time(String),
}

impl RungPromise {
    pub(super) fn time(&self) -> &str {
        match self {
            Self::P99(time) | Self::Time(time) => time,
        }
    }
}

fn promise(text: &str) -> Result<RungPromise, String> {
    match text.trim().strip_prefix("p99").and_then(|rest| rest.trim_start().strip_prefix('<')) {
        Some(bound) => time(bound.trim_start_matches('=')).map(RungPromise::P99),
        None => time(text).map(RungPromise::Time),
    }
}

fn time(text: &str) -> Result<String, String> {
    let written = text.trim();
    match written.parse::<f64>() {
        Ok(ms) if ms.is_finite() => Ok(format!("{ms}ms")),
        _ if written.starts_with(|first: char| first.is_ascii_digit()) => Ok(written.to_owned()),
        _ => Err("must be a length of time such as 500ms, or 'p99 < 500ms'".to_owned()),
    }
}

fn bound(text: &str) -> Result<f64, String> {
    let percent = text.parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent < 100.0);
    percent.ok_or_else(|| "must be a number of percent above 0 and below 100, without the sign".to_owned())
}
