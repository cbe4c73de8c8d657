//! The engine in simulated time and memory: no socket, no thread, no clock.
//!
//! A [`SimServer`] written for the test decides what every connection sees and when. The same plan, clients and
//! server give the same figures on every machine, and hours of load take milliseconds.

mod server;
mod world;

pub use server::{Greeting, Replies, SimServer};

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::SystemTime;

use crate::client::{Client, Time};
use crate::client_loop::ClientLoop;
use crate::control::{RunControl, ThreadReport};
use crate::driver::Clock;
use crate::measured::{EngineResult, Stretch};
use crate::observer::Observer;
use crate::plan::RunPlan;
use crate::run::{Coordinator, assign, check};
use crate::stop::StopFlag;
use spec::Error;
use world::{Bell, SimClock, SimDriver, World};

/// Length of a turn that follows another of the same thread at the same time, ns; without it a load that
/// never waits would never end.
const TURN: Time = 1_000;

/// How long before its start the load is announced, ns: all threads are awake for it.
const LEAD: Time = 1_000_000;

/// Runs `plan` in simulated time against `server`.
///
/// [`crate::run()`] with another driver: the same client loop, schedule and recorder, with `plan.threads` threads
/// taken in turn. The engine's own CPU is reported as 0.
///
/// # Errors
/// As [`crate::run()`], without the system's refusals.
pub fn simulate(
    plan: &RunPlan,
    clients: Vec<Box<dyn Client>>,
    server: &mut dyn SimServer,
    observer: &mut dyn Observer,
    stop: &StopFlag,
) -> Result<EngineResult, Error> {
    simulate_held(plan, clients, server, observer, stop, |_| NextHold::Finish)
}

/// What to do with a held run whose clients are all idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHold {
    /// Hold them for `held` ns, then release them for `length` ns.
    Release {
        held: Time,
        length: Time,
        /// Whether this stretch and all later ones count; otherwise it is warm-up.
        measured: bool,
    },
    /// The part ends: what follows is the warm-up of the next one, on the same connections.
    EndPart,
    Finish,
}

/// As [`simulate`], with a held run. `next` decides after each stretch, which is its argument. The figures are those
/// of the last part.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_held(
    plan: &RunPlan,
    clients: Vec<Box<dyn Client>>,
    server: &mut dyn SimServer,
    observer: &mut dyn Observer,
    stop: &StopFlag,
    next: impl FnMut(Option<Stretch>) -> NextHold,
) -> Result<EngineResult, Error> {
    Ok(simulate_parts(plan, clients, server, observer, stop, next)?.1)
}

/// As [`simulate_held`], with the figures of the parts before the last one.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_parts(
    plan: &RunPlan,
    clients: Vec<Box<dyn Client>>,
    server: &mut dyn SimServer,
    observer: &mut dyn Observer,
    stop: &StopFlag,
    mut next: impl FnMut(Option<Stretch>) -> NextHold,
) -> Result<(Vec<EngineResult>, EngineResult), Error> {
    check(plan, &clients)?;
    let (reports, inbox) = mpsc::channel();
    let control = Arc::new(RunControl::new());
    // Reports are taken after the turn: waiting for one inside a turn would never end.
    let (assignments, recycle) = assign(plan, clients, &control, &reports, usize::MAX)?;
    let seats = assignments.iter().map(|assignment| assignment.clients.len()).sum();
    observer.began(SystemTime::UNIX_EPOCH);
    drop(reports);

    let clock = SimClock::default();
    let world = RefCell::new(World::new(server, clock.clone(), assignments.len()));
    let mut coordinator = Coordinator::new(plan, control, LEAD, seats, recycle);
    let mut threads: Vec<Thread<'_, '_>> = assignments
        .into_iter()
        .map(|assignment| {
            let bell = Arc::new(Bell::default());
            let driver =
                SimDriver::new(&world, assignment.thread, assignment.connections(), Arc::clone(&bell));
            let client_loop = ClientLoop::new(driver, None, assignment);
            Thread { client_loop, bell, last_turn: None, over: false }
        })
        .collect();
    let (mut is_warm, mut ends_part) = (true, false);
    let mut parts = Vec::new();
    loop {
        if ends_part && coordinator.is_part_over() {
            parts.push(coordinator.take_part(observer));
            (is_warm, ends_part) = (true, false);
        }
        if let Some(stretch) = coordinator.last_stretch().filter(|_| !coordinator.is_ended() && !ends_part) {
            match next(Some(stretch).filter(|stretch| stretch.until > stretch.from)) {
                NextHold::Release { held, length, measured } => {
                    if measured && std::mem::take(&mut is_warm) {
                        coordinator.measure(observer);
                    }
                    clock.set(clock.now() + held);
                    coordinator.release(clock.now(), length);
                }
                NextHold::EndPart => {
                    coordinator.end_part(clock.now());
                    ends_part = true;
                }
                NextHold::Finish => coordinator.finish(clock.now()),
            }
        }
        let Some((thread, at)) = next_turn(&threads, &world, clock.now()) else { break };
        let at = world.borrow_mut().generator_runs_at(at).max(at);
        clock.set(at);
        coordinator.tick(at, stop, observer);
        threads[thread].turn(at, &mut coordinator, &inbox, observer);
    }
    drop(threads);
    Ok((parts, coordinator.into_measured(observer)?))
}

struct Thread<'w, 's> {
    client_loop: ClientLoop<SimDriver<'w, 's>>,
    bell: Arc<Bell>,
    last_turn: Option<Time>,
    over: bool,
}

impl Thread<'_, '_> {
    fn turn(
        &mut self,
        now: Time,
        coordinator: &mut Coordinator,
        inbox: &Receiver<ThreadReport>,
        observer: &mut dyn Observer,
    ) {
        self.last_turn = Some(now);
        let outcome = self.client_loop.turn();
        for report in inbox.try_iter() {
            coordinator.take(report, now, observer);
            coordinator.start_if_ready(|| now, observer);
        }
        match outcome {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => coordinator.take(ThreadReport::Failed { error }, now, observer),
        }
        self.over = true;
        coordinator.take(ThreadReport::Gone, now, observer);
    }
}

/// The thread that is due first, and when; `None` when all are over.
fn next_turn(threads: &[Thread<'_, '_>], world: &RefCell<World<'_>>, now: Time) -> Option<(usize, Time)> {
    let candidates = threads.iter().enumerate().filter(|(_, thread)| !thread.over).map(|(number, thread)| {
        let arrival = world.borrow().next_at(number).unwrap_or(Time::MAX);
        let called = if thread.bell.has_rung() { now } else { Time::MAX };
        let at = thread.client_loop.deadline().min(arrival).min(called).max(now);
        (number, if thread.last_turn == Some(at) { at + TURN } else { at })
    });
    candidates.min_by_key(|&(number, at)| (at, number))
}
