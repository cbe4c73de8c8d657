//! A pgbench client: a script's interpreter joined with PostgreSQL connections.
//!
//! A transaction is one run of a script. Commands that need no server are done at once, in a row; a statement is sent
//! and the client waits until the server is ready again. What is captured goes into variables whose memory is used
//! again; all other rows are passed over. Where a drop-in says so, messages and order are pgbench's to the letter.
//!
//! Each part owns its data: the next script ([`Draws`]), the transaction and its tries, the script that is run, the
//! connections, the talk with the server ([`Exchange`]), the pipeline, the shell command. The client joins them: here
//! its events, in `connect` how its connections come and go, in `run` its commands, in `answers` what the server says.

mod answers;
mod capture;
mod choice;
mod clients;
mod connect;
mod conns;
mod exchange;
mod hosts;
mod pipeline;
mod run;
mod script_run;
mod shell;
#[cfg(test)]
mod tests;
mod transaction;
mod words;

use std::sync::Arc;

use engine::{Abort, Client, Endpoint, Event, Failure, Io, Link, Outcome, Returned, Step, Time};
use protocol::postgres::TxStatus;

use self::choice::Draws;
pub(super) use self::clients::clients;
use self::conns::Conns;
use self::exchange::Exchange;
use self::pipeline::Pipeline;
use self::script_run::ScriptRun;
use self::shell::Shells;
use self::transaction::Transaction;
use self::words::{BLOCK_OPEN, Position, Talk};
use super::keyed::Keyed;
use super::prepare::Program;
use crate::link::returned;

/// What a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its connections; with one for each transaction, that of the one that is due.
    Connecting,
    /// Its next transaction.
    Idle,
    /// The server's answers to what is prepared before the command under way.
    Preparing,
    /// The server's answers to the command under way.
    Waiting,
    /// The end of `\sleep`.
    Sleeping,
    /// The end of a shell command.
    Shell,
    /// The end of the ROLLBACK after an error.
    RollingBack,
    /// Nothing: it gave up.
    Over,
}

/// The program in the hands of one thread's clients: a client holds on to it while it runs commands, and threads should
/// not have to share a counter for that.
type ThreadProgram = Arc<Arc<Program>>;

#[derive(Debug)]
struct PgbenchClient {
    program: ThreadProgram,
    talk: Talk,
    state: State,
    /// It could take a transaction once: from then on lost connections may be made again.
    served: bool,
    draws: Draws,
    transaction: Transaction,
    script: ScriptRun,
    conns: Conns,
    exchange: Exchange,
    pipeline: Pipeline,
    shells: Shells,
    /// What the open transaction found by key.
    keyed: Keyed,
}

impl Client for PgbenchClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        self.conns.endpoints()
    }

    fn abandon(&self, link: Link) -> Option<Vec<u8>> {
        let waits = matches!(self.state, State::Preparing | State::Waiting | State::RollingBack);
        (waits && link == self.conns.at).then(|| self.conns[link].link.cancel()).flatten()
    }

    fn on_demand(&self) -> bool {
        self.program.options.reconnect
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Bytes { link, data, used } if self.conns[link].link.is_up() => {
                self.messages(link, data, used, io)
            }
            Event::Bytes { link, data, used } => {
                let progress = self.conns[link].link.bytes(data, used, io);
                self.connected(link, progress, io)
            }
            Event::Slot { due } => self.begin(due, io),
            Event::Timer if self.state == State::Sleeping => self.end_command(io),
            Event::Timer => Step::Wait,
            Event::Woken => self.woken(io),
            Event::Opened(link) => {
                let progress = self.conns[link].link.opened(io);
                self.connected(link, progress, io)
            }
            Event::Secured { link, certificate } => {
                let progress = self.conns[link].link.secured(certificate, io);
                self.connected(link, progress, io)
            }
            Event::Closed { link, error } => self.closed(link, error, io),
        }
    }

    fn script(&mut self) -> u16 {
        // There are at most 128.
        self.draws.next() as u16
    }
}

impl PgbenchClient {
    fn new(number: usize, program: ThreadProgram, draws: Draws, script: ScriptRun, conns: Conns) -> Self {
        let mut client = Self {
            talk: Talk::new(number, &program.manner),
            program,
            state: State::Connecting,
            served: false,
            draws,
            transaction: Transaction::none(),
            script,
            conns,
            exchange: Exchange::default(),
            pipeline: Pipeline::default(),
            shells: Shells::default(),
            keyed: Keyed::default(),
        };
        client.script.choose(client.draws.drawn());
        client
    }

    /// The next transaction is due.
    fn begin(&mut self, due: Time, io: &mut Io<'_>) -> Step {
        let script = self.draws.next();
        self.script.choose(script);
        self.conns.choose(self.program.reads[script]);
        self.transaction.begin(due, io.now);
        self.served = true;
        let name = &self.program.scripts.scripts()[script].name;
        self.talk.debug(format_args!("executing script \"{name}\""), io);
        // One that was made again after a loss is there already.
        if self.program.options.reconnect && !self.conns.current().link.is_up() {
            self.state = State::Connecting;
            return self.conns.current_mut().link.again(io);
        }
        self.start_script(io)
    }

    /// Starts the script on a connection that is up.
    fn start_script(&mut self, io: &mut Io<'_>) -> Step {
        self.take_counts();
        self.keyed = Keyed::default();
        self.script.start();
        self.advance(io)
    }

    /// All commands are done.
    fn end_script(&mut self, io: &mut Io<'_>) -> Step {
        if !self.pipeline.is_off() {
            let abort = self.position().aborted("end of script reached with pipeline open");
            return self.give_up(abort, io);
        }
        if self.script.in_startup() {
            return self.started_up(io);
        }
        self.end_transaction(None, io)
    }

    /// The transaction's end; the client is free for the next one, unless it left a block open.
    fn end_transaction(&mut self, failure: Option<Failure>, io: &mut Io<'_>) -> Step {
        let outcome = self.outcome(failure);
        if self.in_block() {
            // It is counted, and then the client stops.
            let abort = self.position().aborted(BLOCK_OPEN);
            self.give_up(abort, io);
            return Step::Ended(outcome);
        }
        if self.program.options.reconnect {
            self.conns.close(io);
        }
        self.draws.ended();
        if !self.program.options.reconnect && self.conns.first_lost().is_some() {
            io.ended(outcome);
            return self.get_ready(io);
        }
        self.state = State::Idle;
        Step::Ended(outcome)
    }

    /// How the open transaction ended.
    fn outcome(&mut self, failure: Option<Failure>) -> Outcome {
        let (keyed, keyed_empty) = self.keyed.counts();
        let returned = Returned { keyed, keyed_empty, ..self.take_counts() };
        self.transaction.end(self.draws.drawn(), failure, returned)
    }

    /// What the connection in use counted since this was last asked.
    pub(super) fn take_counts(&mut self) -> Returned {
        returned(self.conns.current_mut().link.connection.take_counts())
    }

    /// Whether the connection in use is in a transaction block.
    fn in_block(&self) -> bool {
        self.conns.current().link.connection.status() != TxStatus::Idle
    }

    fn position(&self) -> Position<'_> {
        self.script.position(self.talk.client, &self.program)
    }

    /// The client stops for good, with its last words.
    fn give_up(&mut self, abort: Abort, io: &mut Io<'_>) -> Step {
        self.state = State::Over;
        self.pipeline.send(io.out(self.conns.at));
        self.conns.terminate(io);
        io.abort_because(abort);
        Step::Done
    }
}
