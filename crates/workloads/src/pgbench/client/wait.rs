//! The server's answers.

use engine::{Io, Step};
use protocol::postgres::Message;
use script::{Action, Capture};

use super::{PgbenchClient, State};

impl PgbenchClient {
    /// Takes all whole messages; stops early when one changes what the client does.
    pub(super) fn messages(&mut self, data: &[u8], used: &mut usize, io: &mut Io<'_>) -> Step {
        loop {
            match self.link.session.next(data, used) {
                Ok(None) => return Step::Wait,
                Ok(Some(message)) => {
                    if let Some(step) = self.message(&message, io) {
                        return step;
                    }
                }
                Err(broken) => return self.abort_command(&broken.to_string(), io),
            }
        }
    }

    fn message(&mut self, message: &Message<'_>, io: &mut Io<'_>) -> Option<Step> {
        match message {
            Message::RowDescription(description) if self.captures() => self.captured.columns(description),
            Message::DataRow(row) => self.captured.row(row),
            Message::CommandComplete(_) | Message::EmptyQuery => self.end_result(),
            Message::ReadyForQuery(_) => return self.server_ready(io),
            Message::ParseComplete => {
                self.parsing.pop_front();
            }
            Message::Error(fields) => {
                let error = fields.to_owned();
                if error.is_fatal() || self.state == State::Idle {
                    let text = error.to_string();
                    return Some(self.abort_command(&text, io));
                }
                self.error.get_or_insert_with(|| Box::new(error));
            }
            Message::Notice(fields) => io.message(fields.to_owned().to_string()),
            Message::CopyIn(_) | Message::CopyOut(_) | Message::CopyBoth(_) => {
                return Some(self.give_up("COPY is not supported in pgbench, aborting".to_owned(), io));
            }
            _ => {}
        }
        None
    }

    /// Whether the statement under way stores its rows.
    fn captures(&self) -> bool {
        !matches!(self.capture(), Capture::None)
    }

    fn capture(&self) -> &Capture {
        let script = &self.program.scripts.scripts()[self.script];
        match script.commands.get(self.cursor.command()).map(|command| &command.action) {
            Some(Action::Sql(statement)) if !self.in_pipeline => &statement.capture,
            _ => &Capture::None,
        }
    }

    /// A statement of the command ended well. `\aset` takes every result; `\gset` only the last one, which is known
    /// when the server is ready.
    fn end_result(&mut self) {
        self.results += 1;
        let Capture::Aset(prefix) = self.capture() else { return };
        let prefix = prefix.clone();
        if self.captured.rows > 0 {
            self.store("aset", &prefix);
        }
        self.captured.clear();
    }

    fn store(&mut self, command: &'static str, prefix: &[u8]) {
        if let Err((error, name)) = self.captured.store(command, prefix, &mut self.variables) {
            let place = self.place(self.results.saturating_sub(1));
            let message = format!("{error}\n{place}: error storing into variable {name}");
            self.fatal.get_or_insert(message);
        }
    }

    /// The server answered a Query or a Sync.
    fn server_ready(&mut self, io: &mut Io<'_>) -> Option<Step> {
        self.syncs = self.syncs.saturating_sub(1);
        if self.syncs > 0 {
            return None;
        }
        match self.state {
            State::Waiting => Some(self.end_statement(io)),
            State::RollingBack => Some(self.rolled_back(io)),
            _ => None,
        }
    }

    /// All answers to the statement, or to the pipeline, are there.
    fn end_statement(&mut self, io: &mut Io<'_>) -> Step {
        // What was to be parsed behind an error was not.
        while let Some(number) = self.parsing.pop_front() {
            self.parsed[number] = false;
        }
        if let Some(error) = self.error.take() {
            return self.statement_failed(*error, io);
        }
        if let Capture::Gset(prefix) = self.capture() {
            let prefix = prefix.clone();
            match self.captured.rows {
                1 => self.store("gset", &prefix),
                rows => {
                    let place = self.place(self.results.saturating_sub(1));
                    self.fatal = Some(format!("{place}: expected one row, got {rows}"));
                }
            }
        }
        if let Some(message) = self.fatal.take() {
            return self.give_up(message, io);
        }
        self.end_command(false, io);
        self.advance(io)
    }

    /// `client 0 script 0 command 2 query 0`, as pgbench's messages begin.
    fn place(&self, query: u32) -> String {
        let (number, script, command) = (self.number, self.script, self.cursor.command());
        format!("client {number} script {script} command {command} query {query}")
    }

    /// Gives up because of what the server said in the command under way.
    pub(super) fn abort_command(&mut self, reason: &str, io: &mut Io<'_>) -> Step {
        let message = format!(
            "client {} script {} aborted in command {} query {}: {}",
            self.number,
            self.script,
            self.cursor.command(),
            self.results,
            reason.trim_end()
        );
        self.give_up(message, io)
    }
}
