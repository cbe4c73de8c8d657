//! The driver for every Unix: non-blocking sockets behind a poller (epoll or kqueue).
//!
//! Sends are written at once. A socket is watched for writing only while it connects or has bytes left,
//! since an edge-triggered poller would otherwise report an edge each time the peer reads.

pub(super) mod connect;
#[cfg_attr(any(target_os = "linux", target_os = "android"), path = "epoll.rs")]
#[cfg_attr(not(any(target_os = "linux", target_os = "android")), path = "kqueue.rs")]
mod poller;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};

use self::connect::start_connect;
use self::poller::Poller;
use super::{Clock, Conn, Cpu, Driver, Epoch, Happened};
use crate::client::{Endpoint, Time};
use crate::wake::Notify;

const READ_SIZE: usize = 64 * 1024;
/// Reads from one connection before others are read.
const READS_PER_TURN: u8 = 16;
/// First and longest pause before another attempt to connect to a listener with a full queue, ns; it doubles.
const BACKLOG_PAUSE: (Time, Time) = (1_000_000, 32_000_000);

/// A closed peer must not raise a signal.
#[cfg(not(target_vendor = "apple"))]
const SEND_FLAGS: SendFlags = SendFlags::NOSIGNAL;
/// Here an option of the socket (`SO_NOSIGPIPE`) suppresses the signal.
#[cfg(target_vendor = "apple")]
const SEND_FLAGS: SendFlags = SendFlags::empty();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    Read,
    ReadWrite,
}

/// How long a poller may sleep, in ns of the system's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollWait {
    Not,
    Until(u64),
    Forever,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Ready {
    pub(super) token: u64,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// The peer closed or broke its end: no further edge comes, so read to the end.
    pub(super) hangup: bool,
    /// Reads done for it in this turn.
    pub(super) reads: u8,
}

#[derive(Default)]
struct PortableSocket {
    fd: Option<OwnedFd>,
    connecting: bool,
    /// Incremented with each connection, so that events of an earlier one can be dropped.
    generation: u32,
    /// Bytes not yet taken by the system start at `sent`.
    sending: Vec<u8>,
    sent: usize,
    blocked: bool,
    /// A write error; reported after everything the peer sent before is read.
    broken: Option<io::Error>,
}

struct Retry {
    at: Time,
    pause: Time,
    conn: Conn,
    generation: u32,
    to: Endpoint,
}

pub(crate) struct Portable {
    poller: Poller,
    epoch: Epoch,
    sockets: Vec<PortableSocket>,
    ready: VecDeque<Ready>,
    /// Connections with more to read in the next turn.
    carried: Vec<Ready>,
    /// Outcomes known without waiting.
    outcomes: VecDeque<(Conn, u32, Result<(), io::Error>)>,
    retries: Vec<Retry>,
    buffer: Box<[u8]>,
    /// Longest spin before a sleep, and the total time spent spinning, ns.
    spin: Time,
    spun: Time,
}

impl Portable {
    /// A driver for the calling thread with `connections` closed connections.
    ///
    /// # Errors
    /// When the system refuses a poller.
    pub(crate) fn new(connections: usize, spin: Time, epoch: Epoch) -> io::Result<Self> {
        Ok(Self {
            poller: Poller::new()?,
            epoch,
            sockets: std::iter::repeat_with(PortableSocket::default).take(connections).collect(),
            ready: VecDeque::with_capacity(connections + 16),
            carried: Vec::with_capacity(connections),
            outcomes: VecDeque::new(),
            retries: Vec::new(),
            buffer: vec![0; READ_SIZE].into_boxed_slice(),
            spin,
            spun: 0,
        })
    }

    fn open(&mut self, conn: Conn, to: &Endpoint, pause: Time) {
        let socket = &mut self.sockets[conn];
        socket.connecting = true;
        let generation = socket.generation;
        match start_connect(to) {
            Ok((fd, done)) => {
                let interest = if done { Interest::Read } else { Interest::ReadWrite };
                if let Err(error) = self.poller.add(fd.as_fd(), token(conn, generation), interest) {
                    self.outcomes.push_back((conn, generation, Err(error)));
                    return;
                }
                socket.fd = Some(fd);
                if done {
                    self.outcomes.push_back((conn, generation, Ok(())));
                }
            }
            // The queue of a Unix-domain listener is full.
            Err(Errno::AGAIN) => {
                let at = self.epoch.now() + pause;
                self.retries.push(Retry { at, pause, conn, generation, to: to.clone() });
            }
            Err(error) => self.outcomes.push_back((conn, generation, Err(error.into()))),
        }
    }

    fn retry_connects(&mut self) {
        let now = self.epoch.now();
        let mut index = 0;
        while index < self.retries.len() {
            if self.retries[index].at > now {
                index += 1;
                continue;
            }
            let retry = self.retries.swap_remove(index);
            if self.sockets[retry.conn].generation == retry.generation {
                self.open(retry.conn, &retry.to, (retry.pause * 2).min(BACKLOG_PAUSE.1));
            }
        }
    }

    /// Writes what is left, and watches for room if some remains.
    fn write(&mut self, conn: Conn) {
        let socket = &mut self.sockets[conn];
        let Some(fd) = &socket.fd else { return };
        while socket.sent < socket.sending.len() {
            match net::send(fd, &socket.sending[socket.sent..], SEND_FLAGS) {
                Ok(count) => socket.sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => {
                    socket.broken = Some(error.into());
                    socket.sent = socket.sending.len();
                    let token = token(conn, socket.generation);
                    self.carried.push(Ready {
                        token,
                        readable: true,
                        writable: false,
                        hangup: true,
                        reads: 0,
                    });
                }
            }
        }
        let blocked = socket.sent < socket.sending.len();
        if !blocked {
            socket.sending.clear();
            socket.sent = 0;
        }
        if blocked != socket.blocked {
            socket.blocked = blocked;
            let interest = if blocked { Interest::ReadWrite } else { Interest::Read };
            if let Err(error) = self.poller.modify(fd.as_fd(), token(conn, socket.generation), interest) {
                self.outcomes.push_back((conn, socket.generation, Err(error)));
            }
        }
    }

    /// Polls without sleeping until something happens or `until`; true if either is so.
    fn look(&mut self, now: Time, until: Time) -> io::Result<bool> {
        let end = until.min(now.saturating_add(self.spin));
        loop {
            let woken = self.poller.wait(PollWait::Not, |ready| self.ready.push_back(ready))?;
            let time = self.epoch.now();
            if woken || time >= end {
                self.spun += time - now;
                return Ok(woken || time >= until);
            }
        }
    }

    /// Takes the next event; its bytes stay in the buffer.
    fn advance(&mut self) -> Option<(Conn, SocketEvent)> {
        while let Some((conn, generation, outcome)) = self.outcomes.pop_front() {
            if self.sockets[conn].generation == generation {
                return Some((conn, self.settle(conn, outcome)));
            }
        }
        while let Some(ready) = self.ready.front().copied() {
            let conn = (ready.token & u64::from(u32::MAX)) as usize;
            let current = self.sockets[conn].generation == (ready.token >> 32) as u32;
            match if current { self.serve(conn, ready) } else { Served::Drained } {
                Served::Drained => drop(self.ready.pop_front()),
                Served::Found(found) => return Some((conn, found)),
                Served::Again => {}
            }
        }
        None
    }

    /// Serves the connection at the front of the ready list, one step.
    fn serve(&mut self, conn: Conn, ready: Ready) -> Served {
        let socket = &self.sockets[conn];
        if socket.connecting {
            let Some(fd) = socket.fd.as_ref().filter(|_| ready.writable || ready.hangup) else {
                return Served::Drained;
            };
            let outcome = match net::sockopt::socket_error(fd) {
                Ok(outcome) => outcome.map_err(io::Error::from),
                Err(error) => Err(error.into()),
            };
            self.front().writable = false;
            return Served::Found(self.settle(conn, outcome));
        }
        if ready.writable {
            self.front().writable = false;
            self.write(conn);
            return Served::Again;
        }
        if !ready.readable && !ready.hangup {
            return Served::Drained;
        }
        if ready.reads == READS_PER_TURN {
            self.carried.push(Ready { reads: 0, ..ready });
            return Served::Drained;
        }
        self.read(conn, ready.hangup)
    }

    fn read(&mut self, conn: Conn, to_the_end: bool) -> Served {
        let socket = &mut self.sockets[conn];
        let Some(fd) = &socket.fd else { return Served::Drained };
        match net::recv(fd, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((0, _)) => {
                let broken = socket.broken.take();
                self.close(conn);
                Served::Found(SocketEvent::Closed(broken))
            }
            Ok((count, _)) => {
                let front = self.front();
                front.reads += 1;
                // A short read emptied the socket, unless its end is still to be read.
                front.readable = to_the_end || count == READ_SIZE;
                Served::Found(SocketEvent::Bytes(count))
            }
            Err(Errno::INTR) => Served::Again,
            Err(Errno::AGAIN) if socket.broken.is_none() => Served::Drained,
            Err(error) => {
                let error = socket.broken.take().unwrap_or_else(|| error.into());
                self.close(conn);
                Served::Found(SocketEvent::Closed(Some(error)))
            }
        }
    }

    fn settle(&mut self, conn: Conn, outcome: Result<(), io::Error>) -> SocketEvent {
        let socket = &mut self.sockets[conn];
        let watched = outcome.and_then(|()| match &socket.fd {
            Some(fd) => self.poller.modify(fd.as_fd(), token(conn, socket.generation), Interest::Read),
            None => Ok(()),
        });
        match watched {
            Ok(()) => {
                socket.connecting = false;
                SocketEvent::Opened
            }
            Err(error) => {
                self.close(conn);
                SocketEvent::Closed(Some(error))
            }
        }
    }

    fn front(&mut self) -> &mut Ready {
        self.ready.front_mut().expect("a connection is served from the front of the list")
    }
}

enum Served {
    Found(SocketEvent),
    Again,
    Drained,
}

enum SocketEvent {
    Opened,
    Bytes(usize),
    Closed(Option<io::Error>),
}

impl Driver for Portable {
    type Clock = Epoch;

    fn name(&self) -> &'static str {
        poller::NAME
    }

    fn clock(&self) -> Epoch {
        self.epoch
    }

    fn notifier(&self) -> Arc<dyn Notify> {
        self.poller.notifier()
    }

    fn cpu(&self) -> Cpu {
        Cpu::of_this_thread()
    }

    fn connect(&mut self, conn: Conn, to: &Endpoint) {
        self.close(conn);
        self.open(conn, to, BACKLOG_PAUSE.0);
    }

    #[inline]
    fn send(&mut self, conn: Conn, out: &mut Vec<u8>) {
        let socket = &mut self.sockets[conn];
        if socket.fd.is_none() || socket.broken.is_some() {
            out.clear();
        } else if socket.sending.is_empty() {
            std::mem::swap(&mut socket.sending, out);
            self.write(conn);
            let socket = &mut self.sockets[conn];
            if socket.sending.is_empty() {
                // The same memory for all connections stays in the processor's caches.
                std::mem::swap(&mut socket.sending, out);
            }
        } else {
            // The system still sends the last bytes and reports when there is room.
            socket.sending.append(out);
        }
    }

    fn close(&mut self, conn: Conn) {
        let socket = &mut self.sockets[conn];
        let mut sending = std::mem::take(&mut socket.sending);
        sending.clear();
        *socket = PortableSocket {
            generation: socket.generation.wrapping_add(1),
            sending,
            ..PortableSocket::default()
        };
    }

    fn spun(&self) -> Time {
        self.spun
    }

    fn wait(&mut self, now: Time, until: Time) -> io::Result<()> {
        self.ready.extend(self.carried.drain(..));
        let until = self.retries.iter().map(|retry| retry.at).fold(until, Time::min);
        let wait = if !self.ready.is_empty() || !self.outcomes.is_empty() || until == 0 {
            PollWait::Not
        } else if until == Time::MAX {
            PollWait::Forever
        } else {
            PollWait::Until(self.epoch.monotonic(until))
        };
        if wait == PollWait::Not || self.spin == 0 || !self.look(now, until)? {
            self.poller.wait(wait, |ready| self.ready.push_back(ready))?;
        }
        if !self.retries.is_empty() {
            self.retry_connects();
        }
        Ok(())
    }

    fn next(&mut self) -> Option<(Conn, Happened<'_>)> {
        let (conn, found) = self.advance()?;
        let happened = match found {
            SocketEvent::Opened => Happened::Opened,
            SocketEvent::Bytes(count) => Happened::Bytes(&self.buffer[..count]),
            SocketEvent::Closed(error) => Happened::Closed(error),
        };
        Some((conn, happened))
    }
}

fn token(conn: Conn, generation: u32) -> u64 {
    (u64::from(generation) << 32) | conn as u64
}
