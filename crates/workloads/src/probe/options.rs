//! What a user may say about a probe.

use std::time::Duration;

use serde::Serialize;

/// Scratch data of the index build: taken from the space before the pages that are read.
pub(super) const INDEX_BYTES: u64 = 24 << 20;

/// How much a probe may take, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Options {
    /// All parts together, about: 2 s..=1 h.
    pub time: Duration,
    /// Most scratch data on the server's disk at a time, and most memory of all backends together, bytes: 64 MB..=1 TB.
    pub space_bytes: u64,
    /// Nothing is written, not even a temporary table.
    pub read_only: bool,
    /// How many backends "all" are, 1..=1024; found out where it is not said.
    pub backends: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), space_bytes: 256 << 20, read_only: false, backends: None }
    }
}
