//! The other metric of work in words: its change and verdict, and which of both is more reliable here.

use results::answer::{Busy, OtherMetric, Precision, Reliable};
use results::comparison::{ArmComparison, Comparison, Metric};
use results::{CellValue, ReportData};

use crate::compared::{change, verdict_by_metric};
use crate::numbers::{self, real_cell};

/// Columns for programs, in the line of a whole grid.
pub(crate) const COLUMNS: [&str; 6] =
    ["other_metric", "other_change_pct", "other_low_pct", "other_high_pct", "other_verdict", "more_reliable"];

/// The sentences on an arm; `None` where the other metric is not available.
pub(crate) fn words(data: &ReportData, of: &Comparison, arm: &ArmComparison) -> Option<String> {
    let other = OtherMetric::of(data, of, arm)?;
    let verdict = verdict_by_metric(other.verdict, other.metric, of.margin);
    let reliable = other.reliable.map(|of| format!(" {}", reliable(&of))).unwrap_or_default();
    let (noun, change) = (other.metric.noun(), change(&other.estimate));
    Some(format!("By {noun}: {verdict}: {change} against {}.{reliable}", of.base))
}

/// Why the metric that does not give the answer is the more reliable one for an arm; `None` if it is not.
pub(crate) fn more_reliable(data: &ReportData, of: &Comparison, arm: &ArmComparison) -> Option<String> {
    let reliable = OtherMetric::of(data, of, arm)?.reliable?;
    let metric = reliable.metric.filter(|metric| *metric != of.metric)?;
    let busy: Vec<String> = reliable.busy.iter().map(busy).collect();
    let why = if busy.is_empty() { String::new() } else { format!(": {}", busy.join(", ")) };
    Some(format!("More reliable here is {}{why}.", metric.noun()))
}

/// All comparisons of a report. First the answer's, unless the other metric is more reliable for every arm of which
/// that is known.
pub(crate) fn by_reliability(data: &ReportData) -> Vec<&Comparison> {
    let mut compared = data.comparisons();
    let reliable: Vec<Metric> = data
        .compared()
        .into_iter()
        .flat_map(|of| of.arms.iter().map(move |arm| OtherMetric::of(data, of, arm)))
        .filter_map(|other| other?.reliable?.metric)
        .collect();
    if let Some(first) = reliable.first().filter(|first| reliable.iter().all(|metric| metric == *first)) {
        // Stable: the others keep their order.
        compared.sort_by_key(|of| of.metric != *first);
    }
    compared
}

/// Of all arms, a sentence or two each: for a table that shows one metric.
pub(crate) fn of_arms(data: &ReportData, of: &Comparison) -> Vec<String> {
    let several = of.arms.len() > 1;
    let said = |arm: &ArmComparison| {
        let words = words(data, of, arm)?;
        Some(if several { format!("{}: {words}", arm.arm) } else { words })
    };
    of.arms.iter().filter_map(said).collect()
}

/// Values of [`COLUMNS`].
pub(crate) fn cells(other: Option<&OtherMetric>, margin: f64) -> Vec<CellValue> {
    let interval = other.and_then(|other| other.estimate.interval_pct());
    let reliable = other.and_then(|other| other.reliable.as_ref());
    vec![
        other.map(|other| other.metric.name()).into(),
        real_cell(other.map(|other| other.estimate.change_pct())),
        real_cell(interval.map(|(low, _)| low)),
        real_cell(interval.map(|(_, high)| high)),
        other.map(|other| verdict_by_metric(other.verdict, other.metric, margin)).into(),
        reliable.map(|of| of.metric.map_or("both", Metric::name)).into(),
    ]
}

fn reliable(of: &Reliable) -> String {
    let Some(metric) = of.metric else {
        let [answer, other] = [&of.answer, &of.other].map(|of| format!("{} {}", of.metric.noun(), half(of)));
        return format!("Both are about as reliable here: {answer}, {other}.");
    };
    let (more, less) =
        if of.answer.metric == metric { (&of.answer, &of.other) } else { (&of.other, &of.answer) };
    let busy: Vec<String> = of.busy.iter().map(busy).collect();
    let why = match busy.is_empty() {
        true => String::new(),
        false => format!("; {}, and throughput includes waiting for a CPU", busy.join(", ")),
    };
    format!(
        "More reliable here is {}: {}, {} {}{why}.",
        metric.noun(),
        half(more),
        less.metric.noun(),
        half(less)
    )
}

/// `± 4.4 %`, `± 9.3 % at -17.0 %`.
fn half(of: &Precision) -> String {
    let half = numbers::fixed(of.half_width_pct, 1);
    let change = of.change_pct.map(|change| format!(" at {}", numbers::change(change))).unwrap_or_default();
    format!("± {half} %{change}")
}

fn busy(of: &Busy) -> String {
    let share = |pct: f64| numbers::percent(pct.round() / 100.0);
    match of {
        Busy::OtherPrograms(pct) => format!("other programs used {} of the CPUs", share(*pct)),
        Busy::Hypervisor(pct) => format!("the hypervisor took {} of the CPU time", share(*pct)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reliability_names_both_metrics_and_the_reason() {
        let of = |metric, half_width_pct, change_pct| Precision { metric, half_width_pct, change_pct };
        let both = Reliable {
            metric: Some(Metric::Cpu),
            answer: of(Metric::Tps, 4.44, None),
            other: of(Metric::Cpu, 2.8, None),
            busy: vec![Busy::OtherPrograms(47.3)],
        };
        assert_eq!(
            reliable(&both),
            "More reliable here is server CPU per transaction: ± 2.8 %, throughput ± 4.4 %; other programs used 47 % of \
             the CPUs, and throughput includes waiting for a CPU."
        );
        let changed = Reliable {
            metric: Some(Metric::Tps),
            answer: of(Metric::Cpu, 7.1, Some(22.0)),
            other: of(Metric::Tps, 3.0, Some(-17.0)),
            busy: Vec::new(),
        };
        let said = reliable(&changed);
        let wanted = "More reliable here is throughput: ± 3.0 % at -17.0 %, server CPU per transaction ± 7.1 % at +22.0 %.";
        assert_eq!(said, wanted);
        let alike = Reliable { metric: None, ..both };
        assert!(reliable(&alike).starts_with("Both are about as reliable here: "));
    }
}
