//! An experiment: its plan, arms and origin.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::part::ExperimentPart;
use crate::plan::{OrderScheme, Recorded, WorkMetric};
use crate::surroundings::MeasuredTarget;

/// An experiment: the plan it expanded to, and the file it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// Identity: hash of the expanded plan without rounds and comments, hex.
    pub hash: String,
    pub name: String,
    pub question: String,
    pub file_text: String,
    #[serde(default)]
    pub plan: Recorded,
    pub seed: u64,
    pub order_scheme: OrderScheme,
    pub rounds: u32,
    /// The factor compared (`settings`, ...); `None` if nothing is compared.
    pub compare_factor: Option<String>,
    pub base: Option<String>,
    /// In file order, base first; empty if nothing is compared.
    pub arms: Vec<ArmRecord>,
    /// Margin for "same", as a share (0.03 = 3 %).
    pub margin: f64,
    /// Why the plan is only a taste and not a measurement (short runs, few rounds); shown in the report.
    pub taste: Option<String>,
    /// UTC, RFC 3339.
    pub created_at: String,
    /// The parts of it that this file has, by number; none if it was not divided among hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ExperimentPart>,
    /// The control of two compared experiments; never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlArm>,
}

impl ExperimentRecord {
    /// The metric that gives its answer.
    #[must_use]
    pub fn metric(&self) -> WorkMetric {
        let compare = self.plan.plan().and_then(|plan| plan.content.compare.as_ref());
        compare.map_or(WorkMetric::default(), |compare| compare.metric)
    }

    /// How often its verdict may be looked at while rounds are added; at least 1.
    #[must_use]
    pub fn planned_looks(&self) -> u32 {
        let compare = self.plan.plan().and_then(|plan| plan.content.compare.as_ref());
        compare.map_or(1, |compare| compare.looks.max(1))
    }
}

/// The arm that serves as control of two experiments: a level of the factor that both compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlArm {
    pub factor: String,
    pub arm: String,
    pub is_base: bool,
}

/// One level of the compared factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmRecord {
    pub name: String,
    pub settings: BTreeMap<String, String>,
    /// Settings that weaken crash safety, e.g. `full_page_writes = off`.
    pub unsafe_settings: Vec<String>,
    /// Set where arms are on separate servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<MeasuredTarget>,
}
