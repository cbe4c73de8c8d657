//! Definitions of named levels: an experiment file's tables `[server.NAME]`, `[version.NAME]`,
//! `[pooler.NAME]`, `[change.NAME.LEVEL]`, `[placement.NAME]` and `[storage.NAME]`, and the factors of `[by_hand]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::storage::Storage;
use super::{Build, Placement, TargetSpec, pooler};

/// Each kind of definition by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Named {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, TargetSpec>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub builds: BTreeMap<String, Build>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub poolers: BTreeMap<String, pooler::PoolerChoice>,
    /// By name of the factor, then of the level.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, BTreeMap<String, Change>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub placements: BTreeMap<String, Placement>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub storages: BTreeMap<String, Storage>,
    /// Factors whose levels only a person can set, such as the speed of memory.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_hand: BTreeMap<String, ByHand>,
}

/// A factor whose levels only a person can set. Its levels do not belong to the identity, so more can be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByHand {
    /// Rounds of a set: the runs that are measured between two changes of the level.
    pub rounds: u32,
}

impl ByHand {
    /// The set of a round; both count from 1.
    #[must_use]
    pub fn set_of(self, round: u32) -> u32 {
        round.div_ceil(self.rounds.max(1))
    }

    /// The rounds of a set.
    #[must_use]
    pub fn rounds_of(self, set: u32) -> std::ops::RangeInclusive<u32> {
        (set - 1) * self.rounds + 1..=set * self.rounds
    }
}
