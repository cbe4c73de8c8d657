//! Cells whose speed changes during the measurement because the workload changes its data: within the runs
//! of the base arm, and over its rounds. Only changes that are significant and large enough to matter.

use std::collections::BTreeMap;

use spec::{Reason, Run, SpeedTrend, Validity, figures};
use stats::{KnownNoise, change_of_ends, paired, trend_p};

use crate::comparison::{Cell, Comparison};
use crate::data::ReportData;

/// p below which a trend over the rounds of the base arm is significant.
const P: f64 = 0.01;
/// The same over the runs of all arms in their order; stricter, since runs of a round have common noise and
/// are not independent.
const P_TOGETHER: f64 = 0.002;
/// The least reported change of speed, as a share.
const CHANGE: f64 = 0.15;
/// From this many runs on they are judged together; below, each separately.
const FEWEST_RUNS: usize = 3;

pub(super) fn all(data: &ReportData) -> Vec<(Cell, SpeedTrend)> {
    let is_told = |arm: Option<&str>| data.base().is_none_or(|base| arm == Some(base));
    let of_base = data.grid().iter().filter(|figures| is_told(figures.arm.as_deref()));
    let found = of_base.map(|own| (own.cell.clone(), of_arm(data, &own.cell, own.arm.as_deref())));
    found.filter(|(_, trend)| *trend != SpeedTrend::default()).collect()
}

/// How the speed of a cell changes in the base arm.
#[must_use]
pub fn speed_trend(data: &ReportData, cell: &Cell) -> SpeedTrend {
    of_arm(data, cell, data.base())
}

fn of_arm(data: &ReportData, cell: &Cell, arm: Option<&str>) -> SpeedTrend {
    if data.limits().is_some() {
        return SpeedTrend::default();
    }
    let counts = |run: &&Run| run.validity != Validity::Invalid && run.changes_data_in_closed_load();
    let mut together: Vec<&Run> = data.runs_of(cell).filter(counts).collect();
    together.sort_by_key(|run| (run.round, run.position_in_pair));
    let runs: Vec<&Run> = together.iter().copied().filter(|run| run.arm.as_deref() == arm).collect();
    of(&runs, &together, noise(data.throughput(), cell))
}

/// Of the runs of a cell and arm, by round; `together` are the runs of all its arms, in their order.
fn of(runs: &[&Run], together: &[&Run], noise: Option<KnownNoise>) -> SpeedTrend {
    SpeedTrend { within_run: within(runs), over_rounds: over_rounds(runs, together, noise) }
}

fn within(runs: &[&Run]) -> Option<f64> {
    let logs: Vec<f64> = runs
        .iter()
        .filter_map(|run| Some((1.0 + run.figures.get(figures::SPEED_CHANGE_PCT)? / 100.0).ln()))
        .filter(|log| log.is_finite())
        .collect();
    let estimate = paired(&logs)?;
    let change = estimate.log_ratio.exp() - 1.0;
    let named =
        runs.iter().filter(|run| run.doubts.iter().any(|doubt| doubt.reason == Reason::Trend)).count();
    // A small common rise is the warm-up of caches.
    let in_common = change < 0.0 && logs.len() >= FEWEST_RUNS && estimate.p().is_some_and(|p| p < P);
    ((2 * named > runs.len() || in_common) && change.abs() >= CHANGE).then_some(change)
}

fn over_rounds(runs: &[&Run], together: &[&Run], noise: Option<KnownNoise>) -> Option<f64> {
    let speeds: Vec<f64> = runs.iter().filter_map(|run| run.speed()).collect();
    let logs: Vec<f64> = speeds.iter().map(|speed| speed.ln()).collect();
    let change = change_of_ends(&speeds)?;
    let is_sure = |p: Option<f64>, least: f64| p.is_some_and(|p| p < least);
    let is_trend =
        is_sure(trend_p(&logs, noise), P) || is_sure(trend_p(&levelled(together), None), P_TOGETHER);
    (is_trend && change.abs() >= CHANGE).then_some(change)
}

/// Logs of the speeds of several arms, each against the mean of its arm.
fn levelled(runs: &[&Run]) -> Vec<f64> {
    let logs = || runs.iter().filter_map(|run| Some((run.arm.as_deref(), run.speed()?.ln())));
    let mut sums: BTreeMap<Option<&str>, (f64, f64)> = BTreeMap::new();
    for (arm, log) in logs() {
        let sum = sums.entry(arm).or_default();
        (sum.0, sum.1) = (sum.0 + log, sum.1 + 1.0);
    }
    logs().map(|(arm, log)| log - sums[&arm].0 / sums[&arm].1).collect()
}

/// Variance of a run of the base, without what both arms have in common: half of the variance of their
/// ratio.
fn noise(of: Option<&Comparison>, cell: &Cell) -> Option<KnownNoise> {
    let cells = of?.arms.iter().flat_map(|arm| &arm.cells);
    let differences = &cells.into_iter().find(|found| found.cell == *cell)?.differences;
    let estimate = paired(&differences.values().copied().collect::<Vec<_>>())?;
    let error = estimate.standard_error?;
    let variance = error * error * differences.len() as f64 / 2.0;
    Some(KnownNoise { variance, df: estimate.df })
}

#[cfg(test)]
mod tests {
    use spec::{Doubt, RunKey, RunKind, ScriptRecord};
    use stats::Histogram;

    use super::*;

    fn run(round: u32, tps: f64, change_pct: f64) -> Run {
        let key = RunKey { workload: "w".into(), factors: BTreeMap::new(), arm: None, round };
        let mut run = Run::new(RunKind::Client, key);
        (run.measured_s, run.clients) = (10.0, 4);
        run.counts.set(figures::OK, (10.0 * tps) as u64);
        run.counts.set(figures::AFFECTED, (10.0 * tps) as u64);
        run.figures.set(figures::SPEED_CHANGE_PCT, change_pct);
        run.scripts.push(ScriptRecord {
            name: "w".into(),
            text_hash: String::new(),
            weight: 1,
            part: None,
            counts: Default::default(),
            response: Histogram::new(),
            service: Histogram::new(),
        });
        run
    }

    fn trend(runs: &[Run], noise: Option<KnownNoise>) -> SpeedTrend {
        let runs: Vec<&Run> = runs.iter().collect();
        of(&runs, &runs, noise)
    }

    /// Regression: four rounds went from 2,972 to 1,467 without a remark.
    #[test]
    fn a_fall_over_the_rounds_of_the_base_arm_is_told() {
        let falls = [(2972.0, -10.0), (2300.0, 5.0), (1800.0, -8.0), (1467.0, 4.0)];
        let runs: Vec<Run> = (1..).zip(falls).map(|(round, (tps, change))| run(round, tps, change)).collect();
        let found = trend(&runs, Some(KnownNoise { variance: 0.0009, df: 3.0 }));
        assert_eq!(found.within_run, None);
        assert!(found.words().unwrap().starts_with("speed halves over the rounds: "), "{found:?}");
        let noisy = [1000.0, 1300.0, 900.0, 1250.0, 1100.0, 800.0];
        let runs: Vec<Run> = (1..).zip(noisy).map(|(round, tps)| run(round, tps, 0.0)).collect();
        assert_eq!(trend(&runs, None), SpeedTrend::default());
    }

    /// Both arms of a noisy host fall together; neither alone is significant.
    #[test]
    fn arms_that_fall_together_are_a_trend_of_the_base() {
        let arm = |name: &str, speeds: [f64; 4]| -> Vec<Run> {
            let named = |(round, tps)| Run { arm: Some(name.to_owned()), ..run(round, tps, 0.0) };
            (1..).zip(speeds).map(named).collect()
        };
        let (base, other) = (arm("base", [47.8, 27.0, 25.2, 22.3]), arm("jit", [35.5, 36.5, 23.0, 23.7]));
        let base: Vec<&Run> = base.iter().collect();
        let order = [0, 1, 1, 0, 0, 1, 1, 0];
        let mut sides = [base.clone().into_iter(), other.iter().collect::<Vec<_>>().into_iter()];
        let together: Vec<&Run> = order.into_iter().filter_map(|side: usize| sides[side].next()).collect();
        let noise = Some(KnownNoise { variance: 0.03, df: 3.0 });
        assert_eq!(over_rounds(&base, &base, noise), None);
        let change = over_rounds(&base, &together, noise).unwrap();
        assert!((-0.54..-0.52).contains(&change), "{change}");
    }

    #[test]
    fn falls_that_all_runs_have_in_common_are_told_and_rises_of_warm_up_are_not() {
        let runs = |changes: [f64; 4]| -> Vec<Run> {
            (1..).zip(changes).map(|(round, change)| run(round, 1000.0, change)).collect()
        };
        assert!(trend(&runs([-48.0, -50.0, -52.0, -50.0]), None).within_run.is_some());
        assert_eq!(trend(&runs([48.0, 50.0, 52.0, 50.0]), None).within_run, None);
        assert_eq!(trend(&runs([-40.0, 30.0, -20.0, 10.0]), None).within_run, None);
        let mut alone = vec![run(1, 100.0, -68.0)];
        assert_eq!(trend(&alone, None).within_run, None);
        alone[0].doubts.push(Doubt { reason: Reason::Trend, detail: String::new() });
        assert_eq!(
            trend(&alone, None).words().unwrap().split(':').next(),
            Some("speed falls by 68 % within the run")
        );
    }
}
