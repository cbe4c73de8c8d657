//! The sink's one loop: all connections, and the replies that wait for their time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use polling::{Event, Events, PollMode, Poller};
use stats::Histogram;

use super::delay::Delay;
use super::figures;
use super::speak::{Asked, Conversation, one_row};

const LISTENER: usize = usize::MAX - 1;
const CHUNK: usize = 64 << 10;

/// A client of the sink.
struct Guest {
    stream: UnixStream,
    conversation: Conversation,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Raised when the place is given to another guest.
    generation: u32,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due: u64,
    arrived: u64,
    guest: usize,
    generation: u32,
    reply: Vec<u8>,
}

struct Sink {
    start: Instant,
    delay: Delay,
    poller: Poller,
    guests: Vec<Option<Guest>>,
    free: Vec<usize>,
    generation: u32,
    requests: u64,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// From the reading of a request to the writing of its reply.
    figures: Histogram,
    buffer: Box<[u8]>,
}

/// Answers on a new socket at `path` until the process ends.
///
/// # Errors
/// When the socket cannot be made, or the system cannot wait.
pub(super) fn serve(path: &Path, delay: Delay) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    // The standard library asks for a queue of 128; thousands of clients come at once.
    rustix::net::listen(&listener, 4096)?;
    let poller = Poller::new()?;
    // SAFETY: the listener lives as long as the poller.
    unsafe { poller.add_with_mode(&listener, Event::readable(LISTENER), PollMode::Level)? };
    let mut sink = Sink {
        start: Instant::now(),
        delay,
        poller,
        guests: Vec::new(),
        free: Vec::new(),
        generation: 0,
        requests: 0,
        waiting: BinaryHeap::new(),
        figures: Histogram::new(),
        buffer: vec![0; CHUNK].into_boxed_slice(),
    };
    let mut events = Events::new();
    loop {
        events.clear();
        sink.poller.wait(&mut events, sink.patience())?;
        for event in events.iter() {
            if event.key == LISTENER {
                sink.welcome(&listener)?;
            } else {
                sink.hear(event.key, event.is_interrupt());
            }
        }
        sink.send_due();
    }
}

impl Sink {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn patience(&self) -> Option<Duration> {
        let next = self.waiting.peek()?;
        Some(Duration::from_nanos(next.0.due.saturating_sub(self.now())))
    }

    fn welcome(&mut self, listener: &UnixListener) -> io::Result<()> {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // One that left again: the others go on.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                // Out of files, say: the listener would stay readable, and the loop never rest.
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            let place = self.free.pop().unwrap_or_else(|| {
                self.guests.push(None);
                self.guests.len() - 1
            });
            // SAFETY: the stream is taken from the poller before it is dropped.
            unsafe { self.poller.add_with_mode(&stream, Event::all(place), PollMode::Edge)? };
            self.generation = self.generation.wrapping_add(1);
            self.guests[place] = Some(Guest {
                stream,
                conversation: Conversation::default(),
                input: Vec::new(),
                output: Vec::new(),
                generation: self.generation,
            });
        }
    }

    /// Reads all a guest has to say, and writes what waits for room.
    fn hear(&mut self, place: usize, hung_up: bool) {
        loop {
            let Some(guest) = self.guests.get_mut(place).and_then(Option::as_mut) else { return };
            let count = match guest.stream.read(&mut self.buffer) {
                Ok(count) if count > 0 => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(_) | Err(_) => return self.part(place),
            };
            guest.input.extend_from_slice(&self.buffer[..count]);
            self.answer(place);
            // A short read is the end of it, what comes later brings us back; but nothing comes after a farewell.
            if count < CHUNK && !hung_up {
                break;
            }
        }
        self.flush(place);
    }

    fn answer(&mut self, place: usize) {
        let mut used = 0;
        loop {
            let now = self.now();
            let Some(guest) = self.guests[place].as_mut() else { return };
            match guest.conversation.next(&guest.input, &mut used) {
                None => break,
                Some(Asked::Entry(reply)) => guest.output.extend(reply),
                Some(Asked::Leave) => return self.part(place),
                Some(Asked::Figures) => {
                    guest.output.extend(one_row(figures::write(&self.figures).as_bytes()));
                    self.figures.clear();
                }
                Some(Asked::Reply(reply)) => {
                    self.requests += 1;
                    let due = self.delay.due(self.requests, now);
                    if due > now {
                        let generation = guest.generation;
                        self.waiting.push(Reverse(Waiting {
                            due,
                            arrived: now,
                            guest: place,
                            generation,
                            reply,
                        }));
                    } else {
                        guest.output.extend(reply);
                        self.count(now);
                        self.flush(place);
                    }
                }
            }
        }
        if let Some(guest) = self.guests[place].as_mut() {
            guest.input.drain(..used);
        }
    }

    fn send_due(&mut self) {
        while let Some(next) = self.waiting.peek() {
            if next.0.due > self.now() {
                return;
            }
            let Some(Reverse(next)) = self.waiting.pop() else { return };
            let Some(guest) = self.guests[next.guest].as_mut() else { continue };
            if guest.generation == next.generation {
                guest.output.extend(next.reply);
                self.count(next.arrived);
                self.flush(next.guest);
            }
        }
    }

    /// A reply to what came at `arrived` is about to be written. Not after writing it: the client may have it by then,
    /// and run instead of us.
    fn count(&mut self, arrived: u64) {
        self.figures.record(self.now() - arrived);
    }

    fn flush(&mut self, place: usize) {
        let Some(guest) = self.guests[place].as_mut() else { return };
        let mut sent = 0;
        while sent < guest.output.len() {
            match guest.stream.write(&guest.output[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return self.part(place),
            }
        }
        guest.output.drain(..sent);
    }

    fn part(&mut self, place: usize) {
        if let Some(guest) = self.guests[place].take() {
            let _ = self.poller.delete(&guest.stream);
            self.free.push(place);
        }
    }
}
