//! Where the arms of a comparison run: each on its own copy of the prepared server, or all on the given
//! servers. Decided by the available space once the data are prepared, and not part of the identity.

use serde::{Deserialize, Serialize};

/// Where the arms run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmPlacement {
    /// Next to each other, each on a copy of its template.
    Copies(Copies),
    /// On the given servers.
    AsTheyAre,
}

/// Arms on copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copies {
    /// Copies of each prepared server: one for every arm, or one if each arm has a separate server.
    pub each: u32,
    /// Whether arms swap copies each round: possible if they differ only in settings.
    pub swapped: bool,
    /// Workloads that still run in half-rounds, with no other server active, and the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<String>,
    /// The settings that are the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<String>,
}

impl ArmPlacement {
    /// Where the arms run, as text.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::AsTheyAre => "as they were prepared".to_owned(),
            Self::Copies(Copies { each, swapped, .. }) => {
                let swap = if *swapped { ", swapped every round" } else { "" };
                let copies = if *each == 1 { "a copy".to_owned() } else { format!("{each} copies") };
                format!("{copies} of each prepared server{swap}")
            }
        }
    }

    /// The copies, if arms run on copies.
    #[must_use]
    pub fn copies(&self) -> Option<&Copies> {
        match self {
            Self::Copies(copies) => Some(copies),
            Self::AsTheyAre => None,
        }
    }
}

impl Copies {
    /// Copies without workloads in half-rounds.
    #[must_use]
    pub fn new(each: u32, swapped: bool) -> Self {
        Self { each, swapped, apart: Vec::new(), background: Vec::new() }
    }

    /// The number of the copy that an arm (by index, from 0) uses in a round.
    #[must_use]
    pub fn number(&self, arm: u32, round: u32) -> u32 {
        let turned = if self.swapped { round.saturating_sub(1) } else { 0 };
        (arm + turned) % self.each + 1
    }
}
