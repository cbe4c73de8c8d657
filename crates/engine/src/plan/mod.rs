//! The plan of a run as plain data, and when its transactions are due.

mod inverse;
mod pace;
mod schedule;
mod users;
mod window;

use std::fmt;
use std::sync::Arc;

use spec::Profile;

pub(crate) use self::pace::Pace;
pub(crate) use self::users::UserRandom;
pub use self::users::{Pause, SessionStep, UserArrival, Users};
pub(crate) use self::window::Window;
use crate::client::Time;

/// How load is offered.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// Every client starts its next transaction as soon as the last one ended.
    Closed,
    /// Open: arrivals on a schedule, whatever the target does.
    Rate(Rate),
    /// Every client is a user, who does sessions and pauses within them.
    Users(Users),
}

/// An open load's schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Transactions per second over all clients, as a function of time.
    pub profile: Profile,
    pub arrivals: GapDistribution,
    pub timeline: Timeline,
}

/// Distribution of the gaps between arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapDistribution {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Uniform,
}

/// Where arrivals are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeline {
    /// One timeline for the whole run; arrival k is a pure function of seed, profile and k. Arrivals that
    /// still wait when the measured part ends are started in the drain.
    Global,
    /// As pgbench, for a constant rate: one timeline per thread at rate / threads, from the thread's own
    /// stream, in whole µs. Nothing is started after the measured part; arrivals that still wait count as
    /// unfinished.
    PerThread,
}

/// The gaps of one thread's timeline, ns.
pub type GapStream = Box<dyn FnMut() -> Time + Send>;

/// Gap streams by number of the thread, for [`Timeline::PerThread`]: a workload's own randomness.
#[derive(Clone)]
pub struct Gaps(pub Arc<dyn Fn(usize) -> GapStream + Send + Sync>);

impl fmt::Debug for Gaps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Gaps(..)")
    }
}

/// Which driver moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DriverChoice {
    /// By the number of clients of the largest thread, and by what the kernel allows.
    #[default]
    Auto,
    /// As [`Self::Auto`] for this many clients per thread, whatever the plan has: for runs that are compared
    /// with others.
    Suits(usize),
    /// The system's portable readiness interface (epoll, kqueue).
    Portable,
    IoUring,
}

/// When the measured part ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// From the end of warm-up.
    Elapsed(Time),
    /// When each client has ended this many transactions.
    PerClient(u64),
    /// When each user has ended this many sessions. Users who come openly have no number.
    PerUser(u64),
    /// The caller ends the run, and releases the clients for one stretch at a time ([`crate::HeldRun`]); the same
    /// for warm-up. Closed load only.
    Caller,
}

/// The part of a load that this process makes; others make the rest, at the same time.
///
/// Thread t of the whole load, with its clients and arrivals, belongs to part t mod `of`. So all parts together send
/// what one process with as many threads sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadPart {
    /// From 0.
    pub number: usize,
    /// At least 1, and at most the number of threads and of clients.
    pub of: usize,
}

impl LoadPart {
    /// The whole load.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// Its threads of so many.
    #[must_use]
    pub fn threads(self, threads: usize) -> usize {
        (0..threads).filter(|thread| self.has(*thread)).count()
    }

    /// Its clients of so many on so many threads: each thread has as many as the others, the first ones one more.
    #[must_use]
    pub fn clients(self, clients: usize, threads: usize) -> usize {
        let threads = threads.clamp(1, clients.max(1));
        let (each, rest) = (clients / threads, clients % threads);
        (0..threads).filter(|thread| self.has(*thread)).map(|thread| each + usize::from(thread < rest)).sum()
    }

    /// Whether a thread of the whole load belongs to it.
    #[must_use]
    pub fn has(self, thread: usize) -> bool {
        thread % self.of == self.number
    }
}

/// One run of the engine.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// OS threads of the whole load; at least 1. No more are used than there are clients.
    pub threads: usize,
    /// The part of the load that is made here, of all threads and clients.
    pub part: LoadPart,
    /// CPUs the load threads are pinned to, in turn; `None` leaves them to the system. Linux only.
    pub cpus: Option<Vec<usize>>,
    /// Longest spin of a thread before it sleeps, ns; 0 for none. For threads with a CPU each that nobody
    /// else uses: at most [`RunPlan::LONGEST_SPIN`].
    pub spin: Time,
    pub driver: DriverChoice,
    pub load: Load,
    pub warmup: Time,
    pub until: Until,
    /// Longest acceptable response time, ns; slower transactions are *late*.
    pub promise: Option<Time>,
    /// Open load: skip arrivals that are later than the promise before they start (pgbench's -R with -L).
    pub skip_late: bool,
    /// How long transactions still open at the end may take before they count as unfinished; half a second at most
    /// after a stop from outside.
    pub drain: Time,
    /// Whether, in closed load, transactions that end in the drain count too, as in pgbench;
    /// [`crate::EngineResult::elapsed`] then includes the last of them, in open load too.
    pub count_drained: bool,
    pub transactions: bool,
    /// Streams for [`Timeline::PerThread`], made from `seed` if absent. With them an arrival is due once a
    /// client takes it, as in pgbench: arrivals that no client took are not counted.
    pub gaps: Option<Gaps>,
    pub connect_timeout: Time,
    pub seed: u64,
    /// Number of scripts clients report in `TransactionOutcome::script`.
    pub scripts: usize,
    /// Number of statements clients may report; 0 when statement latencies are not wanted.
    pub statements: usize,
    /// Number of items (such as tiles) with figures for each; an item takes 32 bytes per thread.
    pub items: usize,
}

impl RunPlan {
    /// Longest [`RunPlan::spin`], ns.
    pub const LONGEST_SPIN: Time = 1_000_000;
}
