//! The engine in simulated time and memory: no socket, no thread, no clock.
//!
//! A [`Server`] written for the test decides what every connection sees and when. The same plan, clients and
//! server give the same figures on every machine, and hours of load take milliseconds.

mod server;
mod world;

pub use server::{Greeting, Replies, Server};

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::SystemTime;

use crate::client::{Client, Time};
use crate::client_loop::ClientLoop;
use crate::control::{Control, Report};
use crate::driver::Clock;
use crate::error::EngineError;
use crate::measured::Measured;
use crate::observer::Observer;
use crate::plan::Plan;
use crate::run::{Coordinator, assign, check};
use crate::stop::Stop;
use world::{SimClock, SimDriver, World};

/// What a turn takes that follows another of the same thread at the same time, ns; without it a load that never
/// waits for anything would never end.
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
    plan: &Plan,
    clients: Vec<Box<dyn Client>>,
    server: &mut dyn Server,
    observer: &mut dyn Observer,
    stop: &Stop,
) -> Result<Measured, EngineError> {
    check(plan, &clients)?;
    let (reports, inbox) = mpsc::channel();
    let control = Arc::new(Control::new());
    // What is handed over is taken after the turn: waiting for it inside one would be for ever.
    let (assignments, recycle) = assign(plan, clients, &control, &reports, usize::MAX)?;
    observer.began(SystemTime::UNIX_EPOCH);
    drop(reports);

    let clock = SimClock::default();
    let world = RefCell::new(World::new(server, clock.clone(), assignments.len()));
    let mut coordinator = Coordinator::new(plan, control, observer, LEAD, recycle);
    let mut threads: Vec<Thread<'_, '_>> = assignments
        .into_iter()
        .map(|assignment| {
            let driver = SimDriver::new(&world, assignment.thread, assignment.connections());
            Thread { client_loop: ClientLoop::new(driver, None, assignment), last_turn: None, over: false }
        })
        .collect();
    while let Some((thread, at)) = next_turn(&threads, &world, clock.now()) {
        clock.set(at);
        coordinator.tick(at, stop);
        threads[thread].turn(at, &mut coordinator, &inbox);
    }
    drop(threads);
    coordinator.into_measured()
}

/// One simulated thread.
struct Thread<'w, 's> {
    client_loop: ClientLoop<SimDriver<'w, 's>>,
    last_turn: Option<Time>,
    over: bool,
}

impl Thread<'_, '_> {
    fn turn(&mut self, now: Time, coordinator: &mut Coordinator<'_>, inbox: &Receiver<Report>) {
        self.last_turn = Some(now);
        let outcome = self.client_loop.turn();
        for report in inbox.try_iter() {
            coordinator.take(report, now);
        }
        match outcome {
            Ok(true) => return,
            Ok(false) => {}
            Err(error) => coordinator.take(Report::Failed { error }, now),
        }
        self.over = true;
        coordinator.take(Report::Gone, now);
    }
}

/// The thread that has something to do first, and when; `None` when all are over.
fn next_turn(threads: &[Thread<'_, '_>], world: &RefCell<World<'_>>, now: Time) -> Option<(usize, Time)> {
    let candidates = threads.iter().enumerate().filter(|(_, thread)| !thread.over).map(|(number, thread)| {
        let arrival = world.borrow().next_at(number).unwrap_or(Time::MAX);
        let at = thread.client_loop.deadline().min(arrival).max(now);
        (number, if thread.last_turn == Some(at) { at + TURN } else { at })
    });
    candidates.min_by_key(|&(number, at)| (at, number))
}
