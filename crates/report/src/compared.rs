//! Comparisons as text: changes, verdicts, what they cover and what they lack.

use results::answer::SuspectRuns;
use results::comparison::{
    ArmComparison, Cell, CellComparison, Comparison, GridFigure, Grouped, Metric, Tally,
};
use stats::{Estimate, ValueGroup, Verdict};

use crate::numbers;
use results::data::cell_text;

/// A change with its interval, e.g. `+0.8 % [-0.4, +2.0]`; marked if it rests on one or two rounds.
pub(crate) fn change(of: &Estimate) -> String {
    let change = numbers::change_with_interval(of.change_pct(), of.interval_pct());
    indicative(of).map_or(change.clone(), |why| format!("{change} ({why})"))
}

/// Why a change says little; `None` if it has enough rounds.
pub(crate) fn indicative(of: &Estimate) -> Option<&'static str> {
    match of.n {
        1 => Some("from one: no interval"),
        2 => Some("from two rounds only"),
        _ => None,
    }
}

pub(crate) const FROM_SLICES: &str = "Percentiles are from slices, which empty the queues.";

/// A change of something against the base: `+0.8 % [-0.4, +2.0] throughput against stock`, or `52 times
/// [38, 71] the throughput of stock`.
pub(crate) fn against(of: &Estimate, noun: &str, base: &str) -> String {
    let change = change(of);
    if numbers::is_factor(of.change_pct()) {
        format!("{change} the {noun} of {base}")
    } else {
        format!("{change} {noun} against {base}")
    }
}

/// The control of two experiments that were measured separately, as a sentence without its stop: how the
/// arm that both have changed by itself. `None` for every other comparison.
#[must_use]
pub fn control(of: &Comparison) -> Option<String> {
    let control = of.control.as_ref()?;
    let Some(estimate) = control.change() else {
        return Some(format!("{} is in both, but has no valid run in one of them", control.arm));
    };
    let changed = format!("{}: {}", control.arm, change(&estimate));
    Some(match control.differs() {
        true => {
            let what = if control.is_base { "the base" } else { "the arm that both have" };
            let percent = numbers::percent((estimate.change_pct().abs()).round() / 100.0);
            format!("{what} itself differs by {percent}: nothing can be said ({changed})")
        }
        false => {
            let is_same = control.figure.is_some_and(|figure| figure.verdict == Verdict::Same);
            let itself = if is_same { "is the same" } else { "has no decided change" };
            format!("relative to {}, which both have and which itself {itself} ({changed})", control.arm)
        }
    })
}

pub(crate) fn lacks(of: &GridFigure) -> Option<String> {
    if of.grid.cells < of.cells {
        Some(incomplete(of.grid.cells, of.cells))
    } else {
        of.is_incomplete().then(|| "incomplete: some rounds".to_owned())
    }
}

/// What a reader must know of a figure over several cells.
pub(crate) fn but(of: &GridFigure) -> String {
    notes(of).map(|note| format!("; {note}")).collect()
}

pub(crate) fn notes(of: &GridFigure) -> impl Iterator<Item = String> {
    lacks(of).into_iter().chain(undecided_cells(of).map(str::to_owned))
}

/// Set if a figure is decided only because its cells add up.
pub(crate) fn undecided_cells(of: &GridFigure) -> Option<&'static str> {
    of.no_cell_decided.then_some("no cell alone is decided")
}

/// `incomplete: 1 of 3 cells`: some cells of a figure have no valid pair.
fn incomplete(with_pair: usize, all: usize) -> String {
    format!("incomplete: {} of {}", numbers::count(with_pair as u64), numbers::counted(all, "cell"))
}

/// A workload of an arm, or its whole grid, with the figure over its cells.
pub(crate) struct ComparedPart<'a> {
    /// `None` for the whole grid.
    pub(crate) workload: Option<&'a str>,
    /// Cells in the figure; 0 if offered rates set the throughput of all.
    pub(crate) averaged: usize,
    pub(crate) figure: Option<&'a GridFigure>,
    /// Printed instead of a verdict if the figure is missing; `None` if the figure has no cells.
    without: Option<Verdict>,
}

impl<'a> ComparedPart<'a> {
    fn of(arm: &'a ArmComparison, workload: Option<&'a str>) -> Self {
        let figure = workload.map_or(arm.grid.as_ref(), |name| arm.workloads.get(name));
        let without = arm.without_figure(workload);
        Self { workload, averaged: arm.averaged(workload), figure, without }
    }

    pub(crate) fn workloads(arm: &'a ArmComparison) -> Vec<Self> {
        arm.workload_names().into_iter().map(|name| Self::of(arm, Some(name))).collect()
    }

    pub(crate) fn whole(arm: &'a ArmComparison) -> Self {
        Self::of(arm, None)
    }

    pub(crate) fn name(&self) -> &'a str {
        self.workload.unwrap_or("whole grid")
    }

    pub(crate) fn change(&self) -> String {
        self.figure.map_or(numbers::ABSENT.to_owned(), |of| change(&of.grid.estimate))
    }

    pub(crate) fn no_figure(&self, of: &Comparison) -> String {
        match self.without {
            None => "none: the load sets the throughput".to_owned(),
            Some(why) => verdict_or_invalid(why, of),
        }
    }

    pub(crate) fn lacks(&self) -> Option<String> {
        match (self.figure, self.averaged) {
            (Some(figure), _) => lacks(figure),
            (None, 0) => None,
            (None, all) => Some(incomplete(0, all)),
        }
    }
}

/// From this change in percent on it is large: three margins.
pub(crate) fn strong(found: &Comparison) -> f64 {
    found.margin * 300.0
}

/// How many cells have which verdict: `2 faster, 1 same, 5 inconclusive`.
pub(crate) fn tally(of: &Comparison, arm: &ArmComparison) -> String {
    let Tally { faster, slower, same, differs, inconclusive, one_set, parts_differ, too_few, invalid } =
        arm.tally();
    let [better, worse] = better_and_worse(of.metric);
    let parts = [
        (faster, better),
        (slower, worse),
        (same, "same"),
        (differs, "differ, measured apart"),
        (inconclusive, "inconclusive"),
        (one_set, "with one set of a level"),
        (parts_differ, "with scripts that differ"),
        (too_few, "with too few transactions"),
        (invalid, "invalid"),
    ];
    let shown = parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    shown.collect::<Vec<_>>().join(", ")
}

pub(crate) fn verdict(verdict: Verdict, margin: f64) -> String {
    match verdict {
        Verdict::Faster => "faster".to_owned(),
        Verdict::Slower => "slower".to_owned(),
        Verdict::Same => format!("same within {}", numbers::percent(margin)),
        Verdict::Differs => "differs, measured apart".to_owned(),
        Verdict::Inconclusive { .. } => "inconclusive".to_owned(),
        Verdict::OneSet { each: true } => format!("one set each: {NO_ERROR}"),
        Verdict::OneSet { each: false } => format!("one set of a level: {NO_ERROR}"),
        Verdict::PartsDiffer => PARTS_DIFFER.to_owned(),
        Verdict::TooFew(few) => few.to_string(),
        Verdict::Invalid => "invalid".to_owned(),
    }
}

/// A verdict of this comparison.
pub(crate) fn verdict_by(judged: Verdict, of: &Comparison) -> String {
    verdict_by_metric(judged, of.metric, of.margin)
}

pub(crate) fn verdict_by_metric(judged: Verdict, metric: Metric, margin: f64) -> String {
    let [better, worse] = better_and_worse(metric);
    match judged {
        Verdict::Faster => better.to_owned(),
        Verdict::Slower => worse.to_owned(),
        other => verdict(other, margin),
    }
}

/// What takes less CPU time need not be faster.
pub(crate) fn better_and_worse(metric: Metric) -> [&'static str; 2] {
    match metric {
        Metric::Cpu => ["less CPU", "more CPU"],
        Metric::Tps | Metric::P50 | Metric::P95 | Metric::P99 => ["faster", "slower"],
    }
}

const NO_ERROR: &str = "no error can be known";

pub(crate) const PARTS_DIFFER: &str = "no verdict, its parts differ";

/// A verdict with the doubts about its runs, if any: `faster, doubtful: 15 of 24 runs are suspect`.
pub(crate) fn with_doubt(said: String, suspect: Option<&SuspectRuns>) -> String {
    match suspect {
        Some(suspect) => format!("{said}, doubtful: {}", suspect.words()),
        None => said,
    }
}

const INVALID: &str = "invalid, no valid pair";

pub(crate) fn verdict_or_invalid(judged: Verdict, of: &Comparison) -> String {
    match judged {
        Verdict::Invalid => INVALID.to_owned(),
        _ => verdict_by(judged, of),
    }
}

/// A verdict with what would make it clearer, e.g. `inconclusive (about 20 rounds needed)`. It rests on
/// `pairs`; 0 if more rounds cannot add pairs.
pub(crate) fn verdict_with_need(judged: Verdict, of: &Comparison, pairs: usize) -> String {
    match judged {
        Verdict::Inconclusive { more_pairs: Some(more) } if pairs > 0 && more <= 1000 => {
            let rounds = pairs + more as usize;
            format!(
                "{} (about {} needed)",
                verdict_by(judged, of),
                numbers::counted(rounds + rounds % 2, "round")
            )
        }
        _ => verdict_or_invalid(judged, of),
    }
}

/// A cell's figure of a metric with its unit; throughput has none, and jobs show their time.
pub(crate) fn value_of(cell: &CellComparison, metric: Metric, of: Option<f64>) -> String {
    match of.filter(|_| cell.job && metric == Metric::Tps) {
        Some(per_second) => numbers::duration(per_second.recip()),
        None => value(metric, of),
    }
}

/// The figures whose ratio is the change, where there are such.
pub(crate) fn shown_figures(cell: &CellComparison) -> [Option<f64>; 2] {
    match cell.compared {
        [Some(base), Some(new)] => [Some(base), Some(new)],
        _ => [cell.base, cell.new],
    }
}

fn value(metric: Metric, value: Option<f64>) -> String {
    let written = match metric {
        Metric::Tps => numbers::tps,
        Metric::P50 | Metric::P95 | Metric::P99 | Metric::Cpu => numbers::latency_us,
    };
    value.map_or(numbers::ABSENT.to_owned(), written)
}

fn cause(found: &Grouped) -> String {
    if let Some(round) = found.since_round {
        return format!("a change for good, from round {round} on?");
    }
    let Some(same) = found.same_cpu else { return "placement?".to_owned() };
    let (low, high) = (numbers::percent(same.low_pct / 100.0), numbers::percent(same.high_pct / 100.0));
    let seen =
        format!("client and server on one CPU at {low} of the looks in the slower, {high} in the faster");
    match same.explains {
        true => format!("placement, {seen}; pin them: factors.placement = [\"apart\"]"),
        false => format!("not told apart by placement ({seen})"),
    }
}

/// Two groups among the runs of a cell: `5 runs about 6,900, one 32,149: placement?`
pub(crate) fn groups(found: &Grouped) -> String {
    let (low, high) = (found.groups.low, found.groups.high);
    let group = |of: ValueGroup, noun: &str| match of.n {
        1 => format!("one {}", numbers::tps(of.center)),
        n => format!("{n}{noun} about {}", numbers::about(of.center)),
    };
    // The first has at least two runs.
    let (first, second) = if high.n > low.n { (high, low) } else { (low, high) };
    let cause = cause(found);
    format!("{}, {}: {cause}", group(first, " runs"), group(second, ""))
}

/// The same with its place: `tpcb, 4 clients, stock: 5 runs about …`.
pub(crate) fn grouped_cell(found: &Grouped) -> String {
    format!("{}: {}", cell_and_arm(&found.cell, found.arm.as_deref()), groups(found))
}

pub(crate) fn cell_and_arm(cell: &Cell, arm: Option<&str>) -> String {
    cell_text(cell) + &arm.map(|arm| format!(", {arm}")).unwrap_or_default()
}

/// The same for both arms of a comparison, each named: `stock: 5 runs about …; gis: …`. `None` if neither
/// has groups.
pub(crate) fn groups_of_pair(all: &[Grouped], cell: &Cell, arms: [&str; 2]) -> Option<String> {
    let of_arm = |arm: &str| {
        let found = all.iter().find(|found| found.cell == *cell && found.arm.as_deref() == Some(arm))?;
        Some(format!("{arm}: {}", groups(found)))
    };
    let each: Vec<String> = arms.into_iter().filter_map(of_arm).collect();
    (!each.is_empty()).then(|| each.join("; "))
}

/// Whether a verdict is good or bad news: selects colour and shape, never used alone.
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
            Verdict::Differs
            | Verdict::Inconclusive { .. }
            | Verdict::OneSet { .. }
            | Verdict::PartsDiffer
            | Verdict::TooFew(_)
            | Verdict::Invalid => Self::Unclear,
        }
    }

    /// Of several verdicts: worse before unclear, unclear before better.
    pub(crate) fn of_all(verdicts: impl Iterator<Item = Verdict>) -> Self {
        let tones: Vec<Self> = verdicts.map(Self::of).collect();
        let first = [Self::Worse, Self::Unclear, Self::Better].into_iter().find(|tone| tones.contains(tone));
        first.unwrap_or(if tones.is_empty() { Self::Unclear } else { Self::Same })
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

    pub(crate) fn mark_class(self) -> &'static str {
        match self {
            Self::Better => "v-better",
            Self::Worse => "v-worse",
            Self::Same => "v-same",
            Self::Unclear => "v-unclear",
        }
    }

    /// Outline of a mark around the origin, a separate one for each tone.
    pub(crate) fn shape(self) -> &'static str {
        match self {
            Self::Better => "M0-5.5L5.5 4.5H-5.5z",
            Self::Worse => "M0 5.5L5.5-4.5H-5.5z",
            Self::Same => "M-4.5-4.5h9v9h-9z",
            Self::Unclear => "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
        }
    }
}
