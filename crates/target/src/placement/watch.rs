//! Where client threads and busy backends were found while a load lasted: looked at a few times per second.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::system;

/// Between two looks: a look at 64 backends takes about a millisecond.
const PAUSE: Duration = Duration::from_millis(400);
/// Backends, and client threads, that are looked at; more would cost what is measured.
const MOST: usize = 64;
/// The kernel's own counters of moves are dearer to read: every so many looks.
const COUNTED_EVERY: u32 = 4;

/// What was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Seen {
    /// Share of looks, percent, at which a client thread and a busy backend had last run on the same CPU; `None` if no
    /// backend was ever busy.
    pub same_cpu_pct: Option<f64>,
    /// How often a client thread moved to another CPU, per second over all; by the kernel's count, and where it keeps
    /// none what was different from look to look, which misses moves there and back.
    pub client_moves_per_s: Option<f64>,
    /// The same of backends.
    pub backend_moves_per_s: Option<f64>,
}

/// Looks at client threads of this process and at the backends of a server from time to time, on a thread of its own.
#[derive(Debug)]
pub struct Watch {
    end: Sender<()>,
    looking: JoinHandle<Seen>,
}

impl Watch {
    /// Begins to look; `postmaster` is the server's pid, and `clients` what the names of client threads begin with. `None`
    /// where nothing can be seen.
    #[must_use]
    pub fn start(postmaster: u32, clients: &'static str) -> Option<Self> {
        system::last_seen(i32::try_from(std::process::id()).ok()?)?;
        let (end, ended) = mpsc::channel::<()>();
        let look = move || {
            let mut looks = Looks::new(postmaster, clients);
            loop {
                looks.look();
                if ended.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
                    return looks.seen();
                }
            }
        };
        let looking = std::thread::Builder::new().name("placement".to_owned()).spawn(look).ok()?;
        Some(Self { end, looking })
    }

    /// What was seen until now.
    #[must_use]
    pub fn finish(self) -> Seen {
        drop(self.end);
        self.looking.join().unwrap_or_default()
    }
}

struct Looks {
    postmaster: u32,
    prefix: &'static str,
    began: Instant,
    last: Instant,
    count: u32,
    /// Looks with a busy backend, and those of them at which a client thread had its CPU.
    busy: u32,
    together: u32,
    clients: Group,
    backends: Group,
    /// Processes of the server that serve no client.
    auxiliary: HashSet<i32>,
}

/// Threads of one kind.
#[derive(Default)]
struct Group {
    /// By their ids.
    known: HashMap<i32, Last>,
    /// Moves that were seen from look to look, and that the kernel counted.
    seen: u64,
    counted: Option<u64>,
}

/// A thread as it was seen last.
#[derive(Clone, Copy)]
struct Last {
    cpu: u64,
    ticks: u64,
    moves: Option<u64>,
}

impl Group {
    /// Looks at a thread: where it ran last, if it ran since the last look.
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
        self.known.insert(thread, Last { cpu, ticks, moves });
        let before = before?;
        self.seen += u64::from(before.cpu != cpu);
        (ticks > before.ticks).then_some(cpu)
    }

    fn moves(&self) -> u64 {
        self.counted.unwrap_or(self.seen)
    }
}

impl Looks {
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
            clients: Group::default(),
            backends: Group::default(),
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
        let mut looked = 0;
        for pid in system::children(self.postmaster) {
            let is_new = !self.backends.known.contains_key(&pid) && !self.auxiliary.contains(&pid);
            if is_new && is_auxiliary(&system::title(pid)) {
                self.auxiliary.insert(pid);
            }
            if looked < MOST && !self.auxiliary.contains(&pid) {
                looked += 1;
                busy.extend(self.backends.look(pid, counts));
            }
        }
        self.count += 1;
        self.last = Instant::now();
        if !busy.is_empty() {
            let on = |thread: &i32| self.clients.known.get(thread).map(|last| last.cpu);
            self.busy += 1;
            self.together += u32::from(threads.iter().filter_map(on).any(|cpu| busy.contains(&cpu)));
        }
    }

    fn client_threads(&self) -> Vec<i32> {
        let known = &self.clients.known;
        let is_client = |thread: &i32| {
            known.contains_key(thread)
                || system::name(*thread).is_some_and(|name| name.starts_with(self.prefix))
        };
        system::threads(std::process::id()).into_iter().filter(is_client).take(MOST).collect()
    }

    fn seen(&self) -> Seen {
        let seconds = self.last.duration_since(self.began).as_secs_f64();
        let per_second = |group: &Group| {
            (seconds > 0.0 && !group.known.is_empty()).then(|| group.moves() as f64 / seconds)
        };
        Seen {
            same_cpu_pct: (self.busy > 0).then(|| 100.0 * f64::from(self.together) / f64::from(self.busy)),
            client_moves_per_s: per_second(&self.clients),
            backend_moves_per_s: per_second(&self.backends),
        }
    }
}

/// Whether a server process works for the server, not for a client.
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
    // With a cluster's name before it.
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
        let watch = Watch::start(std::process::id(), "test-load-").unwrap();
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
