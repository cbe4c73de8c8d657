//! The judgement of a gate: whether a new arm may replace its base (docs/gate.md).

mod history;

use spec::plan::WorkMetric;
use spec::{GateOutcome, RunEvent};
use stats::{Estimate, Verdict};

pub use self::history::{GateHistory, HistoryChange, HistoryPoint, LikelyCommit};
use crate::answer::{AnswerOutcome, Crashes, Verdicts};
use crate::comparison::{Comparison, MeasuredExperiment, Metric};
use crate::data::ReportData;

/// The largest change of a control that is taken out of a comparison with a stored base, as a share: beyond it, more than
/// the load of the machine changed.
const MOST_DRIFT: f64 = 0.25;

/// What a gate found.
#[derive(Debug, Clone, PartialEq)]
pub struct GateJudgement {
    pub outcome: GateOutcome,
    pub base: String,
    /// The judged arm: the last one in file order. All arms count for the outcome.
    pub arm: String,
    pub metric: WorkMetric,
    /// Change of the judged arm over all cells.
    pub change: Option<Estimate>,
    /// If the judged arm's server crashed, and not the base's: then it is worse, whatever its speed.
    pub crash: Option<String>,
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
    /// Its change between the two, which is taken out.
    pub change: Option<Estimate>,
}

impl GateJudgement {
    /// Of arms that were measured together; `None` if nothing is compared.
    #[must_use]
    pub fn of(data: &ReportData) -> Option<Self> {
        let compared = data.compared()?;
        let verdicts = Verdicts::of(compared, &data.experiment, &data.runs);
        let arm = compared.arms.last()?;
        let of_lines = verdicts.lines.iter().map(|line| line.verdict);
        let crashes = Crashes::of(data);
        let is_base = |crashed: &Crashes| crashed.name == compared.base;
        let crash = crashes.iter().find(|crashed| !is_base(crashed)).filter(|_| !crashes.iter().any(is_base));
        Some(Self {
            outcome: match crash {
                Some(_) => GateOutcome::Worse,
                None => outcome(verdicts.outcome, of_lines),
            },
            base: compared.base.clone(),
            arm: arm.arm.clone(),
            metric: data.experiment.metric(),
            change: arm.grid.map(|figure| figure.grid.estimate),
            crash: crash.map(Crashes::words),
            hindrance: None,
            control: None,
            notes: Vec::new(),
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
        let other_scripts = data.runs.iter().flat_map(|run| &run.events);
        let other_scripts = other_scripts.filter(|event| event.kind == RunEvent::OTHER_ANSWERS);
        let other_scripts =
            other_scripts.map(|event| format!("the base ran other scripts: {}", event.detail)).next();
        let hindrance = hindrance(base, new, control.change()).or(other_scripts);
        let outcome = match &hindrance {
            Some(_) if judged.iter().any(|verdict| *verdict != Verdict::Invalid) => GateOutcome::Undecided,
            _ => outcome(AnswerOutcome::of(judged.iter().copied()), judged.iter().copied()),
        };
        let names = |of: &MeasuredExperiment| of.experiment.arms.iter().map(|arm| arm.name.clone()).collect();
        let other = |names: Vec<String>| names.into_iter().rfind(|name| *name != control.arm);
        Some(Self {
            outcome,
            base: other(names(base))?,
            arm: other(names(new))?,
            metric,
            change: compared.arms.last()?.grid.map(|figure| figure.grid.estimate),
            crash: None,
            hindrance,
            control: Some(GateControl { arm: control.arm.clone(), change: control.change() }),
            notes: data.notes.clone(),
        })
    }
}

fn outcome(found: AnswerOutcome, mut lines: impl Iterator<Item = Verdict>) -> GateOutcome {
    match found {
        AnswerOutcome::Invalid => GateOutcome::Invalid,
        AnswerOutcome::SomethingSlower => GateOutcome::Worse,
        AnswerOutcome::Undecided => GateOutcome::Undecided,
        AnswerOutcome::NothingSlower if lines.any(|verdict| verdict == Verdict::Faster) => {
            GateOutcome::Better
        }
        AnswerOutcome::NothingSlower => GateOutcome::Same,
    }
}

/// What a control cannot take out.
fn hindrance(base: &MeasuredExperiment, new: &MeasuredExperiment, drift: Option<Estimate>) -> Option<String> {
    let machine = |of: &MeasuredExperiment| format!("{} with {} CPUs", of.host.cpu, of.host.cores);
    let [was, is] = [machine(base), machine(new)];
    if was != is {
        return Some(format!("the base was measured on another machine: {was}, and now {is}"));
    }
    let drift = drift?;
    (drift.log_ratio.abs() > MOST_DRIFT.ln_1p()).then(|| {
        format!(
            "the control itself changed by {:+.0} %: more than the load of the machine differs",
            drift.change_pct()
        )
    })
}

#[cfg(test)]
mod tests;
