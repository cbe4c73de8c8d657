//! The load: clients, rate, length.

use std::time::Duration;

use engine::DriverChoice;
use spec::plan::Cpus;
use workloads::pgbench::ClientGroup;

use super::env::Env;
use super::fault::ArgumentError;
use crate::commands::pgbench::talk::LogLevel;

const DEFAULT_TRANSACTIONS: u32 = 10;
/// Open files that a run needs in addition to its clients' connections, as pgbench counts.
const FILES_BESIDE_CLIENTS: u64 = 3;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PgbenchLoadArgs {
    /// `-c`, at least 1.
    pub(crate) clients: u32,
    /// `-j`, from 1 to the number of clients.
    pub(crate) threads: u32,
    pub(crate) length: PgbenchLength,
    /// `-R`, transactions per second; above 0 and finite.
    pub(crate) rate: Option<f64>,
    /// `-L` in whole µs, above 0.
    pub(crate) latency_limit_us: Option<u64>,
    /// `--warmup`; zero for none.
    pub(crate) warmup: Duration,
    pub(crate) driver: DriverChoice,
    /// `--client-cpus`: the CPUs of client threads, used by nothing else.
    pub(crate) cpus: Option<Cpus>,
    pub(crate) seed: u64,
    pub(crate) exit_on_abort: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PgbenchLength {
    /// `-t`: per client.
    Transactions(u32),
    /// `-T`.
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
    pub(super) fn length(&self) -> Result<PgbenchLength, ArgumentError> {
        match (self.transactions, self.seconds) {
            (Some(_), Some(_)) => {
                let text = "specify either a number of transactions (-t) or a duration (-T), not both";
                Err(ArgumentError::error(text))
            }
            (None, Some(seconds)) => Ok(PgbenchLength::Seconds(seconds)),
            (transactions, None) => {
                Ok(PgbenchLength::Transactions(transactions.unwrap_or(DEFAULT_TRANSACTIONS)))
            }
        }
    }

    /// Unlimited tries need another limit.
    pub(super) fn check_tries(&self, max_tries: u32) -> Result<(), ArgumentError> {
        if max_tries == 0 && self.latency_limit_us.is_none() && self.seconds.is_none() {
            let text = "an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)";
            return Err(ArgumentError::error(text));
        }
        Ok(())
    }

    /// Checks the load; groups have separate numbers of clients.
    pub(super) fn decide(
        self,
        length: PgbenchLength,
        groups: &[ClientGroup],
        env: &dyn Env,
    ) -> Result<PgbenchLoadArgs, ArgumentError> {
        let clients = self.all_clients(groups, env)?;
        Ok(PgbenchLoadArgs {
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

    /// The number of clients: `-c`, else the sum over the groups.
    fn all_clients(&self, groups: &[ClientGroup], env: &dyn Env) -> Result<u32, ArgumentError> {
        if groups.is_empty() {
            return Ok(self.clients.unwrap_or(1));
        }
        let sum: u64 = groups.iter().map(|group| group.clients as u64).sum();
        if let Some(given) = self.clients.filter(|&given| u64::from(given) != sum) {
            let text = format!("groups (--group) have {sum} clients, but -c/--client is {given}");
            return Err(ArgumentError::error(text));
        }
        let clients = i32::try_from(sum).map(i32::cast_unsigned);
        let clients = clients.map_err(|_| ArgumentError::error("groups (--group) have too many clients"))?;
        check_open_files(clients, env)?;
        Ok(clients)
    }
}

pub(super) fn check_open_files(clients: u32, env: &dyn Env) -> Result<(), ArgumentError> {
    let needed = u64::from(clients) + FILES_BESIDE_CLIENTS;
    match env.open_files() {
        Some(limit) if limit < needed => {
            let message = format!("need at least {needed} open files, but system limit is {limit}");
            let hint = "Reduce number of clients, or use limit/ulimit to increase the system limit.";
            Err(ArgumentError::error(message).and(LogLevel::Hint, hint))
        }
        _ => Ok(()),
    }
}
