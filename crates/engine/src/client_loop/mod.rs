//! The loop that drives all clients of a thread, for every driver, load and workload.
//!
//! A turn sleeps until something happens or is due. Then it serves every event, each client for a bounded
//! time, and sends what the clients wrote. [`serve`] serves one client, [`phases`] has the phases of a run,
//! and this module the turn.

mod gap;
mod hold;
mod link;
mod phases;
mod progress;
mod seat;
mod serve;
mod stretches;
mod thread;
mod timers;
mod tls;
mod turn;
mod user;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use self::gap::CpuReading;
pub use self::gap::{GAP, PAUSE};
use self::hold::Hold;
use self::phases::Coordination;
use self::progress::{RunPhase, RunProgress};
use self::seat::Seat;
use self::serve::Serving;
use self::thread::{Lent, Tally, Thread};
use self::timers::{Timer, Timers};
use self::turn::Turn;
use spec::Error;

use crate::client::{Client, Endpoint, Link, Notes, Time};
use crate::control::{RunControl, ThreadReport};
use crate::driver::Driver;
use crate::error;
use crate::measured::Second;
use crate::plan::{Load, Pace, RunPlan};
use crate::recorder::{Outbox, Recorder};
use crate::wake::WakeQueue;

pub(crate) struct Assignment {
    pub(crate) plan: RunPlan,
    /// Number of the thread in this process.
    pub(crate) thread: usize,
    /// Its number in the whole load, and the number of threads of that.
    pub(crate) place: (usize, usize),
    pub(crate) most_clients: usize,
    pub(crate) clients: Vec<Assigned>,
    pub(crate) control: Arc<RunControl>,
    pub(crate) reports: Sender<ThreadReport>,
    pub(crate) recycled: Receiver<Box<Second>>,
    pub(crate) outbox: Outbox,
}

pub(crate) struct Assigned {
    pub(crate) number: usize,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) client: Box<dyn Client>,
}

impl Assignment {
    pub(crate) fn connections(&self) -> usize {
        self.clients.iter().map(|client| client.endpoints.len()).sum()
    }
}

pub(crate) struct ClientLoop<D: Driver> {
    driver: D,
    seats: Vec<Seat>,
    owners: Vec<(usize, Link)>,
    thread: Thread<D::Clock>,
    coordination: Coordination,
    reading: CpuReading,
    woken: Vec<usize>,
}

impl<D: Driver> ClientLoop<D> {
    /// Takes the clients and starts to connect them; `note` gives the reason for the driver, if it is worth
    /// reporting.
    pub(crate) fn new(mut driver: D, note: Option<String>, assignment: Assignment) -> Self {
        let notify = driver.notifier();
        let wakes = Arc::new(WakeQueue::new(Arc::clone(&notify)));
        assignment.control.enrol(notify);
        let coordination = Coordination::new(&assignment);
        coordination.report(ThreadReport::Up { driver: driver.name(), note });
        let Assignment { plan, thread, clients, reports, recycled, outbox, .. } = assignment;
        let (mut seats, mut owners) = (Vec::with_capacity(clients.len()), Vec::new());
        for (index, Assigned { number, endpoints, client }) in clients.into_iter().enumerate() {
            let first_conn = owners.len();
            owners.extend((0..endpoints.len()).map(|link| (index, link)));
            let mut seat = Seat::new(client, (index, number, plan.seed), first_conn, endpoints);
            if matches!(&plan.load, Load::Users(users) if users.reconnect) {
                seat.connects_on_demand();
            }
            for (link, state) in seat.links.iter().enumerate().filter(|_| !seat.settled) {
                driver.connect(first_conn + link, &state.endpoint);
            }
            seats.push(seat);
        }
        let turn = Turn::new(driver.clock());
        let thread = Thread {
            pace: Pace::new(&plan, seats.len()),
            timers: Timers::new(seats.len(), owners.len()),
            runnable: VecDeque::with_capacity(seats.len()),
            recorder: Recorder::new(thread, &plan, reports, recycled, outbox),
            tally: Tally {
                clients: seats.len(),
                unsettled: seats.iter().filter(|seat| !seat.settled).count(),
                busy: 0,
                over: 0,
                over_since: 0,
            },
            hold: Hold::default(),
            lent: Lent {
                outs: vec![Vec::new(); seats.iter().map(|seat| seat.links.len()).max().unwrap_or_default()],
                notes: Notes::default(),
                wakes,
                plain: Vec::new(),
            },
            failure: None,
            progress: RunProgress::new(plan, turn.now),
            turn,
        };
        Self {
            driver,
            seats,
            owners,
            thread,
            coordination,
            reading: CpuReading::default(),
            woken: Vec::new(),
        }
    }

    /// Runs one turn; false when the thread is done and has reported its figures.
    ///
    /// # Errors
    /// When a client fails before the load starts, or the driver cannot wait.
    pub(crate) fn turn(&mut self) -> Result<bool, Error> {
        self.wait()?;
        self.take_order();
        self.change_phase()?;
        if self.thread.progress.phase == RunPhase::Over {
            return Ok(false);
        }
        self.serve_connections();
        while let Some(client) = self.woken.pop() {
            self.serve(client, |client| client.woken());
        }
        for _ in 0..self.thread.runnable.len() {
            let Some(client) = self.thread.runnable.pop_front() else { break };
            self.serve(client, |client| client.resume());
        }
        for _ in 0..self.thread.timers.len() {
            let Some((timer, at)) = self.thread.timers.take_due(self.thread.turn.now) else { break };
            let (client, link) = match timer {
                Timer::Client(client) | Timer::Visit(client) => (client, None),
                Timer::Link(conn) => (self.owners[conn].0, Some(self.owners[conn].1)),
            };
            self.serve(client, |client| client.timer(timer, link, at));
        }
        while let Some((client, due)) = self.next_arrival() {
            if !self.serve(client, |client| client.arrival(due)) {
                break;
            }
        }
        match self.thread.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(true),
        }
    }

    /// Ends a turn, sleeps, begins the next one.
    fn wait(&mut self) -> Result<(), Error> {
        let (until, wakes_at) = (self.due(), self.deadline());
        let thread = &mut self.thread;
        thread.recorder.outbox.send_notices();
        let (now, took) = thread.turn.close();
        if let Some(took) = took {
            thread.recorder.turn(now, took);
        }
        let driver_now = thread.turn.driver_time(now);
        self.driver.wait(driver_now, wakes_at).map_err(error::system("wait for the sockets"))?;
        thread.turn.open(until);
        thread.lent.wakes.take(&mut self.woken);
        let overslept = thread.turn.now.saturating_sub(until.max(now));
        self.look_for_gap(took.unwrap_or_default(), overslept);
        Ok(())
    }

    fn serve_connections(&mut self) {
        let Self { driver, seats, owners, thread, .. } = self;
        while let Some((conn, happened)) = driver.next() {
            let (client, link) = owners[conn];
            let mut client = Serving { seat: &mut seats[client], thread };
            client.happened(link, happened);
            client.flush(driver);
        }
    }

    /// Serves one client, and sends what it wrote.
    fn serve<R>(&mut self, client: usize, how: impl FnOnce(&mut Serving<'_, D::Clock>) -> R) -> R {
        let mut client = Serving { seat: &mut self.seats[client], thread: &mut self.thread };
        let outcome = how(&mut client);
        client.flush(&mut self.driver);
        outcome
    }

    /// The next due arrival, and the client that has been free the longest.
    fn next_arrival(&mut self) -> Option<(usize, Time)> {
        let open = self.thread.pace.open_mut()?;
        let due = open.peek();
        if due > self.thread.turn.now || self.thread.turn.skips_left == 0 {
            return None;
        }
        loop {
            let client = open.free.pop_front()?;
            let seat = &mut self.seats[client];
            seat.queued = false;
            if seat.is_free() {
                return Some((client, due));
            }
        }
    }
}
