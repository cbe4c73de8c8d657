//! A generator that stands still notices it by its clock, and tells it from a server that does.

use crate::support::server::Simple;
use crate::support::{MS, SECOND, askers, held_plan, plan, run, run_held};
use engine::sim::{Greeting, NextHold, Replies, SimServer};
use engine::{
    Address, EngineResult, GapDistribution, Load, Rate, RunPlan, Stretch, Time, Timeline, Until, Users,
};

/// The generator stands still from `.1` to `.2`.
struct Stopped(Simple, Time, Time);

impl SimServer for Stopped {
    fn connect(&mut self, connection: usize, address: &Address, now: Time) -> Greeting {
        self.0.connect(connection, address, now)
    }

    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies) {
        self.0.received(connection, bytes, replies);
    }

    fn generator_runs_at(&mut self, at: Time) -> Time {
        if (self.1..self.2).contains(&at) { self.2 } else { at }
    }
}

fn stopped(plan: &RunPlan, from: Time, to: Time) -> EngineResult {
    let mut server = Stopped(Simple::new(10 * MS), from, to);
    run(plan, askers(4), &mut server).0
}

fn loads() -> [RunPlan; 3] {
    let rate = Rate { profile: 100.0.into(), arrivals: GapDistribution::Poisson, timeline: Timeline::Global };
    [
        plan(),
        RunPlan { load: Load::Users(Users::pausing(900 * MS, 0)), ..plan() },
        RunPlan { load: Load::Rate(rate), threads: 2, ..plan() },
    ]
}

/// After a SIGSTOP of 3 s the run was valid, and the stall was booked as the server's latency.
#[test]
fn a_stop_of_the_generator_was_not_noticed() {
    for plan in loads() {
        for length in [300 * MS, 3 * SECOND] {
            let stalled = stopped(&plan, 4 * SECOND, 4 * SECOND + length).own.stalled_ns;
            // A simulated thread sleeps at the end of its turn, so that up to 20 ms before the stop may be in it.
            let told = (length - 21 * MS..=length + 20 * MS).contains(&stalled);
            assert!(told, "{stalled} ns of {length}, {:?}", plan.load);
        }
        assert_eq!(
            stopped(&plan, 4 * SECOND, 4 * SECOND + 150 * MS).own.stalled_ns,
            0,
            "such waits are everyday"
        );
    }
}

/// Gaps that are too short to count alone, one after the other.
#[test]
fn short_gaps_are_added_up() {
    let own = stopped(&plan(), 4 * SECOND, 4 * SECOND + 150 * MS).own;
    assert_eq!(own.stalled_ns, 0);
    assert!((129 * MS..=170 * MS).contains(&own.paused_ns), "{}", own.paused_ns);
    assert_eq!(stopped(&plan(), 4 * SECOND, 4 * SECOND + 30 * MS).own.paused_ns, 0);
}

#[test]
fn a_server_that_stops_is_no_stalled_generator() {
    for plan in loads() {
        let stall = Some((4 * SECOND, 7 * SECOND));
        let mut server = Simple { stall, ..Simple::new(10 * MS) };
        let (measured, _) = run(&plan, askers(4), &mut server);
        assert_eq!(measured.own.stalled_ns, 0, "{:?}", plan.load);
        assert!(measured.scripts[0].response.max_ns() > Some(2 * SECOND));
    }
}

#[test]
fn a_gap_counts_in_the_measured_part_and_the_drain() {
    let plan = RunPlan { warmup: 2 * SECOND, until: Until::Elapsed(3 * SECOND), ..plan() };
    let stalled = |from, to| stopped(&plan, from, to).own.stalled_ns / MS;
    assert_eq!(stalled(SECOND / 2, SECOND), 0);
    assert!((995..=1001).contains(&stalled(SECOND, 3 * SECOND)), "{}", stalled(SECOND, 3 * SECOND));
    // What is open at the end waits as well.
    let drained = stalled(5 * SECOND, 5 * SECOND + 700 * MS);
    assert!((679..=720).contains(&drained), "{drained}");
}

#[test]
fn a_stretch_tells_of_a_gap_in_it() {
    let mut stretches = Vec::new();
    let mut left = 10;
    let next = |stretch: Option<Stretch>| {
        stretches.extend(stretch);
        left -= 1;
        if left < 0 {
            NextHold::Finish
        } else {
            NextHold::Release { held: 50 * MS, length: 100 * MS, measured: true }
        }
    };
    let plan = held_plan();
    // In the third stretch, 300 ms later: 50 + 110 + 50 + 110 + 50 ms come before it.
    let mut server = Stopped(Simple::new(10 * MS), 420 * MS, 1420 * MS);
    run_held(&plan, askers(2), &mut server, next);
    let stalled: Vec<bool> = stretches.iter().map(|stretch| stretch.stalled > 900 * MS).collect();
    assert_eq!(stalled.iter().filter(|stalled| **stalled).count(), 1, "{stretches:?}");
}
