//! Clients against a simulated Redis.

use std::cell::RefCell;
use std::collections::HashSet;

use engine::sim::{Replies, Server, simulate};
use engine::{DriverChoice, Load, Measured, Plan, Stop, Until};

use protocol::Address;
use protocol::redis::{Answer, Control, ControlError};

use crate::place::{Places, RedisServer, Site};
use crate::redis::{Command, Options, Redis};
use crate::workload::{ClientWorkload, Clients, Workload};

/// Gives the same reply to every command.
struct Same {
    reply: Vec<u8>,
    piece: usize,
    received: Vec<u8>,
}

impl Server for Same {
    fn received(&mut self, _connection: usize, bytes: &[u8], replies: &mut Replies) {
        self.received.extend_from_slice(bytes);
        replies.chunk(self.piece);
        replies.send(1000, &self.reply);
    }
}

fn run(command: Command, reply: &str, piece: usize) -> (Measured, Vec<u8>) {
    let workload = Redis::open(&Options { command, value_bytes: 5, keys: 3 }).unwrap();
    let places = Places::from(Address::Unix("/simulated/redis.sock".into()));
    let wanted = Clients { count: 1, threads: 1, seed: 1, statements: false };
    let clients = workload.clients(&places, wanted).unwrap();
    let plan = Plan {
        threads: 1,
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
        scripts: 1,
        statements: 0,
        items: 0,
    };
    let mut server = Same { reply: reply.as_bytes().to_vec(), piece, received: Vec::new() };
    let measured = simulate(&plan, clients, &mut server, &mut (), &Stop::new()).unwrap();
    (measured, server.received)
}

#[test]
fn replies_are_told_apart_whatever_their_pieces() {
    let cases = [
        (Command::Set, "+OK\r\n", (4, 0, 0)),
        (Command::Set, "-OOM command not allowed when used memory > 'maxmemory'.\r\n", (0, 4, 0)),
        (Command::Get, "$5\r\nabcde\r\n", (4, 0, 20)),
        (Command::Get, "$4\r\nabcd\r\n", (0, 4, 16)),
        (Command::Get, "$-1\r\n", (0, 4, 0)),
    ];
    for (command, reply, wanted) in cases {
        for piece in [1, 2, 3, 4096] {
            let totals = run(command, reply, piece).0.totals();
            assert_eq!((totals.ok, totals.failed, totals.bytes), wanted, "{reply} in {piece}");
        }
    }
}

#[test]
fn the_first_failures_are_told_in_words() {
    let (measured, _) = run(Command::Get, "$-1\r\n", 4096);
    assert_eq!(measured.messages.len(), 3);
    assert!(
        measured.messages[0].starts_with("client 0: GET found no pgdyno:5:0000"),
        "{:?}",
        measured.messages
    );
}

#[test]
fn set_sends_values_of_the_asked_size() {
    let (_, received) = run(Command::Set, "+OK\r\n", 4096);
    let head = b"*3\r\n$3\r\nSET\r\n$21\r\npgdyno:5:";
    assert!(received.starts_with(head), "{}", String::from_utf8_lossy(&received));
    // Head, the number of the key, and a value of five bytes with its length.
    assert_eq!(received.len(), 4 * (head.len() + 12 + 2 + 4 + 5 + 2));
}

#[test]
fn a_stranger_is_recognised() {
    let (measured, _) = run(Command::Get, "HTTP/1.1 400 Bad Request\r\n", 4096);
    assert!(measured.aborts[0].message.contains("is it a Redis server"), "{:?}", measured.aborts);
}

/// A Redis that remembers which keys were set, with values of five bytes.
#[derive(Default)]
struct Remembering(RefCell<HashSet<String>>);

impl RedisServer for Remembering {
    fn control(&self) -> Result<Box<dyn Control + '_>, ControlError> {
        Ok(Box::new(self))
    }
}

impl Control for &Remembering {
    fn ask(&mut self, commands: &[u8], count: usize) -> Result<Vec<Answer>, ControlError> {
        let mut rest = commands;
        let mut answers = Vec::new();
        for _ in 0..count {
            let arguments = number(&mut rest);
            let command: Vec<String> = (0..arguments).map(|_| word(&mut rest)).collect();
            let mut keys = self.0.borrow_mut();
            answers.push(match (command[0].as_str(), command.get(1), command.get(2)) {
                ("SET", Some(key), Some(value)) if value.chars().count() == 5 => {
                    keys.insert(key.clone());
                    Answer::Done("OK".into())
                }
                ("GET", Some(key), _) if keys.contains(key) => Answer::Value(5),
                ("GET", ..) => Answer::Nil,
                ("PING", ..) => Answer::Done("PONG".into()),
                _ => Answer::Error("ERR what?".into()),
            });
        }
        Ok(answers)
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
    let mut site = Site { sql: None, redis: Some(&server) };
    let open = |command, value_bytes| Redis::open(&Options { command, value_bytes, keys: 3 }).unwrap();

    let mut set = open(Command::Set, 5);
    set.check(&mut site).unwrap();
    let guarded = set.guard(&mut site, 1).unwrap();
    assert_eq!((guarded.bytes, guarded.empty), (5, None));

    server.0.borrow_mut().clear();
    let mut get = open(Command::Get, 5);
    let guarded = get.guard(&mut site, 1).unwrap();
    assert_eq!(guarded.empty.as_deref(), Some("20 probed keys hold no value of 5 bytes"));
    assert_eq!(get.prepare(&mut site, 1).unwrap().summary, "GET of 5 bytes over 3 keys");
    assert_eq!(server.0.borrow().len(), 3);
    assert_eq!(get.guard(&mut site, 1).unwrap().empty, None);
    let message = open(Command::Get, 6).prepare(&mut site, 1).unwrap_err().to_string();
    assert_eq!(message, "Redis, while writing 3 keys of 6 bytes: ERR what?");
}
