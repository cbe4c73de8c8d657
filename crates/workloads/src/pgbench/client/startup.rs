//! The startup script: once on each new connection, outside what is measured.

use engine::{Io, Link, Step};
use protocol::postgres::TxStatus;
use script::{Cursor, Random};

use super::{PgbenchClient, State};
use crate::pgbench::prepare::Program;

/// Told from the run's seed, so that the startup script does not disturb the client's numbers.
const STREAM: u64 = 0x7374_6172_7475_7000;

/// Where a client is with its startup script.
#[derive(Debug, Default)]
pub(super) struct Startup {
    /// The script, if there is one.
    script: Option<usize>,
    /// Its stream while the script is not run, the client's own while it is.
    random: Option<Random>,
    running: bool,
}

impl Startup {
    pub(super) fn new(program: &Program, seed: u64, client: usize) -> Self {
        let random = Random::new(seed ^ STREAM.wrapping_add(client as u64));
        Self { script: program.startup, random: Some(random), running: false }
    }

    /// Whether the startup script is being run.
    #[inline]
    pub(super) fn is_running(&self) -> bool {
        self.running
    }
}

impl PgbenchClient {
    /// A session is up: the startup script, then what waits for the session.
    pub(super) fn start_up(&mut self, link: Link, io: &mut Io<'_>) -> Step {
        self.at = link;
        self.conns[link].fresh = false;
        let Some(script) = self.startup.script else { return self.get_ready(io) };
        self.running = script;
        self.cursor = Cursor::start();
        self.swap_streams();
        self.startup.running = true;
        self.advance(io)
    }

    /// The startup script ended.
    pub(super) fn started_up(&mut self, io: &mut Io<'_>) -> Step {
        if self.conns[self.at].link.session.status() != TxStatus::Idle {
            let message = self.aborted("end of script reached without completing the last transaction");
            return self.give_up(Vec::new(), message, io);
        }
        self.leave_startup();
        self.get_ready(io)
    }

    /// The startup script is not run any more.
    pub(super) fn leave_startup(&mut self) {
        if std::mem::take(&mut self.startup.running) {
            self.swap_streams();
            self.running = self.drawn;
        }
    }

    fn swap_streams(&mut self) {
        if let Some(other) = &mut self.startup.random {
            std::mem::swap(other, &mut self.random);
        }
    }

    /// Nothing is missing: goes on with the transaction that is due, or waits for one.
    pub(super) fn session_ready(&mut self, io: &mut Io<'_>) -> Step {
        if self.open {
            // In closed load the transaction starts now: connecting is no part of its latency.
            if self.due == self.slot {
                self.due = io.now;
            }
            io.restart();
            return self.start_script(io);
        }
        self.at = 0;
        self.served = true;
        self.state = State::Idle;
        Step::Ready
    }

    /// Where in the startup script the client is, for its last words; `None` while that is not run.
    pub(super) fn startup_place(&self) -> Option<String> {
        if !self.startup.running {
            return None;
        }
        let script = &self.program.scripts.scripts()[self.running];
        // Behind the last command it is that one.
        let last = script.commands.len().checked_sub(1)?;
        let line = script.commands.get(self.cursor.command().min(last))?.line;
        Some(format!("client {} aborted in startup script {}, line {line}", self.number, script.name))
    }
}
