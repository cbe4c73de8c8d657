//! Which arms of a cell take turns in slices, and which run one after the other. Decided at the start of the
//! experiment, stored with the plan, and not part of the identity.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Which arms take turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slicing {
    /// Workloads whose arms run one after the other, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uncut: BTreeMap<String, String>,
    /// Facts about workloads, to decide again if arms cannot run where planned.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

/// Facts about workloads that decide on slices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Workloads that change data.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub writes: BTreeSet<String>,
    /// Workloads that connect for each transaction.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reconnects: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub jobs: BTreeSet<String>,
    /// Whether servers of different arms turned out to be one server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_server: bool,
}

impl Facts {
    /// Whether no fact is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
