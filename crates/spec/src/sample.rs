//! Readings of the collectors during a run, as one list.

use serde::{Deserialize, Serialize};

/// One figure at one time, as a collector read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub scope: Scope,
    /// The collector: `host`, `postgres`, ...
    pub source: String,
    /// Quantity with its unit last: `cpu_busy_pct`, `wal_bytes`.
    pub name: String,
    /// µs since the start of the measured part; negative in the warm-up.
    pub time_us: i64,
    /// Finite; other values are not stored.
    pub value: f64,
}

/// Source of the samples on waits of active server processes. A name is the wait event (`Lock:transactionid`;
/// `CPU` for none) followed by [`WAITS_UNIT`], a value the number of processes.
pub const WAITS: &str = "waits";
/// The suffix of these names: they count server processes.
pub const WAITS_UNIT: &str = "_backends";

/// Source of the samples on the server processes of an arm's clients, taken between its slices. Their time is the
/// time at work of the arm since its first slice.
pub const BACKENDS: &str = "backends";
/// Its sample of their private memory together, bytes.
pub const PRIVATE_BYTES: &str = "private_bytes";

/// Source of the samples on a replica, followed by its number from 1: `replay_lag_bytes`, `replay_lag_ms`.
pub const REPLICA: &str = "replica";

/// What a sample describes. A sample that cannot be assigned to an arm is never shown for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The run, which had the server for itself.
    Run,
    /// The run's arm, during its slice.
    Arm,
    /// All arms of the round, which took turns.
    Round,
}
