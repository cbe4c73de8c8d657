//! What a calibration has in place of the guards of other experiments, and results that could not be stored.

use spec::plan::Plan;
use spec::{Class, Error, Run};
use workloads::Workload;

use crate::concurrent;
use crate::error::of_sql;
use crate::plan::calibration::Operation;
use crate::runner::{Ready, Runner, settle};
use crate::setup::At;

/// Attached to the error of a calibration whose runs could not all be stored: they are complete nevertheless.
#[derive(Debug)]
pub struct UnstoredRuns {
    pub plan: Plan,
    pub runs: Vec<Run>,
}

impl UnstoredRuns {
    /// The error for them.
    pub(super) fn into_error(self, error: &Error) -> Error {
        let what = format!("the result above is not stored: {error}");
        let hint = error.hint().unwrap_or_default().to_owned();
        Error::new(Class::Io, what).with_hint(hint).attach(self)
    }
}

/// Starts the sink and opens the operations; they need no guard.
pub(super) fn get_ready(runner: &mut Runner<'_>, plan: &Plan) -> Result<(), Error> {
    // Without a server nothing else waits.
    let stop = runner.stop();
    concurrent::take_turn(&mut *runner.progress, stop)?;
    if let Ok(stage) = runner.stage(&At::default()) {
        settle(stage.control()?, &|| stop.soon()).map_err(of_sql)?;
    }
    runner.start_sink()?;
    for operation in Operation::COSTLY.into_iter().chain([Operation::Nothing]) {
        if !plan.runs.iter().any(|run| run.workload == operation.name()) {
            continue;
        }
        let mut workload = operation.workload()?;
        if operation.is_server() {
            runner.stage(&At::default())?.with_site(|site| workload.check(site))?;
        }
        runner.add(operation.name(), Ready::without_facts(workload));
    }
    Ok(())
}
