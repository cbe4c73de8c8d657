//! The parsed options before their combinations are checked.

use script::{Seed, SeedError};
use workloads::pgbench;

use super::connection::ConnectionArgs;
use super::env::Env;
use super::fault::{ArgumentError, ArgumentMessage};
use super::init::Init;
use super::load::LoadOptions;
use super::output::{LogOptions, PgbenchOutput, ProgressOptions};
use super::scripts::ScriptOptions;
use crate::commands::pgbench::talk::LogLevel;

#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) messages: Vec<ArgumentMessage>,
    pub(super) debug: bool,
    /// `-i`
    pub(super) initialize: bool,
    pub(super) connection: ConnectionArgs,
    pub(super) preparation: ServerPreparation,
    pub(super) init: Init,
    pub(super) scripts: ScriptOptions,
    pub(super) workload: pgbench::PgbenchOptions,
    pub(super) load: LoadOptions,
    pub(super) log: LogOptions,
    pub(super) progress: ProgressOptions,
    /// Complete except for log and progress.
    pub(super) output: PgbenchOutput,
}

impl Parsed {
    /// `PGBENCH_RANDOM_SEED`, or the clock.
    pub(super) fn seed_from_environment(&mut self, env: &dyn Env) -> Result<(), ArgumentError> {
        let Some(text) = env.variable("PGBENCH_RANDOM_SEED") else {
            self.load.seed = env.now_us();
            return Ok(());
        };
        self.set_seed(&text.to_string_lossy(), "PGBENCH_RANDOM_SEED environment variable", env)
    }

    /// Sets the seed, and adds a message with it.
    pub(super) fn set_seed(&mut self, text: &str, from: &str, env: &dyn Env) -> Result<(), ArgumentError> {
        let fault = |first: ArgumentError| {
            first.and(LogLevel::Error, format!("error while setting random seed from {from}"))
        };
        let seed = match Seed::parse(text) {
            Ok(Seed::Time) => env.now_us(),
            Ok(Seed::Strong) => {
                env.strong().map_err(|_| fault(ArgumentError::error("could not generate random seed")))?
            }
            Ok(Seed::Value(value)) => value,
            Err(error) => {
                return Err(fault(
                    ArgumentError::error(error.to_string()).and(LogLevel::Detail, SeedError::DETAIL),
                ));
            }
        };
        self.load.seed = seed;
        self.messages.push((LogLevel::Info, format!("setting random seed to {seed}")));
        Ok(())
    }
}

/// Preparation of the server for a run.
/// Preparation of the server for a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ServerPreparation {
    /// `-n`: no vacuum, even with `-v`.
    pub(crate) no_vacuum: bool,
    /// `-v`: vacuum the accounts too.
    pub(crate) vacuum_accounts: bool,
    /// `--allow-changed-settings`: measure even if a killed pgdyno left settings of the server changed.
    pub(crate) allow_changed_settings: bool,
}
