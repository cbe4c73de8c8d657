//! What the names of levels stand for: an experiment file's tables `[server.NAME]`, `[version.NAME]`, `[pooler.NAME]`,
//! `[change.NAME.LEVEL]`, `[placement.NAME]` and `[storage.NAME]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::storage::Storage;
use super::{Build, Placement, TargetSpec, pooler};

/// Each kind by its names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Named {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, TargetSpec>,
    /// Builds of PostgreSQL.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub builds: BTreeMap<String, Build>,
    /// Poolers between clients and server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub poolers: BTreeMap<String, pooler::Options>,
    /// Changes of one's own, by the name of the factor and of the level.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changes: BTreeMap<String, BTreeMap<String, Change>>,
    /// Placements of client threads and servers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub placements: BTreeMap<String, Placement>,
    /// What files of managed servers stand on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub storages: BTreeMap<String, Storage>,
}
