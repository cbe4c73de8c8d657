//! The plan: an experiment file expanded to a flat, ordered list of runs, before anything starts.
//!
//! Plain data. The same file on the same machine always gives the same plan, and a plan says by its [`Plan::hash`]
//! which experiment it is: rounds, names and comments do not count, everything else does.

mod cells;
mod cost;
mod difference;
mod expand;
mod facts;
mod generator;
mod identity;
mod inputs;
mod order;
mod restarts;
mod scheme;
mod setups;
mod sides;
mod slicing;
mod table;
mod workload;

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use spec::{AskedLimit, RunKey};
use workloads::Preparation;
use workloads::jobs::Inputs;

pub use cost::Estimate;
pub(crate) use cost::RESTART_S;
pub use difference::diff;
pub use generator::Generator;
pub(crate) use inputs::fingerprint;
pub use scheme::Scheme;
pub use sides::{Copies, Standing};
pub use slicing::Slicing;
pub use workload::PlannedWorkload;

use crate::experiment::{CellOrder, Slices};
use crate::named::Named;
use crate::setup::{Arm, AskedDriver, Placement, Setup, Waiting};
use crate::target_spec::TargetSpec;

/// An experiment, expanded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// File name without folder and ending; not part of the identity.
    pub name: String,
    /// The question; not part of the identity.
    pub question: String,
    /// Why it is only a taste; not part of the identity.
    pub taste: Option<String>,
    /// Rounds; not part of the identity.
    pub rounds: u32,
    /// Seed of all randomness: the file's, else made from the identity.
    pub seed: u64,
    /// All that makes it this experiment and no other.
    pub content: Content,
    /// Every run, in order.
    pub runs: Vec<PlannedRun>,
    /// Where arms stand, where they could stand side by side; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// Whether arms take turns; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slicing: Option<Slicing>,
    /// What machines cost; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<spec::Prices>,
    /// How often a block that the machine disturbed is measured again at most, where the file says so; not part of the
    /// identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_disturbed: Option<u32>,
    /// Whether a sample of transactions is explained, where the file says so; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// What cannot be had here, and so is not run; not part of the identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<NotRun>,
    /// Where clients and servers run, where no level says it; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<ChosenPlacement>,
    /// What moves the bytes of all runs, and how it waits; only what the file says is part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
}

/// A placement that pgdyno chose for all runs of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPlacement {
    /// One of pgdyno's own names.
    pub level: String,
    pub placement: Placement,
    /// Why that one, in words.
    pub why: String,
}

impl ChosenPlacement {
    /// In words, without why.
    #[must_use]
    pub fn words(&self) -> String {
        format!("placement {} ({})", self.level, self.placement.words())
    }
}

/// Runs that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotRun {
    /// Which: levels, in words.
    pub what: String,
    pub why: String,
}

/// What makes an experiment this one and no other: the identity is its hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Seed, if the file gives one.
    pub seed: Option<u64>,
    /// What is measured.
    pub target: TargetSpec,
    /// What is put on it first.
    pub prepare: PlannedPreparation,
    /// What is put on servers that hold other data, by their levels of options of the preparation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, PlannedPreparation>,
    /// The workloads of the grid and beside it, by name.
    pub workloads: BTreeMap<String, PlannedWorkload>,
    /// Levels of each factor, as written.
    pub factors: BTreeMap<String, Vec<String>>,
    /// What runs beside the grid.
    #[serde(flatten)]
    pub beside: Beside,
    /// The arms, base first; one without a name when there are no settings.
    pub arms: Vec<Arm>,
    /// What the names of levels stand for.
    #[serde(flatten)]
    pub named: Named,
    pub compare: Option<PlannedComparison>,
    #[serde(flatten)]
    pub measure: PlannedMeasure,
    /// How cells are ordered in a round.
    pub order: CellOrder,
    /// How arms are interleaved.
    pub scheme: Scheme,
}

/// Workloads that run once a round outside the grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Their names.
    #[serde(rename = "beside_workloads")]
    pub workloads: Vec<String>,
    #[serde(rename = "beside_clients")]
    pub clients: Vec<u32>,
}

/// What all runs have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// What is put on the target first.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct PlannedPreparation {
    /// The jobs; the paths in them are those of this machine and no part of the identity.
    #[serde(flatten)]
    pub jobs: Preparation,
    /// Content of the files they read.
    pub inputs: Inputs,
}

impl<'de> Deserialize<'de> for PlannedPreparation {
    /// A flattened table that refuses unknown keys would refuse `inputs`.
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let mut jobs = serde_json::Map::deserialize(source)?;
        let inputs = jobs.remove("inputs").map(Inputs::deserialize).transpose();
        let jobs = Preparation::deserialize(serde_json::Value::Object(jobs));
        let (inputs, jobs) = (inputs.map_err(D::Error::custom)?, jobs.map_err(D::Error::custom)?);
        Ok(Self { jobs, inputs: inputs.unwrap_or_default() })
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

/// How load is offered; the rate of an open load is a factor of the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlannedLoad {
    /// As fast as the clients can.
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

/// One run to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Position in the whole plan, from 0.
    pub sequence: u32,
    /// Round, from 1.
    pub round: u32,
    /// Workload's name.
    pub workload: String,
    /// All factors but the compared one, `workload` and `clients` among them.
    pub factors: BTreeMap<String, String>,
    /// Arm; `None` beside the grid and where there are no settings.
    pub arm: Option<String>,
    /// Which of its pair it is, from 1.
    pub position_in_pair: u32,
    /// Seed of its randomness: the same for all arms of a cell in a round, another in every round.
    pub seed: u64,
    /// Clients; 0 for a job.
    pub clients: u32,
    /// Threads; 0 for a job.
    pub threads: u32,
    /// Offered rate over all clients, transactions per second, the mean where it changes; open load only.
    pub rate: Option<f64>,
    /// Whether it runs outside the grid.
    pub beside: bool,
}

/// Factors that plans and runs have in their own fields.
pub(crate) const SHOWN_APART: [&str; 3] = ["workload", "clients", "rate"];

impl PlannedRun {
    /// A run that no file planned: the one cell of its own.
    #[must_use]
    pub fn single(setup: &Setup) -> Self {
        let (workload, clients) = (setup.workload.clone(), setup.clients.to_string());
        let rate = setup.load.profile().map(|rate| ("rate".to_owned(), rate.to_string()));
        let factors = [("workload".to_owned(), workload.clone()), ("clients".to_owned(), clients)];
        Self {
            sequence: 0,
            round: 1,
            workload,
            factors: factors.into_iter().chain(rate).collect(),
            arm: None,
            position_in_pair: 1,
            seed: setup.seed,
            clients: setup.clients,
            threads: setup.threads,
            rate: setup.rate(),
            beside: false,
        }
    }

    /// What identifies it inside its experiment.
    #[must_use]
    pub fn key(&self) -> RunKey {
        RunKey {
            workload: self.workload.clone(),
            factors: self.factors.clone(),
            arm: self.arm.clone(),
            round: self.round,
        }
    }

    /// Whether it is done once to its end, and no clients ask for it.
    #[must_use]
    pub fn is_job(&self) -> bool {
        self.clients == 0
    }

    /// Its rate as it was written, where that changes and is no arm of the comparison.
    pub(crate) fn changing_rate(&self) -> Option<&str> {
        let written = self.factors.get("rate")?;
        written.parse::<f64>().is_err().then_some(written)
    }

    /// In words, e.g. `polygons, 4 clients, arm gis, round 3`.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = self.workload.clone();
        if self.clients > 0 {
            words += &format!(", {}", crate::words::count(self.clients as usize, "client"));
        }
        if let Some(rate) = self.rate {
            words += &match self.changing_rate() {
                Some(text) => format!(", {text}"),
                None => format!(", {rate}/s"),
            };
        }
        for (key, level) in self.factors.iter().filter(|(key, _)| !SHOWN_APART.contains(&key.as_str())) {
            words += &format!(", {key} {level}");
        }
        if let Some(arm) = &self.arm {
            words += &format!(", {arm}");
        }
        format!("{words}, round {}", self.round)
    }
}

impl Plan {
    /// Whether a sample of a run's transactions is explained when it is over: once for each cell and arm, in the first round.
    /// Where the file does not say, it is wherever something is compared: what answers "why" costs a few executions.
    #[must_use]
    pub fn explains(&self, run: &PlannedRun) -> bool {
        let wanted = self.explain.unwrap_or(self.content.compare.is_some());
        // Trials of a search are of rates, and all ask for the same.
        wanted && run.round == 1 && !run.beside && !run.is_job() && self.content.measure.search.is_none()
    }

    /// What is still to be done, in order, when `finished` is stored.
    #[must_use]
    pub fn remaining(&self, finished: &[RunKey]) -> Vec<&PlannedRun> {
        let done: std::collections::HashSet<&RunKey> = finished.iter().collect();
        self.runs.iter().filter(|run| !done.contains(&run.key())).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests;
