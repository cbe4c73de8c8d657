//! The answer under the question: verdict with interval, what it costs in safety, and whether it can be believed.

use results::comparison::{ArmComparison, Comparison, Figure, Metric};

use crate::data::{ReportData, cell_text};
use crate::markup::Markup;
use crate::numbers;
use crate::sheet::{Cell, Sheet};
use crate::words::{self, Answer, Tone};

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    let answers = words::answers(data);
    if answers.is_empty() {
        out.tag("div").class("answer").with(|out| {
            out.tag("p").class("lead").text(words::without_comparison(data));
        });
    }
    if let Some(found) = data.answer() {
        for (answer, arm) in answers.iter().zip(&found.arms) {
            out.tag("div").class(box_class(answer.tone)).with(|out| one(data, found, arm, answer, out));
        }
    }
    if let Some(overload) = words::overload(data) {
        out.tag("p").class("notice").text(overload);
    }
    if let Some(taste) = &data.experiment.taste {
        out.tag("p").class("notice").with(|out| {
            out.tag("strong").text("A taste, not a measurement.");
            out.text(" ").text(taste);
        });
    }
    let (suspect, invalid) = data.doubtful();
    let class = if invalid > 0 || suspect > 0 { "validity doubt" } else { "validity" };
    out.tag("p").class(class).text(words::validity(data));
    let mut groups = words::grouped(data).into_iter();
    if let Some(head) = groups.next() {
        out.tag("div").class("notice").with(|out| {
            out.tag("p").text(head);
            out.tag("ul").with(|out| groups.for_each(|line| out.tag("li").text(line)));
        });
    }
}

fn box_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Better => "answer is-better",
        Tone::Worse => "answer is-worse",
        Tone::Same => "answer is-same",
        Tone::Unclear => "answer is-unclear",
    }
}

fn one(data: &ReportData, found: &Comparison, arm: &ArmComparison, answer: &Answer, out: &mut Markup) {
    out.tag("p").class("lead").with(|out| {
        out.tag("strong").text(&answer.arm);
        out.text(": ").text(&answer.verdict);
        if !answer.unsafe_settings.is_empty() {
            out.text(", and ");
            out.tag("strong").class("unsafe").text("not crash-safe");
        }
    });
    out.tag("p").class("figures").with(|out| {
        out.text(&answer.figures);
        let beside = found.metric == Metric::Tps && arm.workloads.len() == 1;
        if let Some(p99) = slowest(data, arm).filter(|_| beside) {
            let lacks = words::incomplete(&p99).map(|lacks| format!(" ({lacks})")).unwrap_or_default();
            out.text(format_args!("; p99 response time {}{lacks}", words::estimate(&p99.grid.estimate)));
        }
        if !answer.unsafe_settings.is_empty() {
            out.text("; weakens crash safety: ");
            out.tag("code").text(&answer.unsafe_settings);
        }
        out.text(".");
    });
    if arm.workload_names().len() > 1 {
        by_workload(data, found, arm).write(out);
    }
    out.tag("p").class("remark").text(cells_in_words(found, arm));
    for remark in &answer.remarks {
        out.tag("p").class("remark").text(remark);
    }
}

/// The same arm compared by its 99th percentile.
fn by_latency<'a>(data: &'a ReportData, arm: &ArmComparison) -> Option<&'a ArmComparison> {
    data.latency.iter().flat_map(|found| &found.arms).find(|other| other.arm == arm.arm)
}

fn slowest(data: &ReportData, arm: &ArmComparison) -> Option<Figure> {
    by_latency(data, arm)?.grid
}

fn by_workload(data: &ReportData, found: &Comparison, arm: &ArmComparison) -> Sheet {
    let latency = by_latency(data, arm).filter(|_| found.metric == Metric::Tps);
    let mut sheet =
        Sheet::new(format_args!("{} against {}, per workload; 95 % intervals", arm.arm, found.base))
            .text(["workload"])
            .numbers([found.metric.noun()])
            .text(["verdict"])
            .numbers(latency.map(|_| "p99 response time"));
    let mut add = |of: Option<&str>, figure: Option<&Figure>, p99: Option<&Figure>| {
        let change = |figure: Option<&Figure>| {
            Cell::from(figure.map_or(numbers::ABSENT.into(), |figure| words::estimate(&figure.grid.estimate)))
        };
        let verdict = match figure {
            Some(figure) => Cell::classed(
                words::verdict_of_figure(figure, found.margin),
                Tone::of(figure.verdict).cell_class(figure.grid.estimate.change_pct(), strong(found)),
            ),
            None => words::no_figure(arm, of).into(),
        };
        let name = of.unwrap_or("whole grid");
        let mut row = vec![name.into(), change(figure), verdict];
        row.extend(latency.map(|_| change(p99)));
        sheet.row(row);
    };
    for name in arm.workload_names() {
        add(Some(name), arm.workloads.get(name), latency.and_then(|other| other.workloads.get(name)));
    }
    if arm.averaged(None) > 0 {
        add(None, arm.grid.as_ref(), latency.and_then(|other| other.grid.as_ref()));
    }
    sheet
}

/// A change is large from three margins on.
pub(super) fn strong(found: &Comparison) -> f64 {
    found.margin * 300.0
}

fn cells_in_words(found: &Comparison, arm: &ArmComparison) -> String {
    let cells = numbers::counted(arm.cells.len(), "cell", "cells");
    let tally = words::tally(arm);
    let range =
        arm.extremes(found.metric.better()).filter(|_| arm.cells.len() > 1).and_then(|(best, worst)| {
            let (best_change, worst_change) = (best.estimate?.change_pct(), worst.estimate?.change_pct());
            Some(format!(
                " Best: {} ({}); worst: {} ({}).",
                cell_text(&best.cell),
                numbers::change(best_change),
                cell_text(&worst.cell),
                numbers::change(worst_change)
            ))
        });
    format!("Of {cells}: {tally}.{}", range.unwrap_or_default())
}
