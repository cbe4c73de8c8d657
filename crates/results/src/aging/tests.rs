use spec::{BACKENDS, PRIVATE_BYTES, RunKey, RunKind, Sample, Scope, Slice};

use super::*;
use crate::ReportData;
use crate::answer::Answer;
use crate::fixture::{experiment, host, target};

/// How an arm behaves at an age, seconds: CPU per transaction, µs, and memory, bytes.
type Behaviour = fn(f64) -> (f64, f64);

const STEADY: Behaviour = |_| (25.0, 4e6);
/// v4-age of the issue: each execution costs a little more than the one before in the same session.
const SLOWS: Behaviour = |age_s| (25.0 + 7.5 * age_s, 4e6);
const LEAKS: Behaviour = |age_s| (25.0, 4e6 + 1.2e6 * age_s);

struct Rounds {
    number: u32,
    kept: bool,
}

/// A round of 10 s in 20 quads, of an arm that is slowed by the host as its other arms are.
fn run(arm: &str, round: u32, kept: bool, behaves: Behaviour) -> Run {
    let factors = [("workload", "reads"), ("clients", "4")].map(|(name, of)| (name.into(), of.into()));
    let key = RunKey { workload: "reads".into(), factors: factors.into(), arm: Some(arm.into()), round };
    let mut run = Run::new(RunKind::Client, key);
    (run.clients, run.warmup_s, run.measured_s) = (4, 0.5, 10.0);
    (run.sequence, run.started_at) = (2 * round, format!("2026-01-02T03:{round:02}:00Z"));
    let before_s = if kept { 10.5 * f64::from(round - 1) } else { 0.0 };
    run.figures.set(figures::SESSION_AGE_S, before_s);
    let noise =
        |k: u32| 1.0 + 0.01 * (f64::from((k * 7919 + round * 104_729 + arm.len() as u32) % 21) - 10.0) / 10.0;
    for slice in 0..40 {
        let age_s = before_s + 0.5 + 0.25 * f64::from(slice);
        // The host is at another speed every few slices, for all arms.
        let host = if (slice / 6 + round).is_multiple_of(3) { 0.6 } else { 1.0 };
        let (cpu_us, _) = behaves(age_s);
        let succeeded = (0.25 * 4.0 * host / (75e-6 + cpu_us * 1e-6) * noise(slice)) as u64;
        run.slices.push(Slice {
            quad: slice / 2,
            start_us: 0,
            length_us: 250_000,
            drain_us: 0,
            succeeded,
            at_work_us: 1e6,
            steal_pct: None,
            server_cpu_us: Some(cpu_us * noise(slice + 3) * succeeded as f64),
            is_void: false,
        });
        let bytes = behaves(age_s + 0.25).1 * noise(slice + 5);
        run.samples.push(Sample {
            scope: Scope::Arm,
            source: BACKENDS.into(),
            name: PRIVATE_BYTES.into(),
            time_us: 250_000 * i64::from(slice + 1),
            value: bytes,
        });
    }
    run
}

fn data(rounds: &Rounds, base: Behaviour, patched: Behaviour) -> ReportData {
    let arms = [("master", base), ("patched", patched)];
    let runs = (1..=rounds.number)
        .flat_map(|round| arms.map(|(arm, behaves)| run(arm, round, rounds.kept, behaves)))
        .collect();
    ReportData::new(experiment(&["master", "patched"]), host(), target(), runs)
}

fn claimed(data: &ReportData) -> Vec<(String, AgingQuantity)> {
    let all = Answer::of(data).aging.into_iter().filter(|own| own.is_claimed);
    all.map(|own| (own.arm, own.quantity)).collect()
}

const KINDS: [Rounds; 2] = [Rounds { number: 4, kept: false }, Rounds { number: 6, kept: true }];
const FEW: Rounds = Rounds { number: 4, kept: true };

#[test]
fn nothing_is_claimed_of_arms_that_do_not_age() {
    for rounds in &KINDS {
        let data = data(rounds, STEADY, STEADY);
        assert_eq!(claimed(&data), [], "kept {}", rounds.kept);
        // Of the base alone with kept sessions only memory.
        let tested = if rounds.kept { 4 } else { 6 };
        assert_eq!(Answer::of(&data).aging.len(), tested, "kept {}", rounds.kept);
    }
}

#[test]
fn an_arm_that_slows_with_the_age_of_its_sessions_is_claimed_with_its_figures() {
    for rounds in &KINDS {
        let data = data(rounds, STEADY, SLOWS);
        let wanted = [AgingQuantity::Throughput, AgingQuantity::Cpu].map(|of| ("patched".to_owned(), of));
        assert_eq!(claimed(&data), wanted, "kept {}", rounds.kept);
        let aging = Answer::of(&data).aging;
        let cpu =
            aging.iter().find(|own| own.arm == "patched" && own.quantity == AgingQuantity::Cpu).unwrap();
        let end_s = if rounds.kept { 62.0 } else { 10.0 };
        assert!((28.0..60.0).contains(&cpu.own.first), "{cpu:?}");
        assert!((cpu.own.last / (25.0 + 7.5 * end_s) - 1.0).abs() < 0.1, "{cpu:?}");
        assert_eq!((cpu.is_kept, cpu.lives), (rounds.kept, if rounds.kept { 1 } else { 4 }));
        let (first, last) = cpu.against_base_pct().unwrap();
        assert!(cpu.is_worse() && first > 10.0 && last > 250.0, "{first} {last}");
        let own = data.grid_runs().filter(|run| run.arm.as_deref() == Some("patched"));
        let course = course_over_age(own, AgingQuantity::Cpu);
        assert!(course.len() > 10 && course.windows(2).all(|two| two[0].0 < two[1].0), "{course:?}");
        assert!(course.last().unwrap().1 > 2.0 * course[0].1, "{course:?}");
    }
}

#[test]
fn a_leak_is_claimed_of_the_arm_that_has_it() {
    for rounds in &KINDS {
        let found = |base, patched| claimed(&data(rounds, base, patched));
        let memory = |arm: &str| (arm.to_owned(), AgingQuantity::Memory);
        assert_eq!(found(STEADY, LEAKS), [memory("patched")]);
        // Both leak alike: that is the base's, and no difference of the arms.
        let few = |base, patched| claimed(&data(&FEW, base, patched));
        assert_eq!(few(STEADY, LEAKS), [memory("patched")], "four rounds are enough for a leak");
        assert_eq!(found(LEAKS, LEAKS), [memory("master")], "kept {}", rounds.kept);
    }
}

/// Both arms slow alike: with new sessions that is the base's own; with kept ones the host may have become slower.
#[test]
fn what_both_arms_do_is_the_bases_unless_the_host_may_have_done_it() {
    let [new, kept] = KINDS.map(|rounds| claimed(&data(&rounds, SLOWS, SLOWS)));
    // Its throughput is moved by the host far more than its CPU time.
    assert_eq!(new, [("master".to_owned(), AgingQuantity::Cpu)]);
    assert_eq!(kept, []);
}

/// After a kill the sessions are new ones.
#[test]
fn younger_sessions_begin_another_life() {
    let mut all = data(&Rounds { number: 8, kept: true }, STEADY, SLOWS);
    for run in all.runs.iter_mut().filter(|run| run.round > 4) {
        let before_s = 10.5 * f64::from(run.round - 5);
        let again = self::run(
            run.arm.as_deref().unwrap(),
            run.round - 4,
            true,
            if run.arm.as_deref() == Some("patched") { SLOWS } else { STEADY },
        );
        (run.slices, run.samples) = (again.slices, again.samples);
        run.figures.set(figures::SESSION_AGE_S, before_s);
    }
    let all = ReportData::new(all.experiment, all.host, all.target, all.runs);
    let aging = Answer::of(&all).aging;
    let cpu = aging.iter().find(|own| own.arm == "patched" && own.quantity == AgingQuantity::Cpu).unwrap();
    assert_eq!((cpu.lives, cpu.rounds, cpu.is_claimed), (2, 8, true), "{cpu:?}");
}

#[test]
fn what_is_not_compared_has_no_age() {
    let mut one = experiment(&[]);
    (one.compare_factor, one.base) = (None, None);
    let runs = vec![Run { arm: None, ..run("", 1, false, SLOWS) }];
    assert_eq!(Answer::of(&ReportData::new(one, host(), target(), runs)).aging, []);
}
