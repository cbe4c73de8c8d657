//! The arguments of `pgdyno limit`: `bench`'s, with a promise in place of a rate.

use clap::{ArgAction, Args};

use crate::commands::bench::against::made_args::MadeArgs;
use crate::commands::bench::against_args::Compare;

/// `pgdyno limit`.
#[derive(Debug, Args)]
#[command(version, disable_help_flag = true, args_override_self = true, infer_long_args = true)]
#[command(
    after_help = "How much can this database take?\n  pgdyno limit --promise 'p99 < 20ms' -f checkout.sql DBNAME\n\
    Without a database, on a private server:\n  pgdyno limit --promise 'p99 < 20ms' --managed -s 10\n\
    How much more can it take with something changed?\n  pgdyno limit --promise 'p99 < 20ms' -f checkout.sql DBNAME --against 'settings: jit=off'\n\
    How many users can be there at a time?\n  pgdyno limit --promise 'p95 < 300ms' --users 'login.sql, 5s, search.sql x3, 2s, order.sql' DBNAME\n\
    How a limit is found, and what it says: docs/how-to/limit.md"
)]
pub(crate) struct LimitArgs {
    /// Print help
    #[arg(long, short = '?', action = ArgAction::Help)]
    help: Option<bool>,
    #[command(flatten)]
    pub(super) search: Search,
    #[command(flatten)]
    pub(super) compare: Compare,
    #[command(flatten)]
    pub(crate) made: MadeArgs,
}

/// What is to be found, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(super) struct Search {
    /// What must hold: 'p99 < 20ms', 'late(250ms) < 1%', several joined by and. For one script: 'report.sql: p95 < 2s'
    /// (repeatable)
    #[arg(long, value_name = "PROMISE", required = true)]
    pub(super) promise: Vec<String>,
    /// Number of clients, or auto: doubled until throughput rises no more. With --users: the number of users to begin
    /// with
    #[arg(short = 'c', long, alias = "client", value_name = "N|auto", default_value = "auto", value_parser = clients)]
    pub(super) clients: ClientsArg,
    /// Lowest rate to try, in transactions per second [default: 1 % of the fastest run]. With --users: minimum of users
    /// [default: 1]
    #[arg(long, value_name = "TPS", allow_negative_numbers = true)]
    pub(super) lowest: Option<f64>,
    /// Highest rate to try [default: 120 % of the fastest run]. With --users: maximum of users [default: as many as the
    /// server accepts]
    #[arg(long, value_name = "TPS", allow_negative_numbers = true)]
    pub(super) highest: Option<f64>,
    /// Stop when the highest rate that holds and the lowest that fails are this close, in percent [default: 3, with
    /// --users 10]
    #[arg(long, value_name = "PCT", allow_negative_numbers = true)]
    pub(super) width: Option<f64>,
    /// Also try the limit under a rate that changes, in shares of it: 'ramp 0.5..1 over 15s', 'spike 0.5 to 1 for 2s at
    /// 8s' (repeatable)
    #[arg(long, value_name = "SHAPE")]
    pub(super) confirm: Vec<String>,
    /// Seconds of each trial
    #[arg(short = 'T', long, value_name = "SEC", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) time: u64,
    /// Warm-up in seconds before each trial
    #[arg(long, value_name = "SEC", default_value_t = 3.0, allow_negative_numbers = true)]
    pub(super) warmup: f64,
    /// Number of threads, at most one for each client
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) jobs: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientsArg {
    Auto,
    Fixed(u32),
}

fn clients(text: &str) -> Result<ClientsArg, String> {
    match text.parse::<u32>() {
        Ok(clients) if clients >= 1 => Ok(ClientsArg::Fixed(clients)),
        _ if text == "auto" => Ok(ClientsArg::Auto),
        _ => Err("must be a number of clients, at least 1, or auto".to_owned()),
    }
}
