//! A single job: nothing remains on the target, so no record is stored.

use server::Stop;
use spec::Error;
use workloads::jobs::Job;

use super::failed::succeeded;
use super::prepare::JobRecord;
use super::run::run;
use crate::event::Progress;
use crate::stage::Stage;

pub(crate) fn alone(
    stage: &mut Stage,
    job: &dyn Job,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<JobRecord, Error> {
    let started_at = jiff::Timestamp::now().to_string();
    let mut remarks = Vec::new();
    let report = succeeded(run(stage, job, progress, stop, &mut remarks)?, &job.name())?;
    Ok(JobRecord::of(started_at, report, remarks))
}
