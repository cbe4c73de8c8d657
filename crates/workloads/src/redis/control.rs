//! A blocking connection to Redis, outside the timed part.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use engine::Address;
use protocol::redis::{Replies, Reply, command};

use crate::error::WorkloadError;
use crate::link::{place, system_words};
use crate::place::RedisPlace;

/// How long connecting, and each answer, may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A blocking connection.
pub(super) struct Control {
    stream: Box<dyn Stream>,
    place: String,
    replies: Replies,
    input: Vec<u8>,
    at: usize,
}

trait Stream: Read + Write {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

/// A reply that the caller may keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// A status or a number, as text.
    Done(String),
    /// Length of a value.
    Value(u64),
    Nil,
    Error(String),
}

impl Control {
    pub(super) fn connect(redis: &RedisPlace) -> Result<Self, WorkloadError> {
        let address = &redis.endpoint.address;
        let stream = open(address).map_err(|error| WorkloadError::Redis {
            doing: format!("connecting {}", place(address, None)),
            problem: format!("{}; is a Redis server running there?", system_words(&error)),
        })?;
        Ok(Self { stream, place: place(address, None), replies: Replies::new(), input: Vec::new(), at: 0 })
    }

    /// Sends commands and gives as many answers.
    pub(super) fn ask(&mut self, commands: &[u8], count: usize) -> Result<Vec<Answer>, WorkloadError> {
        self.stream.write_all(commands).map_err(|error| self.lost(&error))?;
        (0..count).map(|_| self.answer()).collect()
    }

    /// Sends one command.
    pub(super) fn one(&mut self, arguments: &[&[u8]]) -> Result<Answer, WorkloadError> {
        let mut out = Vec::new();
        command(&mut out, arguments);
        self.ask(&out, 1)?.pop().ok_or_else(|| self.lost(&io::ErrorKind::UnexpectedEof.into()))
    }

    fn answer(&mut self) -> Result<Answer, WorkloadError> {
        loop {
            let reply = self.replies.next(&self.input, &mut self.at);
            let reply = reply.map_err(|error| WorkloadError::Redis {
                doing: format!("reading {}", self.place),
                problem: error.to_string(),
            })?;
            if let Some(reply) = reply {
                return Ok(answer(&reply));
            }
            self.input.drain(..self.at);
            self.at = 0;
            let mut piece = [0; 64 * 1024];
            let count = self.stream.read(&mut piece).map_err(|error| self.lost(&error))?;
            if count == 0 {
                return Err(self.lost(&io::ErrorKind::UnexpectedEof.into()));
            }
            self.input.extend_from_slice(&piece[..count]);
        }
    }

    fn lost(&self, error: &io::Error) -> WorkloadError {
        let problem = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                format!("no answer within {} s", PATIENCE.as_secs())
            }
            _ => system_words(error),
        };
        WorkloadError::Redis { doing: format!("talking to the server {}", self.place), problem }
    }
}

fn answer(reply: &Reply<'_>) -> Answer {
    match reply {
        Reply::Status(text) => Answer::Done(String::from_utf8_lossy(text).into_owned()),
        Reply::Integer(number) => Answer::Done(number.to_string()),
        Reply::Error(text) => Answer::Error(String::from_utf8_lossy(text).into_owned()),
        Reply::Bulk(value) => Answer::Value(value.len() as u64),
        Reply::Nil => Answer::Nil,
        Reply::Array(array) => Answer::Value(array.len() as u64),
        Reply::Skipped(skipped) => Answer::Value(skipped.bytes),
    }
}

fn open(address: &Address) -> io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Box::new(stream)
        }
    })
}
