//! Slices: short periods in which one arm of a pair works while the others wait.

use serde::{Deserialize, Serialize};

/// One slice of a run. Slices come in groups in which every arm has two, in the order A B B A for two arms: a
/// *quad*.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Number of the quad, from 0; the same for all arms in it.
    pub quad: u32,
    /// When its clients were released, µs since the first slice of any arm, on the monotonic clock.
    pub start_us: i64,
    /// Planned length, µs.
    pub length_us: u64,
    /// How long transactions continued after that, µs.
    pub drain_us: u64,
    /// Successful transactions, including the drain's.
    pub succeeded: u64,
    /// Sum over clients of the time from release to the end of the last transaction, µs.
    pub at_work_us: f64,
    /// CPU time taken by the hypervisor from the start of this slice to the start of the next, %; `None` if
    /// the system does not report it.
    pub steal_pct: Option<f64>,
    /// CPU time of all processes of its arm's server, µs: of a separate server since the arm's last slice, of a
    /// shared one in this slice. `None` if it could not be read.
    pub server_cpu_us: Option<f64>,
    /// Whether its quad does not count: a drain took too long, or the load generator stalled.
    pub is_void: bool,
}
