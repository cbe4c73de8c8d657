//! Checks against the server of an experiment, if reachable: nothing on it is created, started or changed.
use std::time::Duration;

use protocol::postgres::conninfo::Env;
use spec::Error;
use spec::plan::{Facts, Plan, TargetSpec};

use super::arms::check_arms;
use super::failed_arms::FailedArms;
use crate::experiment::ExperimentFile;
use crate::jobs::{fits_at_hand, foresee};
use crate::plan::{jobs_of, levels, resolve, setups};
use crate::runner::Progress;
use crate::setup::At;
use crate::target_spec::TargetAccess;
use server::control::{Control, connect};
use server::home::Home;
use server::managed;
use server::settings::Means;

/// Timeout for a server that is only checked.
const BOUND: Duration = Duration::from_secs(5);

/// Result of checking the settings of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    Nothing,
    Checked,
    NotChecked(String),
}

/// Checks the settings of a plan against the server without side effects: one given by URL if it answers, a
/// managed one if it runs. Arms that it refuses are left out of the plan.
///
/// # Errors
/// Every setting that the server cannot apply, with its line in the file, if nothing is left to compare.
pub fn look(
    file: &ExperimentFile,
    (plan, facts): (&mut Plan, &mut Facts),
    progress: &mut dyn Progress,
) -> Result<Looked, Error> {
    if file.arms.iter().all(|arm| arm.settings.is_empty()) {
        return Ok(Looked::Nothing);
    }
    let mut failed = FailedArms::new(plan);
    for target in file.targets() {
        let (mut control, means) = match at_hand(&file.access(target.clone()))? {
            Ok(found) => found,
            Err(why) => return Ok(Looked::NotChecked(why)),
        };
        // Servers of builds are checked when they run.
        check_arms(file, plan, (&At::default(), &mut control, means), &mut failed, progress)?;
    }
    failed.into_facts().into_iter().for_each(|fact| facts.learn(fact));
    *plan = resolve(file, facts)?;
    Ok(Looked::Checked)
}

/// The size of the data that the plan creates on its servers, a sentence each. Servers given by URL report
/// their disks.
///
/// # Errors
/// When the data cannot fit.
pub fn look_at_sizes(file: &ExperimentFile, plan: &Plan) -> Result<Vec<String>, Error> {
    let (mut said, mut private) = (Vec::new(), Vec::new());
    for at in setups::sites(plan) {
        let (spec, prepare) = (levels::target(&plan.content, &at), levels::preparation(&plan.content, &at));
        if matches!(spec, TargetSpec::Managed { .. }) {
            private.push((spec, prepare));
            continue;
        }
        for job in jobs_of(prepare).jobs() {
            let Some(fill) = job.fill().filter(|fill| fill.bytes > 0) else { continue };
            said.push(match at_hand(&file.access(spec.clone()))? {
                Ok((mut control, _)) => fits_at_hand(&mut control, None, &job.what(), &fill)?,
                Err(_) => format!(
                    "{}: about {}; how much is free on the server's disk is not known",
                    job.what(),
                    spec::bytes(fill.bytes)
                ),
            });
        }
    }
    said.extend(foresee(private.into_iter())?);
    Ok(said)
}

/// The same before anything is created: whether the data of private servers fit on their disks.
///
/// # Errors
/// When they cannot.
pub fn check_sizes(plan: &Plan) -> Result<(), Error> {
    let sites = setups::sites(plan).into_iter();
    foresee(sites.map(|at| (levels::target(&plan.content, &at), levels::preparation(&plan.content, &at))))
        .map(drop)
}

fn at_hand(TargetAccess { spec, url, .. }: &TargetAccess) -> Result<Result<(Control, Means), String>, Error> {
    match spec {
        TargetSpec::Managed { name, .. } => {
            let server = Home::locate().ok().and_then(|home| managed::status(&home, name).ok());
            let means =
                |_: &mut Control| Means { restart: true, server: true, session: true, superuser: true };
            Ok(match server.and_then(|server| server.look(BOUND)) {
                Some(control) => with(control, means),
                None => Err(format!("managed server {name:?} does not run now")),
            })
        }
        TargetSpec::Url { change_server, .. } => {
            let url = url.as_ref().expect("a server given by URL was read with its address");
            let mut config = url.resolve(&Env::process()).map_err(server::conninfo_error)?;
            config.application_name.get_or_insert_with(|| "pgdyno".to_owned());
            config.connect_timeout.get_or_insert(BOUND);
            let means = |control: &mut Control| Means {
                restart: false,
                server: *change_server,
                // The same error occurs again when the experiment begins.
                session: control.pooling().is_ok_and(|pooling| !pooling.is_shared()),
                superuser: control.reported("is_superuser") == Some("on"),
            };
            Ok(with(connect(&config), means))
        }
    }
}

fn with(
    opened: Result<Control, spec::Error>,
    means: impl FnOnce(&mut Control) -> Means,
) -> Result<(Control, Means), String> {
    let mut control = opened.map_err(|error| error.to_string())?;
    let means = means(&mut control);
    Ok((control, means))
}
