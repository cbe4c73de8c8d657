//! The complete plan of an experiment.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ArmPlacement, ChosenPlacement, Content, Copies, Decision, Decisions, Generator, NotRun, PlannedRun,
    Scheme, Slicing,
};
use crate::{ExperimentPart, Prices, RunKey, RunKeyRef};

/// The factor whose levels are the CPUs of client threads and servers.
pub const PLACEMENT: &str = "placement";

/// An experiment, expanded. Only `content` is part of the identity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// File name without folder and ending.
    pub name: String,
    pub question: String,
    /// Why it is only a taste, not a measurement.
    pub taste: Option<String>,
    pub rounds: u32,
    pub content: Content,
    pub runs: Vec<PlannedRun>,
    /// The part of the experiment that is measured here, if it is divided among hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<ExperimentPart>,
    #[serde(default)]
    pub decisions: Decisions,
    /// Levels of the sets that were begun, in order, if a factor is set by hand. Only the last is measured now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<String>,
    /// Sets that each level of a factor that is set by hand is to have; 0 without one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sets_of_level: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// How often a block is measured again at most after a disturbance, if the file sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_disturbed: Option<u32>,
    /// Whether a sample of transactions is explained, if the file sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// Longest time for the check of a workload, and for the plans after a run, each, s, if the file sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_time_s: Option<f64>,
    /// Whether scripts are executed once before the first run, if the file sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub try_first: Option<bool>,
}

/// Unless the user sets another one.
pub const CHECK_TIME: Duration = Duration::from_secs(10);

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Plan {
    /// The part of each run's load that is made here, if several generators share it.
    #[must_use]
    pub fn shared_part(&self) -> Option<ExperimentPart> {
        self.part.filter(|part| part.shared)
    }

    /// Seed of all randomness: from the file, else derived from the identity.
    #[must_use]
    pub fn seed(&self) -> u64 {
        *self.decisions.seed.value()
    }

    /// Where the arms run; `None` if there was nothing to decide.
    #[must_use]
    pub fn arm_placement(&self) -> Option<&ArmPlacement> {
        self.decisions.arm_placement.as_ref().map(Decision::value)
    }

    /// The placement of clients and servers, if no level sets it.
    #[must_use]
    pub fn placement(&self) -> Option<&ChosenPlacement> {
        self.decisions.placement.as_ref().map(Decision::value)
    }

    /// The load generator's driver and waiting; `None` with jobs only.
    #[must_use]
    pub fn generator(&self) -> Option<&Generator> {
        self.decisions.generator.as_ref().map(Decision::value)
    }

    /// Runs that are left out.
    #[must_use]
    pub fn not_run(&self) -> &[NotRun] {
        self.decisions.left_out.value()
    }

    /// Whether the arms of a workload take turns in slices; `None` without a comparison.
    #[must_use]
    pub fn slicing(&self, workload: &str) -> Option<&Decision<Slicing>> {
        self.decisions.slices.get(workload)
    }

    /// Whether a sample of a run's transactions is explained after it: once for each cell and arm, in the
    /// first round. By default only where something is compared; this costs a few executions.
    #[must_use]
    pub fn explains(&self, run: &PlannedRun) -> bool {
        let wanted = self.explain.unwrap_or(self.content.compare.is_some());
        // Trials of a search differ only in rate.
        wanted && run.round == 1 && !run.beside && !run.is_job() && self.content.measure.search.is_none()
    }

    /// Longest time for the check of a workload before its runs, and for the plans after one, each.
    #[must_use]
    pub fn check_time(&self) -> Duration {
        self.check_time_s.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).unwrap_or(CHECK_TIME)
    }

    /// Runs that remain, in order, after these are stored.
    #[must_use]
    pub fn remaining(&self, finished: &[RunKey]) -> Vec<&PlannedRun> {
        let done: HashSet<RunKeyRef<'_>> = finished.iter().map(RunKey::borrowed).collect();
        self.runs.iter().filter(|run| !done.contains(&run.borrowed_key())).collect()
    }

    /// The set of a run, from 1; `None` if no factor is set by hand.
    #[must_use]
    pub fn set_of(&self, run: &PlannedRun) -> Option<u32> {
        self.content.by_hand().map(|(_, by_hand)| by_hand.set_of(run.round))
    }

    /// Whether a run belongs to a set that was begun, or no factor is set by hand.
    #[must_use]
    pub fn is_begun(&self, run: &PlannedRun) -> bool {
        self.set_of(run).is_none_or(|set| set as usize <= self.sets.len())
    }

    /// Whether a run belongs to the last set that was begun: the machine is at its level. True without sets.
    #[must_use]
    pub fn is_measured_now(&self, run: &PlannedRun) -> bool {
        self.sets.is_empty() || self.set_of(run).is_none_or(|set| set as usize == self.sets.len())
    }

    /// How often the server changes its state.
    #[must_use]
    pub fn switches(&self) -> usize {
        let runs = self.runs.iter().filter(|run| !run.beside);
        let states: Vec<_> = runs.map(|run| self.content.state_of(run)).collect();
        states.windows(2).filter(|pair| pair[0] != pair[1]).count() + 1
    }

    /// Keeps only the wanted runs.
    pub fn keep(&mut self, mut wanted: impl FnMut(&PlannedRun) -> bool) {
        self.runs.retain(|run| wanted(run));
        for (sequence, run) in (0..).zip(&mut self.runs) {
            run.sequence = sequence;
        }
    }

    /// Whether the experiment's levels set the CPUs of clients and servers.
    #[must_use]
    pub fn chooses_placement(&self) -> bool {
        self.content.compared() == PLACEMENT || self.content.factors.contains_key(PLACEMENT)
    }

    /// Whether the arms of its cell run next to it.
    #[must_use]
    pub fn has_arms_beside(&self, run: &PlannedRun) -> bool {
        self.content.scheme != Scheme::Single && self.content.together(&run.factors, self.arm_placement())
    }

    /// Whether no other server may be active during this run.
    #[must_use]
    pub fn runs_alone(&self, run: &PlannedRun) -> bool {
        self.copies().is_some() && !self.content.together(&run.factors, self.arm_placement())
    }

    /// The copies that arms run on.
    #[must_use]
    pub fn copies(&self) -> Option<&Copies> {
        self.decisions.copies()
    }

    /// The order scheme that is recorded.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        match (self.content.scheme, self.copies()) {
            (Scheme::HalfRounds, Some(copies)) if copies.apart.is_empty() => Scheme::Pairs,
            (scheme, _) => scheme,
        }
    }

    /// Whether servers are restarted before this run of the list: at the start of each round, if arms run on
    /// copies; only at the first if sessions are kept.
    #[must_use]
    pub fn restarts_servers(&self, before: Option<&PlannedRun>, run: &PlannedRun) -> bool {
        let begins = |before: &PlannedRun| before.round != run.round && !self.content.keeps_sessions();
        self.copies().is_some() && before.is_none_or(begins)
    }

    /// How often servers are restarted over these runs.
    #[must_use]
    pub fn starts(&self, runs: &[&PlannedRun]) -> usize {
        let round = |run: &PlannedRun| if self.content.keeps_sessions() { 0 } else { run.round };
        let started: BTreeSet<_> = runs.iter().map(|run| (round(run), &run.arm)).collect();
        started.len()
    }
}
