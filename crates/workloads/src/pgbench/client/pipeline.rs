//! `\startpipeline`, `\syncpipeline`, `\endpipeline`.
//!
//! What a pipeline sends is held back until its end, or until there is much of it, as libpq does.

use engine::Io;
use protocol::postgres::frontend;
use script::{Action, Script};

use super::run::Flow;
use super::{PgbenchClient, State};
use crate::pgbench::options::Mode;

/// Bytes from which on libpq sends what it holds back.
const HELD_BACK: usize = 65_536;

/// Where a client is with a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pipeline {
    /// There is none.
    Off,
    /// Statements are sent without waiting for their results.
    Open,
    /// Its results are waited for.
    Ending,
}

impl PgbenchClient {
    /// Begins a pipeline. Where statements are prepared, those of the pipeline are so first: a transaction begun in
    /// it must not find that a snapshot was taken for that already.
    pub(super) fn start_pipeline(&mut self, script: &Script, io: &mut Io<'_>) -> Flow {
        let failed =
            |client: &Self, reason| Flow::Abort(Vec::new(), client.command_failed("startpipeline", reason));
        if self.mode() == Mode::Simple {
            return failed(self, "cannot use pipeline mode with the simple query protocol");
        }
        if self.mode() == Mode::Prepared && self.prepare_pipeline(script, io) {
            return Flow::Pause(engine::Step::Wait);
        }
        if self.pipeline != Pipeline::Off {
            return failed(self, "already in pipeline mode");
        }
        self.pipeline = Pipeline::Open;
        self.scratch.begin_pipeline();
        self.results = 0;
        Flow::Next(true)
    }

    pub(super) fn sync_pipeline(&mut self) -> Flow {
        if self.pipeline != Pipeline::Open {
            return Flow::Abort(Vec::new(), self.command_failed("syncpipeline", "not in pipeline mode"));
        }
        frontend::sync(&mut self.scratch.held);
        self.syncs += 1;
        Flow::Next(true)
    }

    pub(super) fn end_pipeline(&mut self, io: &mut Io<'_>) -> Flow {
        if self.pipeline != Pipeline::Open {
            return Flow::Abort(Vec::new(), self.command_failed("endpipeline", "not in pipeline mode"));
        }
        if let Some(message) = self.unusable() {
            if self.comes_back() {
                return Flow::Pause(self.found_lost(&message, io));
            }
            return Flow::Abort(Vec::new(), message);
        }
        frontend::sync(&mut self.scratch.held);
        self.syncs += 1;
        self.pipeline = Pipeline::Ending;
        self.send_pipeline(io);
        self.wait_for_server(io)
    }

    /// Sends what is held back, if it is much.
    pub(super) fn relieve_pipeline(&mut self, io: &mut Io<'_>) {
        if self.scratch.held.len() >= HELD_BACK {
            self.send_pipeline(io);
        }
    }

    /// Sends what is held back.
    pub(super) fn send_pipeline(&mut self, io: &mut Io<'_>) {
        if !self.scratch.held.is_empty() {
            io.out(self.at).append(&mut self.scratch.held);
        }
    }

    /// A result of a pipeline came; the next one is waited for.
    pub(super) fn pipeline_result(&mut self, io: &mut Io<'_>) {
        self.scratch.sent.pop_front();
        self.results = 0;
        if self.program.manner.debug && self.state == State::Waiting && self.trouble.is_none() {
            self.tell_receiving(io);
        }
    }

    /// The server answered a Sync of a pipeline. libpq hands that out together with the results behind it, so that
    /// the number of the query in messages counts it.
    pub(super) fn pipeline_synced(&mut self, io: &mut Io<'_>) {
        if self.program.manner.debug && self.state == State::Waiting {
            self.debug(format_args!("pipeline ending, ongoing syncs: {}", self.syncs), io);
        }
        self.results += 1;
    }

    /// The commands of the pipeline that begins here: up to its end as written.
    pub(super) fn pipeline_commands(&self, script: &Script) -> std::ops::Range<usize> {
        let first = self.cursor.command() + 1;
        let rest = script.commands.get(first..).unwrap_or_default();
        let length = rest.iter().position(|command| matches!(command.action, Action::EndPipeline));
        first..first + length.unwrap_or(rest.len())
    }
}
