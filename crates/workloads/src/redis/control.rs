//! A blocking connection to Redis, outside the timed part.

use std::io;
use std::time::{Duration, Instant};

use protocol::redis::{Replies, Reply, command};

use crate::error::WorkloadError;
use crate::link::{place, system_words};
use crate::place::RedisSite;
use crate::socket::Socket;

/// How long connecting, and each answer, may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A blocking connection.
pub(super) struct Control<'a> {
    socket: Socket,
    given_up: &'a dyn Fn() -> bool,
    place: String,
    replies: Replies,
    input: Vec<u8>,
    at: usize,
}

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

impl<'a> Control<'a> {
    pub(super) fn connect(redis: RedisSite<'a>) -> Result<Self, WorkloadError> {
        let address = &redis.place.endpoint.address;
        let given_up = redis.given_up;
        let socket =
            Socket::connect(address, &mut watch(given_up)).map_err(|error| WorkloadError::Redis {
                doing: format!("connecting {}", place(address, None)),
                problem: format!("{}; is a Redis server running there?", words(&error)),
            })?;
        let place = place(address, None);
        Ok(Self { socket, given_up, place, replies: Replies::new(), input: Vec::new(), at: 0 })
    }

    /// Sends commands and gives as many answers.
    pub(super) fn ask(&mut self, commands: &[u8], count: usize) -> Result<Vec<Answer>, WorkloadError> {
        let sent = self.socket.send(commands, &mut watch(self.given_up));
        sent.map_err(|error| self.lost(&error))?;
        (0..count).map(|_| self.answer()).collect()
    }

    /// Sends one command.
    pub(super) fn one(&mut self, arguments: &[&[u8]]) -> Result<Answer, WorkloadError> {
        let mut out = Vec::new();
        command(&mut out, arguments);
        self.ask(&out, 1)?.pop().ok_or_else(|| self.lost(&io::ErrorKind::UnexpectedEof.into()))
    }

    fn answer(&mut self) -> Result<Answer, WorkloadError> {
        let mut watch = watch(self.given_up);
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
            let count = self.socket.receive(&mut piece, &mut watch).map_err(|error| self.lost(&error))?;
            if count == 0 {
                return Err(self.lost(&io::ErrorKind::UnexpectedEof.into()));
            }
            self.input.extend_from_slice(&piece[..count]);
        }
    }

    fn lost(&self, error: &io::Error) -> WorkloadError {
        WorkloadError::Redis { doing: format!("talking to the server {}", self.place), problem: words(error) }
    }
}

/// Waits as long as something should be answered at once, and no one gives up.
fn watch(given_up: &dyn Fn() -> bool) -> impl FnMut() -> io::Result<()> + '_ {
    let start = Instant::now();
    move || match () {
        () if given_up() => Err(io::Error::other("stopped")),
        () if start.elapsed() >= PATIENCE => Err(io::ErrorKind::TimedOut.into()),
        () => Ok(()),
    }
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
        io::ErrorKind::TimedOut if error.raw_os_error().is_none() => {
            format!("no answer within {} s", PATIENCE.as_secs())
        }
        _ => system_words(error),
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
