//! Clients against a simulated Redis.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use engine::sim::{Replies, Server, simulate};
use engine::{Address, DriverChoice, Endpoint, Load, Measured, Plan, Stop, Until};

use crate::place::{Places, RedisPlace, RedisSite, Site};
use crate::redis::{Command, Options, Redis};
use crate::workload::{ClientWorkload, Crew};

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
    let endpoint = Endpoint { address: Address::Unix("/simulated/redis.sock".into()), tls: None };
    let places = Places { redis: Some(RedisPlace { endpoint }), ..Places::default() };
    let crew = Crew { clients: 1, threads: 1, seed: 1, statements: false };
    let clients = workload.clients(&places, crew).unwrap();
    let plan = Plan {
        threads: 1,
        driver: DriverChoice::Auto,
        load: Load::Closed,
        warmup: 0,
        until: Until::PerClient(4),
        limit: None,
        skip_late: false,
        drain: 1_000_000,
        count_drained: false,
        transactions: false,
        gaps: None,
        connect_timeout: 1_000_000_000,
        seed: 1,
        scripts: 1,
        statements: 0,
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
fn serve(stream: UnixStream) {
    let mut keys = HashSet::new();
    let mut out = stream.try_clone().unwrap();
    let mut input = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let count: usize = line.trim()[1..].parse().unwrap();
        let words: Vec<Vec<u8>> = (0..count).map(|_| word(&mut input)).collect();
        let reply: &[u8] = match (words[0].as_slice(), words.get(1)) {
            (b"SET", Some(key)) if words[2].len() == 5 => {
                keys.insert(key.clone());
                b"+OK\r\n"
            }
            (b"GET", Some(key)) if keys.contains(key) => b"$5\r\nabcde\r\n",
            (b"GET", _) => b"$-1\r\n",
            (b"PING", _) => b"+PONG\r\n",
            _ => b"-ERR what?\r\n",
        };
        out.write_all(reply).unwrap();
    }
}

fn word(input: &mut impl BufRead) -> Vec<u8> {
    let mut line = String::new();
    input.read_line(&mut line).unwrap();
    let length: usize = line.trim()[1..].parse().unwrap();
    let mut bytes = vec![0; length + 2];
    input.read_exact(&mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

#[test]
fn keys_are_filled_before_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redis.sock");
    let listener = UnixListener::bind(&path).unwrap();
    // Each connection has keys of its own here, so the guard's finds none.
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    let place = RedisPlace { endpoint: Endpoint { address: Address::Unix(path), tls: None } };
    let mut site = Site { sql: None, redis: Some(RedisSite { place: &place, given_up: &|| false }) };

    let mut set = Redis::open(&Options { command: Command::Set, value_bytes: 5, keys: 3 }).unwrap();
    set.check(&mut site).unwrap();
    let guarded = set.guard(&mut site, 1).unwrap();
    assert_eq!((guarded.bytes, guarded.empty), (5, None));

    let mut get = Redis::open(&Options { command: Command::Get, value_bytes: 5, keys: 3 }).unwrap();
    assert_eq!(get.prepare(&mut site, 1).unwrap().summary, "GET of 5 bytes over 3 keys");
    let guarded = get.guard(&mut site, 1).unwrap();
    assert_eq!(guarded.empty.as_deref(), Some("20 probed keys hold no value of 5 bytes"));
    let mut other = Redis::open(&Options { command: Command::Get, value_bytes: 6, keys: 3 }).unwrap();
    let message = other.prepare(&mut site, 1).unwrap_err().to_string();
    assert_eq!(message, "Redis, while writing 3 keys of 6 bytes: ERR what?");
}

#[test]
fn a_silent_redis_does_not_hold_whoever_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redis.sock");
    let _listener = UnixListener::bind(&path).unwrap();
    let place = RedisPlace { endpoint: Endpoint { address: Address::Unix(path), tls: None } };
    let start = std::time::Instant::now();
    let given_up = || start.elapsed() > std::time::Duration::from_millis(200);
    let mut site = Site { sql: None, redis: Some(RedisSite { place: &place, given_up: &given_up }) };
    let mut set = Redis::open(&Options { command: Command::Set, value_bytes: 5, keys: 3 }).unwrap();
    let message = set.check(&mut site).unwrap_err().to_string();
    assert!(message.ends_with("redis.sock\": stopped"), "{message}");
    assert!(start.elapsed() < std::time::Duration::from_secs(5));
}
