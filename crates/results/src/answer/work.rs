//! The two metrics of work next to each other: throughput and server CPU per transaction. Only one of them
//! gives the answer.

use spec::figures::{self, Figure};
use stats::{Estimate, Verdict};

use crate::comparison::{ArmComparison, Comparison, Metric};
use crate::data::ReportData;

/// One of two intervals is clearly narrower if the other one is longer by this factor.
const NARROWER: f64 = 1.1;
/// From this share of the CPUs on, other programs are a reason, percent.
const BUSY_PCT: f64 = 20.0;
/// From this share of the CPU time on, the hypervisor is a reason, percent.
const STOLEN_PCT: f64 = 2.0;

/// The change of an arm by the metric that does not give the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherMetric {
    pub metric: Metric,
    pub estimate: Estimate,
    pub verdict: Verdict,
    /// Which of the two is more reliable; `None` if one has no interval.
    pub reliable: Option<Reliable>,
}

/// Which metric is more reliable here.
#[derive(Debug, Clone, PartialEq)]
pub struct Reliable {
    /// `None` if their intervals are about as narrow.
    pub metric: Option<Metric>,
    pub answer: Precision,
    pub other: Precision,
    /// What disturbs throughput more than CPU time.
    pub busy: Vec<Busy>,
}

/// How narrow an interval is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    pub metric: Metric,
    /// Half of the 95 % interval, percent.
    pub half_width_pct: f64,
    /// The change, percent, if both metrics surely changed: then a half-width is compared relative to it.
    pub change_pct: Option<f64>,
}

/// Why transactions wait for a CPU, with the share of the machine's CPU time, percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Busy {
    OtherPrograms(f64),
    Hypervisor(f64),
}

impl OtherMetric {
    /// Of an arm of the comparison `of`; `None` without a figure of it by the other metric.
    #[must_use]
    pub fn of(data: &ReportData, of: &Comparison, arm: &ArmComparison) -> Option<Self> {
        let other = data.other_metric(of.metric)?;
        let figure = other.arms.iter().find(|own| own.arm == arm.arm)?.grid?;
        let estimate = figure.grid.estimate;
        let answer = arm.grid.map(|own| (of.metric, own.grid.estimate));
        let is_work = matches!(of.metric, Metric::Tps | Metric::Cpu);
        let reliable = answer.filter(|_| is_work).and_then(|own| reliable(own, (other.metric, estimate)));
        let reliable = reliable.map(|found| match found.metric {
            Some(Metric::Cpu) => Reliable { busy: busy(data), ..found },
            _ => found,
        });
        Some(Self { metric: other.metric, estimate, verdict: figure.verdict, reliable })
    }
}

fn reliable(answer: (Metric, Estimate), other: (Metric, Estimate)) -> Option<Reliable> {
    let halves = |of: &Estimate| of.interval(0.95).map(|(low, high)| ((high - low) / 2.0, low * high > 0.0));
    let ((answer_half, answer_changed), (other_half, other_changed)) =
        (halves(&answer.1)?, halves(&other.1)?);
    let changed = answer_changed && other_changed;
    let precision = |(metric, of): (Metric, Estimate), half| Precision {
        metric,
        half_width_pct: stats::percent_change(half),
        change_pct: changed.then(|| of.change_pct()),
    };
    let width = |of: &Estimate, half: f64| if changed { half / of.log_ratio.abs() } else { half };
    let (of_answer, of_other) = (width(&answer.1, answer_half), width(&other.1, other_half));
    let metric = if of_answer > NARROWER * of_other {
        Some(other.0)
    } else if of_other > NARROWER * of_answer {
        Some(answer.0)
    } else {
        None
    };
    let (answer, other) = (precision(answer, answer_half), precision(other, other_half));
    Some(Reliable { metric, answer, other, busy: Vec::new() })
}

fn busy(data: &ReportData) -> Vec<Busy> {
    let mean = |of: Figure| {
        let values: Vec<f64> = data.grid_runs().filter_map(|run| run.figures.get(of)).collect();
        if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
    };
    let others = Some(mean(figures::CPU_OTHERS_PCT)).filter(|pct| *pct >= BUSY_PCT);
    let stolen = Some(mean(figures::STEAL_PCT)).filter(|pct| *pct >= STOLEN_PCT);
    others.map(Busy::OtherPrograms).into_iter().chain(stolen.map(Busy::Hypervisor)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{experiment, host, run, target};

    const SCATTER: [f64; 8] = [0.9, -1.2, 0.4, 1.3, -0.7, -0.3, 1.0, -1.4];

    /// Two arms: logs of B's change and noise, of throughput and of CPU per transaction.
    fn measured(tps: (f64, f64), cpu: (f64, f64), others_pct: f64) -> ReportData {
        let mut runs = Vec::new();
        for (round, scatter) in (1..).zip(SCATTER) {
            for (arm, b) in [("A", 0.0), ("B", 1.0)] {
                let log = |(change, noise): (f64, f64)| f64::exp(b * (change + noise * scatter));
                let mut run = run("reads", 4, Some(arm), round, 9000.0 * log(tps));
                let cpu_s = run.completed() as f64 * 50e-6 * log(cpu);
                run.figures.set(figures::SERVER_CPU_S, cpu_s);
                run.figures.set(figures::CPU_OTHERS_PCT, others_pct);
                runs.push(run);
            }
        }
        ReportData::new(experiment(&["A", "B"]), host(), target(), runs)
    }

    fn other(data: &ReportData) -> OtherMetric {
        let of = data.compared().unwrap();
        OtherMetric::of(data, of, &of.arms[0]).unwrap()
    }

    #[test]
    fn the_narrower_interval_is_the_more_reliable_one() {
        let found = other(&measured((0.0, 0.05), (0.0, 0.02), 47.0));
        assert_eq!((found.metric, found.verdict), (Metric::Cpu, Verdict::Same));
        let reliable = found.reliable.unwrap();
        assert_eq!(reliable.metric, Some(Metric::Cpu));
        assert_eq!(reliable.busy, [Busy::OtherPrograms(47.0)]);
        assert!(reliable.answer.half_width_pct > 2.0 * reliable.other.half_width_pct, "{reliable:?}");
        assert_eq!((reliable.answer.metric, reliable.answer.change_pct), (Metric::Tps, None));
        let reliable = other(&measured((0.0, 0.01), (0.0, 0.02), 47.0)).reliable.unwrap();
        assert_eq!((reliable.metric, reliable.busy.len()), (Some(Metric::Tps), 0));
        let reliable = other(&measured((0.0, 0.01), (0.0, 0.0102), 3.0)).reliable.unwrap();
        assert_eq!(reliable.metric, None);
    }

    /// The interval of CPU is longer here, but its change is three times as large.
    #[test]
    fn intervals_of_sure_changes_are_compared_relative_to_the_change() {
        let reliable = other(&measured((-0.1, 0.02), (0.3, 0.03), 3.0)).reliable.unwrap();
        assert_eq!((reliable.metric, reliable.busy.len()), (Some(Metric::Cpu), 0));
        assert!(reliable.other.half_width_pct > reliable.answer.half_width_pct);
        assert!(reliable.other.change_pct.is_some_and(|change| (change - 35.0).abs() < 1.0), "{reliable:?}");
    }

    #[test]
    fn without_cpu_there_is_no_other_metric() {
        let mut data = measured((0.0, 0.01), (0.0, 0.01), 3.0);
        for run in &mut data.runs {
            run.figures.remove(figures::SERVER_CPU_S);
        }
        let data = ReportData::new(data.experiment, data.host, data.target, data.runs);
        let of = data.compared().unwrap();
        assert_eq!(OtherMetric::of(&data, of, &of.arms[0]), None);
        assert!(data.cpu().is_none());
        // Asked for nevertheless, each pair says why.
        let asked = Comparison::of(&data.experiment, &data.runs, Metric::Cpu).unwrap();
        let arm = &asked.arms[0];
        assert_eq!((arm.cells[0].estimate, arm.cells[0].verdict), (None, Verdict::Invalid));
        let why = asked.why_unavailable(arm).unwrap();
        assert!(why.contains("is not available: the server is not on this machine"), "{why}");
        assert_eq!(of.why_unavailable(&of.arms[0]), None);
    }
}
