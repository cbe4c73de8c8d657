//! The answer as the few plain lines at the end of a run.

use results::comparison::Comparison;

use super::super::limit;
use super::super::worth::{told, worth};
use super::Told;
use crate::compared::{Part, but, tally, verdict};
use crate::explained;
use crate::format::markdown_text;
use crate::next::{command, looked, sentence};
use crate::visible;
use crate::zooms;
use results::ReportData;

const WIDTH: usize = 80;

/// Question, answer with interval, answers per workload and validity; ends with a line break.
///
/// Control characters in foreign text are escaped, so that it cannot control a terminal or forge a line.
#[must_use]
pub fn text(data: &ReportData) -> String {
    let whole = Told::of(data);
    let remarks = &whole.answer.remarks;
    let mut lines = vec![whole.answer.question.clone()];
    lines.extend(remarks.different.iter().map(|said| format!("  The arms do not do the same: {said}.")));
    lines.extend(whole.same().map(|said| format!("  {said}")));
    let own_choice = remarks.own_choice.iter();
    lines.extend(own_choice.map(|own| format!("  Chosen from its own data, by the same rule: {own}.")));
    let forced = remarks.sliced_all_the_same.iter();
    lines.extend(forced.map(|burden| format!("  In slices all the same: {burden}.")));
    lines.extend(whole.notes().iter().map(|note| format!("  {note}.")));
    if let Some(limits) = &whole.limits {
        lines.push(format!("  The highest rate at which {} holds:", limits.asked.words()));
        lines.extend(limit::lines(limits).iter().map(|line| format!("  {line}")));
    }
    lines.extend(whole.instead().map(|instead| format!("  {instead}")));
    for (of, arm, said) in whole.arms() {
        let parts = Part::workloads(arm);
        let besides = whole.besides(of, arm);
        let indent = if parts.len() > 1 { "      " } else { "    " };
        let besides_of = |name: &str| -> Vec<String> {
            let told = besides.iter().filter(|(own, _)| *own == name).flat_map(|(_, told)| told);
            told.map(|phrase| format!("{indent}{phrase}")).collect()
        };
        // The arm first: with several arms it must be clear whose workloads follow.
        let mut told = said.lines.iter().peekable();
        while let Some(line) = told.next() {
            lines.push(format!("  {}: {}: {}", line.head, line.verdict, line.figures));
            let is_last = told.peek().is_none_or(|next| next.workload != line.workload);
            lines.extend(line.workload.iter().filter(|_| is_last).flat_map(|name| besides_of(name)));
        }
        // The lines of the answer are first; the mean over all of them is a detail.
        let is_split = said.lines.iter().any(|line| line.workload.is_some());
        let whole = is_split.then(|| Part::whole(arm));
        let is_told =
            |part: &&Part<'_>| said.lines.iter().any(|line| line.workload.as_deref() == part.workload);
        for part in parts.iter().filter(|part| !is_told(part)).chain(&whole) {
            lines.extend((parts.len() > 1 || is_split).then(|| workload(of, part)));
            lines.extend(besides_of(part.name()));
        }
        if !said.unsafe_settings.is_empty() {
            lines.push(format!("  {} is not crash-safe: {}", said.arm, said.unsafe_settings));
        }
        lines.push(format!("  cells: {}", tally(arm)));
        lines.extend(said.remarks.iter().map(|remark| format!("  {remark}")));
    }
    lines.extend(whole.trends().iter().map(|trend| format!("  {trend}")));
    lines.extend(worth(data).iter().flat_map(told).map(|line| format!("  {line}")));
    lines.extend(zooms::told(data).iter().map(|line| format!("  {line}")));
    lines.extend(explained::told(data).iter().map(|line| format!("  {line}")));
    lines.extend(looked(&data.course).iter().map(|looked| format!("  {looked}")));
    lines.extend(whole.in_time().iter().map(|line| format!("  {line}")));
    lines.extend(data.experiment.taste.iter().map(|taste| format!("  A taste, not a measurement: {taste}")));
    lines.extend(
        data.not_run().iter().map(|not_run| format!("  Not run: {}: {}.", not_run.what, not_run.why)),
    );
    lines.extend(whole.units().iter().map(|unit| format!("  {unit}")));
    lines.extend(whole.uncut().map(|why| format!("  {why}")));
    lines.push(format!("  {}", whole.validity()));
    if let Some((head, each)) = whole.groups() {
        lines.push(format!("  {head}"));
        lines.extend(each.iter().map(|line| format!("    {line}")));
    }
    let said: String = lines.iter().map(|line| wrapped(&visible::line(line))).collect();
    said + &whole.next()
}

impl Told<'_> {
    /// The next command; empty if nothing is open. It stays on one line, for copying.
    pub(super) fn next(&self) -> String {
        let Some(next) = &self.answer.next else { return String::new() };
        let command =
            command(self.data, next).map(|own| format!("    {}\n", visible::line(&own.to_string())));
        let sentence = format!("  next: {}", sentence(self.data, next));
        wrapped(&visible::line(&sentence)) + &command.unwrap_or_default()
    }
}

/// A headline with notes below it, as lines of a terminal.
#[must_use]
pub fn paragraph(head: &str, notes: &[String]) -> String {
    let notes = notes.iter().map(|note| format!("  {note}."));
    std::iter::once(head.to_owned())
        .chain(notes)
        .map(|line| wrapped(&visible::line(&line)))
        .chain(["\n".to_owned()])
        .collect()
}

/// The same as Markdown.
#[must_use]
pub fn markdown(head: &str, notes: &[String]) -> String {
    let escaped = |text: &str| markdown_text(&visible::line(text));
    let notes: String = notes.iter().map(|note| format!("- {}\n", escaped(note))).collect();
    let gap = if notes.is_empty() { "" } else { "\n" };
    format!("**{}**\n\n{notes}{gap}", escaped(head))
}

fn workload(of: &Comparison, part: &Part<'_>) -> String {
    let said = match part.figure {
        Some(figure) => format!("{}, {}{}", verdict(figure.verdict, of.margin), part.change(), but(figure)),
        None => part.no_figure(of.margin),
    };
    format!("    {}: {said}", part.name())
}

/// The words of a line; a number and its percent sign are one.
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut words = line.split_whitespace().peekable();
    std::iter::from_fn(move || {
        let mut word = words.next()?.to_owned();
        while let Some(sign) = words.next_if(|next| next.starts_with('%')) {
            word = format!("{word} {sign}");
        }
        Some(word)
    })
}

/// Breaks a line between words to fit a terminal; continuation lines are indented further.
pub(super) fn wrapped(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut out = " ".repeat(indent);
    let mut width = indent;
    for (position, word) in words(line).enumerate() {
        let length = word.chars().count();
        if position > 0 && width + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            width = indent + 2;
        } else if position > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(&word);
        width += length;
    }
    out.push('\n');
    out
}
