//! The one loop that drives all clients of a thread, whatever the driver, the load and the workload.
//!
//! A turn sleeps until something happens or is due, then serves everything that happened, each client for a
//! bounded time, and sends what the clients wrote after each event. Serving clients is in [`crate::serve`],
//! links and bytes in [`crate::links`]; here are the turn and the phases of a run.

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
use crate::plan::{Plan, Until};
use crate::recorder::Recorder;
use crate::seat::{LinkState, Seat, State};
use crate::timers::Timers;
use crate::wake::WakeQueue;
use crate::window::Window;

/// Drain time after a stop from outside, ns; less if the plan's is shorter.
const STOP_DRAIN: Time = 500_000_000;
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

/// The part of the run the thread is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Clients connect and prepare; `reported` once all are ready and the start is waited for.
    Setup { reported: bool },
    /// Load, in warm-up or measured.
    Running,
    /// The measured part is over; what is open may end until then.
    Draining { until: Time },
    /// Nothing more to do.
    Over,
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
    connect_deadline: Time,
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
    reports: Sender<Report>,
    /// Clients not ready yet for the first time.
    pub(crate) unsettled: usize,
    /// Clients in a transaction.
    pub(crate) busy: usize,
    /// Of these, how many the caller's thread was told of after the end.
    told_open: usize,
    /// Clients that stopped for good, and when the last one did.
    pub(crate) over: (usize, Time),
    idle_reported: bool,
    pub(crate) failure: Option<EngineError>,
    /// What is left of a client's and of the turn's allowance.
    pub(crate) slots_left: u32,
    pub(crate) skips_left: u32,
    /// Plain text of a TLS read.
    pub(crate) plain: Vec<u8>,
    /// Until when the last wait was to last.
    pub(crate) waited_for: Time,
    cpu_at_start: Option<Cpu>,
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

    /// Whether a transaction due at `due` may be started in the present phase.
    pub(crate) fn starts(&self, due: Time) -> bool {
        let drains = match (&self.pace, self.phase) {
            (Pace::Open(open), Phase::Draining { .. }) => open.drains_queue() && !self.control.stopped(),
            _ => false,
        };
        due < self.window.end && (self.phase == Phase::Running || drains)
    }

    fn change_phase(&mut self, driver: &mut impl Driver) -> Result<(), EngineError> {
        if self.control.cancelled() {
            self.leave(driver);
            return Ok(());
        }
        if let Phase::Setup { reported } = self.phase {
            if self.control.end() != Time::MAX {
                self.leave(driver);
                return Ok(());
            }
            if !reported && self.unsettled == 0 {
                self.phase = Phase::Setup { reported: true };
                let _ = self.reports.send(Report::Ready);
            } else if !reported && self.now >= self.connect_deadline {
                return Err(self.not_ready());
            }
            if self.control.load() <= self.now {
                self.begin_load(self.control.load());
            }
        }
        if self.phase == Phase::Running {
            self.watch_running(driver);
        }
        // Not before an earlier end is known: it cuts the second.
        self.recorder.advance(self.now);
        if let Phase::Draining { until } = self.phase {
            self.tell_open(self.busy);
            let stopped = self.control.stopped() && self.now >= self.window.end.saturating_add(STOP_DRAIN);
            if stopped || self.now >= until || self.is_drained() {
                self.finish(driver);
            }
        }
        Ok(())
    }

    fn not_ready(&self) -> EngineError {
        let waiting = self.seats.iter().find(|seat| !seat.settled);
        let doing: Vec<String> =
            waiting.iter().flat_map(|seat| &self.links[seat.conns()]).map(LinkState::doing).collect();
        EngineError::SetupTimeout {
            client: waiting.map_or(0, |seat| seat.number),
            waited: self.plan.connect_timeout,
            doing: doing.join(", "),
        }
    }

    fn begin_load(&mut self, load: Time) {
        let measured = load.saturating_add(self.plan.warmup);
        let end = match self.plan.until {
            Until::Elapsed(elapsed) => measured.saturating_add(elapsed),
            Until::PerClient(_) => Time::MAX,
        };
        self.window = Window { load, measured, end };
        self.recorder.begin(self.window);
        self.phase = Phase::Running;
        if let Pace::Open(open) = &mut self.pace {
            open.begin(&self.plan, self.place, load);
        }
        for client in 0..self.seats.len() {
            self.resume_later(client);
        }
    }

    fn watch_running(&mut self, driver: &impl Driver) {
        let end = self.control.end();
        if end < self.window.end {
            self.window.end = end;
            self.recorder.set_end(end);
        }
        if self.cpu_at_start.is_none() && self.now >= self.window.measured {
            self.cpu_at_start = Some(driver.cpu());
        }
        if self.over.0 == self.seats.len() && !self.idle_reported {
            self.idle_reported = true;
            let _ = self.reports.send(Report::Idle { at: self.over.1 });
        }
        if self.now >= self.window.end {
            let drain =
                if self.control.stopped() { self.plan.drain.min(STOP_DRAIN) } else { self.plan.drain };
            self.phase = Phase::Draining { until: self.window.end.saturating_add(drain) };
            let cost = &mut self.recorder.figures.cost;
            cost.cpu = self.cpu_at_start.map(|start| driver.cpu().since(start)).unwrap_or_default();
            cost.measured = self.window.end.saturating_sub(self.window.measured);
        }
    }

    fn tell_open(&mut self, open: usize) {
        let before = std::mem::replace(&mut self.told_open, open);
        if before != open {
            self.control.set_open(before, open);
        }
    }

    /// Whether nothing is open any more, and nothing waits that could still be started.
    fn is_drained(&self) -> bool {
        let waiting = match &self.pace {
            Pace::Open(open) => self.starts(open.peek()) && self.over.0 < self.seats.len(),
            _ => false,
        };
        self.busy == 0 && !waiting
    }

    /// Accounts for what is still open, and reports.
    fn finish(&mut self, driver: &mut impl Driver) {
        for seat in self.seats.iter_mut().filter(|seat| seat.state == State::Busy) {
            self.recorder.unfinished(seat.transaction.due, self.now, seat.client.script());
        }
        self.account_for_waiting();
        self.recorder.finish(self.now);
        self.leave(driver);
    }

    /// Arrivals of the measured part that were never started. When each client has a number of transactions to
    /// do, only the arrivals they took were due.
    fn account_for_waiting(&mut self) {
        // Those of a workload's own gaps are drawn by the client that takes them, and may never reach the end.
        if self.plan.gaps.is_some() {
            return;
        }
        let (Pace::Open(open), Until::Elapsed(_)) = (&mut self.pace, self.plan.until) else { return };
        let number = self.seats.first().map_or(0, |seat| seat.number);
        let script = self.seats.first_mut().map_or(0, |seat| seat.client.script());
        while open.peek() < self.window.end {
            let due = open.take();
            if open.skips(due, self.now) {
                self.recorder.skipped(number, due, self.now, script);
            } else {
                self.recorder.unfinished(due, self.now, script);
            }
        }
    }

    fn leave(&mut self, driver: &mut impl Driver) {
        for conn in 0..self.links.len() {
            driver.close(conn);
        }
        self.tell_open(0);
        self.recorder.outbox.flush();
        let figures = Box::new(std::mem::take(&mut self.recorder.figures));
        let _ = self.reports.send(Report::Finished { thread: self.place.0, figures });
        self.phase = Phase::Over;
    }
}
