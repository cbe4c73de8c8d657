//! The interpreter: from one command to the next.

use std::sync::Arc;

use engine::{Io, Outcome, StatementEnd, Step};
use protocol::postgres::{TxStatus, frontend};
use script::{Action, Command, DebugLine, EvalError, Expression, Script, Target, Value};

use super::{LINK, PgbenchClient, State};
use crate::pgbench::options::Mode;

/// What a command asks of the client.
enum Flow {
    /// Go on with the next command; the truth of the condition, if it was one.
    Next(bool),
    /// Wait for what was begun.
    Pause(Step),
    /// Give up: why.
    Abort(String),
}

impl PgbenchClient {
    /// Runs commands until one must be waited for, or the script ends.
    pub(super) fn advance(&mut self, io: &mut Io<'_>) -> Step {
        let program = Arc::clone(&self.program);
        let script = &program.scripts.scripts()[self.script];
        loop {
            let Some(command) = script.commands.get(self.cursor.command()) else {
                return self.end_script(io);
            };
            self.command_began = io.now;
            match self.command(script, command, io) {
                Flow::Next(truth) => {
                    self.report(io, false);
                    self.cursor = self.cursor.next(script, truth);
                }
                Flow::Pause(step) => return step,
                Flow::Abort(message) => return self.give_up(message, io),
            }
        }
    }

    /// Ends the command under way and moves on to the next one.
    pub(super) fn end_command(&mut self, failed: bool, io: &mut Io<'_>) {
        self.report(io, failed);
        let script = &self.program.scripts.scripts()[self.script];
        self.cursor = self.cursor.next(script, true);
    }

    /// Records the latency of the command under way, if asked for.
    pub(super) fn report(&mut self, io: &mut Io<'_>, failed: bool) {
        if self.report_statements {
            let number = usize::from(self.program.first_command[self.script]) + self.cursor.command();
            let elapsed = io.now.saturating_sub(self.command_began);
            let end = if failed { StatementEnd::Failed } else { StatementEnd::Completed(elapsed) };
            io.statement(number as u16, end);
        }
    }

    fn command(&mut self, script: &Script, command: &Command, io: &mut Io<'_>) -> Flow {
        if let Some(condition) = self.cursor.condition(script) {
            return match self.evaluate(condition, io) {
                Ok(value) => Flow::Next(value.truth()),
                Err(error) => self.meta_failed(command, &error),
            };
        }
        match &command.action {
            Action::Sql(statement) if self.in_pipeline && statement.capture != script::Capture::None => {
                let name = match statement.capture {
                    script::Capture::Aset(_) => "aset",
                    _ => "gset",
                };
                Flow::Abort(format!("\\{name} is not allowed in pipeline mode"))
            }
            Action::Sql(statement) => match self.send(statement, io) {
                Err(error) => Flow::Abort(error),
                Ok(()) if self.in_pipeline => Flow::Next(true),
                Ok(()) => self.wait_for_server(),
            },
            Action::Set { target, expression } => {
                match self.evaluate(expression, io).and_then(|value| self.assign(target, value)) {
                    Ok(()) => Flow::Next(true),
                    Err(error) => self.meta_failed(command, &error),
                }
            }
            Action::Sleep(sleep) => match sleep.duration(&self.variables) {
                Ok(pause) => {
                    self.state = State::Sleeping;
                    let pause = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
                    Flow::Pause(Step::Until(io.now.saturating_add(pause)))
                }
                Err(error) => self.meta_failed(command, &error),
            },
            Action::StartPipeline => self.start_pipeline(command),
            Action::SyncPipeline if !self.in_pipeline => self.meta_aborted(command, "not in pipeline mode"),
            Action::SyncPipeline => {
                frontend::sync(io.out(LINK));
                self.syncs += 1;
                Flow::Next(true)
            }
            Action::EndPipeline if !self.in_pipeline => self.meta_aborted(command, "not in pipeline mode"),
            Action::EndPipeline => {
                frontend::sync(io.out(LINK));
                self.syncs += 1;
                self.in_pipeline = false;
                self.wait_for_server()
            }
            // Refused when the scripts were read.
            Action::Shell(_) | Action::SetShell { .. } => {
                self.meta_aborted(command, "shell commands are not supported")
            }
            Action::If { .. } | Action::Elif { .. } | Action::Else { .. } | Action::Endif => Flow::Next(true),
        }
    }

    fn wait_for_server(&mut self) -> Flow {
        self.state = State::Waiting;
        Flow::Pause(Step::Wait)
    }

    fn start_pipeline(&mut self, command: &Command) -> Flow {
        if self.program.mode == Mode::Simple {
            return self.meta_aborted(command, "cannot use pipeline mode with the simple query protocol");
        }
        if self.in_pipeline {
            return self.meta_aborted(command, "already in pipeline mode");
        }
        self.in_pipeline = true;
        self.results = 0;
        Flow::Next(true)
    }

    fn evaluate(&mut self, expression: &Expression, io: &mut Io<'_>) -> Result<Value, EvalError> {
        let (script, command) = (self.script, self.cursor.command());
        expression.eval(&mut self.variables, &mut self.random, &mut |value| {
            io.message(DebugLine { script, command, value }.to_string());
        })
    }

    fn assign(&mut self, target: &Target, value: Value) -> Result<(), EvalError> {
        match target {
            Target::Variable(slot) => {
                self.variables.set(*slot, value);
                Ok(())
            }
            Target::BadName(name) => self.variables.define("set", name.as_bytes(), b""),
        }
    }

    fn meta_failed(&self, command: &Command, error: &EvalError) -> Flow {
        let name = command.words.first().map_or("set", String::as_str);
        Flow::Abort(format!(
            "{error}\nclient {} aborted in command {} ({name}) of script {}; evaluation of meta-command failed",
            self.number,
            self.cursor.command(),
            self.script
        ))
    }

    fn meta_aborted(&self, command: &Command, reason: &str) -> Flow {
        let name = command.words.first().map_or("", String::as_str);
        Flow::Abort(format!(
            "client {} aborted in command {} ({name}) of script {}; {reason}",
            self.number,
            self.cursor.command(),
            self.script
        ))
    }

    /// All commands are done.
    fn end_script(&mut self, io: &mut Io<'_>) -> Step {
        let problem = if self.in_pipeline {
            Some("end of script reached with pipeline open")
        } else if self.link.session.status() != TxStatus::Idle {
            Some("end of script reached without completing the last transaction")
        } else {
            None
        };
        match problem {
            Some(problem) => self.give_up(format!("client {} aborted: {problem}", self.number), io),
            None => Step::Ended(self.outcome(None)),
        }
    }

    /// The transaction's end; the client is free for the next one.
    pub(super) fn outcome(&mut self, failure: Option<engine::Failure>) -> Outcome {
        self.state = State::Idle;
        let (rows, bytes) = self.link.session.take_counts();
        Outcome { script: self.script as u16, failure, tries: self.tries, rows, bytes }
    }
}
