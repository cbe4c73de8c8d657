//! An arm that fails where the base does not: then it is worse, whatever its speed.

use spec::{Doubt, Reason, Run, Validity};

use super::Crashes;
use crate::data::ReportData;

/// Why an arm is worse whatever its speed, if one is: its server crashed, or none of its runs is valid for a reason of its
/// own, and the base has valid runs.
pub(super) fn failure(data: &ReportData, crashes: &[Crashes]) -> Option<String> {
    let crashed = crashes.iter().find(|crashed| crashed.worse_than.is_some());
    crashed.map(Crashes::words).or_else(|| {
        let base = data.experiment.base.as_ref()?;
        let mut arms = data.experiment.arms.iter().map(|arm| &arm.name);
        arms.find_map(|arm| fails_alone(data, base, arm))
    })
}

fn fails_alone(data: &ReportData, base: &str, arm: &str) -> Option<String> {
    let runs_of = |name: &str| {
        let is_its = |run: &&Run| run.is_measured() && run.arm.as_deref() == Some(name);
        data.runs.iter().filter(is_its).collect::<Vec<_>>()
    };
    let is_own = |doubt: &&Doubt| matches!(doubt.reason, Reason::Errors | Reason::EmptyResults);
    let why = |run: &Run| {
        run.doubts
            .iter()
            .find(is_own)
            .filter(|_| run.validity == Validity::Invalid)
            .map(|own| own.detail.clone())
    };
    let first = runs_of(arm).into_iter().map(why).collect::<Option<Vec<_>>>()?.into_iter().next()?;
    let base_does = runs_of(base).iter().any(|run| run.validity != Validity::Invalid);
    base_does.then(|| format!("no run of {arm} is valid, and runs of {base} are: {first}"))
}
