//! Options common to all runs of an experiment, and the order of runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AskedDriver, Waiting};
use crate::users::PlannedSessions;
use crate::{AskedLimit, Profile};

/// Options common to all runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedMeasure {
    pub load: PlannedLoad,
    /// Slower transactions are late, seconds. (The identity uses its former name.)
    #[serde(rename = "limit_s")]
    pub promise_s: Option<f64>,
    /// Share of transactions that may be late, skipped or failed before a ladder breaks, if the file sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    pub warmup_s: f64,
    /// 0 with a number of transactions.
    pub duration_s: f64,
    /// Transactions of each client, in place of a duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<u64>,
    #[serde(default, skip_serializing_if = "AskedCounting::is_default")]
    pub counting: AskedCounting,
    /// Threads of the load generator; at most the number of clients.
    pub threads: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Slices>,
    /// Whether the sessions of arms that take turns are kept from round to round; `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_sessions: Option<bool>,
    #[serde(default, skip_serializing_if = "AskedDriver::is_auto")]
    pub driver: AskedDriver,
    #[serde(default, skip_serializing_if = "Waiting::is_auto")]
    pub wait: Waiting,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<AskedLimit>,
}

/// The rules at the edges of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AskedCounting {
    /// One schedule for all threads; transactions open at the end may take 10 s more.
    #[default]
    Pgdyno,
    /// A schedule for each thread; 60 s more.
    Pgbench,
}

impl AskedCounting {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How load is offered; the rate of an open load is a factor of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlannedLoad {
    #[default]
    Closed,
    Rate,
    Users(PlannedUsers),
}

impl PlannedLoad {
    /// The users; `None` in other loads.
    #[must_use]
    pub fn users(&self) -> Option<&PlannedUsers> {
        match self {
            Self::Users(users) => Some(users),
            Self::Closed | Self::Rate => None,
        }
    }
}

/// Users: each client is one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedUsers {
    /// Without sessions: pause after each transaction, seconds.
    pub think_s: f64,
    /// Without sessions: time between the first starts of two clients, seconds.
    pub ramp_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<PlannedSessions>,
    /// Share of the registered people who are active at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_share: Option<f64>,
}

impl PlannedUsers {
    /// New users per second, if they come openly.
    #[must_use]
    pub fn open_per_s(&self) -> Option<Profile> {
        self.sessions.as_ref().and_then(|sessions| sessions.arrivals.open_per_s())
    }
}

/// Whether the arms of a cell take turns in slices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slices {
    /// Even where background work of an idle server falls into another arm's time.
    Always,
    Never,
    /// As `Always`, with slices of this length, seconds.
    Length(f64),
}

impl Slices {
    /// Whether slices are wanted.
    #[must_use]
    pub fn is_wanted(self) -> bool {
        self != Self::Never
    }
}

/// The compared factor, and the margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedComparison {
    pub factor: String,
    pub base: String,
    /// A smaller change counts as none, a share.
    pub margin: f64,
    #[serde(default, skip_serializing_if = "WorkMetric::is_usual")]
    pub metric: WorkMetric,
    /// How often its verdict may be looked at while rounds are added: all intervals allow for it.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub looks: u32,
}

fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_once(looks: &u32) -> bool {
    *looks == 1
}

/// The figure by which work is compared, and which gives the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorkMetric {
    /// Throughput.
    #[default]
    Tps,
    /// Server CPU per transaction, of servers on this machine.
    Cpu,
}

impl WorkMetric {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// The order of cells in a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CellOrder {
    /// Shuffled in each round, by the seed.
    #[default]
    Random,
    /// In the order of the levels.
    Listed,
}

/// How the arms are interleaved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    #[default]
    Single,
    /// The arms of a cell run next to each other: AB in odd rounds, BA in even ones.
    Pairs,
    /// Changing arms needs a restart: all cells in A, then all in B; in the next round B, then A.
    HalfRounds,
    /// A person sets the level: all rounds of a set have one level, and the next set another.
    Sets,
}

impl From<Scheme> for OrderScheme {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Single => Self::Single,
            Scheme::Pairs => Self::Pairs,
            Scheme::HalfRounds => Self::HalfRounds,
            Scheme::Sets => Self::Sets,
        }
    }
}

/// How the arms of a stored experiment are interleaved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderScheme {
    Single,
    /// The arms of a cell next to each other, in alternating order by round.
    Pairs,
    /// All cells in one arm, then in the next; the order of the arms alternates by round.
    HalfRounds,
    /// A person sets the level: all rounds of a set have one level, and the next set another.
    Sets,
    /// Imported runs: not planned by pgdyno, and not alternating.
    Imported,
    /// Never stored: two experiments, measured at different times, are compared.
    Apart,
}
