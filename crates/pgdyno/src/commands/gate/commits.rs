//! Which commits a gate is about.

use std::collections::BTreeMap;

use results::ReportData;
use results::comparison::MeasuredExperiment;
use results::gate::GateAnswer;
use server::source_build::{GitCommit, checked_out};
use spec::ExperimentRecord;

use super::Args;

/// Variables in which CI names the commit of a job.
const VARIABLES: [&str; 2] = ["GITHUB_SHA", "CI_COMMIT_SHA"];

/// Commits that builds from git have now, by arm; and what was measured, whose builds may be of an earlier commit with
/// the same files.
pub(super) type Known<'a> = (Option<&'a BTreeMap<String, String>>, Option<&'a ReportData>);

/// The judged commit: as given, of the build, of the job, or what is checked out around the file.
pub(super) fn judged(args: &Args, known: Known<'_>, of: &GateAnswer) -> Option<GitCommit> {
    let folder = std::path::absolute(&args.file).ok()?.parent()?.to_owned();
    let here = checked_out(&folder);
    let named = |id: String| match &here {
        Some(here) if here.id == id => here.clone(),
        _ => GitCommit { id, subject: String::new() },
    };
    let by_job = || VARIABLES.iter().find_map(|name| std::env::var(name).ok().filter(|id| !id.is_empty()));
    let id = args.commit.clone().or_else(|| of_build(known, &of.arm)).or_else(by_job);
    id.map(named).or_else(|| here.clone())
}

/// The commit of the base: as given, or of its build, which may be in an experiment that was measured before.
pub(super) fn base(
    args: &Args,
    known: Known<'_>,
    stored: Option<&MeasuredExperiment>,
    of: &GateAnswer,
) -> Option<String> {
    let of_build = || match (stored, &of.control) {
        (Some(stored), Some(control)) => of_arm(&stored.experiment, &control.base),
        _ => of_build(known, &of.base),
    };
    args.base_commit.clone().or_else(of_build)
}

fn of_build((named, data): Known<'_>, arm: &str) -> Option<String> {
    if let Some(commit) = named.and_then(|named| named.get(arm)).filter(|commit| !commit.is_empty()) {
        return Some(commit.clone());
    }
    of_arm(&data?.experiment, arm)
}

fn of_arm(experiment: &ExperimentRecord, arm: &str) -> Option<String> {
    let arm = experiment.arms.iter().find(|own| own.name == arm)?;
    arm.target.as_ref()?.build.as_ref()?.commit.clone()
}
