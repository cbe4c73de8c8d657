//! Definitions of named levels: an experiment file's tables `[server.NAME]`, `[version.NAME]`,
//! `[pooler.NAME]`, `[change.NAME.LEVEL]`, `[placement.NAME]` and `[storage.NAME]`.

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
    pub poolers: BTreeMap<String, pooler::PoolerOptions>,
    /// By name of the factor, then of the level.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, BTreeMap<String, Change>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub placements: BTreeMap<String, Placement>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub storages: BTreeMap<String, Storage>,
}
