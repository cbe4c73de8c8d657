use super::*;
use crate::fixture::{experiment, run};
use spec::{Doubt, OfferedLoad, OrderScheme, Reason, Slice, Validity, figures};

/// Eight ABBA rounds of two cells: B faster by `gain`, with a drift of 6 % over the experiment and some
/// noise.
fn rounds(gain: f64) -> Vec<Run> {
    let mut runs = Vec::new();
    for round in 1..=8u32 {
        for (clients, level) in [(1, 3000.0), (16, 20_000.0)] {
            for arm in ["A", "B"] {
                let drift = 1.0 + 0.06 * f64::from(round) / 8.0;
                let noise = 1.0
                    + 0.004 * f64::from((round * 7 + clients * 3 + u32::from(arm == "B") * 5) % 11) / 11.0;
                let factor = if arm == "B" { 1.0 + gain } else { 1.0 };
                runs.push(run("reads", clients, Some(arm), round, level * drift * noise * factor));
            }
        }
    }
    runs
}

#[test]
fn drift_does_not_hide_or_fake_a_change() {
    let faster = Comparison::of(&experiment(&["A", "B"]), &rounds(0.08), Metric::Tps).unwrap();
    let arm = &faster.arms[0];
    assert_eq!(arm.tally(), Tally { faster: 2, ..Tally::default() });
    let grid = arm.grid.unwrap();
    assert_eq!((grid.verdict, grid.grid.cells, grid.grid.estimate.n), (Verdict::Faster, 2, 8));
    let (low, high) = grid.grid.estimate.interval_pct().unwrap();
    assert!(low > 7.0 && high < 9.0 && low < 8.0 && high > 7.9, "{low} {high}");
    let same = Comparison::of(&experiment(&["A", "B"]), &rounds(0.0), Metric::Tps).unwrap();
    assert_eq!(same.arms[0].tally(), Tally { same: 2, ..Tally::default() });
    assert_eq!(same.rounds, 8);
}

/// A cell showed plain means of 110 and 110 per second next to a change of -39 %.
#[test]
fn the_change_of_a_cell_is_the_ratio_of_its_compared_means() {
    let rounds = [(1, 100.0, 10.0), (2, 100.0, 200.0), (3, 130.0, 120.0)];
    let pair = |(round, base, new)| {
        [("A", base), ("B", new)].map(|(arm, tps)| run("reads", 1, Some(arm), round, tps))
    };
    let runs: Vec<Run> = rounds.into_iter().flat_map(pair).collect();
    for scheme in [OrderScheme::Pairs, OrderScheme::Imported] {
        let experiment = ExperimentRecord { order_scheme: scheme, ..experiment(&["A", "B"]) };
        let found = Comparison::of(&experiment, &runs, Metric::Tps).unwrap();
        let cell = &found.arms[0].cells[0];
        assert_eq!([cell.base, cell.new].map(|mean| mean.map(f64::round)), [Some(110.0); 2]);
        let [base, new] = cell.compared.map(Option::unwrap);
        let change = cell.estimate.unwrap().change_pct();
        assert!((100.0 * (new / base - 1.0) - change).abs() < 1e-9 && change < -38.0, "{change} {scheme:?}");
    }
    let by_latency = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::P50).unwrap();
    assert_eq!(by_latency.arms[0].cells[0].compared, [None; 2]);
}

/// Regression: equal runs of four transactions each were "same within 3 %, [0, 0]".
#[test]
fn a_handful_of_whole_transactions_decides_nothing() {
    for (new, rounds, wanted) in [
        (5.0, 2, None),
        (4.0, 4, None),
        (1.0, 2, None),
        (5000.0, 4, Some(Verdict::Same)),
        (4000.0, 4, Some(Verdict::Slower)),
    ] {
        let base = if new < 100.0 { 5.0 } else { 5000.0 };
        let pair = |round| [("A", base), ("B", new)].map(|(arm, tps)| run("reads", 2, Some(arm), round, tps));
        let runs: Vec<Run> = (1..=rounds).flat_map(pair).collect();
        for scheme in [OrderScheme::Pairs, OrderScheme::Imported] {
            let experiment = ExperimentRecord { order_scheme: scheme, ..experiment(&["A", "B"]) };
            let compared = Comparison::of(&experiment, &runs, Metric::Tps).unwrap();
            let (cell, grid) = (&compared.arms[0].cells[0], compared.arms[0].grid.unwrap());
            let decided = |of: Verdict| Some(of).filter(|of| !matches!(of, Verdict::Inconclusive { .. }));
            assert_eq!([cell.verdict, grid.verdict].map(decided), [wanted; 2], "{new} {scheme:?}");
        }
    }
}

#[test]
fn cells_sort_by_number_and_say_what_they_are() {
    let compared = Comparison::of(&experiment(&["A", "B"]), &rounds(0.0), Metric::Tps).unwrap();
    let names: Vec<_> = compared.arms[0].cells.iter().map(|cell| cell.cell.text()).collect();
    assert_eq!(names, ["reads, clients 1", "reads, clients 16"]);
}

#[test]
fn an_invalid_run_takes_its_pair_out_and_says_why() {
    let mut runs = rounds(0.0);
    runs[0].validity = Validity::Invalid;
    runs[0].doubts.push(Doubt { reason: Reason::EmptyResults, detail: "0 rows".into() });
    let compared = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::Tps).unwrap();
    let cell = &compared.arms[0].cells[0];
    assert_eq!(cell.differences.len(), 7);
    assert_eq!(cell.excluded, [Excluded { round: 1, why: "A: empty results".into() }]);
    assert!(!compared.arms[0].grid.unwrap().grid.complete);
}

#[test]
fn a_pair_that_was_measured_again_is_compared_by_what_came_last() {
    let mut runs = rounds(0.0);
    let without = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::Tps).unwrap();
    let pair: Vec<Run> = runs.iter().filter(|run| (run.round, run.clients) == (1, 1)).cloned().collect();
    for former in pair {
        let at = runs.iter().position(|run| run.uuid == former.uuid).unwrap();
        let aside = Some("reads, round 1: throttled".to_owned());
        let slow = Run { measured_s: former.measured_s * 3.0, ..former };
        runs.insert(at, Run { set_aside: aside, validity: Validity::Invalid, ..slow });
    }
    let with = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::Tps).unwrap();
    assert_eq!(with.arms[0].cells[0].excluded, []);
    assert_eq!(with.arms[0].cells[0].estimate, without.arms[0].cells[0].estimate);
}

#[test]
fn lower_latency_is_faster() {
    let mut runs = rounds(0.0);
    for run in runs.iter_mut().filter(|run| run.arm.as_deref() == Some("B")) {
        let mut shorter = stats::Histogram::new();
        (0..1500u64).for_each(|at| shorter.record(50_000 + at * 900));
        run.scripts[0].response = shorter;
    }
    let compared = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::P99).unwrap();
    assert_eq!(compared.arms[0].grid.unwrap().verdict, Verdict::Faster);
    assert!(compared.arms[0].grid.unwrap().grid.estimate.change_pct() < 0.0);
}

/// Regression: the answer said "invalid" and not why.
#[test]
fn a_percentile_of_sliced_runs_says_why_it_is_not_compared() {
    let mut runs = rounds(0.0);
    for run in &mut runs {
        run.slices = vec![spec::Slice {
            quad: 0,
            start_us: 0,
            length_us: 1000,
            drain_us: 0,
            succeeded: 10,
            at_work_us: 1000.0,
            steal_pct: None,
            server_cpu_us: None,
            is_void: false,
        }];
    }
    let compared = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::P99).unwrap();
    let why = compared.why_unavailable(&compared.arms[0]).unwrap();
    assert!(why.contains("uncut runs only"), "{why}");
}

#[test]
fn three_arms_compare_each_with_the_base_and_none_compares_nothing() {
    let mut runs = rounds(0.05);
    for round in 1..=8 {
        runs.push(run("reads", 1, Some("C"), round, 3000.0));
    }
    let compared = Comparison::of(&experiment(&["A", "B", "C"]), &runs, Metric::Tps).unwrap();
    assert_eq!(
        compared.arms.iter().map(|arm| (arm.arm.as_str(), arm.cells.len())).collect::<Vec<_>>(),
        [("B", 2), ("C", 1)]
    );
    assert!(Comparison::of(&experiment(&[]), &runs, Metric::Tps).is_none());
}

#[test]
fn one_round_gives_a_change_without_an_interval() {
    let runs: Vec<Run> = rounds(0.1).into_iter().filter(|run| run.round == 1).collect();
    let compared = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::Tps).unwrap();
    let cell = &compared.arms[0].cells[0];
    assert_eq!(cell.estimate.unwrap().interval_pct(), None);
    assert_eq!(cell.verdict, Verdict::Inconclusive { more_pairs: None });
}

/// Regression: levels that a person sets one after the other have a part of the rounds, and the total was named.
#[test]
fn a_crosstab_counts_the_rounds_of_each_figure() {
    let experiment = experiment(&["slow", "fast"]);
    let of = |rounds: [u32; 2]| {
        let level = |arm: &'static str, rounds: std::ops::RangeInclusive<u32>| {
            rounds.map(move |round| run("w", 4, Some(arm), round, 900.0))
        };
        let [first, second] = rounds;
        let runs: Vec<Run> =
            level("slow", 1..=first).chain(level("fast", first + 1..=first + second)).collect();
        crosstabs(&experiment, &runs, Metric::Tps).remove(0).over
    };
    assert_eq!(of([3, 3]), "3 rounds");
    assert_eq!(of([1, 5]), "1 to 5 rounds");
}

#[test]
fn crosstabs_name_what_they_are_taken_over() {
    let mut runs = rounds(0.1);
    for run in &mut runs {
        run.factors.insert("scale".into(), if run.round % 2 == 0 { "10" } else { "100" }.into());
    }
    let tabs = crosstabs(&experiment(&["A", "B"]), &runs, Metric::Tps);
    assert_eq!(tabs.len(), 1);
    let tab = &tabs[0];
    assert_eq!((tab.factor.as_str(), tab.over.as_str()), ("clients", "8 rounds and scale 10, 100"));
    assert_eq!(tab.rows.iter().map(|row| row.level.as_str()).collect::<Vec<_>>(), ["1", "16"]);
    let first = tab.rows[0].cells[0].unwrap();
    assert_eq!(first.n, 8);
    assert!(first.max.unwrap() > first.mean.unwrap());
    let means = tab.geometric_means(|of| of.mean).unwrap();
    assert!((means[1].unwrap() / means[0].unwrap() - 1.1).abs() < 0.01);
}

/// Regression: a crosstab compared means of rounds while the verdict compared pairs: -5.2 % and -0.5 % for
/// one cell.
#[test]
fn a_crosstab_tells_the_changes_of_the_verdicts() {
    let mut runs = rounds(0.1);
    // A pair in which both arms were twice as fast changes the mean of rounds, not the change.
    for run in runs.iter_mut().filter(|run| run.round == 3) {
        let twice = run.count(figures::OK) * if run.arm.as_deref() == Some("B") { 3 } else { 2 };
        run.counts.set(figures::OK, twice);
    }
    // A lone run, whose pair is left out, is in the average and not in the change.
    runs[0].validity = Validity::Invalid;
    for run in &mut runs {
        run.factors.insert("scale".into(), if run.clients == 1 { "10" } else { "100" }.into());
    }
    // The base is first, at any place in the file.
    let mut experiment = experiment(&["B", "A"]);
    experiment.base = Some("A".into());
    let compared = Comparison::of(&experiment, &runs, Metric::Tps).unwrap();
    let tab = &crosstabs(&experiment, &runs, Metric::Tps)[0];
    assert_eq!(tab.columns, ["A", "B"]);
    let cells = &compared.arms[0].cells;
    assert_eq!(tab.rows.len(), cells.len());
    for (row, cell) in tab.rows.iter().zip(cells) {
        assert_eq!(row.changes, [cell.estimate.map(|estimate| estimate.change_pct())]);
        let ratio = row.cells[1].unwrap().mean.unwrap() / row.cells[0].unwrap().mean.unwrap();
        assert!((ratio - 1.0 - row.changes[0].unwrap() / 100.0).abs() > 0.001, "this test tells them apart");
    }
    let workload = compared.arms[0].workloads["reads"].grid.estimate.change_pct();
    assert_eq!(tab.changes, [Some(workload)]);
}

/// Regression: a chart showed the mean of the rounds' p99 (373 µs) next to a table with the p99 of all of
/// them (331 µs).
#[test]
fn a_cell_has_one_value_of_each_figure() {
    let mut runs: Vec<Run> = rounds(0.0).into_iter().filter(|run| run.clients == 1).collect();
    for run in runs.iter_mut().filter(|run| run.round == 2) {
        let mut slow = stats::Histogram::new();
        (0..20u64).for_each(|at| slow.record(5_000_000 + at));
        run.scripts[0].response = slow;
    }
    let base: Vec<&Run> = runs.iter().filter(|run| run.arm.as_deref() == Some("A")).collect();
    let pooled = Metric::P99.of_runs(&base).unwrap();
    let mean = base.iter().filter_map(|run| Metric::P99.of(run)).sum::<f64>() / base.len() as f64;
    assert!((pooled / mean - 1.0).abs() > 0.05, "this test tells them apart: {pooled} {mean}");
    let compared = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::P99).unwrap();
    assert_eq!(compared.arms[0].cells[0].base, Some(pooled));
    let throughput = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::Tps).unwrap();
    assert_eq!(throughput.arms[0].cells[0].base, Metric::Tps.of_runs(&base));
}

/// Regression: the grid's figure and the crosstab's averaged over offered rates, that is, over requested
/// values.
#[test]
fn offered_rates_are_not_averaged() {
    let experiment = experiment(&["A", "B"]);
    let offered = |run: &mut Run, rate: f64| {
        (run.load, run.offered_rate) = (OfferedLoad::Rate, Some(rate));
        run.factors.insert("rate".into(), rate.to_string());
    };
    let mut runs = rounds(0.08);
    runs.iter_mut().for_each(|run| offered(run, if run.clients == 1 { 1000.0 } else { 16_000.0 }));
    runs.iter_mut().for_each(|run| run.factors.extend([("clients".to_owned(), "16".to_owned())]));
    let open = Comparison::of(&experiment, &runs, Metric::Tps).unwrap();
    let arm = &open.arms[0];
    assert!(arm.grid.is_none() && arm.workloads.is_empty() && arm.scheduled == 2 && !open.has_grid());
    assert!(arm.cells.iter().all(|cell| cell.estimate.is_some()), "each cell is still compared");
    let tab = &crosstabs(&experiment, &runs, Metric::Tps)[0];
    assert_eq!((tab.factor.as_str(), tab.geometric_means(|of| of.mean)), ("rate", None));
    assert_eq!(tab.changes, [None]);
    assert!(tab.rows.iter().all(|row| row.changes[0].is_some()));
    let latency = Comparison::of(&experiment, &runs, Metric::P99).unwrap();
    assert!(latency.arms[0].grid.is_some() && latency.arms[0].scheduled == 0);
    // With closed loads, the figure covers the closed ones.
    let mut mixed = rounds(0.08);
    mixed.iter_mut().filter(|run| run.clients == 16).for_each(|run| offered(run, 20_000.0));
    let mixed = Comparison::of(&experiment, &mixed, Metric::Tps).unwrap();
    assert_eq!((mixed.arms[0].grid.unwrap().grid.cells, mixed.arms[0].scheduled), (1, 1));
}

/// Regression: six valid runs, one of them five times as fast as the others, without a remark.
#[test]
fn a_cell_whose_runs_fall_into_two_groups_is_found() {
    let tps = [6674.0, 7592.0, 7393.0, 6580.0, 6459.0, 32_149.0];
    let cell = |tps: &[f64]| -> Vec<Run> {
        tps.iter().zip(1..).map(|(tps, round)| run("reads", 1, None, round, *tps)).collect()
    };
    let found = two_groups(&cell(&tps));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].groups.low.n, found[0].groups.high.n, found[0].since_round), (5, 1, None));
    assert_eq!(found[0].cell.text(), "reads, clients 1");
    assert!(two_groups(&rounds(0.5)).is_empty(), "arms that differ are not groups of one cell");
    // One permanent step is distinguished from changes from run to run.
    let step = two_groups(&cell(&[9000.0, 9100.0, 8950.0, 5000.0, 5050.0, 4980.0]));
    assert_eq!(step[0].since_round, Some(4));
    let swaps = two_groups(&cell(&[9000.0, 5000.0, 9100.0, 5050.0, 8950.0, 4980.0]));
    assert_eq!(swaps[0].since_round, None);
    let mut invalid = cell(&tps);
    invalid[5].validity = Validity::Invalid;
    assert!(two_groups(&invalid).is_empty());
    let mut open = cell(&tps);
    open.iter_mut().for_each(|run| run.load = OfferedLoad::Rate);
    assert!(two_groups(&open).is_empty());
}

/// Regression: a round with other tiles, slow in both arms that took turns in it, was called two groups.
#[test]
fn a_round_that_is_slow_for_all_arms_in_turn_is_no_group() {
    let tps = [6674.0, 7592.0, 7393.0, 6580.0, 6459.0, 32_149.0];
    let rounds = |faster: [usize; 2], sliced: bool| -> Vec<Run> {
        let arms = ["A", "B"].into_iter().zip(faster);
        let of_arm = |(arm, shift): (&'static str, usize)| {
            (0..6).map(move |at| {
                let round = u32::try_from(at).unwrap() + 1;
                let mut run = run("reads", 1, Some(arm), round, tps[(at + shift) % 6]);
                if sliced {
                    let succeeded = (tps[(at + shift) % 6] * 2.0) as u64;
                    run.slices = vec![Slice { succeeded, at_work_us: 2e6, ..slice() }];
                }
                run
            })
        };
        arms.flat_map(of_arm).collect()
    };
    assert_eq!(two_groups(&rounds([0, 0], true)).len(), 0, "the same round in both");
    assert_eq!(
        two_groups(&rounds([0, 1], true)).len(),
        2,
        "another round in each: something is not alike for both"
    );
    assert_eq!(two_groups(&rounds([0, 0], false)).len(), 2, "one after the other: it may have hit either");
}

fn slice() -> Slice {
    Slice {
        quad: 0,
        start_us: 0,
        length_us: 100_000,
        drain_us: 0,
        succeeded: 0,
        at_work_us: 0.0,
        steal_pct: None,
        server_cpu_us: None,
        is_void: false,
    }
}

/// Groups that placement explains are distinguished from groups that it does not explain.
#[test]
fn placement_explains_groups_only_where_it_tells_them_apart() {
    let tps = [6674.0, 7592.0, 7393.0, 32_149.0, 6459.0, 31_020.0];
    for (same_cpu, explains) in [
        ([0.0, 10.0, 0.0, 95.0, 5.0, 100.0], Some(true)),
        // Too small a difference; overlapping; many backends share the CPU of a client anyway.
        ([0.0, 10.0, 0.0, 15.0, 5.0, 20.0], Some(false)),
        ([0.0, 10.0, 96.0, 95.0, 5.0, 100.0], Some(false)),
        ([100.0; 6], Some(false)),
        ([f64::NAN; 6], None),
    ] {
        let seen = tps.iter().zip(same_cpu).zip(1..).map(|((tps, same_cpu), round)| {
            let mut run = run("reads", 1, None, round, *tps);
            let figure = (!f64::is_nan(same_cpu)).then_some((figures::SAME_CPU_PCT, same_cpu));
            run.figures.extend(figure);
            run
        });
        let found = two_groups(&seen.collect::<Vec<_>>());
        assert_eq!(found[0].same_cpu.map(|same| same.explains), explains, "{same_cpu:?}");
    }
}

/// Acceptance test: A against A under drift gives few false alarms when interleaved ABBA.
#[test]
fn false_alarms_stay_rare_under_drift() {
    let mut state = 42u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut noise = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let (mut alarms, experiments) = (0, 600);
    for _ in 0..experiments {
        let differences: Vec<f64> = (0..8u32)
            .map(|round| {
                let mut at =
                    |position: f64| 0.06 * (f64::from(round) * 2.0 + position) / 16.0 + 0.01 * noise();
                let (first, second) = (at(0.0), at(1.0));
                if round % 2 == 0 { second - first } else { first - second }
            })
            .collect();
        let p = stats::paired(&differences).and_then(|estimate| estimate.p()).unwrap();
        alarms += u32::from(p < 0.05);
    }
    assert!(f64::from(alarms) / f64::from(experiments) <= 0.07, "{alarms} of {experiments}");
}

/// Regression: a cell with invalid runs only was called inconclusive, and the grid's figure did not mention
/// its absence.
#[test]
fn a_cell_without_a_valid_pair_is_invalid_and_missing_in_the_figure() {
    let mut runs = rounds(0.08);
    for run in runs.iter_mut().filter(|run| run.clients == 16) {
        run.validity = Validity::Invalid;
        run.doubts.push(Doubt { reason: Reason::Errors, detail: "68 % failed".into() });
    }
    let compared = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::Tps).unwrap();
    let arm = &compared.arms[0];
    assert_eq!(arm.cells[1].verdict, Verdict::Invalid);
    assert_eq!(arm.tally(), Tally { faster: 1, invalid: 1, ..Tally::default() });
    let grid = arm.grid.unwrap();
    assert_eq!((grid.grid.cells, grid.cells, grid.is_incomplete()), (1, 2, true));
    assert!(!arm.is_invalid());
    let tab = &crosstabs(&experiment(&["A", "B"]), &runs, Metric::Tps)[0];
    assert_eq!((tab.rows.len(), tab.over.as_str()), (2, "8 rounds; incomplete: 1 of 2 cells; 16 invalid"));
    assert_eq!(tab.rows[1].cells, [None, None]);
    assert_eq!(tab.geometric_means(|of| of.mean), Some(vec![None, None]));
    // Nothing valid at all, also in sets that have no pairs.
    runs.iter_mut().for_each(|run| run.validity = Validity::Invalid);
    for order in [OrderScheme::Pairs, OrderScheme::Imported] {
        let experiment = ExperimentRecord { order_scheme: order, ..experiment(&["A", "B"]) };
        let compared = Comparison::of(&experiment, &runs, Metric::Tps).unwrap();
        assert_eq!(compared.arms[0].tally(), Tally { invalid: 2, ..Tally::default() }, "{order:?}");
        assert!(compared.arms[0].is_invalid() && compared.arms[0].grid.is_none());
        assert_eq!(crosstabs(&experiment, &runs, Metric::Tps)[0].over, "no valid run");
    }
}
