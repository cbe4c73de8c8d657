//! The answer of an experiment, computed once: verdicts, doubts, causes, the next step. Every output renders it, and none decides
//! anything. So does the exit code.

mod doubts;
mod instead;
mod next;
mod remarks;
mod trend;
mod values;
mod verdicts;

use spec::{SpeedTrend, Validity};

pub use self::doubts::{Doubtful, SuspectRuns};
pub use self::instead::Instead;
pub use self::next::{FEW, Help, Next, Short, Step, part_name};
pub use self::remarks::{FromCache, Remarks, Uncut};
pub use self::trend::speed_trend;
pub use self::verdicts::{Line, Outcome, Part, Verdicts};
use crate::comparison::{Cell, Comparison, Difference, Metric};
use crate::data::ReportData;

/// What the runs of an experiment say.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The question, or the name of an experiment that asks none.
    pub question: String,
    /// By arm in file order; within an arm by workload, then by cell. Empty where nothing is compared.
    pub lines: Vec<Line>,
    pub outcome: Outcome,
    /// Whether arms are compared or limits are searched.
    pub is_answered: bool,
    /// The answer where they are not.
    pub instead: Instead,
    pub doubts: Doubts,
    /// What arms differ in beside their speed: all that is large.
    pub causes: Vec<Difference>,
    /// What to do where it is inconclusive.
    pub next: Option<Next>,
    pub remarks: Remarks,
}

/// Whether it can be believed.
#[derive(Debug, Clone, Default)]
pub struct Doubts {
    /// Runs that were measured.
    pub runs: usize,
    pub suspect: Doubtful,
    pub invalid: Doubtful,
    /// Measured again, because the machine disturbed them.
    pub again: Doubtful,
    /// Where nothing is compared, and a third or more of the runs are suspect.
    pub most: Option<SuspectRuns>,
    /// Cells whose speed changes while they are measured.
    pub trends: Vec<(Cell, SpeedTrend)>,
}

impl Answer {
    /// The answer; the same for every output.
    #[must_use]
    pub fn of(data: &ReportData) -> Self {
        let found = data.compared();
        let verdicts = found.map(|found| Verdicts::of(found, &data.experiment, &data.runs));
        let outcome = match (data.limits(), &verdicts) {
            (Some(limits), _) => Outcome::of_limits(&limits),
            (None, Some(verdicts)) => verdicts.outcome,
            (None, None) => without_pairs(data),
        };
        let lines = verdicts.map_or(Vec::new(), |verdicts| verdicts.lines);
        let is_answered = data.limits().is_some() || found.is_some_and(|found| !found.arms.is_empty());
        let texts = [&data.experiment.question, &data.experiment.name];
        let question = texts.into_iter().map(|text| text.trim()).find(|text| !text.is_empty());
        Self {
            question: question.unwrap_or("A measurement").to_owned(),
            outcome,
            is_answered,
            instead: Instead::of(data),
            doubts: Doubts::of(data),
            causes: data.differences.iter().filter(|own| own.large).cloned().collect(),
            next: found.and_then(|found| Next::of(data, found, &lines)),
            remarks: Remarks::of(data),
            lines,
        }
    }
}

/// Where no pair of arms was measured, or there are no arms.
fn without_pairs(data: &ReportData) -> Outcome {
    let all_invalid = data.runs.iter().all(|run| run.validity == Validity::Invalid);
    match Comparison::of(&data.experiment, &data.runs, Metric::Tps) {
        Some(found) => Verdicts::of(&found, &data.experiment, &data.runs).outcome,
        None if all_invalid => Outcome::Invalid,
        None => Outcome::NothingSlower,
    }
}

impl Doubts {
    fn of(data: &ReportData) -> Self {
        Self {
            runs: data.measured_runs().count(),
            suspect: Doubtful::of(data, Validity::Suspect),
            invalid: Doubtful::of(data, Validity::Invalid),
            again: Doubtful::among(data.former_runs()),
            most: SuspectRuns::of(data.grid_runs()).filter(|most| most.runs > 1),
            trends: trend::all(data),
        }
    }
}

#[cfg(test)]
mod tests;
