//! Whether a server can provide the arms of an experiment, checked before the preparation.

use spec::plan::{Arm, Plan, PlannedRun};
use spec::{Class, Error};

use super::failed_arms::FailedArms;
use crate::error::of_sql;
use crate::experiment::ExperimentFile;
use crate::plan::setups;
use crate::runner::Progress;
use crate::setup::At;
use server::control::Control;
use server::settings::{Catalog, Means, Refusal, catalog, check, is_in_force, without_right};

/// Reads the server's catalog, and leaves out arms with settings that it cannot apply.
///
/// # Errors
/// Every setting of every arm that cannot be applied, each with its line, if nothing is left to compare.
pub(super) fn check_arms(
    file: &ExperimentFile,
    plan: &Plan,
    (at, control, means): (&At, &mut Control, Means),
    failed: &mut FailedArms<'_>,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    let known = catalog(control)?;
    check_build(plan, (at, control, means), &known, failed, progress)?;
    if plan.content.arms.iter().all(|arm| arm.settings.is_empty()) {
        return Ok(());
    }
    let mut problems = Vec::new();
    for arm in plan.content.arms.iter().filter(|arm| is_left(plan, failed, arm)) {
        let without_right = without_right(control, &known, &arm.settings, means).map_err(of_sql)?;
        let found: Vec<Refusal> =
            check(&known, &arm.settings, means).into_iter().chain(without_right).collect();
        problems.extend((!found.is_empty()).then_some((arm, found)));
    }
    let has = |run: &PlannedRun, arm: &Arm| is_of(plan, run, arm);
    let has_problem = |run: &PlannedRun| problems.iter().any(|(arm, _)| has(run, arm));
    if !problems.is_empty() && !failed.can_do_without(has_problem) {
        return Err(of_all(file, problems));
    }
    for (arm, found) in problems {
        failed.leave_out(|run| has(run, arm), of_all(file, vec![(arm, found)]), progress)?;
    }
    differ(file, plan, &known, failed)
}

/// The settings of the build that a server runs: another build may know others.
fn check_build(
    plan: &Plan,
    (at, control, means): (&At, &mut Control, Means),
    known: &Catalog,
    failed: &mut FailedArms<'_>,
    progress: &mut dyn Progress,
) -> Result<(), Error> {
    let Some((level, build)) =
        at.version.as_ref().and_then(|level| plan.content.named.builds.get_key_value(level))
    else {
        return Ok(());
    };
    let without_right = without_right(control, known, &build.settings, means).map_err(of_sql)?;
    let mut found = check(known, &build.settings, means).into_iter().chain(without_right).peekable();
    if found.peek().is_none() {
        return Ok(());
    }
    let refusals: Vec<Refusal> = found.collect();
    let told: Vec<String> =
        refusals.iter().map(|refusal| format!("the settings of build {level}: {}", refusal.error)).collect();
    let first = refusals.into_iter().next().expect("there is one");
    let error = first.error.in_words(told.join("\n"));
    failed.leave_out(|run| setups::setup(plan, run).at().template() == *at, error, progress)
}

/// Whether a run has the settings of this arm; its build may have added others.
fn is_of(plan: &Plan, run: &PlannedRun, arm: &Arm) -> bool {
    setups::setup(plan, run).arm.is_some_and(|own| own.name == arm.name)
}

/// One error for all refusals, in the order of their lines in the file, a line each.
fn of_all(file: &ExperimentFile, problems: Vec<(&Arm, Vec<Refusal>)>) -> Error {
    let of_arm = |(arm, found): (&Arm, Vec<Refusal>)| {
        let arm = arm.name.clone().unwrap_or_default();
        found.into_iter().map(move |refusal| (arm.clone(), refusal)).collect::<Vec<_>>()
    };
    let mut all: Vec<(String, Refusal)> = problems.into_iter().flat_map(of_arm).collect();
    let line = |arm: &str, refusal: &Refusal| file.line_of(arm, refusal.setting.as_deref());
    all.sort_by_key(|(arm, refusal)| line(arm, refusal));
    let told = all.iter().map(|(arm, refusal)| {
        let line = line(arm, refusal).map(|line| format!("{line}:")).unwrap_or_default();
        format!("{}:{line} [settings.{arm}] {}", file.path.display(), refusal.error)
    });
    let told = told.collect::<Vec<_>>().join("\n");
    let first = all.into_iter().next().expect("an arm with problems has one");
    first.1.error.in_words(told)
}

/// Refuses arms that are left and are the same as the base.
fn differ(file: &ExperimentFile, plan: &Plan, known: &Catalog, failed: &FailedArms<'_>) -> Result<(), Error> {
    if file.allows_same() {
        return Ok(());
    }
    let mut others = plan.content.arms.iter().skip(1).filter(|arm| is_left(plan, failed, arm));
    others.try_for_each(|arm| differs(known, &plan.content.arms[0], arm))
}

/// Whether a run of an arm is left, if it has runs.
fn is_left(plan: &Plan, failed: &FailedArms<'_>, arm: &Arm) -> bool {
    let mut own = plan.runs.iter().filter(|run| is_of(plan, run, arm)).peekable();
    own.peek().is_none() || own.any(|run| failed.has(run))
}

/// Refuses an arm whose settings the base has already: A would be compared with A.
fn differs(known: &Catalog, base: &Arm, arm: &Arm) -> Result<(), Error> {
    let is_same = |(name, value): (&String, &String)| match base.settings.get(name) {
        Some(own) => own == value,
        None => known.get(name).is_some_and(|entry| is_in_force(value, entry)),
    };
    let only_of_base = base.settings.keys().any(|name| !arm.settings.contains_key(name));
    if arm.settings.is_empty() || only_of_base || !arm.settings.iter().all(is_same) {
        return Ok(());
    }
    let (name, base) = (arm.name.as_deref().unwrap_or_default(), base.name.as_deref().unwrap_or_default());
    let settings: Vec<_> = arm.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let what = format!("arms {base} and {name} are the same: {} is in force already", settings.join(", "));
    Err(Error::new(Class::BadInput, what).with_hint("give --same if A against A is meant"))
}
