//! What the engine is asked to do, as pure data, and when it is due.

mod inverse;
mod pace;
mod schedule;
mod window;

use std::fmt;
use std::sync::Arc;

use spec::Profile;

pub(crate) use self::pace::Pace;
pub(crate) use self::window::Window;
use crate::client::Time;

/// How load is offered.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// Every client starts its next transaction as soon as the last one ended.
    Closed,
    /// Open: arrivals on a schedule, whatever the target does.
    Rate(Rate),
    /// Every client pauses between transactions.
    Users {
        /// Pause between the end of one transaction and the start of the next.
        think: Time,
        /// Distance between the first starts of two successive clients.
        ramp: Time,
    },
}

/// An open load's schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    /// Transactions per second over all clients, as time goes by.
    pub profile: Profile,
    /// How the gaps are drawn.
    pub arrivals: Arrivals,
    /// Which arrival goes to which thread.
    pub timeline: Timeline,
}

/// Distribution of the gaps between arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Uniform,
}

/// Where arrivals are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeline {
    /// One timeline for the whole run; arrival k is a pure function of seed, profile and k. Arrivals that still wait
    /// when the measured part ends are started while it drains.
    Global,
    /// pgbench's, for a constant rate: one timeline per thread at rate / threads, from the thread's own stream, in whole µs. Nothing is
    /// started after the end of the measured part; what still waits counts as unfinished.
    PerThread,
}

/// The gaps of one thread's timeline, ns, one after another.
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
    /// By the clients of the thread that has most, and by what the kernel allows.
    #[default]
    Auto,
    /// The same for so many clients a thread, whatever there are: for runs that are compared with others.
    Suits(usize),
    /// The system's portable readiness interface (epoll, kqueue).
    Portable,
    /// Linux's io_uring.
    IoUring,
}

/// When the measured part ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// After this long (from the end of warm-up).
    Elapsed(Time),
    /// When each client has ended this many transactions.
    PerClient(u64),
    /// When the caller says so, who lets the clients go for a stretch at a time ([`crate::Run`]); so does warm-up. Closed
    /// load only.
    Told,
}

/// One run of the engine.
#[derive(Debug, Clone)]
pub struct Plan {
    /// OS threads; at least 1. No more are started than there are clients.
    pub threads: usize,
    /// CPUs the load threads are kept on, one for each by turns; `None` leaves them to the system. Linux only.
    pub cpus: Option<Vec<usize>>,
    /// How long a thread that has nothing to do looks for news before it sleeps, ns; 0 for not at all. For threads that
    /// have a CPU each, and that to themselves: at most [`Plan::LONGEST_SPIN`].
    pub spin: Time,
    pub driver: DriverChoice,
    pub load: Load,
    /// Load before anything counts.
    pub warmup: Time,
    /// End of the measured part.
    pub until: Until,
    /// Longest response time that is in order, ns; slower transactions are *late*.
    pub promise: Option<Time>,
    /// Open load: skip arrivals that are later than the promise before they start (pgbench's -R with -L).
    pub skip_late: bool,
    /// How long transactions still open at the end may take before they count as unfinished; half a second at most
    /// after a stop from outside.
    pub drain: Time,
    /// Whether, in closed load, transactions that end while draining count as well; [`crate::Measured::elapsed`] then
    /// lasts until the last one of them, in open load too. So it is in pgbench.
    pub count_drained: bool,
    /// Whether the observer is given a record of each transaction.
    pub transactions: bool,
    /// Streams for [`Timeline::PerThread`]; without them they are made from `seed`. With them an arrival is due once a
    /// client takes it, as in pgbench: those that nobody took by the end are not counted.
    pub gaps: Option<Gaps>,
    /// How long connecting and set-up of all clients may take.
    pub connect_timeout: Time,
    pub seed: u64,
    /// Number of scripts clients report in `Outcome::script`.
    pub scripts: usize,
    /// Number of statements clients may report; 0 when statement latencies are not wanted.
    pub statements: usize,
    /// Number of items (such as tiles) whose figures clients report one by one; each takes 32 bytes a thread.
    pub items: usize,
}

impl Plan {
    /// Longest [`Plan::spin`], ns.
    pub const LONGEST_SPIN: Time = 1_000_000;
}
