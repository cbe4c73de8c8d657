//! Servers that go away, come back, stay silent, or never answer again.

use crate::support::server::Simple;
use crate::support::{Asker, Loss, MS, Phase, SECOND, askers, body, frame, plan, run};
use engine::sim::{Greeting, Replies, SimServer, simulate};
use engine::{
    Address, Client, Endpoint, EngineResult, Event, Failure, Io, Observer, Returned, RunPlan, Second, Step,
    StopFlag, TransactionOutcome, Until,
};

/// A server that is away for a while: connections break when something is asked, new ones are refused or ignored.
struct Away {
    server: Simple,
    from: u64,
    to: u64,
    /// Silent instead of refusing.
    silent: bool,
    attempts: Vec<u64>,
    addresses: Vec<Address>,
}

impl Away {
    fn new(from: u64, to: u64) -> Self {
        let (attempts, addresses) = (Vec::new(), Vec::new());
        Self { server: Simple::new(10 * MS), from, to, silent: false, attempts, addresses }
    }
}

impl SimServer for Away {
    fn connect(&mut self, connection: usize, address: &Address, now: u64) -> Greeting {
        self.addresses.push(address.clone());
        let greeting = self.server.connect(connection, address, now);
        if !(self.from..self.to).contains(&now) {
            return greeting;
        }
        self.attempts.push(now);
        if self.silent {
            Greeting::Ignore
        } else {
            Greeting::Refuse(std::io::ErrorKind::ConnectionRefused, 1000)
        }
    }

    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies) {
        if (self.from..self.to).contains(&replies.now()) {
            // Half an answer first.
            replies.send(1000, &frame(b"reply")[..6]);
            replies.reset(1000);
        } else {
            self.server.received(connection, bytes, replies);
        }
    }

    fn closed(&mut self, connection: usize, now: u64) {
        self.server.closed(connection, now);
    }
}

#[test]
fn an_outage_has_its_times_and_its_clients() {
    let mut server = Away::new(3 * SECOND, 5 * SECOND);
    let plan = RunPlan { threads: 3, ..plan() };
    let (measured, _) = run(&plan, askers(8), &mut server);
    assert_eq!((measured.totals().failed, measured.connections_lost), (8, 8));
    assert_eq!((measured.outages.len(), measured.outages_dropped), (1, 0));
    let outage = measured.outages[0];
    assert_eq!((outage.clients, outage.over), (8, true));
    assert!((2_990..3_010).contains(&(outage.from_ns / 1_000_000)), "{outage:?}");
    assert!((5_000..6_010).contains(&(outage.to_ns / 1_000_000)), "{outage:?}");
    // 10, 20, … 640 ms, then one a second.
    assert!(server.attempts.len() <= 8 * 9, "{} attempts", server.attempts.len());
    assert_eq!(
        server.server.connections,
        server.server.closed + 8 + server.attempts.len(),
        "nothing is left open"
    );
}

#[test]
fn a_peer_that_stays_silent_is_given_up_and_asked_again() {
    let mut server = Away { silent: true, ..Away::new(3 * SECOND, 4 * SECOND) };
    let plan = RunPlan { until: Until::Elapsed(30 * SECOND), ..plan() };
    let (measured, _) = run(&plan, askers(1), &mut server);
    assert_eq!(server.attempts.len(), 1);
    let outage = measured.outages[0];
    let length = (outage.to_ns - outage.from_ns) as u64;
    assert!((10 * SECOND..10 * SECOND + 100 * MS).contains(&length), "{outage:?}");
    // Silence while the connection is in use is nobody's business but the client's.
    let stall = Some((3 * SECOND, 20 * SECOND));
    let mut server = Simple { stall, loses_every: Some(50), ..Simple::new(10 * MS) };
    let (measured, _) = run(&plan, askers(1), &mut server);
    assert_eq!(measured.scripts[0].service().count_above(16 * SECOND), 1);
}

#[test]
fn clients_that_give_up_are_lost_and_not_away() {
    let mut server = Away::new(3 * SECOND, 5 * SECOND);
    let clients = (0..4).map(|_| Asker { loss: Loss::Abort, ..Asker::simulated() }.boxed()).collect();
    let (measured, _) = run(&plan(), clients, &mut server);
    assert_eq!((measured.connections_lost, measured.aborts.len(), measured.outages.len()), (4, 4, 0));
}

#[test]
fn an_outage_that_outlasts_the_run_ends_with_it() {
    let mut server = Away::new(3 * SECOND, u64::MAX);
    let (measured, _) = run(&plan(), askers(2), &mut server);
    let outage = measured.outages[0];
    assert_eq!((outage.over, outage.to_ns, outage.clients), (false, 10 * SECOND as i64, 2));
    // What was under way when the connection was lost did not succeed.
    assert_eq!((measured.totals().failed, measured.totals().unfinished, measured.left_open), (2, 0, 0));
}

/// Tells at once that its transaction failed, and goes to another address.
struct Mover(Asker);

impl Client for Mover {
    fn endpoints(&self) -> Vec<Endpoint> {
        self.0.endpoints()
    }
    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        let asking = self.0.phase == Phase::Asking;
        let fail = |io: &mut Io<'_>| {
            let failure = Some(Failure::Other);
            io.ended(TransactionOutcome { script: 0, failure, tries: 1, returned: Returned::default() });
        };
        match event {
            Event::Bytes { data, used, .. } if asking && body(data) == Some(b"fail") => {
                *used = data.len();
                fail(io);
                io.lost(0);
                self.0.phase = Phase::Away;
                Step::Reconnect(0)
            }
            Event::Closed { .. } => {
                if asking {
                    fail(io);
                }
                let address = Address::Unix("/elsewhere".into());
                io.redirect(0, Endpoint::plain(address));
                self.0.handle(event, io)
            }
            event => self.0.handle(event, io),
        }
    }
}

fn movers(count: usize) -> Vec<Box<dyn Client>> {
    (0..count).map(|_| Box::new(Mover(Asker::simulated())) as Box<dyn Client>).collect()
}

#[test]
fn a_failure_can_be_told_when_it_happens_and_a_link_can_go_elsewhere() {
    let mut server = Away::new(3 * SECOND, u64::MAX);
    let (measured, heard) = run(&plan(), movers(2), &mut server);
    let second =
        |failed: u64| heard.seconds.iter().position(|second| second.scripts[0].counts.failed == failed);
    assert_eq!((measured.totals().failed, measured.totals().unfinished, second(2)), (2, 0, Some(3)));
    let elsewhere = server.addresses.iter().filter(|address| **address == Address::Unix("/elsewhere".into()));
    assert_eq!(elsewhere.count(), server.attempts.len());
}

#[test]
fn a_link_that_its_client_calls_lost_is_made_again_after_a_pause() {
    let mut server = Simple { fails_every: Some(1), ..Simple::new(MS) };
    let plan = RunPlan { until: Until::PerClient(20), ..plan() };
    let (measured, _) = run(&plan, movers(3), &mut server);
    assert_eq!((measured.totals().failed, measured.connections_lost), (60, 60));
    assert!(measured.elapsed >= 19 * 10 * MS, "{}", measured.elapsed);
    assert_eq!(server.connections, server.closed);
}

#[derive(Default)]
struct Waiting(Vec<usize>);

impl Observer for Waiting {
    fn waiting(&mut self, clients: usize) {
        self.0.push(clients);
    }
    fn second(&mut self, _second: &Second) {}
}

fn hang(drain: u64, stop_after: u64) -> (EngineResult, Vec<usize>) {
    struct Hanging(Simple, u64, StopFlag);
    impl SimServer for Hanging {
        fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies) {
            if replies.now() >= self.1 {
                self.2.set();
            }
            // The first two clients never hear again.
            if connection > 1 || replies.now() < SECOND {
                self.0.received(connection, bytes, replies);
            }
        }
        fn connect(&mut self, connection: usize, address: &Address, now: u64) -> Greeting {
            self.0.connect(connection, address, now)
        }
    }
    let plan = RunPlan { threads: 2, until: Until::Elapsed(3 * SECOND), drain, ..plan() };
    let stop = StopFlag::new();
    let mut server = Hanging(Simple::new(10 * MS), stop_after, stop.clone());
    let mut waiting = Waiting::default();
    let measured = simulate(&plan, askers(5), &mut server, &mut waiting, &stop).unwrap();
    (measured, waiting.0)
}

#[test]
fn who_is_waited_for_after_the_end_is_told_once() {
    let (measured, told) = hang(20 * SECOND, u64::MAX);
    assert_eq!((told, measured.left_open, measured.interrupted), (vec![2], 2, false));
    assert_eq!(hang(4 * SECOND, u64::MAX).1, [0; 0]);
    let (measured, told) = hang(20 * SECOND, 2 * SECOND);
    assert_eq!((told, measured.interrupted), (Vec::new(), true));
}
