//! Options of asking for each tile once.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `once = { connections = 4, mbtiles = "roads.mbtiles" }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OnceOptions {
    /// Tiles requested at the same time, each over its own connection.
    #[schemars(range(min = 1, max = 1000))]
    pub connections: u32,
    /// MBTiles file to write the tiles to. An unfinished one is continued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mbtiles: Option<PathBuf>,
    /// Continue an interrupted run. MBTiles files are always continued.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resume: bool,
    /// Start no tile after this time, s; the rest is estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most_s: Option<f64>,
}

impl Default for OnceOptions {
    fn default() -> Self {
        Self { connections: 1, mbtiles: None, resume: false, at_most_s: None }
    }
}

impl OnceOptions {
    /// What is wrong with it: its key and the problem.
    pub(in crate::tiles) fn problem(&self) -> Option<(&'static str, String)> {
        if !(1..=1000).contains(&self.connections) {
            return Some(("once.connections", format!("{} is not within 1..1000", self.connections)));
        }
        let at_most = self.at_most_s.filter(|seconds| !(seconds.is_finite() && *seconds > 0.0));
        at_most.map(|seconds| ("once.at_most_s", format!("{seconds} must be above 0")))
    }

    /// The same, for the choice of tiles alone.
    pub(in crate::tiles) fn without_files(&self) -> Self {
        Self { mbtiles: None, resume: false, ..self.clone() }
    }
}
