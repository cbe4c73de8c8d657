//! Users: sessions in order, think times, arrivals, and the laws that sessions per hour and response times obey.

use std::sync::Arc;

use engine::sim::{Replies, SimServer, simulate};
use engine::{
    EngineResult, Load, Pause, RunPlan, Second, SessionStep, StopFlag, Time, Until, UserArrival, Users,
};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::support::{MS, SECOND, askers, body, frame, plan, run};

/// Serves requests one after the other, each for an exponential time of this mean; it keeps who asked what.
struct Desk {
    mean: f64,
    busy_until: Time,
    random: Xoshiro256PlusPlus,
    /// Requests that fail: every n-th.
    fails_every: Option<usize>,
    /// At a turn due at .0 or later the generator stands still until .1.
    stall: Option<(Time, Time)>,
    /// Connection, script and time of each request.
    asked: Vec<(usize, u8, Time)>,
    input: Vec<Vec<u8>>,
}

impl Desk {
    fn new(mean: Time) -> Self {
        Self {
            mean: mean as f64,
            busy_until: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(5),
            fails_every: None,
            stall: None,
            asked: Vec::new(),
            input: Vec::new(),
        }
    }

    fn of(&self, connection: usize) -> Vec<u8> {
        self.asked.iter().filter(|(of, ..)| *of == connection).map(|(_, script, _)| *script).collect()
    }
}

impl SimServer for Desk {
    fn received(&mut self, connection: usize, bytes: &[u8], replies: &mut Replies) {
        self.input.resize(self.input.len().max(connection + 1), Vec::new());
        self.input[connection].extend_from_slice(bytes);
        while let Some(request) = body(&self.input[connection]).map(<[u8]>::to_vec) {
            self.input[connection].drain(..4 + request.len());
            if request == b"hello" {
                replies.send(1000, &frame(b"hello"));
                continue;
            }
            self.asked.push((connection, request[0] - b'0', replies.now()));
            let unit = ((self.random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            self.busy_until = self.busy_until.max(replies.now()) + (-unit.ln() * self.mean) as Time;
            let fails = self.fails_every.is_some_and(|every| self.asked.len().is_multiple_of(every));
            replies.send(self.busy_until - replies.now(), &frame(if fails { b"fail" } else { b"good" }));
        }
    }

    fn generator_runs_at(&mut self, at: Time) -> Time {
        match self.stall {
            Some((from, to)) if (from..to).contains(&at) => to,
            _ => at,
        }
    }
}

/// A session of these scripts, with the pauses after each.
fn session(steps: &[(u16, &[Pause])]) -> Arc<[SessionStep]> {
    steps
        .iter()
        .map(|(script, pauses)| SessionStep { script: Some(*script), pauses: pauses.to_vec() })
        .collect()
}

fn users(steps: &[(u16, &[Pause])], arrival: UserArrival) -> RunPlan {
    let scripts = steps.iter().map(|(script, _)| usize::from(*script) + 1).max().unwrap_or(1);
    RunPlan {
        load: Load::Users(Users { session: session(steps), arrival, reconnect: false }),
        scripts,
        ..plan()
    }
}

fn lasting(plan: RunPlan, warmup_s: u64, seconds: u64) -> RunPlan {
    RunPlan { warmup: warmup_s * SECOND, until: Until::Elapsed(seconds * SECOND), ..plan }
}

fn exponential(mean: Time) -> Pause {
    Pause::Exponential { mean: mean as f64 }
}

fn mean_response_s(measured: &EngineResult) -> f64 {
    let all = || measured.scripts.iter().map(|script| &script.response);
    let sum: f64 = all().map(|response| response.sum_ns() as f64).sum();
    sum / 1e9 / all().map(|response| response.count()).sum::<u64>() as f64
}

fn near(found: f64, wanted: f64, what: &str) {
    assert!((found / wanted - 1.0).abs() < 0.02, "{what}: {found}, not {wanted}");
}

/// Throughput of `count` users who think `think` on average, and ask a single server that takes `service`: the machine
/// repairman (Jain, "The Art of Computer Systems Performance Analysis", 1991, chapter 34).
fn repairman(count: usize, think: f64, service: f64) -> f64 {
    let terms = (0..=count).scan(1.0, |term, k| {
        let this = *term;
        *term *= (count - k) as f64 * service / think;
        Some(this)
    });
    (1.0 - 1.0 / terms.sum::<f64>()) / service
}

/// N = X (R + Z), and X and R are those of the model, for a light load, a load near the knee, and far beyond it.
#[test]
fn users_obey_the_interactive_response_time_law() {
    for (count, think, threads, seconds) in
        [(10, SECOND, 1, 1500), (90, SECOND, 2, 500), (300, SECOND, 2, 400)]
    {
        let (think_s, service_s) = (think as f64 / 1e9, 0.01);
        let pauses = [exponential(think)];
        let plan = users(&[(0, &pauses), (1, &pauses), (2, &pauses)], UserArrival::Apart(0));
        let plan = RunPlan { threads, ..lasting(plan, 30, seconds) };
        let measured =
            simulate(&plan, askers(count), &mut Desk::new(10 * MS), &mut (), &StopFlag::new()).unwrap();
        let seconds = measured.elapsed as f64 / 1e9;
        let throughput = measured.completed() as f64 / seconds;
        let response_s = mean_response_s(&measured);
        near(throughput * (response_s + think_s), count as f64, "N = X (R + Z)");
        let theory = repairman(count, think_s, service_s);
        near(throughput, theory, "throughput");
        near(response_s + think_s, count as f64 / theory, "response and think time");
        let of = measured.users.unwrap();
        near(3600.0 * of.finished as f64 / seconds, 3600.0 * theory / 3.0, "sessions per hour");
        near(of.think_wanted as f64 / of.thinks as f64, think as f64, "think time");
        // The pause between two sessions is in no session.
        let session_s = 3.0 * response_s + 2.0 * think_s;
        near(of.duration.mean_ns().unwrap() / 1e9, session_s, "duration of a session");
        near(of.response.mean_ns().unwrap() / 1e9, 3.0 * response_s, "response time of a session");
    }
}

#[test]
fn open_users_obey_littles_law() {
    let steps: [(u16, &[Pause]); 3] =
        [(0, &[Pause::LogNormal { median: 2e9, sigma: 0.5 }]), (1, &[Pause::Constant(SECOND)]), (2, &[])];
    let plan = users(&steps, UserArrival::Open(2.0.into()));
    let plan = RunPlan { threads: 2, ..lasting(plan, 60, 10_000) };
    let (mut sum, mut count) = (0.0, 0.0);
    let mut look = |second: &Second| {
        if second.start_ns >= 0 && !second.is_drain {
            (sum, count) = (sum + f64::from(second.active_users), count + 1.0);
        }
    };
    let measured = simulate(&plan, askers(60), &mut Desk::new(10 * MS), &mut look, &StopFlag::new()).unwrap();
    let of = measured.users.as_ref().unwrap();
    let seconds = measured.elapsed as f64 / 1e9;
    near(of.begun as f64 / seconds, 2.0, "users per second");
    let active = of.in_session as f64 / 1e9 / seconds;
    let duration_s = of.duration.mean_ns().unwrap() / 1e9;
    near(active, of.finished as f64 / seconds * duration_s, "L = lambda W");
    let response_s = mean_response_s(&measured);
    // An M/M/1 queue at 6 requests a second.
    near(response_s, 0.01 / (1.0 - 0.06), "response time");
    near(duration_s, 2.0 * 0.125_f64.exp() + 1.0 + 3.0 * response_s, "duration of a session");
    near(sum / count, active, "active users at the end of a second");
    assert_eq!((of.failed, of.waiting), (0, 0));
}

/// The first session of each client had one pause less.
#[test]
fn open_users_pause_in_the_first_session_of_a_client() {
    let think = [Pause::Constant(200 * MS)];
    let plan = users(&[(0, &think), (1, &think), (2, &[])], UserArrival::Open(5.0.into()));
    let (measured, _) = run(&lasting(plan, 0, 20), askers(40), &mut Desk::new(0));
    let of = measured.users.unwrap();
    assert!(of.finished > 50 && of.duration.min_ns().unwrap() >= 399 * MS, "{:?}", of.duration.min_ns());
    assert_eq!(of.waiting, 0);
}

/// Users who find no free client wait for one, and their waiting counts.
#[test]
fn open_users_wait_for_a_client() {
    let plan = users(&[(0, &[Pause::Constant(900 * MS)]), (1, &[])], UserArrival::Open(2.0.into()));
    let (measured, _) = run(&lasting(plan, 0, 100), askers(1), &mut Desk::new(MS));
    let of = measured.users.as_ref().unwrap();
    // One client does about one session in 0.9 s, half of what comes.
    assert!((105..=112).contains(&of.finished), "{of:?}");
    assert!((70..=130).contains(&of.waiting), "{of:?}");
    assert_eq!(of.begun, of.finished + of.cut);
    let [first, second] = [0, 1].map(|script| measured.scripts[script].response.percentile_ns(0.5).unwrap());
    assert!(first > 10 * SECOND && second < 20 * MS, "{first}, {second}");
}

#[test]
fn every_user_keeps_the_order_of_its_scripts() {
    let pauses = [exponential(200 * MS)];
    let steps: [(u16, &[Pause]); 5] = [(0, &pauses), (1, &[]), (1, &[]), (1, &pauses), (2, &[])];
    let plan = RunPlan { threads: 3, ..lasting(users(&steps, UserArrival::Apart(70 * MS)), 0, 60) };
    let mut desk = Desk::new(5 * MS);
    let (measured, _) = run(&plan, askers(20), &mut desk);
    for user in 0..20 {
        let asked = desk.of(user);
        assert!(asked.len() > 100);
        let wanted = [0, 1, 1, 1, 2].into_iter().cycle().take(asked.len());
        assert!(asked.iter().copied().eq(wanted), "user {user}: {asked:?}");
    }
    let ok: Vec<u64> = measured.scripts.iter().map(|script| script.counts.ok).collect();
    assert!(ok[1].abs_diff(3 * ok[0]) <= 3 * 20 && ok[2].abs_diff(ok[0]) <= 20, "{ok:?}");
}

#[test]
fn a_session_that_fails_ends_and_one_that_is_open_at_the_end_was_cut() {
    for (threads, count, fails_every) in [(1, 7, None), (2, 7, Some(5)), (2, 3, Some(1))] {
        let pauses = [Pause::Constant(30 * MS)];
        let plan = users(&[(0, &pauses), (1, &pauses), (2, &pauses)], UserArrival::Apart(11 * MS));
        let plan = RunPlan { threads, ..lasting(plan, 0, 5) };
        let mut desk = Desk { fails_every, ..Desk::new(3 * MS) };
        let (measured, _) = run(&plan, askers(count), &mut desk);
        let of = measured.users.as_ref().unwrap();
        assert_eq!(of.begun, of.finished + of.failed + of.cut, "{of:?}");
        assert!(of.cut <= count as u64, "{of:?}");
        assert_eq!(of.duration.count(), of.finished);
        assert_eq!(of.failed > 0, fails_every.is_some(), "{of:?}");
        if fails_every == Some(1) {
            assert_eq!((of.finished, measured.totals().ok), (0, 0));
            assert!(
                desk.asked.iter().all(|(_, script, _)| *script == 0),
                "a new session begins with its first script"
            );
        }
    }
}

#[test]
fn a_number_of_sessions_is_done_by_each_user() {
    let plan = users(&[(0, &[Pause::Constant(20 * MS)]), (1, &[])], UserArrival::Apart(0));
    let plan = RunPlan { until: Until::PerUser(4), threads: 2, ..plan };
    let mut desk = Desk::new(2 * MS);
    let (measured, _) = run(&plan, askers(5), &mut desk);
    let of = measured.users.as_ref().unwrap();
    assert_eq!((of.begun, of.finished, of.cut, measured.totals().ok), (20, 20, 0, 40));
    assert!((0..5).all(|user| desk.of(user) == [0, 1].repeat(4)));
}

/// The study's users: 30, half a second apart; with a shape, as many as it says.
#[test]
fn users_come_as_they_are_told_to() {
    let pauses = [Pause::Constant(200 * MS)];
    let steps: [(u16, &[Pause]); 2] = [(0, &pauses), (1, &[])];
    let mut desk = Desk::new(MS / 10);
    run(&lasting(users(&steps, UserArrival::Apart(500 * MS)), 0, 20), askers(30), &mut desk);
    let start = desk.asked[0].2;
    for user in 0..30 {
        let first = desk.asked.iter().find(|(of, ..)| *of == user).unwrap().2 - start;
        assert!(first.abs_diff(user as Time * 500 * MS) < MS, "user {user} came after {first} ns");
    }
    for (shape, wanted) in [
        ("up 10s, hold 5s, down 5s", vec![(4, 15), (9, 30), (14, 30), (16, 21), (19, 3)]),
        ("step 0.2, 1, 0.5 every 5s", vec![(2, 6), (7, 30), (12, 15), (18, 15)]),
        ("spike 0.1 to 1 for 4s at 8s", vec![(5, 3), (10, 30), (15, 3)]),
        ("sine 0.5 ± 0.5 every 20s", vec![(4, 30), (14, 0)]),
    ] {
        let shape = shape.parse().unwrap();
        let plan = RunPlan { threads: 2, ..users(&steps, UserArrival::Share { shape, users: 30 }) };
        let (measured, heard) = run(&lasting(plan, 0, 20), askers(30), &mut Desk::new(MS / 10));
        for (second, active) in wanted {
            let seen = heard.seconds.iter().find(|of| of.start_ns == second * SECOND as i64).unwrap();
            assert!(seen.active_users.abs_diff(active) <= 3, "{second}: {} not {active}", seen.active_users);
        }
        let of = measured.users.unwrap();
        assert_eq!(of.begun, of.finished + of.cut);
    }
}

/// A response time counts from the end of the think time, however late the generator was.
#[test]
fn a_late_generator_shows_in_response_and_think_times() {
    let plan = lasting(users(&[(0, &[Pause::Constant(100 * MS)])], UserArrival::Apart(0)), 0, 10);
    let calm = run(&plan, askers(4), &mut Desk::new(MS)).0;
    let mut desk = Desk { stall: Some((5 * SECOND, 6 * SECOND)), ..Desk::new(MS) };
    let late = run(&plan, askers(4), &mut desk).0;
    let longest = |of: &EngineResult| of.scripts[0].response.max_ns().unwrap();
    assert!(longest(&calm) < 100 * MS && longest(&late) > 800 * MS, "{} {}", longest(&calm), longest(&late));
    assert!(late.scripts[0].service().max_ns().unwrap() < 100 * MS || longest(&late) > 800 * MS);
    let [calm, late] = [calm, late].map(|of| of.users.unwrap());
    assert!(calm.think_actual - calm.think_wanted < calm.thinks * MS);
    assert!(late.think_actual - late.think_wanted > 2 * SECOND, "{late:?}");
}

/// Think times come from the seed and the user alone.
#[test]
fn users_think_the_same_on_any_number_of_threads() {
    let plan = users(&[(0, &[exponential(300 * MS)])], UserArrival::Apart(MS));
    let asked = |threads: usize, seed: u64| {
        // Without a queue: one user does not delay another.
        let mut desk = Desk::new(0);
        run(&RunPlan { threads, seed, ..lasting(plan.clone(), 0, 10) }, askers(6), &mut desk);
        (0..6).map(|user| desk.of(user).len()).collect::<Vec<_>>()
    };
    assert_eq!(asked(1, 3), asked(3, 3));
    assert_ne!(asked(1, 3), asked(1, 4));
}
