//! The time of the layers of a tile that one statement makes.

use serde::{Deserialize, Serialize};

/// What one layer took of the execution of a statement that makes several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayerTime {
    /// As in the tile, else the function that makes it, or the table.
    pub name: String,
    pub ms: f64,
    pub source: LayerTimeSource,
}

/// The name under which [`LayerTime`] gives what belongs to no layer, or to several of them: CTEs and statements
/// that several layers use, and what is done with their results.
pub const OUTSIDE_LAYERS: &str = "outside of layers";

/// Where the time of a layer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerTimeSource {
    /// The statement's own plan.
    Plan,
    /// A plan of a statement in a function, as `auto_explain` reports it.
    Nested,
    /// A statement with this layer alone.
    Alone,
}

impl LayerTimeSource {
    /// As stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Nested => "nested",
            Self::Alone => "alone",
        }
    }
}
