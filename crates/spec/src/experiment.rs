//! An experiment: what was planned, where, and on what.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::{OrderScheme, Recorded};
use crate::surroundings::Target;

/// An experiment: the plan it expanded to, and the file it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Identity: hash of the expanded plan without rounds and comments, hex.
    pub hash: String,
    /// File name without folder and ending.
    pub name: String,
    pub question: String,
    /// The file's text, without the credentials of addresses.
    pub file_text: String,
    /// What was to be done.
    #[serde(default)]
    pub plan: Recorded,
    pub seed: u64,
    pub order_scheme: OrderScheme,
    pub rounds: u32,
    /// The factor compared (`settings`, ...); `None` when nothing is.
    pub compare_factor: Option<String>,
    pub base: Option<String>,
    /// All arms in file order, base first; empty when nothing is compared.
    pub arms: Vec<Arm>,
    /// Margin for "same", as a share (0.03 = 3 %).
    pub margin: f64,
    /// Whether the plan calls itself a taste, not a measurement (short runs, few rounds); shown in the report.
    pub taste: Option<String>,
    /// UTC, RFC 3339.
    pub created_at: String,
    /// The control of two experiments that are compared; never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlArm>,
}

/// Which arm is the control of two experiments: a level of the factor that both compare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlArm {
    pub factor: String,
    pub arm: String,
    /// Whether it is the base of both.
    pub is_base: bool,
}

/// One level of the compared factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    pub name: String,
    /// What it sets, by name.
    pub settings: BTreeMap<String, String>,
    /// What in it weakens crash safety, e.g. `full_page_writes = off`; empty when nothing does.
    pub unsafe_settings: Vec<String>,
    /// What is measured, where the arms are on their own servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}
