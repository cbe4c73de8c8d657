//! Options of a pooler.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a server connection returns to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PoolMode {
    /// When the client disconnects.
    Session,
    /// After each transaction.
    Transaction,
    /// After each statement; transactions of several statements are refused.
    Statement,
}

impl PoolMode {
    /// The name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Transaction => "transaction",
            Self::Statement => "statement",
        }
    }
}

impl fmt::Display for PoolMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A pooler of one of the known kinds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PoolerChoice {
    PgBouncer(PoolerOptions),
    Pgpool(PgpoolOptions),
}

impl PoolerChoice {
    /// Its kind and options as text.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::PgBouncer(options) => format!("PgBouncer, {}", options.words()),
            Self::Pgpool(options) => format!("Pgpool-II, {}", options.words()),
        }
    }
}

/// When Pgpool-II chooses the server of reads.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Balance {
    /// When a client connects.
    #[default]
    Session,
    /// For each statement.
    Statement,
}

impl Balance {
    /// The value in experiment files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Statement => "statement",
        }
    }
}

/// Options of a Pgpool-II in front of a server and its replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PgpoolOptions {
    pub balance: Balance,
    /// Other settings of `pgpool.conf`, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

impl PgpoolOptions {
    /// The options as text: `reads balanced by session, backend_weight0 = 0`.
    #[must_use]
    pub fn words(&self) -> String {
        let settings: String =
            self.settings.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
        format!("reads balanced by {}{settings}", self.balance.name())
    }
}

/// The program of a pooler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PoolerKind {
    #[default]
    PgBouncer,
    Pgpool,
}

/// Options of a PgBouncer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolerOptions {
    pub pool_mode: PoolMode,
    /// Most connections to the server, 1 to 10000 (`default_pool_size`: the load is one user of one
    /// database).
    pub pool_size: u32,
    /// Other settings of `pgbouncer.ini`, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

impl PoolerOptions {
    /// The options as text: `transaction pooling, 2 connections to the server, server_lifetime = 60`.
    #[must_use]
    pub fn words(&self) -> String {
        let connections = if self.pool_size == 1 { "connection" } else { "connections" };
        let settings = self.settings.iter().map(|(name, value)| format!(", {name} = {value}"));
        let settings: String = settings.collect();
        format!("{} pooling, {} {connections} to the server{settings}", self.pool_mode, self.pool_size)
    }
}
