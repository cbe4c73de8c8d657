//! Runs that are held and let go: the same run, only later.

use crate::support::server::Simple;
use crate::support::{Asker, Heard, Loss, MS, SECOND, askers, body, frame, held_plan, plan, run, run_held};
use engine::sim::{Greeting, NextHold, Replies, SimServer, simulate, simulate_held, simulate_parts};
use engine::{
    Address, EngineResult, Load, Observer, RunPlan, Second, StopFlag, Stretch, Time, TransactionEntry, Until,
    Users,
};
use proptest::prelude::*;

/// Draws of a seeded stream, uniform in 0..1.
#[derive(Clone)]
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Service times of one server, ns.
#[derive(Clone, Copy, Debug)]
enum Service {
    Fixed(f64),
    Exponential(f64),
    /// One in a hundred takes the second time.
    Rarely(f64, f64),
}

impl Service {
    fn draw(self, draws: &mut Draws) -> Time {
        let u = draws.next();
        let ns = match self {
            Self::Fixed(ns) => ns,
            Self::Exponential(mean) => -mean * (1.0 - u).ln(),
            Self::Rarely(usual, rare) => {
                if u < 0.01 {
                    rare
                } else {
                    usual
                }
            }
        };
        ns.max(1000.0) as Time
    }
}

/// Answers each client after its own time stream, whatever the others do.
struct Serving {
    service: Service,
    streams: Vec<Draws>,
}

impl Serving {
    fn new(service: Service) -> Self {
        Self { service, streams: Vec::new() }
    }
}

impl SimServer for Serving {
    fn connect(&mut self, connection: usize, _address: &Address, _now: Time) -> Greeting {
        self.streams.push(Draws(connection as u64 * 1_000_003));
        Greeting::Accept(1000)
    }

    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies) {
        match body(bytes).expect("a whole request") {
            b"hello" => replies.send(1000, &frame(b"hello")),
            _ => replies.send(self.service.draw(&mut self.streams[connection]), &frame(b"reply")),
        }
    }
}

/// Lets go for as long as the draws say, so often, with pauses between.
fn stretches(count: usize, length: Time, mut draws: Draws) -> impl FnMut(Option<Stretch>) -> NextHold {
    let mut left = count;
    move |_| {
        if left == 0 {
            return NextHold::Finish;
        }
        left -= 1;
        let held = (draws.next() * 300.0) as Time * MS;
        NextHold::Release { held, length, measured: true }
    }
}

/// Sessions that are kept: each part has a warm-up and figures of its own, on the same connections.
#[test]
fn parts_have_their_own_figures_on_the_same_connections() {
    struct Counted(Serving);
    impl SimServer for Counted {
        fn connect(&mut self, connection: usize, address: &Address, now: Time) -> Greeting {
            assert!(connection < 4, "a client connected again");
            self.0.connect(connection, address, now)
        }

        fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies) {
            self.0.received(connection, bytes, replies);
        }
    }
    let stretch = |measured| NextHold::Release { held: 300 * MS, length: 100 * MS, measured };
    for threads in [1, 3] {
        let of_part = |stretches: usize| {
            let measured = std::iter::repeat_n(stretch(true), stretches);
            std::iter::once(stretch(false)).chain(measured).chain([NextHold::EndPart])
        };
        let mut orders = of_part(10).chain(of_part(20)).chain(of_part(30).take(31)).chain([NextHold::Finish]);
        let next = |_| orders.next().expect("it ends with the last order");
        let mut server = Counted(Serving::new(Service::Fixed(1e6)));
        let mut heard = Heard::default();
        let plan = RunPlan { threads, ..held_plan() };
        let (parts, last) = simulate_parts(&plan, askers(4), &mut server, &mut heard, &StopFlag::new(), next)
            .expect("it runs");
        let all: Vec<&EngineResult> = parts.iter().chain([&last]).collect();
        let stretches: Vec<usize> = all.iter().map(|part| part.stretches.len()).collect();
        assert_eq!(stretches, [10, 20, 30]);
        for (part, length) in all.iter().zip([1, 2, 3]) {
            // A request and its reply take about a millisecond; a stretch ends with its last transaction.
            let done = part.totals().processed();
            assert!((3800 * length..=4100 * length).contains(&done), "{done} in part {length}");
            let elapsed = part.elapsed as f64 / SECOND as f64;
            assert!((elapsed - length as f64).abs() < 0.05 * length as f64, "{elapsed} s in part {length}");
            assert_eq!(part.driver, last.driver);
        }
        let measured: Vec<i64> =
            heard.seconds.iter().map(|second| second.start_ns).filter(|start| *start == 0).collect();
        assert_eq!(measured.len(), 3, "the seconds of each part begin anew");
    }
}

#[derive(Default)]
struct Log(Vec<TransactionEntry>);

impl Observer for Log {
    fn transactions(&mut self, _thread: usize, entries: &[TransactionEntry]) {
        self.0.extend_from_slice(entries);
    }

    fn second(&mut self, _second: &Second) {}
}

/// Service times of one client, in its order.
fn services(log: &Log, client: u32) -> Vec<Time> {
    log.0.iter().filter(|entry| entry.client == client).map(|entry| entry.ended - entry.started).collect()
}

#[test]
fn a_held_run_resumed_is_the_same_run() {
    let service = Service::Exponential(3e6);
    let uncut = RunPlan { transactions: true, until: Until::Elapsed(4 * SECOND), ..plan() };
    let mut whole = Log::default();
    simulate(&uncut, askers(4), &mut Serving::new(service), &mut whole, &StopFlag::new()).expect("it runs");
    for threads in [1, 3] {
        let held = RunPlan { transactions: true, threads, ..held_plan() };
        let mut parts = Log::default();
        let next = stretches(40, 100 * MS, Draws(7));
        let measured =
            simulate_held(&held, askers(4), &mut Serving::new(service), &mut parts, &StopFlag::new(), next)
                .expect("it runs");
        for client in 0..4 {
            let (whole, parts) = (services(&whole, client), services(&parts, client));
            let both = whole.len().min(parts.len());
            assert!(both > 1000, "{} and {}", whole.len(), parts.len());
            assert_eq!(whole[..both], parts[..both], "client {client}");
        }
        assert_eq!(measured.stretches.len(), 40);
        assert_eq!(measured.totals().unfinished, 0, "all ended before the hold");
        // 40 stretches of a tenth of a second, and what they drained.
        assert!((4 * SECOND..4 * SECOND + SECOND / 2).contains(&measured.elapsed), "{}", measured.elapsed);
    }
}

#[test]
fn time_stands_still_while_a_run_is_held() {
    let mut left = 30;
    let next = |_: Option<Stretch>| {
        left -= 1;
        match left {
            ..0 => NextHold::Finish,
            // An hour each.
            _ => NextHold::Release { held: 3600 * SECOND, length: 100 * MS, measured: left < 20 },
        }
    };
    let (measured, heard) = run_held(&held_plan(), askers(2), &mut Simple::new(10 * MS), next);
    // A transaction starts until just before the hold: ten of each client in a stretch.
    assert_eq!(measured.totals().ok, 2 * 10 * 20);
    assert_eq!(measured.elapsed, 20 * 100 * MS);
    let last = heard.seconds.last().expect("seconds were told");
    assert!(last.start_ns + last.length_ns as i64 <= 2_001_000_000, "{} {}", last.start_ns, last.length_ns);
    assert_eq!((heard.measuring, heard.ending), (1, 0));
    assert_eq!(measured.scripts[0].service().max_ns(), Some(10 * MS));
    let first = measured.stretches[0];
    assert_eq!((first.succeeded, first.at_work, first.drain()), (20, 2 * 100 * MS, 0));
}

/// A client that loses its link while it works is not idle until it has it back.
#[test]
fn a_link_being_opened_is_not_idle() {
    let mut server = Simple { loses_every: Some(7), ..Simple::new(10 * MS) };
    let mut ends = Vec::new();
    let mut left = 20;
    let next = |stretch: Option<Stretch>| {
        ends.extend(stretch);
        left -= 1;
        if left < 0 {
            NextHold::Finish
        } else {
            NextHold::Release { held: 50 * MS, length: 65 * MS, measured: true }
        }
    };
    let (measured, _) = run_held(&held_plan(), askers(1), &mut server, next);
    // Every seventh request is the last of a stretch: the first pause before a lost link is made again is 10 ms.
    assert!(ends.iter().any(|stretch| stretch.drain() > 10 * MS), "{ends:?}");
    assert_eq!(ends.iter().map(|stretch| stretch.succeeded).sum::<u64>(), measured.totals().ok);
}

#[test]
fn a_hanging_transaction_can_be_waited_for_or_stopped() {
    let stall = Some((SECOND, 100_000 * SECOND));
    let mut server = Simple { stall, ..Simple::new(10 * MS) };
    let stop = StopFlag::new();
    /// Sets the stop once the simulated time has come.
    struct After<'a>(&'a StopFlag, Time);
    impl Observer for After<'_> {
        fn second(&mut self, second: &Second) {
            if second.start_ns > self.1 as i64 {
                self.0.set();
            }
        }
    }
    let next = |_| NextHold::Release { held: 100 * MS, length: 100 * MS, measured: true };
    let measured =
        simulate_held(&held_plan(), askers(3), &mut server, &mut After(&stop, 5 * SECOND), &stop, next)
            .expect("it is stopped");
    assert!(measured.interrupted);
    let totals = measured.totals();
    assert_eq!((measured.left_open, totals.late, totals.unfinished), (3, 3, 0));
    assert_eq!(totals.due, totals.ok + 3);
    // The stretch that was not over is among them.
    assert_eq!(measured.stretches.iter().map(|stretch| stretch.succeeded).sum::<u64>(), totals.ok);
}

#[test]
fn a_run_whose_clients_all_give_up_ends() {
    let mut server = Simple { loses_every: Some(50), ..Simple::new(10 * MS) };
    let clients = (0..3).map(|_| Asker { loss: Loss::Abort, ..Asker::simulated() }.boxed()).collect();
    let next = |_| NextHold::Release { held: 100 * MS, length: 100 * MS, measured: true };
    let plan = RunPlan { threads: 2, ..held_plan() };
    let (measured, _) = run_held(&plan, clients, &mut server, next);
    assert_eq!(measured.aborts.len(), 3);
    assert_eq!(measured.stretches.iter().map(|stretch| stretch.succeeded).sum::<u64>(), measured.totals().ok);
}

#[test]
fn only_closed_load_is_held() {
    let load = Load::Users(Users::pausing(MS, 0));
    let plan = RunPlan { load, ..held_plan() };
    let refused = simulate(&plan, askers(1), &mut Simple::new(MS), &mut (), &StopFlag::new());
    let refused = refused.expect_err("it is refused");
    assert_eq!(refused.class(), spec::Class::Usage);
    assert!(refused.to_string().contains("closed load"), "{refused}");
}

fn rate(measured: &EngineResult) -> f64 {
    measured.totals().ok as f64 / measured.elapsed as f64
}

/// Rate of a run in stretches relative to an uncut run of the same length, with a server that draws the same
/// service times.
fn bias(service: Service, length: Time, clients: usize) -> f64 {
    let next = stretches(500, length, Draws(3));
    let mut server = Serving::new(service);
    let (held, _) = run_held(&held_plan(), askers(clients), &mut server, next);
    let uncut = RunPlan { until: Until::Elapsed(held.elapsed), ..plan() };
    let mut server = Serving::new(service);
    let (whole, _) = run(&uncut, askers(clients), &mut server);
    rate(&held) / rate(&whole)
}

/// What drains is charged to nobody, whatever the tail: every stretch ends with each client's last transaction.
#[test]
fn the_rate_of_a_run_in_stretches_is_that_of_an_uncut_one() {
    let services = [
        Service::Fixed(5e6),
        Service::Exponential(5e6),
        Service::Rarely(4e6, 80e6),
        // Two arms with the same mean, of which only one has a tail.
        Service::Rarely(2.5e6, 250e6),
    ];
    for service in services {
        for clients in [1, 4] {
            let bias = bias(service, 100 * MS, clients);
            assert!((bias - 1.0).abs() < 0.005, "{service:?}, {clients} clients: {bias}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_over_holds_faults_and_stops(
        threads in 1..4_usize,
        clients in 1..9_usize,
        delay in MS / 4..60 * MS,
        loses_every in prop::option::of(2..100_u64),
        fails_every in prop::option::of(2..100_u64),
        aborts in any::<bool>(),
        count in 1..40_usize,
        length in MS..400 * MS,
        warm in 0..5_usize,
        stop_at in prop::option::of(0..40_usize),
        seed in any::<u64>(),
    ) {
        let loss = if aborts { Loss::Abort } else { Loss::Reconnect };
        let number = clients as u64;
        let clients: Vec<_> = (0..clients).map(|_| Asker { loss, ..Asker::simulated() }.boxed()).collect();
        let mut server = Simple { loses_every, fails_every, ..Simple::new(delay) };
        let stop = StopFlag::new();
        let (mut draws, mut done) = (Draws(seed), 0);
        let next = |_: Option<Stretch>| {
            done += 1;
            if stop_at == Some(done) {
                stop.set();
            }
            if done > count + warm {
                return NextHold::Finish;
            }
            let length = (draws.next() * length as f64) as Time;
            NextHold::Release { held: (draws.next() * 1e9) as Time, length, measured: done > warm }
        };
        let mut heard = Heard::default();
        let plan = RunPlan { threads, ..held_plan() };
        let measured = simulate_held(&plan, clients, &mut server, &mut heard, &stop, next).expect("it runs");
        heard.check_against(&measured);
        let totals = measured.totals();
        let succeeded: u64 = measured.stretches.iter().map(|stretch| stretch.succeeded).sum();
        prop_assert_eq!(succeeded, measured.completed());
        prop_assert_eq!(succeeded + measured.left_open, totals.processed());
        prop_assert!(measured.interrupted || totals.unfinished + measured.left_open == 0 || aborts);
        // clients x time, of which the average over the clients leaves out some ns.
        let time = measured.client_time.expect("it is closed");
        let all = number * measured.elapsed;
        prop_assert!(time.sum().abs_diff(all) < number, "{time:?} of {all}");
        let at_work: Time = measured.stretches.iter().map(|stretch| stretch.at_work).sum();
        let longest: Time = measured.stretches.iter().map(|stretch| stretch.idle - stretch.from).sum();
        prop_assert!(at_work <= longest * measured.scripts.len() as u64 * 9);
    }
}
