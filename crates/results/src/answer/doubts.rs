//! Whether the runs are valid, and whether so many are suspect that the answer is, too.

use std::collections::BTreeMap;

use spec::{Reason, Run, Validity, count, figures};

use crate::data::ReportData;

/// The number of suspect runs, if that is a third or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuspectRuns {
    pub suspect: usize,
    pub runs: usize,
    pub reason: Option<Reason>,
    pub with_reason: usize,
}

impl SuspectRuns {
    /// Of some runs; `None` if fewer than a third are suspect.
    #[must_use]
    pub fn of<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<Self> {
        Self::among(runs, |_| true)
    }

    /// Of the counted trials of a search, for which overloads are no reason to doubt, nor is a promise that was kept
    /// although the generator stalled; `None` as above.
    #[must_use]
    pub fn of_trials<'r>(trials: impl Iterator<Item = &'r Run>) -> Option<Self> {
        Self::among(trials, |reason| !matches!(reason, Reason::Overloaded | Reason::GeneratorStalled))
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
        // The first of equally frequent ones: reasons are in the order of their weight.
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

/// Suspect or invalid runs, and how many of them for which reason.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Doubtful {
    pub runs: usize,
    pub reasons: BTreeMap<Reason, usize>,
    /// How many of them are trials of a search that do not count.
    pub uncounted: usize,
}

impl Doubtful {
    pub(super) fn of(data: &ReportData, validity: Validity) -> Self {
        // A search looks for overloads, so they count.
        let searches = data.limits().is_some();
        let is_found = |run: &&Run| {
            let only_overloaded = run.doubts.iter().all(|doubt| doubt.reason == Reason::Overloaded);
            let counts = run.figures.get(figures::PROMISE_KEPT).is_some();
            searches && (only_overloaded || counts && validity == Validity::Invalid)
        };
        let doubtful = || data.measured_runs().filter(|run| run.validity == validity && !is_found(run));
        let trials = data.limits().map(|limits| limits.counted_trials());
        let is_uncounted = |run: &&Run| {
            run.tried_level().is_some() && trials.as_ref().is_some_and(|trials| !trials.contains(&run.key()))
        };
        Self { uncounted: doubtful().filter(is_uncounted).count(), ..Self::among(doubtful()) }
    }

    pub(super) fn among<'r>(runs: impl Iterator<Item = &'r Run>) -> Self {
        let mut doubtful = Self::default();
        for run in runs {
            doubtful.runs += 1;
            for doubt in &run.doubts {
                *doubtful.reasons.entry(doubt.reason).or_default() += 1;
            }
        }
        doubtful
    }
}
