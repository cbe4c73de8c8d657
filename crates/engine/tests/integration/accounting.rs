//! Nothing is lost: whatever the load, the faults and the stop, every transaction that was due is accounted for.

use crate::support::server::Simple;
use crate::support::{Asker, Heard, Loss, MS, SECOND, plan};
use engine::sim::simulate;
use engine::{GapDistribution, Load, Rate, RunPlan, StopFlag, Time, Timeline, Until, Users};
use proptest::prelude::*;
use spec::Profile;

fn loads() -> impl Strategy<Value = Load> {
    let arrivals = prop_oneof![Just(GapDistribution::Poisson), Just(GapDistribution::Uniform)];
    let timeline = prop_oneof![Just(Timeline::Global), Just(Timeline::PerThread)];
    prop_oneof![
        1 => Just(Load::Closed),
        1 => (0..200 * MS, 0..300 * MS).prop_map(|(think, ramp)| Load::Users(Users::pausing(think, ramp))),
        3 => (1.0..400.0, arrivals.clone(), timeline).prop_map(|(per_second, arrivals, timeline): (f64, _, _)| {
            Load::Rate(Rate { profile: per_second.into(), arrivals, timeline })
        }),
        2 => (changing(), arrivals)
            .prop_map(|(profile, arrivals)| Load::Rate(Rate { profile, arrivals, timeline: Timeline::Global })),
    ]
}

fn changing() -> impl Strategy<Value = Profile> {
    prop_oneof![
        Just("step 50, 0, 300 every 700ms"),
        Just("ramp 0..400 over 2s"),
        Just("ramp 400..0 over 900ms"),
        Just("sine 200 ± 200 every 1s"),
        Just("spike 10 to 500 for 300ms at 1s"),
    ]
    .prop_map(|text| text.parse().expect("it is a profile"))
}

fn lengths() -> impl Strategy<Value = Until> {
    prop_oneof![
        3 => (1..3 * SECOND).prop_map(Until::Elapsed),
        1 => (1..60_u64).prop_map(Until::PerClient),
    ]
}

prop_compose! {
    fn plans()(
        load in loads(),
        threads in 1..4_usize,
        warmup in 0..SECOND,
        until in lengths(),
        promise in prop::option::of(1..50 * MS),
        skip_late in any::<bool>(),
        drain in 0..SECOND,
        count_drained in any::<bool>(),
        seed in any::<u64>(),
    ) -> RunPlan {
        let changes = matches!(&load, Load::Rate(rate) if !rate.profile.is_constant());
        let until = match until {
            // A rate that falls to 0 has a limited number of arrivals.
            Until::PerClient(each) if changes => Until::Elapsed(each * 50 * MS),
            until => until,
        };
        RunPlan { load, threads, warmup, until, promise, skip_late, drain, count_drained, seed, ..plan() }
    }
}

prop_compose! {
    fn servers()(
        delay in MS / 4..60 * MS,
        from in 0..3 * SECOND,
        // One of an hour is a server that hangs for good.
        length in prop::option::of(prop_oneof![4 => 0..SECOND, 1 => Just(3600 * SECOND)]),
        loses_every in prop::option::of(2..100_u64),
        fails_every in prop::option::of(2..100_u64),
        refuses in 0..3_usize,
        chunk in prop_oneof![Just(None), Just(Some(1)), Just(Some(3))],
    ) -> Simple {
        let stall = length.map(|length| (from, from + length));
        Simple { stall, loses_every, fails_every, refuses, chunk, ..Simple::new(delay) }
    }
}

/// Stops the run when the simulated time has come.
struct Stopping<'a> {
    server: &'a mut Simple,
    at: Time,
    stop: StopFlag,
}

impl engine::sim::SimServer for Stopping<'_> {
    fn connect(&mut self, connection: usize, address: &engine::Address, now: Time) -> engine::sim::Greeting {
        self.server.connect(connection, address, now)
    }

    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut engine::sim::Replies) {
        if replies.now() >= self.at {
            self.stop.set();
        }
        self.server.received(connection, bytes, replies);
    }
}

/// Uniform arrivals due in the measured part, counted without the engine's schedule: arrival k is due at k / rate.
fn due_by_hand(rate: f64, from: Time, to: Time) -> u64 {
    let gap = 1e9 / rate;
    (0..)
        .map(|k| (f64::from(k) * gap).round() as Time)
        .take_while(|at| *at < to)
        .filter(|at| *at >= from)
        .count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn everything_due_is_accounted_for(
        plan in plans(),
        mut server in servers(),
        clients in 1..9_usize,
        aborts in any::<bool>(),
        stop_at in prop::option::of(0..4 * SECOND),
    ) {
        let loss = if aborts { Loss::Abort } else { Loss::Reconnect };
        // Refused connections would end the run before it starts.
        server.refuses = if aborts { 0 } else { server.refuses };
        let clients: Vec<_> = (0..clients).map(|_| Asker { loss, ..Asker::simulated() }.boxed()).collect();
        let count = clients.len() as u64;
        let hangs = server.stall.is_some_and(|(_, to)| to > 1000 * SECOND);
        let stop = StopFlag::new();
        let mut heard = Heard::default();
        let mut stopping = Stopping { server: &mut server, at: stop_at.unwrap_or(Time::MAX), stop: stop.clone() };
        let measured = simulate(&plan, clients, &mut stopping, &mut heard, &stop).expect("it starts");

        // due = ok + late + failed + skipped + unfinished; the seconds add up to the run.
        heard.check_against(&measured);
        let totals = measured.totals();
        // clients x time = counted + elsewhere + thinking + connecting + idle.
        if let Some(time) = measured.client_time {
            prop_assert!(!matches!(plan.load, Load::Rate(_)) && !plan.count_drained);
            prop_assert_eq!(time.sum(), count * measured.elapsed, "{:?}", time);
            prop_assert!(time.nowhere <= time.elsewhere);
        } else {
            prop_assert!(matches!(plan.load, Load::Rate(_)) || plan.count_drained);
        }
        match (plan.load.clone(), plan.until) {
            // With `count_drained` the run is not as long as its schedule.
            (Load::Rate(rate), Until::Elapsed(_))
                if rate.arrivals == GapDistribution::Uniform && rate.timeline == Timeline::Global && !plan.count_drained =>
            {
                if let Profile::Constant(per_second) = rate.profile {
                    let by_hand = due_by_hand(per_second, plan.warmup, plan.warmup + measured.elapsed);
                    prop_assert_eq!(totals.due, by_hand);
                } else {
                    let expected = rate.profile.arrivals(measured.elapsed as f64 / 1e9);
                    prop_assert!((totals.due as f64 - expected).abs() <= 1.0, "{} of {expected}", totals.due);
                }
            }
            (_, Until::PerClient(each)) if stop_at.is_none() && !aborts && !hangs => {
                prop_assert_eq!(totals.due, count * each);
            }
            _ => {}
        }
        if !plan.skip_late || plan.promise.is_none() || !matches!(plan.load, Load::Rate(_)) {
            prop_assert_eq!(totals.skipped, 0);
        }
        if plan.promise.is_none() {
            // What was never seen to end.
            prop_assert_eq!(totals.late, measured.left_open);
        }
        prop_assert_eq!(measured.interrupted && stop_at.is_none(), false);
    }
}
