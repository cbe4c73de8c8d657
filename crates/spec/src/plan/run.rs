//! One run of a plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{RunKey, count};

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
pub const SHOWN_APART: [&str; 3] = ["workload", "clients", "rate"];

impl PlannedRun {
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
    #[must_use]
    pub fn changing_rate(&self) -> Option<&str> {
        let written = self.factors.get("rate")?;
        written.parse::<f64>().is_err().then_some(written)
    }

    /// In words, e.g. `polygons, 4 clients, arm gis, round 3`.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = self.workload.clone();
        if self.clients > 0 {
            words += &format!(", {}", count(u64::from(self.clients), "client"));
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
