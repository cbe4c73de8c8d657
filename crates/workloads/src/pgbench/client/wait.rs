//! The server's answers.

use engine::{Io, Link, Step};
use protocol::postgres::{ErrorFields, Message, frontend};
use script::{Action, Capture, Cursor};

use super::pipeline::Pipeline;
use super::retry::kind;
use super::{PgbenchClient, State, Trouble};
use crate::pgbench::prepare::Program;

impl PgbenchClient {
    /// Takes all whole messages; stops early when one changes what the client does.
    pub(super) fn messages(&mut self, link: Link, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        if self.program.manner.debug && self.awaits_first_result() {
            self.tell_receiving(io);
        }
        loop {
            match self.conns[link].link.session.next(data, used) {
                Ok(None) => return Step::Wait,
                Ok(Some(message)) => {
                    if let Some(step) = self.message(link, &message, io) {
                        return step;
                    }
                }
                Err(broken) => {
                    let message = self.query_failed(self.results, &broken.to_string());
                    return self.give_up(Vec::new(), message, io);
                }
            }
        }
    }

    fn message(&mut self, link: Link, message: &Message<'_>, io: &mut Io<'_>) -> Option<Step> {
        match message {
            Message::RowDescription(description) if self.captures() => self.captured.columns(description),
            Message::DataRow(row) => self.captured.row(row),
            Message::CommandComplete(_) | Message::EmptyQuery => self.end_result(io),
            Message::ReadyForQuery(_) => return self.server_ready(io),
            Message::Error(fields) => return self.error(link, fields, io),
            Message::Notice(fields) => {
                let query = if self.expects(link) { self.query_text() } else { None };
                let text = fields.to_owned().libpq_text(query.as_deref());
                io.message(text.strip_suffix('\n').unwrap_or(&text).to_owned());
            }
            Message::CopyIn(_) | Message::CopyOut(_) | Message::CopyBoth(_) => {
                if matches!(message, Message::CopyIn(_)) {
                    frontend::copy_done(io.out(link));
                }
                let message = match self.startup_place() {
                    Some(place) => format!("{place}: COPY is not supported in pgbench"),
                    None => "COPY is not supported in pgbench, aborting".to_owned(),
                };
                return Some(self.give_up(Vec::new(), message, io));
            }
            _ => {}
        }
        None
    }

    /// Whether nothing of the next result is there: libpq returns to its caller until then, and waits itself behind it.
    fn awaits_first_result(&self) -> bool {
        let waits = matches!(self.state, State::Waiting | State::RollingBack);
        waits && self.results == 0 && self.trouble.is_none()
    }

    /// Whether something was asked over this link.
    fn expects(&self, link: Link) -> bool {
        link == self.at && (self.syncs > 0 || self.state == State::Waiting)
    }

    fn error(&mut self, link: Link, fields: &ErrorFields<'_>, io: &mut Io<'_>) -> Option<Step> {
        let error = fields.to_owned();
        if !self.expects(link) {
            self.conns[link].last_words = Some(Box::new(error));
            return None;
        }
        if error.is_fatal() && self.comes_back() {
            return Some(self.found_lost(&error.to_string(), io));
        }
        if self.state == State::Preparing {
            self.not_prepared(error, io);
            return None;
        }
        let ends = error.is_fatal();
        if self.trouble.is_none() {
            let text = error.libpq_text(self.query_text().as_deref());
            let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
            let failure = kind(&error.code);
            if self.state != State::RollingBack && self.goes_on_after(failure) {
                self.tell_error(&text, io);
            }
            self.trouble = Some(Trouble::Server { failure, code: error.code, text, query: self.results });
        }
        if self.pipeline != Pipeline::Off {
            self.pipeline_result(io);
        }
        if !ends || self.state != State::Waiting {
            return None;
        }
        let trouble = self.trouble.take()?;
        Some(self.fatal(trouble, io))
    }

    /// Whether the statement under way stores its rows.
    fn captures(&self) -> bool {
        !matches!(self.capture(), Capture::None)
    }

    fn capture(&self) -> &Capture {
        capture(&self.program, self.running, self.cursor, self.pipeline)
    }

    /// A statement of the command ended well. `\aset` takes every result; `\gset` only the last one, which is known
    /// when the server is ready.
    fn end_result(&mut self, io: &mut Io<'_>) {
        if self.pipeline != Pipeline::Off {
            return self.pipeline_result(io);
        }
        self.captured.end();
        if matches!(self.capture(), Capture::Aset(_)) {
            if self.captured.rows > 0 {
                self.store(self.results);
            }
            self.captured.clear();
        }
        self.results += 1;
    }

    /// Stores the row that was kept.
    fn store(&mut self, query: u32) {
        let (command, prefix) = match capture(&self.program, self.running, self.cursor, self.pipeline) {
            Capture::Gset(prefix) => ("gset", prefix),
            Capture::Aset(prefix) => ("aset", prefix),
            Capture::None => return,
        };
        if let Err((error, name)) = self.captured.store(command, prefix, &mut self.variables)
            && self.trouble.is_none()
        {
            let message = self.capture_failed(query, &format!("error storing into variable {name}"));
            self.trouble = Some(Trouble::Capture { causes: vec![error.to_string()], message });
        }
    }

    /// The server answered a Query or a Sync.
    fn server_ready(&mut self, io: &mut Io<'_>) -> Option<Step> {
        if self.pipeline != Pipeline::Off {
            self.pipeline_synced(io);
        }
        self.syncs = self.syncs.saturating_sub(1);
        if self.state == State::Preparing {
            self.preparing.pop_front();
        }
        if self.syncs > 0 {
            return None;
        }
        match self.state {
            State::Waiting => Some(self.end_statement(io)),
            State::Preparing => Some(self.resume(io)),
            State::RollingBack => Some(self.rolled_back(io)),
            _ => None,
        }
    }

    /// All answers to the statement, or to the pipeline, are there.
    fn end_statement(&mut self, io: &mut Io<'_>) -> Step {
        if self.trouble.is_none() && matches!(self.capture(), Capture::Gset(_)) {
            let query = self.results.saturating_sub(1);
            match self.captured.rows {
                1 => self.store(query),
                rows => {
                    let message = self.capture_failed(query, &format!("expected one row, got {rows}"));
                    self.trouble = Some(Trouble::Capture { causes: Vec::new(), message });
                }
            }
        }
        if let Some(trouble) = self.trouble.take() {
            return self.command_in_trouble(trouble, io);
        }
        self.pipeline = Pipeline::Off;
        self.end_command(io);
        self.advance(io)
    }
}

/// What becomes of the rows of the command at `cursor`; a function of its own so that a row can be stored from it.
fn capture(program: &Program, script: usize, cursor: Cursor, pipeline: Pipeline) -> &Capture {
    let command = program.scripts.scripts()[script].commands.get(cursor.command());
    match command.map(|command| &command.action) {
        Some(Action::Sql(statement)) if pipeline == Pipeline::Off => &statement.capture,
        _ => &Capture::None,
    }
}
