//! Linux's io_uring: one ring per thread, one system call per turn of the loop.
//!
//! Receives are multishot into provided buffers. Sends use `MSG_WAITALL`, so that all sends of a turn
//! happen inside one call and wake their servers together. Send and receive are never linked: with large
//! messages both ends could wait for each other forever.

mod buffers;
mod socket;
#[cfg(test)]
mod tests;
mod timer;
mod token;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::event::{EventfdFlags, eventfd};

use self::buffers::Buffers;
use self::socket::UringSocket;
use self::timer::Timer;
use self::token::{OperationKind, parts, token};
use super::epoch::set_timer_slack;
use super::{Clock, Conn, Cpu, Driver, Epoch, Happened};
use crate::client::{Endpoint, Time};
use crate::wake::Notify;

/// How long a dropped driver waits for its last sends.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Longest send that is tried without waiting: its completion, even with "no room", exists when it is
/// submitted.
const SMALL: usize = 4096;

pub(super) const NAME: &str = "io_uring";

#[derive(Clone, Copy)]
struct CompletedOperation {
    token: u64,
    result: i32,
    flags: u32,
}

struct WakeFd(OwnedFd);

impl Notify for WakeFd {
    fn notify(&self) {
        // A counter that is already full wakes as well.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

pub(crate) struct Uring {
    /// Dropped before the memory it uses.
    ring: IoUring,
    buffers: Buffers,
    epoch: Epoch,
    sockets: Vec<UringSocket>,
    closing: HashMap<(Conn, u32), UringSocket>,
    /// Buffers of completed sends; the last one is reused first, since it is in the processor's caches.
    spare: Vec<Vec<u8>>,
    /// Connections whose socket could not be made.
    failed: Vec<(Conn, u32, io::Error)>,
    /// Completions of this turn, and how many of them are served.
    done: Vec<CompletedOperation>,
    served: usize,
    /// The buffer whose bytes are lent.
    lent: Option<u16>,
    /// Small sends ordered since the last wait: their completions need no turn.
    silent: u32,
    /// There is work to do as soon as a send has completed.
    prompt: bool,
    wake: Arc<WakeFd>,
    timer: Timer,
    /// Longest spin before a sleep, and the total time spent spinning, ns.
    spin: Time,
    spun: Time,
}

impl Uring {
    /// A driver for the calling thread with `connections` closed connections; it spins for `spin` ns before
    /// it sleeps.
    ///
    /// # Errors
    /// When the system refuses a ring, or lacks a feature that it needs.
    pub(crate) fn new(connections: usize, spin: Time, epoch: Epoch) -> io::Result<Self> {
        set_timer_slack();
        let entries = (2 * connections).next_power_of_two().clamp(64, 4096) as u32;
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_defer_taskrun().setup_clamp().setup_cqsize(4 * entries);
        if spin > 0 {
            builder.setup_taskrun_flag();
        }
        let ring = builder.build(entries)?;
        if !ring.params().is_feature_nodrop() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let buffers = Buffers::register(connections, &ring.submitter())?;
        let wake = Arc::new(WakeFd(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?));
        let mut this = Self {
            ring,
            buffers,
            epoch,
            sockets: std::iter::repeat_with(UringSocket::default).take(connections).collect(),
            closing: HashMap::new(),
            spare: Vec::new(),
            failed: Vec::new(),
            done: Vec::new(),
            served: 0,
            lent: None,
            silent: 0,
            prompt: false,
            wake,
            timer: Timer::default(),
            spin,
            spun: 0,
        };
        this.watch_wake();
        Ok(this)
    }

    /// Queues an operation; it is submitted with the next wait, or now if the queue is full.
    fn order(&mut self, entry: &squeue::Entry) {
        // SAFETY: the memory an entry points to belongs to a `UringSocket`, which lives, and does not move its
        // buffers, until the operation has completed.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            let _ = self.ring.submit();
        }
    }

    fn watch_wake(&mut self) {
        let poll = opcode::PollAdd::new(types::Fd(self.wake.0.as_raw_fd()), libc::POLLIN as u32).multi(true);
        self.order(&poll.build().user_data(token(OperationKind::Wake, 0, 0)));
    }

    fn receive(&mut self, conn: Conn) {
        if let Some(entry) = self.sockets[conn].receive(conn) {
            self.order(&entry);
        }
    }

    /// Handles a completion; `Some` when the loop needs to know.
    fn serve(&mut self, done: CompletedOperation) -> Option<(Conn, Reported)> {
        let (kind, generation, conn) = parts(done.token);
        if done.token == Timer::TOKEN {
            self.timer.rang();
            return None;
        }
        if done.token == Timer::MOVED {
            return None;
        }
        if kind == OperationKind::Wake {
            let _ = rustix::io::read(&self.wake.0, &mut [0u8; 8]);
            if !cqueue::more(done.flags) {
                self.watch_wake();
            }
            return None;
        }
        if self.sockets[conn].generation != generation {
            self.completed_after_close(conn, generation, kind, done);
            return None;
        }
        let socket = &mut self.sockets[conn];
        if !cqueue::more(done.flags) {
            socket.operations -= 1;
        }
        match kind {
            OperationKind::Connect => self.connected(conn, done.result).map(|event| (conn, event)),
            OperationKind::Send => {
                if let Some(entry) = socket.sent(conn, done.result, &mut self.spare) {
                    self.order(&entry);
                }
                None
            }
            OperationKind::Receive => self.received(conn, done).map(|event| (conn, event)),
            OperationKind::Wake => None,
        }
    }

    fn connected(&mut self, conn: Conn, result: i32) -> Option<Reported> {
        let socket = &mut self.sockets[conn];
        socket.connected();
        if result < 0 {
            self.close(conn);
            return Some(Reported::Closed(Some(io::Error::from_raw_os_error(-result))));
        }
        socket.open = true;
        self.receive(conn);
        Some(Reported::Opened)
    }

    fn received(&mut self, conn: Conn, done: CompletedOperation) -> Option<Reported> {
        let number = cqueue::buffer_select(done.flags);
        match (usize::try_from(done.result), number) {
            (Ok(length), Some(number)) if length > 0 => {
                if !cqueue::more(done.flags) {
                    self.receive(conn);
                }
                self.lent = Some(number);
                Some(Reported::Bytes(number, length))
            }
            (Err(_), _) if [libc::ENOBUFS, libc::EINTR, libc::EAGAIN].contains(&-done.result) => {
                // All buffers hold completions of this turn; serving these returns the buffers.
                self.receive(conn);
                None
            }
            (end, number) => {
                if let Some(number) = number {
                    self.buffers.give_back(number);
                }
                let seen = end.is_err().then(|| io::Error::from_raw_os_error(-done.result));
                let error = self.sockets[conn].broken.take().or(seen);
                self.close(conn);
                Some(Reported::Closed(error))
            }
        }
    }

    /// Handles a completion for a connection that is closed on our side.
    fn completed_after_close(
        &mut self,
        conn: Conn,
        generation: u32,
        kind: OperationKind,
        done: CompletedOperation,
    ) {
        if let Some(number) = cqueue::buffer_select(done.flags) {
            self.buffers.give_back(number);
        }
        let Some(socket) = self.closing.get_mut(&(conn, generation)) else { return };
        if !cqueue::more(done.flags) {
            socket.operations -= 1;
        }
        let order = match kind {
            OperationKind::Send => socket.sent(conn, done.result, &mut self.spare),
            // It connected after it was closed.
            OperationKind::Connect => {
                socket.shut();
                None
            }
            OperationKind::Receive | OperationKind::Wake => None,
        };
        if socket.operations == 0 {
            self.closing.remove(&(conn, generation));
        }
        if let Some(entry) = order {
            self.order(&entry);
        }
    }

    /// Sets the timer that ends the next wait.
    fn ring_by(&mut self, until: Time) {
        if let Some(order) = self.timer.ring_by(until, self.epoch) {
            self.order(&order);
        }
    }

    /// Submits queued operations and collects completions until the timer fires; without `sleep`, only those
    /// already available.
    fn enter(&mut self, sleep: bool) -> io::Result<()> {
        let silent = if self.prompt { 0 } else { self.silent };
        let outcome = if sleep {
            self.ring.submit_and_wait(1 + silent as usize)
        } else {
            let orders = self.ring.submission().len() as u32;
            // Completions are only made inside such a call.
            let flags = 1; // IORING_ENTER_GETEVENTS
            // SAFETY: no argument is passed.
            unsafe { self.ring.submitter().enter::<libc::sigset_t>(orders, 0, flags, None) }
        };
        match outcome {
            Ok(_) => {}
            // A signal came, or completions must be taken first.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY)) => {}
            Err(error) => return Err(error),
        }
        self.take_completions();
        Ok(())
    }

    fn forget_served(&mut self) {
        self.done.clear();
        self.served = 0;
    }

    fn take_completions(&mut self) {
        let taken = self.ring.completion().map(|entry| CompletedOperation {
            token: entry.user_data(),
            result: entry.result(),
            flags: entry.flags(),
        });
        self.done.extend(taken);
    }

    /// Submits queued operations, then polls without sleeping until something happens or `until`; true if
    /// either is so.
    fn look(&mut self, until: Time) -> io::Result<bool> {
        self.enter(false)?;
        let start = self.epoch.now();
        let end = until.min(start.saturating_add(self.spin));
        while !self.has_news() {
            let time = self.epoch.now();
            if time >= end {
                self.spun += time - start;
                self.silent = self.silent.saturating_sub(self.done.len() as u32);
                return Ok(time >= until);
            }
            // The system flags work to be done in a call; nothing wakes the thread for it.
            if self.ring.submission().taskrun() {
                self.enter(false)?;
            } else {
                std::hint::spin_loop();
            }
        }
        self.spun += self.epoch.now() - start;
        Ok(true)
    }

    /// Whether a completion needs a turn.
    fn has_news(&self) -> bool {
        let is_send = |done: &CompletedOperation| parts(done.token).0 == OperationKind::Send;
        (self.prompt && !self.done.is_empty())
            || self.done.len() > self.silent as usize
            || !self.done.iter().all(is_send)
    }
}

enum Reported {
    Opened,
    Bytes(u16, usize),
    Closed(Option<io::Error>),
}

impl Driver for Uring {
    type Clock = Epoch;

    fn name(&self) -> &'static str {
        NAME
    }

    fn clock(&self) -> Epoch {
        self.epoch
    }

    fn notifier(&self) -> Arc<dyn Notify> {
        Arc::clone(&self.wake) as Arc<dyn Notify>
    }

    fn cpu(&self) -> Cpu {
        Cpu::of_this_thread()
    }

    fn connect(&mut self, conn: Conn, to: &Endpoint) {
        self.close(conn);
        let socket = &mut self.sockets[conn];
        match socket.connect(conn, to) {
            Ok(entry) => self.order(&entry),
            Err(error) => self.failed.push((conn, socket.generation, error)),
        }
    }

    #[inline]
    fn send(&mut self, conn: Conn, out: &mut Vec<u8>) {
        let length = out.len();
        match self.sockets[conn].send(conn, out, &mut self.spare) {
            Some(entry) => {
                self.order(&entry);
                self.silent += u32::from(length <= SMALL);
            }
            None => self.prompt = true,
        }
    }

    fn close(&mut self, conn: Conn) {
        self.prompt = true;
        let generation = self.sockets[conn].generation;
        let fresh = UringSocket::new(token::next(generation));
        let mut old = std::mem::replace(&mut self.sockets[conn], fresh);
        old.open = false;
        old.leave();
        if old.operations > 0 {
            self.closing.insert((conn, generation), old);
        }
    }

    fn spun(&self) -> Time {
        self.spun
    }

    fn wait(&mut self, now: Time, until: Time) -> io::Result<()> {
        self.forget_served();
        let sleep = until > now && self.failed.is_empty();
        if sleep && until < Time::MAX {
            self.ring_by(until);
        }
        if !sleep || self.spin == 0 || !self.look(until)? {
            self.enter(sleep)?;
        }
        (self.silent, self.prompt) = (0, false);
        Ok(())
    }

    fn next(&mut self) -> Option<(Conn, Happened<'_>)> {
        if let Some(number) = self.lent.take() {
            self.buffers.give_back(number);
        }
        while let Some((conn, generation, error)) = self.failed.pop() {
            if self.sockets[conn].generation == generation {
                self.close(conn);
                return Some((conn, Happened::Closed(Some(error))));
            }
        }
        while let Some(done) = self.done.get(self.served).copied() {
            self.served += 1;
            if let Some((conn, event)) = self.serve(done) {
                let happened = match event {
                    Reported::Opened => Happened::Opened,
                    Reported::Bytes(number, length) => Happened::Bytes(self.buffers.received(number, length)),
                    Reported::Closed(error) => Happened::Closed(error),
                };
                return Some((conn, happened));
            }
        }
        None
    }
}

impl Drop for Uring {
    /// Sends pending output, and waits briefly until the system no longer uses our memory.
    fn drop(&mut self) {
        for conn in 0..self.sockets.len() {
            self.close(conn);
        }
        let end = self.epoch.now() + CLOSE_TIMEOUT.as_nanos() as Time;
        while !self.closing.is_empty() {
            while self.next().is_some() {}
            self.forget_served();
            if self.closing.is_empty() || self.epoch.now() >= end {
                break;
            }
            self.ring_by(end);
            if self.enter(true).is_err() {
                break;
            }
        }
        // The system keeps what a peer does not read until the ring is gone, some time after this.
        if !self.closing.is_empty() {
            self.buffers.forget();
        }
        for (_, socket) in self.closing.drain() {
            socket.forget();
        }
    }
}
