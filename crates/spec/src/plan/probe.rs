//! What a user may say about a probe of a server's hardware.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeOptions {
    /// Approximate total time: 2 s..=1 h.
    pub time: Duration,
    /// Most scratch data on the server's disk at a time, and most memory of all backends together, bytes: 64
    /// MB..=1 TB.
    pub space_bytes: u64,
    /// Nothing is written, not even a temporary table.
    pub read_only: bool,
    /// Number of backends for "all", 1..=1024; determined if absent.
    pub backends: Option<u32>,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), space_bytes: 256 << 20, read_only: false, backends: None }
    }
}
