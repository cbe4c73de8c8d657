//! A verdict per cell: forest plot and table, one arm after another; for programs a table of all arms.

use std::collections::BTreeSet;

use results::aging::Aging;
use results::answer::{self, LineScope, Next, OtherMetric, Verdicts, speed_trend};
use results::comparison::{ArmComparison, CellComparison, Comparison, GridFigure, Grouped, Metric, Sliced};
use results::{CellValue, Table};
use spec::{RunEvent, figures};
use stats::{Better, Estimate, Verdict};

use crate::arrivals::Columns;
use crate::block::{Block, Paragraph};
use crate::by_levels::words as words_of_levels;
use crate::chart::forest::{Forest, ForestRow};
use crate::compared::{
    ComparedPart, Tone, better_and_worse, change, control, groups_of_pair, indicative, notes, shown_figures,
    strong, tally, undecided_cells, value_of, verdict, verdict_by, verdict_with_need, with_doubt,
};
use crate::differences;
use crate::next;
use crate::numbers::{self, real_cell};
use crate::sections::answer::aging::sentences;
use crate::work;
use results::InTime;
use results::ReportData;
use results::data::{cell_text, levels};

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    data.comparisons().into_iter().flat_map(|of| of_comparison(of, data.groups())).collect()
}

fn of_comparison(of: &Comparison, groups: &[Grouped]) -> Vec<Block> {
    let from = match (of.paired, &of.control) {
        (true, _) => "pairs of runs of the same round",
        (false, Some(_)) => "the ratios to the arm that both have (Welch's t)",
        (false, None) if of.by_sets => "the means of the sets of both levels (Welch's t)",
        (false, None) => "all runs of both arms (Welch's t)",
    };
    let mut blocks = vec![Block::text(format!(
        "{} in each cell against {}, with 95 % intervals from {from}. \"Same\" means: surely within the margin of {}. Where there are \
         several lines of a kind (cells, workloads, whole grids), their intervals are so wide that all of them hold at once with 95 % \
         confidence; each verdict is read from its interval.",
        sentence(of.noun()),
        of.base,
        numbers::percent(of.margin)
    ))];
    for arm in of.arms.iter().filter(|arm| !arm.cells.is_empty()) {
        if of.arms.len() > 1 {
            blocks.push(Block::Heading(format!("{} against {}", arm.arm, of.base)));
        }
        blocks.extend([forest(of, arm).into(), sheet(of, arm, groups).into()]);
        blocks.extend(excluded(arm));
    }
    blocks
}

pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn forest(of: &Comparison, arm: &ArmComparison) -> Forest {
    let row = |label: String, change: &Estimate, verdict: Verdict, total: bool| {
        let (tone, interval) = (Tone::of(verdict), change.interval_pct());
        (ForestRow { label, change: change.change_pct(), interval, tone, total }, verdict)
    };
    let cells = arm
        .cells
        .iter()
        .filter_map(|cell| Some(row(cell_text(&cell.cell), cell.estimate.as_ref()?, cell.verdict, false)));
    let whole = arm.grid.as_ref().map(|figure| {
        let notes: Vec<String> = notes(figure).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        row(format!("whole grid{notes}"), &figure.grid.estimate, figure.verdict, true)
    });
    let noun = of.noun();
    let mut data = Table::captioned(format_args!("Change of {noun}, with its 95 % interval"))
        .text(["cell"])
        .numbers(["change", "interval"])
        .text(["verdict"]);
    let mut rows = Vec::new();
    for (row, judged) in cells.chain(whole) {
        let (change, interval) = numbers::change_and_interval(row.change, row.interval);
        data.push([
            (&row.label).into(),
            change.into(),
            interval.unwrap_or(numbers::ABSENT.to_owned()).into(),
            verdict_by(judged, of).into(),
        ]);
        rows.push(row);
    }
    Forest {
        title: format!("{} against {}: change of {noun}", arm.arm, of.base),
        caption: format!(
            "{}. Each line is a cell's 95 % interval, the band is the margin of {}; {}.",
            tally(of, arm),
            numbers::percent(of.margin),
            marks(of.metric, arm)
        ),
        x_name: format!("change of {noun} against {}", of.base),
        margin: of.margin * 100.0,
        rows,
        data,
    }
}

fn marks(metric: Metric, arm: &ArmComparison) -> String {
    let [better, worse] = better_and_worse(metric);
    let left = if metric.better() == Better::Smaller { " (to the left)" } else { "" };
    let better = format!("▲ {better}{left}, ▼ {worse}");
    let grid = if arm.grid.is_some() { ", ◆ the whole grid" } else { "" };
    let apart = if arm.tally().differs > 0 { " or measured apart" } else { "" };
    format!("{better}, ■ same, ● inconclusive{apart}{grid}")
}

fn sheet(of: &Comparison, arm: &ArmComparison, groups: &[Grouped]) -> Table {
    let what = match of.metric {
        Metric::Tps => match (arm.cells.iter().all(|cell| cell.job), arm.cells.iter().any(|cell| cell.job)) {
            (true, _) => {
                format!("time from start to end, {}; the change is a change of speed", means(arm))
            }
            (_, true) => format!("transactions per second, of jobs the time they took; {}", means(arm)),
            _ => format!("transactions per second, {}", means(arm)),
        },
        Metric::Cpu => format!("{}, {}", of.metric.noun(), means(arm)),
        other => format!("{} of all rounds together", other.noun()),
    };
    let from = match (of.paired, of.by_sets) {
        (true, _) => "changes from pairs of the same round",
        (_, true) => "changes from the means of sets",
        _ => "changes from all runs",
    };
    let mut sheet = Table::captioned(format_args!("{} against {}: {what}; {from}", arm.arm, of.base))
        .text(["cell"])
        .numbers([of.base.as_str(), arm.arm.as_str(), "change [95 %]"])
        .text(["verdict"])
        .numbers(["p (adjusted)", "pairs"]);
    for cell in &arm.cells {
        let change_pct = cell.estimate.map_or(0.0, |estimate| estimate.change_pct());
        let class = Tone::of(cell.verdict).cell_class(change_pct, strong(of));
        let groups = groups_of_pair(groups, &cell.cell, [&of.base, &arm.arm]);
        let [base, new] = shown_figures(cell);
        let left_out = match cell.excluded.len() {
            0 => String::new(),
            left_out => format!(" (-{left_out})"),
        };
        sheet.push([
            cell_text(&cell.cell).into(),
            value_of(cell, of.metric, base).into(),
            value_of(cell, of.metric, new).into(),
            cell.estimate.as_ref().map_or(numbers::ABSENT.to_owned(), change).into(),
            CellValue::marked(verdict_words(cell, of, groups), class),
            cell.estimate
                .and_then(|estimate| estimate.p_adjusted())
                .map_or(numbers::ABSENT.to_owned(), probability)
                .into(),
            format!("{}{left_out}", cell.differences.len()).into(),
        ]);
    }
    sheet
}

/// What the figures are, whose ratio is the change if it can be.
fn means(arm: &ArmComparison) -> &'static str {
    let is_geometric = arm.cells.iter().all(|cell| cell.compared.iter().all(Option::is_some));
    if is_geometric { "geometric mean over rounds" } else { "mean over rounds" }
}

fn verdict_words(cell: &CellComparison, of: &Comparison, groups: Option<String>) -> String {
    let by_ranks = cell
        .second_opinion
        .map(|other| format!("by ranks {} (p {})", numbers::change(other.change_pct), probability(other.p)));
    let verdict = verdict_with_need(cell.verdict, of, cell.differences.len());
    [Some(verdict), relative(of), by_ranks, groups].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { numbers::fixed(p, 3) }
}

fn excluded(arm: &ArmComparison) -> Option<Block> {
    let pairs = arm.cells.iter().flat_map(|cell| cell.excluded.iter().map(move |pair| (cell, pair)));
    let words =
        pairs.map(|(cell, pair)| format!("{}, round {}: {}", cell_text(&cell.cell), pair.round, pair.why));
    let words: Vec<String> = words.collect();
    let summary = format!("{} left out", numbers::counted(arm.excluded(), "pair"));
    (!words.is_empty()).then(|| Block::details(summary, vec![Block::List(words)])).flatten()
}

/// Every arm against the base: a line per cell, one per script if scripts are the answer, one per workload
/// (cell empty), one for the whole grid. The change of a script is the change of its response time. Then
/// the fate of the arrivals of both arms if a load is open, and how their promise was kept.
///
/// The cells' figures are per second or in µs, by the metric; changes and intervals (95 %) in percent, and
/// p, all adjusted for the lines of their kind. `answer` is "yes" for the lines that are the answer; these
/// have the compared values, `by_levels` if their cells differ by more than noise, and `doubt` if a third of their runs are suspect. `indicative` is set if a
/// change rests on too few rounds, `groups` if the runs of a cell fall into two. `remarks` lists arms with
/// other answers or other questions, and why something was not run: its line has nothing else.
/// `differences`, in the line of a workload, lists other counters that differ much; `interleaved` is "no"
/// if drift and change cannot be distinguished. Then how arms took turns in slices. The inconclusive line
/// has what to do: the line of the whole grid or, if that is decided, of a workload. The line of the grid
/// has the number of looks, and the change by the other metric of work.
#[must_use]
pub fn compared(data: &ReportData, found: &Comparison) -> Table {
    let pct = |change: Option<&Estimate>| {
        let interval = change.and_then(Estimate::interval_pct);
        let ends = [interval.map(|(low, _)| low), interval.map(|(_, high)| high)];
        [change.map(Estimate::change_pct)].into_iter().chain(ends).map(real_cell).collect()
    };
    let interleaved = if found.paired { "yes" } else { "no" };
    let columns = ["change_pct", "low_pct", "high_pct", "p_adjusted", "n", "verdict"];
    let optional = [
        "answer",
        "values",
        "no_cell_decided",
        "by_levels",
        "doubt",
        "indicative",
        "groups",
        "remarks",
        "differences",
        "interleaved",
        figures::SLICE_MS.name,
        "slice_most_ms",
        figures::QUADS.name,
        figures::VOID_QUADS.name,
        "quad_correlation",
        "looks",
        "extended",
        "rounds_needed",
        "next_step",
        "next_command",
    ];
    let optional: Vec<&str> = optional.into_iter().chain(work::COLUMNS).collect();
    let columns: Vec<&str> = columns.into_iter().chain(optional.iter().copied()).collect();
    let p = |change: Option<&Estimate>| real_cell(change.and_then(Estimate::p_adjusted));
    let mut table = table(
        data,
        found,
        &columns,
        |line| Some(line.figures),
        (pct, p),
        |line| {
            let turns = line.sliced;
            let next = line.next.as_ref();
            let looked = |of: u32| line.is_whole.then_some(u64::from(of)).filter(|_| data.course.looks > 0);
            let mut values: Vec<CellValue> = vec![
                line.verdict.clone().into(),
                line.answers.map(|_| "yes").into(),
                line.answers.map(|own| own.values.clone()).into(),
                line.figure.filter(|figure| figure.no_cell_decided).map(|_| "yes").into(),
                by_levels(line, found).into(),
                line.answers.and_then(|own| own.suspect).map(|suspect| suspect.words()).into(),
                line.change.and_then(indicative).into(),
                line.groups.clone().into(),
                Some(line.remarks.join("; ")).filter(|all| !all.is_empty()).into(),
                line.differences.clone(),
                interleaved.into(),
                real_cell(turns.map(|turns| turns.slice_ms)),
                real_cell(turns.map(|turns| turns.slice_most_ms)),
                turns.map(|turns| turns.quads as u64).into(),
                turns.map(|turns| turns.void as u64).into(),
                real_cell(turns.and_then(|turns| turns.autocorrelation)),
                looked(data.course.looks).into(),
                looked(data.course.extended).into(),
                next.and_then(Next::rounds).map(u64::from).into(),
                next.map(|next| next::words(data, next)).into(),
                next.and_then(|next| next::command(data, next)).map(|own| own.to_string()).into(),
            ];
            values.extend(work::cells(line.other.as_ref(), found.margin));
            values
        },
    );
    table.optional(optional);
    table
}

/// The same for people: change and interval in one column, verdict and groups in another, as on the page. Figures are
/// those whose ratio is the change. The line of an only workload is left out: that of the whole grid is the same.
#[must_use]
pub fn compared_in_words(data: &ReportData, found: &Comparison) -> Table {
    let words = |words: Option<&Estimate>| vec![words.map(change).into()];
    let verdict = if found.paired { "verdict" } else { "verdict, not interleaved" };
    let common = remarks_on_all(data, found);
    let verdicts = Verdicts::of(found, &data.experiment, &data.runs);
    let shown = found.arms.iter().flat_map(|arm| answer::shown(verdicts.of_arm(&arm.arm)).0);
    let shown: Vec<&answer::VerdictLine> = shown.collect();
    let is_shown = |line: &answer::VerdictLine| {
        let is_script = matches!(line.scope, LineScope::Script { .. });
        !is_script || shown.iter().any(|own| own.arm == line.arm && own.scope == line.scope)
    };
    let p = |change: Option<&Estimate>| {
        change.and_then(Estimate::p_adjusted).map(|p| probability(p).replace(' ', "")).into()
    };
    table(
        data,
        found,
        &["change, 95 %", "p", "n", verdict],
        |line| (!line.repeats_whole && line.answers.is_none_or(is_shown)).then_some(line.compared),
        (words, p),
        |line| {
            let verdict = with_doubt(line.verdict.clone(), line.answers.and_then(|own| own.suspect.as_ref()));
            let values =
                line.answers.filter(|answer| answer.scope != LineScope::Whole).map(|own| own.values.clone());
            let alone = line.figure.and_then(undecided_cells).map(str::to_owned);
            let remarks = line.remarks.iter().filter(|own| !common.contains(own.as_str())).cloned();
            let parts = [Some(verdict), alone, values, line.groups.clone()].into_iter().flatten();
            vec![parts.chain(remarks).collect::<Vec<_>>().join("; ").into()]
        },
    )
}

/// Remarks on the runs of every cell, such as why counters are missing: they are said once, in the answer or below the
/// table, and not in each line.
fn remarks_on_all<'d>(data: &'d ReportData, found: &Comparison) -> BTreeSet<&'d str> {
    let mut remarks = data.remarks(RunEvent::REMARK);
    for arm in &found.arms {
        for cell in &arm.cells {
            let own = data.remarks_of(&cell.cell, &arm.arm);
            remarks.retain(|remark| own.contains(remark));
        }
    }
    remarks
}

/// That table and, if there are any, the one of other large differences.
#[must_use]
pub fn compared_for_people(data: &ReportData, found: &Comparison) -> Vec<Block> {
    let besides = differences::table_in_words(data, found);
    let besides = (!besides.rows.is_empty()).then(|| besides.into());
    [compared_in_words(data, found).into()].into_iter().chain(besides).collect()
}

/// Text below that table, a paragraph each: what holds for all lines, how often it was seen, and what to do if it is
/// inconclusive.
#[must_use]
pub fn below(data: &ReportData, found: &Comparison) -> Vec<Block> {
    let lines = Verdicts::of(found, &data.experiment, &data.runs).lines;
    let too_few = lines.iter().any(|line| matches!(line.verdict, Verdict::TooFew(_)));
    // Looks and missing rounds are counted for the throughput only.
    let is_said = found.metric == Metric::Tps;
    let looked = next::looked(&data.course, data.experiment.planned_looks()).filter(|_| is_said);
    let looked = looked.map(|looked| Block::text(format!("{}.", sentence(&looked))));
    let next = Next::of(data, found, &lines).filter(|_| is_said || too_few).map(|next| {
        let said = Paragraph::new("").plain(format!("Next: {}", next::sentence(data, &next)));
        match next::command(data, &next) {
            Some(command) => said.plain(" ").code(command.to_string()).into(),
            None => said.into(),
        }
    });
    let work = work::of_arms(data, found).into_iter().map(Block::text);
    let on_all = remarks_on_all(data, found).into_iter();
    let on_all = on_all.map(|remark| Block::remark(format!("{}.", sentence(remark.trim_end_matches('.')))));
    on_all.chain(looked).chain(work).chain(next).collect()
}

#[derive(Default)]
struct VerdictRow<'a> {
    arm: &'a str,
    workload: &'a str,
    cell: String,
    figures: [Option<f64>; 2],
    /// Those whose ratio is the change, where there are such.
    compared: [Option<f64>; 2],
    is_job: bool,
    change: Option<&'a Estimate>,
    /// Of the lines of workloads and of the whole grid.
    figure: Option<&'a GridFigure>,
    verdict: String,
    answers: Option<&'a answer::VerdictLine>,
    groups: Option<String>,
    remarks: Vec<String>,
    sliced: Option<Sliced>,
    in_time: [InTime; 2],
    /// Other large differences; lines of workloads only.
    differences: CellValue,
    is_whole: bool,
    /// Of an only workload: the line of the whole grid is the same.
    repeats_whole: bool,
    next: Option<Next>,
    /// The other metric of work; the line of the whole grid only.
    other: Option<OtherMetric>,
}

fn table(
    data: &ReportData,
    found: &Comparison,
    columns: &[&str],
    shown: impl Fn(&VerdictRow<'_>) -> Option<[Option<f64>; 2]>,
    (change, p): (impl Fn(Option<&Estimate>) -> Vec<CellValue>, impl Fn(Option<&Estimate>) -> CellValue),
    verdict: impl Fn(&VerdictRow<'_>) -> Vec<CellValue>,
) -> Table {
    let unit = match found.metric {
        Metric::Tps => Metric::Tps.name().to_owned(),
        percentile => format!("{}_us", percentile.name()),
    };
    let answer = Verdicts::of(found, &data.experiment, &data.runs);
    let measured = found.arms.iter().flat_map(|arm| lines(data, found, arm, &answer));
    let not_run = data.not_run().into_iter().map(|part| VerdictRow {
        arm: data.arm_of(&part).unwrap_or_default(),
        cell: part.what,
        verdict: "not run".to_owned(),
        remarks: vec![part.why],
        ..VerdictRow::default()
    });
    let lines: Vec<VerdictRow<'_>> = measured.chain(not_run).collect();
    let in_time = Columns::of(lines.iter().flat_map(|line| line.in_time));
    let figures = [format!("base_{unit}"), unit];
    let took = ["base_took_s", "took_s"];
    let mut table = Table::new(["arm", "workload", "cell"]).named(&figures).named(took).named(columns);
    let both =
        in_time.into_iter().flat_map(|columns| [columns.columns("base_"), columns.columns("")].concat());
    table.columns.extend(both);
    table.optional(took);
    // Experiments with jobs only have no throughput.
    let measured = |line: &&VerdictRow<'_>| line.figures.iter().any(Option::is_some);
    if lines.iter().filter(measured).all(|line| line.is_job) && lines.iter().any(|line| line.is_job) {
        table.optional(figures);
    }
    for line in &lines {
        let Some(shown) = shown(line) else { continue };
        let mut row: Vec<CellValue> = vec![line.arm.into(), line.workload.into(), line.cell.clone().into()];
        let [figures, took] = match line.is_job {
            true => [[None; 2], shown.map(|speed| speed.map(f64::recip))],
            false => [shown, [None; 2]],
        };
        row.extend(figures.into_iter().chain(took).map(real_cell));
        row.extend(change(line.change));
        row.extend([p(line.change), (line.change.map_or(0, |change| change.n) as u64).into()]);
        row.extend(verdict(line));
        row.extend(
            in_time.into_iter().flat_map(|columns| line.in_time.map(|own| columns.values(&own)).concat()),
        );
        table.push(row);
    }
    table
}

/// The levels of a line of the answer whose cells differ, for programs.
fn by_levels(line: &VerdictRow<'_>, of: &Comparison) -> Option<String> {
    let by = line.answers?.levels.as_ref()?;
    Some(words_of_levels(of, by).1.join("; "))
}

/// The reference of a change, if the arms of two experiments have a control.
fn relative(of: &Comparison) -> Option<String> {
    of.control.as_ref().map(|control| format!("relative to {}", control.arm))
}

/// Remarks on a cell: on its arms, and why none of its pairs counts.
fn remarks(data: &ReportData, of: &Comparison, cell: &CellComparison, arm: &ArmComparison) -> Vec<String> {
    let said = data.remarks_of(&cell.cell, &arm.arm).into_iter().map(str::to_owned).chain(relative(of));
    let without =
        cell.excluded.iter().filter(|_| cell.verdict == Verdict::Invalid).map(|pair| pair.why.clone());
    let of_it = |own: &&Aging| own.cell == cell.cell && own.arm == arm.arm;
    let aging: Vec<Aging> = data.aging().iter().filter(of_it).cloned().collect();
    let aging = sentences(&of.base, &aging).into_iter().map(|(head, rest)| head + rest.trim_end_matches('.'));
    let all: BTreeSet<String> =
        said.chain(without).chain(speed_trend(data, &cell.cell).words()).chain(aging).collect();
    all.into_iter().collect()
}

/// The line of a script; `None` for another part of the answer.
fn script_line<'a>(own: &'a answer::VerdictLine, next: Option<&Next>, margin: f64) -> Option<VerdictRow<'a>> {
    let LineScope::Script { workload, script } = &own.scope else { return None };
    let next = next.filter(|next| !own.verdict.is_decided() && next.is_of(Some(script)));
    Some(VerdictRow {
        arm: &own.arm,
        workload,
        cell: format!("script {script}, response time"),
        change: own.estimate.as_ref(),
        verdict: verdict(own.verdict, margin),
        answers: Some(own),
        next: next.cloned(),
        ..VerdictRow::default()
    })
}

fn lines<'a>(
    data: &ReportData,
    of: &Comparison,
    arm: &'a ArmComparison,
    answer: &'a Verdicts,
) -> Vec<VerdictRow<'a>> {
    let next = Next::of(data, of, &answer.lines);
    let answers =
        |scope: &LineScope| answer.lines.iter().find(|line| line.arm == arm.arm && line.scope == *scope);
    let cell = |cell: &'a CellComparison| VerdictRow {
        arm: &arm.arm,
        workload: &cell.cell.workload,
        cell: levels(&cell.cell),
        figures: [cell.base, cell.new],
        compared: shown_figures(cell),
        is_job: cell.job && of.metric == Metric::Tps,
        change: cell.estimate.as_ref(),
        verdict: verdict_by(cell.verdict, of),
        answers: answers(&LineScope::Cell(cell.cell.clone())),
        next: next
            .clone()
            .filter(|next| !cell.verdict.is_decided() && next.is_of(Some(&cell_text(&cell.cell)))),
        groups: groups_of_pair(data.groups(), &cell.cell, [&of.base, &arm.arm]),
        remarks: remarks(data, of, cell, arm),
        sliced: cell.sliced,
        in_time: [&of.base, &arm.arm].map(|arm| data.in_time(&cell.cell, arm)),
        ..VerdictRow::default()
    };
    let parts = ComparedPart::workloads(arm).into_iter().chain([ComparedPart::whole(arm)]);
    let parts = parts.filter_map(|part| {
        let is_offered = part.workload.is_none() && arm.scheduled > 0;
        // A workload of offered rates only has no figure, like the whole grid.
        let verdict = match part.figure {
            Some(figure) => verdict_by(figure.verdict, of),
            None if part.averaged > 0 => {
                verdict_by(arm.without_figure(part.workload).unwrap_or(Verdict::Invalid), of)
            }
            None if is_offered => part.no_figure(of),
            None => return None,
        };
        let offered = (is_offered && part.averaged > 0).then(|| {
            format!("without {} of offered rates or think times", numbers::counted(arm.scheduled, "cell"))
        });
        let cell = offered.into_iter().chain(part.lacks()).collect::<Vec<_>>().join("; ");
        let change = part.figure.map(|figure| &figure.grid.estimate);
        let is_whole = part.workload.is_none();
        let repeats_whole = !is_whole && arm.workload_names().len() == 1 && arm.grid.is_some();
        let answers =
            answers(&part.workload.map_or(LineScope::Whole, |name| LineScope::Workload(name.to_owned())));
        let is_open = part.figure.is_none_or(|figure| !figure.verdict.is_decided());
        let next = next.clone().filter(|next| is_open && next.is_of(part.workload));
        let differences = part
            .workload
            .map_or(CellValue::Null, |name| differences::raw(data.differences(), name, &arm.arm));
        // For two experiments.
        let remarks: Vec<String> = control(of).into_iter().chain(data.notes.iter().cloned()).collect();
        let remarks = if is_whole { remarks } else { Vec::new() };
        let other = if is_whole { OtherMetric::of(data, of, arm) } else { None };
        let (arm, workload) = (arm.arm.as_str(), part.name());
        let line = VerdictRow { arm, workload, cell, change, verdict, remarks, ..VerdictRow::default() };
        let figure = part.figure;
        Some(VerdictRow { figure, differences, is_whole, repeats_whole, next, answers, other, ..line })
    });
    let scripts = answer.of_arm(&arm.arm).filter_map(|own| script_line(own, next.as_ref(), of.margin));
    arm.cells.iter().map(cell).chain(scripts).chain(parts).collect()
}
