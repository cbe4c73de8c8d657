//! What makes an experiment this one and no other.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    CellOrder, Named, PlannedComparison, PlannedMeasure, PlannedPreparation, PlannedRun, PlannedWorkload,
    Scheme, Standing, TargetSpec,
};

/// The factor whose levels are named tables of settings.
pub const SETTINGS: &str = "settings";
/// The factor whose levels say what the files of a managed server are on.
pub const STORAGE: &str = "storage";
/// The factor whose levels say what is in memory when a run begins.
pub const CACHE: &str = "cache";

/// One level of the compared factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// Name; `None` where the file has no settings.
    pub name: Option<String>,
    /// Settings, shares of the machine computed.
    pub settings: BTreeMap<String, String>,
    /// What in them weakens crash safety or upkeep, in words.
    pub weakens: Vec<String>,
}

/// Workloads that run once a round outside the grid.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Their names.
    #[serde(rename = "beside_workloads")]
    pub workloads: Vec<String>,
    #[serde(rename = "beside_clients")]
    pub clients: Vec<u32>,
}

/// What makes an experiment this one and no other: the identity is its hash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

impl Content {
    /// Key of the factor whose levels are the arms.
    #[must_use]
    pub fn compared(&self) -> &str {
        self.compare.as_ref().map_or(SETTINGS, |compare| &compare.factor)
    }

    /// The arms, base first; one without a name where nothing is compared.
    #[must_use]
    pub fn arm_names(&self) -> Vec<Option<String>> {
        match self.compare.as_ref().filter(|compare| compare.factor != SETTINGS) {
            None => self.arms.iter().map(|arm| arm.name.clone()).collect(),
            Some(compare) => {
                let levels = self.factors.get(&compare.factor).into_iter().flatten();
                let (base, others): (Vec<_>, Vec<_>) = levels.partition(|level| **level == compare.base);
                base.into_iter().chain(others).cloned().map(Some).collect()
            }
        }
    }

    /// An arm in words: a name says by itself what it is, `4` does not, nor does `with`.
    #[must_use]
    pub fn arm_words(&self, arm: &str) -> String {
        match self.compared() {
            SETTINGS | "workload" => arm.to_owned(),
            factor => format!("{factor} {arm}"),
        }
    }

    /// What the arms are called together where they are workloads: `exists / join`.
    #[must_use]
    pub fn compared_workloads(&self) -> String {
        self.arm_names().into_iter().flatten().collect::<Vec<_>>().join(" / ")
    }

    /// Whether the levels of this factor are states that the server is brought to.
    #[must_use]
    pub fn is_state(&self, key: &str) -> bool {
        key == SETTINGS || self.named.changes.contains_key(key)
    }

    /// The state that a run needs the server in: levels, in words; empty where any will do.
    #[must_use]
    pub fn state_of(&self, run: &PlannedRun) -> String {
        let arm = run.arm.iter().map(|arm| (self.compared(), arm));
        let cell = run.factors.iter().map(|(key, level)| (key.as_str(), level));
        let levels = cell.chain(arm).filter(|(key, _)| self.is_state(key));
        levels.map(|(_, level)| level.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Whether there are runs that begin cold.
    #[must_use]
    pub fn starts_cold(&self) -> bool {
        self.factors.get(CACHE).is_some_and(|levels| levels.iter().any(|level| level == "cold"))
    }

    /// Whether its runs are on servers on several storages: then each works alone, since what one still writes would fall into
    /// another one's time, and is started again for each run.
    #[must_use]
    pub fn varies_storage(&self) -> bool {
        self.factors.get(STORAGE).is_some_and(|levels| levels.len() > 1)
    }

    /// Whether the arms of a cell run next to each other.
    #[must_use]
    pub fn together(&self, cell: &BTreeMap<String, String>, standing: Option<&Standing>) -> bool {
        match (self.scheme, standing.and_then(Standing::copies)) {
            (Scheme::HalfRounds, None) => false,
            (Scheme::HalfRounds, Some(copies)) => {
                !cell.get("workload").is_some_and(|workload| copies.apart.contains(workload))
            }
            (Scheme::Single | Scheme::Pairs, _) => true,
        }
    }

    /// Settings in which arms differ.
    #[must_use]
    pub fn differing_settings(&self) -> BTreeSet<String> {
        let names: BTreeSet<&String> = self.arms.iter().flat_map(|arm| arm.settings.keys()).collect();
        let differs = |name: &&&String| {
            let of = |at: usize| self.arms[at].settings.get(**name);
            (1..self.arms.len()).any(|at| of(at) != of(0))
        };
        names.iter().filter(differs).map(ToString::to_string).collect()
    }
}
