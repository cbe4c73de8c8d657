//! The engine on real sockets, threads and time.

use std::time::{Duration, Instant};

use super::plan;
use crate::support::live::{Live, Manners};
use crate::support::{Asker, Heard, Loss, MS, SECOND};
use engine::{
    Address, Client, Endpoint, Event, GapDistribution, Io, Load, NotConnected, Rate, Returned, RunPlan, Step,
    StopFlag, Timeline, TransactionOutcome, Until, run,
};

fn askers(count: usize, address: &Address, request: &[u8]) -> Vec<Box<dyn Client>> {
    let asker = Asker { request: request.to_vec(), checks: true, ..Asker::new(address.clone()) };
    (0..count).map(|_| asker.clone().boxed()).collect()
}

fn numbered(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 % 251) as u8).collect()
}

#[test]
fn threads_and_clients_do_their_transactions_over_unix_and_tcp() {
    let unix = Live::unix(Manners::default());
    let tcp = Live::tcp(Manners::default(), |stream| Ok(Box::new(stream)));
    for server in [unix, tcp] {
        let plan = RunPlan { threads: 2, until: Until::PerClient(200), ..plan() };
        let mut heard = Heard::default();
        let measured =
            run(&plan, askers(5, &server.address, b"some request"), &mut heard, &StopFlag::new()).unwrap();
        heard.check_against(&measured);
        assert_eq!((measured.totals().ok, measured.totals().bytes), (1000, 12_000));
        assert!(heard.connecting.is_some() && measured.connecting > 0);
        assert!(measured.own.user_ns + measured.own.system_ns > 0);
        assert!(measured.own.busiest_thread > 0.0 && measured.own.busiest_thread <= 1.0);
        assert!(measured.own.turn.count() > 0);
        assert!(measured.scripts[0].service().min_ns().unwrap() > 0);
    }
}

/// CPUs this process may use.
#[cfg(target_os = "linux")]
fn allowed() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let set = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn threads_stay_on_their_cpus_and_look_for_news_before_they_sleep() {
    let server = Live::unix(Manners::default());
    let cpus = allowed();
    for (threads, spin) in [(1, 0), (1, 200_000), (cpus.len().min(2), 200_000)] {
        let plan =
            RunPlan { threads, cpus: Some(cpus.clone()), spin, until: Until::PerClient(300), ..plan() };
        let clients = askers(4, &server.address, b"some request");
        let measured = run(&plan, clients, &mut (), &StopFlag::new()).unwrap();
        assert_eq!((measured.totals().ok, &measured.cpus[..], measured.spin), (1200, &cpus[..threads], spin));
        assert_eq!(measured.own.spun_ns > 0, spin > 0, "{}", measured.own.spun_ns);
    }
    // The caller's thread stays free.
    assert_eq!(allowed(), cpus);
}

#[test]
#[cfg(target_os = "linux")]
fn threads_that_look_for_news_keep_a_schedule_and_an_end() {
    let server = Live::unix(Manners::default());
    let rate = Rate { profile: 500.0.into(), arrivals: GapDistribution::Uniform, timeline: Timeline::Global };
    let plan = RunPlan {
        cpus: Some(allowed()[..1].to_vec()),
        spin: 100_000,
        load: Load::Rate(rate),
        until: Until::Elapsed(SECOND / 2),
        ..plan()
    };
    let clients = askers(4, &server.address, b"some request");
    let measured = run(&plan, clients, &mut (), &StopFlag::new()).unwrap();
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.unfinished), (250, 0));
    // It slept between arrivals.
    assert!(measured.own.spun_ns < SECOND / 4, "{}", measured.own.spun_ns);
}

#[test]
#[cfg(target_os = "linux")]
fn large_messages_go_both_ways_while_news_are_looked_for() {
    let server = Live::unix(Manners::default());
    let spinning = RunPlan { cpus: Some(vec![allowed()[0]]), spin: 50_000, ..plan() };
    let plan = RunPlan { until: Until::PerClient(5), ..spinning };
    let clients = askers(3, &server.address, &numbered(3_000_000));
    let measured = run(&plan, clients, &mut (), &StopFlag::new()).unwrap();
    assert_eq!((measured.totals().ok, measured.totals().bytes), (15, 45_000_000));
}

#[test]
#[cfg(target_os = "linux")]
fn cpus_that_cannot_be_had_are_refused_before_anything_is_connected() {
    let cpus = allowed();
    let cases = [
        (Some(vec![9_999]), 0, 1, "cannot be kept on CPU 9999: this process may use"),
        (Some(Vec::new()), 0, 1, "its list of CPUs for load threads is empty"),
        (None, 1_000, 1, "need separate CPUs"),
        (Some(vec![cpus[0]]), 1_000, 2, "need a CPU each, and have 1"),
        (Some(vec![cpus[0]]), 2_000_000, 1, "for 1000000 ns at most"),
    ];
    for (cpus, spin, threads, wanted) in cases {
        let plan = RunPlan { cpus, spin, threads, ..plan() };
        let nowhere = Address::Unix("/nowhere/at/all".into());
        let error = run(&plan, askers(2, &nowhere, b"x"), &mut (), &StopFlag::new()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn large_messages_go_both_ways() {
    let server = Live::unix(Manners::default());
    let plan = RunPlan { until: Until::PerClient(5), ..plan() };
    let measured =
        run(&plan, askers(3, &server.address, &numbered(3_000_000)), &mut (), &StopFlag::new()).unwrap();
    assert_eq!((measured.totals().ok, measured.totals().bytes), (15, 45_000_000));
}

#[test]
fn replies_in_single_bytes_are_put_together() {
    let server = Live::unix(Manners { dribbles: true, ..Manners::default() });
    let plan = RunPlan { until: Until::PerClient(20), ..plan() };
    let measured = run(&plan, askers(3, &server.address, &numbered(300)), &mut (), &StopFlag::new()).unwrap();
    assert_eq!((measured.totals().ok, measured.totals().failed), (60, 0));
}

/// A reply and the end of the stream often arrive in one event; missing the end would hang the client for good.
#[test]
fn an_end_right_after_a_reply_is_seen() {
    let server = Live::unix(Manners { closes_after: Some(10), ..Manners::default() });
    let plan = RunPlan { until: Until::PerClient(44), connect_timeout: 20 * SECOND, ..plan() };
    let measured = run(&plan, askers(32, &server.address, b"request"), &mut (), &StopFlag::new()).unwrap();
    let totals = measured.totals();
    assert_eq!(totals.ok + totals.failed, 32 * 44);
    assert_eq!(
        totals.ok,
        server.replies.load(std::sync::atomic::Ordering::SeqCst),
        "every reply sent was read"
    );
    assert!(measured.reconnections >= 32 * 3, "{}", measured.reconnections);
}

#[test]
fn the_death_of_the_server_ends_the_run_with_every_client_named() {
    let server = Live::unix(Manners { delay: Duration::from_millis(1), ..Manners::default() });
    let asker = Asker { loss: Loss::Abort, ..Asker::new(server.address.clone()) };
    let clients = (0..8).map(|_| asker.clone().boxed()).collect();
    let started = Instant::now();
    let measured = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            server.die();
        });
        run(
            &RunPlan { threads: 2, until: Until::Elapsed(60 * SECOND), ..plan() },
            clients,
            &mut (),
            &StopFlag::new(),
        )
        .unwrap()
    });
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(measured.aborts.len(), 8);
    assert!(measured.totals().ok > 0);
    assert!(measured.elapsed < 10 * SECOND);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let missing = Address::Unix("/nonexistent/socket".into());
    for (address, part) in [(Address::Tcp(nobody), "refused"), (missing, "No such file")] {
        let asker = Asker { loss: Loss::Abort, ..Asker::new(address) };
        let error =
            run(&plan(), vec![asker.boxed()], &mut (), &StopFlag::new()).expect_err("nobody is there");
        match error.attached() {
            Some(NotConnected::Refused(abort)) => {
                assert!(abort.client == 0 && abort.message.contains(part), "{abort}")
            }
            other => panic!("{other:?}"),
        }
    }
    let long = Address::Unix(format!("/tmp/{}", "x".repeat(120)).into());
    let error = run(&plan(), vec![Asker::new(long).boxed()], &mut (), &StopFlag::new())
        .expect_err("the path is too long");
    assert!(error.to_string().starts_with("client 0: socket path"), "{error}");
}

/// A Unix-domain connect on a full queue is refused at once rather than waited for.
#[test]
fn a_full_listener_queue_is_waited_for() {
    let server = Live::unix(Manners { sleeps: Duration::from_millis(200), ..Manners::default() });
    // More than the queue of 128 that the listener has on common systems, should it be as large as that.
    let plan = RunPlan { threads: 2, until: Until::PerClient(3), connect_timeout: 30 * SECOND, ..plan() };
    let measured = run(&plan, askers(300, &server.address, b"request"), &mut (), &StopFlag::new()).unwrap();
    assert_eq!(measured.totals().ok, 900);
}

#[test]
fn an_open_load_starts_on_time() {
    let server = Live::unix(Manners::default());
    let load = Load::Rate(Rate {
        profile: 500.0.into(),
        arrivals: GapDistribution::Uniform,
        timeline: Timeline::Global,
    });
    let plan = RunPlan { threads: 2, load, warmup: 100 * MS, until: Until::Elapsed(SECOND), ..plan() };
    let mut heard = Heard::default();
    let measured = run(&plan, askers(8, &server.address, b"request"), &mut heard, &StopFlag::new()).unwrap();
    heard.check_against(&measured);
    assert_eq!((measured.totals().due, measured.totals().ok), (500, 500));
    let lag = measured.own.start_lag.quantile_ns(0.5).unwrap();
    assert!(lag < 5 * MS, "median lag {lag} ns");
    assert_eq!(measured.elapsed, SECOND);
}

#[test]
fn a_stop_from_another_thread_ends_the_run() {
    let server = Live::unix(Manners { delay: Duration::from_millis(1), ..Manners::default() });
    let stop = StopFlag::new();
    let started = Instant::now();
    let measured = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.set();
        });
        let plan = RunPlan { threads: 2, until: Until::Elapsed(600 * SECOND), ..plan() };
        run(&plan, askers(4, &server.address, b"request"), &mut (), &stop).unwrap()
    });
    assert!(measured.interrupted && measured.totals().ok > 0);
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// A client without links whose work is done by a helper elsewhere.
struct Helped {
    done: bool,
}

impl Client for Helped {
    fn endpoints(&self) -> Vec<Endpoint> {
        Vec::new()
    }

    fn handle(&mut self, event: Event<'_>, io: &mut Io<'_>) -> Step {
        match event {
            Event::Slot { .. } if self.done => Step::Done,
            Event::Slot { .. } => {
                let waker = io.waker();
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(20));
                    waker.wake();
                });
                Step::Wait
            }
            Event::Woken => {
                self.done = true;
                io.message("helped".into());
                Step::Ended(TransactionOutcome {
                    script: 0,
                    failure: None,
                    tries: 3,
                    returned: Returned::default(),
                })
            }
            _ => Step::Wait,
        }
    }
}

#[test]
fn a_helper_wakes_its_client() {
    let clients: Vec<Box<dyn Client>> =
        (0..3).map(|_| Box::new(Helped { done: false }) as Box<dyn Client>).collect();
    let measured = run(&RunPlan { threads: 2, ..plan() }, clients, &mut (), &StopFlag::new()).unwrap();
    let totals = measured.totals();
    assert_eq!((totals.ok, totals.retried, totals.retries), (3, 3, 6));
    assert_eq!(measured.messages, ["helped"; 3]);
    assert!(measured.scripts[0].service().min_ns().unwrap() >= 20 * MS);
    // Those who stop at their next slot leave it unfinished, and the run with nobody left is over.
    assert_eq!(totals.unfinished, 3);
    assert!(measured.elapsed < 5 * SECOND);
}

/// A client with a bug.
struct Broken;

impl Client for Broken {
    fn endpoints(&self) -> Vec<Endpoint> {
        Vec::new()
    }

    fn handle(&mut self, _event: Event<'_>, _io: &mut Io<'_>) -> Step {
        panic!("a bug in a client");
    }
}

#[test]
#[should_panic(expected = "a bug in a client")]
fn a_client_that_panics_takes_the_run_with_it_and_does_not_hang_it() {
    let server = Live::unix(Manners::default());
    let mut clients = askers(1, &server.address, b"request");
    clients.push(Box::new(Broken));
    let _ = run(
        &RunPlan { threads: 2, until: Until::Elapsed(600 * SECOND), ..plan() },
        clients,
        &mut (),
        &StopFlag::new(),
    );
}
