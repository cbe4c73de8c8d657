//! The engine against simulated servers: loads, accounting, loss and the parts of a run.

use crate::support::server::Simple;
use crate::support::{Asker, Loss, MS, SECOND, askers, plan, run};
use engine::sim::{Replies, SimServer, simulate};
use engine::{
    Address, Client, Endpoint, Event, GapDistribution, Io, Load, NotConnected, Rate, Returned, RunPlan, Step,
    StopFlag, Timeline, TransactionOutcome, Until, Users,
};

fn rate(per_second: f64, arrivals: GapDistribution, timeline: Timeline) -> Load {
    Load::Rate(Rate { profile: per_second.into(), arrivals, timeline })
}

#[test]
fn transactions_do_not_depend_on_how_bytes_are_cut() {
    for chunk in [None, Some(1), Some(2), Some(3), Some(7), Some(4096)] {
        let mut server = Simple { chunk, reply: vec![b'x'; 500], ..Simple::new(MS) };
        let until = Until::PerClient(100);
        let (measured, heard) = run(&RunPlan { until, ..plan() }, askers(4), &mut server);
        let totals = measured.totals();
        assert_eq!((totals.ok, totals.bytes, totals.rows), (400, 400 * 500, 400), "chunks of {chunk:?}");
        assert_eq!(measured.elapsed, 100 * MS);
        assert_eq!((heard.measuring, heard.ending), (1, 0), "its end is not planned");
    }
}

#[test]
fn closed_load_counts_what_begins_in_the_measured_part() {
    let (measured, heard) = run(&plan(), askers(3), &mut Simple::new(300 * MS));
    // 33 full rounds fit in 10 s; the one under way at the end was given the time to end, and is in all but the throughput.
    assert_eq!((measured.totals().ok, measured.completed()), (3 * 34, 3 * 33));
    assert_eq!(measured.totals().due, 3 * 34);
    assert_eq!(measured.elapsed, 10 * SECOND);
    assert_eq!(heard.seconds.iter().filter(|second| !second.is_drain).count(), 10);
    assert_eq!(heard.seconds[10].scripts[0].counts.ok, 3);
    assert_eq!((heard.measuring, heard.ending), (1, 1));
    assert_eq!(measured.driver, "simulated");
    let figures = &measured.scripts[0];
    assert_eq!((figures.service().min_ns(), figures.service().max_ns()), (Some(300 * MS), Some(300 * MS)));
    assert_eq!(figures.response.sum_ns(), figures.service().sum_ns());
}

#[test]
fn what_is_still_open_after_draining_is_late_and_has_taken_as_long_at_least() {
    let plan = RunPlan { drain: 100 * MS, until: Until::Elapsed(SECOND), ..plan() };
    let (measured, _) = run(
        &plan,
        askers(3),
        &mut Simple { stall: Some((SECOND / 2, 99 * SECOND)), ..Simple::new(700 * MS) },
    );
    let totals = measured.totals();
    assert_eq!((totals.due, totals.ok, totals.late, totals.unfinished), (6, 3, 3, 0));
    assert_eq!((measured.left_open, measured.completed()), (3, 3));
    let figures = &measured.scripts[0];
    // They began when the first ones ended, after 700 ms.
    assert_eq!((figures.response.min_ns(), figures.response.max_ns()), (Some(400 * MS), Some(700 * MS)));
    assert_eq!(figures.service().max_ns(), Some(700 * MS));
}

#[test]
fn a_rate_that_falls_to_0_is_not_waited_for_until_the_end_of_time() {
    let falling = Rate {
        profile: "ramp 400..0 over 900ms".parse().unwrap(),
        arrivals: GapDistribution::Uniform,
        timeline: Timeline::Global,
    };
    let plan = RunPlan { load: Load::Rate(falling), until: Until::PerClient(200), ..plan() };
    let refused = simulate(&plan, askers(2), &mut Simple::new(MS), &mut (), &StopFlag::new())
        .expect_err("it would not end");
    assert_eq!(refused.class(), spec::Class::Usage);
    assert!(refused.to_string().contains("not for a number of transactions"), "{refused}");
}

/// A warm-up at the rate of the beginning, then as many arrivals in each second as its integral says, whatever the threads.
#[test]
fn a_rate_that_changes_is_offered_second_by_second() {
    for (profile, wanted) in [
        ("step 100, 300 every 2s", [100, 100, 300, 300, 300]),
        ("ramp 100..500 over 4s", [150, 250, 350, 450, 500]),
        ("spike 100 to 1000 for 1500ms at 1s", [100, 1000, 550, 100, 100]),
    ] {
        for threads in [1, 3] {
            let load = Load::Rate(Rate {
                profile: profile.parse().unwrap(),
                arrivals: GapDistribution::Uniform,
                timeline: Timeline::Global,
            });
            let plan = RunPlan { threads, load, warmup: SECOND, until: Until::Elapsed(5 * SECOND), ..plan() };
            let (measured, heard) = run(&plan, askers(9), &mut Simple::new(MS));
            let due = heard.seconds.iter().map(|second| (second.start_ns, second.scripts[0].counts.due));
            let due: Vec<u64> = due.filter(|(start, _)| *start >= 0).map(|(_, due)| due).collect();
            for (second, (due, wanted)) in due.iter().zip(wanted).enumerate() {
                assert!(due.abs_diff(wanted) <= 1, "{profile}: {due} in second {second}, {threads} threads");
            }
            assert!(measured.totals().ok.abs_diff(wanted.iter().sum()) <= 1);
        }
    }
}

#[test]
fn warm_up_is_seen_but_not_counted() {
    let plan = RunPlan { warmup: 5 * SECOND / 2, until: Until::Elapsed(2 * SECOND), ..plan() };
    let (measured, heard) = run(&plan, askers(2), &mut Simple::new(10 * MS));
    assert_eq!(measured.totals().ok, 2 * 200);
    assert_eq!(measured.elapsed, 2 * SECOND);
    let starts: Vec<i64> = heard.seconds.iter().map(|second| second.start_ns / 1_000_000).collect();
    assert_eq!(starts, [-2500, -2000, -1000, 0, 1000, 2000]);
    // Each second has what ended in it; a transaction that ends on a boundary belongs to what follows.
    let counts: Vec<u64> = heard.seconds.iter().map(|second| second.scripts[0].completed).collect();
    assert_eq!(counts[..5], [98, 200, 200, 200, 200]);
}

#[test]
fn each_client_does_its_number_of_transactions() {
    let plan = RunPlan { threads: 3, until: Until::PerClient(7), warmup: 50 * MS, ..plan() };
    let mut server = Simple::new(10 * MS);
    let (measured, _) = run(&plan, askers(5), &mut server);
    assert_eq!(measured.totals().ok, 35);
    assert_eq!(measured.elapsed, 60 * MS, "one transaction was under way when warm-up ended");
    assert_eq!(server.closed, 5);
}

#[test]
fn a_stall_shows_in_response_time_and_not_in_service_time() {
    let plan = RunPlan { load: rate(100.0, GapDistribution::Uniform, Timeline::Global), ..plan() };
    let stall = Some((3 * SECOND, 3 * SECOND + SECOND / 2));
    let (measured, _) = run(&plan, askers(1), &mut Simple { stall, ..Simple::new(MS) });
    let figures = &measured.scripts[0];
    assert_eq!(figures.counts.ok, 1000);
    // The arrival that meets the stall waits for half a second, each one behind it 9 ms less: 56 of them in all.
    let (response, service) = (&figures.response, figures.service());
    assert_eq!((response.count_above(2 * MS), response.count_above(100 * MS)), (56, 45));
    assert_eq!((service.count_above(2 * MS), service.max_ns()), (1, response.max_ns()));
    assert_eq!(service.max_ns().map(|ns| ns / MS), Some(499));
    // Closed load with the same stall hides it.
    let (closed, _) = run(&self::plan(), askers(1), &mut Simple { stall, ..Simple::new(MS) });
    assert_eq!(closed.scripts[0].response.count_above(2 * MS), 1);
}

#[test]
fn uniform_arrivals_start_exactly_when_due() {
    let plan =
        RunPlan { threads: 2, load: rate(200.0, GapDistribution::Uniform, Timeline::Global), ..plan() };
    let mut server = Simple::new(MS);
    let (measured, _) = run(&plan, askers(4), &mut server);
    assert_eq!(measured.totals().due, 2000);
    assert_eq!((measured.totals().ok, measured.drained), (2000, 0));
    let gaps: Vec<u64> = server.requests.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap == 5 * MS), "{:?}", gaps.iter().find(|gap| **gap != 5 * MS));
    assert_eq!(measured.scripts[0].response.max_ns(), Some(MS));
    assert_eq!(measured.own.start_lag.max_ns(), Some(0));
    // The first one is due with the start of the load, when clients are only just told that they are free.
    assert_eq!(measured.own.start_lag.count(), 1999);
}

#[test]
fn arrivals_too_late_to_matter_are_skipped_and_counted() {
    let load = rate(100.0, GapDistribution::Uniform, Timeline::Global);
    let plan = RunPlan { load, promise: Some(50 * MS), skip_late: true, ..plan() };
    // One client can do 50 of 100 a second.
    let (measured, _) = run(&plan, askers(1), &mut Simple::new(20 * MS));
    let totals = measured.totals();
    assert_eq!(totals.due, 1000);
    assert!((480..=520).contains(&totals.skipped), "{totals:?}");
    // Arrivals that wait more than 30 ms end later than promised.
    assert!(totals.late > 400 && totals.unfinished == 0, "{totals:?}");
    assert!(measured.scripts[0].response.max_ns().unwrap() <= 70 * MS);
}

#[test]
fn an_overload_that_may_not_skip_leaves_its_backlog_unfinished() {
    let load = rate(100.0, GapDistribution::Uniform, Timeline::Global);
    let (measured, heard) = run(&RunPlan { load, ..plan() }, askers(1), &mut Simple::new(20 * MS));
    let totals = measured.totals();
    // 500 in the run, 100 more while it drains for 2 s, and the one that ends with the drain.
    assert_eq!((totals.due, totals.ok + totals.unfinished), (1000, 1000));
    assert!((599..=601).contains(&totals.ok), "{totals:?}");
    // Transactions done only in the drain are counted separately, without the one that was open at the end.
    assert!((99..=101).contains(&measured.drained), "{}", measured.drained);
    assert!(heard.seconds.last().unwrap().start_ns >= 10 * SECOND as i64, "the drain has separate seconds");
}

#[test]
fn pgbench_timelines_start_nothing_after_the_end() {
    let load = rate(100.0, GapDistribution::Uniform, Timeline::PerThread);
    let (measured, _) = run(&RunPlan { load, ..plan() }, askers(1), &mut Simple::new(20 * MS));
    let totals = measured.totals();
    // Gaps of 10 ms from the first one at 10 ms on.
    assert_eq!((totals.due, totals.ok + totals.unfinished), (999, 999));
    assert!((499..=500).contains(&totals.ok), "{totals:?}");
    assert_eq!(measured.drained, 0);
}

#[test]
fn late_is_what_succeeds_later_than_promised() {
    let plan = RunPlan { promise: Some(5 * MS), ..plan() };
    let (measured, _) = run(&plan, askers(1), &mut Simple { fails_every: Some(10), ..Simple::new(10 * MS) });
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.late + totals.failed), (0, totals.due));
    assert_eq!(totals.failed, totals.due / 10);
}

#[test]
fn users_think_between_transactions_and_arrive_one_by_one() {
    let plan = RunPlan { threads: 2, load: Load::Users(Users::pausing(90 * MS, 500 * MS)), ..plan() };
    let mut server = Simple::new(10 * MS);
    let (measured, _) = run(&plan, askers(3), &mut server);
    // 10, 9.5 and 9 s of visits of 100 ms each; the visit that ends with the run does not count.
    let ok = measured.totals().ok;
    assert!((283..=285).contains(&ok), "{ok}");
    let start = server.requests[0];
    assert_eq!(server.requests.iter().filter(|at| **at < start + 500 * MS).count(), 5);
    assert_eq!(measured.scripts[0].response.max_ns(), Some(10 * MS));
}

#[test]
fn lost_links_come_back_and_their_transactions_count_as_failed() {
    let plan = RunPlan { threads: 2, ..plan() };
    let (measured, _) = run(&plan, askers(4), &mut Simple { loses_every: Some(50), ..Simple::new(10 * MS) });
    let totals = measured.totals();
    assert!((70..=80).contains(&totals.failed), "{totals:?}");
    assert_eq!(measured.reconnections, totals.failed);
    assert!(
        measured.reconnecting / measured.reconnections >= 10 * MS,
        "lost links wait before they connect again"
    );
    assert_eq!(totals.ok + totals.failed, totals.due);
    assert!(measured.aborts.is_empty());
}

#[test]
fn a_connection_for_each_transaction_is_not_part_of_its_latency() {
    let clients = (0..2).map(|_| Asker { reconnects: true, ..Asker::simulated() }.boxed()).collect();
    let mut server = Simple::new(10 * MS);
    let (measured, _) = run(&plan(), clients, &mut server);
    let figures = &measured.scripts[0];
    assert!(figures.counts.ok > 1990 && figures.counts.failed == 0, "{:?}", figures.counts);
    assert_eq!((figures.service().max_ns(), figures.response.max_ns()), (Some(10 * MS), Some(10 * MS)));
    assert!(measured.reconnections >= figures.counts.ok);
    assert!(measured.reconnecting >= measured.reconnections * 2000, "connecting and greeting, 1 us each");
    assert_eq!(server.connections, server.closed);
}

#[test]
fn a_client_that_gives_up_is_named_and_the_others_go_on() {
    let mut clients = askers(3);
    clients[1] = Asker { loss: Loss::Abort, ..Asker::simulated() }.boxed();
    let (measured, _) = run(&plan(), clients, &mut Simple { loses_every: Some(5), ..Simple::new(10 * MS) });
    assert_eq!(measured.aborts.len(), 1);
    assert_eq!(measured.aborts[0].client, 1);
    assert!(measured.aborts[0].message.contains("connection reset"), "{}", measured.aborts[0].message);
    let totals = measured.totals();
    assert!(totals.failed >= 1);
    assert_eq!(totals.unfinished, 0, "nobody waits for its last transaction");
    assert!(totals.ok > 1000);
}

/// Regression: transactions without a row of variables, which sent nothing, were counted as failed.
#[test]
fn a_transaction_that_never_began_is_not_counted_as_failed() {
    let clients = || -> Vec<_> {
        (1..=4).map(|input| Asker { input: Some(input), ..Asker::simulated() }.boxed()).collect()
    };
    let (measured, _) = run(&plan(), clients(), &mut Simple::new(10 * MS));
    let totals = measured.totals();
    assert_eq!((totals.due, totals.ok, totals.failed, totals.unfinished), (10, 10, 0, 0));
    assert_eq!(measured.aborts.len(), 4);
    // An arrival was due, whether or not it could begin.
    let timeline = Timeline::Global;
    let rate = Rate { profile: 200.0.into(), arrivals: GapDistribution::Poisson, timeline };
    let open = RunPlan { load: Load::Rate(rate), ..plan() };
    let (measured, _) = run(&open, clients(), &mut Simple::new(MS));
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.failed), (10, 0));
    assert!(totals.unfinished >= 4 && totals.due == totals.ok + totals.unfinished, "{totals:?}");
}

#[test]
fn a_run_whose_clients_have_all_given_up_ends() {
    let clients = (0..3).map(|_| Asker { loss: Loss::Abort, ..Asker::simulated() }.boxed()).collect();
    let plan = RunPlan { threads: 2, ..plan() };
    let (measured, _) = run(&plan, clients, &mut Simple { loses_every: Some(1), ..Simple::new(10 * MS) });
    assert_eq!(measured.aborts.len(), 3);
    assert_eq!(measured.elapsed, 10 * MS);
    let totals = measured.totals();
    assert_eq!((totals.due, totals.failed, totals.unfinished), (3, 3, 0));
}

#[test]
fn refused_connections_are_tried_again_or_end_the_run_by_name() {
    let (measured, _) = run(&plan(), askers(2), &mut Simple { refuses: 5, ..Simple::new(10 * MS) });
    assert!(measured.connecting > 20 * MS, "pauses between attempts");
    assert!(measured.totals().ok > 1000);

    let clients = vec![Asker { loss: Loss::Abort, ..Asker::simulated() }.boxed()];
    let mut server = Simple { refuses: 1, ..Simple::new(MS) };
    let error =
        simulate(&plan(), clients, &mut server, &mut (), &StopFlag::new()).expect_err("it is refused");
    match error.attached() {
        Some(NotConnected::Refused(abort)) => {
            assert!(abort.client == 0 && abort.message.contains("refused"), "{abort}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_that_is_never_ready_ends_the_run_by_name() {
    let mut server = Simple { ignores_from: Some(2), ..Simple::new(MS) };
    let error = simulate(&plan(), askers(4), &mut server, &mut (), &StopFlag::new())
        .expect_err("two clients are missing");
    assert_eq!(
        error.to_string(),
        "client 2 was not ready after 5.0 s: still connecting to /simulated; check the address and the server's load, or allow more time"
    );
}

#[test]
fn a_stop_from_outside_gives_what_was_measured() {
    let stop = StopFlag::new();
    let switch = stop.clone();
    let mut seconds = 0;
    let mut observer = |_: &engine::Second| {
        seconds += 1;
        if seconds == 3 {
            switch.set();
        }
    };
    let measured = simulate(&plan(), askers(2), &mut Simple::new(10 * MS), &mut observer, &stop).unwrap();
    assert!(measured.interrupted);
    assert!((3 * SECOND..3 * SECOND + 100 * MS).contains(&measured.elapsed), "{}", measured.elapsed);
    assert!((596..=604).contains(&measured.totals().ok), "{:?}", measured.totals());

    let before = StopFlag::new();
    before.set();
    let measured = simulate(&plan(), askers(2), &mut Simple::new(10 * MS), &mut (), &before).unwrap();
    assert!(measured.interrupted && measured.elapsed == 0 && measured.totals().due == 0);
}

#[test]
fn statements_are_recorded_beside_scripts() {
    let clients =
        (0..2).map(|n| Asker { statement: Some(n), script: n, ..Asker::simulated() }.boxed()).collect();
    let plan = RunPlan { scripts: 2, statements: 3, threads: 2, warmup: SECOND, ..plan() };
    let (measured, _) = run(&plan, clients, &mut Simple::new(10 * MS));
    let counts: Vec<u64> = measured.statements.iter().map(|statement| statement.latency.count()).collect();
    assert_eq!(counts, [measured.scripts[0].counts.ok, measured.scripts[1].counts.ok, 0]);
    assert_eq!(measured.statements[0].latency.max_ns(), Some(10 * MS));
}

#[test]
fn the_same_simulation_gives_the_same_figures() {
    let load = rate(500.0, GapDistribution::Poisson, Timeline::Global);
    let plan = RunPlan { load, threads: 3, ..plan() };
    let once = || {
        let (measured, _) =
            run(&plan, askers(7), &mut Simple { loses_every: Some(100), ..Simple::new(9 * MS) });
        (measured.totals(), measured.scripts[0].response.sum_ns(), measured.reconnecting)
    };
    assert_eq!(once(), once());
}

#[test]
fn plans_that_cannot_be_run_are_refused() {
    let cases = [
        (RunPlan { threads: 0, ..plan() }, "no threads"),
        (RunPlan { scripts: 0, ..plan() }, "scripts"),
        (RunPlan { until: Until::PerClient(0), ..plan() }, "at least one transaction"),
        (RunPlan { load: rate(0.0, GapDistribution::Poisson, Timeline::Global), ..plan() }, "above 0"),
        (RunPlan { load: rate(f64::NAN, GapDistribution::Poisson, Timeline::Global), ..plan() }, "above 0"),
    ];
    for (plan, part) in cases {
        let error =
            simulate(&plan, askers(1), &mut Simple::new(MS), &mut (), &StopFlag::new()).expect_err(part);
        assert!(error.to_string().contains(part), "{error}");
    }
    assert!(simulate(&plan(), Vec::new(), &mut Simple::new(MS), &mut (), &StopFlag::new()).is_err());
}

/// Does nothing, at once.
struct Instant;

impl Client for Instant {
    fn endpoints(&self) -> Vec<Endpoint> {
        Vec::new()
    }

    fn handle(&mut self, event: Event<'_>, _io: &mut Io<'_>) -> Step {
        assert!(matches!(event, Event::Slot { .. }));
        Step::Ended(TransactionOutcome { script: 0, failure: None, tries: 1, returned: Returned::default() })
    }
}

#[test]
fn clients_that_never_wait_do_not_stop_the_others() {
    let mut clients = askers(1);
    clients.push(Box::new(Instant));
    let (measured, _) =
        run(&RunPlan { until: Until::Elapsed(100 * MS), ..plan() }, clients, &mut Simple::new(MS));
    let counts = measured.totals();
    assert!(counts.ok > 100 * 32, "{counts:?}");
    assert!((90..=100).contains(&counts.bytes.div_euclid(5)), "the other one did about one a ms: {counts:?}");
}

/// Reads its second link only once the first has answered; what comes there before stays unread.
struct TwoLinks {
    opened: usize,
    may_read: bool,
}

impl Client for TwoLinks {
    fn endpoints(&self) -> Vec<Endpoint> {
        let address = Address::Unix("/simulated".into());
        vec![Endpoint::plain(address.clone()), Endpoint::plain(address)]
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Opened(_) => {
                self.opened += 1;
                if self.opened == 2 { Step::Ready } else { Step::Wait }
            }
            Event::Slot { .. } => {
                self.may_read = false;
                io.out(0).push(0);
                io.out(1).push(1);
                Step::Wait
            }
            Event::Bytes { link: 0, data, used } => {
                *used = data.len();
                self.may_read = true;
                Step::Wait
            }
            Event::Bytes { data, used, .. } if self.may_read => {
                *used = data.len();
                Step::Ended(TransactionOutcome {
                    script: 0,
                    failure: None,
                    tries: 1,
                    returned: Returned { bytes: data.len() as u64, ..Returned::default() },
                })
            }
            _ => Step::Wait,
        }
    }
}

/// Answers on the second link long before the first.
struct TwoSpeeds;

impl SimServer for TwoSpeeds {
    fn received(&mut self, _connection: usize, bytes: &[u8], replies: &mut Replies) {
        replies.send(if bytes[0] == 0 { 10 * MS } else { MS }, b"four");
    }
}

#[test]
fn bytes_left_unread_on_one_link_are_offered_after_events_of_another() {
    let clients: Vec<Box<dyn Client>> = vec![Box::new(TwoLinks { opened: 0, may_read: false })];
    let plan = RunPlan { until: Until::PerClient(50), ..plan() };
    let (measured, _) = run(&plan, clients, &mut TwoSpeeds);
    assert_eq!((measured.totals().ok, measured.totals().bytes), (50, 200));
    assert_eq!(measured.elapsed, 500 * MS);
}
