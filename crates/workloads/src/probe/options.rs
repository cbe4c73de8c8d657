//! What a user may say about a probe.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::WorkloadError;

/// Scratch data of the index build: taken from the space before the pages that are read.
pub(super) const INDEX_BYTES: u64 = 24 << 20;

/// How much a probe may take, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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

impl Options {
    /// Checks ranges.
    ///
    /// # Errors
    /// [`WorkloadError::Option`].
    pub fn validate(&self) -> Result<(), WorkloadError> {
        if !(Duration::from_secs(2)..=Duration::from_secs(3600)).contains(&self.time) {
            return Err(WorkloadError::option("probe.time", "must be from 2s to 1h"));
        }
        if !(64 << 20..=1 << 40).contains(&self.space_bytes) {
            return Err(WorkloadError::option("probe.space", "must be from 64MB to 1TB"));
        }
        if self.backends.is_some_and(|backends| !(1..=1024).contains(&backends)) {
            return Err(WorkloadError::option("probe.backends", "must be from 1 to 1024"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_kept() {
        let base = Options::default;
        let cases = [
            (base(), None),
            (Options { time: Duration::from_secs(1), ..base() }, Some("probe.time: must be from 2s to 1h")),
            (Options { space_bytes: 1 << 20, ..base() }, Some("probe.space: must be from 64MB to 1TB")),
            (Options { backends: Some(0), ..base() }, Some("probe.backends: must be from 1 to 1024")),
        ];
        for (options, wanted) in cases {
            let problem = options.validate().err().map(|error| error.to_string());
            assert_eq!(problem.as_deref(), wanted, "{options:?}");
        }
    }
}
