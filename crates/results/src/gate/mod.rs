//! The answer of a gate: whether a new arm may replace its base (docs/how-to/gate.md).

mod history;

use std::collections::BTreeSet;

use spec::Judgement;
use spec::plan::WorkMetric;
use stats::{Estimate, Verdict};

pub use self::history::{GateHistory, HistoryChange, HistoryPoint, LikelyCommit};
use crate::answer::{Answer, Crashes, Verdicts, judgement};
use crate::comparison::{Apart, Comparison, MeasuredExperiment, Metric};
use crate::data::ReportData;

/// The largest change of a control that is taken out of a comparison with a stored base, as a share: beyond it, more than
/// the load of the machine changed.
const MOST_DRIFT: f64 = 0.25;

/// What a gate found.
#[derive(Debug, Clone, PartialEq)]
pub struct GateAnswer {
    pub judgement: Judgement,
    pub base: String,
    /// The judged arm: the last one in file order. All arms count for the judgement.
    pub arm: String,
    pub metric: WorkMetric,
    /// Change of the judged arm over all cells.
    pub change: Option<Estimate>,
    /// Why an arm is worse whatever its speed: its server crashed, or it cannot run the workload, and the base can.
    pub failure: Option<String>,
    /// Why nothing can be decided, however long it is measured.
    pub hindrance: Option<String>,
    /// What differs besides between a stored base and what was measured now, a sentence each.
    pub notes: Vec<String>,
    /// If it was judged against a stored base.
    pub control: Option<GateControl>,
}

/// The arm that both measurements have.
#[derive(Debug, Clone, PartialEq)]
pub struct GateControl {
    pub arm: String,
    /// The judged arm of the stored experiment.
    pub base: String,
    /// Its change between the two, which is taken out.
    pub change: Option<Estimate>,
}

impl GateAnswer {
    /// Without a measurement: the arms are the same, or the new one fails.
    #[must_use]
    pub fn unmeasured(judgement: Judgement, [base, arm]: [String; 2], metric: WorkMetric) -> Self {
        let (change, failure, hindrance, notes, control) = Default::default();
        Self { judgement, base, arm, metric, change, failure, hindrance, notes, control }
    }

    /// Of arms that were measured together; `None` if nothing is compared.
    #[must_use]
    pub fn of(data: &ReportData) -> Option<Self> {
        let compared = data.compared()?;
        let arm = compared.arms.last()?;
        let answer = Answer::of(data);
        let names = [compared.base.clone(), arm.arm.clone()];
        // More rounds do not mend it, and after three crashes there are none.
        let of_base = answer.crashes.iter().find(|crashed| crashed.name == compared.base);
        Some(Self {
            change: arm.grid.map(|figure| figure.grid.estimate),
            failure: answer.failure,
            hindrance: of_base.map(Crashes::words),
            ..Self::unmeasured(answer.judgement, names, data.experiment.metric())
        })
    }

    /// Of an arm against a base that was measured before, relative to the control that both have. `looks` are the
    /// planned ones. `None` without a control.
    #[must_use]
    pub fn against_stored(
        base: &MeasuredExperiment,
        new: &MeasuredExperiment,
        data: &ReportData,
        looks: u32,
    ) -> Option<Self> {
        let metric = new.experiment.metric();
        let compared = Comparison::of(&data.experiment, &data.runs, Metric::from(metric))?;
        let control = compared.control.as_ref()?;
        let verdicts = Verdicts::of(&compared, &data.experiment, &data.runs);
        // The drift is that of the control, so what is left is a change of the arm.
        let judged = verdicts.lines.iter().map(|line| match (line.verdict, line.estimate) {
            (Verdict::Invalid | Verdict::TooFew(_) | Verdict::PartsDiffer, _) | (_, None) => line.verdict,
            (_, Some(estimate)) => {
                let all = estimate.among(estimate.lines * looks.max(1) as usize);
                stats::verdict(&all, compared.margin, compared.metric.better())
            }
        });
        let judged: Vec<Verdict> = judged.collect();
        let judged_arm = |of: &MeasuredExperiment| {
            let mut names = of.experiment.arms.iter().map(|arm| &arm.name);
            names.rfind(|name| **name != control.arm).cloned()
        };
        let [was, is] = [judged_arm(base)?, judged_arm(new)?];
        let crashes = |of: &MeasuredExperiment| Crashes::among(&of.runs, of.experiment.rounds);
        let crashed = crashes(new).into_iter().find(|crashed| crashed.name == is);
        let failure = crashed.filter(|_| !crashes(base).iter().any(|crashed| crashed.name == was));
        let failure = failure.map(|crashed| Crashes { worse_than: Some(was.clone()), ..crashed });
        let hindrance = hindrance(base, new, control.change())
            .or_else(|| other_scripts([base, new], &control.arm, [&was, &is]));
        let judgement = match &hindrance {
            _ if failure.is_some() => Judgement::Worse,
            Some(_) if judged.iter().any(|verdict| *verdict != Verdict::Invalid) => Judgement::Undecided,
            _ => judgement::of_lines(judged.iter().copied()),
        };
        Some(Self {
            change: compared.arms.last()?.grid.map(|figure| figure.grid.estimate),
            failure: failure.map(|crashed| crashed.words()),
            notes: data.notes.iter().filter(|note| hindrance.as_ref() != Some(note)).cloned().collect(),
            hindrance,
            control: Some(GateControl {
                arm: control.arm.clone(),
                base: was.clone(),
                change: control.change(),
            }),
            ..Self::unmeasured(judgement, [format!("{was} of {}", base.label), is], metric)
        })
    }
}

/// What a control cannot take out.
fn hindrance(base: &MeasuredExperiment, new: &MeasuredExperiment, drift: Option<Estimate>) -> Option<String> {
    let machine = |of: &MeasuredExperiment| format!("{} with {} CPUs", of.host.cpu, of.host.cores);
    let [was, is] = [machine(base), machine(new)];
    if was != is {
        return Some(format!("the base was measured on another machine: {was}, and now {is}"));
    }
    if let Some(otherwise) = Apart::prepared_otherwise(base, new) {
        return Some(otherwise);
    }
    let drift = drift?;
    (drift.log_ratio.abs() > MOST_DRIFT.ln_1p()).then(|| {
        format!(
            "the control itself changed by {:+.0} %: more than the load of the machine differs",
            drift.change_pct()
        )
    })
}

/// Whether the control ran other scripts, or the judged arm, if scripts are not what is compared.
fn other_scripts([base, new]: [&MeasuredExperiment; 2], control: &str, judged: [&str; 2]) -> Option<String> {
    let scripts = |of: &MeasuredExperiment, arm: &str| -> BTreeSet<(String, u32)> {
        let own = of.runs.iter().filter(|run| run.is_measured() && run.arm.as_deref() == Some(arm));
        own.flat_map(|run| &run.scripts).map(|own| (own.text_hash.clone(), own.weight)).collect()
    };
    let by_scripts = new.experiment.compare_factor.as_deref() == Some("workload");
    let pairs = [[control, control], judged];
    let mut pairs = pairs.into_iter().take(if by_scripts { 1 } else { 2 });
    let differ = pairs.find(|[was, is]| scripts(base, was) != scripts(new, is))?;
    Some(format!("{} ran other scripts then than now", differ[1]))
}

#[cfg(test)]
mod tests;
