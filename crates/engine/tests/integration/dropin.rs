//! What a pgbench drop-in asks of the engine: links opened on demand, words and records that arrive while the load
//! runs, transactions that count although they end late or with their client, its own gaps.

use std::sync::Arc;
use std::time::SystemTime;

use crate::support::server::Simple;
use crate::support::{Asker, MS, SECOND, askers, body, frame, plan};
use engine::sim::simulate;
use engine::{
    Abort, Client, ClientMessage, Endpoint, EngineResult, EntryEnd, Event, GapDistribution, Gaps, Io, Load,
    MessageLevel, Observer, Rate, Returned, RunPlan, Second, StatementEnd, Step, StopFlag, Timeline,
    TransactionEntry, TransactionOutcome, Until,
};

/// Everything that left the load threads, in the order it came.
#[derive(Debug, Default)]
struct Outbox {
    epoch: Option<SystemTime>,
    said: Vec<ClientMessage>,
    aborts: Vec<Abort>,
    entries: Vec<(usize, TransactionEntry)>,
}

impl Observer for Outbox {
    fn began(&mut self, epoch: SystemTime) {
        self.epoch = Some(epoch);
    }
    fn message(&mut self, message: &ClientMessage) {
        self.said.push(message.clone());
    }
    fn aborted(&mut self, abort: &Abort) {
        self.aborts.push(abort.clone());
    }
    fn transactions(&mut self, thread: usize, entries: &[TransactionEntry]) {
        self.entries.extend(entries.iter().map(|entry| (thread, *entry)));
    }
    fn second(&mut self, _second: &Second) {}
}

fn run(plan: &RunPlan, clients: Vec<Box<dyn Client>>, server: &mut Simple) -> (EngineResult, Outbox) {
    let mut outbox = Outbox::default();
    let measured = simulate(plan, clients, server, &mut outbox, &StopFlag::new()).expect("the run starts");
    (measured, outbox)
}

/// A client that opens its link for each transaction and closes it at its end; gives up after `most`.
struct Guest {
    asker: Asker,
    greeted: bool,
    done: u32,
    most: u32,
}

impl Guest {
    fn boxed(most: u32) -> Box<dyn Client> {
        Box::new(Self { asker: Asker::simulated(), greeted: false, done: 0, most })
    }
}

impl Client for Guest {
    fn endpoints(&self) -> Vec<Endpoint> {
        vec![self.asker.endpoint.clone()]
    }
    fn on_demand(&self) -> bool {
        true
    }
    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Slot { .. } => {
                self.greeted = false;
                io.say(MessageLevel::Debug, format!("connect for {}", self.done + 1));
                Step::Reconnect(0)
            }
            Event::Opened(_) => {
                io.out(0).extend(frame(b"hello"));
                Step::Wait
            }
            Event::Bytes { data, used, .. } => {
                let Some(reply) = body(data) else { return Step::Wait };
                *used = 4 + reply.len();
                if !std::mem::replace(&mut self.greeted, true) {
                    io.restart();
                    io.out(0).extend(frame(b"ask"));
                    return Step::Wait;
                }
                self.done += 1;
                io.statement(
                    0,
                    if self.done == 1 { StatementEnd::Retried } else { StatementEnd::Completed(1) },
                );
                io.out(0).extend(frame(b"bye"));
                io.close(0);
                if self.done == self.most {
                    io.abort_because(Abort {
                        causes: vec!["enough".into()],
                        message: "gave up".into(),
                        ..Abort::default()
                    });
                }
                Step::Ended(TransactionOutcome {
                    script: 0,
                    failure: None,
                    tries: 2,
                    returned: Returned::default(),
                })
            }
            Event::Closed { .. } => panic!("a link that was closed is not lost"),
            Event::Timer | Event::Woken | Event::Secured { .. } => Step::Wait,
        }
    }
}

#[test]
fn links_are_opened_on_demand_and_closed_without_an_event() {
    let plan =
        RunPlan { until: Until::PerClient(4), statements: 1, transactions: true, threads: 2, ..plan() };
    let (measured, outbox) = run(&plan, vec![Guest::boxed(9), Guest::boxed(9)], &mut Simple::new(10 * MS));
    assert_eq!(measured.totals().ok, 8);
    assert_eq!(measured.reconnections, 8, "one for each transaction, at no pause");
    assert!(measured.elapsed < 4 * 50 * MS, "{}", measured.elapsed);
    // Connecting is not part of the transaction: the delay of one reply.
    assert_eq!(measured.scripts[0].response.max_ns(), Some(10 * MS));
    assert_eq!((measured.statements[0].retries, measured.statements[0].latency.count()), (2, 6));
    assert_eq!(outbox.said.len(), 8);
    assert_eq!(measured.messages.len(), 8);
    assert_eq!(outbox.epoch, Some(SystemTime::UNIX_EPOCH));
}

#[test]
fn a_transaction_counts_with_which_its_client_gives_up() {
    let plan = RunPlan { until: Until::PerClient(5), transactions: true, statements: 1, ..plan() };
    let (measured, outbox) = run(&plan, vec![Guest::boxed(3)], &mut Simple::new(MS));
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.due, totals.unfinished), (3, 3, 0));
    assert_eq!(measured.aborts, outbox.aborts);
    assert_eq!(measured.aborts[0].to_string(), "enough\ngave up");
    assert_eq!(outbox.entries.len(), 3);
    assert!(outbox.entries.iter().all(|(_, entry)| entry.tries == 2 && entry.end == EntryEnd::Succeeded));
}

#[test]
fn every_measured_transaction_is_recorded_and_no_other() {
    let plan = RunPlan { transactions: true, warmup: SECOND, until: Until::Elapsed(5 * SECOND), ..plan() };
    let (measured, outbox) = run(&plan, askers(3), &mut Simple::new(MS));
    assert_eq!(outbox.entries.len() as u64, measured.totals().ok);
    let sum: u64 = outbox.entries.iter().map(|(_, entry)| entry.ended - entry.due).sum();
    assert_eq!(sum, measured.scripts[0].response.sum_ns() as u64);
    let (without, nothing) = run(&RunPlan { transactions: false, ..plan }, askers(3), &mut Simple::new(MS));
    assert_eq!(without.totals(), measured.totals());
    assert_eq!(nothing.entries, []);
}

#[test]
fn what_ends_while_draining_counts_where_that_is_asked_for() {
    let plan = RunPlan { count_drained: true, transactions: true, ..plan() };
    let (measured, outbox) = run(&plan, askers(3), &mut Simple::new(300 * MS));
    assert_eq!(measured.totals().ok, 3 * 34);
    assert_eq!(measured.elapsed, 34 * 300 * MS, "until the last one's end");
    assert_eq!(outbox.entries.len(), 3 * 34);
}

#[test]
fn gaps_may_come_from_outside() {
    let gaps = Gaps(Arc::new(|thread| Box::new(move || (thread as u64 + 1) * 100 * MS)));
    let load = Load::Rate(Rate {
        profile: 1.0.into(),
        arrivals: GapDistribution::Poisson,
        timeline: Timeline::PerThread,
    });
    let plan = RunPlan { load, threads: 2, gaps: Some(gaps), transactions: true, ..plan() };
    let (measured, outbox) = run(&plan, askers(2), &mut Simple::new(MS));
    let dues = |wanted| {
        let of_thread = outbox.entries.iter().filter(move |(thread, _)| *thread == wanted);
        of_thread.map(|(_, entry)| entry.due).collect::<Vec<_>>()
    };
    assert_eq!((dues(0).len(), dues(1).len()), (99, 49));
    assert!(dues(1).windows(2).all(|pair| pair[1] - pair[0] == 200 * MS));
    assert_eq!(measured.totals().due, 148);
}

#[test]
fn skipped_arrivals_are_recorded_for_the_client_that_passed_over_them() {
    let load = Load::Rate(Rate {
        profile: 1000.0.into(),
        arrivals: GapDistribution::Uniform,
        timeline: Timeline::PerThread,
    });
    let plan = RunPlan {
        load,
        promise: Some(MS),
        skip_late: true,
        until: Until::PerClient(10),
        transactions: true,
        ..plan()
    };
    let (measured, outbox) = run(&plan, askers(1), &mut Simple::new(5 * MS));
    let totals = measured.totals();
    assert_eq!(totals.due, 10);
    let skipped = outbox.entries.iter().filter(|(_, entry)| entry.end == EntryEnd::Skipped).count();
    assert_eq!(skipped as u64, totals.skipped);
    assert!(skipped > 4, "{totals:?}");
}

/// Gaps of 0 made the count of what was left over endless.
#[test]
fn gaps_of_nothing_end_with_the_run() {
    let load = Load::Rate(Rate {
        profile: 1e15.into(),
        arrivals: GapDistribution::Poisson,
        timeline: Timeline::PerThread,
    });
    let gaps = Some(Gaps(Arc::new(|_| Box::new(|| 0))));
    let plan = RunPlan { load, gaps, until: Until::Elapsed(SECOND), ..plan() };
    let (measured, _) = run(&plan, askers(2), &mut Simple::new(10 * MS));
    let totals = measured.totals();
    assert_eq!((totals.ok + totals.unfinished, totals.due), (totals.due, totals.due));
    assert!((198..=202).contains(&totals.due), "{totals:?}");
}

/// A wake-up that comes later than the promise is our fault, and no reason to skip.
#[test]
fn an_arrival_that_a_client_waits_for_is_never_skipped() {
    let load = Load::Rate(Rate {
        profile: 200.0.into(),
        arrivals: GapDistribution::Uniform,
        timeline: Timeline::PerThread,
    });
    let plan = RunPlan { load, promise: Some(1), skip_late: true, until: Until::PerClient(20), ..plan() };
    // On a real clock: a turn always begins more than 1 ns after the arrival is due.
    struct Idle;
    impl Client for Idle {
        fn endpoints(&self) -> Vec<Endpoint> {
            Vec::new()
        }
        fn handle(&mut self, _event: Event<'_>, _io: &mut Io<'_>) -> Step {
            Step::Ended(TransactionOutcome {
                script: 0,
                failure: None,
                tries: 1,
                returned: Returned::default(),
            })
        }
    }
    let measured = engine::run(&plan, vec![Box::new(Idle)], &mut (), &StopFlag::new()).unwrap();
    let totals = measured.totals();
    // An arrival that fell into a pause of this process did wait.
    assert!(totals.due == 20 && totals.late > 10, "{totals:?}");
}

/// On real threads, with more words than may be under way at once: none is lost, and none out of order.
#[test]
fn a_slow_reader_slows_the_load_and_loses_nothing() {
    struct Talker(u32);
    impl Client for Talker {
        fn endpoints(&self) -> Vec<Endpoint> {
            Vec::new()
        }
        fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
            assert!(matches!(event, Event::Slot { .. }));
            io.message(self.0.to_string());
            self.0 += 1;
            Step::Ended(TransactionOutcome {
                script: 0,
                failure: None,
                tries: 1,
                returned: Returned::default(),
            })
        }
    }
    let mut outbox = Outbox::default();
    let plan = RunPlan { until: Until::PerClient(200_000), transactions: true, ..plan() };
    let measured = engine::run(&plan, vec![Box::new(Talker(0))], &mut outbox, &StopFlag::new()).unwrap();
    assert_eq!(outbox.entries.len(), 200_000);
    assert!(outbox.said.iter().enumerate().all(|(number, said)| said.text == number.to_string()));
    assert_eq!(outbox.said.len(), 200_000);
    assert_eq!(measured.messages.len() as u64 + measured.messages_dropped, 200_000);
}
