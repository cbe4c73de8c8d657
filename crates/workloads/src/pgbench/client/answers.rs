//! The server's answers, and the consequences of a failed transaction: retry, failure, or the client's end.

use std::borrow::Cow;

use engine::{Abort, Failure, Io, Link, MessageLevel, StatementEnd, Step};
use protocol::postgres::{ErrorFields, Message, frontend};
use script::{Action, Capture};

use super::exchange::Trouble;
use super::transaction::failure_kind;
use super::words::{BACKEND_DIED, rolling_back_failed, without_end};
use super::{ClientState, PgbenchClient};
use crate::pgbench::keyed::Keyed;
use crate::pgbench::options::QueryProtocol;

impl PgbenchClient {
    /// Takes all complete messages; stops early when one changes what the client does.
    pub(super) fn messages(&mut self, link: Link, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        if self.reporter.debug && self.awaits_first_result() {
            self.reporter.receiving(io);
        }
        loop {
            match self.conns[link].link.connection.next(data, used) {
                Ok(None) => return Step::Wait,
                Ok(Some(message)) => {
                    if let Some(step) = self.handle_message(link, &message, io) {
                        return step;
                    }
                }
                Err(broken) => {
                    let abort = self.position().query_failed(self.exchange.results, &broken.to_string());
                    return self.give_up(abort, io);
                }
            }
        }
    }

    fn handle_message(&mut self, link: Link, message: &Message<'_>, io: &mut Io<'_>) -> Option<Step> {
        match message {
            Message::RowDescription(description) if self.captures() => {
                self.exchange.captured.columns(description);
            }
            Message::DataRow(row) => self.exchange.captured.row(row),
            Message::CommandComplete(tag) if self.is_by_key() => {
                if let Some(rows) = tag.rows() {
                    self.keyed.add(rows);
                }
                self.end_result(io);
            }
            Message::CommandComplete(_) | Message::EmptyQuery => self.end_result(io),
            Message::ReadyForQuery(_) => return self.server_ready(io),
            Message::Error(fields) => return self.handle_error(link, fields, io),
            Message::Notice(fields) => {
                let query = if self.expects(link) { self.query_text() } else { None };
                io.message(without_end(fields.to_owned().libpq_text(query.as_deref())));
            }
            Message::CopyIn(_) | Message::CopyOut(_) | Message::CopyBoth(_) => {
                if matches!(message, Message::CopyIn(_)) {
                    frontend::copy_done(io.out(link));
                }
                let abort = self.position().copies();
                return Some(self.give_up(abort, io));
            }
            _ => {}
        }
        None
    }

    /// A statement of the current command succeeded.
    fn end_result(&mut self, io: &mut Io<'_>) {
        if self.pipeline.is_off() {
            self.exchange.end_result(&mut self.script, self.reporter.client, &self.program);
        } else {
            self.pipeline_result(io);
        }
    }

    /// Whether the statement of the next result reads or writes by key.
    fn is_by_key(&self) -> bool {
        if self.state != ClientState::Waiting {
            return false;
        }
        let number = match self.pipeline.is_off() {
            true => self.script.command(&self.program).and_then(|command| match &command.action {
                Action::Sql(statement) => Some(statement.number),
                _ => None,
            }),
            false => self.pipeline.oldest(),
        };
        number.is_some_and(|number| self.program.by_key[number])
    }

    /// Whether nothing of the next result has arrived: libpq returns to its caller until then, and itself
    /// waits after it.
    fn awaits_first_result(&self) -> bool {
        let waits = matches!(self.state, ClientState::Waiting | ClientState::RollingBack);
        waits && self.exchange.results == 0 && self.exchange.trouble.is_none()
    }

    fn expects(&self, link: Link) -> bool {
        link == self.conns.at && (self.exchange.is_open() || self.state == ClientState::Waiting)
    }

    /// Whether the current statement stores its rows.
    fn captures(&self) -> bool {
        self.pipeline.is_off() && *self.script.capture(&self.program) != Capture::None
    }

    /// The query whose answer is read, for the position of an error; libpq knows none of a prepared one.
    fn query_text(&self) -> Option<Cow<'_, str>> {
        if self.state == ClientState::RollingBack {
            return Some(Cow::Borrowed("ROLLBACK"));
        }
        let statement = match self.script.mode(&self.program) {
            QueryProtocol::Simple => return Some(self.exchange.query_text()),
            QueryProtocol::Prepared => return None,
            QueryProtocol::Extended if !self.pipeline.is_off() => self.pipeline.oldest()?,
            QueryProtocol::Extended => match &self.script.command(&self.program)?.action {
                Action::Sql(statement) => statement.number,
                _ => return None,
            },
        };
        Some(String::from_utf8_lossy(&self.program.texts[statement]))
    }

    fn handle_error(&mut self, link: Link, fields: &ErrorFields<'_>, io: &mut Io<'_>) -> Option<Step> {
        let error = fields.to_owned();
        let fatal = error.is_fatal();
        if !self.expects(link) {
            self.conns[link].last_message = Some(Box::new(error));
            return None;
        }
        if fatal && self.comes_back() {
            return Some(self.found_lost(&error.to_string(), io));
        }
        if self.state == ClientState::Preparing {
            if fatal {
                // Reported when the connection closes.
                self.conns.current_mut().last_message = Some(Box::new(error));
                return None;
            }
            if self.program.drop_in {
                io.say(MessageLevel::Error, without_end(self.exchange.not_prepared(&error, &self.program)));
                return None;
            }
            if let Some(command) = self.exchange.prepared_next() {
                self.conns.current_mut().not_prepared(command);
            }
        }
        if self.exchange.trouble.is_none() {
            let text = match self.state {
                ClientState::Preparing => self.exchange.not_prepared(&error, &self.program),
                _ => error.libpq_text(self.query_text().as_deref()),
            };
            let text = without_end(text);
            let failure = failure_kind(&error.code);
            if self.state != ClientState::RollingBack && self.goes_on_after(failure) {
                self.reporter.report_error(&self.position(), &text, io);
            }
            let query = if self.state == ClientState::Preparing { 0 } else { self.exchange.results };
            self.exchange.trouble = Some(Trouble::Server { failure, code: error.code, text, query, fatal });
        }
        if !self.pipeline.is_off() {
            self.pipeline_result(io);
        }
        if !fatal || self.state != ClientState::Waiting {
            return None;
        }
        let trouble = self.exchange.trouble.take()?;
        Some(self.fatal(trouble, io))
    }

    /// A result of a pipeline came; the next one is waited for.
    fn pipeline_result(&mut self, io: &mut Io<'_>) {
        self.pipeline.result();
        self.exchange.results = 0;
        if self.state == ClientState::Waiting && self.exchange.trouble.is_none() {
            self.reporter.receiving(io);
        }
    }

    /// The server answered a Query or a Sync.
    fn server_ready(&mut self, io: &mut Io<'_>) -> Option<Step> {
        if !self.pipeline.is_off() {
            self.exchange.pipeline_synced(self.reporter, self.state == ClientState::Waiting, io);
        }
        if !self.exchange.answered(self.state == ClientState::Preparing) {
            return None;
        }
        match self.state {
            ClientState::Waiting => Some(self.end_statement(io)),
            ClientState::Preparing => Some(match self.exchange.trouble.take() {
                Some(trouble) => self.command_in_trouble(trouble, io),
                None => self.resume(io),
            }),
            ClientState::RollingBack => Some(self.rolled_back(io)),
            _ => None,
        }
    }

    /// All answers to the statement, or to the pipeline, have arrived.
    fn end_statement(&mut self, io: &mut Io<'_>) -> Step {
        if self.pipeline.is_off() {
            self.exchange.end_statement(&mut self.script, self.reporter.client, &self.program);
        }
        if let Some(trouble) = self.exchange.trouble.take() {
            return self.command_in_trouble(trouble, io);
        }
        self.pipeline.close();
        self.end_command(io)
    }

    /// The current command failed, and the server is ready again.
    fn command_in_trouble(&mut self, trouble: Trouble, io: &mut Io<'_>) -> Step {
        let failure = match trouble {
            Trouble::Server { failure, .. } if self.goes_on_after(failure) => failure,
            trouble => return self.fatal(trouble, io),
        };
        self.pipeline.close();
        self.transaction.failure = failure;
        if !self.in_block() {
            return self.rolled_back(io);
        }
        self.exchange.rollback(io.out(self.conns.at));
        self.state = ClientState::RollingBack;
        self.reporter.receiving(io);
        Step::Wait
    }

    /// The current command failed for good, or its connection did.
    pub(super) fn fatal(&mut self, trouble: Trouble, io: &mut Io<'_>) -> Step {
        let client = self.reporter.client;
        let abort = match trouble {
            Trouble::Capture(abort) => *abort,
            Trouble::Server { failure, .. } if self.goes_on_after(failure) => Abort {
                // It would have been rolled back, but the connection is gone.
                causes: vec![BACKEND_DIED.to_owned()],
                message: format!("client {client} aborted while receiving the transaction status"),
                lost: true,
                ..Abort::default()
            },
            Trouble::Server { code, text, query, fatal, .. } => {
                Abort { code: Some(code), lost: fatal, ..self.position().query_failed(query, &text) }
            }
        };
        self.give_up(abort, io)
    }

    /// Whether the client continues after such an error.
    fn goes_on_after(&self, failure: Failure) -> bool {
        let other = failure == Failure::Other;
        !self.script.in_startup() && (!other || self.program.options.continue_on_error)
    }

    /// No transaction is open any more: retries, or counts a failure.
    fn rolled_back(&mut self, io: &mut Io<'_>) -> Step {
        if let Some(Trouble::Server { code, text, fatal, .. }) = self.exchange.trouble.take() {
            let abort = rolling_back_failed(self.reporter.client, &text);
            return self.give_up(Abort { code: Some(code), lost: fatal, ..abort }, io);
        }
        if io.stopping && self.program.drop_in {
            // pgbench counts no failure once the time is over.
            self.state = ClientState::Over;
            return Step::Done;
        }
        let again = self.transaction.may_retry(&self.program, io);
        self.reporter.tried(again, &self.transaction, &self.program, io);
        let end = if again { StatementEnd::Retried } else { StatementEnd::Failed };
        self.script.report(end, &self.program, io);
        if !again {
            return self.end_transaction(Some(self.transaction.failure), io);
        }
        // What the failed try returned and changed was rolled back.
        let _ = self.take_counts();
        self.keyed = Keyed::default();
        self.transaction.tries = self.transaction.tries.saturating_add(1);
        self.script.again();
        self.advance(io)
    }
}
