//! A PostgreSQL server for tests: the engine's simulation moves its bytes, a closure answers its statements.

mod setting;
pub(crate) mod sql;
pub(crate) mod web;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

pub(crate) use self::setting::{MessageLog, connect, connect_to, plan};
use self::wire::{TestRequest, complete, ready, take, write_error, write_rows};
use crate::jobs::{BoxedSql, Runtime};
use engine::sim::{Greeting, Replies, SimServer, simulate};
use engine::{Address, Client, EngineResult, Observer, RunPlan, StopFlag, Time};
use protocol::http::{ControlError, HttpConnection, Url};
use protocol::postgres::Tls;
use protocol::postgres::sql::SqlError;
use spec::Error;

/// A part of a statement's answer.
#[derive(Debug, Clone)]
pub(crate) enum AnswerPart {
    Rows(Vec<&'static str>, Vec<Vec<Option<&'static str>>>),
    /// A command tag.
    Done(&'static str),
    /// SQLSTATE and message.
    Error(&'static str, &'static str),
    /// An error that ends the connection.
    Fatal(&'static str, &'static str),
    Notice(&'static str),
    /// `COPY … FROM STDIN` begins.
    CopyIn,
    /// The connection breaks.
    Lost,
    /// An administrator ends the connection after this time.
    Later(Time),
    /// The rest takes this long, ns.
    After(Time),
}

/// The server. Statements of the extended protocol are answered with their parameters substituted for `$n`.
pub(crate) struct FakePostgres<F> {
    answer: F,
    /// Answers arrive in pieces of this many bytes.
    pub(crate) piece: usize,
    /// The requests, in order: `Q text`, `P name text`, `E text`, `S`, `C` for a connection, `X` for its end.
    pub(crate) log: Vec<String>,
    /// Statements that contain one of these cannot be prepared.
    pub(crate) unparsable: Vec<&'static str>,
    /// Names of statements that each connection has from the beginning.
    pub(crate) known_already: Vec<String>,
    pub(crate) full_at: usize,
    pub(crate) down: std::ops::Range<usize>,
    /// These connections get an error (SQLSTATE), and the server leaves them open.
    pub(crate) refused_connections: (std::ops::Range<usize>, &'static str),
    /// Servers in this folder are in hot standby.
    pub(crate) standby: Option<&'static str>,
    pub(crate) addresses: Vec<Address>,
    connections: HashMap<usize, Backend>,
}

#[derive(Default)]
struct Backend {
    input: Vec<u8>,
    started: bool,
    statements: BTreeMap<String, String>,
    portal: String,
    transaction: TestTransaction,
    /// After an error, until Sync.
    skipping: bool,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum TestTransaction {
    #[default]
    None,
    Open,
    Failed,
}

impl<F: FnMut(usize, &str) -> Vec<AnswerPart>> FakePostgres<F> {
    /// `answer` gets the connection and the statement.
    pub(crate) fn new(answer: F) -> Self {
        Self {
            answer,
            piece: usize::MAX,
            log: Vec::new(),
            unparsable: Vec::new(),
            known_already: Vec::new(),
            full_at: usize::MAX,
            down: 0..0,
            refused_connections: (0..0, ""),
            standby: None,
            addresses: Vec::new(),
            connections: HashMap::new(),
        }
    }

    /// Runs clients until each has ended `transactions`.
    pub(crate) fn run(
        &mut self,
        clients: Vec<Box<dyn Client>>,
        transactions: u64,
        scripts: usize,
    ) -> Result<EngineResult, Error> {
        self.run_plan(clients, &plan(transactions, scripts), &mut ())
    }

    /// Runs clients as `plan` has it.
    pub(crate) fn run_plan(
        &mut self,
        clients: Vec<Box<dyn Client>>,
        plan: &RunPlan,
        observer: &mut dyn Observer,
    ) -> Result<EngineResult, Error> {
        simulate(plan, clients, self, observer, &StopFlag::new())
    }

    /// Statements, without parsing, syncs and connections.
    pub(crate) fn asked(&self) -> Vec<&str> {
        let statements =
            self.log.iter().filter_map(|line| line.strip_prefix("Q ").or(line.strip_prefix("E ")));
        statements.collect()
    }

    fn execute(&mut self, connection: usize, sql: &str, out: &mut Out) {
        let answers = (self.answer)(connection, sql);
        let backend = self.connections.entry(connection).or_default();
        for answer in answers {
            match answer {
                AnswerPart::Rows(columns, values) => {
                    write_rows(&mut out.bytes, &columns, &values);
                    complete(&mut out.bytes, &format!("SELECT {}", values.len()));
                }
                AnswerPart::Done(tag) => {
                    complete(&mut out.bytes, tag);
                    backend.transaction = match tag {
                        "BEGIN" => TestTransaction::Open,
                        "COMMIT" | "ROLLBACK" => TestTransaction::None,
                        _ => backend.transaction,
                    };
                }
                AnswerPart::Error(code, message) => return backend.refuse(code, message, out),
                AnswerPart::Fatal(code, message) => {
                    write_error(&mut out.bytes, "FATAL", code, message);
                    out.end = Some(TestEnd::Closed);
                    return;
                }
                AnswerPart::Notice(message) => wire::notice(&mut out.bytes, message),
                AnswerPart::CopyIn => out.bytes.extend_from_slice(b"G\0\0\0\x07\0\0\0"),
                AnswerPart::Lost => out.end = Some(TestEnd::Reset),
                AnswerPart::Later(after) => out.later = Some(after),
                AnswerPart::After(time) => out.delay += time,
            }
        }
    }

    fn request(&mut self, connection: usize, request: TestRequest, out: &mut Out) {
        let backend = self.connections.entry(connection).or_default();
        match request {
            TestRequest::Startup => {
                backend.started = true;
                self.log.push("C".into());
                if self.refused_connections.0.contains(&connection) {
                    return write_error(&mut out.bytes, "FATAL", self.refused_connections.1, "not now");
                }
                let standby = self.standby.is_some_and(|folder| match &self.addresses[connection] {
                    Address::Unix(path) => path.starts_with(folder),
                    Address::Tcp(_) => false,
                });
                wire::status(&mut out.bytes, "in_hot_standby", if standby { "on" } else { "off" });
                out.bytes.extend_from_slice(b"R\0\0\0\x08\0\0\0\0");
                ready(&mut out.bytes, b'I');
            }
            TestRequest::Query(sql) => {
                self.log.push(format!("Q {sql}"));
                self.execute(connection, &sql, out);
                self.ready(connection, out);
            }
            TestRequest::Sync => {
                self.log.push("S".into());
                self.ready(connection, out);
            }
            TestRequest::Terminate => self.log.push("X".into()),
            TestRequest::CopyDone => {}
            _ if backend.skipping => {}
            TestRequest::Parse(name, sql) => {
                self.log.push(format!("P {name} {sql}"));
                if self.unparsable.iter().any(|part| sql.contains(part)) {
                    return backend.refuse("42601", "syntax error", out);
                }
                if self.known_already.contains(&name) {
                    let text = format!("prepared statement \"{name}\" already exists");
                    return backend.refuse("42P05", &text, out);
                }
                backend.statements.insert(name, sql);
                out.bytes.extend_from_slice(b"1\0\0\0\x04");
            }
            TestRequest::Bind(name, parameters) => {
                if self.known_already.contains(&name) {
                    backend.portal = "another program's".to_owned();
                    return out.bytes.extend_from_slice(b"2\0\0\0\x04");
                }
                let Some(sql) = backend.statements.get(&name) else {
                    let text = format!("prepared statement \"{name}\" does not exist");
                    return backend.refuse("26000", &text, out);
                };
                backend.portal = wire::pasted(sql, &parameters);
                out.bytes.extend_from_slice(b"2\0\0\0\x04");
            }
            TestRequest::Describe => out.bytes.extend_from_slice(b"n\0\0\0\x04"),
            TestRequest::Execute => {
                let sql = backend.portal.clone();
                self.log.push(format!("E {sql}"));
                self.execute(connection, &sql, out);
            }
        }
    }

    fn ready(&mut self, connection: usize, out: &mut Out) {
        if out.end.is_some() {
            return;
        }
        let backend = self.connections.entry(connection).or_default();
        backend.skipping = false;
        let status = match backend.transaction {
            TestTransaction::None => b'I',
            TestTransaction::Open => b'T',
            TestTransaction::Failed => b'E',
        };
        ready(&mut out.bytes, status);
    }
}

impl Backend {
    fn refuse(&mut self, code: &str, message: &str, out: &mut Out) {
        write_error(&mut out.bytes, "ERROR", code, message);
        self.skipping = true;
        if self.transaction == TestTransaction::Open {
            self.transaction = TestTransaction::Failed;
        }
    }
}

/// The answer to one piece of input.
#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
    delay: Time,
    end: Option<TestEnd>,
    /// When the connection is ended after the sent bytes.
    later: Option<Time>,
}

enum TestEnd {
    Closed,
    Reset,
}

impl<F: FnMut(usize, &str) -> Vec<AnswerPart>> SimServer for FakePostgres<F> {
    fn connect(&mut self, connection: usize, address: &Address, _now: Time) -> Greeting {
        self.addresses.push(address.clone());
        if connection < self.full_at && !self.down.contains(&connection) {
            Greeting::Accept(1_000)
        } else {
            Greeting::Refuse(std::io::ErrorKind::ConnectionRefused, 1_000)
        }
    }

    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies) {
        let backend = self.connections.entry(connection).or_default();
        backend.input.extend_from_slice(bytes);
        let mut out = Out { delay: 1_000, ..Out::default() };
        loop {
            let backend = self.connections.entry(connection).or_default();
            let Some(request) = take(&mut backend.input, backend.started) else { break };
            self.request(connection, request, &mut out);
            if out.end.is_some() {
                break;
            }
        }
        replies.chunk(self.piece);
        replies.send(out.delay, &out.bytes);
        if let Some(after) = out.later {
            let mut words = Vec::new();
            write_error(&mut words, "FATAL", "57P01", "terminating connection due to administrator command");
            replies.send(out.delay + after, &words);
            replies.close(out.delay + after);
        }
        match out.end {
            Some(TestEnd::Closed) => replies.close(out.delay),
            Some(TestEnd::Reset) => replies.reset(out.delay),
            None => {}
        }
    }
}

/// A runtime for jobs that need no further connection.
#[derive(Debug)]
pub(crate) struct NoServer;

impl Runtime for NoServer {
    fn connect(&self) -> Result<BoxedSql, SqlError> {
        Err(SqlError { sqlstate: None, text: "no server".to_owned() })
    }

    fn now_us(&self) -> u64 {
        0
    }

    fn sleep_us(&self, _us: u64) {}

    fn stopped(&self) -> bool {
        false
    }
}

/// No web server.
pub(crate) struct NoWeb;

impl protocol::http::HttpConnector for NoWeb {
    fn look_up(&self, url: &Url) -> Result<Vec<SocketAddr>, ControlError> {
        Err(ControlError { doing: format!("looking up {url}"), problem: "there is no web server".to_owned() })
    }

    fn control(
        &self,
        url: &Url,
        _tls: Option<&Tls>,
    ) -> Result<Box<dyn HttpConnection + Send + '_>, ControlError> {
        self.look_up(url).map(|_| unreachable!("there is no web server"))
    }
}

/// A picture of 3 x 2 pixels.
pub(crate) fn png(pixels: [[u8; 3]; 6]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 3, 2);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(pixels.as_flattened()).unwrap();
    bytes
}
