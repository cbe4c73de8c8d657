//! Requests sent to the server, and the state of its answers.

use std::borrow::Cow;
use std::collections::VecDeque;

use engine::{Abort, Failure, Io};
use protocol::postgres::frontend::{self, Parameter};
use protocol::postgres::{ServerError, ValueFormat};
use script::{Capture, Slot, Statement, Variables};

use super::capture::Captured;
use super::script_run::ScriptRun;
use super::words::{Lossy, Reporter};
use crate::pgbench::prepare::PreparedScripts;

/// The first error of the current command.
#[derive(Debug)]
pub(super) enum Trouble {
    Server {
        failure: Failure,
        /// SQLSTATE.
        code: String,
        /// libpq's text.
        text: String,
        query: u32,
        /// The connection ends with it.
        fatal: bool,
    },
    /// A row could not be stored.
    Capture(Box<Abort>),
}

/// The exchange with the server about the current command, in reused memory.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// Sync (or Query) messages sent and not yet answered.
    syncs: u32,
    /// Statements with an unanswered Parse, oldest first: number of the command over all scripts, and of the
    /// statement.
    preparing: VecDeque<(usize, usize)>,
    /// Results of the current command so far.
    pub(super) results: u32,
    pub(super) trouble: Option<Trouble>,
    pub(super) captured: Captured,
    /// The last Query message.
    text: Vec<u8>,
}

/// A variable as a parameter; unset is NULL.
struct ParameterContent<'a> {
    variables: &'a Variables,
    slot: Slot,
}

impl Parameter for ParameterContent<'_> {
    #[inline]
    fn append(&self, out: &mut Vec<u8>) -> bool {
        self.variables.append_text(self.slot, out)
    }
}

impl Exchange {
    /// A new connection: nothing is pending.
    pub(super) fn connected(&mut self) {
        self.syncs = 0;
    }

    pub(super) fn forget(&mut self) {
        self.preparing.clear();
        self.captured.clear();
        (self.syncs, self.results, self.trouble) = (0, 0, None);
    }

    /// A command with separate results begins.
    pub(super) fn begin(&mut self) {
        self.results = 0;
        self.captured.clear();
    }

    /// One Query message with substituted variables.
    pub(super) fn query(&mut self, statement: &Statement, variables: &Variables) -> &[u8] {
        self.text.clear();
        statement.append_simple(variables, &mut self.text);
        self.syncs += 1;
        &self.text
    }

    /// A separate Parse of a command's statement (`name`, `text`).
    pub(super) fn prepare(
        &mut self,
        (command, number): (usize, usize),
        (name, text): (&str, &[u8]),
        out: &mut Vec<u8>,
    ) {
        frontend::parse(out, name, text, &[]);
        self.sync(out);
        self.preparing.push_back((command, number));
    }

    /// The command whose Parse is answered next.
    pub(super) fn prepared_next(&self) -> Option<usize> {
        self.preparing.front().map(|(command, _)| *command)
    }

    /// Whether a Parse is under way.
    pub(super) fn prepares(&self) -> bool {
        !self.preparing.is_empty()
    }

    pub(super) fn rollback(&mut self, out: &mut Vec<u8>) {
        frontend::query(out, "ROLLBACK");
        self.syncs += 1;
        self.results = 0;
    }

    pub(super) fn sync(&mut self, out: &mut Vec<u8>) {
        frontend::sync(out);
        self.syncs += 1;
    }

    /// Whether an answer is still expected.
    pub(super) fn is_open(&self) -> bool {
        self.syncs > 0
    }

    /// The server answered a Query or a Sync; true when that was the last one.
    pub(super) fn answered(&mut self, preparing: bool) -> bool {
        self.syncs = self.syncs.saturating_sub(1);
        if preparing {
            self.preparing.pop_front();
        }
        self.syncs == 0
    }

    /// The server answered a Sync of a pipeline. libpq returns that together with the results after it, so
    /// the query number in messages includes it.
    pub(super) fn pipeline_synced(&mut self, reporter: Reporter, waiting: bool, io: &mut Io<'_>) {
        if waiting {
            reporter.debug(format_args!("pipeline ending, ongoing syncs: {}", self.syncs), io);
        }
        self.results += 1;
    }

    /// libpq's text for a statement that cannot be prepared.
    pub(super) fn not_prepared(&self, error: &ServerError, program: &PreparedScripts) -> String {
        let query = self.preparing.front().map(|(_, number)| &program.texts[*number]);
        error.libpq_text(query.map(|text| String::from_utf8_lossy(text)).as_deref())
    }

    /// The text of the last Query message.
    pub(super) fn query_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }

    /// A statement of the command succeeded. `\aset` takes every result; `\gset` only the last one, which is
    /// known when the server is ready.
    pub(super) fn end_result(&mut self, script: &mut ScriptRun, client: usize, program: &PreparedScripts) {
        self.captured.end();
        if let Capture::Aset(prefix) = script.capture(program) {
            if self.captured.rows > 0 {
                self.store(("aset", prefix), self.results, script, client, program);
            }
            self.captured.clear();
        }
        self.results += 1;
    }

    pub(super) fn end_statement(&mut self, script: &mut ScriptRun, client: usize, program: &PreparedScripts) {
        if let (Capture::Gset(prefix), None) = (script.capture(program), &self.trouble) {
            let query = self.results.saturating_sub(1);
            match self.captured.rows {
                1 => self.store(("gset", prefix), query, script, client, program),
                rows => {
                    let reason = format!("expected one row, got {rows}");
                    let abort = script.position(client, program).capture_failed(query, &reason);
                    self.trouble = Some(Trouble::Capture(Box::new(abort)));
                }
            }
        }
    }

    fn store(
        &mut self,
        (command, prefix): (&'static str, &[u8]),
        query: u32,
        script: &mut ScriptRun,
        client: usize,
        program: &PreparedScripts,
    ) {
        if let Err((error, name)) = self.captured.store(command, prefix, &mut script.variables)
            && self.trouble.is_none()
        {
            let reason = format!("error storing into variable {name}");
            let mut abort = script.position(client, program).capture_failed(query, &reason);
            abort.causes.push(error.to_string());
            self.trouble = Some(Trouble::Capture(Box::new(abort)));
        }
    }
}

/// How the extended protocol refers to a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum StatementReference<'a> {
    Name(&'a str),
    Text(&'a [u8]),
}

/// Parse (unless prepared), Bind, Describe, Execute, as in libpq; false when that cannot be sent.
pub(super) fn extended(
    statement: &Statement,
    asked: StatementReference<'_>,
    variables: &Variables,
    out: &mut Vec<u8>,
) -> bool {
    let values = statement.parameters().iter().map(|slot| ParameterContent { variables, slot: *slot });
    let name = match asked {
        StatementReference::Name(name) => name,
        StatementReference::Text(text) => {
            frontend::parse(out, "", text, &[]);
            ""
        }
    };
    if frontend::bind(out, "", name, values, ValueFormat::Text).is_err() {
        return false;
    }
    frontend::describe_portal(out, "");
    frontend::execute(out, "", 0);
    true
}

/// The request in words.
pub(super) fn shown(asked: StatementReference<'_>) -> Lossy<'_> {
    match asked {
        StatementReference::Name(name) => Lossy(name.as_bytes()),
        StatementReference::Text(text) => Lossy(text),
    }
}
