//! What all runs of an experiment have in common, and how they follow each other.

use serde::{Deserialize, Serialize};

use super::{AskedDriver, Waiting};
use crate::AskedLimit;

/// What all runs have in common.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedMeasure {
    pub load: PlannedLoad,
    /// Slower transactions are late, seconds. (Known by its former name in the identity.)
    #[serde(rename = "limit_s")]
    pub promise_s: Option<f64>,
    /// Share of transactions that may be late, skipped or failed before a ladder is said to break, where the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// Load before anything counts, seconds.
    pub warmup_s: f64,
    /// Length of the measured part of a run, seconds.
    pub duration_s: f64,
    /// Threads of the load generator; never more than clients.
    pub threads: u32,
    /// Whether arms take turns in slices, where the file says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slices: Option<Slices>,
    /// Which driver moves the bytes.
    #[serde(default, skip_serializing_if = "AskedDriver::is_auto")]
    pub driver: AskedDriver,
    /// What a client thread does that waits for answers.
    #[serde(default, skip_serializing_if = "Waiting::is_auto")]
    pub wait: Waiting,
    /// The limit that is looked for, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<AskedLimit>,
}

/// How load is offered; the rate of an open load is a factor of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlannedLoad {
    /// As fast as the clients can.
    #[default]
    Closed,
    /// Arrivals on a schedule.
    Rate,
    /// Clients that pause.
    Users {
        /// Pause between two transactions, seconds.
        think_s: f64,
        /// Between the first starts of two clients, seconds.
        ramp_s: f64,
    },
}

/// Whether the arms of a cell take turns in slices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slices {
    /// Also where what an idle server does in the background falls into another arm's time.
    Always,
    /// One run after the other.
    Never,
    /// The same as `Always`, each so long, seconds.
    Length(f64),
}

impl Slices {
    /// Whether they were asked for.
    #[must_use]
    pub fn is_wanted(self) -> bool {
        self != Self::Never
    }
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedComparison {
    pub factor: String,
    pub base: String,
    /// Change that counts as none, as a share.
    pub margin: f64,
}

/// How the cells of a round are ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellOrder {
    /// Drawn again for each round, from the seed.
    #[default]
    Random,
    /// As the file lists the levels, in every round.
    Listed,
}

/// How the arms are interleaved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Nothing is compared.
    #[default]
    Single,
    /// The arms of a cell run next to each other: AB in odd rounds, BA in even ones.
    Pairs,
    /// Switching arms takes a restart: all cells in A, then all in B; the next round B, then A.
    HalfRounds,
}

impl From<Scheme> for OrderScheme {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Single => Self::Single,
            Scheme::Pairs => Self::Pairs,
            Scheme::HalfRounds => Self::HalfRounds,
        }
    }
}

/// How the arms of a stored experiment are interleaved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderScheme {
    /// Nothing is compared.
    Single,
    /// The arms of a cell next to each other, their order swapped every round.
    Pairs,
    /// All cells in one arm, then in the next; the order of the arms is swapped every round.
    HalfRounds,
    /// No pgdyno planned the runs: they were brought in from elsewhere, and do not alternate.
    Imported,
    /// Never stored: two experiments, each measured at its own time, are compared.
    Apart,
}
