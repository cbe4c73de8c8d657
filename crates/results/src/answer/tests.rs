use spec::{Doubt, OfferedLoad, Reason, Run, Validity};
use stats::{Better, TooFew, Verdict};

use super::*;
use crate::data::level_name;
use crate::fixture::{experiment, run};

/// Eight rounds of a workload with these clients: B against A at this log ratio, which scatters by `noise`
/// from round to round.
fn rounds(workload: &str, clients: &[u32], log_ratio: f64, noise: f64) -> Vec<Run> {
    const SCATTER: [f64; 8] = [0.9, -1.2, 0.4, 1.3, -0.7, -0.3, 1.0, -1.4];
    let mut runs = Vec::new();
    for (at, scatter) in SCATTER.iter().enumerate() {
        for clients in clients {
            let round = at as u32 + 1;
            let base = 20_000.0;
            runs.push(run(workload, *clients, Some("A"), round, base));
            runs.push(run(workload, *clients, Some("B"), round, base * (log_ratio + noise * scatter).exp()));
        }
    }
    runs
}

fn answered(arms: &[&str], runs: &[Run], metric: Metric) -> (Comparison, Verdicts) {
    let experiment = experiment(arms);
    let compared = Comparison::of(&experiment, runs, metric).unwrap();
    let answer = Verdicts::of(&compared, &experiment, runs);
    (compared, answer)
}

/// Regression: a workload was "slower -4.1 % [-7.1, -1.0]" and its only cell "inconclusive": cells were
/// adjusted for each other, and workloads were not.
#[test]
fn a_workload_of_one_cell_has_the_verdict_of_its_cell() {
    for noise in 1..40 {
        let noise = f64::from(noise) / 500.0;
        let runs = [rounds("one", &[4], -0.042, noise), rounds("many", &[1, 2, 8], 0.01, noise)].concat();
        let (compared, _) = answered(&["A", "B"], &runs, Metric::Tps);
        let arm = &compared.arms[0];
        let cell = arm.cells.iter().find(|cell| cell.cell.workload == "one").unwrap();
        let workload = arm.workloads["one"];
        assert_eq!(
            (workload.verdict, Some(workload.grid.estimate)),
            (cell.verdict, cell.estimate),
            "{noise}"
        );
        let alone: Vec<Run> = runs.into_iter().filter(|run| run.workload == "one").collect();
        let (compared, answer) = answered(&["A", "B"], &alone, Metric::Tps);
        let arm = &compared.arms[0];
        let all = [arm.cells[0].verdict, arm.workloads["one"].verdict, arm.grid.unwrap().verdict];
        assert_eq!(all, [answer.lines[0].verdict; 3], "{noise}");
    }
}

#[test]
fn no_verdict_contradicts_the_interval_beside_it() {
    for (at, log_ratio) in [0.0, 0.004, -0.02, 0.05, -0.08].into_iter().enumerate() {
        for noise in [0.002, 0.01, 0.03, 0.1] {
            let names = ["a", "b", "c", "d", "e"];
            let runs: Vec<Run> =
                names[..=at].iter().flat_map(|name| rounds(name, &[1, 8], log_ratio, noise)).collect();
            let (compared, answer) = answered(&["A", "B"], &runs, Metric::Tps);
            let cells = compared.arms[0].cells.iter().map(|cell| (cell.estimate.unwrap(), cell.verdict));
            let lines = answer.lines.iter().map(|line| (line.estimate.unwrap(), line.verdict));
            for (estimate, verdict) in cells.chain(lines) {
                assert_eq!(verdict, stats::verdict(&estimate, 0.03, Better::Larger));
                let (low, high) = estimate.interval_pct().unwrap();
                match verdict {
                    Verdict::Same => assert!(low > -3.0 && high < 3.0),
                    Verdict::Faster => assert!(low > 0.0),
                    Verdict::Slower => assert!(high < 0.0),
                    _ => assert!(low <= 0.0 && high >= 0.0),
                }
            }
        }
    }
}

/// Regression: "faster, 17 times" for a search 300 times faster and an undecided checkout.
#[test]
fn workloads_that_differ_have_a_line_each_and_their_mean_has_no_verdict() {
    let runs = [rounds("search", &[4], 300f64.ln(), 0.02), rounds("checkout", &[4], 0.0, 0.1)].concat();
    let mut experiment = experiment(&["A", "B"]);
    experiment.arms[1].settings.insert("work_mem".into(), "64MB".into());
    let compared = Comparison::of(&experiment, &runs, Metric::Tps).unwrap();
    let answer = Verdicts::of(&compared, &experiment, &runs);
    let lines: Vec<_> =
        answer.lines.iter().map(|line| (line.scope.clone(), line.verdict.is_decided())).collect();
    let wanted =
        [("checkout", false), ("search", true)].map(|(name, is)| (LineScope::Workload(name.into()), is));
    assert_eq!(lines, wanted);
    assert_eq!(answer.lines[0].values, "work_mem 4MB → 64MB");
    assert_eq!(answer.judgement, Judgement::Undecided);
    assert_eq!(compared.arms[0].grid.unwrap().verdict, Verdict::PartsDiffer);
}

/// Regression: "same within 3 %" for +3.1, -8.6, -0.8 and 0.0 %.
#[test]
fn a_slower_workload_does_not_vanish_in_a_mean_that_is_the_same() {
    let changes = [("a", 0.031), ("b", -0.089), ("c", -0.008), ("d", 0.0)];
    let runs: Vec<Run> =
        changes.iter().flat_map(|(name, change)| rounds(name, &[4], *change, 0.008)).collect();
    let (_, answer) = answered(&["A", "B"], &runs, Metric::Tps);
    assert_eq!(answer.lines.len(), 4);
    assert_eq!(answer.judgement, Judgement::Worse);
    // The same for the cells of a workload.
    let levels = [(1, 0.031), (2, -0.089), (4, -0.008), (8, 0.0)];
    let runs: Vec<Run> =
        levels.iter().flat_map(|(clients, change)| rounds("a", &[*clients], *change, 0.008)).collect();
    let (compared, answer) = answered(&["A", "B"], &runs, Metric::Tps);
    assert_eq!((answer.lines.len(), answer.judgement), (4, Judgement::Worse));
    assert!(answer.lines.iter().all(|line| matches!(line.scope, LineScope::Cell(_))));
    assert_eq!(compared.arms[0].workloads["a"].verdict, Verdict::PartsDiffer);
}

#[test]
fn workloads_that_are_alike_have_one_line() {
    let runs = [rounds("a", &[1, 8], 0.1, 0.02), rounds("b", &[1, 8], 0.1, 0.02)].concat();
    let (_, answer) = answered(&["A", "B"], &runs, Metric::Tps);
    let lines: Vec<_> = answer.lines.iter().map(|line| (&line.scope, line.verdict)).collect();
    assert_eq!(lines, [(&LineScope::Whole, Verdict::Faster)]);
    assert_eq!(answer.judgement, Judgement::Better);
}

#[test]
fn arms_are_lines_of_one_kind() {
    let mut runs = rounds("a", &[4], 0.02, 0.02);
    let (_, alone) = answered(&["A", "B"], &runs, Metric::Tps);
    for arm in ["C", "D", "E"] {
        let others = rounds("a", &[4], 0.0, 0.02).into_iter().filter(|run| run.arm.as_deref() == Some("B"));
        runs.extend(others.map(|run| Run { arm: Some(arm.into()), ..run }));
    }
    let (_, among) = answered(&["A", "B", "C", "D", "E"], &runs, Metric::Tps);
    let width = |answer: &Verdicts| {
        let (low, high) = answer.lines[0].estimate.unwrap().interval_pct().unwrap();
        high - low
    };
    assert_eq!(among.lines[0].estimate.unwrap().lines, 4);
    assert!(width(&among) > 1.2 * width(&alone), "{} {}", width(&among), width(&alone));
}

/// Regression: 15 of 24 runs were suspect, throughput fell from 15,867 to 4,666 tps, and the answer was a
/// plain "same".
#[test]
fn a_third_of_suspect_runs_stands_in_the_line_of_the_answer() {
    let mut runs = rounds("a", &[4], 0.0, 0.001);
    let (_, answer) = answered(&["A", "B"], &runs, Metric::Tps);
    assert_eq!(answer.lines[0].suspect, None);
    for (at, run) in runs.iter_mut().take(6).enumerate() {
        run.validity = Validity::Suspect;
        let reason = if at < 2 { Reason::Steal } else { Reason::Unsteady };
        run.doubts.push(Doubt { reason, detail: String::new() });
    }
    let (_, answer) = answered(&["A", "B"], &runs, Metric::Tps);
    let suspect = answer.lines[0].suspect.unwrap();
    assert_eq!(suspect.words(), "6 of 16 runs are suspect, mostly unsteady (4)");
    runs[5].validity = Validity::Valid;
    let (_, answer) = answered(&["A", "B"], &runs, Metric::Tps);
    assert_eq!(answer.lines[0].suspect, None, "five of sixteen are less than a third");
}

/// Regression: `--metric p99` reported "slower" for runs of one to three transactions.
#[test]
fn a_percentile_of_few_transactions_has_no_verdict() {
    let mut runs = rounds("a", &[4], 0.0, 0.01);
    for (at, run) in runs.iter_mut().enumerate() {
        let mut few = stats::Histogram::new();
        (0..1 + at as u64 % 3).for_each(|value| few.record(1_000_000 * (value + 1 + at as u64 % 2)));
        run.scripts[0].response = few;
    }
    for (metric, needed) in [(Metric::P50, 20), (Metric::P95, 200), (Metric::P99, 1000)] {
        let (compared, answer) = answered(&["A", "B"], &runs, metric);
        let Verdict::TooFew(few) = answer.lines[0].verdict else { panic!("{:?}", answer.lines[0].verdict) };
        assert_eq!((few.count, few.needed), (1, needed));
        assert_eq!((answer.judgement, answer.lines[0].estimate.is_none()), (Judgement::Undecided, true));
        assert_eq!(compared.arms[0].tally().too_few, 1);
    }
    // One such run is enough: without it the slow rounds would be left out.
    let mut runs = rounds("a", &[4], 0.0, 0.01);
    let mut few = stats::Histogram::new();
    (0..999).for_each(|value| few.record(1000 + value));
    runs[3].scripts[0].response = few;
    let (_, answer) = answered(&["A", "B"], &runs, Metric::P99);
    assert!(matches!(answer.lines[0].verdict, Verdict::TooFew(TooFew { count: 999, .. })));
}

#[test]
fn offered_rates_are_undecided_and_not_invalid() {
    let mut runs = rounds("a", &[4], 0.1, 0.01);
    runs.iter_mut().for_each(|run| run.load = OfferedLoad::Rate);
    let (_, answer) = answered(&["A", "B"], &runs, Metric::Tps);
    assert_eq!(answer.judgement, Judgement::Undecided);
    // Without a single valid pair there is no statement, however the load was offered.
    for load in [OfferedLoad::Rate, OfferedLoad::Closed] {
        let invalid = runs.iter().map(|run| Run { validity: Validity::Invalid, load, ..run.clone() });
        let (_, answer) = answered(&["A", "B"], &invalid.collect::<Vec<_>>(), Metric::Tps);
        assert_eq!(answer.judgement, Judgement::Invalid, "{load:?}");
    }
}

#[test]
fn levels_that_are_numbers_have_their_factor() {
    let mut experiment = experiment(&["4", "8"]);
    experiment.compare_factor = Some("clients".into());
    assert_eq!(values::values(&experiment, &[], "4", "8"), "clients 4 → 8");
    assert_eq!(values::values(&experiment, &[], "old.sql", "new.sql"), "old.sql → new.sql");
}

/// A run that mixes two scripts, one of 5 ms and one of 50 ms, times these factors.
fn mixed(arm: &str, round: u32, tps: f64, times: [f64; 2]) -> Run {
    let mut mixed = run("mix", 4, Some(arm), round, tps);
    let of_script = |(name, ms): (&str, f64)| {
        let mut script = mixed.scripts[0].clone();
        script.name = name.into();
        script.service.clear();
        (0..200).for_each(|_| script.service.record((ms * 1e6) as u64));
        script
    };
    mixed.scripts = [("search.sql", 50.0 * times[0]), ("checkout.sql", 5.0 * times[1])].map(of_script).into();
    mixed
}

/// Eight rounds of them, B against A: its throughput, and the time of each script.
fn mixes(tps: f64, times: [f64; 2]) -> Vec<Run> {
    let of_round = |round: u32| {
        let noise = 1.0 + 0.004 * f64::from(round % 3);
        [
            mixed("A", round, 4000.0, [1.0, 1.0]),
            mixed("B", round, 4000.0 * tps * noise, times.map(|of| of * noise)),
        ]
    };
    (1..=8).flat_map(of_round).collect()
}

/// Regression: "faster" was the whole answer for a mix of a much faster search and a slower checkout.
#[test]
fn scripts_of_one_mix_that_differ_have_a_line_each() {
    let (compared, answer) = answered(&["A", "B"], &mixes(2.0, [0.02, 1.2]), Metric::Tps);
    let arm = &compared.arms[0];
    let whole = [arm.cells[0].verdict, arm.workloads["mix"].verdict, arm.grid.unwrap().verdict];
    assert_eq!(whole, [Verdict::PartsDiffer; 3]);
    let script = |script: &str| LineScope::Script { workload: "mix".into(), script: script.into() };
    let lines: Vec<_> = answer.lines.iter().map(|line| (line.scope.clone(), line.verdict)).collect();
    let wanted = [(script("checkout.sql"), Verdict::Slower), (script("search.sql"), Verdict::Faster)];
    assert_eq!(lines, wanted);
    assert_eq!(answer.judgement, Judgement::Worse);
}

#[test]
fn scripts_of_one_mix_that_change_alike_are_one_line() {
    let (_, answer) = answered(&["A", "B"], &mixes(1.25, [0.8, 0.8]), Metric::Tps);
    let lines: Vec<_> = answer.lines.iter().map(|line| (&line.scope, line.verdict)).collect();
    assert_eq!(lines, [(&LineScope::Whole, Verdict::Faster)]);
}

/// A crash ended the experiment, and nothing named it.
#[test]
fn a_crash_is_named_with_its_rounds_and_signals() {
    let crash = |run: &mut Run, signal: &str| {
        run.validity = Validity::Invalid;
        run.doubts = vec![Doubt { reason: Reason::Crashed, detail: signal.into() }];
        let detail = format!("LOG:  ended by {signal}\nDETAIL:  SELECT 0");
        run.events.push(spec::RunEvent { time_us: 0, kind: spec::RunEvent::CRASH.into(), detail });
    };
    for (rounds_of, wanted) in [
        (&[(2, "signal 6")][..], "B crashed in round 2 (signal 6), and A did not"),
        (
            &[(2, "signal 11"), (5, "signal 6")][..],
            "B crashed in rounds 2 and 5 (signal 11, signal 6), and A did not",
        ),
        (
            &[(1, "signal 6"), (2, "signal 6"), (3, "signal 6")][..],
            "B crashed in rounds 1, 2 and 3 (signal 6), and A did not; its other runs were left out",
        ),
        // Nothing was left to leave out.
        (
            &[(1, "signal 6"), (4, "signal 6"), (8, "signal 6")][..],
            "B crashed in rounds 1, 4 and 8 (signal 6), and A did not",
        ),
    ] {
        let mut runs = rounds("w", &[4], 0.1, 0.01);
        for run in runs.iter_mut().filter(|run| run.arm.as_deref() == Some("B")) {
            if let Some((_, signal)) = rounds_of.iter().find(|(round, _)| *round == run.round) {
                crash(run, signal);
            }
        }
        let data =
            ReportData::new(experiment(&["A", "B"]), crate::fixture::host(), crate::fixture::target(), runs);
        let answer = Answer::of(&data);
        let [found] = &answer.crashes[..] else { panic!("{:?}", answer.crashes) };
        assert_eq!(found.words(), wanted);
        assert_eq!(found.lines, [format!("LOG:  ended by {}", rounds_of[0].1), "DETAIL:  SELECT 0".into()]);
        assert_eq!(answer.judgement, Judgement::Worse, "whatever its speed");
        let mut runs = data.runs;
        crash(&mut runs[0], "signal 9");
        let both = Answer::of(&ReportData::new(data.experiment, data.host, data.target, runs));
        assert_eq!(both.crashes.len(), 2);
        assert!(both.crashes.iter().all(|crashed| crashed.worse_than.is_none()), "the base crashed, too");
        assert_eq!(both.judgement, Judgement::Better);
    }
}

/// Changes of a grid of clients and modes, by the two levels.
fn grid(of: impl Fn(u32, &str) -> f64, noise: f64) -> Vec<Run> {
    let mut runs = Vec::new();
    for clients in [4, 16, 64] {
        for mode in ["simple", "prepared"] {
            let own = rounds("a", &[clients], of(clients, mode), noise).into_iter();
            runs.extend(own.map(|mut run| {
                run.factors.insert("mode".into(), mode.into());
                run
            }));
        }
    }
    runs
}

/// The factor, and each level with its change.
type NamedLevels = (Option<String>, Vec<String>);

fn levels_of(runs: &[Run]) -> (VerdictLine, Option<NamedLevels>) {
    let (_, answer) = answered(&["A", "B"], runs, Metric::Tps);
    let [line] = &answer.lines[..] else { panic!("{:?}", answer.lines) };
    let levels = line.levels.as_ref().map(|by| {
        let named = |level| format!("{} {:.0}", level_name(level), level.estimate.change_pct());
        (by.factor.clone(), by.levels.iter().map(named).collect())
    });
    (line.clone(), levels)
}

/// The example.
#[test]
fn cells_that_differ_are_told_by_the_factor_that_explains_most() {
    let by_clients = |clients: u32| {
        f64::from(match clients {
            4 => 117,
            16 => 137,
            _ => 125,
        }) / 100.0
    };
    let runs = [4, 16, 64].map(|clients| rounds("a", &[clients], by_clients(clients).ln(), 0.02)).concat();
    let wanted = |levels: &[&str]| levels.iter().map(|level| (*level).to_owned()).collect::<Vec<_>>();
    let (line, levels) = levels_of(&runs);
    let clients = Some("clients".to_owned());
    assert_eq!(
        (line.verdict, levels),
        (
            Verdict::Faster,
            Some((clients.clone(), wanted(&["4 clients 17", "16 clients 37", "64 clients 25"])))
        )
    );
    // The same interval as in the table of cells.
    let (compared, _) = answered(&["A", "B"], &runs, Metric::Tps);
    let by = line.levels.unwrap();
    for (level, cell) in by.levels.iter().zip(&compared.arms[0].cells) {
        assert_eq!((Some(level.estimate), level.verdict, level.cells), (cell.estimate, cell.verdict, 1));
    }
    // With modes that hardly matter, then with clients that do not matter at all.
    let little = |mode: &str| if mode == "simple" { 0.0 } else { 0.02 };
    let (_, levels) = levels_of(&grid(|clients, mode| by_clients(clients).ln() + little(mode), 0.02));
    assert_eq!(levels, Some((clients, wanted(&["4 clients 18", "16 clients 38", "64 clients 26"]))));
    let (line, levels) = levels_of(&grid(|_, mode| 0.1 + 5.0 * little(mode), 0.02));
    assert_eq!(levels, Some((Some("mode".to_owned()), wanted(&["mode prepared 22", "mode simple 11"]))));
    assert_eq!(line.levels.unwrap().levels[0].cells, 3);
    // Both together, and neither alone.
    let crossed = |clients: u32, mode: &str| if (clients == 16) == (mode == "simple") { 0.3 } else { 0.1 };
    let (_, levels) = levels_of(&grid(crossed, 0.02));
    let (factor, levels) = levels.unwrap();
    assert_eq!((factor, levels.len()), (None, 6), "{levels:?}");
    assert_eq!(levels[0], "mode prepared, 4 clients 35");
}

#[test]
fn cells_that_are_alike_keep_one_line() {
    let (line, levels) = levels_of(&grid(|_, _| 0.1, 0.02));
    assert_eq!((line.verdict, levels), (Verdict::Faster, None));
    let (_, levels) = levels_of(&rounds("a", &[4], 0.1, 0.02));
    assert_eq!(levels, None);
}

/// "faster" of a grid, where no cell was.
#[test]
fn a_grid_that_is_decided_says_where_none_of_its_cells_is() {
    // The cells scatter in turn, so that their mean scatters less than each.
    let mut runs = Vec::new();
    for (at, clients) in [1u32, 2, 4, 8].into_iter().enumerate() {
        let sign = if at % 2 == 0 { 0.06 } else { -0.055 };
        runs.extend(rounds("a", &[clients], 0.04, sign));
    }
    let (compared, answer) = answered(&["A", "B"], &runs, Metric::Tps);
    let arm = &compared.arms[0];
    assert!(
        arm.cells.iter().all(|cell| matches!(cell.verdict, Verdict::Inconclusive { .. })),
        "{:?}",
        arm.cells
    );
    let [line] = &answer.lines[..] else { panic!("{:?}", answer.lines) };
    assert_eq!((line.verdict, line.figure.unwrap().no_cell_decided), (Verdict::Faster, true));
    assert!(arm.workloads["a"].no_cell_decided);
    // With clearer cells it is not said; nor of a single one.
    for runs in
        [rounds("a", &[1, 8], 0.1, 0.02), rounds("a", &[1], 0.1, 0.02), rounds("a", &[1, 8], 0.0, 0.2)]
    {
        let (compared, _) = answered(&["A", "B"], &runs, Metric::Tps);
        assert!(!compared.arms[0].grid.unwrap().no_cell_decided);
    }
}
