//! All that a run needs, as plain data. A level of any factor is a change of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use engine::{DriverChoice, LoadPart, Timeline, Until};
use serde::{Deserialize, Serialize};
use server::managed::NetworkAccess;
use spec::plan::change::Change;
use spec::plan::pooler;
use spec::plan::topology::Topology;
use spec::plan::{Arm, AskedDriver, Placement, PlannedUsers, Waiting};
use spec::{AskedLimit, Profile};
use workloads::Clients;

/// All that a run needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    pub server: Server,
    pub connection: ConnectionPath,
    pub topology: Topology,
    /// Settings in force; `None` for any.
    pub arm: Option<Arm>,
    /// Changes of users' factors, by factor; `None` for any state.
    pub changes: Option<BTreeMap<String, ChangeLevel>>,
    pub cache: Cache,
    pub workload: String,
    /// Changed options of the workload: levels by the option's name.
    pub options: BTreeMap<String, String>,
    pub load: Load,
    /// At least 1; 0 for a job.
    pub clients: u32,
    /// Of the whole load: at least 1, never more than clients are used; 0 for a job.
    pub threads: u32,
    /// The part of the load that is made here.
    pub part: LoadPart,
    /// Slower transactions are late; under a rate, transactions that are already too late are skipped.
    pub promise: Option<Duration>,
    /// The limit that this is a trial of.
    pub sought: Option<AskedLimit>,
    pub warmup: Duration,
    pub until: Until,
    /// Whether the latency of each statement is measured.
    pub statements: bool,
    /// Whether observers get a record of each transaction.
    pub transactions: bool,
    pub driver: DriverChoice,
    pub waiting: Waiting,
    pub placement: Placement,
    pub seed: u64,
    pub counting: Counting,
}

impl Setup {
    /// Distinguishes workloads: the name, the changed options, and the server.
    #[must_use]
    pub fn asked(&self) -> String {
        let options = self.options.iter().map(|(option, level)| format!(" {option}={level}"));
        // The copies of a server hold the same data.
        let at =
            Some(self.at().template().to_string()).filter(|at| !at.is_empty()).map(|at| format!(" on {at}"));
        std::iter::once(self.workload.clone()).chain(options).chain(at).collect()
    }

    /// The search path of its clients, if the arm sets one: it decides what a statement refers to.
    #[must_use]
    pub fn search_path(&self) -> Option<&str> {
        let mut settings = self.arm.iter().flat_map(|arm| &arm.settings);
        settings.find(|(name, _)| name.eq_ignore_ascii_case("search_path")).map(|(_, path)| path.as_str())
    }

    /// Properties of its arm that may change a server's answers, under any name: users' changes, and the
    /// search path. Other settings change no answer.
    #[must_use]
    pub fn answered_by(&self) -> String {
        let path = self.search_path().map(|path| format!("search_path {path}"));
        let changes = self.changes.iter().flatten().map(|(name, own)| format!("{name} {own:?}"));
        changes.chain(path).collect::<Vec<_>>().join("\n")
    }

    /// The server that it needs.
    #[must_use]
    pub fn at(&self) -> At {
        match &self.server {
            Server::Target(at) => at.clone(),
            Server::Sink => At::default(),
        }
    }

    /// Requested transactions per second, the mean over the measured part; open load only. For a fixed number
    /// of transactions with a changing rate the mean is unknown: then it is the initial rate.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.load.profile().map(|profile| self.mean_of(profile))
    }

    /// The same of the part that is made here.
    #[must_use]
    pub fn own_rate(&self) -> Option<f64> {
        self.own_profile().map(|profile| self.mean_of(&profile))
    }

    fn mean_of(&self, profile: &Profile) -> f64 {
        let seconds = match self.until {
            Until::Elapsed(elapsed) => elapsed as f64 / 1e9,
            Until::PerClient(_) | Until::PerUser(_) | Until::Caller => 0.0,
        };
        profile.mean(seconds)
    }

    /// Its users; `None` in other loads.
    #[must_use]
    pub fn users(&self) -> Option<&PlannedUsers> {
        match &self.load {
            Load::Users(users) => Some(users),
            Load::Closed | Load::Rate(_) | Load::Job => None,
        }
    }

    /// How long its client threads poll before they sleep.
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

    /// The clients of the part of the load that is made here.
    #[must_use]
    pub fn own_clients(&self) -> u32 {
        self.part.clients(self.clients as usize, self.clients().threads) as u32
    }

    /// The threads of the part that is made here.
    #[must_use]
    pub fn own_threads(&self) -> u32 {
        self.part.threads(self.threads as usize) as u32
    }

    /// The rate of the part that is made here: arrivals are dealt to threads in turn. `None` without a rate.
    #[must_use]
    pub fn own_profile(&self) -> Option<Profile> {
        let whole = self.load.profile()?;
        let share = || f64::from(self.own_threads()) / f64::from(self.threads.max(1));
        // A scaled rate is rounded.
        Some(if self.part == LoadPart::WHOLE { whole.clone() } else { whole.scaled(share()) })
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
pub struct ChangeLevel {
    pub level: String,
    pub change: Change,
}

/// Which data are in memory when a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// Whatever earlier runs left there; the server keeps running.
    #[default]
    AsLeft,
    /// The server is restarted, its files are in the page cache as far as memory allows, and there is a
    /// warm-up.
    Warm,
    /// The server is restarted, its files are in no cache of the machine, and the warm-up is left out.
    Cold,
}

/// How clients connect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ConnectionPath {
    #[default]
    Direct,
    Via(NetworkAccess),
    Pooler(pooler::PoolerChoice),
}

/// One of an experiment's servers, by levels; the default is the `[target]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct At {
    pub server: Option<String>,
    pub version: Option<String>,
    pub storage: Option<String>,
    /// Levels of preparation options, by key (`pgbench.scale`).
    pub data: BTreeMap<String, String>,
    /// Number of the copy, from 1; `None` for the server itself.
    pub copy: Option<u32>,
}

impl At {
    /// The server that it is a copy of, or itself.
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

/// The server of the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    Target(At),
    /// A process of ours that answers at once: the load generator is measured.
    Sink,
}

/// The driver that an experiment requests.
#[must_use]
pub fn driver_choice(asked: AskedDriver) -> DriverChoice {
    match asked {
        AskedDriver::Auto => DriverChoice::Auto,
        AskedDriver::Portable => DriverChoice::Portable,
        AskedDriver::IoUring => DriverChoice::IoUring,
    }
}

/// How transactions are started.
#[derive(Debug, Clone, PartialEq)]
pub enum Load {
    Closed,
    /// On a schedule: transactions per second over all clients.
    Rate(Profile),
    /// Each client is a user.
    Users(PlannedUsers),
    /// Without clients: it is done once to its end.
    Job,
}

impl Load {
    /// Its rate over time; open load only.
    #[must_use]
    pub fn profile(&self) -> Option<&Profile> {
        match self {
            Self::Rate(profile) => Some(profile),
            _ => None,
        }
    }
}

impl From<&Load> for spec::OfferedLoad {
    fn from(load: &Load) -> Self {
        match load {
            Load::Closed => Self::Closed,
            Load::Rate(_) => Self::Rate,
            Load::Users(_) => Self::Users,
            Load::Job => Self::Job,
        }
    }
}

/// The rules at the edges of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counting {
    pub timeline: Timeline,
    /// Whether the workload's own random streams draw the gaps between them.
    pub own_gaps: bool,
    /// How long transactions that are open at the end may take before they count as unfinished.
    pub drain: Duration,
    /// Whether the run lasts until the last of them has ended.
    pub count_drained: bool,
    /// How long connecting and setting up all clients may take.
    pub connect: Duration,
}

const FOR_EVER: Duration = Duration::from_nanos(u64::MAX / 4);

impl Counting {
    /// For experiments.
    pub const EXPERIMENT: Self = Self {
        timeline: Timeline::Global,
        own_gaps: false,
        drain: Duration::from_secs(10),
        count_drained: false,
        connect: Duration::from_secs(60),
    };

    /// For single runs: pgbench's schedule, and a long wait at the end.
    pub const BENCH: Self =
        Self { timeline: Timeline::PerThread, drain: Duration::from_secs(60), ..Self::EXPERIMENT };

    /// For the drop-in: open transactions and connections are waited for without a limit, as in pgbench.
    pub const PGBENCH: Self = Self {
        timeline: Timeline::PerThread,
        own_gaps: true,
        drain: FOR_EVER,
        count_drained: true,
        connect: FOR_EVER,
    };

    /// For calibrations: a queue at the end must show as a backlog, so only open transactions are waited for.
    pub const CALIBRATION: Self =
        Self { drain: Duration::from_millis(20), connect: Duration::from_secs(20), ..Self::EXPERIMENT };
}
