//! Before a run: checks the plan, assigns clients to threads, raises the open-file limit.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use spec::{Class, Error};

use crate::client::{Address, Client};
use crate::client_loop::{Assigned, Assignment};
use crate::control::{Batch, RunControl, ThreadReport};
use crate::error::{self, NotConnected};
use crate::measured::Second;
use crate::plan::{Load, LoadPart, Pause, Rate, RunPlan, Timeline, Until, UserArrival, Users};
use crate::recorder::Outbox;

/// Longest path of a Unix-domain socket, bytes without the closing zero.
const SOCKET_PATH: usize = if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };
/// Descriptors in addition to the connections: per thread for the driver, and for the program itself.
const FILES_PER_THREAD: u64 = 4;
const FILES_OF_PROGRAM: u64 = 64;
/// Above this rate per second, a schedule in ns has no room between arrivals.
const HIGHEST_RATE: f64 = 1e8;

/// Where a thread gets its seconds and batches back.
pub(crate) struct Recycle {
    pub(super) seconds: Sender<Box<Second>>,
    pub(super) batches: Sender<Box<Batch>>,
}

/// Refuses what cannot be run.
pub(crate) fn check(plan: &RunPlan, clients: &[Box<dyn Client>]) -> Result<(), Error> {
    let refuse = |why: &str| Err(error::plan(why));
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
    if plan.until == Until::Caller && plan.load != Load::Closed {
        return refuse("only closed load can be held and let go");
    }
    let threads = plan.threads.min(clients.len());
    if plan.part.of > threads || plan.part.number >= plan.part.of {
        let LoadPart { number, of } = plan.part;
        return refuse(&format!("part {} of {of} has no thread of {threads} with a client", number + 1));
    }
    super::cpus::check(plan, plan.part.threads(threads))?;
    if let Load::Users(users) = &plan.load {
        check_users(users, plan).map_err(error::plan)?;
    } else if matches!(plan.until, Until::PerUser(_)) {
        return refuse("only users have a number of sessions");
    }
    if let Load::Rate(rate) = &plan.load {
        check_rate(rate, plan.gaps.is_some()).map_err(error::plan)?;
        // A rate that falls to 0 may never reach the number.
        if !rate.profile.is_constant() && !matches!(plan.until, Until::Elapsed(_)) {
            return refuse("a rate that changes lasts for a time, not for a number of transactions");
        }
    }
    Ok(())
}

fn check_users(users: &Users, plan: &RunPlan) -> Result<(), String> {
    let no_pause = |pause: &Pause| matches!(pause, Pause::Observed(times) if times.is_empty());
    if users.session.is_empty() {
        return Err("a session must have at least one transaction".to_owned());
    }
    for step in users.session.iter() {
        if step.script.is_some_and(|script| usize::from(script) >= plan.scripts) {
            return Err("a session has a script that is not in the plan".to_owned());
        }
        if step.pauses.iter().any(no_pause) {
            return Err("a think time is drawn from no pauses".to_owned());
        }
    }
    match (&users.arrival, plan.until) {
        (_, Until::PerUser(0)) => Err("each user must have at least one session to do".to_owned()),
        (UserArrival::Open(profile), Until::Elapsed(_)) => {
            let greatest = profile.greatest();
            match greatest > 0.0 && greatest <= HIGHEST_RATE {
                true => Ok(()),
                false => {
                    Err(format!("{greatest} users per second; it must be above 0 and at most {HIGHEST_RATE}"))
                }
            }
        }
        (UserArrival::Open(_), _) => {
            Err("users who come openly do so for a time, not for a number of sessions".to_owned())
        }
        (UserArrival::Share { .. }, Until::PerUser(_)) => {
            Err("users who come and go do so for a time, not for a number of sessions".to_owned())
        }
        (UserArrival::Apart(_) | UserArrival::Share { .. }, _) => Ok(()),
    }
}

fn check_rate(rate: &Rate, own_gaps: bool) -> Result<(), String> {
    let greatest = rate.profile.greatest();
    if !rate.profile.is_constant() && (own_gaps || rate.timeline == Timeline::PerThread) {
        return Err("a rate that changes has one timeline for all threads".to_owned());
    }
    // A workload's own gaps may all be 0: the clients then do as much as they can.
    if own_gaps || (greatest > 0.0 && greatest <= HIGHEST_RATE) {
        return Ok(());
    }
    Err(format!("a rate of {greatest} per second; it must be above 0 and at most {HIGHEST_RATE}"))
}

/// Assigns the clients to threads in order, equally up to one client, and leaves out the clients of other parts. A thread
/// may have `batches` batches of its outbox under way.
pub(crate) fn assign(
    plan: &RunPlan,
    clients: Vec<Box<dyn Client>>,
    control: &Arc<RunControl>,
    reports: &Sender<ThreadReport>,
    batches: usize,
) -> Result<(Vec<Assignment>, Vec<Recycle>), Error> {
    let threads = plan.threads.min(clients.len());
    let (each, rest) = (clients.len() / threads, clients.len() % threads);
    let mut assignments = Vec::with_capacity(threads);
    let mut recycle = Vec::with_capacity(threads);
    let mut clients = clients.into_iter().enumerate();
    for place in 0..threads {
        let share = each + usize::from(place < rest);
        if !plan.part.has(place) {
            clients.by_ref().take(share).for_each(drop);
            continue;
        }
        let thread = assignments.len();
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
            place: (place, threads),
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

fn check_address(client: usize, address: &Address) -> Result<(), Error> {
    match address {
        Address::Unix(path) if path.as_os_str().len() > SOCKET_PATH => {
            let what = format!(
                "client {client}: socket path {path:?} is longer than the {SOCKET_PATH} bytes a Unix-domain socket may have; \
                 use a shorter folder"
            );
            Err(Error::new(Class::Usage, what))
        }
        _ => Ok(()),
    }
}

/// Raises the open-file limit for this run, up to the hard limit.
pub(crate) fn raise_open_files(connections: usize, threads: usize) -> Result<(), Error> {
    let needed = connections as u64 + threads as u64 * FILES_PER_THREAD + FILES_OF_PROGRAM;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // No limit is reported as `None`.
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(allowed) = maximum.filter(|maximum| *maximum < needed) {
        let what = format!(
            "{needed} open files are needed and the hard limit is {allowed}; raise it (ulimit -Hn) or use fewer clients"
        );
        return Err(Error::new(Class::Missing, what).attach(NotConnected::OpenFiles));
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum })
        .map_err(error::system("raise the limit of open files"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_connections_are_refused_before_anything_is_opened() {
        let allowed = getrlimit(Resource::Nofile).maximum;
        match (raise_open_files(1 << 40, 1), allowed) {
            (Err(error), Some(_)) => {
                assert!(matches!(error.attached(), Some(NotConnected::OpenFiles)), "{error}");
                let needed: Option<u64> = error.to_string().split(' ').next().and_then(|it| it.parse().ok());
                assert!(needed.is_some_and(|needed| needed > 1 << 40), "{error}");
            }
            (Ok(()), None) => {}
            other => panic!("{other:?}"),
        }
    }
}
