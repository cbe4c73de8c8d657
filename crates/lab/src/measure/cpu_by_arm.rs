//! CPU time of the servers of arms that take turns.

use server::host::ServerCpu;

/// The servers of the arms.
#[derive(Debug, Clone, Default)]
pub(crate) struct Postmasters {
    /// Their pids, if they are known to be on this machine.
    pub(crate) by_arm: Vec<Option<u32>>,
    /// Whether each arm has a separate server.
    pub(crate) own: bool,
}

/// Readings by arm. `R` is a reading, and `F` reads the server with a pid.
pub(super) struct CpuByArm<'a, R, F> {
    servers: &'a Postmasters,
    take: F,
    /// Seconds from a reading to a later one.
    used: fn(R, R) -> Option<f64>,
    /// The reading since which CPU time counts for an arm.
    since: Vec<Option<R>>,
}

/// Reads the servers for the first time.
pub(super) fn begin(servers: &Postmasters) -> CpuByArm<'_, ServerCpu, fn(u32) -> Option<ServerCpu>> {
    CpuByArm::begin(servers, ServerCpu::take, |before, now| now.seconds_since(before))
}

impl<'a, R: Copy, F: FnMut(u32) -> Option<R>> CpuByArm<'a, R, F> {
    fn begin(servers: &'a Postmasters, mut take: F, used: fn(R, R) -> Option<f64>) -> Self {
        let since = servers.by_arm.iter().map(|server| server.and_then(&mut take)).collect();
        Self { servers, take, used, since }
    }

    /// An arm is about to work. What its own server does while other arms work is late work of this arm. A
    /// shared server's belongs to no arm in particular, and counts for the arms that work then.
    pub(super) fn turn_begins(&mut self, arm: usize) {
        if !self.servers.own {
            self.read(arm);
        }
    }

    /// Seconds that an arm's server used for it since its last turn; `None` if that could not be read.
    pub(super) fn turn_ended(&mut self, arm: usize) -> Option<f64> {
        let before = self.since.get(arm).copied().flatten();
        (self.used)(before?, self.read(arm)?)
    }

    fn read(&mut self, arm: usize) -> Option<R> {
        let now = self.servers.by_arm.get(arm).copied().flatten().and_then(&mut self.take);
        *self.since.get_mut(arm)? = now;
        now
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// CPU seconds of two arms in the turns A B B A. In its own turn A's server uses 0.5 s and B's 0.7 s. In the
    /// turns of the other arm each uses 0.1 s for its earlier work. Some readings fail.
    fn turns(own: bool, fails: fn(u32) -> bool) -> Vec<Option<f64>> {
        let pids = if own { [7, 8] } else { [7, 7] };
        let servers = Postmasters { by_arm: pids.map(Some).to_vec(), own };
        let (used, reads) = (Cell::new([0.0, 0.0]), Cell::new(0));
        let take = |pid| {
            reads.set(reads.get() + 1);
            let [a, b]: [f64; 2] = used.get();
            let seconds = if own { if pid == 7 { a } else { b } } else { a + b };
            (!fails(reads.get())).then_some(seconds)
        };
        let mut cpu = CpuByArm::begin(&servers, take, |before, now| Some(now - before));
        let mut of_turns = Vec::new();
        for arm in [0, 1, 1, 0] {
            cpu.turn_begins(arm);
            let [a, b] = used.get();
            used.set(if arm == 0 { [a + 0.5, b + 0.1] } else { [a + 0.1, b + 0.7] });
            of_turns.push(cpu.turn_ended(arm).map(|seconds| (seconds * 1e6).round() / 1e6));
        }
        of_turns
    }

    /// Regression: what a server of an arm did between its turns was nobody's.
    #[test]
    fn late_work_of_an_arms_own_server_is_its_own() {
        assert_eq!(turns(true, |_| false), [Some(0.5), Some(0.8), Some(0.7), Some(0.7)]);
    }

    #[test]
    fn work_of_a_shared_server_belongs_to_the_arm_at_work() {
        assert_eq!(turns(false, |_| false), [Some(0.6), Some(0.8), Some(0.8), Some(0.6)]);
    }

    #[test]
    fn a_turn_whose_begin_or_end_was_not_read_has_no_cpu_time() {
        // The third reading is the end of A's first turn; its second turn has no begin then.
        assert_eq!(turns(true, |read| read == 3), [None, Some(0.8), Some(0.7), None]);
        let none = Postmasters { by_arm: vec![None, Some(7)], own: true };
        let mut cpu = CpuByArm::begin(&none, |_| Some(1.0), |before, now| Some(now - before));
        assert_eq!([0, 1, 2].map(|arm| cpu.turn_ended(arm)), [None, Some(0.0), None]);
    }
}
