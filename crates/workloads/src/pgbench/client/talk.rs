//! What a client says, in pgbench's words.

use engine::{Io, Level};
use script::{Action, Command, EvalError};

use super::PgbenchClient;

impl PgbenchClient {
    /// A step, for those who look for a mistake; only called where that is asked for.
    pub(super) fn debug(&self, what: std::fmt::Arguments<'_>, io: &mut Io<'_>) {
        io.say(Level::Debug, format!("client {} {what}", self.number));
    }

    pub(super) fn tell_script(&self, io: &mut Io<'_>) {
        let name = &self.program.scripts.scripts()[self.drawn].name;
        self.debug(format_args!("executing script \"{name}\""), io);
    }

    pub(super) fn tell_command(&self, command: &Command, io: &mut Io<'_>) {
        if !matches!(command.action, Action::Sql(_)) {
            self.debug(format_args!("executing \\{}", command.words.join(" ")), io);
        }
    }

    pub(super) fn tell_receiving(&self, io: &mut Io<'_>) {
        if self.program.manner.debug {
            self.debug(format_args!("receiving"), io);
        }
    }

    /// An error after which the transaction is retried or counted as failed.
    pub(super) fn tell_error(&self, text: &str, io: &mut Io<'_>) {
        if self.program.manner.verbose_errors {
            let (number, command, script) = (self.number, self.cursor.command(), self.running);
            let place = format!("client {number} got an error in command {command} (SQL) of script {script}");
            io.say(Level::Info, format!("{place}; {text}"));
        }
    }

    /// What becomes of the transaction after an error.
    pub(super) fn tell_try(&self, again: bool, io: &mut Io<'_>) {
        if !self.program.manner.verbose_errors {
            return;
        }
        let what =
            if again { "repeats the transaction after the error" } else { "ends the failed transaction" };
        let mut text = format!("client {} {what} (try {}", self.number, self.tries);
        if self.program.max_tries > 0 {
            text.push_str(&format!("/{}", self.program.max_tries));
        }
        if let Some(limit) = self.program.latency_limit {
            let used = 100.0 * io.now.saturating_sub(self.due) as f64 / limit as f64;
            text.push_str(&format!(", {used:.3}% of the maximum time of tries was used"));
        }
        text.push(')');
        io.say(Level::Info, text);
    }

    /// Last words: the client cannot go on whatever the command.
    pub(super) fn aborted(&self, reason: &str) -> String {
        match self.startup_place() {
            Some(place) => format!("{place}: {reason}"),
            None => format!("client {} aborted: {reason}", self.number),
        }
    }

    /// Last words: a command failed, `kind` being what it is called (`SQL`, or a backslash command).
    pub(super) fn command_failed(&self, kind: &str, reason: &str) -> String {
        if let Some(place) = self.startup_place() {
            return format!("{place}: {reason}");
        }
        let (number, script, command) = (self.number, self.running, self.cursor.command());
        format!("client {number} aborted in command {command} ({kind}) of script {script}; {reason}")
    }

    /// Last words: the server's answer to a query of a command is not what it must be.
    pub(super) fn query_failed(&self, query: u32, reason: &str) -> String {
        if let Some(place) = self.startup_place() {
            return format!("{place}: {reason}");
        }
        let (number, script, command) = (self.number, self.running, self.cursor.command());
        format!("client {number} script {script} aborted in command {command} query {query}: {reason}")
    }

    /// Last words: what came cannot be stored.
    pub(super) fn capture_failed(&self, query: u32, reason: &str) -> String {
        if let Some(place) = self.startup_place() {
            return format!("{place}: {reason}");
        }
        let (number, script, command) = (self.number, self.running, self.cursor.command());
        format!("client {number} script {script} command {command} query {query}: {reason}")
    }

    pub(super) fn rolling_back_failed(&self, reason: &str) -> String {
        let number = self.number;
        format!("client {number} aborted while rolling back the transaction after an error; {reason}")
    }

    /// What led to the end of a backslash command.
    pub(super) fn causes(&self, error: &EvalError) -> Vec<String> {
        match error {
            // pgbench says nothing here.
            EvalError::EmptyVariable { .. } if self.program.drop_in => Vec::new(),
            error => vec![error.to_string()],
        }
    }
}
