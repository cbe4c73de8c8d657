//! The few plain lines at the end of a run.

use crate::data::ReportData;
use crate::{visible, words};

/// Width of a line, in characters.
const WIDTH: usize = 80;

/// Question, answer with interval, answers per workload and what is to be believed; ends with a line break.
///
/// Control characters in foreign text are escaped, so that nothing in it can drive a terminal or forge a line.
#[must_use]
pub fn text(data: &ReportData) -> String {
    let mut lines = vec![words::question(data).to_owned()];
    let answers = words::answers(data);
    if answers.is_empty() {
        lines.push(format!("  {}", words::without_comparison(data)));
    }
    for (answer, arm) in answers.iter().zip(data.answer().iter().flat_map(|found| &found.arms)) {
        let margin = data.experiment.margin;
        let workloads = arm.workload_names();
        for workload in workloads.iter().filter(|_| workloads.len() > 1) {
            lines.push(match arm.workloads.get(*workload) {
                Some(figure) => {
                    let verdict = words::verdict(figure.verdict, margin);
                    let lacks =
                        words::incomplete(figure).map(|lacks| format!("; {lacks}")).unwrap_or_default();
                    format!("  {workload}: {verdict}, {}{lacks}", words::estimate(&figure.grid.estimate))
                }
                None => format!("  {workload}: {}", words::no_figure(arm, Some(workload))),
            });
        }
        lines.push(format!("  {}: {}: {}", answer.arm, answer.verdict, answer.figures));
        if !answer.unsafe_settings.is_empty() {
            lines.push(format!("  {} is not crash-safe: {}", answer.arm, answer.unsafe_settings));
        }
        lines.push(format!("  cells: {}", words::tally(arm)));
        lines.extend(answer.remarks.iter().map(|remark| format!("  {remark}")));
    }
    lines.extend(words::in_time(data).iter().map(|line| format!("  {line}")));
    if let Some(taste) = &data.experiment.taste {
        lines.push(format!("  A taste, not a measurement: {taste}"));
    }
    lines.push(format!("  {}", words::validity(data)));
    for (position, line) in words::grouped(data).into_iter().enumerate() {
        lines.push(format!("{}{line}", if position == 0 { "  " } else { "    " }));
    }
    lines.iter().map(|line| wrapped(&visible::line(line))).collect()
}

/// Breaks a line between words, so that it fits a terminal; what follows is indented further.
fn wrapped(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut out = " ".repeat(indent);
    let mut width = indent;
    for (position, word) in line.split_whitespace().enumerate() {
        let length = word.chars().count();
        if position > 0 && width + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            width = indent + 2;
        } else if position > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out.push('\n');
    out
}
