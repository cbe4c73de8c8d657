//! The part of a plan that identifies an experiment.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    ArmPlacement, ByHand, CellOrder, Cpus, Named, PlannedComparison, PlannedMeasure, PlannedPreparation,
    PlannedRun, PlannedWorkload, ProbeOptions, Scheme, TargetSpec,
};

/// The factor whose levels are named tables of settings.
pub const SETTINGS: &str = "settings";
/// The factor whose levels are storages of a managed server.
pub const STORAGE: &str = "storage";
/// The factor whose levels are versions and builds of the server.
pub const VERSION: &str = "version";
/// The factor whose levels are states of the caches at the start of a run.
pub const CACHE: &str = "cache";

/// The factors whose levels are topologies of the target.
pub const TOPOLOGY: [&str; 2] = ["replicas", "replication"];

/// One level of the compared factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// `None` where the file has no settings.
    pub name: Option<String>,
    /// With shares of the machine computed.
    pub settings: BTreeMap<String, String>,
    /// Settings that weaken crash safety or maintenance, as text.
    pub weakens: Vec<String>,
}

/// Workloads that run once a round outside the grid.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    #[serde(rename = "beside_workloads")]
    pub workloads: Vec<String>,
    #[serde(rename = "beside_clients")]
    pub clients: Vec<u32>,
}

/// What a calibration measures. It never goes on: each is measured from its beginning, since the machine may have
/// changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCalibration {
    /// Approximate time of all its measurements together, without those of placements.
    pub time_s: f64,
    /// Numbers of clients, ascending, all on one thread.
    pub clients: Vec<u32>,
}

/// The part of a plan that identifies an experiment: the identity is its hash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Content {
    pub seed: Option<u64>,
    pub target: TargetSpec,
    pub prepare: PlannedPreparation,
    /// Preparations of servers with other data, by levels of preparation options.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, PlannedPreparation>,
    /// Each server is probed once at each invocation. The options are not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeOptions>,
    /// Workloads in and outside of the grid, by name.
    pub workloads: BTreeMap<String, PlannedWorkload>,
    /// Levels of each factor, as written.
    pub factors: BTreeMap<String, Vec<String>>,
    #[serde(flatten)]
    pub beside: Beside,
    /// Base first; a single arm without a name if the file has no settings.
    pub arms: Vec<Arm>,
    #[serde(flatten)]
    pub named: Named,
    pub compare: Option<PlannedComparison>,
    #[serde(flatten)]
    pub measure: PlannedMeasure,
    /// If it is a calibration, which chooses its runs itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrate: Option<PlannedCalibration>,
    pub order: CellOrder,
    pub scheme: Scheme,
    /// CPUs that pgdyno may use on the machine that it was planned for: names of placements stand for some of
    /// them. Not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Cpus>,
}

impl Content {
    /// Whether it has no workload: its jobs are done again at each invocation, and it is never finished.
    #[must_use]
    pub fn has_only_jobs(&self) -> bool {
        self.workloads.is_empty() && self.calibrate.is_none()
    }

    /// The factor whose levels are the arms.
    #[must_use]
    pub fn compared(&self) -> &str {
        self.compare.as_ref().map_or(SETTINGS, |compare| &compare.factor)
    }

    /// The arms, base first; a single arm without a name if nothing is compared.
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

    /// Text for an arm: with the factor's name where the level alone, such as `4` or `with`, is unclear.
    #[must_use]
    pub fn arm_words(&self, arm: &str) -> String {
        match self.compared() {
            SETTINGS | "workload" => arm.to_owned(),
            factor => format!("{factor} {arm}"),
        }
    }

    /// The arms as one text where they are workloads: `exists / join`.
    #[must_use]
    pub fn compared_workloads(&self) -> String {
        self.arm_names().into_iter().flatten().collect::<Vec<_>>().join(" / ")
    }

    /// Whether the levels of this factor are states of the server.
    #[must_use]
    pub fn is_state(&self, key: &str) -> bool {
        key == SETTINGS || TOPOLOGY.contains(&key) || self.named.changes.contains_key(key)
    }

    /// The greatest number of replicas of a run.
    #[must_use]
    pub fn most_replicas(&self) -> u32 {
        let targets = self.named.servers.values().chain([&self.target]);
        let most = match self.factors.get("replicas") {
            Some(levels) => levels.iter().filter_map(|level| level.parse().ok()).max(),
            None => targets.map(|target| target.topology().replicas).max(),
        };
        most.unwrap_or(0)
    }

    /// Whether some runs have replicas.
    #[must_use]
    pub fn has_replicas(&self) -> bool {
        self.most_replicas() > 0
    }

    /// The state of the server that a run needs, as text: its levels; empty if any state will do.
    #[must_use]
    pub fn state_of(&self, run: &PlannedRun) -> String {
        let arm = run.arm.iter().map(|arm| (self.compared(), arm));
        let cell = run.factors.iter().map(|(key, level)| (key.as_str(), level));
        let levels = cell.chain(arm).filter(|(key, _)| self.is_state(key));
        levels.map(|(_, level)| level.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The factor that is set by hand, which is then the compared one.
    #[must_use]
    pub fn by_hand(&self) -> Option<(&str, ByHand)> {
        self.named.by_hand.iter().next().map(|(name, by_hand)| (name.as_str(), *by_hand))
    }

    /// Whether some runs start cold.
    #[must_use]
    pub fn starts_cold(&self) -> bool {
        self.factors.get(CACHE).is_some_and(|levels| levels.iter().any(|level| level == "cold"))
    }

    /// Whether arms that take turns keep their sessions from round to round: as asked, else where versions or builds
    /// of the server are compared. A leak, or a cache that slows with age, shows only in sessions that last.
    #[must_use]
    pub fn keeps_sessions(&self) -> bool {
        self.measure.keep_sessions.unwrap_or(self.compare.is_some() && self.compared() == VERSION)
    }

    /// Whether runs use servers on several storages. Then each server runs alone, since late writes of one
    /// would disturb another, and restarts for each run.
    #[must_use]
    pub fn varies_storage(&self) -> bool {
        self.factors.get(STORAGE).is_some_and(|levels| levels.len() > 1)
    }

    /// Whether the arms of a cell run next to each other.
    #[must_use]
    pub fn together(&self, cell: &BTreeMap<String, String>, arm_placement: Option<&ArmPlacement>) -> bool {
        match (self.scheme, arm_placement.and_then(ArmPlacement::copies)) {
            (Scheme::HalfRounds, None) | (Scheme::Sets, _) => false,
            (Scheme::HalfRounds, Some(copies)) => {
                !cell.get("workload").is_some_and(|workload| copies.apart.contains(workload))
            }
            (Scheme::Single | Scheme::Pairs, _) => true,
        }
    }

    /// Settings that differ between arms.
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
