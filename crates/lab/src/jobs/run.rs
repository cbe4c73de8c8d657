//! A job on a server: what it needs, and what must not remain of it.

use server::Stop;
use server::child::{Account, Supervised};
use server::home::{Home, HomeFolder};
use server::host;
use server::http::Web;
use spec::{Class, Error};
use workloads::jobs::{Job, JobReport, JobSite};

use super::initialize::with_runtime;
use super::programs::Programs;
use crate::event::{ExperimentStep, LabEvent, Progress, ProgressExt};
use crate::stage::Stage;

/// Runs a job to its end, then lets it clean up, also after an error or a stop.
pub(crate) fn run(
    stage: &mut Stage,
    job: &dyn Job,
    mut progress: &mut dyn Progress,
    stop: &Stop,
    remarks: &mut Vec<String>,
) -> Result<JobReport, Error> {
    let scratch = job.scratch(stage.control()?)?;
    if let Some(scratch) = &scratch {
        stage.target.note_scratch(scratch)?;
    }
    let done = carry_out(stage, job, progress, stop, remarks);
    // Clean up even after a stop.
    let _concluding = stop.concluding();
    if done.is_err() {
        // It may be in a failed transaction, or closed.
        stage.close_control();
    }
    let cleared = match stage.control() {
        Ok(control) => job.clear_away(control),
        Err(error) => Err(error),
    };
    if let Some(scratch) = scratch.filter(|_| cleared.is_ok()) {
        stage.target.settle_scratch(&scratch);
    }
    match (done, cleared) {
        (Ok(report), Ok(told)) => {
            // A failed job shows only its reason.
            told.iter().filter(|_| report.failed.is_some()).for_each(|remark| progress.warn(remark.clone()));
            remarks.extend(told);
            Ok(report)
        }
        // The error of the job matters more than the error of the cleanup.
        (Err(error), Err(left)) => {
            progress.warn(left.to_string());
            Err(error)
        }
        (Err(error), Ok(told)) => {
            told.into_iter().for_each(|remark| progress.warn(remark));
            Err(error)
        }
        (Ok(_), Err(error)) => Err(error),
    }
}

fn carry_out(
    stage: &mut Stage,
    job: &dyn Job,
    progress: &mut dyn Progress,
    stop: &Stop,
    remarks: &mut Vec<String>,
) -> Result<JobReport, Error> {
    for extension in job.extensions() {
        stage.target.ensure_extension(extension)?;
    }
    let database = stage.target.for_programs();
    let env = stage.target.environment_for_programs();
    let overseen = Supervised::new(&stage.watchdog, stop, env).working_on(stage.target.place());
    let mut programs = Programs::new(overseen);
    let control = stage.control()?;
    let (place, patience) = (control.place().clone(), control.timeouts().clone());
    let extracts = super::extracts::folder();
    let kept = Home::locate()?.make_part(HomeFolder::Kept, Account::unprivileged()?.as_ref())?;
    let progress = std::cell::RefCell::new(progress);
    let given_up = || stop.at_once();
    let web = Web { given_up: &given_up };
    let done = with_runtime(&place, patience, &|| stop.at_once(), |runtime| {
        job.run(&mut JobSite {
            sql: control,
            runtime,
            programs: &mut programs,
            http: &web,
            database: &database,
            cpus: host::cores(),
            extracts: &extracts,
            kept: kept.path(),
            remark: &mut |remark| {
                progress.borrow_mut().event(LabEvent::Warning { text: remark.clone() });
                remarks.push(remark);
            },
            doing: &mut |what| {
                progress.borrow_mut().event(LabEvent::Step { step: ExperimentStep::Prepare, what })
            },
        })
    });
    match programs.dead_server {
        Some(why) => Err(Error::new(Class::Unreachable, why)
            .with_hint("see to the server (its log, its disk, the network), then load again")),
        None => Ok(done?),
    }
}
