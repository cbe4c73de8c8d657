//! Options of a pooler.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// When a server connection returns to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolMode {
    Session,
    /// After each transaction.
    Transaction,
    /// After each statement; transactions with several statements are refused.
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

/// Options of a pooler.
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
