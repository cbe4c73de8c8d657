//! The interpreter: from one command to the next.

use std::sync::Arc;

use engine::{Io, StatementEnd, Step};
use script::{Action, Capture, Command, DebugLine, EvalError, Expression, Script, Statement, Value};

use super::pipeline::Pipeline;
use super::{PgbenchClient, State};
use crate::pgbench::options::Mode;

/// What pgbench says when libpq does not take a statement.
pub(super) const SEND_FAILED: &str = "SQL command send failed";

/// What a command asks of the client.
pub(super) enum Flow {
    /// Go on with the next command; the truth of the condition, if it was one.
    Next(bool),
    /// Wait for what was begun.
    Pause(Step),
    /// Give up: what led to it, and the last words.
    Abort(Vec<String>, String),
}

impl PgbenchClient {
    /// Runs commands until one must be waited for, or the script ends.
    pub(super) fn advance(&mut self, io: &mut Io<'_>) -> Step {
        let commands = self.program.scripts.scripts()[self.running].commands.len();
        if self.cursor.command() < commands { self.run(false, io) } else { self.end_script(io) }
    }

    /// The same, but the first command began before: what it needed is there now.
    pub(super) fn resume(&mut self, io: &mut Io<'_>) -> Step {
        self.run(true, io)
    }

    fn run(&mut self, mut resumed: bool, io: &mut Io<'_>) -> Step {
        let program = Arc::clone(&self.program);
        let script = &program.scripts.scripts()[self.running];
        loop {
            let Some(command) = script.commands.get(self.cursor.command()) else {
                return self.end_script(io);
            };
            if !std::mem::take(&mut resumed) {
                self.command_began = io.now;
                if program.manner.debug {
                    self.tell_command(command, io);
                }
            }
            match self.command(script, command, io) {
                Flow::Next(truth) => {
                    self.report(StatementEnd::Completed(io.now.saturating_sub(self.command_began)), io);
                    self.cursor = self.cursor.next(script, truth);
                }
                Flow::Pause(step) => return step,
                Flow::Abort(causes, message) => return self.give_up(causes, message, io),
            }
        }
    }

    /// Ends the command under way well and moves on to the next one.
    pub(super) fn end_command(&mut self, io: &mut Io<'_>) {
        self.report(StatementEnd::Completed(io.now.saturating_sub(self.command_began)), io);
        let script = &self.program.scripts.scripts()[self.running];
        self.cursor = self.cursor.next(script, true);
    }

    /// Records how the command under way ended, if asked for.
    #[inline]
    pub(super) fn report(&mut self, end: StatementEnd, io: &mut Io<'_>) {
        if self.report_statements && !self.startup.is_running() {
            io.statement(self.command_number(), end);
        }
    }

    /// Number of the command under way over all scripts.
    pub(super) fn command_number(&self) -> usize {
        self.program.first_command[self.running] + self.cursor.command()
    }

    fn command(&mut self, script: &Script, command: &Command, io: &mut Io<'_>) -> Flow {
        if let Some(condition) = self.cursor.condition(script) {
            return match self.evaluate(condition, io) {
                Ok(value) => Flow::Next(value.truth()),
                Err(error) => self.meta_failed(name(command), &error, "evaluation of meta-command failed"),
            };
        }
        match &command.action {
            Action::Sql(statement) => self.sql(statement, io),
            Action::Set { target, expression } => self.set(command, target, expression, io),
            Action::Sleep(sleep) => self.sleep(sleep, io),
            Action::Shell(shell) => self.start_shell(shell, "shell", io),
            Action::SetShell { shell, .. } => self.start_shell(shell, "setshell", io),
            Action::StartPipeline => self.start_pipeline(script, io),
            Action::SyncPipeline => self.sync_pipeline(),
            Action::EndPipeline => self.end_pipeline(io),
            Action::If { .. } | Action::Elif { .. } | Action::Else { .. } | Action::Endif => Flow::Next(true),
        }
    }

    fn sql(&mut self, statement: &Statement, io: &mut Io<'_>) -> Flow {
        let in_pipeline = self.pipeline == Pipeline::Open;
        if in_pipeline && statement.capture != Capture::None {
            let name = if matches!(statement.capture, Capture::Aset(_)) { "aset" } else { "gset" };
            let reason = format!("\\{name} is not allowed in pipeline mode");
            return Flow::Abort(Vec::new(), self.command_failed(name, &reason));
        }
        let prepared = self.mode() == Mode::Prepared;
        if let Some(message) = self.unusable() {
            if self.comes_back() {
                return Flow::Pause(self.found_lost(&message, io));
            }
            return match prepared && !in_pipeline && !self.is_prepared() {
                true => Flow::Abort(
                    vec![self.lost_words(protocol::wording::CLOSED)],
                    self.command_failed("SQL", SEND_FAILED),
                ),
                false => Flow::Abort(Vec::new(), message),
            };
        }
        if prepared && self.prepare_statement(statement, io) {
            return Flow::Pause(Step::Wait);
        }
        if !self.send(statement, io) {
            return Flow::Abort(Vec::new(), self.command_failed("SQL", SEND_FAILED));
        }
        if in_pipeline { Flow::Next(true) } else { self.wait_for_server(io) }
    }

    pub(super) fn wait_for_server(&mut self, io: &mut Io<'_>) -> Flow {
        self.state = State::Waiting;
        self.tell_receiving(io);
        Flow::Pause(Step::Wait)
    }

    /// Last words, if the session in use ended while nothing was asked of it.
    pub(super) fn unusable(&self) -> Option<String> {
        let conn = &self.conns[self.at];
        match &conn.last_words {
            Some(error) => Some(self.query_failed(0, &error.to_string())),
            None if conn.link.is_up() => None,
            None => Some(self.command_failed("SQL", "perhaps the backend died while processing")),
        }
    }

    /// What libpq says of a session in use that ended: the server's last words, and how the connection went.
    pub(super) fn lost_words(&self, reason: &str) -> String {
        match &self.conns[self.at].last_words {
            Some(error) => format!("{error}\n{reason}"),
            None => reason.to_owned(),
        }
    }

    /// How statements are sent: the startup script's by the simple protocol, which takes all of them.
    #[inline]
    pub(super) fn mode(&self) -> Mode {
        if self.startup.is_running() { Mode::Simple } else { self.program.mode }
    }

    pub(super) fn evaluate(&mut self, expression: &Expression, io: &mut Io<'_>) -> Result<Value, EvalError> {
        let (script, command) = (self.running, self.cursor.command());
        expression.eval(&mut self.variables, &mut self.random, &mut |value| {
            io.message(DebugLine { script, command, value }.to_string());
        })
    }

    /// A backslash command cannot be done; `name` is what pgbench calls it.
    pub(super) fn meta_failed(&self, name: &str, error: &EvalError, reason: &str) -> Flow {
        Flow::Abort(self.causes(error), self.command_failed(name, reason))
    }
}

/// A backslash command's name as written.
pub(super) fn name(command: &Command) -> &str {
    command.words.first().map_or("", String::as_str)
}
