//! The judgement of all lines of an answer: the worst line decides.

use spec::Judgement;
use stats::Verdict;

use crate::ladder::{Ladder, LadderOutcome};
use crate::limits::{Limits, RatioVerdict, SearchOutcome};

/// Of the lines of a comparison.
pub(crate) fn of_lines(lines: impl Iterator<Item = Verdict> + Clone) -> Judgement {
    let any = |wanted: Verdict| lines.clone().any(|verdict| verdict == wanted);
    match () {
        () if lines.clone().all(|verdict| verdict == Verdict::Invalid) => Judgement::Invalid,
        () if any(Verdict::Slower) => Judgement::Worse,
        () if !lines.clone().all(Verdict::is_decided) => Judgement::Undecided,
        () if any(Verdict::Faster) => Judgement::Better,
        () => Judgement::Same,
    }
}

pub(super) fn of_limits(limits: &Limits<'_>) -> Judgement {
    let ratios = limits.cells.iter().flat_map(|found| found.ratios(&limits.asked));
    let ratios: Vec<RatioVerdict> = ratios.map(|ratio| ratio.verdict(limits.margin)).collect();
    match limits.outcome() {
        SearchOutcome::Invalid => Judgement::Invalid,
        SearchOutcome::Undecided => Judgement::Undecided,
        SearchOutcome::Never => Judgement::Worse,
        SearchOutcome::Found if ratios.contains(&RatioVerdict::Lower) => Judgement::Worse,
        SearchOutcome::Found if ratios.contains(&RatioVerdict::Inconclusive) => Judgement::Undecided,
        SearchOutcome::Found if ratios.contains(&RatioVerdict::Higher) => Judgement::Better,
        SearchOutcome::Found => Judgement::Same,
    }
}

/// Of ladders.
#[must_use]
pub fn of_ladders(ladders: &[Ladder]) -> Judgement {
    let any = |these: &[LadderOutcome]| ladders.iter().any(|ladder| these.contains(&ladder.outcome()));
    match () {
        () if any(&[LadderOutcome::Invalid]) => Judgement::Invalid,
        () if any(&[LadderOutcome::Irregular, LadderOutcome::ByGenerator]) => Judgement::Undecided,
        () if any(&[LadderOutcome::NeverHolds]) => Judgement::Worse,
        () => Judgement::Same,
    }
}
