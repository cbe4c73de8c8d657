//! Statements on their way out.

use std::borrow::Cow;
use std::collections::VecDeque;

use engine::Io;
use protocol::postgres::frontend::{self, Parameter};
use protocol::postgres::{Format, Want};
use script::{Action, Capture, Slot, Statement, Variables};

use super::pipeline::Pipeline;
use super::{PgbenchClient, State};
use crate::pgbench::options::Mode;

/// Memory that is used again for each statement.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    text: Vec<u8>,
    /// What a pipeline has to send.
    pub(super) held: Vec<u8>,
    /// Numbers of a pipeline's statements without a result yet, oldest first.
    pub(super) sent: VecDeque<usize>,
}

/// A variable as a parameter; unset is NULL.
struct Content<'a> {
    variables: &'a Variables,
    slot: Slot,
}

impl Parameter for Content<'_> {
    #[inline]
    fn append(&self, out: &mut Vec<u8>) -> bool {
        self.variables.append_text(self.slot, out)
    }
}

impl Scratch {
    pub(super) fn begin_pipeline(&mut self) {
        self.held.clear();
        self.sent.clear();
    }
}

impl PgbenchClient {
    /// Sends a statement, ready to read its answers; false when that cannot be.
    pub(super) fn send(&mut self, statement: &Statement, io: &mut Io<'_>) -> bool {
        let keep = statement.capture != Capture::None;
        self.conns[self.at].link.session.rows(if keep { Want::Read } else { Want::Skip });
        if self.pipeline == Pipeline::Off {
            self.results = 0;
            self.captured.clear();
        }
        match self.mode() {
            Mode::Simple => {
                self.send_query(statement, io);
                true
            }
            mode => self.send_extended(statement, mode == Mode::Prepared, io),
        }
    }

    /// One Query message with the variables pasted in.
    fn send_query(&mut self, statement: &Statement, io: &mut Io<'_>) {
        self.scratch.text.clear();
        statement.append_simple(&self.variables, &mut self.scratch.text);
        if self.program.manner.debug {
            self.debug(format_args!("sending {}", text(&self.scratch.text)), io);
        }
        frontend::query(io.out(self.at), &self.scratch.text);
        self.syncs += 1;
    }

    /// Parse (unless prepared), Bind, Describe, Execute, as libpq has them, and Sync outside of a pipeline.
    fn send_extended(&mut self, statement: &Statement, prepared: bool, io: &mut Io<'_>) -> bool {
        let statement_text = &self.program.texts[statement.number];
        let name = if prepared { statement_text.name.as_str() } else { "" };
        if self.program.manner.debug {
            let sent = if prepared { Cow::Borrowed(name) } else { text(&statement_text.text) };
            self.debug(format_args!("sending {sent}"), io);
        }
        let in_pipeline = self.pipeline == Pipeline::Open;
        let Scratch { held, sent, .. } = &mut self.scratch;
        let variables = &self.variables;
        let values = statement.parameters().iter().map(|slot| Content { variables, slot: *slot });
        let out = if in_pipeline { held } else { io.out(self.at) };
        if !prepared {
            frontend::parse(out, "", &statement_text.text, &[]);
        }
        if frontend::bind(out, "", name, values, Format::Text).is_err() {
            return false;
        }
        frontend::describe_portal(out, "");
        frontend::execute(out, "", 0);
        if in_pipeline {
            sent.push_back(statement.number);
            self.relieve_pipeline(io);
        } else {
            frontend::sync(out);
            self.syncs += 1;
        }
        true
    }

    /// The text of the query whose answer is read, for the place of an error in it; libpq knows none of a prepared one.
    pub(super) fn query_text(&self) -> Option<Cow<'_, str>> {
        if self.state == State::RollingBack {
            return Some(Cow::Borrowed("ROLLBACK"));
        }
        match self.mode() {
            Mode::Simple => Some(text(&self.scratch.text)),
            Mode::Prepared => None,
            Mode::Extended if self.pipeline != Pipeline::Off => {
                let number = self.scratch.sent.front()?;
                Some(text(&self.program.texts[*number].text))
            }
            Mode::Extended => {
                let script = &self.program.scripts.scripts()[self.running];
                match &script.commands.get(self.cursor.command())?.action {
                    Action::Sql(statement) => Some(text(&self.program.texts[statement.number].text)),
                    _ => None,
                }
            }
        }
    }
}

/// For people: scripts may be in any encoding.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
