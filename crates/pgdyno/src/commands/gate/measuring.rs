//! Measures until a gate is decided, or its budget is spent.

use std::collections::BTreeMap;
use std::time::Instant;

use ::report::ReportData;
use lab::execute::{self, FailedArm, FinishedExperiment, SuspendedRuns};
use lab::experiment::{ExperimentFile, ExperimentOverrides};
use lab::plan;
use results::comparison::MeasuredExperiment;
use results::data::Wanted;
use results::gate::GateAnswer;
use results::{ExperimentId, Store};
use server::Stop;
use spec::{Error, Judgement};

use super::Args;
use super::budget::Budget;
use crate::commands::carry_out::How;
use crate::commands::{loaded, sources};
use crate::exit::{BAD_INPUT, CommandFailure};
use crate::print::talk;

/// The arguments of a gate, and what follows from them.
pub(super) struct Gate<'a> {
    pub(super) args: &'a Args,
    /// Looks at the answer that are planned.
    pub(super) planned: u32,
    /// A base that was measured before.
    pub(super) base: Option<&'a MeasuredExperiment>,
}

/// What was measured, and what it says.
pub(super) struct Measured {
    pub(super) data: ReportData,
    /// The same with a base that was measured before.
    pub(super) against: Option<ReportData>,
    pub(super) experiment: ExperimentId,
    pub(super) answer: GateAnswer,
    /// Looks at the answer that were taken.
    pub(super) looks: u32,
    /// Whether all its runs were stored before.
    pub(super) is_stored: bool,
    /// The commits that builds from git have now, by arm.
    pub(super) commits: BTreeMap<String, String>,
}

pub(super) enum Found {
    Measured(Box<Measured>),
    /// Base and arm, which are the same.
    Same([String; 2]),
    /// The new arm failed before anything was measured, and the base did not: why.
    Failed(FailedArm, String),
}

pub(super) fn measured(
    gate: &Gate<'_>,
    mut how: How<'_>,
    file: &mut ExperimentFile,
    stop: &Stop,
) -> anyhow::Result<Found> {
    let mut budget = Budget::of(gate.args.budget);
    let (mut has_added, mut is_stored) = (false, true);
    loop {
        let began = Instant::now();
        let Looked { experiment, is_new, suspended, commits } = match once(&how, file, gate.base, stop)? {
            Once::Looked(looked) => looked,
            Once::Same(arms) => return Ok(Found::Same(arms)),
            Once::Failed(arm, why) => return Ok(Found::Failed(arm, why)),
        };
        is_stored &= !is_new;
        let mut store = Store::create_or_open(&gate.args.out.results.path())?;
        store.look(experiment)?;
        let data = loaded(&store, experiment, Wanted::ALL)?;
        let (looks, rounds) = (data.course.looks, data.experiment.rounds);
        let (mut answer, against) = judged(gate, &store, experiment, &data)?;
        if let Some(why) = suspended.filter(|_| answer.failure.is_none()) {
            answer.hindrance = Some(why);
        }
        budget.spent(&data, rounds, has_added.then(|| began.elapsed()));
        let may_look =
            looks < gate.planned && answer.judgement == Judgement::Undecided && answer.hindrance.is_none();
        let Some(more) = budget.rounds(rounds, looks + 1 == gate.planned).filter(|_| may_look) else {
            return Ok(Found::Measured(Box::new(Measured {
                data,
                against,
                experiment,
                answer,
                looks,
                is_stored,
                commits,
            })));
        };
        talk(&format!("undecided after {rounds} rounds: measuring {} more", more - rounds));
        let looks = Some(gate.planned);
        file.ask(ExperimentOverrides { rounds: Some(more), looks, ..Default::default() })?;
        (how.again, has_added) = (false, true);
    }
}

struct Looked {
    experiment: ExperimentId,
    /// Whether runs were measured now.
    is_new: bool,
    /// Why runs are suspended, if they are: more rounds do not mend it.
    suspended: Option<String>,
    commits: BTreeMap<String, String>,
}

enum Once {
    Looked(Looked),
    Same([String; 2]),
    Failed(FailedArm, String),
}

/// Carries out the experiment. If it is finished, nothing that it measures changed since, and its stored runs count.
fn once(
    how: &How<'_>,
    file: &ExperimentFile,
    base: Option<&MeasuredExperiment>,
    stop: &Stop,
) -> anyhow::Result<Once> {
    let mut screen = how.screen();
    let options = how.options(None);
    let allowed = sources::Allowed { dry_run: false, consents: how.consents };
    let built = match sources::built(allowed, (file, &options), &mut screen, stop) {
        Ok(built) => built,
        Err(error) => return ended(error, BTreeMap::new()),
    };
    let file = built.as_ref().map_or(file, |built| &built.file);
    let ready = how.announced(file, &options, &mut screen, stop)?;
    match base {
        None => {
            if let Some(arms) = plan::equal_arms(&ready.plan).filter(|_| !file.allows_same()) {
                return Ok(Once::Same(arms));
            }
        }
        Some(base) => {
            let own = ready.plan.content.arm_names();
            let is_own = |name: &String| own.iter().flatten().any(|arm| arm == name);
            if !base.experiment.arms.iter().any(|arm| is_own(&arm.name)) {
                return Err(without_control());
            }
        }
    }
    let builds = &ready.plan.content.named.builds;
    let source = |build: &spec::plan::Build| build.source.as_ref().map(|source| source.commit.clone());
    let commits = builds.iter().filter_map(|(arm, build)| Some((arm.clone(), source(build)?))).collect();
    let _measuring = how.output.measuring(&ready.plan, &mut screen);
    match execute::run(file, ready.facts, &options, &mut screen, stop) {
        Ok(outcome) => Ok(Once::Looked(Looked {
            experiment: outcome.experiment,
            is_new: true,
            suspended: None,
            commits,
        })),
        Err(error) => ended(error.into(), commits),
    }
}

/// What an error leaves to judge: an experiment that is finished, one whose runs are suspended, or the failure of an
/// arm. Any other error is returned.
fn ended(error: anyhow::Error, commits: BTreeMap<String, String>) -> anyhow::Result<Once> {
    let Some(known) = error.downcast_ref::<Error>().filter(|error| !error.is_stopped()) else {
        return Err(error);
    };
    if let Some(FinishedExperiment { experiment }) = known.attached().copied() {
        return Ok(Once::Looked(Looked { experiment, is_new: false, suspended: None, commits }));
    }
    if let Some(failed) = known.attached::<FailedArm>() {
        return Ok(Once::Failed(failed.clone(), known.to_string()));
    }
    match known.attached().copied() {
        Some(SuspendedRuns { experiment }) => {
            Ok(Once::Looked(Looked { experiment, is_new: true, suspended: Some(error.to_string()), commits }))
        }
        None => Err(error),
    }
}

/// The answer, and if the base was measured before, both experiments as one.
fn judged(
    gate: &Gate<'_>,
    store: &Store,
    experiment: ExperimentId,
    data: &ReportData,
) -> anyhow::Result<(GateAnswer, Option<ReportData>)> {
    let (answer, against) = match gate.base {
        None => (GateAnswer::of(data), None),
        Some(base) => {
            let new = ReportData::measured(store, experiment, "now".to_owned())?;
            let apart = ReportData::apart(base, &new).map_err(|error| {
                let hint = "measure the base with the same file, in which only the judged arm differs";
                CommandFailure::with_code(BAD_INPUT, error.to_string(), Some(hint.to_owned()))
            })?;
            (GateAnswer::against_stored(base, &new, &apart, gate.planned), Some(apart))
        }
    };
    Ok((answer.ok_or_else(without_control)?, against))
}

fn without_control() -> anyhow::Error {
    let what =
        "the stored base and this experiment have no arm in common, so drift cannot be told from change";
    let hint = "both need one arm of the same name, build and settings: the control, besides the judged one";
    CommandFailure::with_code(BAD_INPUT, what, Some(hint.to_owned()))
}
