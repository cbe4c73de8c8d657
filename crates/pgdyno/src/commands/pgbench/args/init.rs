//! `-i`: making and filling pgbench's tables.

use workloads::pgbench::init::{InitOptions, Loading, PartitionMethod, parse_steps};

use super::connection::Connection;
use super::fault::Fault;

/// Steps when none are given.
const DEFAULT_STEPS: &str = "dtgvp";

/// `-i`, checked and typed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InitSettings {
    pub(crate) connection: Connection,
    /// Its steps have `-n` and `--foreign-keys` taken into account, and may be none.
    pub(crate) tables: InitOptions,
    pub(crate) loading: Loading,
}

/// The options of `-i`.
#[derive(Debug, Default)]
pub(super) struct Init {
    pub(super) steps: Option<String>,
    pub(super) partition_method: Option<PartitionMethod>,
    /// Finished except for the steps and the method.
    pub(super) tables: InitOptions,
    pub(super) loading: Loading,
}

impl Init {
    /// Looks at the options together.
    pub(super) fn decide(self, connection: Connection, no_vacuum: bool) -> Result<InitSettings, Fault> {
        let Self { steps, partition_method, mut tables, loading } = self;
        if tables.partitions == 0 && partition_method.is_some() {
            return Err(Fault::error("--partition-method requires greater than zero --partitions"));
        }
        let mut steps = steps.unwrap_or_else(|| DEFAULT_STEPS.to_owned());
        steps.retain(|step| step != ' ' && !(no_vacuum && step == 'v'));
        if std::mem::take(&mut tables.foreign_keys) && !steps.contains('f') {
            steps.push('f');
        }
        // No step at all is what parse_steps refuses, but `-n -I v` leaves none.
        tables.steps =
            if steps.is_empty() { Vec::new() } else { parse_steps(&steps).map_err(Fault::error)? };
        tables.partition_method = partition_method.unwrap_or_default();
        Ok(InitSettings { connection, tables, loading })
    }
}
