//! A server's processes for one load, each on a CPU of its own by turns: the same for every load beside it.

use super::system::{children, place};
use super::{Cpus, allowed};

/// Puts what a server forks for a load on its CPUs.
///
/// Where two loads are compared that take turns, the scheduler leaves the processes of each where they are for a second or
/// two; what it then did for one and not for the other is taken for a difference between them.
#[derive(Debug)]
pub struct Spread {
    cpus: Vec<usize>,
    /// Of these postmasters, the processes that were there already.
    before: Vec<(u32, Vec<i32>)>,
}

impl Spread {
    /// Over the CPUs that we may use; `None` where the system does not say which, or cannot place processes.
    #[must_use]
    pub fn begin() -> Option<Self> {
        let cpus: Vec<usize> = allowed().ok()?.iter().collect();
        Some(Self { cpus, before: Vec::new() })
    }

    /// The CPUs.
    #[must_use]
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Clients are going to connect to this server.
    pub fn watch(&mut self, postmaster: u32) {
        self.before.retain(|(of, _)| *of != postmaster);
        self.before.push((postmaster, children(postmaster)));
    }

    /// Its clients are connected: each process that was forked since gets the next CPU. Gives how many.
    pub fn place_new(&mut self, postmaster: u32) -> usize {
        let Some((_, before)) = self.before.iter().find(|(of, _)| *of == postmaster) else { return 0 };
        let mut new: Vec<i32> =
            children(postmaster).into_iter().filter(|pid| !before.contains(pid)).collect();
        new.sort_unstable();
        for (pid, cpu) in new.iter().zip(self.cpus.iter().cycle()) {
            // One that ended meanwhile was nobody's of the load.
            let _ = place(pid.cast_unsigned(), &Cpus::from_iter([*cpu]));
        }
        new.len()
    }
}
