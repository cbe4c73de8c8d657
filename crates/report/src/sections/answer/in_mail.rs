//! The answer in a mail, above the table of its cells: only what that table does not show.

use results::answer::{LineScope, VerdictLine};
use results::comparison::{ArmComparison, Comparison};
use stats::Verdict;

use super::AnswerBlocks;
use super::words::{AnswerLine, ArmAnswer};
use crate::block::Block;
use crate::by_levels;
use crate::compared::{but, change, tally, verdict_by};
use crate::work::{by_reliability, more_reliable};

impl AnswerBlocks<'_> {
    /// `has_whole` is set if the table has the figures of the whole grid, too.
    pub(crate) fn in_mail(&self, has_whole: bool) -> Vec<Block> {
        let mut blocks: Vec<Block> = self.crashes().collect();
        blocks.extend(self.before_figures());
        blocks.extend(self.limits());
        blocks.extend(self.uncompared());
        blocks.extend(self.arms_in_mail(has_whole).into_iter().map(Block::text));
        blocks.extend(self.aging());
        blocks.extend(self.trends().into_iter().map(Block::notice));
        blocks.extend(self.looked());
        blocks.extend(self.overload().map(Block::notice));
        blocks.extend(self.exceptions());
        blocks.extend(self.units().map(Block::remark));
        let doubts = &self.answer.doubts;
        let is_doubtful = self.answer.lines.iter().any(|line| line.suspect.is_some());
        if doubts.suspect.runs + doubts.invalid.runs > 0 {
            let head = if is_doubtful { "Doubtful: " } else { "" };
            blocks.push(Block::text(format!("{head}{}", self.validity())));
        }
        // Which ones are in the attached runs.
        blocks.extend(self.groups().map(|(head, _)| Block::text(format!("{head}."))));
        blocks
    }

    /// What several arms have in common is written once.
    fn arms_in_mail(&self, has_whole: bool) -> Vec<String> {
        let arms = self.arms();
        let mut said: Vec<String> = Vec::new();
        if has_whole {
            said.extend(by_reliability(self.data).into_iter().map(|of| self.by_verdict(of)));
        }
        for (of, arm, answer) in arms.iter().filter(|_| !has_whole) {
            said.extend(self.lines_in_mail(of, arm, answer));
        }
        let each = |words: &dyn Fn(&Comparison, &ArmComparison, &ArmAnswer) -> Vec<String>| {
            arms.iter()
                .map(|(of, arm, answer)| (answer.arm.clone(), words(of, arm, answer)))
                .collect::<Vec<_>>()
        };
        let reliable = each(&|of, arm, _| more_reliable(self.data, of, arm).into_iter().collect());
        let doubts = each(&|_, _, answer| answer.doubts.clone());
        let is_unsafe = each(&|_, _, answer| {
            let settings = Some(&answer.unsafe_settings).filter(|settings| !settings.is_empty());
            settings.map(|settings| format!("not crash-safe: {settings}.")).into_iter().collect()
        });
        // The base is none of them.
        let named = |(text, arms): (&str, Vec<&str>)| format!("{}: {text}", arms.join(", "));
        said.extend(once_for_all(&reliable));
        said.extend(by_text(&is_unsafe).into_iter().map(named));
        said.extend(once_for_all(&doubts));
        said
    }

    /// `By throughput: v3 slower; v2, v1 inconclusive.`
    fn by_verdict(&self, of: &Comparison) -> String {
        let mut verdicts: Vec<(String, Vec<String>)> = Vec::new();
        for (_, own, answer) in self.arms() {
            let figure = of.arms.iter().find(|arm| arm.arm == own.arm).and_then(|arm| arm.grid);
            let Some(figure) = figure else { continue };
            let verdict = format!("{}{}", verdict_by(figure.verdict, of), but(&figure));
            match verdicts.iter_mut().find(|(known, _)| *known == verdict) {
                Some((_, arms)) => arms.push(answer.arm),
                None => verdicts.push((verdict, vec![answer.arm])),
            }
        }
        let each = verdicts.iter().map(|(verdict, arms)| format!("{} {verdict}", arms.join(", ")));
        format!("By {}: {}.", of.noun(), each.collect::<Vec<_>>().join("; "))
    }

    fn lines_in_mail(&self, of: &Comparison, arm: &ArmComparison, answer: &ArmAnswer) -> Vec<String> {
        let own: Vec<&VerdictLine> = self.answer.lines.iter().filter(|line| line.arm == arm.arm).collect();
        if let Some(whole) = self.whole_in_mail(of, arm, &own, &answer.arm) {
            return vec![whole];
        }
        let lines: Vec<(&VerdictLine, &AnswerLine)> = own.into_iter().zip(&answer.lines).collect();
        let is_split = lines.len() > 1;
        let split = is_split.then(|| {
            let which = format!("{}, against {}: {}", answer.arm, of.base, tally(of, arm));
            format!("{which}; no one figure stands for all cells.")
        });
        let shown = lines.iter().filter(|(line, _)| !(is_split && is_in_table(arm, line)));
        split.into_iter().chain(shown.map(|(line, words)| headline(line, words))).collect()
    }

    /// Both metrics in one sentence, the more reliable one first; `None` if the answer is not one line, or has more to
    /// say than a change.
    fn whole_in_mail(
        &self,
        of: &Comparison,
        arm: &ArmComparison,
        own: &[&VerdictLine],
        name: &str,
    ) -> Option<String> {
        let [VerdictLine { scope: LineScope::Whole, figure: Some(figure), levels, .. }] = own else {
            return None;
        };
        if !of.paired || figure.verdict == Verdict::PartsDiffer || arm.cells.iter().any(|cell| cell.job) {
            return None;
        }
        let by = |other: &Comparison| {
            let figure = other.arms.iter().find(|own| own.arm == arm.arm)?.grid?;
            let verdict = verdict_by(figure.verdict, other);
            Some(format!("{} {}, {verdict}{}", other.noun(), change(&figure.grid.estimate), but(&figure)))
        };
        let both = by_reliability(self.data).into_iter().filter_map(by);
        let cells =
            if figure.grid.cells > 1 { format!(" x {} cells", figure.grid.cells) } else { String::new() };
        let by_age = self.depends_on_age(of.metric, &arm.arm, &LineScope::Whole).unwrap_or_default();
        // Levels of one cell are in the table.
        let levels = levels.as_ref().filter(|by| by.levels.iter().any(|level| level.cells > 1));
        let levels = levels.and_then(by_levels::in_short);
        let levels = levels.map(|levels| format!("; {} by cells: {levels}", of.noun()));
        Some(format!(
            "{name} against {}, {}{cells}: {}{by_age}{}.",
            of.base,
            of.rests_on(),
            both.collect::<Vec<_>>().join("; "),
            levels.unwrap_or_default()
        ))
    }
}

/// Each text with the arms that have it.
fn by_text(each: &[(String, Vec<String>)]) -> Vec<(&str, Vec<&str>)> {
    let mut texts: Vec<(&str, Vec<&str>)> = Vec::new();
    for (arm, own) in each {
        for text in own {
            match texts.iter_mut().find(|(known, _)| known == text) {
                Some((_, arms)) => arms.push(arm),
                None => texts.push((text, vec![arm])),
            }
        }
    }
    texts
}

/// A text that all arms have once, and others with the arms that have them.
fn once_for_all(each: &[(String, Vec<String>)]) -> Vec<String> {
    let said = |(text, arms): (&str, Vec<&str>)| match arms.len() == each.len() {
        true => text.to_owned(),
        false => format!("{}: {text}", arms.join(", ")),
    };
    by_text(each).into_iter().map(said).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_arms_have_is_said_once() {
        let arm = |name: &str, texts: &[&str]| {
            (name.to_owned(), texts.iter().map(|text| (*text).to_owned()).collect())
        };
        let each = [arm("a", &["One.", "Two."]), arm("b", &["Two."]), arm("c", &["Two.", "One."])];
        assert_eq!(once_for_all(&each), ["a, c: One.", "Two."]);
    }
}
