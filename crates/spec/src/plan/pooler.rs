//! How a pooler shall be.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// When a server connection goes back to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolMode {
    /// When its client disconnects.
    Session,
    /// After each transaction.
    Transaction,
    /// After each statement; transactions of several statements are refused.
    Statement,
}

impl PoolMode {
    /// As the configuration names it.
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

/// How a pooler shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    pub pool_mode: PoolMode,
    /// Connections to the server at most, 1 to 10000 (`default_pool_size`: the load is one user of one database).
    pub pool_size: u32,
    /// Further settings of `pgbouncer.ini`, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

impl Options {
    /// In words: `transaction pooling, 2 connections to the server, server_lifetime = 60`.
    #[must_use]
    pub fn words(&self) -> String {
        let connections = if self.pool_size == 1 { "connection" } else { "connections" };
        let settings = self.settings.iter().map(|(name, value)| format!(", {name} = {value}"));
        let settings: String = settings.collect();
        format!("{} pooling, {} {connections} to the server{settings}", self.pool_mode, self.pool_size)
    }
}
