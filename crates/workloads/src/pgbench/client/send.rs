//! Statements on their way out.

use std::borrow::Cow;
use std::ops::Range;

use engine::Io;
use protocol::postgres::{Format, Want, frontend};
use script::{Capture, Statement};

use super::{LINK, PgbenchClient};
use crate::pgbench::options::Mode;

/// Memory that is used again for each statement.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    text: Vec<u8>,
    parameters: Vec<Option<Range<usize>>>,
}

impl PgbenchClient {
    /// Sends a statement, ready to read its answers.
    pub(super) fn send(&mut self, statement: &Statement, io: &mut Io<'_>) -> Result<(), String> {
        let keep = statement.capture != Capture::None;
        self.link.session.rows(if keep { Want::Read } else { Want::Skip });
        if !self.in_pipeline {
            self.results = 0;
            self.captured.clear();
        }
        match self.program.mode {
            Mode::Simple => self.send_query(statement, io),
            Mode::Extended | Mode::Prepared => self.send_extended(statement, io)?,
        }
        Ok(())
    }

    /// One Query message with the variables pasted in.
    fn send_query(&mut self, statement: &Statement, io: &mut Io<'_>) {
        self.scratch.text.clear();
        statement.append_simple(&self.variables, &mut self.scratch.text);
        frontend::query(io.out(LINK), &text(&self.scratch.text));
        self.syncs += 1;
    }

    /// Parse where needed, then Bind, Describe, Execute (as libpq has them), and Sync outside of a pipeline.
    fn send_extended(&mut self, statement: &Statement, io: &mut Io<'_>) -> Result<(), String> {
        let number = statement.number;
        let prepared = self.program.mode == Mode::Prepared;
        let statement_text = &self.program.texts[number];
        let name = if prepared { statement_text.name.as_str() } else { "" };
        let out = io.out(LINK);
        if !prepared {
            frontend::parse(out, name, &statement_text.text, &[]);
        } else if !self.parsed[number] {
            frontend::parse(out, name, &statement_text.text, &[]);
            self.parsed[number] = true;
            self.parsing.push_back(number);
        }

        let Scratch { text, parameters } = &mut self.scratch;
        text.clear();
        parameters.clear();
        for slot in statement.parameters() {
            let start = text.len();
            let set = self.variables.append_text(*slot, text);
            parameters.push(set.then_some(start..text.len()));
        }
        let values = parameters.iter().map(|range| range.clone().map(|range| &text[range]));
        frontend::bind(out, "", name, values, Format::Text).map_err(|error| error.to_string())?;
        frontend::describe_portal(out, "");
        frontend::execute(out, "", 0);
        if !self.in_pipeline {
            frontend::sync(out);
            self.syncs += 1;
        }
        Ok(())
    }

    /// The text of the query under way, for the place of an error in it.
    pub(super) fn query_text(&mut self) -> Option<String> {
        let script = &self.program.scripts.scripts()[self.script];
        let script::Action::Sql(statement) = &script.commands.get(self.cursor.command())?.action else {
            return None;
        };
        match self.program.mode {
            Mode::Simple => Some(text(&self.scratch.text).into_owned()),
            Mode::Extended | Mode::Prepared => Some(self.program.texts[statement.number].text.clone()),
        }
    }
}

/// Scripts are UTF-8; a variable set from a row in another encoding may not be.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
