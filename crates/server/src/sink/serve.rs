//! The sink's loop: all connections, and the replies that wait for their time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use polling::{Event, Events, PollMode, Poller};
use stats::Histogram;

use super::conversation::{Conversation, SinkRequest, one_row};
use super::delay::Delay;

const LISTENER: usize = usize::MAX - 1;
const CHUNK: usize = 64 << 10;

struct SinkClient {
    stream: UnixStream,
    conversation: Conversation,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Incremented when the place is given to another client.
    generation: u32,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct WaitingAnswer {
    due: u64,
    arrived: u64,
    client: usize,
    generation: u32,
    reply: Vec<u8>,
}

struct Sink {
    start: Instant,
    delay: Delay,
    poller: Poller,
    clients: Vec<Option<SinkClient>>,
    free: Vec<usize>,
    generation: u32,
    requests: u64,
    waiting: BinaryHeap<Reverse<WaitingAnswer>>,
    /// From the reading of a request to the writing of its reply.
    figures: Histogram,
    buffer: Box<[u8]>,
}

/// Serves a new socket at `path` until the process ends.
pub(super) fn serve(path: &Path, delay: Delay) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    listener.set_nonblocking(true)?;
    // The standard library's queue has 128 entries; thousands of clients come at once.
    rustix::net::listen(&listener, 4096)?;
    let poller = Poller::new()?;
    // SAFETY: the listener lives as long as the poller.
    unsafe { poller.add_with_mode(&listener, Event::readable(LISTENER), PollMode::Level)? };
    let mut sink = Sink {
        start: Instant::now(),
        delay,
        poller,
        clients: Vec::new(),
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
        sink.poller.wait(&mut events, sink.timeout())?;
        for event in events.iter() {
            if event.key == LISTENER {
                sink.welcome(&listener)?;
            } else {
                sink.read(event.key, event.is_interrupt());
            }
        }
        sink.send_due();
    }
}

impl Sink {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn timeout(&self) -> Option<Duration> {
        let next = self.waiting.peek()?;
        Some(Duration::from_nanos(next.0.due.saturating_sub(self.now())))
    }

    fn welcome(&mut self, listener: &UnixListener) -> io::Result<()> {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // The client left again; the others continue.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                // For example out of files: the listener would stay readable, and the loop never sleep.
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            let place = self.free.pop().unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() - 1
            });
            // SAFETY: the stream is taken from the poller before it is dropped.
            unsafe { self.poller.add_with_mode(&stream, Event::all(place), PollMode::Edge)? };
            self.generation = self.generation.wrapping_add(1);
            self.clients[place] = Some(SinkClient {
                stream,
                conversation: Conversation::default(),
                input: Vec::new(),
                output: Vec::new(),
                generation: self.generation,
            });
        }
    }

    /// Reads everything a client sent, and writes what waits for room.
    fn read(&mut self, place: usize, hung_up: bool) {
        loop {
            let Some(client) = self.clients.get_mut(place).and_then(Option::as_mut) else { return };
            let count = match client.stream.read(&mut self.buffer) {
                Ok(count) if count > 0 => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(_) | Err(_) => return self.part(place),
            };
            client.input.extend_from_slice(&self.buffer[..count]);
            self.answer(place);
            // A short read is the end of it, and later data wake us again; but nothing follows a close.
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
            let Some(client) = self.clients[place].as_mut() else { return };
            match client.conversation.next(&client.input, &mut used) {
                None => break,
                Some(SinkRequest::Entry(reply)) => client.output.extend(reply),
                Some(SinkRequest::Leave) => return self.part(place),
                Some(SinkRequest::Figures) => {
                    client.output.extend(one_row(self.figures.to_text().as_bytes()));
                    self.figures.clear();
                }
                Some(SinkRequest::Reply(reply)) => {
                    self.requests += 1;
                    let due = self.delay.due(self.requests, now);
                    if due > now {
                        let generation = client.generation;
                        self.waiting.push(Reverse(WaitingAnswer {
                            due,
                            arrived: now,
                            client: place,
                            generation,
                            reply,
                        }));
                    } else {
                        client.output.extend(reply);
                        self.count(now);
                        self.flush(place);
                    }
                }
            }
        }
        if let Some(client) = self.clients[place].as_mut() {
            client.input.drain(..used);
        }
    }

    fn send_due(&mut self) {
        while let Some(next) = self.waiting.peek() {
            if next.0.due > self.now() {
                return;
            }
            let Some(Reverse(next)) = self.waiting.pop() else { return };
            let Some(client) = self.clients[next.client].as_mut() else { continue };
            if client.generation == next.generation {
                client.output.extend(next.reply);
                self.count(next.arrived);
                self.flush(next.client);
            }
        }
    }

    /// A reply to a request of the time `arrived` is about to be written. Not counted after the write: the
    /// client may run instead of us by then.
    fn count(&mut self, arrived: u64) {
        self.figures.record(self.now() - arrived);
    }

    fn flush(&mut self, place: usize) {
        let Some(client) = self.clients[place].as_mut() else { return };
        let mut sent = 0;
        while sent < client.output.len() {
            match client.stream.write(&client.output[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return self.part(place),
            }
        }
        client.output.drain(..sent);
    }

    fn part(&mut self, place: usize) {
        if let Some(client) = self.clients[place].take() {
            let _ = self.poller.delete(&client.stream);
            self.free.push(place);
        }
    }
}
