//! A whole plan.

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::{ChosenPlacement, Content, Copies, Generator, PlannedRun, Scheme, Slicing, Standing};
use crate::{Prices, RunKey};

/// The factor whose levels say where client threads and servers run.
pub const PLACEMENT: &str = "placement";

/// An experiment, expanded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// File name without folder and ending; not part of the identity.
    pub name: String,
    /// The question; not part of the identity.
    pub question: String,
    /// Why it is only a taste; not part of the identity.
    pub taste: Option<String>,
    /// Rounds; not part of the identity.
    pub rounds: u32,
    /// Seed of all randomness: the file's, else made from the identity.
    pub seed: u64,
    /// All that makes it this experiment and no other.
    pub content: Content,
    /// Every run, in order.
    pub runs: Vec<PlannedRun>,
    /// Where arms stand, where they could stand side by side; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// Whether arms take turns; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slicing: Option<Slicing>,
    /// What machines cost; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// How often a block that the machine disturbed is measured again at most, where the file says so; not part of the
    /// identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat_disturbed: Option<u32>,
    /// Whether a sample of transactions is explained, where the file says so; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// What cannot be had here, and so is not run; not part of the identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<NotRun>,
    /// Where clients and servers run, where no level says it; not part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<ChosenPlacement>,
    /// What moves the bytes of all runs, and how it waits; only what the file says is part of the identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
}

/// Runs that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotRun {
    /// Which: levels, in words.
    pub what: String,
    pub why: String,
}

impl Plan {
    /// Whether a sample of a run's transactions is explained when it is over: once for each cell and arm, in the first round.
    /// Where the file does not say, it is wherever something is compared: what answers "why" costs a few executions.
    #[must_use]
    pub fn explains(&self, run: &PlannedRun) -> bool {
        let wanted = self.explain.unwrap_or(self.content.compare.is_some());
        // Trials of a search are of rates, and all ask for the same.
        wanted && run.round == 1 && !run.beside && !run.is_job() && self.content.measure.search.is_none()
    }

    /// What is still to be done, in order, when `finished` is stored.
    #[must_use]
    pub fn remaining(&self, finished: &[RunKey]) -> Vec<&PlannedRun> {
        let done: HashSet<&RunKey> = finished.iter().collect();
        self.runs.iter().filter(|run| !done.contains(&run.key())).collect()
    }

    /// How often the server is brought to another state.
    #[must_use]
    pub fn switches(&self) -> usize {
        let runs = self.runs.iter().filter(|run| !run.beside);
        let states: Vec<_> = runs.map(|run| self.content.state_of(run)).collect();
        states.windows(2).filter(|pair| pair[0] != pair[1]).count() + 1
    }

    /// Leaves out the other runs.
    pub fn keep(&mut self, mut wanted: impl FnMut(&PlannedRun) -> bool) {
        self.runs.retain(|run| wanted(run));
        for (sequence, run) in (0..).zip(&mut self.runs) {
            run.sequence = sequence;
        }
    }

    /// Whether its own levels say where clients and servers run.
    #[must_use]
    pub fn chooses_placement(&self) -> bool {
        self.content.compared() == PLACEMENT || self.content.factors.contains_key(PLACEMENT)
    }

    /// Whether the arms of its cell run next to it.
    #[must_use]
    pub fn has_arms_beside(&self, run: &PlannedRun) -> bool {
        self.content.scheme != Scheme::Single && self.content.together(&run.factors, self.standing.as_ref())
    }

    /// Whether no other server may be at work meanwhile.
    #[must_use]
    pub fn runs_alone(&self, run: &PlannedRun) -> bool {
        self.copies().is_some() && !self.content.together(&run.factors, self.standing.as_ref())
    }

    /// The copies that arms stand on.
    #[must_use]
    pub fn copies(&self) -> Option<&Copies> {
        self.standing.as_ref()?.copies()
    }

    /// How runs are interleaved, as it is recorded.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        match (self.content.scheme, self.copies()) {
            (Scheme::HalfRounds, Some(copies)) if copies.apart.is_empty() => Scheme::Pairs,
            (scheme, _) => scheme,
        }
    }

    /// Where in its list the runs of this round begin to be on servers that were started again.
    #[must_use]
    pub fn begins_anew(&self, before: Option<&PlannedRun>, run: &PlannedRun) -> bool {
        self.copies().is_some() && before.is_none_or(|before| before.round != run.round)
    }

    /// How often servers are started again on the way through these runs.
    #[must_use]
    pub fn starts(&self, runs: &[&PlannedRun]) -> usize {
        let started: BTreeSet<_> = runs.iter().map(|run| (run.round, &run.arm)).collect();
        started.len()
    }
}
