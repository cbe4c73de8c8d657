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
pub(crate) mod preparation;
mod restarts;
mod setups;
mod sides;
mod slicing;
mod table;
mod workload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use spec::RunKey;
pub use spec::plan::{
    Arm, Beside, CellOrder, ChosenPlacement, Copies, Facts, Generator, Named, NotRun, PlannedComparison,
    PlannedLoad, PlannedMeasure, PlannedPreparation, PlannedRun, PlannedWorkload, SHOWN_APART, Scheme,
    Slices, Slicing, Standing, TargetSpec,
};

pub use cost::Estimate;
pub(crate) use cost::RESTART_S;
pub use difference::diff;
pub(crate) use inputs::fingerprint;
pub(crate) use preparation::{jobs_of, planned_preparation};

use crate::setup::Setup;

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

/// A run that no file planned: the one cell of its own.
#[must_use]
pub fn single_run(setup: &Setup) -> PlannedRun {
    let (workload, clients) = (setup.workload.clone(), setup.clients.to_string());
    let rate = setup.load.profile().map(|rate| ("rate".to_owned(), rate.to_string()));
    let factors = [("workload".to_owned(), workload.clone()), ("clients".to_owned(), clients)];
    PlannedRun {
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
