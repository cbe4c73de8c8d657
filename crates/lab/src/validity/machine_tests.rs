//! Simulated runs for every rule.

use stats::credits::Bucket;

use super::super::{judge, tests};
use super::*;

fn probe(ms: f64) -> Option<Probe> {
    Some(Probe { least_ms: ms, mean_ms: ms * 1.02 })
}

fn found(rates: &[u64], machine: Machine) -> Vec<(Reason, String)> {
    found_of(rates, machine, None)
}

/// The same for a workload that changes its data, with the trend of its seconds.
fn found_of(rates: &[u64], machine: Machine, trend: Option<Trend>) -> Vec<(Reason, String)> {
    let measured = tests::measured(tests::good());
    let series = tests::series(rates);
    let evidence = Evidence { machine, trend, ..tests::evidence(&measured, &series) };
    judge(&evidence).1.into_iter().map(|doubt| (doubt.reason, doubt.detail)).collect()
}

fn reasons(rates: &[u64], machine: Machine) -> Vec<Reason> {
    found(rates, machine).into_iter().map(|(reason, _)| reason).collect()
}

/// `(transactions per second, seconds)` in order, with a little constant noise.
fn rates(stretches: &[(u64, usize)]) -> Vec<u64> {
    let all = stretches.iter().flat_map(|(rate, seconds)| std::iter::repeat_n(*rate, *seconds));
    all.enumerate().map(|(k, rate)| rate * (990 + (k as u64 * 7919) % 21) / 1000).collect()
}

/// A run and a machine, and the expected findings.
struct Case {
    what: &'static str,
    rates: Vec<u64>,
    machine: Machine,
    wanted: &'static [Reason],
}

#[test]
fn each_rule_by_itself_and_together() {
    use Reason::{Steal, Throttled, Unsteady};
    let usual = Probes { usual: probe(4.0), before: probe(4.0), after: probe(4.1) };
    let calm = Machine { steal_pct: Some(0.5), probes: usual, ..Machine::default() };
    let stolen = Machine { steal_pct: Some(12.0), ..calm };
    let waited = Machine { waited_pct: Some(40.0), ..calm };
    let slow_after = Machine { probes: Probes { after: probe(4.4), ..usual }, ..calm };
    let slow_before = Machine { probes: Probes { before: probe(4.4), ..usual }, ..calm };
    let held_up = Some(Probe { least_ms: 4.0, mean_ms: 6.0 });
    let held_up = Machine { probes: Probes { after: held_up, ..usual }, ..calm };
    let floor = Machine { probes: Probes { after: probe(40.0), ..usual }, ..calm };
    let steady = || rates(&[(1000, 12)]);
    let half = || rates(&[(1000, 6), (500, 6)]);
    let fifth = || rates(&[(1000, 6), (800, 6)]);
    let cases = [
        Case { what: "nothing", rates: steady(), machine: calm, wanted: &[] },
        Case { what: "nothing known", rates: steady(), machine: Machine::default(), wanted: &[] },
        Case { what: "steal alone", rates: steady(), machine: stolen, wanted: &[Steal] },
        Case { what: "a quota that was always there", rates: steady(), machine: waited, wanted: &[] },
        Case { what: "a slow probe alone", rates: steady(), machine: slow_after, wanted: &[] },
        Case { what: "a very slow one", rates: steady(), machine: floor, wanted: &[Throttled] },
        Case { what: "the same in a short run", rates: vec![9; 3], machine: floor, wanted: &[Throttled] },
        Case { what: "a step alone", rates: half(), machine: calm, wanted: &[Unsteady] },
        Case {
            what: "a step, nothing known",
            rates: half(),
            machine: Machine::default(),
            wanted: &[Unsteady],
        },
        Case { what: "a step and steal", rates: half(), machine: stolen, wanted: &[Steal, Throttled] },
        Case { what: "a step and a quota", rates: half(), machine: waited, wanted: &[Throttled] },
        Case { what: "a step, slow after", rates: fifth(), machine: slow_after, wanted: &[Throttled] },
        Case { what: "a step, slow before", rates: fifth(), machine: slow_before, wanted: &[Throttled] },
        Case { what: "a step, held up after", rates: half(), machine: held_up, wanted: &[Throttled] },
        Case { what: "up", rates: rates(&[(500, 6), (1000, 6)]), machine: waited, wanted: &[Unsteady] },
        Case {
            what: "a dip",
            rates: rates(&[(1000, 5), (0, 3), (1000, 6)]),
            machine: calm,
            wanted: &[Unsteady],
        },
        Case {
            what: "a small step alone",
            rates: rates(&[(1000, 15), (920, 15)]),
            machine: calm,
            wanted: &[],
        },
        Case {
            what: "a small step with a cause",
            rates: rates(&[(1000, 15), (920, 15)]),
            machine: waited,
            wanted: &[Throttled],
        },
        Case {
            what: "too short for steps",
            rates: rates(&[(1000, 4), (500, 4)]),
            machine: calm,
            wanted: &[],
        },
    ];
    for Case { what, rates, machine, wanted } in cases {
        assert_eq!(reasons(&rates, machine), wanted, "{what}");
    }
}

/// A fall of 68 % was attributed to a steal of 3.5 %.
#[test]
fn a_cause_that_cannot_explain_the_effect_is_not_named() {
    use Reason::{Steal, Throttled, Unsteady};
    let usual = Probes { usual: probe(4.0), before: probe(4.0), after: probe(4.1) };
    let calm = Machine { probes: usual, ..Machine::default() };
    let stolen = |steal_pct, busy_pct| Machine { steal_pct: Some(steal_pct), busy_pct, ..calm };
    let waited = |waited_pct| Machine { waited_pct: Some(waited_pct), ..calm };
    let slow = |ms| Machine { probes: Probes { after: probe(ms), ..usual }, ..calm };
    let fall = |to| rates(&[(1000, 6), (to, 6)]);
    let cases = [
        ("steal of 3.5 %, -68 %", fall(320), stolen(3.5, None), vec![Unsteady]),
        (
            "the same of CPUs that were mostly idle",
            fall(320),
            stolen(3.5, Some(14.0)),
            vec![Steal, Throttled],
        ),
        ("steal of 3.5 %, -15 %", fall(850), stolen(3.5, None), vec![Steal, Throttled]),
        ("steal of 3.5 %, nothing falls", fall(1000), stolen(3.5, None), vec![Steal]),
        ("3 % of the periods, -68 %", fall(320), waited(3.0), vec![Unsteady]),
        ("20 % of the periods, -68 %", fall(320), waited(20.0), vec![Throttled]),
        ("a probe 8 % slower, -68 %", fall(320), slow(4.32), vec![Unsteady]),
        ("a probe 60 % slower, -68 %", fall(320), slow(6.4), vec![Throttled]),
    ];
    for (what, rates, machine, wanted) in cases {
        assert_eq!(reasons(&rates, machine), wanted, "{what}");
    }
    let halves = Some(Trend { change: -0.5, is_sure: true });
    let even = |change: f64| -> Vec<u64> {
        (0..12).map(|k| (1000.0 * (1.0 + change * f64::from(k) / 11.0)) as u64).collect()
    };
    let told = found_of(&even(-0.5), stolen(3.5, None), halves);
    let wanted = "speed halves within the run: the figure depends on how long it is measured; reset the table between runs";
    assert_eq!(told, [(Reason::Trend, wanted.to_owned())]);
    let named = found_of(&even(-0.5), stolen(30.0, None), halves);
    assert_eq!(named.iter().map(|(reason, _)| *reason).collect::<Vec<_>>(), [Steal, Throttled]);
}

/// Compilers ran during a run, and it was valid.
#[test]
fn other_programs_that_use_a_fifth_of_the_cpus_are_named() {
    let others = |pct| Machine { others_pct: Some(pct), ..Machine::default() };
    assert_eq!(
        found(&rates(&[(1000, 5)]), others(59.7)),
        [(Reason::OtherPrograms, "other programs used 60 % of the CPUs".to_owned())]
    );
    assert_eq!(reasons(&rates(&[(1000, 5)]), others(20.0)), [Reason::OtherPrograms]);
    assert_eq!(reasons(&rates(&[(1000, 5)]), others(19.9)), []);
    let [_, of_job, _] = of_job(&others(20.0));
    assert!(of_job.is_some());
}

#[test]
fn details_say_the_figures() {
    let machine = Machine {
        steal_pct: Some(12.0),
        waited_pct: Some(40.0),
        probes: Probes { usual: probe(4.0), before: probe(4.0), after: probe(9.0) },
        ..Machine::default()
    };
    let flat = |stretches: &[(u64, usize)]| -> Vec<u64> {
        stretches.iter().flat_map(|(rate, seconds)| std::iter::repeat_n(*rate, *seconds)).collect()
    };
    let details: Vec<String> =
        found(&flat(&[(1200, 6), (600, 6)]), machine).into_iter().map(|(_, detail)| detail).collect();
    assert_eq!(
        details,
        [
            "the hypervisor took 12.0 % of the CPU time",
            "transactions per second went from 1200 to 600 (-50 %) after 6 s; the hypervisor took 12.0 % of the CPU time; \
             the server had to wait in 40 % of the periods of its CPU quota; \
             the idle probe took 9.2 ms in the mean after the run, usually 4.1 ms",
        ]
    );
    let dip = found(&flat(&[(1200, 5), (0, 3), (1180, 6)]), Machine::default());
    assert_eq!(
        dip[0].1,
        "transactions per second went from 1200 to 0.0 (-100 %) after 5 s, to 1180 after 8 s"
    );
}

/// A slow probe in one arm's settings is usual there.
#[test]
fn a_run_is_held_to_what_is_usual_on_its_server() {
    let slow = Probes { usual: probe(40.0), before: probe(40.0), after: probe(40.0) };
    assert_eq!(reasons(&rates(&[(1000, 12)]), Machine { probes: slow, ..Machine::default() }), []);
    // The first one has no history.
    let first = Probes { usual: None, before: probe(4.0), after: probe(40.0) };
    let named = reasons(&rates(&[(1000, 12)]), Machine { probes: first, ..Machine::default() });
    assert_eq!(named, [Reason::Throttled]);
}

/// A t2.micro guest's view when its credits end in the run, early or late: all such runs are named, and none
/// while credits last.
#[test]
fn credits_that_end_in_a_run_are_named() {
    let seen = |balance: f64, seconds: usize| {
        let mut bucket = Bucket::t2_micro(balance);
        let had: Vec<f64> = (0..seconds).map(|_| bucket.pass(1.0, 1.0)).collect();
        // The probe needs a tenth of a second of CPU, directly after.
        let after_ms = 4.0 / bucket.pass(0.1, 1.0);
        let stolen = 100.0 * had.iter().map(|share| 1.0 - share).sum::<f64>() / seconds as f64;
        let rates: Vec<u64> = rates(&[(1000, seconds)])
            .into_iter()
            .zip(&had)
            .map(|(rate, had)| (rate as f64 * had) as u64)
            .collect();
        (rates, stolen, Probes { usual: None, before: probe(4.0), after: probe(after_ms) })
    };
    for ends in 3..=27 {
        let (rates, stolen, probes) = seen(0.9 * f64::from(ends) / 60.0, 30);
        // Whether or not the guest sees the steal.
        for steal_pct in [None, Some(stolen)] {
            let named = reasons(&rates, Machine { steal_pct, probes, ..Machine::default() });
            assert!(named.contains(&Reason::Throttled), "after {ends} s: {named:?}");
        }
        // With only steps, SQL, and a probe that came too late.
        let late = Probes { after: probe(4.0), ..probes };
        let named = reasons(&rates, Machine { probes: late, ..Machine::default() });
        // A level lasts at least a quarter of the run.
        let wanted = if (8..=22).contains(&ends) { vec![Reason::Unsteady] } else { vec![] };
        assert!(wanted.is_empty() || named == wanted, "after {ends} s: {named:?}");
    }
    let (rates, stolen, probes) = seen(10.0, 30);
    assert_eq!(
        (stolen, reasons(&rates, Machine { steal_pct: Some(stolen), probes, ..Machine::default() })),
        (0.0, vec![])
    );
}

/// A cold run warms up: its levels differ. It can be throttled nevertheless.
#[test]
fn steps_of_a_cold_run_are_its_own() {
    let measured = tests::measured(tests::good());
    let series = tests::series(&rates(&[(1000, 6), (100, 6)]));
    let after = |ms| Machine {
        probes: Probes { usual: probe(4.0), before: probe(4.0), after: probe(ms) },
        ..Machine::default()
    };
    for (ms, wanted) in [(4.0, vec![]), (40.0, vec![Reason::Throttled])] {
        let evidence =
            Evidence { cold_pct: Some(0.0), machine: after(ms), ..tests::evidence(&measured, &series) };
        let named: Vec<Reason> = judge(&evidence).1.into_iter().map(|doubt| doubt.reason).collect();
        assert_eq!(named, wanted, "{ms} ms");
    }
}

/// Runs of thousands of seconds keep their series in steps of several.
#[test]
fn a_long_run_is_judged_by_its_steps() {
    let series: Vec<SeriesPoint> = rates(&[(10_000, 300), (6_000, 300)])
        .into_iter()
        .enumerate()
        .map(|(k, ok)| SeriesPoint {
            start_us: k as i64 * 6_000_000,
            length_us: 6_000_000,
            ..tests::point(k, ok)
        })
        .collect();
    let steps = Steps::of(&series, None);
    assert!((steps.lasting_drop().unwrap() - 0.4).abs() < 0.01, "{steps:?}");
    assert!(steps.words().contains("after 1800 s"), "{}", steps.words());
}

/// On a busy host a server that stood still for four seconds was called "other programs", and nothing else.
#[test]
fn a_standstill_is_named_in_a_restless_run() {
    let restless = [729, 688, 658, 327, 0, 0, 0, 0, 538, 788, 529, 702];
    let busy = Machine { others_pct: Some(94.0), ..Machine::default() };
    let found = found(&restless, busy);
    let still = found.iter().find(|(reason, _)| *reason == Reason::Unsteady);
    let words = "transactions per second went from 620 to 0 for 4 s after 4 s";
    assert_eq!(still.map(|(_, words)| words.as_str()), Some(words), "{found:?}");
    // Transactions that take seconds, and a pause of one second.
    for usual in
        [[4, 0, 0, 5, 0, 0, 6, 0, 0, 5, 0, 0], [729, 0, 658, 327, 400, 0, 700, 390, 538, 788, 529, 702]]
    {
        let found = reasons(&usual, busy);
        assert!(!found.contains(&Reason::Unsteady), "{found:?}");
    }
}
