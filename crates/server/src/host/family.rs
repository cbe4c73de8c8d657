//! CPU time of process trees: of servers, and of programs that are neither pgdyno nor a server under test.
//!
//! A process that ends moves its time to its parent, which waits for it. Reading takes a while, and a process
//! that ends meanwhile would be missed. So a reading counts only if no child was waited for meanwhile, and is
//! repeated otherwise.

use std::collections::{BTreeMap, BTreeSet};

use super::proc::{CpuTicks, Process, children, cpu_ticks, process, processes};

/// Most repetitions of a reading. Where processes end all the time (a connection per transaction), none may
/// succeed.
const LOOKS: usize = 20;

/// CPU time that a server used so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerCpu {
    ticks: u64,
}

impl ServerCpu {
    /// Of a postmaster, its living children, and its reaped children; `None` if it is gone,
    /// or no reading was consistent.
    #[must_use]
    pub fn take(postmaster: u32) -> Option<Self> {
        let ticks = consistent(postmaster, || {
            let living: u64 = children(postmaster).iter().map(Process::ticks).sum();
            Some(process(postmaster)?.ticks() + living)
        })?;
        Some(Self { ticks })
    }

    /// Seconds since an earlier reading; `None` for another server.
    #[must_use]
    pub fn seconds_since(self, before: Self) -> Option<f64> {
        Some(self.ticks.checked_sub(before.ticks)? as f64 / ticks_per_second())
    }
}

/// The first reading of a parent and its children during which no child was waited for.
pub(super) fn consistent<T>(parent: u32, look: impl FnMut() -> Option<T>) -> Option<T> {
    first_consistent(|| Some(process(parent)?.reaped), look)
}

fn first_consistent<T>(
    mut reaped: impl FnMut() -> Option<u64>,
    mut look: impl FnMut() -> Option<T>,
) -> Option<T> {
    for _ in 0..LOOKS {
        let before = reaped()?;
        let seen = look()?;
        if reaped()? == before {
            return Some(seen);
        }
    }
    None
}

/// CPU time of all programs of this machine so far, and our part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherPrograms {
    machine: CpuTicks,
    /// Of pgdyno, what it started, the servers under test, and the kernel's threads, which work for them.
    ours: u64,
}

impl OtherPrograms {
    /// `servers` and their descendants count as ours, and so does pgdyno. `None` where it is unknown.
    #[must_use]
    pub fn take(servers: &[u32]) -> Option<Self> {
        let mut last: Option<BTreeMap<u32, Process>> = None;
        for _ in 0..LOOKS {
            let kernel = process(KERNEL_THREADS.0).filter(|process| process.name == KERNEL_THREADS.1);
            let roots = servers.iter().copied().chain([std::process::id()]);
            let ours = below(roots.chain(kernel.map(|process| process.pid)), processes());
            if last.is_some_and(|last| same_were_reaped(&last, &ours)) {
                return Some(Self { machine: cpu_ticks()?, ours: ours.values().map(Process::ticks).sum() });
            }
            last = Some(ours);
        }
        None
    }

    /// The share of the machine's CPU time that other programs used since `before`, percent.
    #[must_use]
    pub fn pct_since(&self, before: &Self) -> Option<f64> {
        let all = self.machine.total.checked_sub(before.machine.total).filter(|all| *all > 0)?;
        let programs = self.machine.programs.checked_sub(before.machine.programs)?;
        let ours = self.ours.checked_sub(before.ours)?;
        Some(100.0 * programs.saturating_sub(ours) as f64 / all as f64)
    }
}

/// The parent of the kernel's threads where they are shown; in a container another process may have this pid.
const KERNEL_THREADS: (u32, &str) = (2, "kthreadd");

/// Whether no process waited for a child with CPU time between two readings.
fn same_were_reaped(one: &BTreeMap<u32, Process>, next: &BTreeMap<u32, Process>) -> bool {
    one.iter().all(|(pid, process)| next.get(pid).is_none_or(|next| next.reaped == process.reaped))
}

/// These processes and their descendants.
fn below(roots: impl Iterator<Item = u32>, all: impl Iterator<Item = Process>) -> BTreeMap<u32, Process> {
    let mut all: BTreeMap<u32, Process> = all.map(|process| (process.pid, process)).collect();
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    all.values().for_each(|process| children.entry(process.parent).or_default().push(process.pid));
    let mut left: Vec<u32> = roots.collect();
    let mut found = BTreeSet::new();
    while let Some(pid) = left.pop() {
        if found.insert(pid) {
            left.extend(children.get(&pid).into_iter().flatten());
        }
    }
    all.retain(|pid, _| found.contains(pid));
    all
}

fn ticks_per_second() -> f64 {
    // SAFETY: `sysconf` only reads its argument.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// Backends that had used 500 ticks were waited for between the reading of the postmaster and the one of
    /// its children.
    #[test]
    fn cpu_time_of_backends_that_end_while_they_are_read_is_not_lost() {
        let (mut reaped, mut seen) = (VecDeque::from([0, 500, 500, 500]), VecDeque::from([5, 515]));
        assert_eq!(first_consistent(|| reaped.pop_front(), || seen.pop_front()), Some(515));
        let mut ended = 0..;
        let always = first_consistent(|| ended.next(), || Some(5));
        assert_eq!(always, None, "what was never read in one piece is not available");
        let [earlier, later] = [515, 615].map(|ticks| ServerCpu { ticks });
        assert_eq!(later.seconds_since(earlier), Some(100.0 / ticks_per_second()));
        assert_eq!(earlier.seconds_since(later), None);
    }

    /// A shell whose children each work and end.
    #[test]
    fn cpu_time_of_children_that_ended_is_their_parents() {
        let script = "read x; for i in 1 2 3 4 5 6; do sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; done; echo; read x";
        let mut parent = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let before = ServerCpu::take(parent.id()).unwrap();
        let mut input = parent.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, b"\n").unwrap();
        std::io::Read::read_exact(parent.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let after = ServerCpu::take(parent.id()).unwrap();
        let used = process(parent.id()).unwrap();
        assert!(used.reaped > 0, "{used:?}");
        assert!(after.seconds_since(before).unwrap() >= used.reaped as f64 / ticks_per_second() - 0.02);
        drop(input);
        parent.wait().unwrap();
        assert_eq!(ServerCpu::take(parent.id()), None);
    }

    #[test]
    fn others_are_what_is_neither_idle_nor_ours() {
        let at = |programs, ours| OtherPrograms {
            machine: CpuTicks { total: 1000 + 2 * programs, programs, ..CpuTicks::default() },
            ours,
        };
        assert_eq!(at(500, 300).pct_since(&at(0, 0)), Some(20.0));
        // Ticks are counted by sampling: ours may slightly exceed the total.
        assert_eq!(at(500, 510).pct_since(&at(0, 0)), Some(0.0));
        assert_eq!(at(0, 0).pct_since(&at(0, 0)), None);
        assert_eq!(at(500, 0).pct_since(&at(0, 5)), None, "a server under test has ended");
    }

    #[test]
    fn what_we_start_is_ours() {
        let mut child = Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let start = Instant::now();
        let all = loop {
            let all = below([std::process::id()].into_iter(), processes());
            if all.values().filter(|process| process.parent == child.id()).count() == 1 {
                break all;
            }
            assert!(start.elapsed() < Duration::from_secs(10));
        };
        assert!(all.contains_key(&child.id()) && !all.contains_key(&1), "{all:?}");
        all.values().filter(|process| process.parent == child.id()).for_each(|process| {
            let pid = rustix::process::Pid::from_raw(process.pid as i32).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        });
        child.wait().unwrap();
        assert!(OtherPrograms::take(&[]).is_some());
    }
}
