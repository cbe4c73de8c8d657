//! The answer as the few plain lines at the end of a run.

use super::{AnswerBlocks, AnswerPlace};
use crate::format::{self, TableFormat, markdown_text};
use crate::lines::{TERMINAL, lines, wrapped};
use crate::visible;
use results::ReportData;

/// Question, answer with interval, answers per workload and validity; ends with a line break.
///
/// Control characters in foreign text are escaped.
#[must_use]
pub fn text(data: &ReportData) -> String {
    let answer = AnswerBlocks::of(data);
    headed(&answer.answer.question, &answer, TableFormat::Text)
}

/// The same below another head, as text or Markdown.
#[must_use]
pub fn below(head: &str, data: &ReportData, format: TableFormat) -> String {
    headed(head, &AnswerBlocks::of(data), format)
}

fn headed(head: &str, answer: &AnswerBlocks<'_>, format: TableFormat) -> String {
    let blocks = answer.blocks(AnswerPlace::Summary);
    match format {
        TableFormat::Md => format!("**{}**\n", escaped(head)) + &format::blocks(&blocks, format),
        _ => wrapped(head, TERMINAL) + &lines(&blocks, TERMINAL),
    }
}

/// A headline with notes below it, as lines of a terminal.
#[must_use]
pub fn paragraph(head: &str, notes: &[String]) -> String {
    let notes: String = notes.iter().map(|note| wrapped(&format!("  {note}."), TERMINAL)).collect();
    format!("{}{notes}\n", wrapped(head, TERMINAL))
}

/// The same as Markdown.
#[must_use]
pub fn markdown(head: &str, notes: &[String]) -> String {
    let notes: String = notes.iter().map(|note| format!("- {}\n", escaped(note))).collect();
    let gap = if notes.is_empty() { "" } else { "\n" };
    format!("**{}**\n\n{notes}{gap}", escaped(head))
}

fn escaped(text: &str) -> String {
    markdown_text(&visible::line(text))
}
