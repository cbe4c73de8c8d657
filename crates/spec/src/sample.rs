//! What was watched while a run lasted: one long list of samples, beside the engine's series.

use serde::{Deserialize, Serialize};

/// One figure at one time, as a collector read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub scope: Scope,
    /// The collector: `host`, `postgres`, ...
    pub source: String,
    /// Quantity with its unit last: `cpu_busy_pct`, `wal_bytes`.
    pub name: String,
    /// µs since the start of the measured part; before it in the warm-up.
    pub time_us: i64,
    /// Samples that are no finite number are not stored.
    pub value: f64,
}

/// Source of the samples that say what server processes at work waited for; a name is what they waited for
/// (`Lock:transactionid`; `CPU` for nothing) with [`WAITS_UNIT`] behind it, a value how many did.
pub const WAITS: &str = "waits";
/// What stands behind the names of those samples: they count server processes.
pub const WAITS_UNIT: &str = "_backends";

/// What a sample speaks of. What cannot be told apart by arms is never shown as one arm's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The run, which had the server for itself.
    Run,
    /// The run's arm, whose turn it was.
    Arm,
    /// All arms of the round, which took turns.
    Round,
}
