//! Whether so many runs are suspect that the answer is, too.

use std::collections::BTreeMap;

use serde::Serialize;
use spec::{Reason, Run, Validity, count};

use super::Part;
use crate::comparison::Cell;

/// How many runs of some are suspect, where that is a third or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SuspectRuns {
    pub suspect: usize,
    pub runs: usize,
    pub reason: Option<Reason>,
    /// How many of them have it.
    pub with_reason: usize,
}

impl SuspectRuns {
    /// Of some runs; `None` where fewer than a third are suspect.
    #[must_use]
    pub fn of<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<Self> {
        Self::among(runs, |_| true)
    }

    /// Of the trials of a search, which is there to find overloads; `None` as above.
    #[must_use]
    pub fn of_trials<'r>(trials: impl Iterator<Item = &'r Run>) -> Option<Self> {
        Self::among(trials, |reason| reason != Reason::Overloaded)
    }

    fn among<'r>(runs: impl Iterator<Item = &'r Run>, counts: impl Fn(Reason) -> bool) -> Option<Self> {
        let (mut all, mut suspect) = (0, 0);
        let mut reasons: BTreeMap<Reason, usize> = BTreeMap::new();
        for run in runs {
            all += 1;
            let own: Vec<Reason> =
                run.doubts.iter().map(|doubt| doubt.reason).filter(|of| counts(*of)).collect();
            if run.validity == Validity::Suspect && !own.is_empty() {
                suspect += 1;
                own.into_iter().for_each(|reason| *reasons.entry(reason).or_default() += 1);
            }
        }
        // The first of those that as many runs have: reasons stand in the order of their weight.
        let main = reasons.into_iter().rev().max_by_key(|(_, runs)| *runs);
        (suspect > 0 && 3 * suspect >= all).then(|| Self {
            suspect,
            runs: all,
            reason: main.map(|(reason, _)| reason),
            with_reason: main.map_or(0, |(_, runs)| runs),
        })
    }

    /// `15 of 24 runs are suspect, mostly unsteady (12)`.
    #[must_use]
    pub fn words(&self) -> String {
        let runs = count(self.runs as u64, "run");
        let verb = if self.suspect == 1 { "is" } else { "are" };
        let reason = match self.reason {
            None => String::new(),
            Some(reason) if self.with_reason == self.suspect => format!(" ({})", reason.text()),
            Some(reason) => format!(", mostly {} ({})", reason.text(), self.with_reason),
        };
        format!("{} of {runs} {verb} suspect{reason}", self.suspect)
    }
}

/// Of the runs that a line of the answer rests on, or of all runs of the experiment.
pub(super) fn suspect(runs: &[Run], arms: [&str; 2], part: &Part) -> Option<SuspectRuns> {
    let measured =
        || runs.iter().filter(|run| run.is_measured() && run.arm.is_some() && run.set_aside.is_none());
    let is_its =
        |run: &&Run| run.arm.as_deref().is_some_and(|arm| arms.contains(&arm)) && part.has(&Cell::of(run));
    SuspectRuns::of(measured().filter(is_its)).or_else(|| SuspectRuns::of(measured()))
}
