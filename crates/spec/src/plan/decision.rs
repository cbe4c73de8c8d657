//! Decisions about an experiment, as data: what was decided and why, or what will decide it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{ArmPlacement, ChosenPlacement, Copies, Generator, Slicing};

/// A decision. What is decided stays: more facts only decide what is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision<T> {
    Decided {
        value: T,
        reason: String,
    },
    Open {
        /// The value that is expected, e.g. for the order and the duration that a dry run shows.
        expected: T,
        /// How it will be decided.
        rule: String,
        /// The facts that it waits for.
        needs: BTreeSet<Needed>,
    },
}

/// The facts that decisions wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Needed {
    /// What the results file has of the experiment.
    Results,
    /// What is installed on this machine.
    Programs,
    /// Whether each arm passes its checks.
    Checks,
    /// What `pgdyno calibrate` found on this host.
    Calibration,
    /// Whether servers of different arms are one.
    Servers,
    /// Limits of the servers.
    ServerLimits,
    /// Sizes of the prepared data.
    Preparation,
}

impl Needed {
    /// The facts as text.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Results => "the results file",
            Self::Programs => "what is available here",
            Self::Checks => "whether each arm passes its checks",
            Self::Calibration => "the calibration of this host",
            Self::Servers => "whether two servers are one",
            Self::ServerLimits => "how many clients the servers accept",
            Self::Preparation => "the size of the prepared data",
        }
    }
}

impl<T> Decision<T> {
    /// A value with its reason.
    pub fn decided(value: T, reason: impl Into<String>) -> Self {
        Self::Decided { value, reason: reason.into() }
    }

    /// A value that is expected until these facts are known.
    pub fn open(expected: T, rule: impl Into<String>, needs: impl IntoIterator<Item = Needed>) -> Self {
        Self::Open { expected, rule: rule.into(), needs: needs.into_iter().collect() }
    }

    /// The decided or expected value.
    pub fn value(&self) -> &T {
        match self {
            Self::Decided { value, .. } | Self::Open { expected: value, .. } => value,
        }
    }

    /// The reason of the value, or the rule that will decide.
    pub fn why(&self) -> &str {
        match self {
            Self::Decided { reason, .. } => reason,
            Self::Open { rule, .. } => rule,
        }
    }

    /// The facts that it waits for; none if it is decided.
    pub fn needs(&self) -> impl Iterator<Item = Needed> {
        let needs = match self {
            Self::Decided { .. } => None,
            Self::Open { needs, .. } => Some(needs),
        };
        needs.into_iter().flatten().copied()
    }

    /// Whether facts are missing.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }
}

/// Runs that are not possible on this machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotRun {
    pub what: String,
    pub why: String,
}

/// What was decided about an experiment. `None`: there is nothing to decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decisions {
    /// How often the same experiment was measured before: 0 for a new one, also while it goes on.
    pub repetition: Decision<u64>,
    /// Seed of all randomness.
    pub seed: Decision<u64>,
    /// Runs that are left out, because something is not available or failed its checks.
    pub left_out: Decision<Vec<NotRun>>,
    /// CPUs of client threads and servers, if no level sets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Decision<ChosenPlacement>>,
    /// Where the arms run: on copies, or on the prepared servers.
    #[serde(rename = "standing", default, skip_serializing_if = "Option::is_none")]
    pub arm_placement: Option<Decision<ArmPlacement>>,
    /// Whether the arms of a workload take turns in slices, by workload; empty without a comparison.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slices: BTreeMap<String, Decision<Slicing>>,
    /// Driver and waiting of the load generator; only what the file sets is part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Decision<Generator>>,
    /// How many clients the servers accept, if a search adds clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<Decision<Option<u32>>>,
}

impl Default for Decisions {
    /// Nothing but a seed.
    fn default() -> Self {
        Self {
            repetition: Decision::decided(0, ""),
            seed: Decision::decided(0, ""),
            left_out: Decision::decided(Vec::new(), ""),
            placement: None,
            arm_placement: None,
            slices: BTreeMap::new(),
            generator: None,
            clients: None,
        }
    }
}

impl Decisions {
    /// The copies that arms run on, or are expected to.
    #[must_use]
    pub fn copies(&self) -> Option<&Copies> {
        self.arm_placement.as_ref()?.value().copies()
    }

    /// All of them as text.
    #[must_use]
    pub fn rows(&self) -> Vec<DecisionRow> {
        fn row<T>(what: &str, decision: &Decision<T>, words: impl Fn(&T) -> String) -> DecisionRow {
            DecisionRow {
                what: what.to_owned(),
                value: words(decision.value()),
                why: decision.why().to_owned(),
                needs: decision.needs().collect(),
            }
        }
        let left_out = |all: &Vec<NotRun>| match all.is_empty() {
            true => "nothing".to_owned(),
            false => all.iter().map(|own| own.what.as_str()).collect::<Vec<_>>().join("; "),
        };
        let clients =
            |most: &Option<u32>| most.map_or_else(|| "no limit".to_owned(), |most| most.to_string());
        let one = [
            Some(row("earlier repetitions", &self.repetition, u64::to_string)),
            Some(row("seed", &self.seed, u64::to_string)),
            Some(row("left out", &self.left_out, left_out)),
            self.placement.as_ref().map(|decision| row("CPUs", decision, ChosenPlacement::words)),
            self.arm_placement
                .as_ref()
                .map(|decision| row("servers of the arms", decision, ArmPlacement::words)),
            self.generator.as_ref().map(|decision| row("driver", decision, Generator::words)),
            self.clients.as_ref().map(|decision| row("most clients", decision, clients)),
        ];
        let words = |slicing: &Slicing| slicing.words().to_owned();
        let slices =
            self.slices.iter().map(|(name, slicing)| row(&format!("arms of {name}"), slicing, words));
        one.into_iter().flatten().chain(slices).collect()
    }
}

/// A decision as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    pub what: String,
    /// The decided or expected value.
    pub value: String,
    /// The reason of the value, or the rule that will decide.
    pub why: String,
    /// The facts that it waits for; empty if it is decided.
    pub needs: Vec<Needed>,
}

impl DecisionRow {
    /// The facts that it waits for, as text.
    #[must_use]
    pub fn needs_words(&self) -> String {
        self.needs.iter().map(|need| need.text()).collect::<Vec<_>>().join(", ")
    }
}
