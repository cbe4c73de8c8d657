//! The one loop that drives all clients of a thread, whatever the driver, the load and the workload.
//!
//! A turn sleeps until something happens or is due, then serves everything that happened, each client for a
//! bounded time, and sends what the clients wrote after each event. Serving clients is in [`crate::serve`],
//! links and bytes in [`crate::links`], the phases of a run in [`crate::phases`]; here is the turn.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use crate::client::{Client, Endpoint, Notes, Time};
use crate::control::{Control, Report};
use crate::driver::{Clock, Conn, Driver};
use crate::error::EngineError;
use crate::measured::Second;
use crate::outbox::Outbox;
use crate::own_cost::Cpu;
use crate::pace::Pace;
use crate::phases::Phase;
use crate::plan::Plan;
use crate::recorder::Recorder;
use crate::seat::{LinkState, Seat};
use crate::timers::Timers;
use crate::wake::WakeQueue;
use crate::window::Window;

/// Scheduled arrivals skipped in one turn before others get theirs.
pub(crate) const SKIPS_PER_TURN: u32 = 10_000;

/// What one thread is given.
pub(crate) struct Assignment<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) thread: usize,
    pub(crate) threads: usize,
    /// Number in the whole run, end points, client.
    pub(crate) clients: Vec<(usize, Vec<Endpoint>, Box<dyn Client>)>,
    pub(crate) control: Arc<Control>,
    pub(crate) reports: Sender<Report>,
    pub(crate) recycled: Receiver<Box<Second>>,
    pub(crate) outbox: Outbox,
}

impl Assignment<'_> {
    /// Connections this thread keeps.
    pub(crate) fn connections(&self) -> usize {
        self.clients.iter().map(|(_, endpoints, _)| endpoints.len()).sum()
    }
}

/// Something the driver has to do after the event.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command {
    Connect(Conn),
    Close(Conn),
}

/// One thread's loop.
pub(crate) struct ClientLoop<D: Driver> {
    driver: D,
    core: Core<D::Clock>,
}

/// All of the loop but the driver, so that a client can be served bytes the driver lends.
pub(crate) struct Core<C: Clock> {
    pub(crate) clock: C,
    /// Time of the event being served.
    pub(crate) now: Time,
    /// The turn has only just begun: `now` serves its first event.
    pub(crate) is_fresh: bool,
    pub(crate) plan: Plan,
    pub(crate) place: (usize, usize),
    pub(crate) phase: Phase,
    pub(crate) window: Window,
    pub(crate) connect_deadline: Time,
    pub(crate) seats: Vec<Seat>,
    pub(crate) links: Vec<LinkState>,
    /// The output buffers of the client being served, by link: empty again once it is flushed.
    pub(crate) outs: Vec<Vec<u8>>,
    pub(crate) pace: Pace,
    pub(crate) timers: Timers,
    /// Clients that used up their time in a turn.
    pub(crate) runnable: VecDeque<usize>,
    pub(crate) commands: Vec<Command>,
    pub(crate) recorder: Recorder,
    pub(crate) notes: Notes,
    pub(crate) wakes: Arc<WakeQueue>,
    pub(crate) woken: Vec<usize>,
    pub(crate) control: Arc<Control>,
    pub(crate) reports: Sender<Report>,
    /// Clients not ready yet for the first time.
    pub(crate) unsettled: usize,
    /// Clients in a transaction.
    pub(crate) busy: usize,
    /// Of these, how many the caller's thread was told of after the end.
    pub(crate) told_open: usize,
    /// Clients that stopped for good, and when the last one did.
    pub(crate) over: (usize, Time),
    pub(crate) idle_reported: bool,
    pub(crate) failure: Option<EngineError>,
    /// What is left of a client's and of the turn's allowance.
    pub(crate) slots_left: u32,
    pub(crate) skips_left: u32,
    /// Plain text of a TLS read.
    pub(crate) plain: Vec<u8>,
    /// Until when the last wait was to last.
    pub(crate) waited_for: Time,
    pub(crate) cpu_at_start: Option<Cpu>,
    turn_start: Option<Time>,
}

impl<D: Driver> ClientLoop<D> {
    /// Takes the clients over and starts to connect them; `note` says why it is this driver, if that is worth a word.
    pub(crate) fn new(driver: D, note: Option<String>, assignment: Assignment<'_>) -> Self {
        let notify = driver.notifier();
        let up = Report::Up { driver: driver.name(), note, notify: Arc::clone(&notify) };
        // A caller that is gone has nobody to tell, here and below.
        let _ = assignment.reports.send(up);
        let mut this =
            Self { core: Core::new(driver.clock(), Arc::new(WakeQueue::new(notify)), assignment), driver };
        for (conn, link) in this.core.links.iter().enumerate() {
            if !this.core.seats[link.client].settled {
                this.driver.connect(conn, &link.endpoint.address);
            }
        }
        this
    }

    /// When the next turn has something to do without anything happening before.
    pub(crate) fn deadline(&self) -> Time {
        self.core.deadline()
    }

    /// One turn; false when the thread is done and has reported its figures.
    ///
    /// # Errors
    /// When a client fails before the load starts, or the driver cannot wait.
    pub(crate) fn turn(&mut self) -> Result<bool, EngineError> {
        let Self { driver, core } = self;
        let until = core.deadline();
        core.waited_for = until;
        let now = core.close_turn();
        driver.wait(now, until).map_err(EngineError::system("wait for the sockets"))?;
        core.open_turn();
        core.change_phase(driver)?;
        if core.phase == Phase::Over {
            return Ok(false);
        }
        while let Some((conn, happened)) = driver.next() {
            let client = core.happened(conn, happened);
            core.flush(client, driver);
        }
        while let Some(client) = core.next_woken() {
            core.flush(client, driver);
        }
        for _ in 0..core.runnable.len() {
            let Some(client) = core.next_runnable() else { break };
            core.flush(client, driver);
        }
        for _ in 0..core.timers.len() {
            let Some(client) = core.next_timer() else { break };
            core.flush(client, driver);
        }
        while let Some(client) = core.next_arrival() {
            core.flush(client, driver);
        }
        match core.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(true),
        }
    }
}

impl<C: Clock> Core<C> {
    fn new(clock: C, wakes: Arc<WakeQueue>, assignment: Assignment<'_>) -> Self {
        let plan = assignment.plan.clone();
        let mut seats = Vec::with_capacity(assignment.clients.len());
        let mut links = Vec::new();
        for (client, (number, endpoints, boxed)) in assignment.clients.into_iter().enumerate() {
            seats.push(Seat::new(boxed, number, links.len(), endpoints.len()));
            links.extend(
                endpoints.into_iter().enumerate().map(|(link, end)| LinkState::new(client, link, end)),
            );
        }
        let pace = Pace::new(&plan, seats.len());
        let recorder = Recorder::new(
            assignment.thread,
            &plan,
            pace.count_by(),
            assignment.reports.clone(),
            assignment.recycled,
            assignment.outbox,
        );
        let now = clock.now();
        Self {
            now,
            is_fresh: false,
            clock,
            place: (assignment.thread, assignment.threads),
            phase: Phase::Setup { reported: false },
            window: Window { load: Time::MAX, measured: Time::MAX, end: Time::MAX },
            connect_deadline: now.saturating_add(plan.connect_timeout),
            outs: vec![Vec::new(); seats.iter().map(|seat| seat.links).max().unwrap_or_default()],
            timers: Timers::new(2 * seats.len() + links.len()),
            runnable: VecDeque::with_capacity(seats.len()),
            commands: Vec::new(),
            unsettled: seats.iter().filter(|seat| !seat.settled).count(),
            pace,
            recorder,
            notes: Notes::default(),
            wakes,
            woken: Vec::new(),
            control: assignment.control,
            reports: assignment.reports,
            busy: 0,
            told_open: 0,
            over: (0, 0),
            idle_reported: false,
            failure: None,
            slots_left: 0,
            skips_left: 0,
            plain: Vec::new(),
            waited_for: 0,
            cpu_at_start: None,
            turn_start: None,
            plan,
            seats,
            links,
        }
    }

    /// Gives the time.
    fn close_turn(&mut self) -> Time {
        self.recorder.outbox.speak();
        let now = self.clock.now();
        if let Some(start) = self.turn_start.take() {
            self.recorder.turn(now, now.saturating_sub(start));
        }
        now
    }

    fn open_turn(&mut self) {
        self.now = self.clock.now();
        self.is_fresh = true;
        self.turn_start = Some(self.now);
        self.skips_left = SKIPS_PER_TURN;
        self.wakes.take(&mut self.woken);
    }

    fn deadline(&self) -> Time {
        if !self.runnable.is_empty() || !self.woken.is_empty() {
            return 0;
        }
        let timers = self.timers.first().unwrap_or(Time::MAX);
        let phase = match self.phase {
            Phase::Setup { reported: false } if self.unsettled == 0 => 0,
            Phase::Setup { reported: false } => self.connect_deadline,
            Phase::Setup { reported: true } => self.control.load(),
            Phase::Running => {
                let all_over = self.over.0 == self.seats.len() && !self.idle_reported;
                let end = self.window.end.min(self.control.end());
                if all_over { 0 } else { self.recorder.second_end().min(end).min(self.next_due()) }
            }
            Phase::Draining { .. } if self.is_drained() => 0,
            Phase::Draining { until } => until.min(self.recorder.second_end()).min(self.next_due()),
            Phase::Over => 0,
        };
        timers.min(phase)
    }

    /// When the next arrival is due that a free client waits for.
    fn next_due(&self) -> Time {
        match &self.pace {
            Pace::Open(open) if !open.free.is_empty() && self.starts(open.peek()) => open.peek(),
            _ => Time::MAX,
        }
    }
}
