//! What slows a server of our own down, and lets it go again.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use stats::credits::Bucket;
use target::host::HostSample;

use super::group::Group;
use crate::pin;
use crate::server::Server;

/// A quota's share of a CPU.
const QUOTA: f64 = 0.2;
/// Busy processes for each CPU.
const NEIGHBOURS: usize = 2;
/// Processes are stopped for so long, and run for so long.
const STOPPED: Duration = Duration::from_millis(45);
const RUNNING: Duration = Duration::from_millis(15);
/// A stall.
const STALL: Duration = Duration::from_secs(4);
/// Credits that a server with a CPU's worth of load spends in about eight seconds.
const CREDITS: f64 = 0.13;
/// How often credits are counted.
const COUNTED: Duration = Duration::from_millis(100);

/// What happens to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Quota,
    Neighbours,
    Stopped,
    Stall,
    Credits,
}

impl Kind {
    pub(super) const ALL: [Self; 5] =
        [Self::Quota, Self::Neighbours, Self::Stopped, Self::Stall, Self::Credits];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Quota => "a CPU quota of 0.2 CPUs",
            Self::Neighbours => "two busy processes on each CPU",
            Self::Stopped => "the server's processes stopped for 45 ms of every 60",
            Self::Stall => "the server's processes stopped for 4 s",
            Self::Credits => "credits of a t2.micro end: a quota of 0.1 CPUs",
        }
    }
}

/// What is prepared before a run, so that nothing but the disturbance happens in it.
pub(super) struct Disturbance {
    kind: Kind,
    postmaster: u32,
    group: Option<Group>,
    /// Credits are spent from the run's beginning on.
    credits: Option<Work>,
}

impl Disturbance {
    /// # Errors
    /// [`crate::Missing`] where quotas cannot be had.
    pub(super) fn prepare(kind: Kind, server: &Server) -> anyhow::Result<Self> {
        let postmaster = server.pid()?;
        let quota = matches!(kind, Kind::Quota | Kind::Credits);
        let group = quota.then(|| Group::around(postmaster)).transpose()?;
        let credits = match &group {
            Some(group) if kind == Kind::Credits => Some(spend(group.limiter(), postmaster)),
            _ => None,
        };
        Ok(Self { kind, postmaster, group, credits })
    }

    /// # Errors
    /// The system refuses.
    pub(super) fn begin(self) -> anyhow::Result<UnderWay> {
        let postmaster = self.postmaster;
        let mut under_way =
            UnderWay { work: self.credits, neighbours: Vec::new(), group: self.group, postmaster };
        match self.kind {
            Kind::Quota => under_way.group.iter().try_for_each(|group| group.limiter().limit(QUOTA))?,
            Kind::Neighbours => {
                let cpus = std::thread::available_parallelism().map_or(1, usize::from);
                for number in 0..cpus * NEIGHBOURS {
                    under_way.neighbours.push(busy(number % cpus)?);
                }
            }
            Kind::Stopped => {
                under_way.work = Some(Work::start(move || {
                    signal(postmaster, libc::SIGSTOP);
                    std::thread::sleep(STOPPED);
                    signal(postmaster, libc::SIGCONT);
                    std::thread::sleep(RUNNING);
                    true
                }));
            }
            Kind::Stall => {
                signal(postmaster, libc::SIGSTOP);
                std::thread::sleep(STALL);
                signal(postmaster, libc::SIGCONT);
            }
            Kind::Credits => {}
        }
        Ok(under_way)
    }
}

/// A server that is slowed down; let go with this value.
pub(super) struct UnderWay {
    work: Option<Work>,
    neighbours: Vec<Child>,
    group: Option<Group>,
    postmaster: u32,
}

impl UnderWay {
    /// # Errors
    /// A quota could not be taken back.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        self.let_go()
    }

    fn let_go(&mut self) -> anyhow::Result<()> {
        self.work = None;
        signal(self.postmaster, libc::SIGCONT);
        for neighbour in &mut self.neighbours {
            // One that is gone is gone.
            let _ = neighbour.kill().and_then(|()| neighbour.wait());
        }
        self.neighbours.clear();
        self.group.take().map_or(Ok(()), Group::end)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let _ = self.let_go();
    }
}

/// A process that does nothing but work, on one CPU.
fn busy(cpu: usize) -> std::io::Result<Child> {
    Command::new("taskset")
        .args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"])
        .stdin(Stdio::null())
        .spawn()
}

/// To all that a postmaster forked; not to itself, which would not notice the end of one.
fn signal(postmaster: u32, signal: libc::c_int) {
    for child in pin::children(postmaster) {
        // SAFETY: a plain system call on a process that our own server forked.
        unsafe { libc::kill(child as libc::pid_t, signal) };
    }
}

/// Counts what a server spends, and limits it to the baseline when there is nothing left.
fn spend(limiter: super::group::Limiter, postmaster: u32) -> Work {
    let mut bucket = Bucket::t2_micro(CREDITS);
    let mut last = HostSample::take(Some(postmaster));
    Work::start(move || {
        std::thread::sleep(COUNTED);
        let now = HostSample::take(Some(postmaster));
        let used = now.figures_since(&last).get("server_cpu_s").copied().unwrap_or(0.0);
        last = now;
        let wanted = used / COUNTED.as_secs_f64();
        if bucket.pass(COUNTED.as_secs_f64(), wanted) >= wanted {
            return true;
        }
        // What cannot be limited is not named, which the table shows.
        let _ = limiter.limit(bucket.baseline());
        false
    })
}

/// A thread that does something again and again while that says so, and until this value goes.
struct Work {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Work {
    fn start(mut step: impl FnMut() -> bool + Send + 'static) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let thread = std::thread::spawn(move || while !told.load(Ordering::Relaxed) && step() {});
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
