//! The sentences: verdicts, the answer, what is to be believed. Page and summary take them from here.

use std::collections::BTreeMap;

use record::{Reason, Validity};
use results::comparison::{ArmComparison, Cell, Comparison, Figure, Grouped, Metric};
use stats::{Estimate, Group, Verdict};

use crate::arrivals;
use crate::data::{ReportData, cell_text};
use crate::numbers;
use crate::tables::CellFigures;

/// What a verdict feels like: for colour and shape, never alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Better,
    Worse,
    Same,
    Unclear,
}

impl Tone {
    pub(crate) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Self::Better,
            Verdict::Slower => Self::Worse,
            Verdict::Same => Self::Same,
            Verdict::Inconclusive { .. } | Verdict::Invalid => Self::Unclear,
        }
    }

    /// Class of a table cell; stronger from `strong` percent on.
    pub(crate) fn cell_class(self, change_pct: f64, strong: f64) -> &'static str {
        match (self, change_pct.abs() >= strong) {
            (Self::Better, false) => "better",
            (Self::Better, true) => "better much",
            (Self::Worse, false) => "worse",
            (Self::Worse, true) => "worse much",
            (Self::Same, _) => "same",
            (Self::Unclear, _) => "unclear",
        }
    }

    /// Class of a mark in a chart.
    pub(crate) fn mark_class(self) -> &'static str {
        match self {
            Self::Better => "v-better",
            Self::Worse => "v-worse",
            Self::Same => "v-same",
            Self::Unclear => "v-unclear",
        }
    }

    /// Outline of a mark around the origin: a shape of its own for each.
    pub(crate) fn shape(self) -> &'static str {
        match self {
            Self::Better => "M0-5.5L5.5 4.5H-5.5z",
            Self::Worse => "M0 5.5L5.5-4.5H-5.5z",
            Self::Same => "M-4.5-4.5h9v9h-9z",
            Self::Unclear => "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
        }
    }
}

/// A verdict alone, e.g. `same within 3 %`.
pub(crate) fn verdict(verdict: Verdict, margin: f64) -> String {
    match verdict {
        Verdict::Faster => "faster".to_owned(),
        Verdict::Slower => "slower".to_owned(),
        Verdict::Same => format!("same within {}", numbers::percent(margin)),
        Verdict::Inconclusive { .. } => "inconclusive".to_owned(),
        Verdict::Invalid => "invalid".to_owned(),
    }
}

/// What is said where there is nothing to judge.
const INVALID: &str = "invalid, no valid pair";

/// Of how many cells a figure is, where not all that belong in it have a valid pair: `incomplete: 1 of 3 cells`.
pub(crate) fn incomplete_cells(with_pair: usize, all: usize) -> String {
    format!("incomplete: {} of {}", numbers::count(with_pair as u64), numbers::counted(all, "cell", "cells"))
}

/// What a figure over several cells lacks; `None` where it is complete.
pub(crate) fn incomplete(of: &Figure) -> Option<String> {
    if of.grid.cells < of.cells {
        Some(incomplete_cells(of.grid.cells, of.cells))
    } else {
        of.is_incomplete().then(|| "incomplete: some rounds".to_owned())
    }
}

/// The verdict of a figure over several cells, with what it lacks.
pub(crate) fn verdict_of_figure(of: &Figure, margin: f64) -> String {
    let verdict = verdict_with_advice(of.verdict, margin);
    incomplete(of).map_or(verdict.clone(), |lacks| format!("{verdict}; {lacks}"))
}

/// What stands in place of the figure of a workload, or of the whole grid (`None`), that has none.
pub(crate) fn no_figure(arm: &ArmComparison, workload: Option<&str>) -> String {
    match arm.averaged(workload) {
        0 => "none: offered rates set the throughput".to_owned(),
        _ => INVALID.to_owned(),
    }
}

/// A verdict with what would make it clearer, e.g. `inconclusive, about 12 more pairs needed`.
pub(crate) fn verdict_with_advice(of: Verdict, margin: f64) -> String {
    match of {
        Verdict::Inconclusive { more_pairs: Some(more) } if more <= 1000 => {
            let pairs = numbers::counted(more as usize, "more pair", "more pairs");
            format!("{}, about {pairs} needed", verdict(of, margin))
        }
        Verdict::Invalid => INVALID.to_owned(),
        _ => verdict(of, margin),
    }
}

/// A change with its interval, e.g. `+0.8 % [-0.4, +2.0]`; says when it only indicates.
pub(crate) fn estimate(of: &Estimate) -> String {
    let change = numbers::change_with_interval(of.change_pct(), of.interval_pct());
    match of.n {
        1 => format!("{change} (one round: no interval)"),
        2 => format!("{change} (two rounds: indicative)"),
        _ => change,
    }
}

/// A change of something against the base: `+0.8 % [-0.4, +2.0] throughput against stock`, or `52 times [38, 71] the
/// throughput of stock`.
pub(crate) fn against(of: &Estimate, metric: Metric, base: &str) -> String {
    let (change, noun) = (estimate(of), metric.noun());
    if numbers::is_factor(of.change_pct()) {
        format!("{change} the {noun} of {base}")
    } else {
        format!("{change} {noun} against {base}")
    }
}

/// A value of a metric with its unit; throughput without.
pub(crate) fn value(metric: Metric, value: Option<f64>) -> String {
    let written = match metric {
        Metric::Tps => numbers::tps,
        Metric::P50 | Metric::P95 | Metric::P99 => numbers::latency_us,
    };
    value.map_or(numbers::ABSENT.to_owned(), written)
}

/// Two groups among the runs of a cell: `5 runs about 6,900, one 32,149: placement?`
pub(crate) fn groups(found: &Grouped) -> String {
    let (low, high) = (found.groups.low, found.groups.high);
    let group = |of: Group, noun: &str| match of.n {
        1 => format!("one {}", numbers::tps(of.center)),
        n => format!("{n}{noun} about {}", numbers::about(of.center)),
    };
    // The first has two runs at least.
    let (first, second) = if high.n > low.n { (high, low) } else { (low, high) };
    let cause = match found.since_round {
        Some(round) => format!("a change for good, from round {round} on?"),
        None => "placement?".to_owned(),
    };
    format!("{}, {}: {cause}", group(first, " runs"), group(second, ""))
}

/// The same with its place: `tpcb, 4 clients, stock: 5 runs about …`.
pub(crate) fn grouped_cell(found: &Grouped) -> String {
    let arm = found.arm.as_ref().map(|arm| format!(", {arm}")).unwrap_or_default();
    format!("{}{arm}: {}", cell_text(&found.cell), groups(found))
}

/// The same for both arms of a comparison, each named: `stock: 5 runs about …; gis: …`. `None` where neither has groups.
pub(crate) fn groups_of_pair(all: &[Grouped], cell: &Cell, arms: [&str; 2]) -> Option<String> {
    let of_arm = |arm: &str| {
        let found = all.iter().find(|found| found.cell == *cell && found.arm.as_deref() == Some(arm))?;
        Some(format!("{arm}: {}", groups(found)))
    };
    let each: Vec<String> = arms.into_iter().filter_map(of_arm).collect();
    (!each.is_empty()).then(|| each.join("; "))
}

/// Cells that are named one by one.
const NAMED: usize = 5;

/// What is to be said of runs that fall into two groups: a head, and a line per cell. Empty when there are none.
pub(crate) fn grouped(data: &ReportData) -> Vec<String> {
    let found = &data.groups;
    if found.is_empty() {
        return Vec::new();
    }
    let cells = numbers::counted(found.len(), "cell", "cells");
    let mut lines = vec![format!("Runs of {cells} fall into two groups by their transactions per second:")];
    lines.extend(found.iter().take(NAMED).map(grouped_cell));
    if found.len() > NAMED {
        lines.push(format!("{} more: pgdyno table cells", found.len() - NAMED));
    }
    lines
}

/// The answer for one arm.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The arm's name.
    pub(crate) arm: String,
    /// The verdict over the grid, in words.
    pub(crate) verdict: String,
    pub(crate) tone: Tone,
    /// Change, interval and what they are taken over.
    pub(crate) figures: String,
    /// What weakens crash safety, in words; empty when nothing does.
    pub(crate) unsafe_settings: String,
    /// More that must be said with it: cells that go the other way, pairs left out.
    pub(crate) remarks: Vec<String>,
}

/// What must be said of arms that were not measured in turn.
pub(crate) const NOT_INTERLEAVED: &str =
    "Not interleaved: the arms were measured at different times, so drift and change cannot be told apart.";

/// Answers for all arms but the base; empty when nothing is compared.
pub(crate) fn answers(data: &ReportData) -> Vec<Answer> {
    let mut answers: Vec<Answer> =
        data.answer().iter().flat_map(|found| found.arms.iter().map(|arm| answer(found, arm))).collect();
    let by_throughput =
        |arm: &str| data.throughput.iter().flat_map(|found| &found.arms).find(|of| of.arm == arm);
    for answer in &mut answers {
        answer.remarks.extend(by_throughput(&answer.arm).and_then(scheduled));
    }
    if !data.experiment.is_interleaved() {
        answers.iter_mut().for_each(|answer| answer.remarks.insert(0, NOT_INTERLEAVED.to_owned()));
    }
    answers
}

fn answer(comparison: &Comparison, arm: &ArmComparison) -> Answer {
    let (verdict, tone, figures) = match &arm.grid {
        Some(grid) => (
            verdict_with_advice(grid.verdict, comparison.margin),
            Tone::of(grid.verdict),
            format!(
                "{}, {}",
                against(&grid.grid.estimate, comparison.metric, &comparison.base),
                over(grid, comparison.rounds)
            ),
        ),
        None if arm.scheduled > 0 && !arm.is_invalid() => (
            "no one figure".to_owned(),
            Tone::Unclear,
            format!("offered rates set the throughput; by cell: {}", tally(arm)),
        ),
        None if arm.cells.is_empty() => {
            ("not compared".to_owned(), Tone::Unclear, "no pair of runs yet".to_owned())
        }
        None => (
            "invalid".to_owned(),
            Tone::Unclear,
            format!("no valid pair in {}", numbers::counted(arm.cells.len(), "cell", "cells")),
        ),
    };
    Answer {
        arm: arm.arm.clone(),
        verdict,
        tone,
        figures,
        unsafe_settings: arm.unsafe_settings.join(", "),
        remarks: remarks(arm),
    }
}

/// Why some cells are in no figure of the throughput.
fn scheduled(arm: &ArmComparison) -> Option<String> {
    let cells = match (arm.scheduled, arm.scheduled == arm.cells.len()) {
        (0, _) => return None,
        (_, true) => "In all cells".to_owned(),
        (1, false) => "In 1 cell".to_owned(),
        (n, false) => format!("In {n} cells"),
    };
    Some(format!(
        "{cells} the rate is offered on a schedule, which sets the throughput: no figure averages over it; compared          are the response times."
    ))
}

/// `over this grid, 6 rounds x 8 cells`.
fn over(figure: &Figure, rounds: usize) -> String {
    let cells = numbers::counted(figure.grid.cells, "cell", "cells");
    let rounds = numbers::counted(rounds, "round", "rounds");
    let incomplete = incomplete(figure).map(|lacks| format!("; {lacks}")).unwrap_or_default();
    format!("over this grid, {rounds} x {cells}{incomplete}")
}

fn remarks(arm: &ArmComparison) -> Vec<String> {
    let mut remarks = Vec::new();
    let against = arm.against();
    if !against.is_empty() {
        let cells: Vec<String> = against
            .iter()
            .map(|cell| {
                let change =
                    cell.estimate.map_or(numbers::ABSENT.to_owned(), |e| numbers::change(e.change_pct()));
                format!("{} ({change})", cell_text(&cell.cell))
            })
            .collect();
        remarks.push(format!("The other way: {}.", cells.join("; ")));
    }
    if let Some(spread) = arm.heterogeneity.filter(|spread| spread.i_squared > 0.5 && arm.cells.len() > 1) {
        remarks.push(format!(
            "Cells differ by more than their noise (I² = {}): read the answers per workload and cell.",
            numbers::percent((spread.i_squared * 100.0).round() / 100.0)
        ));
    }
    match arm.excluded() {
        0 => {}
        n => remarks.push(format!(
            "{} left out, because a run in {} was invalid or measured nothing.",
            numbers::counted(n, "pair", "pairs"),
            if n == 1 { "it" } else { "each" }
        )),
    }
    remarks
}

/// How many cells have which verdict: `2 faster, 1 same, 5 inconclusive`.
pub(crate) fn tally(arm: &ArmComparison) -> String {
    let tally = arm.tally();
    let parts = [
        (tally.faster, "faster"),
        (tally.slower, "slower"),
        (tally.same, "same"),
        (tally.inconclusive, "inconclusive"),
        (tally.invalid, "invalid"),
    ];
    let shown: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    shown.join(", ")
}

/// Whether the runs can be believed, in one or two sentences.
pub(crate) fn validity(data: &ReportData) -> String {
    let all = data.runs.len();
    let (suspect, invalid) = data.doubtful();
    let sentence = |count: usize, validity, consequence: &str| {
        let verb = if count == 1 { "is" } else { "are" };
        let word = if validity == Validity::Invalid { "invalid" } else { "suspect" };
        format!("{count} of {} {verb} {word} ({}) {consequence}", runs(all), reasons(data, validity))
    };
    match (all, suspect, invalid) {
        (0, ..) => "No run is stored yet.".to_owned(),
        (1, 0, 0) => "The one run is valid.".to_owned(),
        (_, 0, 0) => format!("All {} are valid.", runs(all)),
        _ => {
            let mut sentences = Vec::new();
            if invalid > 0 {
                sentences.push(sentence(invalid, Validity::Invalid, "and left out of all figures."));
            }
            if suspect > 0 {
                sentences.push(sentence(suspect, Validity::Suspect, "but counted."));
            }
            sentences.join(" ")
        }
    }
}

fn runs(count: usize) -> String {
    numbers::counted(count, "run", "runs")
}

/// `errors 2, throttled 1`.
fn reasons(data: &ReportData, validity: Validity) -> String {
    let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
    for doubt in data.runs.iter().filter(|run| run.validity == validity).flat_map(|run| &run.doubts) {
        *counts.entry(doubt.reason).or_default() += 1;
    }
    if counts.is_empty() {
        return "no reason stored".to_owned();
    }
    let listed: Vec<String> =
        counts.iter().map(|(reason, count)| format!("{} {count}", reason.text())).collect();
    listed.join(", ")
}

/// Cells told one by one; the rest is counted.
const TOLD: usize = 12;

/// What became of the arrivals in each cell and arm of an open load, and how a promise was kept in the others, a line each.
pub(crate) fn in_time(data: &ReportData) -> Vec<String> {
    let all = CellFigures::of(data.grid_runs(), &data.arms());
    let told: Vec<_> = all.iter().filter_map(|figures| Some((figures, figures.in_time.words()?))).collect();
    let mut lines: Vec<String> = told
        .iter()
        .take(TOLD)
        .map(|(figures, words)| {
            let arm = figures.arm.map(|arm| format!(", {arm}")).unwrap_or_default();
            let overloaded = figures.in_time.arrivals.is_some_and(|arrivals| arrivals.is_overloaded());
            let verdict = if overloaded { "; overloaded" } else { "" };
            format!("{}{arm}: {words}{verdict}", cell_text(&figures.cell))
        })
        .collect();
    if told.len() > TOLD {
        lines.push(format!("and {} more: pgdyno table cells", told.len() - TOLD));
        lines.extend(overload(data));
    }
    lines
}

/// Which cells are overloaded, in a sentence; `None` where none is.
pub(crate) fn overload(data: &ReportData) -> Option<String> {
    let all = CellFigures::of(data.grid_runs(), &data.arms());
    let told: Vec<String> = all
        .iter()
        .filter_map(|figures| {
            Some((figures, figures.in_time.arrivals.filter(|arrivals| arrivals.is_overloaded())?))
        })
        .map(|(figures, arrivals)| {
            let arm = figures.arm.map(|arm| format!(", {arm}")).unwrap_or_default();
            let share = arrivals::share(&arrivals);
            let offered = numbers::figure(arrivals.offered_per_s());
            format!("{}{arm} ({share} of the offered {offered}/s in time)", cell_text(&figures.cell))
        })
        .collect();
    let more = told.len().saturating_sub(TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    (!told.is_empty()).then(|| format!("Overloaded: {}{more}.", told[..told.len().min(TOLD)].join("; ")))
}

/// What an experiment without comparison gave, in a sentence.
pub(crate) fn without_comparison(data: &ReportData) -> String {
    let usable: Vec<_> = data.grid_runs().filter(|run| run.validity != Validity::Invalid).collect();
    match usable.as_slice() {
        [] if data.jobs().next().is_some() => "Nothing was driven by clients; the jobs are below.".to_owned(),
        [] => "No valid run to speak of.".to_owned(),
        [run] => format!(
            "{} transactions per second, response time{} p50 {}, p99 {}. One run has no interval: repeat it before \
             believing small differences.",
            run.tps().map_or(numbers::ABSENT.to_owned(), numbers::tps),
            if arrivals::of_started_only(run) { " of those started" } else { "" },
            run.response_us(0.5).map_or(numbers::ABSENT.to_owned(), numbers::latency_us),
            run.response_us(0.99).map_or(numbers::ABSENT.to_owned(), numbers::latency_us),
        ),
        several if data.compares() => {
            format!("{} so far, but no pair of arms to compare yet.", runs(several.len()))
        }
        several => format!("{}; nothing is compared.", runs(several.len())),
    }
}

/// The question, or the name of an experiment that asks none.
pub(crate) fn question(data: &ReportData) -> &str {
    [&data.experiment.question, &data.experiment.name]
        .into_iter()
        .map(|text| text.trim())
        .find(|text| !text.is_empty())
        .unwrap_or("A measurement")
}

/// A sentence with a capital first letter.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
