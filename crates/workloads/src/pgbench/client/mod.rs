//! A pgbench client: the interpreter of a script with PostgreSQL connections.
//!
//! A transaction is one run of a script. Commands without a server run at once, in a row. After sending a
//! statement the client waits until the server is ready again. Captured values go into variables in reused
//! memory; all other rows are skipped. In the drop-in, messages and order are exactly pgbench's.
//!
//! Each part owns its data: the next script ([`Draws`]), the transaction and its tries, the running script,
//! the connections, the exchange with the server ([`Exchange`]), the pipeline, the shell command. The client
//! combines them: its events are here, its connections in `connect`, its commands in `run`, the server's
//! answers in `answers`.

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

use engine::{
    Abort, Client, Endpoint, Event, Failure, Io, Link, Returned, Step, Time, TransactionOutcome, Visit,
};
use protocol::postgres::TxStatus;

use self::choice::Draws;
pub(super) use self::clients::clients;
use self::conns::Conns;
use self::exchange::Exchange;
pub(super) use self::hosts::routes_words;
use self::pipeline::Pipeline;
use self::script_run::ScriptRun;
use self::shell::Shells;
use self::transaction::Transaction;
use self::words::{BLOCK_OPEN, Position, Reporter};
use super::keyed::Keyed;
use super::prepare::PreparedScripts;
use super::row_turns::RowTurns;
use crate::link::returned;

/// What a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientState {
    /// Its connections; with one per transaction, the due transaction's.
    Connecting,
    /// Its next transaction.
    Idle,
    Preparing,
    /// The answers to the current command.
    Waiting,
    /// The end of `\sleep`.
    Sleeping,
    Shell,
    /// The end of the ROLLBACK after an error.
    RollingBack,
    /// Nothing: it gave up.
    Over,
}

/// The program, shared by one thread's clients: a client keeps a reference while it runs commands, and
/// threads should not share that counter.
type ThreadProgram = Arc<Arc<PreparedScripts>>;

/// Rows of variables, and when the next one is taken.
#[derive(Debug)]
struct ClientRows {
    turns: RowTurns,
    /// Once per session; otherwise once per transaction.
    per_session: bool,
}

#[derive(Debug)]
struct PgbenchClient {
    program: ThreadProgram,
    reporter: Reporter,
    state: ClientState,
    /// It was ready once: lost connections may be reopened from then on.
    served: bool,
    draws: Draws,
    /// The part of a user's session that comes next, or is open.
    visit: Option<Visit>,
    /// Its rows of variables, one per transaction or session.
    rows: Option<ClientRows>,
    transaction: Transaction,
    script: ScriptRun,
    conns: Conns,
    exchange: Exchange,
    pipeline: Pipeline,
    shells: Shells,
    /// Rows that the open transaction found by key.
    keyed: Keyed,
}

impl Client for PgbenchClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        self.conns.endpoints()
    }

    fn abandon(&self, link: Link) -> Option<Vec<u8>> {
        let waits =
            matches!(self.state, ClientState::Preparing | ClientState::Waiting | ClientState::RollingBack);
        (waits && link == self.conns.at).then(|| self.conns[link].link.cancel()).flatten()
    }

    fn on_demand(&self) -> bool {
        self.program.options.reconnect
    }

    fn visit(&mut self, visit: Visit) {
        if let Some(script) = visit.script {
            self.draws.tell(usize::from(script));
        }
        self.visit = Some(visit);
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
            Event::Timer if self.state == ClientState::Sleeping => self.end_command(io),
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
    fn new(
        number: usize,
        program: ThreadProgram,
        draws: Draws,
        rows: Option<ClientRows>,
        script: ScriptRun,
        conns: Conns,
    ) -> Self {
        let mut client = Self {
            reporter: Reporter::new(number, &program.drop_in_options),
            program,
            state: ClientState::Connecting,
            served: false,
            draws,
            visit: None,
            rows,
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
        self.conns.choose(self.program.routes.links[script]);
        self.transaction.begin(due, io.now);
        self.served = true;
        let goes_on = self.visit.is_some_and(|visit| !visit.is_first);
        if let Some(rows) = &mut self.rows
            && !(rows.per_session && goes_on)
            && !rows.turns.take(&mut self.script.variables)
        {
            let message = format!("client {} stopped: {}", self.reporter.client, rows.turns.used_up());
            return self.give_up(Abort { message, before_start: true, ..Abort::default() }, io);
        }
        let name = &self.program.scripts.scripts()[script].name;
        self.reporter.debug(format_args!("executing script \"{name}\""), io);
        // A connection that was reopened after a loss exists already.
        let opens = self.visit.is_some_and(|visit| visit.reconnects && visit.is_first);
        if (self.program.options.reconnect || opens) && !self.conns.current().link.is_up() {
            self.state = ClientState::Connecting;
            return self.conns.current_mut().link.again(io);
        }
        self.start_script(io)
    }

    /// Starts the script on an open connection.
    fn start_script(&mut self, io: &mut Io<'_>) -> Step {
        self.take_counts();
        self.keyed = Keyed::default();
        self.script.start();
        self.advance(io)
    }

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

    /// Ends the transaction; the client is free for the next one, unless it left a block open.
    fn end_transaction(&mut self, failure: Option<Failure>, io: &mut Io<'_>) -> Step {
        let outcome = self.outcome(failure);
        if self.in_block() {
            // It is counted, and then the client stops.
            let abort = self.position().aborted(BLOCK_OPEN);
            self.give_up(abort, io);
            return Step::Ended(outcome);
        }
        let leaves = |visit: Visit| visit.reconnects && (visit.is_last || failure.is_some());
        if self.program.options.reconnect || self.visit.is_some_and(leaves) {
            self.conns.close(io);
        }
        self.draws.ended();
        if !self.reconnects() && self.conns.first_lost().is_some() {
            io.ended(outcome);
            return self.get_ready(io);
        }
        self.state = ClientState::Idle;
        Step::Ended(outcome)
    }

    /// Whether it connects more than once: for each transaction or session.
    fn reconnects(&self) -> bool {
        self.program.options.reconnect || self.visit.is_some_and(|visit| visit.reconnects)
    }

    /// How the open transaction ended.
    fn outcome(&mut self, failure: Option<Failure>) -> TransactionOutcome {
        let (keyed, keyed_empty) = self.keyed.counts();
        let returned = Returned { keyed, keyed_empty, ..self.take_counts() };
        self.transaction.end(self.draws.drawn(), failure, returned)
    }

    /// Counters of the current connection since the last call.
    pub(super) fn take_counts(&mut self) -> Returned {
        returned(self.conns.current_mut().link.connection.take_counts())
    }

    /// Whether the connection in use is in a transaction block.
    fn in_block(&self) -> bool {
        self.conns.current().link.connection.status() != TxStatus::Idle
    }

    fn position(&self) -> Position<'_> {
        self.script.position(self.reporter.client, &self.program)
    }

    /// The client stops for good, with its last message.
    fn give_up(&mut self, abort: Abort, io: &mut Io<'_>) -> Step {
        self.state = ClientState::Over;
        self.pipeline.send(io.out(self.conns.at));
        self.conns.terminate(io);
        io.abort_because(abort);
        Step::Done
    }
}
