//! The answer of an experiment, computed once: verdicts, doubts, causes, the next step. Every output and
//! the exit code render it; none decides anything.

mod crashes;
mod doubts;
mod failure;
pub(crate) mod judgement;
mod next;
mod remarks;
mod trend;
mod uncompared;
mod values;
mod verdicts;
mod work;

use spec::{Judgement, SpeedTrend, Validity};

pub use self::crashes::Crashes;
pub use self::doubts::{Doubtful, SuspectRuns};
pub use self::judgement::of_ladders;
pub use self::next::{FEW, Help, Next, NextStep, Short, scope_name};
pub use self::remarks::{FromCache, Remarks, Uncut};
pub use self::trend::speed_trend;
pub use self::uncompared::Uncompared;
pub use self::verdicts::{LineScope, VerdictLine, Verdicts, shown};
pub use self::work::{Busy, OtherMetric, Precision, Reliable};
use crate::aging::Aging;
use crate::comparison::{Cell, Comparison, Difference, Metric};
use crate::data::ReportData;

/// The result of an experiment's runs.
#[derive(Debug, Clone)]
pub struct Answer {
    pub question: String,
    /// By arm in file order; within an arm by workload, then by cell. Empty if nothing is compared.
    pub lines: Vec<VerdictLine>,
    pub judgement: Judgement,
    pub is_answered: bool,
    pub uncompared: Uncompared,
    pub doubts: Doubts,
    /// What was tested for a change with the age of sessions, with what is claimed.
    pub aging: Vec<Aging>,
    /// Arms whose servers crashed.
    pub crashes: Vec<Crashes>,
    /// Why an arm is worse whatever its speed: its server crashed, or it cannot run the workload, and the base can.
    pub failure: Option<String>,
    /// Large differences between arms besides speed.
    pub causes: Vec<Difference>,
    pub next: Option<Next>,
    pub remarks: Remarks,
}

/// Reasons to doubt the answer.
#[derive(Debug, Clone, Default)]
pub struct Doubts {
    pub runs: usize,
    pub suspect: Doubtful,
    pub invalid: Doubtful,
    /// Repeated runs, because the machine disturbed them.
    pub again: Doubtful,
    /// Set if nothing is compared, and a third or more of the runs are suspect.
    pub most: Option<SuspectRuns>,
    /// Cells whose speed changes during the measurement.
    pub trends: Vec<(Cell, SpeedTrend)>,
}

impl Answer {
    /// The answer; the same for every output.
    #[must_use]
    pub fn of(data: &ReportData) -> Self {
        let found = data.compared();
        let verdicts = found.map(|found| Verdicts::of(found, &data.experiment, &data.runs));
        let crashes = Crashes::of(data);
        let failure = failure::failure(data, &crashes);
        let judgement = match (data.limits(), &verdicts) {
            _ if failure.is_some() => Judgement::Worse,
            (Some(limits), _) => judgement::of_limits(&limits),
            (None, Some(verdicts)) => verdicts.judgement,
            (None, None) => without_pairs(data),
        };
        let lines = verdicts.map_or(Vec::new(), |verdicts| verdicts.lines);
        let is_answered = data.limits().is_some() || found.is_some_and(|found| !found.arms.is_empty());
        let texts = [&data.experiment.question, &data.experiment.name];
        let question = texts.into_iter().map(|text| text.trim()).find(|text| !text.is_empty());
        Self {
            question: question.unwrap_or("A measurement").to_owned(),
            judgement,
            is_answered,
            uncompared: Uncompared::of(data),
            doubts: Doubts::of(data),
            aging: data.aging().to_vec(),
            crashes,
            causes: data.differences().iter().filter(|own| own.large).cloned().collect(),
            // More rounds do not mend a failure.
            next: found.filter(|_| failure.is_none()).and_then(|found| Next::of(data, found, &lines)),
            failure,
            remarks: Remarks::of(data),
            lines,
        }
    }
}

fn without_pairs(data: &ReportData) -> Judgement {
    let all_invalid = data.runs.iter().all(|run| run.validity == Validity::Invalid);
    match Comparison::of(&data.experiment, &data.runs, Metric::Tps) {
        // The sets of other levels are still to come.
        Some(found) if found.by_sets && !all_invalid && found.arms.iter().all(|arm| arm.is_invalid()) => {
            Judgement::Undecided
        }
        Some(found) => Verdicts::of(&found, &data.experiment, &data.runs).judgement,
        None if all_invalid => Judgement::Invalid,
        None => Judgement::Same,
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
