//! One run of a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{RunKey, RunKeyRef, count};

/// One run to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Position in the whole plan, from 0.
    pub sequence: u32,
    pub round: u32,
    pub workload: String,
    /// All factors except the compared one; includes `workload` and `clients`. The runs of a cell share them.
    pub factors: Arc<BTreeMap<String, String>>,
    /// `None` outside the grid and without settings.
    pub arm: Option<String>,
    /// Position in its pair, from 1.
    pub position_in_pair: u32,
    /// Seed of its randomness: the same for all arms of a cell in a round, different in every round.
    pub seed: u64,
    /// Clients; 0 for a job.
    pub clients: u32,
    /// Threads; 0 for a job.
    pub threads: u32,
    /// Offered rate over all clients, transactions per second; the mean if it changes; open load only.
    pub rate: Option<f64>,
    /// Whether it runs outside the grid.
    pub beside: bool,
}

/// Factors that plans and runs have in separate fields.
pub const SHOWN_APART: [&str; 3] = ["workload", "clients", "rate"];

impl PlannedRun {
    /// Its key within the experiment.
    #[must_use]
    pub fn key(&self) -> RunKey {
        RunKey {
            workload: self.workload.clone(),
            factors: (*self.factors).clone(),
            arm: self.arm.clone(),
            round: self.round,
        }
    }

    /// The same, borrowed.
    #[must_use]
    pub fn borrowed_key(&self) -> RunKeyRef<'_> {
        let Self { workload, factors, arm, round, .. } = self;
        RunKeyRef { workload, factors, arm: arm.as_deref(), round: *round }
    }

    /// Whether it is a job, which runs once to its end and has no clients.
    #[must_use]
    pub fn is_job(&self) -> bool {
        self.clients == 0
    }

    /// Its rate as written, if that changes over time and is not an arm.
    #[must_use]
    pub fn changing_rate(&self) -> Option<&str> {
        let written = self.factors.get("rate")?;
        written.parse::<f64>().is_err().then_some(written)
    }

    /// The run as text, e.g. `polygons, 4 clients, arm gis, round 3`.
    #[must_use]
    pub fn words(&self) -> String {
        self.words_with("client")
    }

    /// The same with another word for a client, such as `user`.
    #[must_use]
    pub fn words_with(&self, client: &str) -> String {
        let mut words = self.workload.clone();
        if self.clients > 0 {
            words += &format!(", {}", count(u64::from(self.clients), client));
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
