//! Whether the arms of an experiment can be had from a server, asked before anything is prepared.

use crate::error::LabError;
use crate::experiment::ExperimentFile;
use crate::plan::Plan;
use target::control::Control;
use target::settings::{Means, catalog, check, without_right};

/// Reads what the server knows and tells every setting of every arm that it cannot be brought to, each with its line.
pub(super) fn check_arms(
    file: &ExperimentFile,
    plan: &Plan,
    control: &mut Control,
    means: Means,
) -> Result<(), LabError> {
    if plan.content.arms.iter().all(|arm| arm.settings.is_empty()) {
        return Ok(());
    }
    let known = catalog(control)?;
    let mut problems = Vec::new();
    for arm in &plan.content.arms {
        let name = arm.name.as_deref().unwrap_or_default();
        let without_right = without_right(control, &known, &arm.settings, means)?;
        let found = check(&known, &arm.settings, means).into_iter().chain(without_right);
        problems.extend(found.map(|error| (name, error)));
    }
    problems.sort_by_key(|(arm, error)| file.line_of(arm, error.setting()));
    let told = problems.iter().map(|(arm, error)| {
        let line = file.line_of(arm, error.setting()).map(|line| format!("{line}:")).unwrap_or_default();
        format!("{}:{line} [settings.{arm}] {error}", file.path.display())
    });
    let told: Vec<String> = told.collect();
    match problems.into_iter().next() {
        Some((_, first)) => Err(LabError::from(first).told_as(told.join("\n"))),
        None => Ok(()),
    }
}
