//! The answer for one arm in a mail, above the table of its cells: only what that table does not show.

use results::answer::{LineScope, VerdictLine};
use results::comparison::{ArmComparison, Comparison};
use stats::Verdict;

use super::AnswerBlocks;
use super::words::{AnswerLine, ArmAnswer};
use crate::block::{Block, Paragraph};
use crate::by_levels;
use crate::compared::tally;

impl AnswerBlocks<'_> {
    pub(super) fn arm_in_mail(
        &self,
        (of, arm): (&Comparison, &ArmComparison),
        answer: &ArmAnswer,
    ) -> Vec<Block> {
        let own: Vec<&VerdictLine> = self.answer.lines.iter().filter(|line| line.arm == arm.arm).collect();
        let lines: Vec<(&VerdictLine, &AnswerLine)> = own.into_iter().zip(&answer.lines).collect();
        let is_split = lines.len() > 1;
        let mut said: Vec<String> = Vec::new();
        if is_split {
            let which = format!("{}, against {}: {}", answer.arm, of.base, tally(of, arm));
            said.push(format!("{which}; no one figure stands for all cells."));
        }
        let shown = lines.iter().filter(|(line, _)| !(is_split && is_in_table(arm, line)));
        said.extend(shown.map(|(line, words)| headline(line, words)));
        if is_split && let Some(suspect) = lines.iter().find_map(|(line, _)| line.suspect.as_ref()) {
            said.push(format!("Doubtful: {}.", suspect.words()));
        }
        if !answer.unsafe_settings.is_empty() {
            said.push(format!("{} is not crash-safe: {}.", answer.arm, answer.unsafe_settings));
        }
        said.extend(crate::work::more_reliable(self.data, of, arm));
        said.extend(answer.doubts.iter().cloned());
        said.into_iter().map(|text| Paragraph::new("lead").plain(text).into()).collect()
    }
}

fn headline(line: &VerdictLine, words: &AnswerLine) -> String {
    let by = line.levels.as_ref().filter(|_| line.verdict != Verdict::PartsDiffer);
    let levels = by.and_then(by_levels::in_short).map(|levels| format!(": {levels}")).unwrap_or_default();
    format!("{}: {}: {}{levels}.", words.head, words.verdict, words.figures)
}

/// Whether a line is also a line of the table of cells.
fn is_in_table(arm: &ArmComparison, line: &VerdictLine) -> bool {
    match &line.scope {
        LineScope::Cell(_) => true,
        LineScope::Workload(name) => arm.cells.iter().filter(|cell| cell.cell.workload == *name).count() == 1,
        LineScope::Whole | LineScope::Script { .. } => false,
    }
}
