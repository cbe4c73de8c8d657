use super::*;
use crate::fixture::{experiment, host, run, target};
use crate::store::ExperimentId;
use spec::plan::WorkMetric;
use spec::{GateRecord, Run};

fn rounds(arm: &str, tps: f64) -> Vec<Run> {
    (1..=6).map(|round| run("reads", 4, Some(arm), round, tps + f64::from(round * 7 % 5))).collect()
}

fn of_two(base: f64, new: f64) -> GateAnswer {
    let runs = [rounds("A", base), rounds("B", new)].concat();
    GateAnswer::of(&ReportData::new(experiment(&["A", "B"]), host(), target(), runs)).unwrap()
}

#[test]
fn the_judgement_of_arms_that_were_measured_together() {
    for (new, wanted) in [
        (1500.0, Judgement::Better),
        (1000.0, Judgement::Same),
        (1011.0, Judgement::Same),
        (900.0, Judgement::Worse),
    ] {
        let found = of_two(1000.0, new);
        assert_eq!((found.judgement, found.arm.as_str()), (wanted, "B"), "{new}");
    }
    let nothing = ReportData::new(experiment(&["A"]), host(), target(), rounds("A", 900.0));
    assert!(GateAnswer::of(&nothing).is_none_or(|found| found.judgement == Judgement::Invalid));
}

fn measured(label: &str, control: f64, patch: (&str, f64)) -> MeasuredExperiment {
    let runs = [rounds("stock", control), rounds(patch.0, patch.1)].concat();
    MeasuredExperiment {
        label: label.into(),
        experiment: experiment(&["stock", patch.0]),
        host: host(),
        target: target(),
        parts: Vec::new(),
        runs,
    }
}

fn stored(base: &MeasuredExperiment, new: &MeasuredExperiment) -> Option<GateAnswer> {
    GateAnswer::against_stored(base, new, &ReportData::apart(base, new).unwrap(), 3)
}

/// The machine became 17 % slower in between, which is no property of the patch.
#[test]
fn the_drift_of_the_control_is_taken_out() {
    let base = measured("1", 1200.0, ("v1", 1320.0));
    for (now, wanted) in [(1100.0, Judgement::Same), (1000.0, Judgement::Worse), (1300.0, Judgement::Better)]
    {
        let found = stored(&base, &measured("2", 1000.0, ("v2", now))).unwrap();
        assert_eq!((found.judgement, found.hindrance), (wanted, None), "{now}");
        assert_eq!((found.base.as_str(), found.arm.as_str()), ("v1 of 1", "v2"));
        let drift = found.control.unwrap().change.unwrap().change_pct();
        assert!((drift + 16.7).abs() < 0.2, "{drift}");
    }
}

#[test]
fn a_control_cannot_take_another_machine_out() {
    let base = measured("1", 1200.0, ("v1", 1320.0));
    let mut elsewhere = measured("2", 1200.0, ("v2", 600.0));
    elsewhere.host.cores += 2;
    let found = stored(&base, &elsewhere).unwrap();
    assert_eq!(found.judgement, Judgement::Undecided);
    assert!(found.hindrance.unwrap().contains("another machine"));
    let found = stored(&base, &measured("2", 700.0, ("v2", 600.0))).unwrap();
    assert_eq!(found.judgement, Judgement::Undecided);
    assert!(found.hindrance.unwrap().contains("changed by -42 %"));
}

fn gate(commit: &str, base: &str, change: f64) -> (ExperimentId, GateRecord) {
    let record = GateRecord {
        name: "queries".into(),
        arm: "new".into(),
        base: "old".into(),
        commit: commit.into(),
        subject: None,
        base_commit: Some(base.into()),
        judged_at: String::new(),
        metric: WorkMetric::Tps,
        judgement: if change < -0.03 { Judgement::Worse } else { Judgement::Same },
        log_ratio: Some(change),
        interval: Some((change - 0.01, change + 0.01)),
    };
    let number = commit.trim_start_matches('c').parse().unwrap_or(0);
    (ExperimentId(number), record)
}

#[test]
fn a_change_over_commits_is_at_the_commit_that_caused_it() {
    let noise = [0.001, -0.003, 0.002, 0.0, -0.001, 0.003];
    let gates = (0..14).map(|at| {
        let level = if at >= 8 { -0.06 } else { 0.0 };
        gate(&format!("c{at}"), "release", level + noise[at % 6])
    });
    let found = GateHistory::of(gates.collect());
    assert_eq!(found.changes.len(), 1, "{:?}", found.changes);
    let change = &found.changes[0];
    assert_eq!((change.at, change.causes[0].at), (8, 8));
    assert!((change.change_pct + 5.8).abs() < 0.4, "{}", change.change_pct);
    assert!(change.causes[0].probability > 0.9, "{:?}", change.causes);
    assert!(found.points.iter().all(|point| point.series == 0));
}

#[test]
fn a_history_without_change_has_none_and_a_commit_once() {
    let noise = [0.004, -0.003, 0.001, -0.006];
    let mut gates: Vec<_> = (0..30).map(|at| gate(&format!("c{at}"), "release", noise[at % 4])).collect();
    gates.push(gate("c3", "release", 0.5));
    let found = GateHistory::of(gates);
    assert_eq!(found.points.len(), 30);
    assert!((found.points[3].gate.log_ratio.unwrap() - 0.5).abs() < 1e-9, "the last one counts");
    let found =
        GateHistory::of((0..30).map(|at| gate(&format!("c{at}"), "release", noise[at % 4])).collect());
    assert_eq!(found.changes, []);
}

/// Each commit against the one before: a gate that says "worse" names its commit itself.
#[test]
fn commits_that_were_compared_with_the_one_before_speak_for_themselves() {
    let found =
        GateHistory::of(vec![gate("c1", "c0", 0.001), gate("c2", "c1", -0.08), gate("c3", "c2", 0.002)]);
    assert_eq!(found.changes.len(), 1);
    assert_eq!((found.changes[0].at, found.changes[0].causes.len()), (1, 1));
    let series: Vec<usize> = found.points.iter().map(|point| point.series).collect();
    assert_eq!(series, [0, 1, 2]);
}

/// Five commits with two measurements were a change "by c3" with probability 1.
#[test]
fn commits_that_were_judged_by_the_same_runs_are_one_measurement() {
    let of = |(commit, experiment, change): (&str, i64, f64)| {
        let (_, record) = gate(commit, "release", change);
        (ExperimentId(experiment), record)
    };
    let gates = [("c1", 1, 0.0), ("c2", 1, 0.0), ("c3", 2, 0.12), ("c4", 2, 0.12), ("c5", 2, 0.12)];
    let found = GateHistory::of(gates.into_iter().map(of).collect());
    assert_eq!((found.points.len(), found.changes.len()), (5, 0), "{:?}", found.changes);
}
