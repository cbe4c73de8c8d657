//! Runs the commands of a script.

use std::sync::Arc;

use engine::{Abort, Io, MessageLevel, Step};
use protocol::postgres::{Want, frontend};
use script::{Action, Capture, Script, ScriptCommand, Shell, Statement};

use super::exchange::{StatementReference, extended, shown};
use super::script_run::RefusedCommand;
use super::words::{Lossy, SEND_FAILED, causes};
use super::{ClientState, PgbenchClient, shell};
use crate::pgbench::ShellCommand;
use crate::pgbench::options::QueryProtocol;

/// What the client does after a command.
enum Flow {
    /// Continue with the next command, with the value of a condition.
    Next(bool),
    Pause(Step),
    Abort(Box<Abort>),
}

impl From<Abort> for Flow {
    fn from(abort: Abort) -> Self {
        Self::Abort(Box::new(abort))
    }
}

impl PgbenchClient {
    /// Runs commands until one must wait, or the script ends.
    pub(super) fn advance(&mut self, io: &mut Io<'_>) -> Step {
        self.run(false, io)
    }

    /// As [`Self::advance`]; the first command began before, and can continue.
    pub(super) fn resume(&mut self, io: &mut Io<'_>) -> Step {
        self.run(true, io)
    }

    fn run(&mut self, mut resumed: bool, io: &mut Io<'_>) -> Step {
        let program = Arc::clone(&self.program);
        let script = self.script.script(&program);
        loop {
            let Some(command) = self.script.command(&program) else { return self.end_script(io) };
            if !std::mem::take(&mut resumed) {
                self.script.begin_command(io.now);
                self.reporter.command(command, io);
            }
            match self.command(script, command, io) {
                Flow::Next(truth) => self.script.end_command(truth, &program, io),
                Flow::Pause(step) => return step,
                Flow::Abort(abort) => return self.give_up(*abort, io),
            }
        }
    }

    /// Ends the current command successfully and moves to the next one.
    pub(super) fn end_command(&mut self, io: &mut Io<'_>) -> Step {
        self.script.end_command(true, &self.program, io);
        self.advance(io)
    }

    fn command(&mut self, script: &Script, command: &ScriptCommand, io: &mut Io<'_>) -> Flow {
        if let Some(truth) = self.script.condition(script, command, io) {
            return truth.map_or_else(|failed| self.failed(&failed), Flow::Next);
        }
        match &command.action {
            Action::Sql(statement) => self.start_statement(statement, io),
            Action::Set { target, expression } => {
                let set = self.script.set(command, target, expression, io);
                set.map_or_else(|failed| self.failed(&failed), |()| Flow::Next(true))
            }
            Action::Sleep(sleep) => match self.script.pause(sleep) {
                Ok(pause) => {
                    self.state = ClientState::Sleeping;
                    Flow::Pause(Step::Until(io.now.saturating_add(pause)))
                }
                Err(failed) => self.failed(&failed),
            },
            Action::Shell(shell) => self.start_shell(shell, "shell", io),
            Action::SetShell { shell, .. } => self.start_shell(shell, "setshell", io),
            Action::StartPipeline => self.start_pipeline(io),
            Action::SyncPipeline => self.sync_pipeline(),
            Action::EndPipeline => self.end_pipeline(io),
            Action::If { .. } | Action::Elif { .. } | Action::Else { .. } | Action::Endif => Flow::Next(true),
        }
    }

    /// A backslash command failed.
    fn failed(&self, failed: &RefusedCommand<'_>) -> Flow {
        let causes = causes(&failed.error, self.program.drop_in);
        Abort { causes, ..self.position().failed(failed.name, failed.reason) }.into()
    }

    fn start_statement(&mut self, statement: &Statement, io: &mut Io<'_>) -> Flow {
        let in_pipeline = self.pipeline.is_open();
        if in_pipeline && statement.capture != Capture::None {
            let name = if matches!(statement.capture, Capture::Aset(_)) { "aset" } else { "gset" };
            let reason = format!("\\{name} is not allowed in pipeline mode");
            return self.position().failed(name, &reason).into();
        }
        let prepared = self.script.mode(&self.program) == QueryProtocol::Prepared;
        if let Some(abort) = self.unusable() {
            if self.comes_back() {
                return Flow::Pause(self.found_lost(&abort.message, io));
            }
            let conn = self.conns.current();
            if prepared && !in_pipeline && !conn.is_prepared(self.script.number(&self.program)) {
                let causes = vec![conn.lost_text(protocol::wording::CLOSED)];
                return Abort { causes, lost: true, ..self.position().failed("SQL", SEND_FAILED) }.into();
            }
            return abort.into();
        }
        if prepared {
            match self.prepare_statement(statement, io) {
                Ok(true) => return Flow::Pause(Step::Wait),
                Ok(false) => {}
                Err(abort) => return abort.into(),
            }
        }
        if !self.send(statement, io) {
            return self.position().failed("SQL", SEND_FAILED).into();
        }
        if in_pipeline { Flow::Next(true) } else { self.wait_for_server(io) }
    }

    fn wait_for_server(&mut self, io: &mut Io<'_>) -> Flow {
        self.state = ClientState::Waiting;
        self.reporter.receiving(io);
        Flow::Pause(Step::Wait)
    }

    /// The reason to stop, if the server closed the idle current connection.
    fn unusable(&self) -> Option<Abort> {
        let conn = self.conns.current();
        match &conn.last_message {
            Some(error) => Some(Abort { lost: true, ..self.position().query_failed(0, &error.to_string()) }),
            None if conn.link.is_up() => None,
            None => Some(self.position().died()),
        }
    }

    /// Prepares the statement of the current command in a separate request, if necessary on this connection;
    /// true when the answer must be awaited. A statement that cannot be prepared fails like one that cannot
    /// be executed. The drop-in reports the error and uses the statement nevertheless, as pgbench does: a
    /// second error then ends the client.
    fn prepare_statement(&mut self, statement: &Statement, io: &mut Io<'_>) -> Result<bool, Abort> {
        let command = self.script.number(&self.program);
        if self.conns.current_mut().prepare(command) {
            return Ok(false);
        }
        if !self.pipeline.is_off() {
            // After a branch that ends the pipeline, and was not taken.
            let text = "synchronous command execution functions are not allowed in pipeline mode";
            if !self.program.drop_in {
                return Err(self.position().failed("SQL", text));
            }
            io.say(MessageLevel::Error, text.to_owned());
            return Ok(false);
        }
        self.request(command, statement.number, io);
        self.state = ClientState::Preparing;
        Ok(true)
    }

    /// Prepares the statements of the pipeline that begins, if necessary; true when the answers must be
    /// awaited.
    fn prepare_pipeline(&mut self, io: &mut Io<'_>) -> bool {
        let program = Arc::clone(&self.program);
        if self.conns.current_mut().prepare(self.script.number(&program)) {
            return false;
        }
        for (command, statement) in self.script.pipeline(&program) {
            if !self.conns.current_mut().prepare(command) {
                self.request(command, statement.number, io);
            }
        }
        let waits = self.exchange.prepares();
        if waits {
            self.state = ClientState::Preparing;
        }
        waits
    }

    fn request(&mut self, command: usize, number: usize, io: &mut Io<'_>) {
        let (name, text) = (self.conns.current().names.of(number), &self.program.texts[number]);
        self.reporter.debug(format_args!("preparing {name}"), io);
        self.exchange.prepare((command, number), (name, text), io.out(self.conns.at));
    }

    /// Sends a statement and prepares to read its answers; false when that is impossible.
    fn send(&mut self, statement: &Statement, io: &mut Io<'_>) -> bool {
        let keep = statement.capture != Capture::None;
        self.conns.current_mut().link.connection.request_rows(if keep { Want::Read } else { Want::Skip });
        if self.pipeline.is_off() {
            self.exchange.begin();
        }
        let (at, variables) = (self.conns.at, &self.script.variables);
        let prepared = match self.script.mode(&self.program) {
            QueryProtocol::Simple => {
                let text = self.exchange.query(statement, variables);
                self.reporter.debug(format_args!("sending {}", Lossy(text)), io);
                frontend::query(io.out(at), text);
                return true;
            }
            mode => mode == QueryProtocol::Prepared,
        };
        let asked = match prepared {
            true => StatementReference::Name(self.conns.current().names.of(statement.number)),
            false => StatementReference::Text(&self.program.texts[statement.number]),
        };
        self.reporter.debug(format_args!("sending {}", shown(asked)), io);
        if self.pipeline.is_open() {
            let sent = extended(statement, asked, variables, &mut self.pipeline.held);
            if sent {
                self.pipeline.add(statement.number, io.out(at));
            }
            return sent;
        }
        let out = io.out(at);
        let sent = extended(statement, asked, variables, out);
        if sent {
            self.exchange.sync(out);
        }
        sent
    }

    /// Begins a pipeline. Its statements are prepared first: a transaction that begins in it must not find
    /// that preparing already took a snapshot.
    fn start_pipeline(&mut self, io: &mut Io<'_>) -> Flow {
        let mode = self.script.mode(&self.program);
        if mode == QueryProtocol::Simple {
            let reason = "cannot use pipeline mode with the simple query protocol";
            return self.position().failed("startpipeline", reason).into();
        }
        if mode == QueryProtocol::Prepared && self.prepare_pipeline(io) {
            return Flow::Pause(Step::Wait);
        }
        if !self.pipeline.is_off() {
            return self.position().failed("startpipeline", "already in pipeline mode").into();
        }
        self.pipeline.open();
        self.exchange.results = 0;
        Flow::Next(true)
    }

    fn sync_pipeline(&mut self) -> Flow {
        if !self.pipeline.is_open() {
            return self.position().failed("syncpipeline", "not in pipeline mode").into();
        }
        self.exchange.sync(&mut self.pipeline.held);
        Flow::Next(true)
    }

    fn end_pipeline(&mut self, io: &mut Io<'_>) -> Flow {
        if !self.pipeline.is_open() {
            return self.position().failed("endpipeline", "not in pipeline mode").into();
        }
        if let Some(abort) = self.unusable() {
            if self.comes_back() {
                return Flow::Pause(self.found_lost(&abort.message, io));
            }
            return abort.into();
        }
        self.exchange.sync(&mut self.pipeline.held);
        self.pipeline.end(io.out(self.conns.at));
        self.wait_for_server(io)
    }

    /// Starts the command of `\shell` or `\setshell` (`name`).
    fn start_shell(&mut self, shell: &Shell, name: &'static str, io: &mut Io<'_>) -> Flow {
        let mut text = Vec::new();
        if let Err(error) = shell.append_command(&self.script.variables, &mut text) {
            return self.failed(&RefusedCommand { name, error, reason: shell::FAILED });
        }
        let Some(runner) = &self.program.drop_in_options.shell else {
            // Refused when the scripts were parsed.
            return self.position().failed(name, shell::FAILED).into();
        };
        self.shells.start(&**runner, ShellCommand { text, capture: name == "setshell" }, io);
        self.state = ClientState::Shell;
        Flow::Pause(Step::Wait)
    }

    /// Another thread woke the client: its command ended, or the wake-up is outdated.
    pub(super) fn woken(&mut self, io: &mut Io<'_>) -> Step {
        if self.state != ClientState::Shell {
            return Step::Wait;
        }
        let Some(done) = self.shells.take() else { return Step::Wait };
        let program = Arc::clone(&self.program);
        let Some(command) = self.script.command(&program) else { return Step::Wait };
        let variables = &mut self.script.variables;
        let (name, ended) = match &command.action {
            Action::SetShell { target, shell } => {
                let set = shell::set((command, target, shell), &done, variables, self.reporter.debug, io);
                ("setshell", set)
            }
            Action::Shell(shell) => ("shell", shell::ended(shell, &done, variables, io.stopping)),
            _ => return Step::Wait,
        };
        match ended {
            Ok(()) => self.end_command(io),
            Err(causes) => {
                let abort = Abort { causes, ..self.position().failed(name, shell::FAILED) };
                self.give_up(abort, io)
            }
        }
    }
}
