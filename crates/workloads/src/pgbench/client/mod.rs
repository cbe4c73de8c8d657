//! A pgbench client: a script's interpreter joined with a PostgreSQL session.
//!
//! A transaction is one run of a script. Commands that need no server are done at once, in a row; a statement is sent
//! and the client waits until the server is ready again. What is captured goes into variables whose memory is used
//! again; all other rows are passed over.

mod capture;
mod crew;
mod retry;
mod run;
mod send;
#[cfg(test)]
mod tests;
mod wait;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Client, Endpoint, Event, Failure, Io, Step, Time};
use protocol::postgres::ServerError;
use script::{Cursor, Random, ScriptChooser, Variables};

use self::capture::Captured;
pub(super) use self::crew::crew;
use super::prepare::Program;
use crate::link::{PgLink, Progress};

/// The link's number; a client has only one.
const LINK: usize = 0;

/// The stream from which the clients of one thread draw which script comes next. pgbench has one per thread, so that
/// the order of draws is the order in which transactions start there. All holders live on one thread: the lock is never
/// waited for, and it is only taken when there is more than one script.
pub(super) type SharedStream = Arc<Mutex<Random>>;

/// What a client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Its session; then it is ready for its first transaction.
    Connecting,
    /// A new session for the transaction that is due.
    Reconnecting,
    /// Its next transaction.
    Idle,
    /// The server's answers.
    Waiting,
    /// The end of `\sleep`.
    Sleeping,
    /// The end of the ROLLBACK after an error.
    RollingBack,
    /// Nothing: it gave up.
    Over,
}

/// One pgbench client.
#[derive(Debug)]
pub(super) struct PgbenchClient {
    program: Arc<Program>,
    number: usize,
    link: PgLink,
    state: State,
    chooser: ScriptChooser,
    choose: SharedStream,
    report_statements: bool,

    variables: Variables,
    random: Random,
    /// The stream as it was when the transaction started: a retry draws the same values.
    random_at_start: Random,

    script: usize,
    cursor: Cursor,
    /// Intended start of the transaction.
    due: Time,
    tries: u32,
    /// Start of the command under way.
    command_began: Time,

    in_pipeline: bool,
    /// Sync (or Query) messages sent and not yet answered.
    syncs: u32,
    /// Statements parsed on this connection, by number.
    parsed: Vec<bool>,
    /// Statements whose Parse is under way, oldest first.
    parsing: VecDeque<usize>,
    /// Results seen of the command under way.
    results: u32,
    /// The first error of the command under way.
    error: Option<Box<ServerError>>,
    /// Kind of the failure that is being rolled back.
    failure: Failure,
    /// Why the client must give up once the server is ready (`\gset` without a row).
    fatal: Option<String>,
    captured: Captured,
    scratch: send::Scratch,
    /// A transaction has been run on this connection.
    used: bool,
}

impl Client for PgbenchClient {
    fn endpoints(&self) -> Vec<Endpoint> {
        vec![self.link.connect().endpoint.clone()]
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Opened(_) => {
                let progress = self.link.opened(io);
                self.connected(progress, io)
            }
            Event::Secured { certificate, .. } => {
                let progress = self.link.secured(certificate, io);
                self.connected(progress, io)
            }
            Event::Bytes { data, used, .. } if self.link.is_up() => self.messages(data, used, io),
            Event::Bytes { data, used, .. } => {
                let progress = self.link.bytes(data, used, io);
                self.connected(progress, io)
            }
            Event::Slot { due } => self.begin(due, io),
            Event::Timer if self.state == State::Sleeping => {
                self.end_command(false, io);
                self.advance(io)
            }
            Event::Timer | Event::Woken => Step::Wait,
            Event::Closed { error, .. } => self.closed(error, io),
        }
    }

    fn script(&mut self) -> u16 {
        self.script as u16
    }
}

impl PgbenchClient {
    /// Goes on with connecting, or starts what waits for the connection.
    fn connected(&mut self, progress: Result<Progress, String>, io: &mut Io<'_>) -> Step {
        match progress {
            Ok(Progress::Step(step)) => step,
            Ok(Progress::Up) => {
                self.parsed.fill(false);
                self.parsing.clear();
                self.syncs = 0;
                self.used = false;
                if self.state == State::Reconnecting {
                    io.restart();
                    return self.start_script(io);
                }
                self.state = State::Idle;
                Step::Ready
            }
            Err(reason) if self.state == State::Reconnecting => {
                let number = self.number;
                self.give_up(format!("{reason}\nclient {number} aborted while establishing connection"), io)
            }
            Err(reason) => self.give_up(reason, io),
        }
    }

    /// The next transaction is due.
    fn begin(&mut self, due: Time, io: &mut Io<'_>) -> Step {
        self.script = if self.program.scripts.scripts().len() > 1 {
            self.chooser.choose(&mut self.choose.lock().unwrap_or_else(PoisonError::into_inner))
        } else {
            0
        };
        self.due = due;
        self.tries = 1;
        self.link.session.take_counts();
        if self.program.reconnect && self.used {
            self.state = State::Reconnecting;
            protocol::postgres::frontend::terminate(io.out(LINK));
            return Step::Reconnect(LINK);
        }
        self.start_script(io)
    }

    fn start_script(&mut self, io: &mut Io<'_>) -> Step {
        self.used = true;
        self.random_at_start = self.random.clone();
        self.cursor = Cursor::start();
        self.advance(io)
    }

    /// The link was lost. Nothing brings a client back but its own reconnection.
    fn closed(&mut self, error: Option<&std::io::Error>, io: &mut Io<'_>) -> Step {
        let (number, script, command) = (self.number, self.script, self.cursor.command());
        match self.link.closed(error) {
            Ok(progress) => self.connected(Ok(progress), io),
            Err(reason) => match self.state {
                State::Over => Step::Done,
                State::Connecting => self.give_up(reason, io),
                State::Reconnecting => self
                    .give_up(format!("{reason}\nclient {number} aborted while establishing connection"), io),
                _ => {
                    let told = self.error.take().map(|error| format!("{error}\n")).unwrap_or_default();
                    let message = format!(
                        "{told}client {number} aborted in command {command} (SQL) of script {script}; perhaps the \
                         backend died while processing: {reason}"
                    );
                    self.give_up(message, io)
                }
            },
        }
    }

    /// The client stops for good.
    fn give_up(&mut self, message: String, io: &mut Io<'_>) -> Step {
        self.state = State::Over;
        io.abort(message);
        Step::Done
    }
}
