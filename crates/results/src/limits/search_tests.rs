//! Searches on simulated servers.

use spec::figures::{self, Figures};
use spec::{Doubt, OfferedLoad, Reason, RunKey, RunKind, Term, Validity};
use stats::LimitClass;

use super::super::range::range;
use super::super::{Broke, Cause, FoundLimit, SearchOutcome, WhyFar};
use super::*;
use crate::comparison::Cell;

fn asked() -> AskedLimit {
    let term = Term { script: None, within_us: 20_000, share: 0.01, written: "p99 < 20ms".into() };
    AskedLimit {
        promise: vec![term],
        lowest: None,
        highest: None,
        width: 0.03,
        grow_clients: false,
        users: None,
        confirm: Vec::new(),
    }
}

fn run(rate: Option<f64>, clients: u32, round: u32, arm: &Option<String>) -> Run {
    let factors = rate.map(|rate| ("rate".to_owned(), rate.to_string())).into_iter().collect();
    let key = RunKey { workload: "w".into(), factors, arm: arm.clone(), round };
    let load = if rate.is_some() { OfferedLoad::Rate } else { OfferedLoad::Closed };
    Run { offered_rate: rate, clients, load, measured_s: 1.0, ..Run::new(RunKind::Client, key) }
}

/// A server: its full speed with this many clients, and whether a trial (its number from 0) keeps the
/// promise.
struct Server<'s> {
    peak: &'s dyn Fn(u32) -> u64,
    trial: &'s dyn Fn(&mut Run, usize),
}

/// Follows a search to its end; returns its runs.
fn search(asked: &AskedLimit, arms: &[Option<String>], most: Option<u32>, server: &Server<'_>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    loop {
        assert!(runs.len() < 400, "it does not end");
        let all: Vec<&Run> = runs.iter().collect();
        let cell = CellLimit::of(asked, arms, (8, most), &all);
        let begun = runs.len();
        match cell.next {
            LimitNext::Peak { clients, round } => {
                let mut peak = run(None, clients, round, &arms[0]);
                let done = (server.peak)(clients);
                peak.figures.extend((done > 0).then_some((figures::PEAK_PER_S, done as f64)));
                runs.push(peak);
            }
            LimitNext::Trial { rate, clients, round, arms, .. } => {
                for arm in &arms {
                    let mut trial = run(Some(rate), clients, round, arm);
                    (server.trial)(&mut trial, begun);
                    runs.push(trial);
                }
            }
            LimitNext::Confirm { shaped, clients, round, arm } => {
                let mut trial = run(Some(shaped.offered.mean(20.0)), clients, round, &arm);
                trial.factors.insert("rate".into(), shaped.offered.to_string());
                (server.trial)(&mut trial, begun);
                runs.push(trial);
            }
            LimitNext::Ended => {
                assert_eq!(cell.left, 0);
                return runs;
            }
        }
    }
}

fn judged(run: &mut Run, limit: f64) {
    let good = run.offered_rate.is_some_and(|rate| rate < limit);
    run.figures.set(figures::PROMISE_KEPT, f64::from(u8::from(good)));
}

fn ended(cell: &CellLimit<'_>, arm: usize) -> (f64, f64) {
    match cell.arms[arm].state {
        LimitState::Ended(LimitEnded { lower: Some(lower), upper: Some(upper), .. }) => (lower, upper),
        state => panic!("{state:?}"),
    }
}

#[test]
fn a_peak_then_trials() {
    let server = Server { peak: &|_| 1000, trial: &|run, _| judged(run, 700.0) };
    let runs = search(&asked(), &[None], None, &server);
    let all: Vec<&Run> = runs.iter().collect();
    let cell = CellLimit::of(&asked(), &[None], (8, None), &all);
    let (lower, upper) = ended(&cell, 0);
    assert!(lower < 700.0 && upper >= 700.0 && upper / lower < 1.035, "{lower} {upper}");
    assert_eq!((cell.peak_per_s, cell.clients, cell.still_growing), (Some(1000.0), 8, false));
    assert!((7..=20).contains(&runs.len()), "{}", runs.len());
    // Trials at one rate are numbered.
    let mut keys: Vec<_> = runs.iter().map(Run::key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), runs.len());
}

/// A run at full speed that others disturbed was too slow.
#[test]
fn a_limit_beyond_a_disturbed_peak_is_found_and_bounds_of_ones_own_are_kept() {
    for (asked, limit, wanted) in [
        (asked(), 3_000.0, Some(3_000.0)),
        (asked(), f64::INFINITY, None),
        (AskedLimit { highest: Some(2_000.0), ..asked() }, 3_000.0, None),
    ] {
        let server = Server { peak: &|_| 1000, trial: &|run, _| judged(run, limit) };
        let runs = search(&asked, &[None], None, &server);
        let all: Vec<&Run> = runs.iter().collect();
        let cell = CellLimit::of(&asked, &[None], (8, None), &all);
        let LimitState::Ended(LimitEnded { lower, upper, .. }) = cell.arms[0].state else {
            panic!("{cell:?}")
        };
        match wanted {
            Some(limit) => {
                assert!(lower.is_some_and(|lower| lower < limit) && upper.is_some_and(|upper| upper >= limit))
            }
            None => assert_eq!((lower, upper), (Some(asked.highest.unwrap_or(19_200.0)), None)),
        }
    }
}

#[test]
fn clients_are_doubled_until_it_brings_nothing() {
    let asked = AskedLimit { grow_clients: true, ..asked() };
    let server =
        Server { peak: &|clients| 100 * u64::from(clients.min(40)), trial: &|run, _| judged(run, 3_000.0) };
    for (most, clients, growing) in [(None, 128, false), (Some(20), 20, true), (Some(17), 17, true)] {
        let runs = search(&asked, &[None], most, &server);
        let all: Vec<&Run> = runs.iter().collect();
        let cell = CellLimit::of(&asked, &[None], (8, most), &all);
        assert_eq!((cell.clients, cell.still_growing), (clients, growing), "{most:?}");
        let trials = runs.iter().filter(|run| run.offered_rate.is_some());
        assert!(trials.into_iter().all(|run| run.clients == clients));
    }
}

/// A role may have fewer connections than a search begins with.
#[test]
fn no_more_clients_than_are_let_in() {
    let grows = AskedLimit { grow_clients: true, ..asked() };
    let server = Server { peak: &|_| 1000, trial: &|run, _| judged(run, 700.0) };
    for (asked, clients) in [(grows, 2), (asked(), 8)] {
        let runs = search(&asked, &[None], Some(2), &server);
        assert!(runs.iter().all(|run| run.clients == clients), "{clients}");
    }
}

/// The user's bound may protect the server: it holds for all arms.
#[test]
fn bounds_of_ones_own_are_kept_by_all_arms() {
    let asked = AskedLimit { lowest: Some(500.0), highest: Some(720.0), ..asked() };
    let arms = [Some("base".to_owned()), Some("new".to_owned())];
    let server = Server {
        peak: &|_| 1000,
        trial: &|run, _| judged(run, if run.arm.as_deref() == Some("new") { 2_000.0 } else { 700.0 }),
    };
    let runs = search(&asked, &arms, None, &server);
    let rates = runs.iter().filter_map(|run| run.offered_rate);
    assert!(rates.into_iter().all(|rate| (500.0..=720.0).contains(&rate)));
    let all: Vec<&Run> = runs.iter().collect();
    let cell = CellLimit::of(&asked, &arms, (8, None), &all);
    let state = cell.arms[1].state;
    assert!(matches!(state, LimitState::Ended(LimitEnded { lower: Some(_), upper: None, .. })), "{state:?}");
}

/// Both arms at the same rates, the base first in every other round; each has passed and failed in the end.
#[test]
fn arms_are_tried_in_turn_around_the_limit_of_the_base() {
    let arms = [Some("base".to_owned()), Some("new".to_owned())];
    let server = Server {
        peak: &|_| 1000,
        trial: &|run, _| judged(run, if run.arm.as_deref() == Some("new") { 840.0 } else { 700.0 }),
    };
    let runs = search(&asked(), &arms, None, &server);
    let all: Vec<&Run> = runs.iter().collect();
    let cell = CellLimit::of(&asked(), &arms, (8, None), &all);
    let ((base, above), (lower, upper)) = (ended(&cell, 0), ended(&cell, 1));
    assert!(base < 700.0 && above >= 700.0 && lower < 840.0 && upper >= 840.0);
    assert!(above / base < 1.035 && upper / lower < 1.035, "{base} {above} {lower} {upper}");
    let rates = |arm: usize| {
        let mut rates: Vec<_> = cell.arms[arm].trials.iter().map(|run| rate_and_round(run)).collect();
        rates.sort_unstable();
        rates
    };
    assert_eq!(rates(0), rates(1));
    let first: Vec<_> = cell.arms[1].trials[..3].iter().filter_map(|run| run.offered_rate).collect();
    let shares: Vec<f64> = first.iter().map(|rate| (10.0 * rate / base).round() / 10.0).collect();
    assert_eq!(shares, [1.0, 0.9, 1.1]);
}

#[test]
fn what_cannot_be_believed_does_not_count() {
    // The fourth run never counts; every third is slowed down by a neighbour.
    let trial = |run: &mut Run, number: usize| {
        judged(run, 700.0);
        if number == 4 {
            (run.validity, run.figures) = (Validity::Invalid, Figures::default());
        } else if number.is_multiple_of(3) {
            run.figures.set(figures::PROMISE_KEPT, 0.0);
            run.doubts.push(Doubt { reason: Reason::Steal, detail: String::new() });
        }
    };
    let runs = search(&asked(), &[None], None, &Server { peak: &|_| 1000, trial: &trial });
    let all: Vec<&Run> = runs.iter().collect();
    let cell = CellLimit::of(&asked(), &[None], (8, None), &all);
    let (lower, upper) = ended(&cell, 0);
    assert!(lower < 700.0 && upper >= 700.0, "{lower} {upper}");
    assert!(cell.arms[0].uncounted >= 3, "{}", cell.arms[0].uncounted);
}

/// Once the limit is known each shape has separate trials: three if they agree, at the arm's limit.
#[test]
fn a_limit_is_confirmed_under_rates_that_change() {
    let confirm = ["ramp 0.5..1 over 20s", "spike 0.5 to 1.5 for 2s at 8s", "sine 0.8 ± 0.2 every 5s"];
    let confirm = confirm.map(|shape| shape.parse().unwrap()).to_vec();
    let asked = AskedLimit { confirm, ..asked() };
    // Rates above it break the promise; a disturbed bad trial of the sine does not count.
    let trial = |run: &mut Run, number: usize| {
        let spike = run.factors["rate"].starts_with("spike");
        judged(run, if spike { 0.0 } else { 700.0 });
        if run.factors["rate"].starts_with("sine") && number.is_multiple_of(2) {
            run.figures.set(figures::PROMISE_KEPT, 0.0);
            run.doubts.push(Doubt { reason: Reason::Steal, detail: String::new() });
        }
    };
    let arms = [Some("base".to_owned()), Some("new".to_owned())];
    for arms in [&[None][..], &arms] {
        let runs = search(&asked, arms, None, &Server { peak: &|_| 1000, trial: &trial });
        let all: Vec<&Run> = runs.iter().collect();
        let cell = CellLimit::of(&asked, arms, (8, None), &all);
        for (index, arm) in cell.arms.iter().enumerate() {
            let (lower, _) = ended(&cell, index);
            let classes: Vec<_> = arm.confirmed.iter().map(|shape| shape.class).collect();
            assert_eq!(classes, [LimitClass::Lower, LimitClass::Upper, LimitClass::Lower]);
            assert_eq!(arm.confirmed[0].shaped.offered, asked.confirm[0].scaled(lower));
            assert_eq!(arm.confirmed.iter().map(|shape| shape.left).sum::<usize>(), 0);
            assert_eq!((arm.confirmed[0].trials.len(), arm.confirmed[1].kept()), (3, 0));
            assert!(arm.confirmed.iter().all(|shape| !shape.refutes()));
            assert!(arm.trials.iter().all(|run| !is_confirming(run)));
        }
        let mut keys: Vec<_> = runs.iter().map(Run::key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), runs.len());
    }
}

#[test]
fn a_peak_that_never_counts_is_not_asked_for_without_end() {
    let none = Server { peak: &|_| 0, trial: &|_, _| unreachable!("there is nowhere to look") };
    let runs = search(&asked(), &[None], None, &none);
    assert_eq!(runs.iter().map(|run| run.round).collect::<Vec<_>>(), [1, 2]);
    let all: Vec<&Run> = runs.iter().collect();
    assert_eq!(CellLimit::of(&asked(), &[None], (8, None), &all).arms[0].state, LimitState::GivenUp);
    // With twice as many clients nothing ends in time: the search uses the former number.
    let asked = AskedLimit { grow_clients: true, ..asked() };
    let peak = |clients: u32| if clients > 8 { 0 } else { 1000 };
    let runs = search(&asked, &[None], None, &Server { peak: &peak, trial: &|run, _| judged(run, 700.0) });
    let peaks: Vec<_> = runs.iter().filter(|run| run.offered_rate.is_none()).map(|run| run.clients).collect();
    assert_eq!(peaks, [8, 16, 16]);
    assert!(runs.iter().filter(|run| run.offered_rate.is_some()).all(|run| run.clients == 8));
}

#[test]
fn who_goes_on_with_a_search_keeps_its_clients() {
    let asked = AskedLimit { grow_clients: true, ..asked() };
    let server = Server { peak: &|clients| 100 * u64::from(clients), trial: &|run, _| judged(run, 700.0) };
    let runs = search(&asked, &[None], Some(94), &server);
    let all: Vec<&Run> = runs.iter().collect();
    for most in [None, Some(95), Some(400)] {
        let cell = CellLimit::of(&asked, &[None], (8, most), &all);
        assert_eq!((&cell.next, cell.clients), (&LimitNext::Ended, 94), "{most:?}");
    }
}

#[test]
fn an_arm_whose_base_has_no_limit_is_not_tried() {
    let arms = [Some("base".to_owned()), Some("new".to_owned())];
    let asked = AskedLimit { highest: Some(900.0), ..asked() };
    for (limit, bounds, outcome) in
        [(0.0, (false, true), SearchOutcome::Never), (5_000.0, (true, false), SearchOutcome::Undecided)]
    {
        // Long enough for some thousand arrivals.
        let trial = |run: &mut Run, _: usize| {
            run.measured_s = 1000.0;
            judged(run, limit);
        };
        let runs = search(&asked, &arms, None, &Server { peak: &|_| 1000, trial: &trial });
        let all: Vec<&Run> = runs.iter().collect();
        let limit = CellLimit::of(&asked, &arms, (8, None), &all);
        let LimitState::Ended(LimitEnded { lower, upper, .. }) = limit.arms[0].state else {
            panic!("{limit:?}")
        };
        assert_eq!((lower.is_some(), upper.is_some()), bounds);
        assert_eq!(limit.arms[1].state, LimitState::NotTried);
        // Nothing is known about the other arm, whatever the base's result.
        assert_eq!(FoundLimit { cell: Cell::of(all[0]), limit }.outcome(&asked), [outcome]);
    }
}

#[test]
fn trials_that_never_count_are_given_up() {
    let asked = AskedLimit { confirm: vec!["ramp 0.5..1 over 20s".parse().unwrap()], ..asked() };
    let trial = |run: &mut Run, _| {
        judged(run, 700.0);
        if is_confirming(run) {
            run.figures = Figures::default();
        }
    };
    let runs = search(&asked, &[None], None, &Server { peak: &|_| 1000, trial: &trial });
    let all: Vec<&Run> = runs.iter().collect();
    let cell = CellLimit::of(&asked, &[None], (8, None), &all);
    let shape = &cell.arms[0].confirmed[0];
    assert_eq!((shape.class, shape.left, shape.uncounted), (LimitClass::Undecided, 0, 10));
}

#[test]
fn bounds_of_ones_own_go_beyond_the_peak() {
    let asked = AskedLimit { lowest: Some(2_000.0), ..asked() };
    let of =
        |asked: &AskedLimit, peak| range(asked, peak, Some(20.0)).map(|range| (range.lowest, range.highest));
    assert_eq!(of(&asked, 1000.0), Some((2_000.0, 8_000.0)));
    let asked = AskedLimit { highest: Some(5.0), lowest: None, ..asked };
    assert_eq!(of(&asked, 1000.0), Some((1.25, 5.0)));
    // No rate without arrivals, and none that cannot be written with few digits.
    assert_eq!(
        range(&AskedLimit { highest: None, ..asked.clone() }, 2761.5, None).map(|range| range.highest),
        Some(3314.0)
    );
    let asked = AskedLimit { highest: None, ..asked };
    assert_eq!(of(&asked, 10.0), Some((3.0, 12.0)));
    // With fewer than 100 arrivals in 20 s, a single late one breaks a p99.
    assert_eq!(of(&asked, 100.0), Some((5.0, 120.0)));
    assert_eq!(range(&asked, 0.001, Some(1e9)), Some(LimitRange { lowest: 0.001, highest: 0.0012 }));
}

/// All transactions of a run take this long.
fn took(run: &mut Run, ms: u64) {
    let mut response = stats::Histogram::new();
    let count = run.offered_rate.map_or(1000, |rate| rate.ceil() as u64);
    (0..count).for_each(|_| response.record(ms * 1_000_000));
    run.counts.extend([figures::DUE, figures::OK].map(|of| (of, count)));
    run.scripts = vec![spec::ScriptRecord {
        name: "w".into(),
        text_hash: String::new(),
        weight: 1,
        part: None,
        counts: run.counts.clone(),
        service: response.clone(),
        response,
    }];
}

fn found<'r>(asked: &AskedLimit, runs: &'r [Run]) -> FoundLimit<'r> {
    let all: Vec<&Run> = runs.iter().collect();
    let limit = CellLimit::of(asked, &[None], (8, None), &all);
    FoundLimit { cell: Cell::of(all[0]), limit }
}

/// The result of a trial, and whether the generator ended such a search.
type Case<'c> = (&'c dyn Fn(&mut Run, usize), bool);

/// Regression: "between 2135 and 2197", exit code 0, although the text named the client as the limit.
#[test]
fn a_limit_that_the_generator_ended_is_at_least_that() {
    let doubt = |reason| Doubt { reason, detail: "so".into() };
    let busy = |run: &mut Run, pct: f64| {
        run.figures.extend([(figures::CPU_BUSY_PCT, 99.0), (figures::CLIENT_CPU_PCT, pct)]);
    };
    let saturated = |run: &mut Run, _| {
        judged(run, 700.0);
        run.doubts.extend((run.figures[figures::PROMISE_KEPT] < 0.5).then(|| doubt(Reason::ClientSaturated)));
    };
    // All take this long; a thread that is late by 8 ms adds its share twice.
    let late = |took_ms: u64| {
        move |run: &mut Run, number: usize| {
            judged(run, 700.0);
            run.doubts.extend((!number.is_multiple_of(3)).then(|| doubt(Reason::ScheduleLate)));
            run.figures.set(figures::START_LAG_P99_US, 8e3);
            took(run, took_ms);
        }
    };
    let (by_lag, by_server) = (late(30), late(70));
    let shared = |run: &mut Run, _| {
        judged(run, 700.0);
        busy(run, 30.0);
    };
    // A single late one may be chance, and a generator that takes little leaves the CPUs to the server.
    let once = |run: &mut Run, number: usize| {
        judged(run, 700.0);
        run.doubts.extend((number == 3).then(|| doubt(Reason::ScheduleLate)));
    };
    let little = |run: &mut Run, _| {
        judged(run, 700.0);
        busy(run, 4.0);
    };
    let cases: [Case<'_>; 6] = [
        (&saturated, true),
        (&by_lag, true),
        // A server that takes longer than promised ends it itself.
        (&by_server, false),
        (&shared, true),
        (&once, false),
        (&little, false),
    ];
    for (number, (trial, by_generator)) in cases.into_iter().enumerate() {
        let runs = search(&asked(), &[None], None, &Server { peak: &|_| 1000, trial });
        let found = found(&asked(), &runs);
        let arm = &found.limit.arms[0];
        assert_eq!(arm.generator(&asked()).is_some(), by_generator, "case {number}");
        let outcome = if by_generator { SearchOutcome::Undecided } else { SearchOutcome::Found };
        assert_eq!(
            (found.outcome(&asked()), arm.bounds(&asked()).is_some()),
            (vec![outcome], !by_generator),
            "case {number}"
        );
    }
}

#[test]
fn limits_that_the_generator_ended_have_no_ratio() {
    let arms = [Some("base".to_owned()), Some("new".to_owned())];
    let trial = |run: &mut Run, _| {
        judged(run, 700.0);
        let detail = String::new();
        run.doubts.extend((run.arm == arms[1]).then_some(Doubt { reason: Reason::ClientSaturated, detail }));
    };
    let runs = search(&asked(), &arms, None, &Server { peak: &|_| 1000, trial: &trial });
    let all: Vec<&Run> = runs.iter().collect();
    let found = FoundLimit { cell: Cell::of(all[0]), limit: CellLimit::of(&asked(), &arms, (8, None), &all) };
    assert_eq!(found.ratios(&asked()), []);
    assert_eq!(found.outcome(&asked()), [SearchOutcome::Found, SearchOutcome::Undecided]);
}

/// Regression: a server that was slow for the first five trials failed at rates far below the later ones
/// that it kept.
#[test]
fn trials_that_contradict_each_other_make_a_limit_irregular() {
    let trial = |run: &mut Run, number: usize| judged(run, if number < 6 { 100.0 } else { 900.0 });
    let runs = search(&asked(), &[None], None, &Server { peak: &|_| 1000, trial: &trial });
    let found = found(&asked(), &runs);
    assert!(found.limit.arms[0].is_irregular(), "{:?}", found.limit.arms[0].state);
    assert_eq!(found.outcome(&asked()), [SearchOutcome::Undecided]);
}

/// Regression: clients did four times the limit, and no output explained it.
#[test]
fn a_peak_far_above_the_limit_is_explained_or_doubted() {
    // For a limit of 250/s: the time of all transactions at full speed, ms, and the promise for 99 % of
    // them.
    for (took_ms, within_ms, wanted) in [(30, 20, "broken"), (7, 8, "bursts"), (1, 20, "unknown")] {
        let within_us = within_ms * 1000;
        let term = spec::Term { within_us, share: 0.01, script: None, written: "p99".into() };
        let asked = AskedLimit { promise: vec![term], ..asked() };
        let mut runs =
            search(&asked, &[None], None, &Server { peak: &|_| 1000, trial: &|run, _| judged(run, 250.0) });
        let peak = runs.iter_mut().find(|run| run.offered_rate.is_none()).unwrap();
        took(peak, took_ms);
        let found = found(&asked, &runs);
        let far = found.far_peak(&asked).expect("it is four times as fast");
        let why = match &far.why {
            WhyFar::BrokenThere { .. } => "broken",
            WhyFar::Bursts => "bursts",
            WhyFar::Unknown => "unknown",
        };
        assert!(why == wanted && (3.8..4.2).contains(&far.times), "{far:?}");
        let outcome = if why == "unknown" { SearchOutcome::Undecided } else { SearchOutcome::Found };
        assert_eq!(found.outcome(&asked), [outcome], "{far:?}");
    }
    let near =
        search(&asked(), &[None], None, &Server { peak: &|_| 1000, trial: &|run, _| judged(run, 700.0) });
    assert_eq!(found(&asked(), &near).far_peak(&asked()), None);
}

fn with_failed(run: &mut Run, failed: u64) {
    let counts = [(figures::DUE, 60), (figures::OK, 60 - failed), (figures::FAILED, failed)];
    run.counts = counts.into();
    run.scripts = vec![spec::ScriptRecord {
        name: "one.sql".into(),
        text_hash: String::new(),
        weight: 1,
        part: None,
        counts: run.counts.clone(),
        response: stats::Histogram::new(),
        service: stats::Histogram::new(),
    }];
    run.measured_s = 60.0 / run.offered_rate.unwrap_or(60.0);
}

/// Regression: "It never holds" rested on trials of one or two arrivals of the promised script.
#[test]
fn a_limit_that_a_single_late_arrival_decides_is_undecided() {
    let asked = AskedLimit { highest: Some(900.0), ..asked() };
    for (failed, one_decides) in [(1, true), (60, false)] {
        let trial = |run: &mut Run, _: usize| {
            with_failed(run, failed);
            judged(run, 0.0);
        };
        let runs = search(&asked, &[None], None, &Server { peak: &|_| 1000, trial: &trial });
        let all: Vec<&Run> = runs.iter().collect();
        let limit = CellLimit::of(&asked, &[None], (8, None), &all);
        assert_eq!(limit.arms[0].one_decides(&asked), one_decides, "{failed} of 60 failed");
        let outcome = if one_decides { SearchOutcome::Undecided } else { SearchOutcome::Never };
        assert_eq!(FoundLimit { cell: Cell::of(all[0]), limit }.outcome(&asked), [outcome]);
    }
}

/// Regression: compilers took the CPUs, and the reported cause was "a processor that was throttled or taken
/// away".
#[test]
fn what_took_the_cpus_of_broken_trials_is_named_as_what_it_was() {
    let doubt = |reason| Doubt { reason, detail: String::new() };
    let cases = [
        (vec![Reason::Steal], Cause::Host),
        (vec![Reason::OtherPrograms], Cause::OtherPrograms),
        (vec![Reason::Steal, Reason::OtherPrograms], Cause::Host),
        (vec![], Cause::Errors),
    ];
    for (reasons, wanted) in cases {
        let trials: Vec<Run> = (1..=3)
            .map(|round| {
                let mut trial = run(Some(500.0), 8, round, &None);
                with_failed(&mut trial, 60);
                judged(&mut trial, 0.0);
                trial.doubts = reasons.iter().copied().map(doubt).collect();
                trial
            })
            .collect();
        let arm = ArmLimit {
            arm: None,
            state: LimitState::GivenUp,
            trials: trials.iter().collect(),
            uncounted: 0,
            stalled: Vec::new(),
            confirmed: Vec::new(),
        };
        assert_eq!(Broke::at(&asked(), &arm, 500.0).unwrap().cause, wanted, "{reasons:?}");
    }
}

/// A server of users: a trial keeps the promise up to this many.
fn users(asked: &AskedLimit, limit: f64, most: Option<u32>) -> (Vec<Run>, CellLimitAgain) {
    let arms = [None];
    let mut runs: Vec<Run> = Vec::new();
    loop {
        assert!(runs.len() < 200, "it does not end");
        let all: Vec<&Run> = runs.iter().collect();
        let LimitNext::Trial { rate, round, .. } = CellLimit::of(asked, &arms, (7, most), &all).next else {
            break;
        };
        assert!(rate.fract() == 0.0 && rate >= 1.0, "{rate} users");
        let mut trial = run(None, rate as u32, round, &None);
        trial.load = OfferedLoad::Users;
        trial.figures.set(figures::PROMISE_KEPT, f64::from(u8::from(rate <= limit)));
        runs.push(trial);
    }
    let all: Vec<&Run> = runs.iter().collect();
    let state = CellLimit::of(asked, &arms, (1, most), &all).arms[0].state;
    let LimitState::Ended(ended) = state else { panic!("{state:?}") };
    let found = (ended.lower, ended.upper);
    (runs, found)
}

type CellLimitAgain = (Option<f64>, Option<f64>);

#[test]
fn a_number_of_users_is_found_to_the_user_or_to_the_width() {
    for (first, limit) in [(10, 7.0), (10, 1.0), (10, 23.0), (1, 137.0), (30, 2_750.0), (500, 12.0)] {
        let asked = AskedLimit { users: Some(first), ..asked() };
        let (runs, (lower, upper)) = users(&asked, limit, None);
        let (lower, upper) = (lower.unwrap(), upper.unwrap());
        assert!(lower <= limit && limit < upper, "{limit}: {lower} to {upper}");
        assert!(upper - lower <= 1.0 || 1.0 - lower / upper <= 0.03, "{limit}: {lower} to {upper}");
        assert!(runs.len() <= 60, "{} trials for {limit}", runs.len());
    }
}

/// Regression: the page said that numbers are doubled from the first one on, and 10, 15, 22 and 32 were tried.
#[test]
fn numbers_of_users_rise_as_the_page_says() {
    let rises = |first: u32, limit: f64| {
        let asked = AskedLimit { users: Some(first), ..asked() };
        let mut rises: Vec<u32> = Vec::new();
        for run in users(&asked, limit, None).0 {
            if rises.last().is_none_or(|last| run.clients > *last) && f64::from(run.clients) <= limit {
                rises.push(run.clients);
            }
        }
        rises
    };
    // The example of docs/explanation/limits.md: the usual first number is 8.
    assert_eq!(rises(8, 5000.0)[..6], [10, 15, 22, 32, 43, 52]);
    for (first, limit) in [(8, 5000.0), (10, 900.0), (100, 100.0), (60, 3000.0)] {
        let rises = rises(first, limit);
        let near = f64::from(rises[0]) / f64::from(first);
        assert!((0.75..=1.25).contains(&near), "{first}: {rises:?}");
        let mut steps: Vec<f64> =
            rises.windows(2).map(|pair| f64::from(pair[1]) / f64::from(pair[0])).collect();
        steps.sort_by(f64::total_cmp);
        assert!(steps[steps.len() / 2] < 1.5 && steps[steps.len() - 1] <= 2.0, "{first}: {rises:?}");
    }
}

#[test]
fn a_search_for_users_ends_at_what_the_server_accepts() {
    let asked = AskedLimit { users: Some(10), ..asked() };
    let (runs, found) = users(&asked, f64::INFINITY, Some(97));
    assert!(runs.iter().all(|run| run.clients <= 97));
    assert!(matches!(found, (Some(lower), None) if lower > 90.0), "{found:?}");
    let (_, found) = users(&asked, 0.0, Some(97));
    assert_eq!(found, (None, Some(1.0)));
    let asked = AskedLimit { lowest: Some(20.0), highest: Some(40.0), ..asked };
    assert_eq!(users(&asked, f64::INFINITY, None).1, (Some(40.0), None));
}
