//! What is to be known of workloads and settings, before anything is asked, to decide where arms stand and whether they take turns.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Settings that a connection can carry, and whose effect stays when it is gone.
pub(super) const LEAVE_SOMETHING: [&str; 2] = ["synchronous_commit", "default_toast_compression"];

/// What of workloads decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Those that change data.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub writes: BTreeSet<String>,
    /// Those that connect for each transaction.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reconnects: BTreeSet<String>,
    /// Those that are done once to their end.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub jobs: BTreeSet<String>,
    /// Whether servers that arms are on turned out to be one server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_server: bool,
}

impl Facts {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
