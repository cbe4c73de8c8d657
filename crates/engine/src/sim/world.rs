//! The simulated network: connections, the data on its way, and the time.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::server::{Greeting, Replies, ServerAction, SimServer};
use crate::client::{Address, Endpoint, Time};
use crate::driver::{Clock, Conn, Cpu, Driver, Happened};
use crate::wake::Notify;

pub(super) struct World<'s> {
    server: &'s mut dyn SimServer,
    clock: SimClock,
    connections: Vec<SimConnection>,
    /// Per thread, earliest first.
    queues: Vec<BinaryHeap<Reverse<PendingAction>>>,
    items: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct SimClock(Rc<Cell<Time>>);

impl SimClock {
    pub(super) fn set(&self, now: Time) {
        self.0.set(now);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Time {
        self.0.get()
    }
}

struct SimConnection {
    thread: usize,
    conn: Conn,
    open: bool,
    /// Nothing arrives before what was sent earlier.
    last_arrival: Time,
}

/// Something that will happen to a connection; ordered by time, then by the order it was caused.
struct PendingAction {
    at: Time,
    number: u64,
    connection: usize,
    what: SimulatedStep,
}

enum SimulatedStep {
    Opened,
    Refused(io::ErrorKind),
    Action(ServerAction),
}

impl PartialEq for PendingAction {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for PendingAction {}

impl PartialOrd for PendingAction {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PendingAction {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<'s> World<'s> {
    pub(super) fn new(server: &'s mut dyn SimServer, clock: SimClock, threads: usize) -> Self {
        let queues = std::iter::repeat_with(BinaryHeap::new).take(threads).collect();
        Self { server, clock, connections: Vec::new(), queues, items: 0 }
    }

    pub(super) fn generator_runs_at(&mut self, at: Time) -> Time {
        self.server.generator_runs_at(at)
    }

    pub(super) fn next_at(&self, thread: usize) -> Option<Time> {
        self.queues[thread].peek().map(|Reverse(item)| item.at)
    }

    fn connect(&mut self, thread: usize, conn: Conn, address: &Address) -> usize {
        let number = self.connections.len();
        let now = self.clock.now();
        self.connections.push(SimConnection { thread, conn, open: true, last_arrival: 0 });
        match self.server.connect(number, address, now) {
            Greeting::Accept(after) => self.push(number, now + after, SimulatedStep::Opened),
            Greeting::Refuse(kind, after) => self.push(number, now + after, SimulatedStep::Refused(kind)),
            Greeting::Ignore => {}
        }
        number
    }

    fn send(&mut self, connection: usize, bytes: &[u8]) {
        if self.connections[connection].open {
            self.ask(connection, |server, replies| server.received(connection, bytes, replies));
        }
    }

    fn close(&mut self, connection: usize) {
        if std::mem::replace(&mut self.connections[connection].open, false) {
            self.server.closed(connection, self.clock.now());
        }
    }

    /// Takes the next event of a connection of `thread` that has happened by now.
    fn take(&mut self, thread: usize) -> Option<(Conn, SimulatedStep)> {
        let now = self.clock.now();
        loop {
            if self.next_at(thread)? > now {
                return None;
            }
            let Reverse(item) = self.queues[thread].pop()?;
            let connection = &mut self.connections[item.connection];
            if !connection.open {
                continue;
            }
            let conn = connection.conn;
            match item.what {
                SimulatedStep::Opened => {
                    self.ask(item.connection, |server, replies| server.opened(item.connection, replies))
                }
                SimulatedStep::Refused(_) | SimulatedStep::Action(ServerAction::Close(_)) => {
                    connection.open = false
                }
                SimulatedStep::Action(ServerAction::Bytes(_)) => {}
            }
            return Some((conn, item.what));
        }
    }

    fn ask(&mut self, connection: usize, question: impl FnOnce(&mut dyn SimServer, &mut Replies)) {
        let mut replies = Replies { now: self.clock.now(), ..Replies::default() };
        question(self.server, &mut replies);
        for (at, action) in replies.actions {
            self.push(connection, at, SimulatedStep::Action(action));
        }
    }

    fn push(&mut self, connection: usize, at: Time, what: SimulatedStep) {
        let SimConnection { thread, last_arrival, .. } = &mut self.connections[connection];
        *last_arrival = at.max(*last_arrival);
        let item = PendingAction { at: *last_arrival, number: self.items, connection, what };
        self.items += 1;
        self.queues[*thread].push(Reverse(item));
    }
}

pub(super) struct SimDriver<'w, 's> {
    world: &'w RefCell<World<'s>>,
    clock: SimClock,
    thread: usize,
    connections: Vec<Option<usize>>,
    lent: Vec<u8>,
    bell: Arc<Bell>,
}

impl<'w, 's> SimDriver<'w, 's> {
    pub(super) fn new(
        world: &'w RefCell<World<'s>>,
        thread: usize,
        connections: usize,
        bell: Arc<Bell>,
    ) -> Self {
        let clock = world.borrow().clock.clone();
        Self { world, clock, thread, connections: vec![None; connections], lent: Vec::new(), bell }
    }
}

/// Set when a thread must take a turn although nothing happened to it.
#[derive(Debug, Default)]
pub(super) struct Bell(AtomicBool);

impl Bell {
    pub(super) fn has_rung(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Notify for Bell {
    fn notify(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Driver for SimDriver<'_, '_> {
    type Clock = SimClock;

    fn name(&self) -> &'static str {
        "simulated"
    }

    fn clock(&self) -> SimClock {
        self.clock.clone()
    }

    fn notifier(&self) -> Arc<dyn Notify> {
        Arc::clone(&self.bell) as Arc<dyn Notify>
    }

    fn cpu(&self) -> Cpu {
        Cpu::default()
    }

    fn connect(&mut self, conn: Conn, to: &Endpoint) {
        self.close(conn);
        self.connections[conn] = Some(self.world.borrow_mut().connect(self.thread, conn, &to.address));
    }

    fn send(&mut self, conn: Conn, out: &mut Vec<u8>) {
        if let Some(connection) = self.connections[conn] {
            self.world.borrow_mut().send(connection, out);
        }
        out.clear();
    }

    fn close(&mut self, conn: Conn) {
        if let Some(connection) = self.connections[conn].take() {
            self.world.borrow_mut().close(connection);
        }
    }

    fn spun(&self) -> Time {
        0
    }

    fn wait(&mut self, _now: Time, _until: Time) -> io::Result<()> {
        self.bell.0.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn next(&mut self) -> Option<(Conn, Happened<'_>)> {
        let (conn, what) = self.world.borrow_mut().take(self.thread)?;
        let happened = match what {
            SimulatedStep::Opened => Happened::Opened,
            SimulatedStep::Action(ServerAction::Bytes(bytes)) => {
                self.lent = bytes;
                Happened::Bytes(&self.lent)
            }
            SimulatedStep::Action(ServerAction::Close(kind)) => Happened::Closed(kind.map(io::Error::from)),
            SimulatedStep::Refused(kind) => Happened::Closed(Some(kind.into())),
        };
        Some((conn, happened))
    }
}
