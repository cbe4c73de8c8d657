//! What makes an experiment this one and no other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One level of the compared factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Name; `None` where the file has no settings.
    pub name: Option<String>,
    /// Settings, shares of the machine computed.
    pub settings: BTreeMap<String, String>,
    /// What in them weakens crash safety or upkeep, in words.
    pub weakens: Vec<String>,
}

/// Workloads that run once a round outside the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Their names.
    #[serde(rename = "beside_workloads")]
    pub workloads: Vec<String>,
    #[serde(rename = "beside_clients")]
    pub clients: Vec<u32>,
}

/// Runs that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotRun {
    /// Which: levels, in words.
    pub what: String,
    pub why: String,
}
