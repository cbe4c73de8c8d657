//! Runs statements over a control connection.

use std::io;

use protocol::limits;
use protocol::postgres::sql::{ResultSet, Sql, SqlError, Supply};
use protocol::postgres::{Message, ServerError, TxStatus, frontend};

use super::Control;
use super::stall_watch::{QueryLength, StallWatch};
use super::timeouts::GivenUp;

impl Sql for Control {
    fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        self.ask(sql, QueryLength::Short)
    }

    fn query_long(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        self.ask(sql, QueryLength::Long)
    }

    fn copy_in(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError> {
        let mut watch = self.begin(sql, QueryLength::Long)?;
        let mut answer = QueryAnswer { copy_expected: true, ..QueryAnswer::default() };
        let done = self.copy(sql, fill, &mut answer, &mut watch);
        self.keep_notices(std::mem::take(&mut answer.notices));
        done?;
        let copied = answer.copied;
        answer.finish().map(|_| copied)
    }

    fn take_notices(&mut self) -> Vec<String> {
        self.take_notices()
    }
}

const NOTICES: usize = 1000;
/// Memory of a message and a value in addition to its content, bytes.
const OVERHEAD: usize = 32;

/// The answer to one query so far.
#[derive(Debug, Default)]
pub(super) struct QueryAnswer {
    sets: Vec<ResultSet>,
    current: ResultSet,
    pub(super) error: Option<SqlError>,
    copy_expected: bool,
    pub(super) copy_started: bool,
    copied: u64,
    /// Memory of all messages so far, bytes: [`limits::max_answer`] at most.
    taken: usize,
    notices: Vec<String>,
}

impl QueryAnswer {
    pub(super) fn finish(self) -> Result<Vec<ResultSet>, SqlError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.sets),
        }
    }

    /// Adds one message; `true` when it was the last.
    fn take(&mut self, message: &Message<'_>, sql: &str) -> AfterMessage {
        match message {
            Message::RowDescription(columns) => {
                self.taken += OVERHEAD * columns.len();
                let names = columns.iter().map(|column| text(column.name));
                self.current.columns = names.collect();
                self.current.types = columns.iter().map(|column| column.type_oid).collect();
            }
            Message::DataRow(row) => {
                self.taken += OVERHEAD * row.len();
                self.current.rows.push(row.iter().map(|value| value.map(text)).collect());
            }
            Message::CommandComplete(tag) => {
                self.copied += tag.rows().unwrap_or(0);
                self.current.tag = tag.as_str().to_owned();
                self.sets.push(std::mem::take(&mut self.current));
            }
            Message::EmptyQuery => self.sets.push(ResultSet::default()),
            Message::Error(fields) => {
                let error = fields.to_owned();
                self.error.get_or_insert_with(|| sql_error(&error, sql));
            }
            Message::CopyIn(_) if self.copy_expected => {
                self.copy_started = true;
                self.copied = 0;
            }
            Message::CopyIn(_) => {
                // The server would only report a cancel.
                self.error.get_or_insert_with(no_input);
                return AfterMessage::RefuseCopy;
            }
            Message::ReadyForQuery(_) => return AfterMessage::Last,
            Message::Notice(fields) if self.notices.len() < NOTICES => {
                self.notices.push(fields.to_owned().libpq_text(None).trim_end().to_owned());
            }
            // Notices, notifications and reported settings need no reply; unrequested COPY data are dropped.
            _ => {}
        }
        AfterMessage::More
    }
}

fn no_input() -> SqlError {
    let text =
        "COPY FROM STDIN has nothing to read here; let it read a file of the server, or be a command (psql)";
    SqlError { sqlstate: Some("0A000".to_owned()), text: text.to_owned() }
}

/// What the connection must do after a message.
enum AfterMessage {
    More,
    Last,
    RefuseCopy,
}

impl Control {
    /// Whether an earlier statement left a transaction open.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.connection.status() != TxStatus::Idle
    }

    fn ask(&mut self, sql: &str, length: QueryLength) -> Result<Vec<ResultSet>, SqlError> {
        self.ask_with(length, sql, |out| frontend::query(out, sql))
    }

    /// Sends what `write` writes, and reads the answer; `sql` is its text, for messages.
    pub(super) fn ask_with(
        &mut self,
        length: QueryLength,
        sql: &str,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Vec<ResultSet>, SqlError> {
        let mut watch = self.begin(sql, length)?;
        write(&mut self.out);
        self.send(&mut watch)?;
        let mut answer = QueryAnswer::default();
        let done = self.rest(sql, &mut answer, &mut watch);
        self.keep_notices(std::mem::take(&mut answer.notices));
        done?;
        answer.finish()
    }

    /// Keeps notices for the caller, as far as there is room.
    fn keep_notices(&mut self, notices: Vec<String>) {
        let limit = limits::max_notice();
        let mut bytes: usize = self.notices.iter().map(String::len).sum();
        for notice in notices {
            bytes += notice.len();
            if self.notices.len() >= NOTICES || bytes > limit {
                let last = "further notices of the server are left out";
                if self.notices.last().is_none_or(|notice| notice != last) {
                    self.notices.push(last.to_owned());
                }
                return;
            }
            self.notices.push(notice);
        }
    }

    /// Prepares to wait for the answer to a request.
    fn begin(&mut self, sql: &str, length: QueryLength) -> Result<StallWatch, SqlError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        if self.timeouts.stop.ends_waits() {
            return Err(broken(&GivenUp::Stopped.to_string()));
        }
        let looked_after = length == QueryLength::Long && self.timeouts.look_after.is_some();
        let pid = if looked_after { self.own_process()? } else { self.server_process() };
        Ok(StallWatch::new(&self.timeouts, &self.connect, self.peer, pid, self.canceller(), (sql, length)))
    }

    /// The server process, if it is the same for all statements: behind a pooler the pid announced at login
    /// is meaningless.
    pub(super) fn own_process(&mut self) -> Result<Option<u32>, SqlError> {
        if self.process.is_none() && self.connection.status() != TxStatus::Failed {
            let ours = match self.ask("SELECT pg_catalog.pg_backend_pid()", QueryLength::Short) {
                Ok(sets) => sets.into_iter().next().and_then(|set| set.rows.into_iter().next()?.pop()?),
                // A server that refuses the question is not asked again.
                Err(error) if error.sqlstate.is_some() => None,
                Err(error) => return Err(error),
            };
            let ours = ours.and_then(|pid| pid.parse().ok());
            self.process = Some(self.server_process().filter(|told| ours == Some(*told)));
        }
        Ok(self.process.flatten())
    }

    /// Reads the rest of the answer.
    pub(super) fn rest(
        &mut self,
        sql: &str,
        answer: &mut QueryAnswer,
        watch: &mut StallWatch,
    ) -> Result<(), SqlError> {
        while !self.next_message(sql, answer, watch)? {}
        Ok(())
    }

    /// Waits for the next message and adds it to the answer; `true` after the last one.
    pub(super) fn next_message(
        &mut self,
        sql: &str,
        answer: &mut QueryAnswer,
        watch: &mut StallWatch,
    ) -> Result<bool, SqlError> {
        loop {
            let before = self.at;
            let message = self
                .connection
                .next(&self.input, &mut self.at)
                .map_err(|error| broken(&error.to_string()))?;
            if let Some(message) = message {
                answer.taken += self.at - before + OVERHEAD;
                let limit = limits::max_answer();
                if answer.taken > limit {
                    let error = broken(&format!("the answer of the server is {}", limits::too_long(limit)));
                    return Err(self.broken.get_or_insert(error).clone());
                }
                return match answer.take(&message, sql) {
                    AfterMessage::More => Ok(false),
                    AfterMessage::Last => Ok(true),
                    AfterMessage::RefuseCopy => {
                        frontend::copy_fail(&mut self.out, "no data was given");
                        self.send(watch).map(|()| false)
                    }
                };
            }
            self.input.drain(..self.at);
            self.at = 0;
            match self.stream.receive(&mut self.input, &mut || watch.watch()) {
                // The server's error before it closed explains more.
                Ok(0) => return Err(answer.error.take().map_or_else(closed, without_sqlstate)),
                Ok(_) => watch.moved(),
                Err(error) => {
                    let refusal = answer.error.take();
                    let lost = self.lost(&error);
                    return Err(refusal.map_or(lost, without_sqlstate));
                }
            }
        }
    }

    pub(super) fn send(&mut self, watch: &mut StallWatch) -> Result<(), SqlError> {
        match self.stream.send(&mut self.out, &mut || watch.watch()) {
            Ok(()) => {
                watch.moved();
                Ok(())
            }
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// Marks the connection as unusable.
    fn lost(&mut self, error: &io::Error) -> SqlError {
        let lost = match (GivenUp::of(error), error.kind()) {
            (Some(why), _) => broken(&why.to_string()),
            (None, io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => closed(),
            _ => broken(&format!("connection to the server lost: {error}")),
        };
        self.broken.get_or_insert(lost).clone()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // A Terminate keeps the server's log clean; it may be lost.
        self.out.clear();
        frontend::terminate(&mut self.out);
        let mut at_once = || Err(io::ErrorKind::WouldBlock.into());
        let _ = self.stream.send(&mut self.out, &mut at_once);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sql_error(error: &ServerError, sql: &str) -> SqlError {
    let text = error.libpq_text(Some(sql)).trim_end().to_owned();
    // After a fatal error the connection is closed.
    let sqlstate = Some(error.code.clone()).filter(|_| !error.is_fatal());
    SqlError { sqlstate, text }
}

fn without_sqlstate(error: SqlError) -> SqlError {
    SqlError { sqlstate: None, ..error }
}

pub(super) fn broken(text: &str) -> SqlError {
    SqlError { sqlstate: None, text: text.to_owned() }
}

fn closed() -> SqlError {
    broken(protocol::wording::CLOSED)
}
