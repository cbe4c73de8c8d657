//! The history of a gate: a table, the changes in words, and a chart.

use results::Table;
use results::gate::{GateHistory, HistoryPoint};
use spec::GateRecord;
use stats::percent_change;

use super::{noun, short, signed_pct};
use crate::chart::axis::{Spacing, Tick};
use crate::chart::line::{AxisUnit, ChartPoint, LineChart, Series};
use crate::chart_file::{self, ChartFile};
use crate::numbers;
use crate::numbers::real_cell;

/// Ticks with a commit below the chart.
const TICKS: usize = 8;

/// One line per judged commit.
#[must_use]
pub fn table(history: &GateHistory) -> Table {
    let mut table = Table::new(["commit", "subject", "judged", "base", "metric"])
        .numbers(["change_pct"])
        .text(["outcome", "changed", "experiment"]);
    for (at, point) in history.points.iter().enumerate() {
        let gate = &point.gate;
        let changed = history.changes.iter().find(|change| change.at == at);
        table.push([
            short(&gate.commit).into(),
            gate.subject.clone().into(),
            results::data::when(&gate.judged_at).into(),
            gate.base_commit.as_deref().map_or(gate.base.as_str(), short).into(),
            noun(gate.metric).into(),
            real_cell(point.change_pct()),
            gate.judgement.word().into(),
            changed.map(|change| signed_pct(Some(change.change_pct))).into(),
            point.experiment.0.to_string().into(),
        ]);
    }
    table
}

fn named(gate: &GateRecord) -> String {
    let subject = gate.subject.as_deref().map(|subject| format!(" ({subject})"));
    format!("{}{}", short(&gate.commit), subject.unwrap_or_default())
}

/// A sentence for each change: by how much, and which commit most likely caused it.
pub(super) fn changes(history: &GateHistory) -> Vec<String> {
    let said = |change: &results::gate::HistoryChange| {
        let metric = noun(history.points[change.at].gate.metric);
        let cause = |at: usize| named(&history.points[at].gate);
        let by = match &change.causes[..] {
            [] => String::new(),
            [only] => format!(", by {}", cause(only.at)),
            [first, others @ ..] => {
                let others: Vec<String> =
                    others.iter().map(|of| format!("{} ({})", cause(of.at), share(of.probability))).collect();
                format!(
                    ", most likely by {} ({}), else by {}",
                    cause(first.at),
                    share(first.probability),
                    others.join(", ")
                )
            }
        };
        format!("history: {metric} changed by {}{by}", numbers::change(change.change_pct))
    };
    history.changes.iter().map(said).collect()
}

fn share(probability: f64) -> String {
    numbers::percent((probability * 100.0).round() / 100.0)
}

/// Characters of a name below the chart: as many ticks next to each other have room for these.
const LONGEST_LABEL: usize = 12;

/// A commit's first seven digits, or the name of a build, cut only if it does not fit.
fn label(commit: &str) -> String {
    let is_hash = commit.len() >= 40 && commit.bytes().take(40).all(|byte| byte.is_ascii_hexdigit());
    match commit.chars().count() {
        _ if is_hash => commit.chars().take(7).collect(),
        0..=LONGEST_LABEL => commit.to_owned(),
        _ => commit.chars().take(LONGEST_LABEL - 1).chain(['…']).collect(),
    }
}

/// The figure over commits, a line for each base; `None` with fewer than two commits.
#[must_use]
pub fn chart(name: &str, history: &GateHistory) -> Option<ChartFile> {
    // Of one metric only: more is better in one, and worse in the other.
    let metric = history.points.last()?.gate.metric;
    let is_shown = |point: &HistoryPoint| point.gate.log_ratio.is_some() && point.gate.metric == metric;
    let with: Vec<(usize, &HistoryPoint)> =
        history.points.iter().enumerate().filter(|(_, point)| is_shown(point)).collect();
    if with.len() < 2 {
        return None;
    }
    let last = history.points.last()?;
    let of_series = |series: usize| {
        let own: Vec<&(usize, &HistoryPoint)> =
            with.iter().filter(|(_, point)| point.series == series).collect();
        let base = &own.first()?.1.gate;
        let points = own.iter().filter_map(|(at, point)| {
            let ratio = point.gate.log_ratio?;
            let range = point.gate.interval.map(|(low, high)| (percent_change(low), percent_change(high)));
            Some(ChartPoint { x: *at as f64, y: percent_change(ratio), range })
        });
        let against = base.base_commit.as_deref().map_or(base.base.as_str(), short);
        Some(Series::measured(format!("against {against}"), points.collect()))
    };
    let count = last.series + 1;
    let series: Vec<Series> = (0..count).filter_map(of_series).collect();
    let step = history.points.len().div_ceil(TICKS).max(1);
    let is_marked = |at: usize| at.is_multiple_of(step) || at + 1 == history.points.len();
    let ticks = history.points.iter().enumerate().filter(|(at, _)| is_marked(*at));
    let chart = LineChart {
        title: format!("{name}: {} over commits", noun(last.gate.metric)),
        caption:
            "Change against the base, with its 95 % interval, in the order in which commits were judged."
                .to_owned(),
        x_name: "commit",
        y_name: "change, %",
        x_ticks: ticks
            .map(|(at, point)| Tick { value: at as f64, label: label(&point.gate.commit) })
            .collect(),
        y_spacing: Spacing::Near,
        unit: AxisUnit::Percent,
        markers: true,
        series,
        data: table(history),
    };
    chart_file::alone(&chart)
}

#[cfg(test)]
mod tests {
    use super::label;

    /// `v1-spin1` and `v1-spin10` were both "v1-spin".
    #[test]
    fn names_below_the_chart_are_whole_where_they_fit() {
        let hash = "a1b2c3d4".repeat(5);
        for (commit, wanted) in [
            (hash.as_str(), "a1b2c3d"),
            (&format!("{hash}-dirty"), "a1b2c3d"),
            ("v1-spin10", "v1-spin10"),
            ("a-very-long-name", "a-very-long…"),
        ] {
            assert_eq!(label(commit), wanted);
        }
    }
}
