//! Blocking control connections for workloads: one command at a time.

use std::fmt;

use super::{Info, Reply, command};

/// A reply that the caller may keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisAnswer {
    /// A status or a number, as text.
    Done(String),
    Value(u64),
    Nil,
    Error(String),
}

impl From<&Reply<'_>> for RedisAnswer {
    fn from(reply: &Reply<'_>) -> Self {
        match reply {
            Reply::Status(text) => Self::Done(String::from_utf8_lossy(text).into_owned()),
            Reply::Integer(number) => Self::Done(number.to_string()),
            Reply::Error(text) => Self::Error(String::from_utf8_lossy(text).into_owned()),
            Reply::Bulk(value) => Self::Value(value.len() as u64),
            Reply::Nil => Self::Nil,
            Reply::Array(array) => Self::Value(array.len() as u64),
            Reply::Skipped(skipped) => Self::Value(skipped.bytes),
        }
    }
}

/// A command that got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlError {
    /// What was attempted, and where.
    pub doing: String,
    pub problem: String,
}

impl fmt::Display for ControlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "while {}: {}", self.doing, self.problem)
    }
}

impl std::error::Error for ControlError {}

/// A blocking connection to a Redis server, outside the timed part of a run.
pub trait RedisConnection {
    /// Sends commands written by [`command`], and returns as many answers.
    ///
    /// # Errors
    /// When the connection fails, or an answer does not come in time.
    fn ask(&mut self, commands: &[u8], count: usize) -> Result<Vec<RedisAnswer>, ControlError>;

    /// Sends one command.
    ///
    /// # Errors
    /// As [`RedisConnection::ask`].
    fn one(&mut self, arguments: &[&[u8]]) -> Result<RedisAnswer, ControlError> {
        let mut out = Vec::new();
        command(&mut out, arguments);
        Ok(self.ask(&out, 1)?.pop().unwrap_or(RedisAnswer::Nil))
    }

    /// The server's `INFO`.
    ///
    /// # Errors
    /// As [`RedisConnection::ask`], and when the server refuses.
    fn info(&mut self) -> Result<Info, ControlError>;
}
