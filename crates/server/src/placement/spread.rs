//! Spreads a server's processes for one load over the CPUs in turn, the same for every load compared with it.

use spec::plan::Cpus;

use super::allowed;
use super::system::{children, place};

/// Places the processes that a server forks for a load.
///
/// The scheduler leaves the processes of each load where they are for a second or two. Where two loads that
/// take turns are compared, its choice for one and not for the other would look like a difference between
/// them.
#[derive(Debug)]
pub struct Spread {
    cpus: Vec<usize>,
    /// For each postmaster, the processes that existed already.
    before: Vec<(u32, Vec<i32>)>,
}

impl Spread {
    /// Over the CPUs that we may use; `None` where the system does not report them, or cannot place
    /// processes.
    #[must_use]
    pub fn begin() -> Option<Self> {
        let cpus: Vec<usize> = allowed().ok()?.iter().collect();
        Some(Self { cpus, before: Vec::new() })
    }

    /// The CPUs that processes are spread over.
    #[must_use]
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Clients will connect to this server.
    pub fn watch(&mut self, postmaster: u32) {
        self.before.retain(|(of, _)| *of != postmaster);
        self.before.push((postmaster, children(postmaster)));
    }

    /// Its clients are connected: each process forked since gets the next CPU. Returns their number.
    pub fn place_new(&mut self, postmaster: u32) -> usize {
        let Some((_, before)) = self.before.iter().find(|(of, _)| *of == postmaster) else { return 0 };
        let mut new: Vec<i32> =
            children(postmaster).into_iter().filter(|pid| !before.contains(pid)).collect();
        new.sort_unstable();
        for (pid, cpu) in new.iter().zip(self.cpus.iter().cycle()) {
            // A process that ended meanwhile did not belong to the load.
            let _ = place(pid.cast_unsigned(), &Cpus::from_iter([*cpu]));
        }
        new.len()
    }
}
