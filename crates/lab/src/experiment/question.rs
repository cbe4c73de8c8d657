//! The question of an experiment whose file has none: it follows from the jobs.

use spec::plan::TargetSpec;
use workloads::Preparation;

/// What jobs answer: how long the preparation takes, and what the hardware of `probed` is worth.
pub(super) fn of_jobs<'t>(prepare: &Preparation, probed: impl Iterator<Item = &'t TargetSpec>) -> String {
    let jobs: Vec<String> = prepare.jobs().iter().map(|job| job.what()).collect();
    let takes = (!jobs.is_empty()).then(|| format!("how long does it take to {}", jobs.join(" and to ")));
    let servers: Vec<String> = probed.map(TargetSpec::called).collect();
    let worth =
        (!servers.is_empty()).then(|| format!("what is the hardware of {} worth", servers.join(" and of ")));
    let both: Vec<String> = takes.into_iter().chain(worth).collect();
    let both = both.join(", and ");
    let mut letters = both.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}?", first.to_uppercase(), letters.as_str()))
}
