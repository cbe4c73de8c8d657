//! Slices: short stretches in which one arm of a pair worked while the others waited.

use serde::{Deserialize, Serialize};

/// One slice of a run. Slices come in groups in which every arm has two, in the order A B B A of two arms: a *quad*.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Number of the quad, from 0; the same for the arms that took turns in it.
    pub quad: u32,
    /// When its clients were let go, µs since the first slice of any arm, on the monotonic clock.
    pub start_us: i64,
    /// How long it was to be, µs.
    pub length_us: u64,
    /// How long transactions went on after that, µs.
    pub drain_us: u64,
    /// Transactions that ended well, those of the drain included.
    pub succeeded: u64,
    /// Sum over the clients of the time from their release to the end of their last transaction, µs.
    pub at_work_us: f64,
    /// CPU time that the hypervisor took from the start of this slice to that of the next, where the system tells, %.
    pub steal_pct: Option<f64>,
    /// Whether its quad does not count, because a drain in it took too long or the load generator stood still.
    pub is_void: bool,
}
