//! `-i`: making and filling pgbench's tables.

use workloads::pgbench::init::{InitOptions, Loading, PartitionMethod, parse_steps};

use super::connection::ConnectionArgs;
use super::fault::ArgumentError;

const DEFAULT_STEPS: &str = "dtgvp";

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InitSettings {
    pub(crate) connection: ConnectionArgs,
    /// Its steps respect `-n` and `--foreign-keys`, and may be empty.
    pub(crate) tables: InitOptions,
    pub(crate) loading: Loading,
}

#[derive(Debug, Default)]
pub(super) struct Init {
    pub(super) steps: Option<String>,
    pub(super) partition_method: Option<PartitionMethod>,
    /// Complete except for the steps and the method.
    pub(super) tables: InitOptions,
    pub(super) loading: Loading,
}

impl Init {
    pub(super) fn decide(
        self,
        connection: ConnectionArgs,
        no_vacuum: bool,
    ) -> Result<InitSettings, ArgumentError> {
        let Self { steps, partition_method, mut tables, loading } = self;
        if tables.partitions == 0 && partition_method.is_some() {
            return Err(ArgumentError::error("--partition-method requires greater than zero --partitions"));
        }
        let mut steps = steps.unwrap_or_else(|| DEFAULT_STEPS.to_owned());
        steps.retain(|step| step != ' ' && !(no_vacuum && step == 'v'));
        if std::mem::take(&mut tables.foreign_keys) && !steps.contains('f') {
            steps.push('f');
        }
        // parse_steps refuses an empty list, but `-n -I v` leaves none.
        tables.steps =
            if steps.is_empty() { Vec::new() } else { parse_steps(&steps).map_err(ArgumentError::error)? };
        tables.partition_method = partition_method.unwrap_or_default();
        Ok(InitSettings { connection, tables, loading })
    }
}
