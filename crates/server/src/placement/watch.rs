//! Samples where client threads and busy backends run during a load, a few times per second.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::system;

/// Time between two samples; a sample of the most backends takes about a quarter of a millisecond.
const PAUSE: Duration = Duration::from_millis(500);
/// First pause: it doubles from there, so that short runs are sampled, too.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Most backends, and client threads, in a sample; more would add to what is measured.
const MOST: usize = 16;
/// The kernel's counters of moves are more expensive: read in every this many samples.
const COUNTED_EVERY: u32 = 8;

/// Where clients and backends ran.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuMoves {
    /// Share of samples, percent, in which a client thread and a busy backend had last run on the same CPU;
    /// `None` if no backend was ever busy.
    pub same_cpu_pct: Option<f64>,
    /// Moves of client threads to another CPU, per second over all: by the kernel's count, or, if it keeps
    /// none, by differences between samples, which miss moves there and back.
    pub client_moves_per_s: Option<f64>,
    /// The same for backends.
    pub backend_moves_per_s: Option<f64>,
}

/// Samples client threads of this process and backends of a server, on a separate thread.
#[derive(Debug)]
pub struct CpuWatch {
    end: Sender<()>,
    looking: JoinHandle<CpuMoves>,
}

impl CpuWatch {
    /// Starts to sample; `postmaster` is the server's pid, and `clients` the prefix of the names of client
    /// threads. `None` where nothing can be observed.
    #[must_use]
    pub fn start(postmaster: u32, clients: &'static str) -> Option<Self> {
        system::last_seen(i32::try_from(std::process::id()).ok()?)?;
        let (end, ended) = mpsc::channel::<()>();
        let look = move || {
            let mut looks = Sampler::new(postmaster, clients);
            let mut pause = FIRST_PAUSE;
            loop {
                looks.look();
                if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    return looks.seen();
                }
                pause = (2 * pause).min(PAUSE);
            }
        };
        let looking = std::thread::Builder::new().name("placement".to_owned()).spawn(look).ok()?;
        Some(Self { end, looking })
    }

    /// The results so far.
    #[must_use]
    pub fn finish(self) -> CpuMoves {
        drop(self.end);
        self.looking.join().unwrap_or_default()
    }
}

struct Sampler {
    postmaster: u32,
    prefix: &'static str,
    began: Instant,
    last: Instant,
    count: u32,
    /// Samples with a busy backend, and samples in which a client thread had its CPU.
    busy: u32,
    together: u32,
    clients: ThreadGroup,
    backends: ThreadGroup,
    /// Server processes whose titles were read, and those which serve no client.
    met: HashSet<i32>,
    auxiliary: HashSet<i32>,
}

/// Threads of one kind.
#[derive(Default)]
struct ThreadGroup {
    /// By thread id.
    known: HashMap<i32, LastSample>,
    /// Moves between samples, and moves counted by the kernel.
    seen: u64,
    counted: Option<u64>,
    /// Number of threads, sampled or not.
    count: usize,
}

/// A thread's last sample.
#[derive(Clone, Copy)]
struct LastSample {
    cpu: u64,
    ticks: u64,
    moves: Option<u64>,
}

impl ThreadGroup {
    /// Samples a thread; returns its last CPU if it ran since the last sample.
    fn look(&mut self, thread: i32, counts: bool) -> Option<u64> {
        let (cpu, ticks) = system::last_seen(thread)?;
        let before = self.known.get(&thread).copied();
        let mut moves = before.and_then(|last| last.moves);
        if counts || before.is_none() {
            let now = system::moves(thread);
            if let Some(more) = now.zip(moves).map(|(now, then)| now.saturating_sub(then)) {
                *self.counted.get_or_insert(0) += more;
            }
            moves = now;
        }
        self.known.insert(thread, LastSample { cpu, ticks, moves });
        let before = before?;
        self.seen += u64::from(before.cpu != cpu);
        (ticks > before.ticks).then_some(cpu)
    }

    /// Moves of all, extrapolated from the sampled ones.
    fn moves(&self) -> f64 {
        let looked_at = self.known.len();
        let each = self.counted.unwrap_or(self.seen) as f64 / looked_at.max(1) as f64;
        each * self.count.max(looked_at) as f64
    }
}

impl Sampler {
    fn new(postmaster: u32, prefix: &'static str) -> Self {
        let now = Instant::now();
        Self {
            postmaster,
            prefix,
            began: now,
            last: now,
            count: 0,
            busy: 0,
            together: 0,
            clients: ThreadGroup::default(),
            backends: ThreadGroup::default(),
            met: HashSet::new(),
            auxiliary: HashSet::new(),
        }
    }

    fn look(&mut self) {
        let counts = self.count.is_multiple_of(COUNTED_EVERY);
        let threads = self.client_threads();
        for thread in &threads {
            self.clients.look(*thread, counts);
        }
        let mut busy = Vec::new();
        let mut backends = 0;
        for pid in system::children(self.postmaster) {
            if self.met.insert(pid) && is_auxiliary(&system::title(pid)) {
                self.auxiliary.insert(pid);
            }
            if !self.auxiliary.contains(&pid) {
                backends += 1;
                if backends <= MOST {
                    busy.extend(self.backends.look(pid, counts));
                }
            }
        }
        self.backends.count = self.backends.count.max(backends);
        self.count += 1;
        self.last = Instant::now();
        let on = |thread: &i32| self.clients.known.get(thread).map(|last| last.cpu);
        let clients: Vec<u64> = threads.iter().filter_map(on).collect();
        // After the client threads have ended, backends may still be ending.
        if !busy.is_empty() && !clients.is_empty() {
            self.busy += 1;
            self.together += u32::from(clients.iter().any(|cpu| busy.contains(cpu)));
        }
    }

    fn client_threads(&mut self) -> Vec<i32> {
        let known = &self.clients.known;
        let is_client = |thread: &i32| {
            known.contains_key(thread)
                || system::name(*thread).is_some_and(|name| name.starts_with(self.prefix))
        };
        let all: Vec<i32> = system::threads(std::process::id()).into_iter().filter(is_client).collect();
        self.clients.count = self.clients.count.max(all.len());
        all.into_iter().take(MOST).collect()
    }

    fn seen(&self) -> CpuMoves {
        let seconds = self.last.duration_since(self.began).as_secs_f64();
        let per_second =
            |group: &ThreadGroup| (seconds > 0.0 && !group.known.is_empty()).then(|| group.moves() / seconds);
        CpuMoves {
            same_cpu_pct: (self.busy > 0).then(|| 100.0 * f64::from(self.together) / f64::from(self.busy)),
            client_moves_per_s: per_second(&self.clients),
            backend_moves_per_s: per_second(&self.backends),
        }
    }
}

/// Whether a server process is auxiliary, and serves no client.
fn is_auxiliary(title: &str) -> bool {
    const KINDS: [&str; 11] = [
        "checkpointer",
        "background writer",
        "walwriter",
        "autovacuum",
        "logical replication",
        "stats collector",
        "archiver",
        "io worker",
        "startup",
        "walsender",
        "walreceiver",
    ];
    let title = title.split_once("postgres: ").map_or(title, |(_, rest)| rest);
    // Possibly after a cluster's name.
    KINDS.iter().any(|kind| title.starts_with(kind) || title.contains(&format!(": {kind}")))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn processes_of_the_server_itself_are_no_backends() {
        for title in
            ["postgres: checkpointer ", "postgres: main: walwriter ", "postgres: autovacuum worker db"]
        {
            assert!(is_auxiliary(title), "{title}");
        }
        for title in ["postgres: bench db [local] SELECT", "postgres: main: startuper db [local] idle"] {
            assert_eq!(is_auxiliary(title), title.contains(": startup"), "{title}");
        }
    }

    /// With client and server pinned to one CPU, they were reported as separate at the end of the load.
    #[test]
    fn a_look_without_client_threads_says_nothing() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut looks = Sampler::new(std::process::id(), "there-is-no-such-thread");
        looks.look();
        std::thread::sleep(Duration::from_millis(200));
        looks.look();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((looks.busy, looks.seen().same_cpu_pct), (0, None));
    }

    #[test]
    fn a_thread_beside_a_busy_child_is_seen_on_its_cpu() {
        let cpus = super::super::allowed().unwrap();
        let first = super::super::Cpus::from_iter(cpus.iter().take(1));
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let busy = child.id();
        super::super::pin_tree(busy, &first).unwrap();
        let (done, over) = mpsc::channel::<()>();
        let cpu = first.iter().next().unwrap();
        let client = std::thread::Builder::new().name("test-load-0".to_owned()).spawn(move || {
            system::be_idle_on(cpu).unwrap();
            let _ = over.recv();
        });
        let watch = CpuWatch::start(std::process::id(), "test-load-").unwrap();
        std::thread::sleep(4 * PAUSE);
        let seen = watch.finish();
        child.kill().unwrap();
        child.wait().unwrap();
        drop(done);
        client.unwrap().join().unwrap();
        assert_eq!(seen.same_cpu_pct, Some(100.0), "{seen:?}");
        assert_eq!(seen.client_moves_per_s, Some(0.0), "{seen:?}");
    }
}
