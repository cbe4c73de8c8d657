//! Workloads that cannot run on any server: found before one is started.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use engine::Until;
use spec::Error;
use spec::plan::Plan;
use workloads::{Each, Work};

use crate::plan::levels;
use crate::plan::setups::{self, Setups};
use crate::setup::Setup;

/// Checks the texts of all workloads, and whether their files have enough for the clients.
///
/// # Errors
/// What is wrong, with the workload.
pub(super) fn check_workloads(plan: &Plan, folder: &Path) -> Result<(), Error> {
    let (mut opened, mut checked): (BTreeMap<String, Work>, _) = (BTreeMap::new(), HashSet::new());
    let mut setups = Setups::of(plan);
    for run in plan.runs.iter().filter(|run| !run.is_job()) {
        let setup = setups.without_load(run);
        // A calibration has workloads of pgdyno.
        if !plan.content.workloads.contains_key(&setup.workload)
            || !checked.insert((setup.asked(), run.clients))
        {
            continue;
        }
        let workload = match opened.entry(setup.asked()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let workload = levels::spec_of(&plan.content, setup)?.open(folder)?;
                workload.check_texts().map_err(|error| of_workload(setup, error))?;
                entry.insert(workload)
            }
        };
        has_enough(&setups::setup(plan, run), workload)?;
    }
    Ok(())
}

/// Checks that what a workload asks for suffices for the clients of a setup.
///
/// # Errors
/// What is missing, with the workload.
pub(super) fn has_enough(setup: &Setup, workload: &Work) -> Result<(), Error> {
    let Some(clients) = workload.clients() else { return Ok(()) };
    let of_session = setup.users().and_then(|users| users.sessions.as_ref());
    let transactions = of_session.map_or(1, |sessions| sessions.session.visits().len() as u64);
    let each = match setup.until {
        Until::PerClient(transactions) => Some(Each { transactions, sessions: None }),
        Until::PerUser(sessions) => {
            let transactions = transactions.saturating_mul(sessions);
            Some(Each { transactions, sessions: Some(sessions) })
        }
        Until::Elapsed(_) | Until::Caller => None,
    };
    clients.suffices(setup.clients, each).map_err(|error| of_workload(setup, error))
}

fn of_workload(setup: &Setup, error: Error) -> Error {
    let what = format!("workload {}: {error}", setup.asked());
    error.in_words(what)
}
