//! Simulated servers.

use std::io::ErrorKind;

use engine::sim::{Greeting, Replies, SimServer};
use engine::{Address, Time};

use super::{body, frame};

/// Answers every request after a while; can stall, refuse, cut its bytes and its connections.
#[derive(Debug, Clone)]
pub struct Simple {
    pub delay: Time,
    pub reply: Vec<u8>,
    pub chunk: Option<usize>,
    /// Nothing is answered from .0 to .1.
    pub stall: Option<(Time, Time)>,
    /// Closes a connection instead of answering every n-th request.
    pub loses_every: Option<u64>,
    /// Fails every n-th request.
    pub fails_every: Option<u64>,
    /// Refuses this many connection attempts at first.
    pub refuses: usize,
    /// Leaves connection attempts and greetings unanswered from this connection on.
    pub ignores_from: Option<usize>,
    pub requests: Vec<Time>,
    pub connections: usize,
    pub closed: usize,
    pub input: Vec<Vec<u8>>,
}

impl Simple {
    pub fn new(delay: Time) -> Self {
        Self {
            delay,
            reply: b"reply".to_vec(),
            chunk: None,
            stall: None,
            loses_every: None,
            fails_every: None,
            refuses: 0,
            ignores_from: None,
            requests: Vec::new(),
            connections: 0,
            closed: 0,
            input: Vec::new(),
        }
    }

    fn answer(&mut self, replies: &mut Replies) {
        self.requests.push(replies.now());
        let number = self.requests.len() as u64;
        let mut after = self.delay;
        if let Some((from, to)) = self.stall
            && (from..to).contains(&replies.now())
        {
            after += to - replies.now();
        }
        let every = |n: Option<u64>| n.is_some_and(|n| number.is_multiple_of(n));
        if every(self.loses_every) {
            replies.reset(after);
        } else if every(self.fails_every) {
            replies.send(after, &frame(b"fail"));
        } else {
            replies.send(after, &frame(&self.reply));
        }
    }
}

impl SimServer for Simple {
    fn connect(&mut self, connection: usize, _address: &Address, _now: Time) -> Greeting {
        self.connections += 1;
        self.input.push(Vec::new());
        if connection < self.refuses {
            Greeting::Refuse(ErrorKind::ConnectionRefused, 1000)
        } else if self.ignores_from.is_some_and(|from| connection >= from) {
            Greeting::Ignore
        } else {
            Greeting::Accept(1000)
        }
    }

    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies) {
        if let Some(size) = self.chunk {
            replies.chunk(size);
        }
        self.input[connection].extend_from_slice(bytes);
        while let Some(request) = body(&self.input[connection]).map(<[u8]>::to_vec) {
            self.input[connection].drain(..4 + request.len());
            if request == b"hello" {
                replies.send(1000, &frame(b"hello"));
            } else {
                self.answer(replies);
            }
        }
    }

    fn closed(&mut self, _connection: usize, _now: Time) {
        self.closed += 1;
    }
}
