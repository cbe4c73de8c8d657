//! Where the arms of a comparison stand: each on its own server, a copy of the prepared one, or all on the servers as they
//! are. Decided when the experiment begins, by what there is room for; kept with the plan, and no part of the identity.

use serde::{Deserialize, Serialize};

/// Where the arms stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Side by side, each on a copy of its template.
    Copies(Copies),
    /// On the servers as they are, for this reason.
    AsTheyAre { why: String },
}

/// Arms on copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copies {
    /// Of each server that is prepared: one for every arm, or one where each arm has a server prepared for it.
    pub each: u32,
    /// The arms swap copies each round: they are only settings.
    pub swapped: bool,
    /// Workloads that are run in half-rounds all the same, with no other server at work, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<String>,
    /// The setting that is why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<String>,
    /// What they take and what there is, in words; empty until that is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub figures: String,
}

impl Standing {
    /// The copies, where arms stand on some.
    #[must_use]
    pub fn copies(&self) -> Option<&Copies> {
        match self {
            Self::Copies(copies) => Some(copies),
            Self::AsTheyAre { .. } => None,
        }
    }
}

impl Copies {
    /// Copies that are swapped or not, with no workload run apart.
    #[must_use]
    pub fn new(each: u32, swapped: bool) -> Self {
        Self { each, swapped, apart: Vec::new(), background: Vec::new(), figures: String::new() }
    }

    /// The copy of its server that the arm at this place among the arms, from 0, stands on in a round.
    #[must_use]
    pub fn number(&self, arm: u32, round: u32) -> u32 {
        let turned = if self.swapped { round.saturating_sub(1) } else { 0 };
        (arm + turned) % self.each + 1
    }
}
