//! Whether intervals of arms that took turns have their nominal coverage. A is compared with A under
//! made-up disturbance, on the path of real ones: slices in runs, runs in a comparison, its interval.
//!
//! Of 10,000 intervals of 95 %, 4 to 7 % may leave out 0, under any disturbance (docs/explanation/slices.md).
//! Everything comes from seeds.

use std::f64::consts::TAU;

use results::ReportData;
use results::comparison::{CellComparison, Comparison, Metric};
use spec::{
    ArmRecord, ExperimentRecord, Host, MeasuredTarget, OrderScheme, Run, RunKey, RunKind, Slice, figures,
};

const COMPARISONS: u64 = 10_000;
/// Comparisons for each kind of disturbance alone.
const OF_EACH: u64 = 4_000;
/// Share of their intervals that may leave out 0.
const PROMISED: std::ops::RangeInclusive<f64> = 0.04..=0.07;
/// Length of a slice, s.
const SLICE: f64 = 0.1;
/// Between two rounds: servers are started, clients connect and warm up, s.
const PAUSE: f64 = 2.0;
const CLIENTS: u32 = 4;
/// Transactions per second of an undisturbed arm.
const TPS: f64 = 20_000.0;
const ARMS: [&str; 2] = ["a", "b"];

#[derive(Clone, Copy)]
struct Shape {
    rounds: u32,
    quads: u32,
}

/// 6 rounds of 2 s.
const SHORT: Shape = Shape { rounds: 6, quads: 5 };
/// 12 rounds of 4.8 s.
const MINUTE: Shape = Shape { rounds: 12, quads: 12 };

/// Disturbances; all of them in ln(tps).
#[derive(Clone, Copy, Default)]
struct Disturbance {
    /// The machine gets slower or faster all the time, and swings with a period of seconds to a minute.
    drift: bool,
    /// The machine changes its speed about once a second.
    steps: bool,
    /// Each arm's processes are placed well or badly for about a second of their work; again after each
    /// connecting.
    plateaus: bool,
    /// Most of a slice's disturbance carries over to the next one: the machine's, and each arm's.
    correlated: bool,
}

const ALL: Disturbance = Disturbance { drift: true, steps: true, plateaus: true, correlated: true };

/// SplitMix64 (Steele, Lea & Flood 2014, DOI 10.1145/2660193.2660195).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn even(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.even()
    }

    /// Normal, with this standard deviation.
    fn normal(&mut self, deviation: f64) -> f64 {
        deviation * (-2.0 * self.even().ln()).sqrt() * (TAU * self.even()).cos()
    }
}

/// A value that keeps most of itself from slice to slice (AR(1)).
struct Lasting {
    value: f64,
    deviation: f64,
}

impl Lasting {
    const KEPT: f64 = 0.9;

    fn new(deviation: f64, chance: &mut Chance) -> Self {
        Self { value: chance.normal(deviation), deviation }
    }

    fn next(&mut self, chance: &mut Chance) -> f64 {
        let rest = (1.0 - Self::KEPT * Self::KEPT).sqrt();
        self.value = Self::KEPT * self.value + chance.normal(self.deviation * rest);
        self.value
    }
}

/// Disturbance of a single arm between connecting and leaving.
struct Own {
    lies_badly: bool,
    lasting: Lasting,
}

impl Own {
    fn new(chance: &mut Chance) -> Self {
        Self { lies_badly: chance.even() < 0.5, lasting: Lasting::new(0.1, chance) }
    }

    fn next(&mut self, by: Disturbance, chance: &mut Chance) -> f64 {
        if chance.even() < SLICE {
            self.lies_badly = !self.lies_badly;
        }
        let lasting = self.lasting.next(chance);
        let placed = if self.lies_badly { -0.25 } else { 0.0 };
        f64::from(u8::from(by.plateaus)) * placed + f64::from(u8::from(by.correlated)) * lasting
    }
}

/// Disturbance of the machine, over a whole comparison.
struct Machine {
    by: Disturbance,
    time: f64,
    slope_per_s: f64,
    swing: f64,
    period: f64,
    phase: f64,
    step: f64,
    lasting: Lasting,
}

impl Machine {
    fn new(by: Disturbance, chance: &mut Chance) -> Self {
        Self {
            by,
            time: 0.0,
            slope_per_s: chance.between(-0.02, 0.02),
            swing: chance.between(0.0, 0.2),
            period: chance.between(3.0, 60.0),
            phase: chance.between(0.0, TAU),
            step: chance.normal(0.2),
            lasting: Lasting::new(0.15, chance),
        }
    }

    /// Disturbance of every arm in the next slice.
    fn next(&mut self, chance: &mut Chance) -> f64 {
        self.time += SLICE;
        if chance.even() < SLICE {
            self.step = chance.normal(0.2);
        }
        let lasting = self.lasting.next(chance);
        let swing = self.swing * (TAU * self.time / self.period + self.phase).sin();
        let parts = [
            (self.by.drift, self.slope_per_s * self.time + swing),
            (self.by.steps, self.step),
            (self.by.correlated, lasting),
        ];
        parts.iter().filter(|(on, _)| *on).map(|(_, part)| part).sum()
    }

    fn pause(&mut self, chance: &mut Chance) {
        for _ in 0..(PAUSE / SLICE) as u32 {
            self.next(chance);
        }
    }
}

fn slice(quad: u32, at: f64, log_speed: f64) -> Slice {
    Slice {
        quad,
        start_us: (at * 1e6) as i64,
        length_us: (SLICE * 1e6) as u64,
        drain_us: 0,
        succeeded: (TPS * SLICE * log_speed.exp()).round() as u64,
        at_work_us: f64::from(CLIENTS) * SLICE * 1e6,
        steal_pct: None,
        server_cpu_us: None,
        is_void: false,
    }
}

fn run(arm: usize, round: u32, slices: Vec<Slice>) -> Run {
    let key = RunKey {
        workload: "reads".into(),
        factors: [("clients".to_owned(), CLIENTS.to_string())].into(),
        arm: Some(ARMS[arm].into()),
        round,
    };
    let ok = slices.iter().map(|slice| slice.succeeded).sum();
    Run {
        clients: CLIENTS,
        counts: [(figures::OK, ok)].into(),
        measured_s: SLICE * slices.len() as f64,
        slices,
        ..Run::new(RunKind::Client, key)
    }
}

fn runs(by: Disturbance, shape: Shape, seed: u64) -> Vec<Run> {
    let chance = &mut Chance(seed);
    let mut machine = Machine::new(by, chance);
    let mut runs = Vec::new();
    for round in 1..=shape.rounds {
        let mut own = [Own::new(chance), Own::new(chance)];
        let mut slices = [Vec::new(), Vec::new()];
        // The first arm alternates by round.
        let order = if round % 2 == 1 { [0, 1, 1, 0] } else { [1, 0, 0, 1] };
        for (quad, arm) in (0..shape.quads).flat_map(|quad| order.map(|arm| (quad, arm))) {
            let at = machine.time;
            let speed = machine.next(chance) + own[arm].next(by, chance) + chance.normal(0.05);
            slices[arm].push(slice(quad, at, speed));
        }
        runs.extend(slices.into_iter().enumerate().map(|(arm, slices)| run(arm, round, slices)));
        machine.pause(chance);
    }
    runs
}

fn experiment(rounds: u32) -> ExperimentRecord {
    let arm = |name: &str| ArmRecord {
        name: name.into(),
        settings: [].into(),
        unsafe_settings: Vec::new(),
        target: None,
    };
    ExperimentRecord {
        hash: String::new(),
        name: "simulated".into(),
        question: "Does nothing look like nothing?".into(),
        file_text: String::new(),
        plan: spec::plan::Recorded::default(),
        control: None,
        seed: 1,
        order_scheme: OrderScheme::Pairs,
        rounds,
        compare_factor: Some("settings".into()),
        base: Some(ARMS[0].into()),
        arms: ARMS.map(arm).into(),
        margin: 0.03,
        taste: None,
        created_at: "2026-01-02T03:04:05Z".into(),
        parts: Vec::new(),
    }
}

fn compared(by: Disturbance, shape: Shape, seed: u64) -> CellComparison {
    let comparison = Comparison::of(&experiment(shape.rounds), &runs(by, shape, seed), Metric::Tps);
    comparison.unwrap().arms.remove(0).cells.remove(0)
}

fn leaves_out_0((low, high): (f64, f64)) -> bool {
    low > 0.0 || high < 0.0
}

/// The share of this many seeds for which the condition holds.
fn share(all: u64, is: impl Fn(u64) -> bool + Sync) -> f64 {
    let workers = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let found: usize = std::thread::scope(|scope| {
        let is = &is;
        let of =
            |worker| scope.spawn(move || (worker..all).step_by(workers as usize).filter(|&n| is(n)).count());
        (0..workers).map(of).collect::<Vec<_>>().into_iter().map(|handle| handle.join().unwrap()).sum()
    });
    found as f64 / all as f64
}

/// Seeds of one kind are independent of another's.
fn seed(kind: &str, number: u64) -> u64 {
    kind.bytes().fold(number << 32, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

#[test]
fn one_in_twenty_intervals_of_nothing_leaves_out_0() {
    let none = Disturbance::default();
    let kinds = [
        ("nothing but noise", OF_EACH, none),
        ("drift", OF_EACH, Disturbance { drift: true, ..none }),
        ("steps", OF_EACH, Disturbance { steps: true, ..none }),
        ("plateaus of placement", OF_EACH, Disturbance { plateaus: true, ..none }),
        ("autocorrelated noise", OF_EACH, Disturbance { correlated: true, ..none }),
        ("all of it", COMPARISONS, ALL),
    ];
    let outside = kinds.map(|(name, comparisons, by)| {
        let is = |number| {
            leaves_out_0(compared(by, SHORT, seed(name, number)).estimate.unwrap().interval(0.95).unwrap())
        };
        (name, share(comparisons, is))
    });
    assert!(outside.iter().all(|(_, share)| PROMISED.contains(share)), "{outside:?}");
}

/// Why the unit is the round: successive quads are not independent.
#[test]
fn quads_taken_for_independent_would_lie() {
    let by = Disturbance { plateaus: true, correlated: true, ..Disturbance::default() };
    let outside = share(1_000, |number| {
        let runs = runs(by, SHORT, seed("quads", number));
        let ratios: Vec<f64> = runs
            .chunks(2)
            .flat_map(|pair| {
                let [base, new] = pair else { panic!("two arms") };
                (0..SHORT.quads).map(|quad| (new.quad_tps(quad).unwrap() / base.quad_tps(quad).unwrap()).ln())
            })
            .collect();
        leaves_out_0(stats::paired(&ratios).unwrap().interval(0.95).unwrap())
    });
    assert!(outside > 3.0 * PROMISED.end(), "{outside}");
}

/// The warning about that is shown if it applies, and only then.
#[test]
fn what_outlasts_slices_is_seen_in_a_minute() {
    let warned = |by: Disturbance| {
        share(200, |number| compared(by, MINUTE, seed("warned", number)).sliced.unwrap().is_correlated())
    };
    let (quiet, own) = (
        warned(Disturbance { drift: true, steps: true, ..Disturbance::default() }),
        warned(Disturbance { plateaus: true, correlated: true, ..Disturbance::default() }),
    );
    assert!(quiet < 0.05 && own > 0.95, "{quiet} {own}");
}

/// An existing difference is found under the same disturbance: 5 % more work, a minute.
#[test]
fn what_is_slower_is_called_slower_in_any_weather() {
    let slower = (1.0f64 / 1.05).ln();
    let outcomes: Vec<(f64, bool)> = (0..200)
        .map(|number| {
            let mut runs = runs(
                Disturbance { drift: true, steps: true, ..Disturbance::default() },
                MINUTE,
                seed("work", number),
            );
            for run in runs.iter_mut().filter(|run| run.arm.as_deref() == Some(ARMS[1])) {
                for slice in &mut run.slices {
                    slice.succeeded = (slice.succeeded as f64 * slower.exp()).round() as u64;
                }
            }
            let found = Comparison::of(&experiment(MINUTE.rounds), &runs, Metric::Tps).unwrap();
            let cell = &found.arms[0].cells[0];
            (cell.estimate.unwrap().log_ratio, cell.verdict == stats::Verdict::Slower)
        })
        .collect();
    let mean = outcomes.iter().map(|(ratio, _)| ratio).sum::<f64>() / outcomes.len() as f64;
    let found = outcomes.iter().filter(|(_, is_slower)| *is_slower).count();
    assert!((mean - slower).abs() < 0.002, "{mean}");
    assert!(found * 10 > outcomes.len() * 8, "{found} of {}", outcomes.len());
}

/// The same of the age of sessions: its intervals hold together, and have to lie beyond the margin. With new sessions in
/// each round, and with kept ones.
#[test]
fn nearly_no_arm_is_said_to_change_with_the_age_of_its_sessions() {
    let data = |kept: bool, number: u64| {
        let mut runs = runs(ALL, SHORT, seed("age", number));
        for run in runs.iter_mut().filter(|_| kept) {
            run.figures.set(figures::SESSION_AGE_S, 2.0 * f64::from(run.round - 1));
        }
        let host = Host {
            uuid: String::new(),
            name: String::new(),
            cpu: String::new(),
            cores: 2,
            memory_bytes: 0,
            facts: [].into(),
        };
        let target = MeasuredTarget {
            kind: "managed".into(),
            dsn_redacted: String::new(),
            server_version: String::new(),
            postgis_version: None,
            versions: [].into(),
            build: None,
        };
        ReportData::new(experiment(SHORT.rounds), host, target, runs)
    };
    for kept in [false, true] {
        let tested = data(kept, 0);
        let tested = tested.aging();
        assert!(!tested.is_empty() && tested.iter().all(|own| own.is_kept == kept), "{tested:?}");
        let claimed = share(2_000, |number| data(kept, number).aging().iter().any(|own| own.is_claimed));
        assert!(claimed < 0.02, "kept {kept}: {claimed}");
    }
}
