//! A Redis client: one pipeline at a time, mostly of one command.

use std::ops::RangeInclusive;

use engine::{Client, Endpoint, Event, Failure, Io, Returned, Step, TransactionOutcome};
use protocol::Address;
use protocol::redis::{Replies, Reply, Want};
use script::Random;

use super::keys::{Keys, Values};
use super::options::{RedisCommand, RedisOptions};
use super::scripts::Scripts;
use super::wire::Wire;
use crate::link::{MOST_MESSAGES, address};

const LINK: usize = 0;

#[derive(Debug)]
pub(super) struct RedisClient {
    address: Address,
    number: usize,
    command: RedisCommand,
    /// Of 100 transactions, for `mixed`.
    sets: u64,
    pipeline: u32,
    lengths: RangeInclusive<u64>,
    may_miss: bool,
    scripts: Scripts,
    keys: Keys,
    wire: Wire,
    values: Values,
    random: Random,
    replies: Replies,
    batch: Batch,
    /// The requested keys, in order.
    asked: Vec<u64>,
    reported: u32,
}

/// The pending commands, and the results of the others.
#[derive(Debug, Default)]
struct Batch {
    writes: bool,
    left: u32,
    hits: u32,
    misses: u32,
    written: u32,
    failed: u32,
    /// The first failure in words, if it is to be reported.
    problem: Option<String>,
}

impl RedisClient {
    pub(super) fn new(
        redis: &Address,
        number: usize,
        options: &RedisOptions,
        values: Values,
        random: Random,
    ) -> Self {
        let keys = Keys::new(options);
        Self {
            address: redis.clone(),
            number,
            command: options.command,
            sets: options.set_pct.into(),
            pipeline: options.pipeline,
            lengths: options.value_bytes.range(),
            may_miss: options.may_miss(),
            scripts: Scripts::of(options),
            wire: Wire::new(options, &keys),
            keys,
            values,
            random,
            replies: Replies::new(),
            batch: Batch::default(),
            asked: Vec::with_capacity(options.pipeline as usize),
            reported: 0,
        }
    }

    /// All commands of a pipeline are of one kind, so that each kind has separate times.
    fn begin(&mut self, io: &mut Io<'_>) -> Step {
        let writes = match self.command {
            RedisCommand::Set => true,
            RedisCommand::Get => false,
            RedisCommand::Mixed => self.random.up_to(99) < self.sets,
        };
        self.batch = Batch { writes, left: self.pipeline, ..Batch::default() };
        self.asked.clear();
        let out = io.out(LINK);
        for _ in 0..self.pipeline {
            let key = self.keys.draw(&mut self.random);
            self.asked.push(key);
            if writes {
                self.wire.set(out, key, self.values.draw(&mut self.random));
            } else {
                self.wire.append_get(out, key);
            }
        }
        Step::Wait
    }

    fn bytes(&mut self, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        loop {
            match self.replies.next(data, used) {
                Ok(None) => return Step::Wait,
                Ok(Some(reply)) if self.batch.left > 0 => {
                    self.reply(&reply);
                    if self.batch.left == 0 {
                        return self.end(io);
                    }
                }
                Ok(Some(_)) => return self.give_up("Redis sent a reply that nothing asked for", io),
                Err(broken) => return self.give_up(&broken.to_string(), io),
            }
        }
    }

    /// Counts the result of a command.
    #[inline]
    fn reply(&mut self, reply: &Reply<'_>) {
        let at = self.pipeline - self.batch.left;
        self.batch.left -= 1;
        match (self.batch.writes, reply) {
            (true, Reply::Status(_)) => self.batch.written += 1,
            (false, Reply::Skipped(skipped)) if self.lengths.contains(&skipped.bytes) => {
                self.batch.hits += 1;
            }
            (false, Reply::Nil) if self.may_miss => self.batch.misses += 1,
            _ => {
                self.batch.failed += 1;
                if self.reported < MOST_MESSAGES && self.batch.problem.is_none() {
                    self.batch.problem = Some(self.problem(reply, self.asked[at as usize]));
                }
            }
        }
    }

    fn problem(&self, reply: &Reply<'_>, key: u64) -> String {
        let name = if self.batch.writes { "SET" } else { "GET" };
        match reply {
            Reply::Skipped(skipped) if !self.batch.writes => {
                let (least, greatest) = (self.lengths.start(), self.lengths.end());
                let wanted = match least == greatest {
                    true => least.to_string(),
                    false => format!("{least} to {greatest}"),
                };
                format!("GET gave {} bytes instead of {wanted}", skipped.bytes)
            }
            Reply::Nil if !self.batch.writes => format!("GET found no {}", self.keys.name(key)),
            Reply::Error(text) => format!("{name}: {}", String::from_utf8_lossy(text)),
            _ => format!("{name} gave a reply of another kind"),
        }
    }

    fn end(&mut self, io: &mut Io<'_>) -> Step {
        let (_, bytes) = self.replies.take_counts();
        if let Some(problem) = self.batch.problem.take() {
            self.reported += 1;
            io.message(format!("client {}: {problem}", self.number));
        }
        let Batch { writes, hits, written, failed, .. } = self.batch;
        let (queries, changes) = if writes { (0, self.pipeline) } else { (self.pipeline, 0) };
        let (rows, affected) = (hits.into(), written.into());
        let returned = Returned { rows, bytes, affected, queries, changes, ..Returned::default() };
        let failure = (failed > 0).then_some(Failure::Other);
        Step::Ended(TransactionOutcome { script: self.current(), failure, tries: 1, returned })
    }

    /// What the current commands, or the last ones, count as.
    fn current(&self) -> u16 {
        match (self.batch.writes || self.command == RedisCommand::Set, self.batch.misses) {
            (true, _) => self.scripts.set,
            (false, 0) => self.scripts.get,
            (false, _) => self.scripts.miss,
        }
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

    fn script(&mut self) -> u16 {
        self.current()
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
