//! A client's messages, in pgbench's words.

use std::fmt::{self, Arguments, Display};

use engine::{Abort, Io, MessageLevel};
use script::{Action, EvalError, ScriptCommand};

use super::transaction::Transaction;
use crate::pgbench::drop_in::DropInOptions;
use crate::pgbench::prepare::PreparedScripts;

/// pgbench's message when libpq does not accept a statement.
pub(super) const SEND_FAILED: &str = "SQL command send failed";
/// pgbench's message for a connection that ends without an error.
pub(super) const BACKEND_DIED: &str = "perhaps the backend died while processing";
pub(super) const BLOCK_OPEN: &str = "end of script reached without completing the last transaction";

/// A client's number, and which of its messages are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reporter {
    pub(super) client: usize,
    pub(super) debug: bool,
    verbose: bool,
}

impl Reporter {
    pub(super) fn new(client: usize, drop_in_options: &DropInOptions) -> Self {
        Self { client, debug: drop_in_options.debug, verbose: drop_in_options.verbose_errors }
    }

    #[inline]
    pub(super) fn debug(self, what: Arguments<'_>, io: &mut Io<'_>) {
        if self.debug {
            io.say(MessageLevel::Debug, format!("client {} {what}", self.client));
        }
    }

    pub(super) fn receiving(self, io: &mut Io<'_>) {
        self.debug(format_args!("receiving"), io);
    }

    pub(super) fn command(self, command: &ScriptCommand, io: &mut Io<'_>) {
        if self.debug && !matches!(command.action, Action::Sql(_)) {
            self.debug(format_args!("executing \\{}", command.words.join(" ")), io);
        }
    }

    fn info(self, what: Arguments<'_>, io: &mut Io<'_>) {
        if self.verbose {
            io.say(MessageLevel::Info, format!("client {} {what}", self.client));
        }
    }

    /// An error after which the transaction is retried or counted as failed.
    pub(super) fn report_error(self, at: &Position<'_>, text: &str, io: &mut Io<'_>) {
        let (command, script) = (at.command, at.script);
        self.info(format_args!("got an error in command {command} (SQL) of script {script}; {text}"), io);
    }

    /// What happens to the transaction after an error.
    pub(super) fn tried(
        self,
        again: bool,
        transaction: &Transaction,
        program: &PreparedScripts,
        io: &mut Io<'_>,
    ) {
        if !self.verbose {
            return;
        }
        let what =
            if again { "repeats the transaction after the error" } else { "ends the failed transaction" };
        let mut text = format!("{what} (try {}", transaction.tries);
        if program.options.max_tries > 0 {
            text.push_str(&format!("/{}", program.options.max_tries));
        }
        if let Some(promise) = program.options.promise() {
            let used = 100.0 * transaction.age(io.now) as f64 / promise as f64;
            text.push_str(&format!(", {used:.3}% of the maximum time of tries was used"));
        }
        self.info(format_args!("{text})"), io);
    }

    pub(super) fn lost(self, connecting: bool, reason: &str, io: &mut Io<'_>) {
        let what = if connecting { "could not connect again" } else { "lost its connection" };
        self.info(format_args!("{what}; {reason}"), io);
    }
}

/// A client's position in its scripts, for its last message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position<'a> {
    pub(super) client: usize,
    pub(super) script: usize,
    pub(super) command: usize,
    /// The command, counted over all scripts; `None` after the last one.
    pub(super) statement: Option<usize>,
    /// Name and line, in the startup script.
    pub(super) startup: Option<(&'a str, usize)>,
}

impl Position<'_> {
    /// The client cannot continue.
    pub(super) fn aborted(&self, reason: &str) -> Abort {
        let abort = self.say(reason, format_args!("client {} aborted: {reason}", self.client));
        Abort { statement: self.startup.and(abort.statement), ..abort }
    }

    /// A command failed; `kind` is its name (`SQL`, or a backslash command).
    pub(super) fn failed(&self, kind: &str, reason: &str) -> Abort {
        let Self { client, script, command, .. } = self;
        let what = format_args!(
            "client {client} aborted in command {command} ({kind}) of script {script}; {reason}"
        );
        self.say(reason, what)
    }

    /// The server ended without an error.
    pub(super) fn died(&self) -> Abort {
        Abort { lost: true, ..self.failed("SQL", BACKEND_DIED) }
    }

    /// The server's answer to a query of a command is invalid.
    pub(super) fn query_failed(&self, query: u32, reason: &str) -> Abort {
        let Self { client, script, command, .. } = self;
        let what = format_args!(
            "client {client} script {script} aborted in command {command} query {query}: {reason}"
        );
        self.say(reason, what)
    }

    /// The result cannot be stored.
    pub(super) fn capture_failed(&self, query: u32, reason: &str) -> Abort {
        let Self { client, script, command, .. } = self;
        let what = format_args!("client {client} script {script} command {command} query {query}: {reason}");
        self.say(reason, what)
    }

    pub(super) fn copies(&self) -> Abort {
        const REASON: &str = "COPY is not supported in pgbench";
        self.say(REASON, format_args!("{REASON}, aborting"))
    }

    /// In the startup script its name and line are used instead.
    fn say(&self, reason: &str, what: Arguments<'_>) -> Abort {
        let message = match self.startup {
            Some((script, line)) => {
                let client = self.client;
                format!("client {client} aborted in startup script {script}, line {line}: {reason}")
            }
            None => what.to_string(),
        };
        Abort { message, statement: self.statement, ..Abort::default() }
    }
}

pub(super) fn rolling_back_failed(client: usize, reason: &str) -> Abort {
    let message =
        format!("client {client} aborted while rolling back the transaction after an error; {reason}");
    Abort { message, ..Abort::default() }
}

/// The causes of a backslash command's failure.
pub(super) fn causes(error: &EvalError, drop_in: bool) -> Vec<String> {
    match error {
        // pgbench has no message here.
        EvalError::EmptyVariable { .. } if drop_in => Vec::new(),
        error => vec![error.to_string()],
    }
}

/// Scripts may have any encoding.
pub(super) struct Lossy<'a>(pub(super) &'a [u8]);

impl Display for Lossy<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(self.0))
    }
}

/// A libpq message without its last line end.
pub(super) fn without_end(text: String) -> String {
    match text.strip_suffix('\n') {
        Some(text) => text.to_owned(),
        None => text,
    }
}
