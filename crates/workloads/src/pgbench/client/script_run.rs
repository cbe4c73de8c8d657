//! A client's state in its scripts: the cursor, the variables, the random streams.

use engine::{Io, StatementEnd, Time};
use script::{
    Action, AssignmentTarget, Capture, Cursor, DebugLine, EvalError, Expression, Random, Script,
    ScriptCommand, Sleep, Statement, Value, Variables,
};

use super::words::Position;
use crate::pgbench::options::QueryProtocol;
use crate::pgbench::prepare::PreparedScripts;

/// Mixed with the run's seed, so that the startup script does not change the client's numbers.
const STREAM: u64 = 0x7374_6172_7475_7000;

/// The running script: of the transaction, or the startup script.
#[derive(Debug)]
pub(super) struct ScriptRun {
    script: usize,
    cursor: Cursor,
    pub(super) variables: Variables,
    random: Random,
    /// The stream at the start of the transaction: a retry draws the same values.
    random_at_start: Random,
    startup: Startup,
    /// Whether the end of each command is recorded.
    timed: bool,
    /// Start of the current command.
    command_began: Time,
}

/// The startup script: once on each new connection, outside the measurement.
#[derive(Debug)]
struct Startup {
    /// Its stream while it does not run; the client's while it runs.
    random: Random,
    running: bool,
}

/// A backslash command that cannot be done.
#[derive(Debug)]
pub(super) struct RefusedCommand<'a> {
    /// Its name in pgbench.
    pub(super) name: &'a str,
    pub(super) error: EvalError,
    pub(super) reason: &'static str,
}

impl ScriptRun {
    pub(super) fn new(client: usize, seed: u64, variables: Variables, random: Random, timed: bool) -> Self {
        let startup = Random::new(seed ^ STREAM.wrapping_add(client as u64));
        Self {
            script: 0,
            cursor: Cursor::start(),
            variables,
            random_at_start: random.clone(),
            random,
            startup: Startup { random: startup, running: false },
            timed,
            command_began: 0,
        }
    }

    pub(super) fn choose(&mut self, script: usize) {
        self.script = script;
    }

    pub(super) fn start(&mut self) {
        self.random_at_start = self.random.clone();
        self.cursor = Cursor::start();
    }

    /// The transaction starts again with the same random numbers; variables keep their values, as in pgbench.
    pub(super) fn again(&mut self) {
        self.random = self.random_at_start.clone();
        self.cursor = Cursor::start();
    }

    pub(super) fn enter_startup(&mut self, script: usize) {
        self.script = script;
        self.cursor = Cursor::start();
        std::mem::swap(&mut self.startup.random, &mut self.random);
        self.startup.running = true;
    }

    /// The startup script is over; `script` comes next.
    pub(super) fn leave_startup(&mut self, script: usize) {
        if std::mem::take(&mut self.startup.running) {
            std::mem::swap(&mut self.startup.random, &mut self.random);
            self.script = script;
        }
    }

    #[inline]
    pub(super) fn in_startup(&self) -> bool {
        self.startup.running
    }

    pub(super) fn script<'p>(&self, program: &'p PreparedScripts) -> &'p Script {
        &program.scripts.scripts()[self.script]
    }

    /// The current command; `None` after the last one.
    pub(super) fn command<'p>(&self, program: &'p PreparedScripts) -> Option<&'p ScriptCommand> {
        self.script(program).commands.get(self.cursor.command())
    }

    /// Number of the current command over all scripts.
    pub(super) fn number(&self, program: &PreparedScripts) -> usize {
        program.first_command[self.script] + self.cursor.command()
    }

    /// The statements of the pipeline that begins here, up to its end as written, with their commands'
    /// numbers.
    pub(super) fn pipeline<'p>(
        &self,
        program: &'p PreparedScripts,
    ) -> impl Iterator<Item = (usize, &'p Statement)> + use<'p> {
        let first = self.number(program) + 1;
        let rest = &self.script(program).commands[self.cursor.command() + 1..];
        let inside = rest.iter().take_while(|command| !matches!(command.action, Action::EndPipeline));
        (first..).zip(inside).filter_map(|(number, command)| match &command.action {
            Action::Sql(statement) => Some((number, statement)),
            _ => None,
        })
    }

    /// How the rows of the current command are captured, outside of pipelines.
    pub(super) fn capture<'p>(&self, program: &'p PreparedScripts) -> &'p Capture {
        match self.command(program).map(|command| &command.action) {
            Some(Action::Sql(statement)) => &statement.capture,
            _ => &Capture::None,
        }
    }

    /// The query mode: the startup script uses the simple protocol, which supports every statement.
    #[inline]
    pub(super) fn mode(&self, program: &PreparedScripts) -> QueryProtocol {
        if self.startup.running { QueryProtocol::Simple } else { program.options.mode }
    }

    pub(super) fn position<'p>(&self, client: usize, program: &'p PreparedScripts) -> Position<'p> {
        let script = self.script(program);
        let command = self.command(program);
        // After the last command it is that one.
        let startup = command.or(script.commands.last()).filter(|_| self.startup.running);
        let named = command.is_some() || startup.is_some();
        Position {
            client,
            script: self.script,
            command: self.cursor.command(),
            statement: named.then(|| self.number(program)),
            startup: startup.map(|command| (script.name.as_str(), command.line)),
        }
    }

    pub(super) fn begin_command(&mut self, now: Time) {
        self.command_began = now;
    }

    /// The current command succeeded: moves to the next one. `truth` is the value of a condition.
    #[inline]
    pub(super) fn end_command(&mut self, truth: bool, program: &PreparedScripts, io: &mut Io<'_>) {
        self.report(StatementEnd::Completed(io.now.saturating_sub(self.command_began)), program, io);
        self.cursor = self.cursor.next(self.script(program), truth);
    }

    /// Records how the current command ended, if requested.
    #[inline]
    pub(super) fn report(&self, end: StatementEnd, program: &PreparedScripts, io: &mut Io<'_>) {
        if self.timed && !self.startup.running {
            io.statement(self.number(program), end);
        }
    }

    /// The condition of the current command, if it is one.
    pub(super) fn condition<'p>(
        &mut self,
        script: &'p Script,
        command: &'p ScriptCommand,
        io: &mut Io<'_>,
    ) -> Option<Result<bool, RefusedCommand<'p>>> {
        let condition = self.cursor.condition(script)?;
        Some(self.evaluate(condition, command, io).map(|value| value.truth()))
    }

    pub(super) fn set<'p>(
        &mut self,
        command: &'p ScriptCommand,
        target: &AssignmentTarget,
        expression: &Expression,
        io: &mut Io<'_>,
    ) -> Result<(), RefusedCommand<'p>> {
        let value = self.evaluate(expression, command, io)?;
        target.store(&mut self.variables, name(command), value).map_err(|error| RefusedCommand {
            name: "set",
            error,
            reason: "assignment of meta-command failed",
        })
    }

    /// How long `\sleep` takes, ns.
    pub(super) fn pause(&self, sleep: &Sleep) -> Result<u64, RefusedCommand<'static>> {
        match sleep.duration(&self.variables) {
            Ok(pause) => Ok(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX)),
            Err(error) => {
                Err(RefusedCommand { name: "sleep", error, reason: "execution of meta-command failed" })
            }
        }
    }

    fn evaluate<'p>(
        &mut self,
        expression: &Expression,
        within: &'p ScriptCommand,
        io: &mut Io<'_>,
    ) -> Result<Value, RefusedCommand<'p>> {
        let (script, command) = (self.script, self.cursor.command());
        let value = expression.eval(&mut self.variables, &mut self.random, &mut |value| {
            io.message(DebugLine { script, command, value }.to_string());
        });
        let reason = "evaluation of meta-command failed";
        value.map_err(|error| RefusedCommand { name: name(within), error, reason })
    }
}

/// A backslash command's name as written.
fn name(command: &ScriptCommand) -> &str {
    command.words.first().map_or("", String::as_str)
}
