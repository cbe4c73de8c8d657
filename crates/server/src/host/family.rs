//! CPU time of process trees: of servers, and of programs that are neither pgdyno nor a server under test.
//!
//! A process that ends moves its time to its parent, which waits for it. Reading takes a while, and a process
//! that ends meanwhile would be missed. So a reading counts only if no child was waited for meanwhile, and is
//! repeated otherwise.

use std::collections::{BTreeMap, BTreeSet};

use super::proc::{CpuTicks, Process, child_pids, cpu_ns, cpu_ticks, process, processes};

/// Most repetitions of a reading. Where processes end all the time (a connection per transaction), none may
/// succeed.
const LOOKS: usize = 20;

/// CPU time that a server used so far: of the postmaster and its living children in ns, and of processes that
/// have ended in ticks, since the kernel shows no more of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerCpu {
    postmaster: u32,
    living_ns: u64,
    /// Ticks.
    ended: u64,
}

impl ServerCpu {
    /// Of a postmaster, its living children, and all that have ended; `None` if it is gone, or no reading was
    /// consistent.
    #[must_use]
    pub fn take(postmaster: u32) -> Option<Self> {
        Self::read(postmaster, || child_pids(postmaster), cpu_ns, |pid| Some(process(pid)?.reaped))
    }

    fn read(
        postmaster: u32,
        children: impl Fn() -> Vec<u32>,
        cpu_ns: impl Fn(u32) -> Option<u64>,
        ended: impl Fn(u32) -> Option<u64>,
    ) -> Option<Self> {
        let listed = || children().into_iter().collect::<BTreeSet<u32>>();
        for _ in 0..LOOKS {
            let before = listed();
            let living = || before.iter().copied().chain([postmaster]);
            let living_ns = living().map(&cpu_ns).sum::<Option<u64>>();
            // The postmaster comes last: what a child leaves to it must not be read before the child is.
            let ended = living().map(&ended).sum::<Option<u64>>();
            // The counters of ended processes are too coarse to show that one has ended.
            match (living_ns, ended) {
                (Some(living_ns), Some(ended)) if listed() == before => {
                    return Some(Self { postmaster, living_ns, ended });
                }
                _ => {}
            }
        }
        None
    }

    /// Seconds since an earlier reading; `None` for another server. A process that has ended meanwhile is off
    /// by up to two ticks, also below 0; sums of successive differences are not off by more.
    #[must_use]
    pub fn seconds_since(self, before: Self) -> Option<f64> {
        let living = self.living_ns as f64 - before.living_ns as f64;
        let ended = self.ended as f64 - before.ended as f64;
        (self.postmaster == before.postmaster).then(|| living / 1e9 + ended / ticks_per_second())
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
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// Of each process its pid, CPU time in ns, and ticks of its children that have ended.
    type Processes = Vec<(u32, u64, u64)>;

    /// A server with made-up processes.
    #[derive(Default)]
    struct MadeUp {
        /// Each with the number of readings of CPU times after which it holds.
        states: Vec<(usize, Processes)>,
        reads: Cell<usize>,
    }

    impl MadeUp {
        fn now(&self) -> &[(u32, u64, u64)] {
            let reads = self.reads.get();
            &self.states.iter().rev().find(|(since, _)| *since <= reads).expect("a state").1
        }

        fn find(&self, pid: u32) -> Option<(u32, u64, u64)> {
            self.now().iter().copied().find(|(own, ..)| *own == pid)
        }

        fn read(&self) -> Option<ServerCpu> {
            let children = || self.now().iter().map(|(pid, ..)| *pid).filter(|pid| *pid != 1).collect();
            let cpu_ns = |pid| {
                self.reads.set(self.reads.get() + 1);
                Some(self.find(pid)?.1)
            };
            ServerCpu::read(1, children, cpu_ns, |pid| Some(self.find(pid)?.2))
        }
    }

    /// Backends ended between the reading of one process and another: in two comparisons of a build with
    /// itself, 5 of 24 figures were a half to a twentieth of the others.
    #[test]
    fn cpu_time_of_backends_that_end_while_they_are_read_is_not_lost() {
        let backends = vec![(1, 5, 0), (7, 3_000_000_000, 0), (8, 2_000_000_000, 4)];
        // 7 has ended: its three seconds are its parent's.
        let one_ended = vec![(1, 6, 300), (8, 2_000_000_009, 4)];
        for after in 0..=3 {
            let server = MadeUp {
                states: vec![(0, backends.clone()), (after, one_ended.clone())],
                ..MadeUp::default()
            };
            let found = server.read().unwrap();
            let before = ServerCpu { postmaster: 1, living_ns: 0, ended: 0 };
            let seconds = found.seconds_since(before).unwrap();
            assert!((seconds - 5.04).abs() < 1e-6, "after {after} readings: {seconds}");
        }
    }

    #[test]
    fn a_reading_during_which_a_child_was_waited_for_is_repeated() {
        let (mut reaped, mut seen) = (VecDeque::from([0, 500, 500, 500]), VecDeque::from([5, 515]));
        assert_eq!(first_consistent(|| reaped.pop_front(), || seen.pop_front()), Some(515));
        let mut ended = 0..;
        assert_eq!(first_consistent(|| ended.next(), || Some(5)), None);
    }

    /// A backend with less than a tick leaves nothing to see in its parent's counter.
    #[test]
    fn a_backend_that_ends_without_a_whole_tick_is_noticed() {
        let server = MadeUp {
            states: vec![
                (0, vec![(1, 0, 0), (7, 4_000_000, 0), (8, 0, 0)]),
                (2, vec![(1, 0, 0), (8, 900, 0)]),
            ],
            ..MadeUp::default()
        };
        assert_eq!(server.read(), Some(ServerCpu { postmaster: 1, living_ns: 900, ended: 0 }));
    }

    #[test]
    fn what_was_never_read_in_one_piece_is_not_available() {
        // After each reading another process.
        let states = (0..200).map(|at| (at, vec![(1, 0, 0), (100 + at as u32, 9, 0)])).collect();
        assert_eq!(MadeUp { states, ..MadeUp::default() }.read(), None);
    }

    #[test]
    fn differences_are_of_one_server_and_may_be_a_tick_off() {
        let at = |postmaster, living_ns, ended| ServerCpu { postmaster, living_ns, ended };
        let tick = 1.0 / ticks_per_second();
        let since = |now: ServerCpu, before| now.seconds_since(before).unwrap();
        assert!((since(at(1, 1_500_000_000, 2), at(1, 250_000_000, 1)) - 1.25 - tick).abs() < 1e-9);
        // A backend with 3 ms has ended, and shows in no whole tick yet.
        assert!((since(at(1, 0, 0), at(1, 3_000_000, 0)) + 0.003).abs() < 1e-9);
        assert_eq!(at(1, 5, 5).seconds_since(at(2, 0, 0)), None, "it was started again");
    }

    /// A shell whose children each work; all but the last have ended.
    #[test]
    fn cpu_time_of_children_is_their_parents_once_they_have_ended() {
        let work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let script = format!(
            "read x; for i in 1 2 3 4 5 6; do sh -c '{work}'; done; sh -c '{work}; echo; read y' & echo; read x"
        );
        let mut parent = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let before = ServerCpu::take(parent.id()).unwrap();
        let mut input = parent.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, b"\n").unwrap();
        std::io::Read::read_exact(parent.stdout.as_mut().unwrap(), &mut [0; 2]).unwrap();
        let after = ServerCpu::take(parent.id()).unwrap();
        let used = process(parent.id()).unwrap();
        assert!(used.reaped > 0, "{used:?}");
        let seconds = after.seconds_since(before).unwrap();
        // Ended children in ticks, rounded down twice; the living one works as long as each of them.
        let each = used.reaped as f64 / ticks_per_second() / 6.0;
        assert!(seconds >= 6.5 * each - 0.02, "{seconds} s, each {each} s");
        drop(input);
        parent.wait().unwrap();
        assert_eq!(ServerCpu::take(parent.id()), None);
    }

    /// A process that has ended keeps its time until its parent waits for it.
    #[test]
    fn cpu_time_of_a_process_that_nobody_waited_for_is_read() {
        let work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
        let mut child = Command::new("sh").args(["-c", work]).spawn().unwrap();
        let start = Instant::now();
        while !process(child.id()).unwrap().is_zombie() {
            assert!(start.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(cpu_ns(child.id()).unwrap() > 1_000_000);
        child.wait().unwrap();
        assert_eq!(cpu_ns(child.id()), None);
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
