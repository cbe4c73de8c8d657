//! What a user may write about Redis.

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::WorkloadError;
use crate::words::unknown_word;

/// `redis = { command = "set", value_bytes = 32000, keys = 10000 }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// What clients send.
    pub command: Command,
    /// Length of each value in bytes, 1..=536,870,912 (Redis' own limit).
    #[serde(default = "default_value_bytes")]
    pub value_bytes: u64,
    /// Keys in use, each as likely as another, 1..=1,000,000,000.
    #[serde(default = "default_keys")]
    pub keys: u64,
}

fn default_value_bytes() -> u64 {
    32_000
}

fn default_keys() -> u64 {
    10_000
}

/// A Redis command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Writes a value under a random key.
    Set,
    /// Reads the value of a random key; all keys are written before the run.
    Get,
}

impl Command {
    /// All, as written.
    pub const NAMES: [&'static str; 2] = ["set", "get"];

    /// As Redis names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Set => "SET",
            Self::Get => "GET",
        }
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match String::deserialize(source)?.to_ascii_lowercase().as_str() {
            "set" => Ok(Self::Set),
            "get" => Ok(Self::Get),
            other => Err(serde::de::Error::custom(unknown_word("command", other, &Self::NAMES))),
        }
    }
}

impl Options {
    /// Checks ranges.
    ///
    /// # Errors
    /// [`WorkloadError::Option`].
    pub fn validate(&self) -> Result<(), WorkloadError> {
        if !(1..=512 << 20).contains(&self.value_bytes) {
            let problem = format!("{} is not within 1..536870912", self.value_bytes);
            return Err(WorkloadError::option("redis.value_bytes", problem));
        }
        if !(1..=1_000_000_000).contains(&self.keys) {
            let problem = format!("{} is not within 1..1000000000", self.keys);
            return Err(WorkloadError::option("redis.keys", problem));
        }
        Ok(())
    }
}
