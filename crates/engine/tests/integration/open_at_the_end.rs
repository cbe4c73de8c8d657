//! Transactions of a closed load that are open when the measured part ends: they are in every figure but the throughput.

use crate::support::server::Simple;
use crate::support::{Asker, MS, SECOND, askers, body, frame, plan, run};
use engine::sim::{Replies, SimServer};
use engine::{ClientTime, EngineResult, Load, RunPlan, Time, Until, Users};

/// Answers each request after 1 ms, and every n-th after a long time.
struct Rarely {
    every: u64,
    long: Time,
    requests: u64,
}

impl Rarely {
    fn new(every: u64, long: Time) -> Self {
        Self { every, long, requests: 0 }
    }
}

impl SimServer for Rarely {
    fn received(&mut self, _connection: usize, bytes: &[u8], replies: &mut Replies) {
        match body(bytes).expect("a whole request") {
            b"hello" => replies.send(1000, &frame(b"hello")),
            _ => {
                self.requests += 1;
                let is_long = self.requests.is_multiple_of(self.every);
                replies.send(if is_long { self.long } else { MS }, &frame(b"reply"));
            }
        }
    }
}

fn time(measured: &EngineResult) -> ClientTime {
    measured.client_time.expect("it is closed")
}

/// With one transaction in 50 that takes 6 s, 4 s showed 251 transactions, none of them above 100 ms, and a maximum of 0.9 ms.
#[test]
fn transactions_open_at_the_end_vanished_in_closed_load() {
    let plan =
        RunPlan { until: Until::Elapsed(4 * SECOND), promise: Some(100 * MS), drain: 10 * SECOND, ..plan() };
    for threads in [1, 3] {
        let mut server = Rarely::new(50, 6 * SECOND);
        let (measured, _) = run(&RunPlan { threads, ..plan.clone() }, askers(8), &mut server);
        let totals = measured.totals();
        assert_eq!((totals.due, totals.late, measured.left_open), (server.requests, 8, 0));
        assert_eq!(totals.ok, measured.completed(), "what was in time ended in the measured part");
        let figures = &measured.scripts[0];
        assert_eq!(
            (figures.response.max_ns(), figures.service().max_ns()),
            (Some(6 * SECOND), Some(6 * SECOND))
        );
        // Nearly all of the clients' time went into them.
        let time = time(&measured);
        assert_eq!(time.sum(), 8 * 4 * SECOND);
        assert!(time.elsewhere > 31 * SECOND && time.nowhere == 0, "{time:?}");
    }
}

#[test]
fn a_transaction_that_spans_the_measured_part_counts_nowhere() {
    // Both clients are in it from the warm-up on, past the end.
    let plan = RunPlan { warmup: SECOND, until: Until::Elapsed(2 * SECOND), drain: 10 * SECOND, ..plan() };
    let (measured, _) = run(&plan, askers(2), &mut Rarely::new(1, 6 * SECOND));
    assert_eq!((measured.totals().due, measured.completed()), (0, 0));
    let time = time(&measured);
    assert_eq!((time.sum(), time.nowhere), (2 * 2 * SECOND, 2 * 2 * SECOND));
}

#[test]
fn what_began_in_warm_up_counts_for_throughput_alone() {
    let plan = RunPlan { warmup: SECOND, until: Until::Elapsed(2 * SECOND), ..plan() };
    let mut server = Rarely::new(1, 300 * MS);
    let (measured, heard) = run(&plan, askers(2), &mut server);
    // Transactions that ended after 1.2 s, ... 2.7 s of the load are in the throughput; the first of them
    // began before the measured part, and in its place the transaction that ended after 3 s is in all other
    // figures.
    assert_eq!((measured.completed(), measured.totals().due), (2 * 6, 2 * 6));
    let drained: u64 =
        heard.seconds.iter().filter(|second| second.is_drain).map(|second| second.scripts[0].counts.ok).sum();
    assert_eq!(drained, 2);
    assert_eq!(measured.scripts[0].response.max_ns(), Some(300 * MS));
    assert_eq!(time(&measured).nowhere, 0);
}

#[test]
fn statements_count_with_their_transaction() {
    let plan = RunPlan { until: Until::Elapsed(SECOND), drain: 10 * SECOND, statements: 1, ..plan() };
    let clients = vec![Asker { statement: Some(0), ..Asker::simulated() }.boxed()];
    let mut server = Rarely::new(1, 3 * SECOND);
    let (measured, _) = run(&plan, clients, &mut server);
    assert_eq!(measured.statements[0].latency.max_ns(), Some(3 * SECOND));
}

#[test]
fn users_think_and_the_rest_of_their_time_is_measured_too() {
    let load = Load::Users(Users::pausing(90 * MS, 500 * MS));
    let (measured, _) =
        run(&RunPlan { load, threads: 2, ..plan() }, askers(3), &mut Rarely::new(1000, SECOND));
    let time = time(&measured);
    assert_eq!(time.sum(), 3 * 10 * SECOND);
    // A visit takes 91 ms, of which 90 are thinking; the ramp is, too.
    let thinking = time.thinking as f64 / time.sum() as f64;
    assert!((0.98..1.0).contains(&thinking), "{time:?}");
    assert_eq!((time.idle, time.connecting), (0, 0));
}

#[test]
fn a_connection_for_each_transaction_is_time_of_its_own() {
    let clients = vec![Asker { reconnects: true, ..Asker::simulated() }.boxed()];
    let mut server = Simple::new(MS);
    let (measured, _) = run(&plan(), clients, &mut server);
    let time = time(&measured);
    assert_eq!(time.sum(), 10 * SECOND);
    // The last one goes on after the end.
    let inside = measured.scripts[0].service().sum_ns() as Time - (time.counted + time.elsewhere);
    assert!(inside < MS, "{inside} ns");
    assert!(time.connecting > 0 && time.idle == 0, "{time:?}");
}
