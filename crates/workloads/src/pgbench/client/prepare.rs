//! Statements are prepared by a request of their own, before their first use on a connection.
//!
//! As in pgbench, one that cannot be prepared is told and then used nevertheless: the second error ends the client.

use engine::{Io, Level};
use protocol::postgres::{ServerError, frontend};
use script::{Action, Script, Statement};

use super::pipeline::Pipeline;
use super::{PgbenchClient, State};

impl PgbenchClient {
    /// Whether the statement of the command under way was prepared on the connection in use, or that was tried.
    pub(super) fn is_prepared(&self) -> bool {
        self.conns[self.at].prepared[self.command_number()]
    }

    /// Prepares the statement of the command under way, if that was not done; true when that must be waited for.
    pub(super) fn prepare_statement(&mut self, statement: &Statement, io: &mut Io<'_>) -> bool {
        let number = self.command_number();
        if std::mem::replace(&mut self.conns[self.at].prepared[number], true) {
            return false;
        }
        if self.pipeline != Pipeline::Off {
            // Behind a branch that ends the pipeline, and was not taken.
            let text = "synchronous command execution functions are not allowed in pipeline mode";
            io.say(Level::Error, text.to_owned());
            return false;
        }
        self.request(statement.number, io);
        self.state = State::Preparing;
        true
    }

    /// Prepares the statements of the pipeline that begins, if that was not done; true when that must be waited for.
    pub(super) fn prepare_pipeline(&mut self, script: &Script, io: &mut Io<'_>) -> bool {
        let begin = self.command_number();
        if std::mem::replace(&mut self.conns[self.at].prepared[begin], true) {
            return false;
        }
        let first = self.program.first_command[self.running];
        for index in self.pipeline_commands(script) {
            if let Action::Sql(statement) = &script.commands[index].action
                && !std::mem::replace(&mut self.conns[self.at].prepared[first + index], true)
            {
                self.request(statement.number, io);
            }
        }
        let waits = !self.preparing.is_empty();
        if waits {
            self.state = State::Preparing;
        }
        waits
    }

    fn request(&mut self, number: usize, io: &mut Io<'_>) {
        let text = &self.program.texts[number];
        if self.program.manner.debug {
            self.debug(format_args!("preparing {}", text.name), io);
        }
        let out = io.out(self.at);
        frontend::parse(out, &text.name, &text.text, &[]);
        frontend::sync(out);
        self.syncs += 1;
        self.preparing.push_back(number);
    }

    /// A statement cannot be prepared; when its session ends with it, that is told as the connection goes.
    pub(super) fn not_prepared(&mut self, error: ServerError, io: &mut Io<'_>) {
        if error.is_fatal() {
            self.conns[self.at].last_words = Some(Box::new(error));
            return;
        }
        let number = self.preparing.front();
        let query = number.map(|number| String::from_utf8_lossy(&self.program.texts[*number].text));
        let text = error.libpq_text(query.as_deref());
        io.say(Level::Error, text.strip_suffix('\n').unwrap_or(&text).to_owned());
    }
}
