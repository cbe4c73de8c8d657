//! A PostgreSQL server for tests: the engine's simulation moves its bytes, a closure answers its statements.

mod wire;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use engine::sim::{Greeting, Replies, Server, simulate};
use engine::{Address, Client, DriverChoice, Endpoint, EngineError, Load, Measured, Plan, Stop, Time, Until};
use protocol::postgres::Login;

use self::wire::{Request, complete, error, ready, rows, take};
use crate::place::Connect;

/// One thing a statement gives.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Columns and rows.
    Rows(Vec<&'static str>, Vec<Vec<Option<&'static str>>>),
    /// A command tag.
    Done(&'static str),
    /// SQLSTATE and message.
    Error(&'static str, &'static str),
    /// An error that ends the session.
    Fatal(&'static str, &'static str),
    /// `COPY … FROM STDIN` begins.
    CopyIn,
    /// The connection breaks.
    Lost,
    /// What follows takes this long, ns.
    After(Time),
}

/// The server. Statements of the extended protocol are answered with their parameters pasted in for `$n`.
pub(crate) struct FakePostgres<F> {
    answer: F,
    /// Bytes of each piece that answers arrive in.
    pub(crate) piece: usize,
    /// What was asked, in order: `Q text`, `P name text`, `E text`, `S`, `C` for a connection, `X` for its end.
    pub(crate) log: Vec<String>,
    connections: HashMap<usize, Session>,
}

#[derive(Default)]
struct Session {
    input: Vec<u8>,
    started: bool,
    statements: BTreeMap<String, String>,
    portal: String,
    transaction: Transaction,
    /// After an error, until Sync.
    skipping: bool,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum Transaction {
    #[default]
    None,
    Open,
    Failed,
}

impl<F: FnMut(usize, &str) -> Vec<Answer>> FakePostgres<F> {
    /// `answer` is given the connection and the statement.
    pub(crate) fn new(answer: F) -> Self {
        Self { answer, piece: usize::MAX, log: Vec::new(), connections: HashMap::new() }
    }

    /// Runs clients until each has ended `transactions`.
    pub(crate) fn run(
        &mut self,
        clients: Vec<Box<dyn Client>>,
        transactions: u64,
        scripts: usize,
    ) -> Result<Measured, EngineError> {
        let plan = Plan {
            threads: 1,
            driver: DriverChoice::Auto,
            load: Load::Closed,
            warmup: 0,
            until: Until::PerClient(transactions),
            limit: None,
            skip_late: false,
            drain: 1_000_000_000,
            count_drained: false,
            transactions: false,
            gaps: None,
            connect_timeout: 10_000_000_000,
            seed: 1,
            scripts,
            statements: 64,
        };
        simulate(&plan, clients, self, &mut (), &Stop::new())
    }

    /// Statements asked, without parsing, syncs and connections.
    pub(crate) fn asked(&self) -> Vec<&str> {
        let statements =
            self.log.iter().filter_map(|line| line.strip_prefix("Q ").or(line.strip_prefix("E ")));
        statements.collect()
    }

    fn execute(&mut self, connection: usize, sql: &str, out: &mut Out) {
        let answers = (self.answer)(connection, sql);
        let session = self.connections.entry(connection).or_default();
        for answer in answers {
            match answer {
                Answer::Rows(columns, values) => {
                    rows(&mut out.bytes, &columns, &values);
                    complete(&mut out.bytes, &format!("SELECT {}", values.len()));
                }
                Answer::Done(tag) => {
                    complete(&mut out.bytes, tag);
                    session.transaction = match tag {
                        "BEGIN" => Transaction::Open,
                        "COMMIT" | "ROLLBACK" => Transaction::None,
                        _ => session.transaction,
                    };
                }
                Answer::Error(code, message) => {
                    error(&mut out.bytes, "ERROR", code, message);
                    session.skipping = true;
                    if session.transaction == Transaction::Open {
                        session.transaction = Transaction::Failed;
                    }
                    return;
                }
                Answer::Fatal(code, message) => {
                    error(&mut out.bytes, "FATAL", code, message);
                    out.end = Some(End::Closed);
                    return;
                }
                Answer::CopyIn => out.bytes.extend_from_slice(b"G\0\0\0\x07\0\0\0"),
                Answer::Lost => out.end = Some(End::Reset),
                Answer::After(time) => out.delay += time,
            }
        }
    }

    fn request(&mut self, connection: usize, request: Request, out: &mut Out) {
        let session = self.connections.entry(connection).or_default();
        match request {
            Request::Startup => {
                session.started = true;
                self.log.push("C".into());
                out.bytes.extend_from_slice(b"R\0\0\0\x08\0\0\0\0");
                ready(&mut out.bytes, b'I');
            }
            Request::Query(sql) => {
                self.log.push(format!("Q {sql}"));
                self.execute(connection, &sql, out);
                self.ready(connection, out);
            }
            Request::Sync => {
                self.log.push("S".into());
                self.ready(connection, out);
            }
            Request::Terminate => self.log.push("X".into()),
            _ if session.skipping => {}
            Request::Parse(name, sql) => {
                self.log.push(format!("P {name} {sql}"));
                session.statements.insert(name, sql);
                out.bytes.extend_from_slice(b"1\0\0\0\x04");
            }
            Request::Bind(name, parameters) => {
                session.portal = match session.statements.get(&name) {
                    Some(sql) => wire::pasted(sql, &parameters),
                    None => format!("unknown statement {name}"),
                };
                out.bytes.extend_from_slice(b"2\0\0\0\x04");
            }
            Request::Describe => out.bytes.extend_from_slice(b"n\0\0\0\x04"),
            Request::Execute => {
                let sql = session.portal.clone();
                self.log.push(format!("E {sql}"));
                self.execute(connection, &sql, out);
            }
        }
    }

    fn ready(&mut self, connection: usize, out: &mut Out) {
        let session = self.connections.entry(connection).or_default();
        session.skipping = false;
        let status = match session.transaction {
            Transaction::None => b'I',
            Transaction::Open => b'T',
            Transaction::Failed => b'E',
        };
        ready(&mut out.bytes, status);
    }
}

/// What goes back for one piece of input.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    delay: Time,
    end: Option<End>,
}

enum End {
    Closed,
    Reset,
}

impl<F: FnMut(usize, &str) -> Vec<Answer>> Server for FakePostgres<F> {
    fn connect(&mut self, _connection: usize, _address: &Address, _now: Time) -> Greeting {
        Greeting::Accept(1_000)
    }

    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies) {
        let session = self.connections.entry(connection).or_default();
        session.input.extend_from_slice(bytes);
        let mut out = Out { delay: 1_000, ..Out::default() };
        loop {
            let session = self.connections.entry(connection).or_default();
            let Some(request) = take(&mut session.input, session.started) else { break };
            self.request(connection, request, &mut out);
            if out.end.is_some() {
                break;
            }
        }
        replies.chunk(self.piece);
        replies.send(out.delay, &out.bytes);
        match out.end {
            Some(End::Closed) => replies.close(out.delay),
            Some(End::Reset) => replies.reset(out.delay),
            None => {}
        }
    }
}

/// A place for the simulation.
pub(crate) fn connect() -> Connect {
    let address = Address::Unix("/simulated/.s.PGSQL.5432".into());
    Connect { endpoint: Endpoint { address, tls: None }, login: Arc::new(Login::new("me", "db")) }
}
