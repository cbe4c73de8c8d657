//! Before a run: is the plan possible, which thread gets which clients, are there files enough.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::client::{Address, Client};
use crate::client_loop::{Assigned, Assignment};
use crate::control::{Batch, Control, Report};
use crate::error::EngineError;
use crate::measured::Second;
use crate::plan::{Load, Plan, Rate, Timeline, Until};
use crate::recorder::Outbox;

/// Longest path of a Unix-domain socket, bytes without the closing zero.
const SOCKET_PATH: usize = if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };
/// Descriptors beside the connections: what a driver needs per thread, and what the program itself has open.
const FILES_PER_THREAD: u64 = 4;
const FILES_OF_PROGRAM: u64 = 64;
/// Above this many transactions per second a schedule in ns has no room between its arrivals.
const HIGHEST_RATE: f64 = 1e8;

/// Where a thread gets back what it handed over: its seconds, its batches.
pub(crate) struct Recycle {
    pub(super) seconds: Sender<Box<Second>>,
    pub(super) batches: Sender<Box<Batch>>,
}

/// Refuses what cannot be run.
pub(crate) fn check(plan: &Plan, clients: &[Box<dyn Client>]) -> Result<(), EngineError> {
    let refuse = |why: &str| Err(EngineError::Plan(why.to_owned()));
    if clients.is_empty() {
        return refuse("it has no clients; at least one is needed");
    }
    if plan.threads == 0 {
        return refuse("it has no threads; at least one is needed");
    }
    if plan.scripts == 0 || plan.scripts > usize::from(u16::MAX) {
        return refuse("it must have between 1 and 65535 scripts");
    }
    if plan.until == Until::PerClient(0) {
        return refuse("each client must have at least one transaction to do");
    }
    if plan.until == Until::Told && plan.load != Load::Closed {
        return refuse("only closed load can be held and let go");
    }
    super::cpus::check(plan, plan.threads.min(clients.len()))?;
    if let Load::Rate(rate) = &plan.load {
        check_rate(rate, plan.gaps.is_some()).map_err(EngineError::Plan)?;
        // One that falls to 0 might never make so many.
        if !rate.profile.is_constant() && !matches!(plan.until, Until::Elapsed(_)) {
            return refuse("a rate that changes lasts for a time, not for a number of transactions");
        }
    }
    Ok(())
}

fn check_rate(rate: &Rate, own_gaps: bool) -> Result<(), String> {
    let greatest = rate.profile.greatest();
    if !rate.profile.is_constant() && (own_gaps || rate.timeline == Timeline::PerThread) {
        return Err("a rate that changes has one timeline for all threads".to_owned());
    }
    // A workload's own gaps may all be 0: what is asked for is then as much as the clients can.
    if own_gaps || (greatest > 0.0 && greatest <= HIGHEST_RATE) {
        return Ok(());
    }
    Err(format!("a rate of {greatest} per second; it must be above 0 and at most {HIGHEST_RATE}"))
}

/// Deals the clients to threads: in order, as many to each as to any other or one more. A thread may have `batches`
/// batches of its outbox under way, and gets back what it handed over.
pub(crate) fn assign(
    plan: &Plan,
    clients: Vec<Box<dyn Client>>,
    control: &Arc<Control>,
    reports: &Sender<Report>,
    batches: usize,
) -> Result<(Vec<Assignment>, Vec<Recycle>), EngineError> {
    let threads = plan.threads.min(clients.len());
    let (each, rest) = (clients.len() / threads, clients.len() % threads);
    let mut assignments = Vec::with_capacity(threads);
    let mut recycle = Vec::with_capacity(threads);
    let mut clients = clients.into_iter().enumerate();
    for thread in 0..threads {
        let share = each + usize::from(thread < rest);
        let mut own = Vec::with_capacity(share);
        for (number, client) in clients.by_ref().take(share) {
            let endpoints = client.endpoints();
            for endpoint in &endpoints {
                check_address(number, &endpoint.address)?;
            }
            own.push(Assigned { number, endpoints, client });
        }
        let (giver, recycled) = mpsc::channel();
        let (batch_giver, returned) = mpsc::channel();
        recycle.push(Recycle { seconds: giver, batches: batch_giver });
        assignments.push(Assignment {
            plan: plan.clone(),
            thread,
            threads,
            most_clients: each + usize::from(rest > 0),
            clients: own,
            control: Arc::clone(control),
            outbox: Outbox::new(thread, batches, reports.clone(), returned),
            reports: reports.clone(),
            recycled,
        });
    }
    Ok((assignments, recycle))
}

fn check_address(client: usize, address: &Address) -> Result<(), EngineError> {
    match address {
        Address::Unix(path) if path.as_os_str().len() > SOCKET_PATH => {
            Err(EngineError::SocketPath { client, path: path.clone(), limit: SOCKET_PATH })
        }
        _ => Ok(()),
    }
}

/// Lets the process open as many files as the run needs, up to the hard limit.
pub(crate) fn raise_open_files(connections: usize, threads: usize) -> Result<(), EngineError> {
    let needed = connections as u64 + threads as u64 * FILES_PER_THREAD + FILES_OF_PROGRAM;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // No limit is told as none.
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(allowed) = maximum.filter(|maximum| *maximum < needed) {
        return Err(EngineError::OpenFiles { needed, allowed });
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum })
        .map_err(|errno| EngineError::System { what: "raise the limit of open files", source: errno.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_connections_are_refused_before_anything_is_opened() {
        let allowed = getrlimit(Resource::Nofile).maximum;
        match (raise_open_files(1 << 40, 1), allowed) {
            (Err(EngineError::OpenFiles { needed, .. }), Some(_)) => assert!(needed > 1 << 40),
            (Ok(()), None) => {}
            other => panic!("{other:?}"),
        }
    }
}
