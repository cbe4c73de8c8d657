//! A pgbench client: a script's interpreter joined with PostgreSQL sessions.
//!
//! A transaction is one run of a script. Commands that need no server are done at once, in a row; a statement is sent
//! and the client waits until the server is ready again. What is captured goes into variables whose memory is used
//! again; all other rows are passed over. Where a drop-in says so, messages and order are pgbench's to the letter.

mod capture;
mod choice;
mod connect;
mod crew;
mod hosts;
mod loss;
mod meta;
mod pipeline;
mod prepare;
mod retry;
mod run;
mod send;
mod shell;
mod startup;
mod talk;
#[cfg(test)]
mod tests;
mod wait;

use std::sync::{Arc, Mutex};

use engine::{Client, Endpoint, Event, Failure, Io, Link, Outcome, Step, Time};
use protocol::postgres::{ServerError, TxStatus, frontend};
use script::{Cursor, Random, Variables};
use smallvec::SmallVec;

use self::capture::Captured;
use self::choice::Choice;
pub(super) use self::crew::crew;
use self::hosts::Route;
use self::pipeline::Pipeline;
use self::shell::Shells;
use self::startup::Startup;
use super::prepare::Program;
use crate::link::{PgLink, endpoint, returned};

/// The stream from which the clients of one thread draw which script comes next. pgbench has one per thread, so that
/// the order of draws is the order in which clients become free there. All holders live on one thread: the lock is
/// never waited for, and it is only taken when there is more than one script.
pub(super) type SharedStream = Arc<Mutex<Random>>;

/// What a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its sessions; with a connection for each transaction, that of the one that is due.
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

/// What went wrong in the command under way; the first thing counts.
#[derive(Debug)]
enum Trouble {
    /// The server refused.
    Server {
        /// The kind of error.
        failure: Failure,
        /// Its SQLSTATE.
        code: String,
        /// As libpq has it.
        text: String,
        /// Which query of the command.
        query: u32,
    },
    /// A row could not be stored: the client's last words, and what led to them.
    Capture { causes: Vec<String>, message: String },
}

/// One of a client's connections.
#[derive(Debug)]
struct Conn {
    link: PgLink,
    /// By number of the command over all scripts: what is prepared (or was tried) on this connection.
    prepared: Vec<bool>,
    /// What the server said as it ended the session while nothing was asked of it; told when something is.
    last_words: Option<Box<ServerError>>,
    route: Route,
    /// It was lost, and has to be made again before the next transaction.
    lost: bool,
    /// The startup script was not run on it yet.
    fresh: bool,
}

/// The program in the hands of one thread's clients: a client holds on to it while it runs commands, and threads should
/// not have to share a counter for that.
type ThreadProgram = Arc<Arc<Program>>;

/// One pgbench client.
#[derive(Debug)]
pub(super) struct PgbenchClient {
    program: ThreadProgram,
    number: usize,
    /// One, or the primary's and a standby's.
    conns: SmallVec<[Conn; 1]>,
    /// The connection in use.
    at: Link,
    state: State,
    choice: Arc<Choice>,
    choose: SharedStream,
    report_statements: bool,

    variables: Variables,
    random: Random,
    /// The stream as it was when the transaction started: a retry draws the same values.
    random_at_start: Random,
    startup: Startup,

    /// The script of the open transaction, or of the next one.
    drawn: usize,
    /// The next one is not drawn yet. That waits until it is asked for: a client that is done must not take a choice
    /// from its thread's stream, which the others go on with.
    stale: bool,
    /// The script that is run: that one, or the startup script.
    running: usize,
    cursor: Cursor,
    /// A transaction was begun and has not ended.
    open: bool,
    /// It could take a transaction once: from then on lost connections may be made again.
    served: bool,
    /// Intended start of the transaction.
    due: Time,
    /// When the slot was given; the same in closed load.
    slot: Time,
    tries: u32,
    /// Start of the command under way.
    command_began: Time,

    pipeline: Pipeline,
    /// Sync (or Query) messages sent and not yet answered.
    syncs: u32,
    /// Statements whose Parse is under way, oldest first.
    preparing: std::collections::VecDeque<usize>,
    /// Results seen of the command under way.
    results: u32,
    trouble: Option<Trouble>,
    /// Kind of the failure that is being rolled back.
    failure: Failure,
    captured: Captured,
    scratch: send::Scratch,
    shells: Shells,
}

impl Client for PgbenchClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        self.conns.iter().map(|conn| endpoint(conn.link.connect())).collect()
    }

    fn on_demand(&self) -> bool {
        self.program.reconnect
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
            Event::Timer if self.state == State::Sleeping => {
                self.end_command(io);
                self.advance(io)
            }
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
        self.draw();
        // There are at most 128.
        self.drawn as u16
    }
}

impl PgbenchClient {
    /// Draws the script of the next transaction, if that has not been done.
    fn draw(&mut self) {
        if std::mem::take(&mut self.stale) {
            self.drawn = self.choice.draw(&self.choose);
        }
    }

    /// The next transaction is due.
    fn begin(&mut self, due: Time, io: &mut Io<'_>) -> Step {
        self.draw();
        self.running = self.drawn;
        self.at = self.link_for(self.drawn);
        self.due = due;
        self.slot = io.now;
        self.tries = 1;
        (self.open, self.served) = (true, true);
        if self.program.manner.debug {
            self.tell_script(io);
        }
        // One that was made again after a loss is there already.
        if self.program.reconnect && !self.conns[self.at].link.is_up() {
            self.state = State::Connecting;
            return self.conns[self.at].link.again(io);
        }
        self.start_script(io)
    }

    /// Starts the script on a session that is up.
    fn start_script(&mut self, io: &mut Io<'_>) -> Step {
        self.conns[self.at].link.session.take_counts();
        self.random_at_start = self.random.clone();
        self.cursor = Cursor::start();
        self.advance(io)
    }

    /// All commands are done.
    fn end_script(&mut self, io: &mut Io<'_>) -> Step {
        if self.pipeline != Pipeline::Off {
            let message = self.aborted("end of script reached with pipeline open");
            return self.give_up(Vec::new(), message, io);
        }
        if self.startup.is_running() {
            return self.started_up(io);
        }
        self.end_transaction(None, io)
    }

    /// The transaction's end; the client is free for the next one, unless it left a block open.
    fn end_transaction(&mut self, failure: Option<Failure>, io: &mut Io<'_>) -> Step {
        let returned = returned(self.conns[self.at].link.session.take_counts());
        let outcome = Outcome { script: self.drawn as u16, failure, tries: self.tries, returned };
        self.open = false;
        if self.conns[self.at].link.session.status() != TxStatus::Idle {
            // It is counted, and then the client stops.
            let message = self.aborted("end of script reached without completing the last transaction");
            self.give_up(Vec::new(), message, io);
            return Step::Ended(outcome);
        }
        if self.program.reconnect {
            frontend::terminate(io.out(self.at));
            io.close(self.at);
            self.conns[self.at].link.close();
        }
        self.stale = true;
        if self.lacks_connection() {
            io.ended(outcome);
            return self.get_ready(io);
        }
        self.state = State::Idle;
        Step::Ended(outcome)
    }

    /// The client stops for good: causes first, then its last words.
    fn give_up(&mut self, causes: Vec<String>, message: String, io: &mut Io<'_>) -> Step {
        self.state = State::Over;
        if let Some(code) = self.loss() {
            io.abort_code(code);
        }
        self.send_pipeline(io);
        for (link, conn) in self.conns.iter().enumerate() {
            if conn.link.is_up() {
                frontend::terminate(io.out(link));
            }
        }
        io.abort_because(causes, message);
        Step::Done
    }
}
