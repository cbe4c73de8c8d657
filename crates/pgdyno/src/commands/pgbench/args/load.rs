//! The load: how many clients, how fast, how long.

use std::time::Duration;

use engine::DriverChoice;
use server::placement::Cpus;
use workloads::pgbench::Group;

use super::env::Env;
use super::fault::Fault;
use crate::commands::pgbench::talk::Level;

/// Transactions per client when neither `-t` nor `-T` is given.
const DEFAULT_TRANSACTIONS: u32 = 10;
/// Open files that a run needs besides its clients' connections, as pgbench counts.
const FILES_BESIDE_CLIENTS: u64 = 3;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Load {
    /// `-c`, at least 1.
    pub(crate) clients: u32,
    /// `-j`, at least 1 and at most the clients.
    pub(crate) threads: u32,
    pub(crate) length: Length,
    /// `-R`, transactions per second; above 0 and finite.
    pub(crate) rate: Option<f64>,
    /// `-L` in whole µs, above 0.
    pub(crate) latency_limit_us: Option<u64>,
    /// `--warmup`; zero for none.
    pub(crate) warmup: Duration,
    pub(crate) driver: DriverChoice,
    /// `--client-cpus`: what client threads are kept on, and nothing else uses.
    pub(crate) cpus: Option<Cpus>,
    pub(crate) seed: u64,
    /// End the run with its first aborted client.
    pub(crate) exit_on_abort: bool,
}

/// How long a run lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// `-t`: so many transactions per client.
    Transactions(u32),
    /// `-T`: so many seconds.
    Seconds(u32),
}

#[derive(Debug, Default)]
pub(super) struct LoadOptions {
    pub(super) clients: Option<u32>,
    pub(super) threads: Option<u32>,
    pub(super) transactions: Option<u32>,
    pub(super) seconds: Option<u32>,
    pub(super) rate: Option<f64>,
    pub(super) latency_limit_us: Option<u64>,
    pub(super) warmup: Duration,
    pub(super) driver: DriverChoice,
    pub(super) cpus: Option<Cpus>,
    pub(super) seed: u64,
    pub(super) exit_on_abort: bool,
}

impl LoadOptions {
    pub(super) fn length(&self) -> Result<Length, Fault> {
        match (self.transactions, self.seconds) {
            (Some(_), Some(_)) => {
                let text = "specify either a number of transactions (-t) or a duration (-T), not both";
                Err(Fault::error(text))
            }
            (None, Some(seconds)) => Ok(Length::Seconds(seconds)),
            (transactions, None) => Ok(Length::Transactions(transactions.unwrap_or(DEFAULT_TRANSACTIONS))),
        }
    }

    /// Tries without bound need another end.
    pub(super) fn check_tries(&self, max_tries: u32) -> Result<(), Fault> {
        if max_tries == 0 && self.latency_limit_us.is_none() && self.seconds.is_none() {
            let text = "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)";
            return Err(Fault::error(text));
        }
        Ok(())
    }

    /// The load; groups have their own clients.
    pub(super) fn decide(self, length: Length, groups: &[Group], env: &dyn Env) -> Result<Load, Fault> {
        let clients = self.all_clients(groups, env)?;
        Ok(Load {
            clients,
            threads: self.threads.unwrap_or(1).min(clients),
            length,
            rate: self.rate,
            latency_limit_us: self.latency_limit_us,
            warmup: self.warmup,
            driver: self.driver,
            cpus: self.cpus,
            seed: self.seed,
            exit_on_abort: self.exit_on_abort,
        })
    }

    /// How many clients there are: as `-c` says, else as the groups add up to.
    fn all_clients(&self, groups: &[Group], env: &dyn Env) -> Result<u32, Fault> {
        if groups.is_empty() {
            return Ok(self.clients.unwrap_or(1));
        }
        let sum: u64 = groups.iter().map(|group| group.clients as u64).sum();
        if let Some(given) = self.clients.filter(|&given| u64::from(given) != sum) {
            let text = format!("groups (--group) have {sum} clients, but -c/--client is {given}");
            return Err(Fault::error(text));
        }
        let clients = i32::try_from(sum).map(i32::cast_unsigned);
        let clients = clients.map_err(|_| Fault::error("groups (--group) have too many clients"))?;
        check_open_files(clients, env)?;
        Ok(clients)
    }
}

/// Checks that so many clients can have a connection each.
pub(super) fn check_open_files(clients: u32, env: &dyn Env) -> Result<(), Fault> {
    let needed = u64::from(clients) + FILES_BESIDE_CLIENTS;
    match env.open_files() {
        Some(limit) if limit < needed => {
            let message = format!("need at least {needed} open files, but system limit is {limit}");
            let hint = "Reduce number of clients, or use limit/ulimit to increase the system limit.";
            Err(Fault::error(message).and(Level::Hint, hint))
        }
        _ => Ok(()),
    }
}
