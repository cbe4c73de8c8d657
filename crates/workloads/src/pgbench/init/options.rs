//! Options for making pgbench's tables.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use spec::Error;

use super::steps::{self, InitStep};
use crate::error;
use crate::error::unknown_word;

/// Largest scale, as in pgbench.
const LARGEST_SCALE: u32 = i32::MAX as u32;

/// `pgbench = { scale = 10 }` in `[prepare]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InitOptions {
    /// Scale factor; 100,000 accounts each.
    pub scale: u32,
    /// Steps in order, pgbench's letters: d drop, t tables, g rows made here, G rows made on the server, v vacuum, p
    /// primary keys, f foreign keys.
    #[serde(deserialize_with = "steps::read", serialize_with = "steps::write")]
    #[schemars(with = "String")]
    pub steps: Vec<InitStep>,
    /// Fill factor of the tables, percent.
    #[schemars(range(min = 10, max = 100))]
    pub fillfactor: u32,
    /// Make unlogged tables.
    pub unlogged: bool,
    /// Add foreign keys.
    pub foreign_keys: bool,
    /// Partitions of the accounts; 0 for none.
    pub partitions: u32,
    /// How accounts are divided among partitions.
    pub partition_method: PartitionMethod,
    /// Tablespace of the tables.
    pub tablespace: Option<String>,
    /// Tablespace of the primary keys.
    pub index_tablespace: Option<String>,
    /// Report progress every 5 s instead of every 100,000 rows.
    pub quiet: bool,
}

impl Default for InitOptions {
    fn default() -> Self {
        use InitStep::{CreateTables, Drop, Generate, PrimaryKeys, Vacuum};
        Self {
            scale: 1,
            steps: vec![Drop, CreateTables, Generate, Vacuum, PrimaryKeys],
            fillfactor: 100,
            unlogged: false,
            foreign_keys: false,
            partitions: 0,
            partition_method: PartitionMethod::Range,
            tablespace: None,
            index_tablespace: None,
            quiet: false,
        }
    }
}

/// How accounts are divided among partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PartitionMethod {
    #[default]
    Range,
    Hash,
}

impl<'de> Deserialize<'de> for PartitionMethod {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match String::deserialize(source)?.to_ascii_lowercase().as_str() {
            "range" => Ok(Self::Range),
            "hash" => Ok(Self::Hash),
            other => {
                Err(serde::de::Error::custom(unknown_word("partition_method", other, &["range", "hash"])))
            }
        }
    }
}

impl InitOptions {
    /// pgbench's defaults at this scale.
    #[must_use]
    pub fn at_scale(scale: u32) -> Self {
        Self { scale, ..Self::default() }
    }

    /// Checks that each option is within its range, and that they go together.
    pub fn validate(&self) -> Result<(), Error> {
        let wrong = |key: &str, problem: &str| Err(error::option(format!("pgbench.{key}"), problem));
        if !(1..=LARGEST_SCALE).contains(&self.scale) {
            return wrong("scale", "must be at least 1 and fit 31 bits");
        }
        if !(10..=100).contains(&self.fillfactor) {
            return wrong("fillfactor", "is not within 10..100");
        }
        if self.partition_method == PartitionMethod::Hash && self.partitions == 0 {
            return wrong("partition_method", "means nothing without partitions");
        }
        Ok(())
    }

    /// Estimated size of rows and primary keys on the disk. A page of 8 kB holds 61 accounts, and a page of
    /// the index, which is filled to nine tenths, holds 366. Without the write-ahead log.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        const PAGE: u64 = 8192;
        let fills =
            self.steps.iter().any(|step| matches!(step, InitStep::Generate | InitStep::GenerateOnServer));
        let accounts = u64::from(self.scale) * 100_000;
        let pages = (accounts.div_ceil(61) * 100).div_ceil(u64::from(self.fillfactor.clamp(10, 100)));
        let has_keys = self.steps.contains(&InitStep::PrimaryKeys);
        let index = if has_keys { accounts.div_ceil(366) } else { 0 };
        if fills { (pages + index) * PAGE } else { 0 }
    }

    /// The steps, including separately requested foreign keys.
    #[must_use]
    pub fn all_steps(&self) -> Vec<InitStep> {
        let mut steps = self.steps.clone();
        if self.foreign_keys && !steps.contains(&InitStep::ForeignKeys) {
            steps.push(InitStep::ForeignKeys);
        }
        steps
    }
}

/// How the rows are loaded, in addition to pgbench's options. The data do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loading {
    /// Connections that load accounts at once. At least 1. With more than one (and no batches) all of them
    /// commit at the end.
    pub jobs: u32,
    /// Accounts per transaction, at least 1; `None` for one transaction.
    pub batch: Option<u64>,
}

impl Default for Loading {
    fn default() -> Self {
        Self { jobs: 1, batch: None }
    }
}

impl Loading {
    /// Most connections that may load at once.
    pub const MOST_JOBS: u32 = 1000;

    /// As in pgbench: one connection, one transaction.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that each option is within its range, and that they go together.
    pub fn validate(&self) -> Result<(), Error> {
        if !(1..=Self::MOST_JOBS).contains(&self.jobs) {
            let problem = format!("is not within 1..{}", Self::MOST_JOBS);
            return Err(error::option("--init-jobs", problem));
        }
        if self.batch == Some(0) {
            return Err(error::option("--init-batch", "must be at least 1"));
        }
        Ok(())
    }
}
