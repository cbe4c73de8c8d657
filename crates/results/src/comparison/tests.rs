use super::*;
use crate::fixture::{experiment, run};
use crate::record::{Doubt, Reason, Validity};

/// Eight ABBA rounds of two cells: B faster by `gain`, with a drift of 6 % over the experiment and some noise.
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
fn lower_latency_is_faster() {
    let mut runs = rounds(0.0);
    for run in runs.iter_mut().filter(|run| run.arm.as_deref() == Some("B")) {
        let mut shorter = stats::Histogram::new();
        (0..500u64).for_each(|at| shorter.record(50_000 + at * 900));
        run.scripts[0].response = shorter;
    }
    let compared = Comparison::of(&experiment(&["A", "B"]), &runs, Metric::P99).unwrap();
    assert_eq!(compared.arms[0].grid.unwrap().verdict, Verdict::Faster);
    assert!(compared.arms[0].grid.unwrap().grid.estimate.change_pct() < 0.0);
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
    assert!(first.max().unwrap() > first.mean().unwrap());
    let means = tab.geometric_means(Summary::mean);
    assert!((means[1].unwrap() / means[0].unwrap() - 1.1).abs() < 0.01);
}

/// The product's own acceptance: A against A under drift gives few false alarms when interleaved ABBA.
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
