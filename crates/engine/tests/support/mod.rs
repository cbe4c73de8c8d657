//! A client and a server for tests of the engine.
//!
//! They use the smallest protocol that can be cut anywhere: a request and its reply are both a length (4
//! bytes, little endian) and that many bytes. The first byte of a request's body selects the reply.

#![allow(dead_code, reason = "each test file uses its own part")]

pub mod live;
pub mod server;

use std::path::PathBuf;

use engine::sim::{NextHold, SimServer, simulate_held};
use engine::{
    Abort, Address, Client, Endpoint, EngineResult, Event, Failure, Io, Load, Returned, RunPlan, Second,
    StatementEnd, Step, StopFlag, Stretch, Time, TransactionOutcome, Until,
};

use spec::Counts;

pub const MS: Time = 1_000_000;
pub const SECOND: Time = 1_000_000_000;

/// One frame: length and body.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

/// The body of the frame at the start of `data`, once it is all there.
pub fn body(data: &[u8]) -> Option<&[u8]> {
    let length = u32::from_le_bytes(data.get(..4)?.try_into().ok()?) as usize;
    data.get(4..4 + length)
}

/// What a client does when it loses its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Connects again, and has the open transaction counted as failed.
    Reconnect,
    /// Stops with a message.
    Abort,
}

/// Asks, and waits for the reply; a greeting is exchanged first.
#[derive(Debug, Clone)]
pub struct Asker {
    pub endpoint: Endpoint,
    pub request: Vec<u8>,
    pub loss: Loss,
    pub script: u16,
    /// Agree on TLS first: a frame "S" each way.
    pub tls: bool,
    /// A new connection for each transaction.
    pub reconnects: bool,
    /// Bytes of a reply are checked to equal the request's, backwards.
    pub checks: bool,
    pub statement: Option<u16>,
    /// Transactions for which it has input: it gives up before a further one.
    pub input: Option<u32>,
    pub phase: Phase,
    pub started: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Away,
    Agreeing,
    Greeting,
    Ready,
    Asking,
    /// Connecting again, inside a transaction.
    Renewing,
}

impl Asker {
    pub fn new(address: Address) -> Self {
        Self {
            endpoint: Endpoint::plain(address),
            request: b"ask".to_vec(),
            loss: Loss::Reconnect,
            script: 0,
            tls: false,
            reconnects: false,
            checks: false,
            statement: None,
            input: None,
            phase: Phase::Away,
            started: 0,
        }
    }

    /// A client of a simulated server.
    pub fn simulated() -> Self {
        Self::new(Address::Unix(PathBuf::from("/simulated")))
    }

    pub fn boxed(self) -> Box<dyn Client> {
        Box::new(self)
    }

    fn greet(&mut self, io: &mut Io<'_>) -> Step {
        if self.phase != Phase::Renewing {
            self.phase = Phase::Greeting;
        }
        io.out(0).extend(frame(b"hello"));
        Step::Wait
    }

    fn ask(&mut self, io: &mut Io<'_>) -> Step {
        self.phase = Phase::Asking;
        self.started = io.now;
        io.out(0).extend(frame(&self.request));
        Step::Wait
    }

    fn reply(&mut self, reply: &[u8], io: &mut Io<'_>) -> Step {
        match self.phase {
            Phase::Agreeing => {
                assert_eq!(reply, b"S");
                Step::StartTls(0)
            }
            Phase::Greeting => {
                self.phase = Phase::Ready;
                Step::Ready
            }
            Phase::Renewing => {
                io.restart();
                self.ask(io)
            }
            Phase::Asking => {
                if self.checks {
                    assert!(
                        reply.iter().eq(self.request.iter().rev()),
                        "a reply of {} bytes is not the request's",
                        reply.len()
                    );
                }
                self.phase = Phase::Ready;
                self.input = self.input.map(|left| left - 1);
                if let Some(statement) = self.statement {
                    io.statement(usize::from(statement), StatementEnd::Completed(io.now - self.started));
                }
                Step::Ended(self.outcome((reply == b"fail").then_some(Failure::Other), reply.len()))
            }
            Phase::Away | Phase::Ready => panic!("a reply to nothing: {reply:?}"),
        }
    }

    fn outcome(&self, failure: Option<Failure>, bytes: usize) -> TransactionOutcome {
        TransactionOutcome {
            script: self.script,
            failure,
            tries: 1,
            returned: Returned { rows: 1, bytes: bytes as u64, ..Returned::default() },
        }
    }
}

impl Client for Asker {
    fn endpoints(&self) -> Vec<Endpoint> {
        vec![self.endpoint.clone()]
    }

    fn script(&mut self) -> u16 {
        self.script
    }

    fn visit(&mut self, visit: engine::Visit) {
        if let Some(script) = visit.script {
            self.script = script;
            self.request = vec![b'0' + script as u8];
        }
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Opened(0) if self.tls => {
                self.phase = Phase::Agreeing;
                io.out(0).extend(frame(b"S"));
                Step::Wait
            }
            Event::Opened(_) => self.greet(io),
            Event::Secured { certificate, .. } => {
                assert!(certificate.is_some_and(|bytes| !bytes.is_empty()));
                self.greet(io)
            }
            Event::Bytes { data, used, .. } => match body(data) {
                Some(reply) => {
                    *used = 4 + reply.len();
                    self.reply(reply, io)
                }
                None => Step::Wait,
            },
            Event::Slot { .. } if self.input == Some(0) => {
                let message = "no input is left".to_owned();
                io.abort_because(Abort { message, before_start: true, ..Abort::default() });
                Step::Done
            }
            Event::Slot { .. } if self.reconnects => {
                self.phase = Phase::Renewing;
                Step::Reconnect(0)
            }
            Event::Slot { .. } => self.ask(io),
            Event::Closed { error, .. } => {
                self.phase = Phase::Away;
                match self.loss {
                    Loss::Reconnect => Step::Reconnect(0),
                    Loss::Abort => {
                        io.abort(format!(
                            "lost the server: {}",
                            error.map_or("it closed the link".into(), ToString::to_string)
                        ));
                        Step::Done
                    }
                }
            }
            Event::Timer | Event::Woken => Step::Wait,
        }
    }
}

pub fn askers(count: usize) -> Vec<Box<dyn Client>> {
    (0..count).map(|_| Asker::simulated().boxed()).collect()
}

/// A run in simulated time, whose seconds must add up to its figures.
pub fn run(
    plan: &RunPlan,
    clients: Vec<Box<dyn Client>>,
    server: &mut dyn SimServer,
) -> (EngineResult, Heard) {
    run_held(plan, clients, server, |_| NextHold::Finish)
}

/// The same of a run that is held and released.
pub fn run_held(
    plan: &RunPlan,
    clients: Vec<Box<dyn Client>>,
    server: &mut dyn SimServer,
    next: impl FnMut(Option<Stretch>) -> NextHold,
) -> (EngineResult, Heard) {
    let mut heard = Heard::default();
    let measured =
        simulate_held(plan, clients, server, &mut heard, &StopFlag::new(), next).expect("the run starts");
    heard.check_against(&measured);
    (measured, heard)
}

/// The plan of a run that its caller holds and releases.
pub fn held_plan() -> RunPlan {
    RunPlan { until: Until::Caller, ..plan() }
}

/// A plan that is closed, on one thread, for 10 s.
pub fn plan() -> RunPlan {
    RunPlan {
        threads: 1,
        part: engine::LoadPart::WHOLE,
        cpus: None,
        spin: 0,
        driver: engine::DriverChoice::Auto,
        load: Load::Closed,
        warmup: 0,
        until: Until::Elapsed(10 * SECOND),
        promise: None,
        skip_late: false,
        drain: 2 * SECOND,
        count_drained: false,
        transactions: false,
        gaps: None,
        connect_timeout: 5 * SECOND,
        seed: 1,
        scripts: 1,
        statements: 0,
        items: 0,
    }
}

/// Everything an observer hears.
#[derive(Debug, Default)]
pub struct Heard {
    pub connecting: Option<Time>,
    pub measuring: u32,
    pub ending: u32,
    pub seconds: Vec<Second>,
}

impl engine::Observer for Heard {
    fn loading(&mut self, connecting: Time) {
        self.connecting = Some(connecting);
    }

    fn measuring(&mut self) {
        self.measuring += 1;
    }

    fn ending(&mut self) {
        self.ending += 1;
    }

    fn second(&mut self, second: &Second) {
        self.seconds.push(second.clone());
    }
}

impl Heard {
    /// Sum over the seconds from the start of the measured part on.
    pub fn sum(&self) -> Counts {
        let mut sum = Counts::default();
        for second in self.seconds.iter().filter(|second| second.start_ns >= 0) {
            second.scripts.iter().for_each(|script| sum.add(&script.counts));
        }
        sum
    }

    /// Holds what must hold of every run.
    pub fn check_against(&self, measured: &EngineResult) {
        let totals = measured.totals();
        assert_eq!(self.sum(), totals, "seconds add up to the run");
        assert_eq!(
            totals.due,
            totals.ok + totals.late + totals.failed + totals.skipped + totals.unfinished,
            "{totals:?}"
        );
        for script in &measured.scripts {
            assert_eq!(script.response.count(), script.counts.processed());
            assert_eq!(script.service().count(), script.counts.processed());
        }
        let ends: Vec<i64> =
            self.seconds.iter().map(|second| second.start_ns + second.length_ns as i64).collect();
        for (second, end) in self.seconds.iter().skip(1).zip(&ends) {
            assert!(
                second.start_ns >= *end,
                "seconds are in order and apart: {:?}",
                self.seconds.iter().map(|s| (s.start_ns, s.length_ns)).collect::<Vec<_>>()
            );
        }
    }
}
