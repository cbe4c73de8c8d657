//! What was decided about an experiment, and why.

use std::collections::BTreeMap;

use results::answer::{Answer, Uncut};
use results::{ReportData, Table};
use spec::figures;
use spec::plan::Slicing;

use crate::numbers;

/// A line for each decision; none for single and imported runs.
#[must_use]
pub fn decisions(data: &ReportData) -> Table {
    let mut table = Table::new(["decision", "value", "reason", "open_until"]);
    let Some(plan) = data.experiment.plan.plan() else { return table };
    let uncut = Answer::of(data).remarks.uncut;
    let by_turns = plan.decisions.slices.iter().filter(|(_, decision)| *decision.value() == Slicing::Slices);
    let mut by_warm_ups: BTreeMap<String, (String, String)> = by_turns
        .filter_map(|(name, _)| Some((format!("arms of {name}"), by_warm_ups(data, name, &uncut)?)))
        .collect();
    for row in plan.decisions.rows() {
        let open_until = row.needs_words();
        let (value, why) = match by_warm_ups.remove(&row.what) {
            Some((value, why)) => (value, format!("{why}; the rule: {}", row.why)),
            None => (row.value, row.why),
        };
        table.push([row.what.into(), value.into(), why.into(), open_until.into()]);
    }
    table
}

/// What the warm-ups decided where arms may take turns: each decides about its own round.
fn by_warm_ups(data: &ReportData, workload: &str, uncut: &[Uncut]) -> Option<(String, String)> {
    let own: Vec<&Uncut> =
        uncut.iter().filter(|uncut| uncut.workloads.iter().any(|name| name == workload)).collect();
    let why = own.iter().map(|uncut| uncut.why.as_str()).collect::<Vec<_>>().join("; ");
    let lengths = data.grid_runs().filter(|run| run.workload == workload && run.is_sliced());
    let lengths: Vec<f64> = lengths.filter_map(|run| run.figures.get(figures::SLICE_MS)).collect();
    let one_by_one = Slicing::Uncut.words();
    if lengths.is_empty() {
        return (!own.is_empty()).then(|| (one_by_one.to_owned(), format!("the warm-ups decided: {why}")));
    }
    let [least, most] =
        [lengths.iter().copied().fold(f64::INFINITY, f64::min), lengths.iter().copied().fold(0.0, f64::max)];
    let each = match least == most {
        true => format!("{} ms", numbers::as_given(least)),
        false => format!("{} to {} ms", numbers::as_given(least), numbers::as_given(most)),
    };
    let of_rounds = |uncut: &&Uncut| {
        uncut
            .rounds
            .map(|(some, all)| format!("; in {some} of {} {one_by_one}", numbers::counted(all, "round")))
    };
    let rounds: String = own.iter().filter_map(of_rounds).collect();
    let lengths = "the warm-ups decide, by the lengths of their transactions".to_owned();
    let reason = [lengths].into_iter().chain((!why.is_empty()).then_some(why)).collect::<Vec<_>>().join("; ");
    Some((format!("{} of {each}{rounds}", Slicing::Slices.words()), reason))
}
