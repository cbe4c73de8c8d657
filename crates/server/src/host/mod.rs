//! Facts about this machine, and what it did during a run.
//!
//! Everything is read from the kernel's files; where one is missing (another system, a closed container) the
//! fact is left out, never guessed.

mod backends;
pub(crate) mod cgroup;
mod counters;
mod disk;
mod facts;
mod family;
pub(crate) mod proc;
mod sample;
mod traffic;

use std::path::Path;

pub use backends::{Backends, ClientsToCome};
pub use cgroup::quota_files;
pub use counters::HardwareCounters;
pub use disk::Disk;
pub(crate) use disk::is_mounted;
pub use family::{OtherPrograms, ServerCpu};
pub use sample::HostSample;
pub use traffic::DiskTraffic;

/// A stable name of this machine, which does not reveal its machine id.
pub(crate) fn machine() -> String {
    facts::identity(&facts::host_name())
}

/// Logical CPUs this process may use: the smaller of its affinity and its cgroup's quota.
#[must_use]
pub fn cores() -> u32 {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Memory this process may use, bytes: the cgroup's limit, otherwise the machine's memory.
#[must_use]
pub fn memory_bytes() -> u64 {
    let machine = facts::machine_memory_bytes();
    cgroup::memory_limit_bytes(Path::new("/")).map_or(machine, |limit| limit.min(machine))
}

/// The stored description of this machine; `data_folder` is a local server's.
#[must_use]
pub fn describe(data_folder: Option<&Path>) -> spec::Host {
    let name = facts::host_name();
    let mut facts = facts::facts();
    if let Some(disk) = data_folder.and_then(Disk::of) {
        facts.extend(disk.facts());
    }
    spec::Host {
        uuid: facts::identity(&name),
        name,
        cpu: facts::cpu_model(),
        cores: cores(),
        memory_bytes: memory_bytes(),
        facts,
    }
}
