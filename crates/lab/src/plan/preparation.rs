//! A preparation of a plan, with the content of the files it reads.

use std::path::PathBuf;

use spec::plan::{Facts, PlannedPreparation};
use spec::{Class, Error};
use workloads::Preparation;
use workloads::jobs::Job;

/// The jobs of a preparation that this pgdyno planned.
pub(crate) fn jobs_of(prepare: &PlannedPreparation) -> Preparation {
    Preparation::of(&prepare.jobs).expect("they were read when it was planned")
}

/// Facts are learnt before a plan is made.
pub(super) fn unknown(what: &str) -> Error {
    Error::new(Class::Internal, format!("nothing is known about {what}"))
}

/// The plan of a preparation; `facts` are of the files that it reads.
pub(crate) fn planned_preparation(jobs: &Preparation, facts: &Facts) -> Result<PlannedPreparation, Error> {
    let files: Vec<(String, PathBuf)> = jobs.jobs().iter().flat_map(|job| files(&**job)).collect();
    let inputs = files.into_iter().map(|(name, path)| {
        let hash = facts.sha256(&path).ok_or_else(|| unknown(&path.display().to_string()))?;
        Ok((name, hash.to_owned()))
    });
    let inputs = inputs.collect::<Result<_, Error>>()?;
    Ok(PlannedPreparation { jobs: jobs.options(), inputs })
}

/// The preparation without the paths of its files; unknown options are kept unchanged.
pub(crate) fn portable(prepare: &PlannedPreparation) -> PlannedPreparation {
    let jobs = Preparation::of(&prepare.jobs)
        .map_or_else(|_| prepare.jobs.clone(), |jobs| jobs.portable().options());
    PlannedPreparation { jobs, inputs: prepare.inputs.clone() }
}

fn files(job: &dyn Job) -> Vec<(String, PathBuf)> {
    job.files().into_iter().map(|(name, path)| (name, path.to_owned())).collect()
}
