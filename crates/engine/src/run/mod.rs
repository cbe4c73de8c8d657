//! Runs a plan on operating-system threads.

mod assign;
mod coordinator;
mod cpus;
mod merge;
mod outages;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, SystemTime};

use self::assign::raise_open_files;
pub(crate) use self::assign::{assign, check};
pub(crate) use self::coordinator::Coordinator;
use crate::client::{Client, Time};
use crate::client_loop::{Assignment, ClientLoop};
use crate::control::{Control, Report};
use crate::driver::{Chosen, Clock, Driver, Epoch, choose};
use crate::error::EngineError;
use crate::measured::Measured;
use crate::observer::Observer;
use crate::plan::Plan;
use crate::stop::Stop;

/// What the names of load threads begin with; their number follows.
pub const LOAD_THREAD: &str = "load-";
/// Batches of a thread's outbox that may be under way.
const BATCHES: usize = 64;
/// How often a stop from outside is looked for.
const STOP_POLL: Duration = Duration::from_millis(50);
/// How long before its start the load is announced, ns.
const LEAD: Time = 1_000_000;

/// Connects all `clients`, puts the load of `plan` on them, and gives back what was measured.
///
/// Blocks until the run is over. `observer` is called on this thread. The load starts when all clients answered
/// [`crate::Step::Ready`] or [`crate::Step::Done`]. A thread takes its clients in their order, as many as any
/// other or one more.
///
/// # Errors
/// When the plan cannot be run, a client gives up or takes too long before the load starts, or the system
/// refuses threads, files or timers. Failures after that are counted, not returned.
///
/// # Panics
/// When a client panics.
pub fn run(
    plan: &Plan,
    clients: Vec<Box<dyn Client>>,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<Measured, EngineError> {
    check(plan, &clients)?;
    let (reports, inbox) = mpsc::channel();
    let control = Arc::new(Control::new());
    let (assignments, recycle) = assign(plan, clients, &control, &reports, BATCHES)?;
    raise_open_files(assignments.iter().map(Assignment::connections).sum(), assignments.len())?;
    drop(reports);

    let epoch = Epoch::start();
    observer.began(SystemTime::now());
    let mut coordinator = Coordinator::new(plan, Arc::clone(&control), observer, LEAD, recycle);
    thread::scope(|scope| {
        let mut refused = None;
        for assignment in assignments {
            let name = format!("{LOAD_THREAD}{}", assignment.thread);
            // Made here, so that a thread that could not be started counts as gone as well.
            let farewell = Farewell(assignment.reports.clone());
            let body = move || {
                let farewell = farewell;
                drive(assignment, epoch, &farewell.0);
            };
            if let Err(source) = thread::Builder::new().name(name).spawn_scoped(scope, body) {
                refused.get_or_insert(source);
                coordinator.cancel();
            }
        }
        attend(&mut coordinator, &inbox, epoch, stop);
        match refused {
            Some(source) => Err(EngineError::System { what: "start a thread", source }),
            None => coordinator.into_measured(),
        }
    })
}

/// Says that a thread is gone, however it ended.
struct Farewell(Sender<Report>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.0.send(Report::Gone);
    }
}

/// The life of one load thread.
fn drive(assignment: Assignment<'_>, epoch: Epoch, reports: &Sender<Report>) {
    let clients = assignment.clients.len();
    let plan = assignment.plan;
    let outcome = cpus::of_thread(plan, assignment.thread)
        .map_or(Ok(()), cpus::keep_on)
        // Its memory after that, so that it is near.
        .and_then(|()| choose(plan.driver, clients, assignment.connections(), plan.spin, epoch))
        .and_then(|chosen| match chosen {
            Chosen::Portable(driver, note) => turn_to_the_end(ClientLoop::new(driver, note, assignment)),
            #[cfg(target_os = "linux")]
            Chosen::Uring(driver) => turn_to_the_end(ClientLoop::new(driver, None, assignment)),
        });
    if let Err(error) = outcome {
        let _ = reports.send(Report::Failed { error });
    }
}

fn turn_to_the_end<D: Driver>(mut client_loop: ClientLoop<D>) -> Result<(), EngineError> {
    while client_loop.turn()? {}
    Ok(())
}

/// Serves the threads' reports until all are gone.
fn attend(coordinator: &mut Coordinator<'_>, inbox: &Receiver<Report>, epoch: Epoch, stop: &Stop) {
    while !coordinator.is_over() {
        let tick = coordinator
            .next_tick()
            .map_or(Duration::MAX, |at| Duration::from_nanos(at.saturating_sub(epoch.now())));
        match inbox.recv_timeout(STOP_POLL.min(tick)) {
            Ok(report) => coordinator.take(report, epoch.now()),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
        coordinator.tick(epoch.now(), stop);
    }
}
