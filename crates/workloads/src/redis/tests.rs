//! Clients against a simulated Redis.

use spec::figures;
use std::cell::RefCell;
use std::collections::BTreeMap;

use engine::sim::{Replies, SimServer, simulate};
use engine::{DriverChoice, EngineResult, Load, RunPlan, StopFlag, Until};

use protocol::Address;
use protocol::redis::{ControlError, Info, Limits, RedisAnswer, RedisConnection};

use crate::place::{Places, RedisServer, Site};
use crate::redis::{Distribution, Redis, RedisCommand, RedisOptions, ValueSizes};
use crate::workload::{ClientWorkload, Clients, Workload};

/// Gives each command the next of these replies.
struct InTurn {
    replies: Vec<String>,
    given: usize,
    piece: usize,
    received: Vec<u8>,
}

impl SimServer for InTurn {
    fn received(&mut self, _connection: usize, bytes: &[u8], replies: &mut Replies) {
        self.received.extend_from_slice(bytes);
        // Each command begins with the number of its words.
        let commands = bytes.windows(3).filter(|word| matches!(*word, b"*2\r" | b"*3\r" | b"*5\r")).count();
        let mut sent = Vec::new();
        for _ in 0..commands {
            sent.extend_from_slice(self.replies[self.given % self.replies.len()].as_bytes());
            self.given += 1;
        }
        replies.chunk(self.piece);
        replies.send(1000, &sent);
    }
}

fn small(command: RedisCommand) -> RedisOptions {
    RedisOptions { value_bytes: ValueSizes::all(5), keys: 3, ..RedisOptions::new(command) }
}

/// Four transactions of one client.
fn run(options: &RedisOptions, replies: &[&str], piece: usize) -> (EngineResult, Vec<u8>) {
    let workload = Redis::open(options).unwrap();
    let places = Places::from(Address::Unix("/simulated/redis.sock".into()));
    let wanted = Clients { count: 1, threads: 1, seed: 1, statements: false };
    let clients = workload.clients(&places, wanted).unwrap();
    let plan = RunPlan {
        threads: 1,
        part: engine::LoadPart::WHOLE,
        cpus: None,
        spin: 0,
        driver: DriverChoice::Auto,
        load: Load::Closed,
        warmup: 0,
        until: Until::PerClient(4),
        promise: None,
        skip_late: false,
        drain: 1_000_000,
        count_drained: false,
        transactions: false,
        gaps: None,
        connect_timeout: 1_000_000_000,
        seed: 1,
        scripts: workload.scripts().len(),
        statements: 0,
        items: 0,
    };
    let replies = replies.iter().map(ToString::to_string).collect();
    let mut server = InTurn { replies, given: 0, piece, received: Vec::new() };
    let measured = simulate(&plan, clients, &mut server, &mut (), &StopFlag::new()).unwrap();
    (measured, server.received)
}

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
const FIVE: &str = "$5\r\nabcde\r\n";
const NONE: &str = "$-1\r\n";

#[test]
fn replies_are_told_apart_whatever_their_pieces() {
    let cases = [
        (RedisCommand::Set, "+OK\r\n", (4, 0, 0)),
        (RedisCommand::Set, OOM, (0, 4, 0)),
        (RedisCommand::Get, FIVE, (4, 0, 20)),
        (RedisCommand::Get, "$4\r\nabcd\r\n", (0, 4, 0)),
        (RedisCommand::Get, NONE, (0, 4, 0)),
    ];
    for (command, reply, wanted) in cases {
        for piece in [1, 2, 3, 4096] {
            let totals = run(&small(command), &[reply], piece).0.totals();
            assert_eq!((totals.ok, totals.failed, totals.bytes), wanted, "{reply} in {piece}");
        }
    }
}

#[test]
fn the_first_failures_are_reported_in_words() {
    let (measured, _) = run(&small(RedisCommand::Get), &[NONE], 4096);
    assert_eq!(measured.messages.len(), 3);
    assert!(
        measured.messages[0].starts_with("client 0: GET found no pgdyno:5:0000"),
        "{:?}",
        measured.messages
    );
}

#[test]
fn set_sends_values_of_the_asked_size() {
    let (_, received) = run(&small(RedisCommand::Set), &["+OK\r\n"], 4096);
    let head = b"*3\r\n$3\r\nSET\r\n$21\r\npgdyno:5:";
    assert!(received.starts_with(head), "{}", String::from_utf8_lossy(&received));
    // Head, the number of the key, and a value of five bytes with its length.
    assert_eq!(received.len(), 4 * (head.len() + 12 + 2 + 4 + 5 + 2));
}

#[test]
fn a_stranger_is_recognised() {
    let (measured, _) = run(&small(RedisCommand::Get), &["HTTP/1.1 400 Bad Request\r\n"], 4096);
    assert!(measured.aborts[0].message.contains("is it a Redis server"), "{:?}", measured.aborts);
}

#[test]
fn a_pipeline_is_one_transaction_of_several_commands() {
    let options = RedisOptions { pipeline: 3, ..small(RedisCommand::Get) };
    for piece in [1, 7, 4096] {
        let (measured, _) = run(&options, &[FIVE], piece);
        let totals = measured.totals();
        assert_eq!((totals.ok, totals.queries, totals.rows, totals.bytes), (4, 12, 12, 60), "{piece}");
    }
    let figures = Redis::open(&options).unwrap().figures(&[]);
    assert_eq!(figures, [(figures::COMMANDS_PER_TX, 3.0)].into());
    // One command that fails among others fails its pipeline, and of that nothing else is counted.
    let set = RedisOptions { pipeline: 3, ..small(RedisCommand::Set) };
    let totals = run(&set, &["+OK\r\n", OOM, "+OK\r\n"], 4096).0.totals();
    assert_eq!((totals.ok, totals.failed, totals.changes, totals.affected), (0, 4, 0, 0));
}

#[test]
fn what_may_be_gone_is_a_miss_and_counted_apart() {
    let options = RedisOptions { ttl_s: Some(60), ..small(RedisCommand::Get) };
    let workload = Redis::open(&options).unwrap();
    let names = workload.scripts().into_iter().map(|script| script.name);
    assert_eq!(names.collect::<Vec<_>>(), ["GET, hit", "GET, miss"]);
    let (measured, _) = run(&options, &[FIVE, NONE, FIVE, FIVE], 2);
    let counts: Vec<_> = measured.scripts.iter().map(|script| script.counts).collect();
    assert_eq!([counts[0].ok, counts[1].ok, counts[0].failed + counts[1].failed], [3, 1, 0]);
    assert_eq!([counts[0].rows, counts[1].rows], [3, 0]);
    assert_eq!(workload.figures(&counts), [(figures::HIT_PCT, 75.0)].into());
    // A pipeline with a miss is one with misses, whatever else it found.
    let (measured, _) = run(&RedisOptions { pipeline: 2, ..options }, &[FIVE, NONE, FIVE, FIVE], 4096);
    let counts: Vec<_> = measured.scripts.iter().map(|script| script.counts).collect();
    assert_eq!([(counts[0].ok, counts[0].rows), (counts[1].ok, counts[1].rows)], [(2, 4), (2, 2)]);
}

#[test]
fn mixed_commands_have_scripts_of_their_own() {
    let options =
        RedisOptions { set_pct: 50, value_bytes: ValueSizes::between(2, 5), ..small(RedisCommand::Mixed) };
    // A reply of one kind suits one command; the other fails.
    let (measured, received) = run(&options, &["+OK\r\n"], 4096);
    let sets = String::from_utf8_lossy(&received).matches("SET\r\n").count() as u64;
    let [get, set] = [0, 1].map(|script: usize| measured.scripts[script].counts);
    assert_eq!((set.ok, set.failed, set.changes), (sets, 0, sets));
    assert_eq!((get.ok, get.failed, get.queries), (0, 4 - sets, 0));
}

/// A Redis that remembers values, has no more room than for so many keys, and is ours.
struct Remembering {
    keys: RefCell<BTreeMap<String, usize>>,
    room: usize,
    at_start: Option<Limits>,
    limits: RefCell<Limits>,
}

impl Default for Remembering {
    fn default() -> Self {
        let limits = Limits { memory_bytes: 0, policy: "noeviction".to_owned() };
        Self { keys: RefCell::default(), room: 100, at_start: None, limits: RefCell::new(limits) }
    }
}

impl Remembering {
    fn ours(room: usize) -> Self {
        let mut server = Self { room, ..Self::default() };
        server.at_start = Some(server.limits.get_mut().clone());
        server
    }
}

impl RedisServer for Remembering {
    fn control(&self) -> Result<Box<dyn RedisConnection + '_>, ControlError> {
        Ok(Box::new(self))
    }

    fn limits_at_start(&self) -> Option<&Limits> {
        self.at_start.as_ref()
    }
}

impl RedisConnection for &Remembering {
    fn ask(&mut self, commands: &[u8], count: usize) -> Result<Vec<RedisAnswer>, ControlError> {
        let mut rest = commands;
        let mut answers = Vec::new();
        for _ in 0..count {
            let arguments = number(&mut rest);
            let command: Vec<String> = (0..arguments).map(|_| word(&mut rest)).collect();
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            answers.push(self.answer(&words));
        }
        Ok(answers)
    }

    fn info(&mut self) -> Result<Info, ControlError> {
        let Limits { memory_bytes, policy } = self.limits.borrow().clone();
        Ok(Info::parse(&format!("maxmemory:{memory_bytes}\r\nmaxmemory_policy:{policy}\r\n")))
    }
}

impl Remembering {
    fn answer(&self, command: &[&str]) -> RedisAnswer {
        let mut keys = self.keys.borrow_mut();
        let done = || RedisAnswer::Done("OK".into());
        match command {
            ["SET", _, value, ..] if value.chars().count() == 6 => RedisAnswer::Error("ERR what?".into()),
            ["SET", key, ..] if keys.len() == self.room && !keys.contains_key(*key) => {
                RedisAnswer::Error("OOM command not allowed when used memory > 'maxmemory'.".into())
            }
            ["SET", key, value, ..] => {
                keys.insert((*key).to_owned(), value.chars().count());
                done()
            }
            ["GET", key] => {
                keys.get(*key).map_or(RedisAnswer::Nil, |length| RedisAnswer::Value(*length as u64))
            }
            ["STRLEN", key] => RedisAnswer::Done(keys.get(*key).unwrap_or(&0).to_string()),
            ["PING"] => RedisAnswer::Done("PONG".into()),
            ["FLUSHALL"] => {
                keys.clear();
                done()
            }
            ["CONFIG", "SET", "maxmemory", bytes] => {
                self.limits.borrow_mut().memory_bytes = bytes.parse().unwrap();
                done()
            }
            ["CONFIG", "SET", "maxmemory-policy", policy] => {
                self.limits.borrow_mut().policy = (*policy).to_owned();
                done()
            }
            _ => RedisAnswer::Error("ERR what?".into()),
        }
    }
}

/// The number in a line such as `$5`.
fn number(rest: &mut &[u8]) -> usize {
    let end = rest.windows(2).position(|pair| pair == b"\r\n").unwrap();
    let number = std::str::from_utf8(&rest[1..end]).unwrap().parse().unwrap();
    *rest = &rest[end + 2..];
    number
}

fn word(rest: &mut &[u8]) -> String {
    let length = number(rest);
    let word = rest[..length].iter().map(|byte| char::from(*byte)).collect();
    *rest = &rest[length + 2..];
    word
}

#[test]
fn keys_are_filled_before_they_are_read() {
    let server = Remembering::default();
    let mut site = Site { redis: Some(&server), ..Site::default() };
    let open = |command, bytes| {
        Redis::open(&RedisOptions { value_bytes: ValueSizes::all(bytes), ..small(command) }).unwrap()
    };

    let mut set = open(RedisCommand::Set, 5);
    set.check(&mut site).unwrap();
    let guarded = set.guard(&mut site, 1).unwrap();
    assert_eq!((guarded.bytes, guarded.empty), (5, None));

    server.keys.borrow_mut().clear();
    let mut get = open(RedisCommand::Get, 5);
    let guarded = get.guard(&mut site, 1).unwrap();
    assert_eq!(guarded.empty.as_deref(), Some("20 probed keys hold no value of 5 bytes"));
    assert_eq!(get.prepare(&mut site, 1).unwrap().summary, "GET of 5 bytes over 3 keys");
    // The keys, and the mark.
    assert_eq!(server.keys.borrow().len(), 4);
    assert_eq!(get.guard(&mut site, 1).unwrap().empty, None);
    let message = open(RedisCommand::Get, 6).prepare(&mut site, 1).unwrap_err().to_string();
    assert_eq!(message, "Redis, while writing 3 keys of 6 bytes: ERR what?");
    // What another workload took away is there again before the next run, and nothing is written without need.
    server.keys.borrow_mut().remove("pgdyno:5:000000000000");
    get.reset(&mut site).unwrap();
    assert_eq!(server.keys.borrow().len(), 3);
    server.keys.borrow_mut().clear();
    get.reset(&mut site).unwrap();
    assert_eq!(server.keys.borrow().len(), 4);
}

#[test]
fn a_redis_that_is_full_is_reported_with_figures() {
    let server = Remembering::ours(2);
    let mut site = Site { redis: Some(&server), ..Site::default() };
    let options = |memory: &str| RedisOptions {
        memory: Some(serde_json::from_str(memory).unwrap()),
        ..small(RedisCommand::Get)
    };
    let message = Redis::open(&options("\"2MB\"")).unwrap().prepare(&mut site, 1).unwrap_err().to_string();
    assert_eq!(
        message,
        "Redis is full: its memory (maxmemory) is 2.00 MB, and 3 keys of 5 bytes take 15 bytes for the values alone; it \
         refused after 2 of them: OOM command not allowed when used memory > 'maxmemory'.; give redis.memory more, take \
         fewer redis.keys or smaller redis.value_bytes, or let it evict: redis.eviction = \"allkeys-lru\""
    );
}

#[test]
fn limits_are_those_of_each_workload_and_put_back() {
    let server = Remembering::ours(50);
    let mut site = Site { redis: Some(&server), ..Site::default() };
    let policy = serde_json::from_str("\"allkeys-lru\"").unwrap();
    let memory = Some(serde_json::from_str("\"64MB\"").unwrap());
    let options = RedisOptions { memory, eviction: policy, ..small(RedisCommand::Mixed) };
    let mut limited = Redis::open(&options).unwrap();
    let mut plain = Redis::open(&small(RedisCommand::Get)).unwrap();
    let limits = || {
        let limits = server.limits.borrow();
        (limits.memory_bytes, limits.policy.clone())
    };
    let (own, at_start) = ((64 << 20, "allkeys-lru".to_owned()), (0, "noeviction".to_owned()));

    let prepared = limited.prepare(&mut site, 1).unwrap();
    assert_eq!(limits(), own);
    assert_eq!(prepared.summary, "90 % GET and 10 % SET of 5 bytes over 3 keys, in 64MB with allkeys-lru");
    let guarded = limited.guard(&mut site, 1).unwrap();
    assert_eq!((guarded.figures[figures::PROBE_HIT_PCT], guarded.empty), (100.0, None));
    plain.prepare(&mut site, 1).unwrap();
    assert_eq!(limits(), at_start);
    limited.reset(&mut site).unwrap();
    assert_eq!((limits(), server.keys.borrow().len()), (own, 3));
    // Its keys are gone with the others; the next run of the other workload has them again.
    plain.reset(&mut site).unwrap();
    assert_eq!((limits(), server.keys.borrow().len()), (at_start.clone(), 4));
    limited.reset(&mut site).unwrap();
    limited.conclude(&mut site).unwrap();
    assert_eq!(limits(), at_start);
    // When all is evicted, nothing is measured.
    server.keys.borrow_mut().clear();
    assert!(limited.guard(&mut site, 1).unwrap().empty.unwrap().contains("evicted"));
    // A server that somebody else started is not limited.
    let theirs = Remembering::default();
    let mut site = Site { redis: Some(&theirs), ..Site::default() };
    let message = limited.prepare(&mut site, 1).unwrap_err().to_string();
    assert!(message.contains("is not its own; write managed = { redis = true }"), "{message}");
}

#[test]
fn one_hot_key_is_all_that_is_written() {
    let server = Remembering::default();
    let mut site = Site { redis: Some(&server), ..Site::default() };
    let options = RedisOptions { key_distribution: Distribution::One, ..small(RedisCommand::Get) };
    Redis::open(&options).unwrap().prepare(&mut site, 1).unwrap();
    let keys: Vec<_> = server.keys.borrow().keys().cloned().collect();
    assert_eq!(keys, ["pgdyno:5:000000000000", "pgdyno:5:filled:1"]);
}
