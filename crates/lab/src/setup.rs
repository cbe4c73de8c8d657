//! All that a run needs, as plain data. A level of any factor is a change of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use engine::{DriverChoice, Timeline, Until};
use serde::{Deserialize, Serialize};
use server::managed::Via;
use spec::plan::change::Change;
use spec::plan::pooler;
pub use spec::plan::{Arm, AskedDriver, Placement, Waiting};
use spec::{AskedLimit, Profile};
use workloads::Clients;

/// All that a run needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Which of the servers is asked.
    pub server: Server,
    /// How clients connect.
    pub connection: Connection,
    /// Settings in force; `None` where any will do.
    pub arm: Option<Arm>,
    /// What one's own factors do to the server, by their names; `None` where any state will do.
    pub changes: Option<BTreeMap<String, OwnLevel>>,
    /// What is in memory of the data when the run begins.
    pub cache: Cache,
    pub workload: String,
    /// Options of the workload that are others than it says itself: levels by the option's name.
    pub options: BTreeMap<String, String>,
    /// How its transactions are asked for.
    pub load: Load,
    /// At least 1; 0 for a job.
    pub clients: u32,
    /// At least 1, never more than clients are used; 0 for a job.
    pub threads: u32,
    /// Slower transactions are late; under a rate, hopeless ones are skipped.
    pub promise: Option<Duration>,
    /// The limit that this is a trial of.
    pub sought: Option<AskedLimit>,
    /// Load before anything counts.
    pub warmup: Duration,
    /// End of the measured part.
    pub until: Until,
    /// Whether the latency of each statement is measured.
    pub statements: bool,
    /// Whether observers get a record of each transaction.
    pub transactions: bool,
    /// Which driver moves the bytes.
    pub driver: DriverChoice,
    /// What a client thread does that waits for answers.
    pub waiting: Waiting,
    /// Where client threads and servers run.
    pub placement: Placement,
    pub seed: u64,
    /// What counts, and what is waited for.
    pub counting: Counting,
}

impl Setup {
    /// What tells workloads apart: the name, the options that were changed, and the server.
    #[must_use]
    pub fn asked(&self) -> String {
        let options = self.options.iter().map(|(option, level)| format!(" {option}={level}"));
        // The copies of a server hold the same.
        let at =
            Some(self.at().template().to_string()).filter(|at| !at.is_empty()).map(|at| format!(" on {at}"));
        std::iter::once(self.workload.clone()).chain(options).chain(at).collect()
    }

    /// Where its clients look for tables, if the arm says so: a `search_path` decides what a statement is about.
    #[must_use]
    pub fn search_path(&self) -> Option<&str> {
        let mut settings = self.arm.iter().flat_map(|arm| &arm.settings);
        settings.find(|(name, _)| name.eq_ignore_ascii_case("search_path")).map(|(_, path)| path.as_str())
    }

    /// What of its arm a server may answer otherwise by, in whatever words: one's own changes, and where tables are looked for.
    /// Other settings change no answer.
    #[must_use]
    pub fn answered_by(&self) -> String {
        let path = self.search_path().map(|path| format!("search_path {path}"));
        let changes = self.changes.iter().flatten().map(|(name, own)| format!("{name} {own:?}"));
        changes.chain(path).collect::<Vec<_>>().join("\n")
    }

    /// Which of the experiment's servers it needs.
    #[must_use]
    pub fn at(&self) -> At {
        match &self.server {
            Server::Target(at) => at.clone(),
            Server::Sink => At::default(),
        }
    }

    /// Transactions per second asked for, the mean over the measured part; open load only. What a run of a number of
    /// transactions would be with a rate that changes is not known: it has the rate of the beginning.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let seconds = match self.until {
            Until::Elapsed(elapsed) => elapsed as f64 / 1e9,
            Until::PerClient(_) | Until::Caller => 0.0,
        };
        self.load.profile().map(|profile| profile.mean(seconds))
    }

    /// How long its client threads look for news before they sleep.
    #[must_use]
    pub fn spin(&self) -> Duration {
        let threads = self.clients().threads;
        let spins = match self.waiting {
            Waiting::Sleep => false,
            Waiting::Spin => true,
            Waiting::Auto => {
                self.placement.can_spin(threads) && Placement::is_to_spin(self.clients as usize, threads)
            }
        };
        if spins { Placement::SPIN } else { Duration::ZERO }
    }

    /// Its clients, for workloads.
    #[must_use]
    pub fn clients(&self) -> Clients {
        Clients {
            count: self.clients as usize,
            threads: self.threads.clamp(1, self.clients.max(1)) as usize,
            seed: self.seed,
            statements: self.statements,
        }
    }
}

/// A level of a user's factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnLevel {
    /// Its name.
    pub level: String,
    pub change: Change,
}

/// What is in memory of the data when a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// Whatever earlier runs left there; the server goes on.
    #[default]
    AsLeft,
    /// The server is started again, its files stand in the page cache as far as memory goes, and there is a warm-up.
    Warm,
    /// The server is started again, its files are in no cache of the machine, and there is no warm-up.
    Cold,
}

/// How clients connect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Connection {
    /// As the target is given.
    #[default]
    Direct,
    /// To a managed server in this way.
    Via(Via),
    /// Through a PgBouncer of ours.
    Pooler(pooler::Options),
}

/// Which of an experiment's servers, by levels; without any it is that of `[target]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct At {
    /// Level of the factor `server`.
    pub server: Option<String>,
    /// Level of the factor `version`.
    pub version: Option<String>,
    /// Level of the factor `storage`.
    pub storage: Option<String>,
    /// Levels of options of the preparation, by their keys (`pgbench.scale`).
    pub data: BTreeMap<String, String>,
    /// Which copy of it, from 1; `None` for the server itself.
    pub copy: Option<u32>,
}

impl At {
    /// What it is a copy of, or itself.
    #[must_use]
    pub fn template(&self) -> Self {
        Self { copy: None, ..self.clone() }
    }
}

impl fmt::Display for At {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.iter().map(|version| format!("version {version}"));
        let storage = self.storage.iter().map(|storage| format!("storage {storage}"));
        let data = self.data.iter().map(|(key, level)| format!("{key} {level}"));
        let copy = self.copy.iter().map(|number| format!("copy {number}"));
        let words: Vec<String> =
            self.server.iter().cloned().chain(version).chain(storage).chain(data).chain(copy).collect();
        out.write_str(&words.join(", "))
    }
}

/// Which server the load goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// One of the experiment's.
    Target(At),
    /// A process of ours that answers at once: what is measured is the load generator.
    Sink,
}

/// The driver that an experiment asks for.
#[must_use]
pub fn driver_choice(asked: AskedDriver) -> DriverChoice {
    match asked {
        AskedDriver::Auto => DriverChoice::Auto,
        AskedDriver::Portable => DriverChoice::Portable,
        AskedDriver::IoUring => DriverChoice::IoUring,
    }
}

/// How transactions are asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    /// As fast as the clients can.
    Closed,
    /// On a schedule: transactions per second over all clients.
    Rate(Profile),
    /// By clients that pause.
    Users {
        /// Between two transactions.
        think: Duration,
        /// Between the first starts of two clients.
        ramp: Duration,
    },
    /// By nobody: it is done once to its end.
    Job,
}

impl Load {
    /// Its rate as time goes by; open load only.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::Rate(profile) => Some(profile),
            _ => None,
        }
    }
}

impl From<&Load> for spec::Load {
    fn from(load: &Load) -> Self {
        match load {
            Load::Closed => Self::Closed,
            Load::Rate(_) => Self::Rate,
            Load::Users { .. } => Self::Users,
            Load::Job => Self::Job,
        }
    }
}

/// What counts at the edges of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counting {
    /// Where arrivals are drawn.
    pub timeline: Timeline,
    /// Whether the workload's own streams draw the gaps between them.
    pub own_gaps: bool,
    /// How long transactions that are open at the end may take before they count as unfinished.
    pub drain: Duration,
    /// Whether the run lasts until the last of them has ended.
    pub count_drained: bool,
    /// How long connecting and setting up all clients may take.
    pub connect: Duration,
}

/// Longer than any run.
const FOR_EVER: Duration = Duration::from_nanos(u64::MAX / 4);

impl Counting {
    /// That of experiments.
    pub const EXPERIMENT: Self = Self {
        timeline: Timeline::Global,
        own_gaps: false,
        drain: Duration::from_secs(10),
        count_drained: false,
        connect: Duration::from_secs(60),
    };

    /// That of a single run: pgbench's schedule, and much patience at the end.
    pub const BENCH: Self =
        Self { timeline: Timeline::PerThread, drain: Duration::from_secs(60), ..Self::EXPERIMENT };

    /// pgbench's own: it waits for open transactions and for connections as long as they take.
    pub const PGBENCH: Self = Self {
        timeline: Timeline::PerThread,
        own_gaps: true,
        drain: FOR_EVER,
        count_drained: true,
        connect: FOR_EVER,
    };

    /// That of calibrations: a queue at the end must show as a backlog, so no more is waited for than what is open.
    pub const CALIBRATION: Self =
        Self { drain: Duration::from_millis(20), connect: Duration::from_secs(20), ..Self::EXPERIMENT };
}
