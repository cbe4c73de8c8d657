//! A Redis client: one command at a time.

use engine::{Client, Endpoint, Event, Failure, Io, Outcome, Returned, Step};
use protocol::Address;
use protocol::redis::{Replies, Reply, Want, command};
use script::Random;

use super::keys::{Keys, Values};
use super::options::Command;
use crate::link::address;

const LINK: usize = 0;
/// Failures told in words; the rest is only counted.
const TOLD: u32 = 3;

/// One Redis client.
#[derive(Debug)]
pub(super) struct RedisClient {
    pub(super) address: Address,
    pub(super) number: usize,
    pub(super) command: Command,
    pub(super) keys: Keys,
    pub(super) values: Values,
    pub(super) value_bytes: u64,
    pub(super) random: Random,
    replies: Replies,
    name: Vec<u8>,
    waiting: bool,
    told: u32,
}

impl RedisClient {
    pub(super) fn new(
        redis: &Address,
        number: usize,
        options: &super::Options,
        values: Values,
        random: Random,
    ) -> Self {
        Self {
            address: redis.clone(),
            number,
            command: options.command,
            keys: Keys::new(options.value_bytes, options.keys),
            values,
            value_bytes: options.value_bytes,
            random,
            replies: Replies::new(),
            name: Vec::with_capacity(48),
            waiting: false,
            told: 0,
        }
    }

    fn begin(&mut self, io: &mut Io<'_>) -> Step {
        self.keys.write(self.keys.draw(&mut self.random), &mut self.name);
        let out = io.out(LINK);
        match self.command {
            Command::Set => {
                let value = self.values.draw(&mut self.random);
                command(out, &[b"SET", self.name.as_slice(), value]);
            }
            Command::Get => command(out, &[b"GET", self.name.as_slice()]),
        }
        self.waiting = true;
        Step::Wait
    }

    fn bytes(&mut self, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        match self.replies.next(data, used) {
            Ok(None) => Step::Wait,
            Ok(Some(reply)) if self.waiting => {
                self.waiting = false;
                let problem = self.problem(&reply);
                self.end(problem, io)
            }
            Ok(Some(_)) => self.give_up("Redis sent a reply that nothing asked for", io),
            Err(broken) => self.give_up(&broken.to_string(), io),
        }
    }

    /// What is wrong with a reply.
    fn problem(&self, reply: &Reply<'_>) -> Option<String> {
        match (self.command, reply) {
            (Command::Set, Reply::Status(_)) => None,
            (Command::Get, Reply::Skipped(skipped)) if skipped.bytes == self.value_bytes => None,
            (Command::Get, Reply::Skipped(skipped)) => {
                Some(format!("GET gave {} bytes instead of {}", skipped.bytes, self.value_bytes))
            }
            (Command::Get, Reply::Nil) => {
                Some(format!("GET found no {}", String::from_utf8_lossy(&self.name)))
            }
            (_, Reply::Error(text)) => {
                Some(format!("{}: {}", self.command.name(), String::from_utf8_lossy(text)))
            }
            _ => Some(format!("{} gave a reply of another kind", self.command.name())),
        }
    }

    fn end(&mut self, problem: Option<String>, io: &mut Io<'_>) -> Step {
        let (rows, bytes) = self.replies.take_counts();
        let failure = problem.map(|problem| {
            if self.told < TOLD {
                self.told += 1;
                io.message(format!("client {}: {problem}", self.number));
            }
            Failure::Other
        });
        let done = failure.is_none();
        let (queries, changes) = match self.command {
            Command::Get => (1, 0),
            Command::Set => (0, 1),
        };
        let rows = if done { rows } else { 0 };
        let affected = if done { u64::from(changes) } else { 0 };
        let returned = Returned { rows, bytes, affected, queries, changes };
        Step::Ended(Outcome { script: 0, failure, tries: 1, returned })
    }

    fn give_up(&mut self, reason: &str, io: &mut Io<'_>) -> Step {
        let place = self.address.in_words(None);
        io.abort(format!("client {} of Redis {place} aborted: {reason}", self.number));
        Step::Done
    }
}

impl Client for RedisClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        vec![Endpoint::plain(address(&self.address))]
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Opened(_) => {
                self.replies = Replies::new();
                self.replies.want(Want::Skip);
                Step::Ready
            }
            Event::Slot { .. } => self.begin(io),
            Event::Bytes { data, used, .. } => self.bytes(data, used, io),
            Event::Closed { error, .. } => {
                let reason = error
                    .map_or_else(|| "the server closed the connection".to_owned(), protocol::wording::system);
                self.give_up(&reason, io)
            }
            Event::Secured { .. } | Event::Timer | Event::Woken => Step::Wait,
        }
    }
}
