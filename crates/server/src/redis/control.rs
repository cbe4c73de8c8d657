//! A blocking connection to Redis, outside the timed part of a run.

use std::io;

use protocol::Address;
use protocol::limits;
use protocol::postgres::conninfo::TcpOptions;
use protocol::redis::{ControlError, Info, RedisAnswer, RedisConnection, Replies, Reply, command};

use crate::control::socket::Socket;
use crate::control::socket::{short_wait_error, short_watch};

/// A blocking connection to Redis; every wait ends once `given_up` returns true.
pub struct RedisControl<'a> {
    socket: Socket,
    given_up: &'a dyn Fn() -> bool,
    address: &'a Address,
    replies: Replies,
    input: Vec<u8>,
    at: usize,
}

impl<'a> RedisControl<'a> {
    /// Connects within a bound, and earlier ends when `given_up` is true.
    pub fn connect(address: &'a Address, given_up: &'a dyn Fn() -> bool) -> Result<Self, ControlError> {
        let socket = Socket::connect(address, &TcpOptions::default(), &mut short_watch(given_up)).map_err(
            |error| ControlError {
                doing: format!("connecting {}", address.in_words(None)),
                problem: format!("{}; is a Redis server running there?", short_wait_error(&error)),
            },
        )?;
        Ok(Self { socket, given_up, address, replies: Replies::new(), input: Vec::new(), at: 0 })
    }

    /// The next reply, converted by `of`.
    fn reply<T>(&mut self, of: impl Fn(&Reply<'_>) -> T) -> Result<T, ControlError> {
        let mut watch = short_watch(self.given_up);
        loop {
            let reply = self.replies.next(&self.input, &mut self.at);
            let reply = reply.map_err(|error| ControlError {
                doing: format!("reading {}", self.address.in_words(None)),
                problem: error.to_string(),
            })?;
            if let Some(reply) = reply {
                return Ok(of(&reply));
            }
            self.input.drain(..self.at);
            self.at = 0;
            let limit = limits::max_answer();
            if self.input.len() > limit {
                return Err(ControlError {
                    doing: format!("reading {}", self.address.in_words(None)),
                    problem: format!("its reply is {}", limits::too_long(limit)),
                });
            }
            let mut piece = [0; 64 * 1024];
            let count = self.socket.receive(&mut piece, &mut watch).map_err(|error| self.lost(&error))?;
            if count == 0 {
                return Err(self.lost(&io::ErrorKind::UnexpectedEof.into()));
            }
            self.input.extend_from_slice(&piece[..count]);
        }
    }

    fn send(&mut self, commands: &[u8]) -> Result<(), ControlError> {
        let sent = self.socket.send(commands, &mut short_watch(self.given_up));
        sent.map_err(|error| self.lost(&error))
    }

    fn lost(&self, error: &io::Error) -> ControlError {
        let doing = format!("talking to the server {}", self.address.in_words(None));
        ControlError { doing, problem: short_wait_error(error) }
    }
}

impl RedisConnection for RedisControl<'_> {
    fn ask(&mut self, commands: &[u8], count: usize) -> Result<Vec<RedisAnswer>, ControlError> {
        self.send(commands)?;
        (0..count).map(|_| self.reply(|reply| RedisAnswer::from(reply))).collect()
    }

    fn info(&mut self) -> Result<Info, ControlError> {
        let mut out = Vec::new();
        command(&mut out, &["INFO"]);
        self.send(&out)?;
        let reply = self.reply(|reply| match reply {
            Reply::Bulk(text) => Ok(Info::parse(&String::from_utf8_lossy(text))),
            Reply::Error(text) => Err(String::from_utf8_lossy(text).into_owned()),
            _ => Err("gave no text".to_owned()),
        })?;
        reply.map_err(|problem| ControlError {
            doing: format!("asking {} for INFO", self.address.in_words(None)),
            problem,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn commands_are_answered_one_after_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("redis.sock");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 14];
            stream.read_exact(&mut request).unwrap();
            assert_eq!(&request, b"*1\r\n$4\r\nPING\r\n");
            stream.write_all(b"+PO").unwrap();
            stream.write_all(b"NG\r\n").unwrap();
        });
        let address = Address::Unix(path);
        let mut control = RedisControl::connect(&address, &|| false).unwrap();
        assert_eq!(control.one(&[b"PING"]).unwrap(), RedisAnswer::Done("PONG".into()));
        let gone = control.one(&[b"PING"]).unwrap_err();
        assert!(
            gone.problem == "the server closed the connection" || gone.problem == "Broken pipe",
            "{gone}"
        );
    }

    /// A reply of 1 GB was kept until the memory was full.
    #[test]
    fn a_reply_without_end_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("redis.sock");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let piece = [b'x'; 1 << 16];
            let mut sent = stream.write_all(b"$1000000000\r\n");
            while sent.is_ok() {
                sent = stream.write_all(&piece);
            }
        });
        let address = Address::Unix(path);
        let error = RedisControl::connect(&address, &|| false).unwrap().one(&[b"PING"]).unwrap_err();
        assert!(
            error.problem.contains("limit of 64 MB") && error.problem.contains("PGDYNO_MAX_ANSWER"),
            "{error}"
        );
    }

    #[test]
    fn a_silent_redis_does_not_hold_whoever_gives_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("redis.sock");
        let _listener = UnixListener::bind(&path).unwrap();
        let address = Address::Unix(path);
        let start = Instant::now();
        let given_up = || start.elapsed() > Duration::from_millis(200);
        let mut control = RedisControl::connect(&address, &given_up).unwrap();
        let message = control.one(&[b"PING"]).unwrap_err().to_string();
        assert!(message.ends_with("redis.sock\": stopped"), "{message}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
