//! Memory of the server processes of arms that take turns, read while all arms are held.

use std::time::{Duration, Instant};

use server::host::Backends;
use spec::{BACKENDS, PRIVATE_BYTES, Sample, Scope};

/// Least time between two looks.
const EVERY: Duration = Duration::from_millis(250);
/// Least time between two looks, as a multiple of how long one takes: thousands of processes take some ms.
const OF_A_LOOK: u32 = 50;

/// When to look, and how long each arm has worked.
pub(super) struct MemoryLooks {
    due: Instant,
    worked_us: Vec<u64>,
}

impl MemoryLooks {
    pub(super) fn begin(arms: usize) -> Self {
        Self { due: Instant::now(), worked_us: vec![0; arms] }
    }

    /// An arm has worked for a slice.
    pub(super) fn worked(&mut self, arm: usize, us: u64) {
        self.worked_us[arm] += us;
    }

    /// Looks at all arms, if that is due.
    pub(super) fn look<'a>(
        &mut self,
        arms: impl Iterator<Item = (Option<&'a Backends>, &'a mut Vec<Sample>)>,
    ) {
        let start = Instant::now();
        if start < self.due {
            return;
        }
        for ((backends, samples), worked_us) in arms.zip(&self.worked_us) {
            let bytes = backends.and_then(Backends::private_bytes);
            samples.extend(bytes.map(|bytes| Sample {
                scope: Scope::Arm,
                source: BACKENDS.to_owned(),
                name: PRIVATE_BYTES.to_owned(),
                time_us: *worked_us as i64,
                value: bytes as f64,
            }));
        }
        self.due = start + EVERY.max(OF_A_LOOK * start.elapsed());
    }
}
