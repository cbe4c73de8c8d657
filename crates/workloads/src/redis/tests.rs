//! Clients against a simulated Redis.

use engine::sim::{Replies, Server, simulate};
use engine::{Address, DriverChoice, Endpoint, Load, Measured, Plan, Stop, Until};

use crate::place::{Places, RedisPlace};
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
    let places = Places { postgres: None, redis: Some(RedisPlace { endpoint }) };
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
