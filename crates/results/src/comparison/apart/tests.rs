use super::*;
use crate::comparison::{Comparison, Metric};
use crate::fixture::{experiment, host, run, target};
use spec::Slice;
use spec::plan::{Content, Plan};
use stats::Verdict;
use std::collections::HashSet;

fn measured(label: &str, arms: &[&str], runs: Vec<Run>) -> MeasuredExperiment {
    let experiment = match arms {
        [] => ExperimentRecord { arms: vec![], base: None, compare_factor: None, ..experiment(&["A"]) },
        arms => experiment(arms),
    };
    MeasuredExperiment {
        label: label.into(),
        experiment,
        host: host(),
        target: target(),
        parts: Vec::new(),
        runs,
    }
}

fn rounds(workload: &str, arm: Option<&str>, tps: f64) -> Vec<Run> {
    (1..=6).map(|round| run(workload, 4, arm, round, tps + f64::from(round * 7 % 5))).collect()
}

fn together(parts: [Vec<Run>; 2]) -> Vec<Run> {
    parts.into_iter().flatten().collect()
}

#[test]
fn cells_of_one_name_are_compared_arm_by_arm() {
    let base = together([rounds("reads", Some("A"), 1000.0), rounds("reads", Some("B"), 2000.0)]);
    let new = together([rounds("reads", Some("A"), 1000.0), rounds("reads", Some("B"), 3000.0)]);
    let apart = Apart::of(&measured("1", &["A", "B"], base), &measured("2", &["A", "B"], new)).unwrap();
    assert!(!apart.experiment.is_interleaved());
    assert_eq!(apart.notes, [] as [&str; 0]);
    let found = Comparison::of(&apart.experiment, &apart.runs, Metric::Tps).unwrap();
    assert_eq!((found.paired, found.base.as_str(), found.arms[0].arm.as_str()), (false, "1", "2"));
    let cells: Vec<_> = found.arms[0].cells.iter().map(|cell| (cell.cell.text(), cell.verdict)).collect();
    assert_eq!(cells, [("reads, clients 4, settings B".to_owned(), Verdict::Faster)]);
    let control = found.control.unwrap();
    assert_eq!((control.arm.as_str(), control.is_base, control.differs()), ("A", true, false));
    assert_eq!(control.figure.unwrap().verdict, Verdict::Same);
}

fn compared(base: &MeasuredExperiment, new: &MeasuredExperiment) -> Comparison {
    let apart = Apart::of(base, new).unwrap();
    Comparison::of(&apart.experiment, &apart.runs, Metric::Tps).unwrap()
}

fn verdicts(of: &Comparison) -> HashSet<Verdict> {
    let arm = &of.arms[0];
    let figures = arm.workloads.values().chain(&arm.grid).map(|figure| figure.verdict);
    arm.cells.iter().map(|cell| cell.verdict).chain(figures).collect()
}

/// Regression: the same server and the same arms, five minutes apart, were "+16.7 %, faster".
#[test]
fn two_experiments_of_one_thing_were_faster_by_their_drift() {
    let arms = |label, a, b| {
        let runs = together([rounds("reads", Some("A"), a), rounds("reads", Some("B"), b)]);
        measured(label, &["A", "B"], runs)
    };
    let found = compared(&arms("1", 1000.0, 2000.0), &arms("2", 1167.0, 2600.0));
    assert!(found.control.as_ref().unwrap().differs());
    let change = found.control.as_ref().unwrap().change().unwrap().change_pct();
    assert!((change - 16.7).abs() < 0.1, "{change}");
    assert_eq!(verdicts(&found), HashSet::from([Verdict::Inconclusive { more_pairs: None }]));
    // The ratio B / A changes from 2 to 2.6 / 1.167.
    let estimate = found.arms[0].grid.unwrap().grid.estimate;
    assert!((estimate.change_pct() - 11.4).abs() < 0.3, "{}", estimate.change_pct());
}

/// Drift that is equal within each round of an experiment is in no ratio to the control.
#[test]
fn what_disturbs_both_arms_of_a_round_alike_is_not_in_the_answer() {
    let noisy = |label, b: f64| {
        let disturbed = |run: Run| {
            let factor = 1.0 + 0.3 * f64::from(run.round * 5 % 7);
            let mut run = run;
            for counts in
                [&mut run.counts].into_iter().chain(run.scripts.iter_mut().map(|own| &mut own.counts))
            {
                let changed = [figures::DUE, figures::OK, figures::ROWS]
                    .map(|of| (of, (counts.count(of) as f64 * factor) as u64));
                counts.extend(changed);
            }
            run
        };
        let runs = together([rounds("reads", Some("A"), 1000.0), rounds("reads", Some("B"), b)]);
        measured(label, &["A", "B"], runs.into_iter().map(disturbed).collect())
    };
    let found = compared(&noisy("1", 2000.0), &noisy("2", 1800.0));
    assert_eq!(verdicts(&found), HashSet::from([Verdict::Slower]));
}

/// Without a common arm it is unknown what else changed.
#[test]
fn measured_apart_without_a_control_is_neither_faster_nor_slower() {
    for (tps, wanted) in [(2000.0, Verdict::Differs), (500.0, Verdict::Differs), (1000.0, Verdict::Same)] {
        let base = measured("1", &[], rounds("reads", None, 1000.0));
        let found = compared(&base, &measured("2", &[], rounds("reads", None, tps)));
        assert!(found.control.is_none());
        assert_eq!(verdicts(&found), HashSet::from([wanted]), "{tps}");
    }
    // Arms with the same name but other settings are different arms.
    let base = measured("1", &["A", "B"], together([rounds("reads", Some("A"), 1000.0), vec![]]));
    let mut new = measured("2", &["A", "B"], together([rounds("reads", Some("A"), 1500.0), vec![]]));
    new.experiment.arms[0].settings.insert("jit".into(), "off".into());
    assert_eq!(verdicts(&compared(&base, &new)), HashSet::from([Verdict::Differs]));
}

/// One patch last week and another today, each against stock.
#[test]
fn the_arm_that_each_has_alone_is_compared_relative_to_the_one_that_both_have() {
    let with = |label, patch: &str, tps| {
        let runs = together([rounds("reads", Some("stock"), 1000.0), rounds("reads", Some(patch), tps)]);
        measured(label, &["stock", patch], runs)
    };
    let found = compared(&with("1", "one", 1100.0), &with("2", "two", 1320.0));
    let cell = &found.arms[0].cells[0];
    assert_eq!(
        (cell.cell.text().as_str(), cell.verdict),
        ("reads, clients 4, settings one → two", Verdict::Faster)
    );
}

/// Regression: a result and its import had no cell in common.
#[test]
fn a_built_in_script_has_one_name() {
    let base = rounds("<builtin: select only>, a.sql, <builtin: TPC-B (sort of)>", None, 1000.0);
    let new = rounds("select-only, a.sql, tpcb-like", None, 1000.0);
    let apart = Apart::of(&measured("1", &[], base), &measured("2", &[], new)).unwrap();
    let workloads: BTreeSet<&str> = apart.runs.iter().map(|run| run.workload.as_str()).collect();
    assert_eq!(workloads, BTreeSet::from(["select-only, a.sql, tpcb-like"]));
}

#[test]
fn what_only_one_has_is_told() {
    let base = measured(
        "a.sqlite",
        &["A", "B"],
        together([rounds("reads", Some("A"), 1000.0), rounds("writes", Some("A"), 9.0)]),
    );
    let mut new = measured("b.sqlite", &[], rounds("reads", None, 1000.0));
    new.host.uuid = "other".into();
    new.runs.iter_mut().for_each(|run| run.scripts[0].text_hash = "cd".into());
    let apart = Apart::of(&base, &new).unwrap();
    assert!(apart.notes.iter().any(|note| note == "only a.sqlite names settings (A)"), "{:?}", apart.notes);
    assert!(apart.notes.iter().any(|note| note == "1 cell of a.sqlite is not in the other, and left out"));
    assert!(apart.notes.iter().any(|note| note.starts_with("not the same machine: a.sqlite ")));
    assert_eq!(apart.runs.len(), 12);
    let told: Vec<_> = apart
        .runs
        .iter()
        .flat_map(|run| &run.events)
        .filter(|event| event.kind == RunEvent::OTHER_ANSWERS)
        .collect();
    assert_eq!(
        (told.len(), told[0].detail.as_str()),
        (6, "reads: b.sqlite has other scripts of that name than a.sqlite")
    );
}

/// Regression: one in slices and one uncut, with other data, and no remark.
#[test]
fn how_they_were_measured_and_prepared_is_told() {
    let plan = |sql: &str, hash: &str| {
        let prepare = format!(r#"{{"osm":null,"sql":[{sql}],"inputs":{{"a.sql":"{hash}"}}}}"#);
        let content = Content { prepare: serde_json::from_str(&prepare).unwrap(), ..Content::default() };
        Recorded::from(Plan { content, ..Plan::default() })
    };
    let with = |label, sliced: bool, plan: Recorded| {
        let mut of = measured(label, &["A", "B"], rounds("reads", Some("A"), 1000.0));
        of.experiment.plan = plan;
        for run in of.runs.iter_mut().filter(|_| sliced) {
            let at_work_us = 1e6 * f64::from(run.clients);
            run.slices = vec![Slice {
                quad: 0,
                start_us: 0,
                length_us: 100_000,
                drain_us: 0,
                succeeded: 1000,
                at_work_us,
                steal_pct: None,
                server_cpu_us: None,
                is_void: false,
            }];
        }
        of
    };
    let base = with("1", true, plan("\"a.sql\"", "ab"));
    let new = with("2", false, plan("\"a.sql\",\"b.sql\"", "cd"));
    let apart = Apart::of(&base, &new).unwrap();
    for wanted in [
        "measured: 1 in slices, 2 in whole runs",
        "not prepared alike: sql [\"a.sql\"] and [\"a.sql\",\"b.sql\"]; another content of a.sql",
    ] {
        assert!(apart.notes.iter().any(|note| note == wanted), "{:?}", apart.notes);
    }
    // Quads of two experiments have nothing in common.
    let found = Comparison::of(&apart.experiment, &apart.runs, Metric::Tps).unwrap();
    assert!(found.arms[0].cells.iter().all(|cell| cell.sliced.is_none()));
    assert_eq!(Apart::of(&base, &with("2", true, plan("\"a.sql\"", "ab"))).unwrap().notes, [] as [&str; 0]);
}

#[test]
fn why_there_is_nothing_to_compare_is_told() {
    let reads = measured("1", &[], rounds("reads", None, 1000.0));
    let writes = measured("2", &[], rounds("writes", None, 1000.0));
    let error = Apart::of(&reads, &writes).unwrap_err().to_string();
    assert_eq!(error, "1 and 2 have no cell in common: workload: 1 has reads, 2 has writes");
    let arms = measured(
        "3",
        &["A", "B"],
        together([rounds("reads", Some("A"), 1.0), rounds("reads", Some("B"), 1.0)]),
    );
    let error = Apart::of(&reads, &arms).unwrap_err().to_string();
    assert_eq!(error, "1 and 3 have no cell in common: settings: 1 has none, 3 has A, B");
    let nothing = measured("4", &[], vec![]);
    assert!(matches!(Apart::of(&reads, &nothing), Err(ApartError::NoRuns { label, .. }) if label == "4"));
}

#[test]
fn arms_of_one_name_that_set_other_things_are_told() {
    let base = measured("1", &["A", "B"], rounds("reads", Some("A"), 1000.0));
    let mut new = base.clone();
    new.label = "2".into();
    new.experiment.arms[0].settings.insert("jit".into(), "off".into());
    let apart = Apart::of(&base, &new).unwrap();
    assert_eq!(apart.notes, ["A is not the same in both: jit not set and off"]);
}

/// An arm of one name that was built anew is no control: its own change would be taken for drift.
#[test]
fn an_arm_of_another_build_is_no_control() {
    let with = |label, tree: &str| {
        let runs = together([rounds("reads", Some("A"), 1000.0), rounds("reads", Some("B"), 2000.0)]);
        let mut of = measured(label, &["A", "B"], runs);
        let mut built = target();
        built.build = Some(spec::BuildRecord { tree: Some(tree.into()), ..built.build.unwrap_or_default() });
        of.experiment.arms[0].target = Some(built);
        of
    };
    let control =
        |other: &str| compared(&with("1", "aa"), &with("2", other)).control.map(|control| control.arm);
    assert_eq!(control("aa").as_deref(), Some("A"));
    assert_eq!(control("bb").as_deref(), Some("B"));
}
