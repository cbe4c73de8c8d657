//! Whether the arms of a cell take turns in slices, or run one after the other. Decided when the experiment begins, kept
//! with the plan, and no part of the identity.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Which arms take turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slicing {
    /// Workloads whose arms run one after the other, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uncut: BTreeMap<String, String>,
    /// What is to be known of workloads, to decide again where arms stand otherwise than they were wanted to.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

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
    /// Whether it is all as usual.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
