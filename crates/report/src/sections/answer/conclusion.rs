//! The short answer of an experiment: a sentence, its figures, what limits it, the most important reason, and what to
//! type next.

use results::ReportData;
use results::answer::{LineScope, OtherMetric, SuspectRuns, Uncompared, VerdictLine};
use results::comparison::{ArmComparison, Cell, CellComparison, Comparison, Metric};
use results::data::{cell_label, varying};
use results::ladder::ladders;
use spec::{Reason, Run, figures};
use stats::{Estimate, Verdict};

use super::{AnswerBlocks, aging, uncompared};
use crate::compared::{Tone, change, control, shown_figures, value_of, verdict_by, verdict_or_invalid};
use crate::conclusion::{Conclusion, Step};
use crate::sections::limit;
use crate::{differences, ladder, next, numbers};

/// Rows of figures, at most; `pgdyno compare` and the report have all.
const MOST_ROWS: usize = 8;
/// Doubts of one kind that are listed.
const MOST_ALIKE: usize = 2;

impl Conclusion {
    /// Of an experiment.
    #[must_use]
    pub fn of(data: &ReportData) -> Self {
        AnswerBlocks::of(data).conclusion()
    }

    /// Of a comparison of its runs by any metric.
    #[must_use]
    pub fn of_comparison(data: &ReportData, compared: &Comparison) -> Self {
        AnswerBlocks::by(data, compared).conclusion()
    }
}

impl AnswerBlocks<'_> {
    pub(crate) fn conclusion(&self) -> Conclusion {
        let found = match (&self.limits, self.compared) {
            (Some(limits), _) => limit::conclusion(limits),
            (None, Some(of)) if self.answer.is_answered => self.of_comparison(of),
            _ => self.of_runs(),
        };
        let found = match &self.answer.failure {
            Some(failure) => self.with_failure(failure, found),
            None => found,
        };
        let mut but = self.doubts();
        but.extend(found.but);
        let mut next: Vec<Step> = found.next;
        if let Some(own) = &self.answer.next {
            let command = next::command(self.data, own).map(|command| Step::Command(command.to_string()));
            next.splice(0..0, [Step::Advice(next::short_words(self.data, own))].into_iter().chain(command));
        }
        // Failed tiles, arms that share a server: a run had a reason to store it.
        let notes = self.answer.remarks.noticed.clone();
        Conclusion { but, notes, next, ..found }
    }

    /// The class of the answer's box on a page.
    pub(crate) fn box_class(&self) -> &'static str {
        match self.data.compared() {
            Some(_) if self.answer.is_answered => {
                Tone::of_all(self.answer.lines.iter().map(|line| line.verdict)).box_class()
            }
            _ => "answer",
        }
    }

    /// What failed is the answer, and its speed a detail.
    fn with_failure(&self, failure: &str, of: Conclusion) -> Conclusion {
        let lines = self.answer.crashes.iter().flat_map(|crash| &crash.lines).map(|line| vec![line.clone()]);
        Conclusion {
            answer: format!("{}: worse, whatever its speed.", failure.lines().next().unwrap_or_default()),
            figures: lines.chain(of.figures).collect(),
            why: None,
            ..of
        }
    }

    fn of_comparison(&self, of: &Comparison) -> Conclusion {
        let arms = self.arms();
        let own = |arm: &ArmComparison| {
            let lines = self.answer.lines.iter().filter(|line| line.arm == arm.arm);
            lines.collect::<Vec<&VerdictLine>>()
        };
        if let [(_, arm, _)] = &arms[..]
            && let [line] = own(arm)[..]
        {
            return Conclusion {
                answer: self.one(of, arm, line),
                figures: match &arm.cells[..] {
                    [cell] => self.sides(of, arm, cell),
                    cells => limited(cells.iter().map(|cell| self.cell_row(of, arm, cell)).collect()),
                },
                why: self.why(of, arm, line),
                ..Conclusion::default()
            };
        }
        let each: Vec<(String, &ArmComparison, &VerdictLine)> = arms
            .iter()
            .flat_map(|(_, arm, _)| own(arm).into_iter().map(|line| (*arm, line)).collect::<Vec<_>>())
            .map(|(arm, line)| (self.part_name(arms.len() > 1, arm, line), arm, line))
            .collect();
        let one_cell =
            each.iter().all(|(_, arm, line)| matches!(&arm.cells[..], [_]) && line.scope == LineScope::Whole);
        let base = each
            .first()
            .filter(|_| one_cell)
            .map(|(_, arm, _)| vec![self.label(&of.base), with_unit(of, &arm.cells[0], arm.cells[0].base)]);
        let rows =
            each.iter().map(|(name, arm, line)| self.line_row(of, (name.as_str(), *arm, *line), one_cell));
        Conclusion {
            answer: self.several(of, &each, arms.len() > 1),
            figures: limited(base.into_iter().chain(rows).collect()),
            ..Conclusion::default()
        }
    }

    /// Of an arm with one line.
    fn one(&self, of: &Comparison, arm: &ArmComparison, line: &VerdictLine) -> String {
        let ([other, base], are_several) = self.names(of, arm);
        let Some(estimate) = &line.estimate else {
            let (why, figures) = Self::without_figure(of, arm, line.verdict);
            return format!("No answer for {other} against {base}: {why}, {figures}.");
        };
        let by_age = self.depends_on_age(of.metric, &arm.arm, &line.scope).unwrap_or_default();
        let is_job = arm.cells.iter().all(|cell| cell.job);
        let cells = match arm.cells.len() {
            0 | 1 => String::new(),
            cells => format!(" of {}", numbers::counted(cells, "cell")),
        };
        let figures = format!("{}, {}{cells}{by_age}", measured_change(of, estimate, is_job), of.rests_on());
        let [is, takes] = if are_several { ["are", "take"] } else { ["is", "takes"] };
        let said = match (line.verdict, of.metric) {
            (Verdict::Faster, Metric::Cpu) => format!("{other} {takes} less CPU than {base}"),
            (Verdict::Slower, Metric::Cpu) => format!("{other} {takes} more CPU than {base}"),
            (Verdict::Faster, _) => format!("{other} {is} faster than {base}"),
            (Verdict::Slower, _) => format!("{other} {is} slower than {base}"),
            (Verdict::Same, metric) => {
                let margin = numbers::percent(of.margin);
                match metric {
                    Metric::Cpu => format!("{other} {takes} as much CPU as {base}, within {margin}"),
                    _ => format!("{other} {is} as fast as {base}, within {margin}"),
                }
            }
            (Verdict::Differs, _) => {
                format!("{other} and {base} differ, and were measured at different times")
            }
            (Verdict::Inconclusive { .. }, Metric::Cpu) => {
                format!("It is inconclusive whether {other} {takes} less CPU than {base}")
            }
            (Verdict::Inconclusive { .. }, _) => {
                format!("It is inconclusive whether {other} {is} faster than {base}")
            }
            (verdict, _) => format!("{other} against {base}: {}", verdict_or_invalid(verdict, of)),
        };
        format!("{said}: {figures}.")
    }

    /// The compared sides as the question names them, else the workload with the arm; and whether the first is a plural.
    fn names(&self, of: &Comparison, arm: &ArmComparison) -> ([String; 2], bool) {
        if let Some((sides, are_several)) = asked(&self.answer.question) {
            return (sides.map(str::to_owned), are_several);
        }
        let [base, other] = [&of.base, &arm.arm].map(|name| self.label(name));
        let names = arm.workload_names();
        match names.first().filter(|_| names.len() == 1) {
            Some(workload) => ([format!("{workload} with {other}"), base], false),
            None => ([other, base], false),
        }
    }

    /// An arm's settings as a user writes them, or its name.
    fn label(&self, name: &str) -> String {
        let experiment = &self.data.experiment;
        let arm = experiment.arms.iter().find(|arm| arm.name == name);
        let by_settings = experiment.compare_factor.as_deref() == Some("settings");
        let settings =
            arm.map(|arm| &arm.settings).filter(|settings| by_settings && matches!(settings.len(), 1 | 2));
        match settings {
            Some(settings) => {
                let pairs = settings.iter().map(|(name, value)| format!("{name}={value}"));
                pairs.collect::<Vec<_>>().join(", ")
            }
            None => match experiment.compare_factor.as_deref() {
                // It alone says nothing.
                Some(factor) if matches!(name, "true" | "false") => {
                    format!("{}={name}", factor.rsplit('.').next().unwrap_or(factor))
                }
                _ => self.name_of(name),
            },
        }
    }

    fn part_name(&self, with_arm: bool, arm: &ArmComparison, line: &VerdictLine) -> String {
        let part = match &line.scope {
            LineScope::Whole => None,
            LineScope::Cell(cell) => Some(self.cell_name(arm, cell)),
            LineScope::Workload(name) => Some(name.clone()),
            LineScope::Script { script, .. } => Some(script.clone()),
        };
        match (with_arm, part) {
            (true, Some(part)) => format!("{}, {part}", self.label(&arm.arm)),
            (false, Some(part)) => part,
            (_, None) => self.label(&arm.arm),
        }
    }

    /// A cell without what all cells have in common.
    fn cell_name(&self, arm: &ArmComparison, cell: &Cell) -> String {
        let label = cell_label(cell, &varying(arm.cells.iter().map(|own| &own.cell)));
        match (arm.workload_names().len(), label.is_empty()) {
            (1, false) => label,
            (_, true) => cell.workload.clone(),
            _ => format!("{}, {label}", cell.workload),
        }
    }

    /// Several lines in one sentence: what is faster, what is slower, what is inconclusive.
    fn several(
        &self,
        of: &Comparison,
        each: &[(String, &ArmComparison, &VerdictLine)],
        are_arms: bool,
    ) -> String {
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for (name, _, line) in each {
            let verdict = match line.verdict {
                Verdict::Inconclusive { .. } => "inconclusive".to_owned(),
                verdict => verdict_or_invalid(verdict, of),
            };
            match groups.iter_mut().find(|(known, _)| *known == verdict) {
                Some((_, names)) => names.push(name.as_str()),
                None => groups.push((verdict, vec![name.as_str()])),
            }
        }
        let group = |(verdict, names): &(String, Vec<&str>)| match names.len() {
            many if many > MOST_ROWS => format!("{verdict} in {many} of {}", each.len()),
            _ if are_arms => format!("{verdict}: {}", names.join(", ")),
            _ => format!("{verdict} in {}", names.join(", ")),
        };
        let said = groups.iter().map(group).collect::<Vec<_>>().join("; ");
        let base = self.label(&of.base);
        let are_scripts = each.iter().all(|(.., line)| matches!(line.scope, LineScope::Script { .. }));
        // Their throughputs are in the proportion of their weights.
        let by = if are_scripts && of.metric == Metric::Tps { "mean response time" } else { of.noun() };
        match each {
            [] => format!("{}: nothing can be compared.", self.answer.question),
            _ if are_arms => format!("Against {base}, by {by} in {}: {said}.", of.rests_on()),
            [(_, arm, _), ..] => {
                let ([other, base], _) = self.names(of, arm);
                format!("{other} against {base}, by {by} in {}: {said}.", of.rests_on())
            }
        }
    }

    /// Both sides of one cell: their ratio is the change.
    fn sides(&self, of: &Comparison, arm: &ArmComparison, cell: &CellComparison) -> Vec<Vec<String>> {
        let values = shown_figures(cell);
        let row = |(name, value): (&String, Option<f64>)| {
            let figures = self.data.grid().iter().find(|own| own.arm.as_ref() == Some(name));
            let mut row = vec![self.label(name), with_unit(of, cell, value)];
            if of.metric == Metric::Tps && !cell.job {
                row.extend(figures.map(|own| format!("p99 {}", numbers::percentile(&own.response, 0.99))));
            }
            row
        };
        [&of.base, &arm.arm].into_iter().zip(values).map(row).collect()
    }

    fn cell_row(&self, of: &Comparison, arm: &ArmComparison, cell: &CellComparison) -> Vec<String> {
        let values = shown_figures(cell).map(|value| value_of(cell, of.metric, value)).join(" → ");
        let unit = if of.metric == Metric::Tps && !cell.job { " tps" } else { "" };
        let said = cell.estimate.as_ref().map_or(numbers::ABSENT.to_owned(), change);
        vec![
            self.cell_name(arm, &cell.cell),
            format!("{values}{unit}"),
            said,
            short_verdict(cell.verdict, of),
        ]
    }

    fn line_row(
        &self,
        of: &Comparison,
        (name, arm, line): (&str, &ArmComparison, &VerdictLine),
        one_cell: bool,
    ) -> Vec<String> {
        let cells: Vec<&CellComparison> =
            arm.cells.iter().filter(|cell| line.scope.has(&cell.cell)).collect();
        let is_script = matches!(line.scope, LineScope::Script { .. });
        let values = match cells[..] {
            [cell] if one_cell => Some(with_unit(of, cell, cell.new)),
            [cell] if !is_script => self.cell_row(of, arm, cell).into_iter().nth(1),
            _ => None,
        };
        let said = match line.estimate.as_ref().map(change) {
            Some(said) if is_script && of.metric == Metric::Tps => format!("{said} response time"),
            said => said.unwrap_or_else(|| numbers::ABSENT.to_owned()),
        };
        let head = [Some(name.to_owned()), values].into_iter().flatten();
        head.chain([said, short_verdict(line.verdict, of)]).collect()
    }

    /// The other metric of work where it says something else; else the largest difference besides speed.
    fn why(&self, of: &Comparison, arm: &ArmComparison, line: &VerdictLine) -> Option<String> {
        let other = OtherMetric::of(self.data, of, arm);
        let other = other.filter(|other| other.verdict.is_decided() && other.verdict != line.verdict);
        if let Some(other) = other.filter(|other| other.verdict.is_change() || !line.verdict.is_decided()) {
            let verdict = crate::compared::verdict_by_metric(other.verdict, other.metric, of.margin);
            return Some(format!("by {}: {verdict}, {}", other.metric.noun(), change(&other.estimate)));
        }
        let workload = *arm.workload_names().first()?;
        let labels = [&of.base, &arm.arm].map(|name| self.label(name));
        let first =
            differences::largest_in_words(&self.answer.causes, workload, &arm.arm, [&labels[0], &labels[1]]);
        first.filter(|_| line.verdict.is_change())
    }

    /// What a reader must know before believing it.
    fn doubts(&self) -> Vec<String> {
        let remarks = &self.answer.remarks;
        let mut all: Vec<String> =
            remarks.different.iter().map(|said| format!("the arms do not do the same: {said}")).collect();
        let taste =
            self.data.experiment.taste.iter().map(|taste| format!("a taste, not a measurement: {taste}"));
        all.extend(taste);
        all.extend(self.data.not_run().iter().map(|part| format!("not run: {}: {}", part.what, part.why)));
        all.extend(self.notes());
        match self.compared {
            Some(of) if !self.data.experiment.is_interleaved() => all.push(match control(of) {
                Some(control) => format!("not interleaved: {control}"),
                None => "not interleaved: the arms were measured at different times".to_owned(),
            }),
            _ => {}
        }
        for (_, _, answer) in self.arms().iter().filter(|(_, _, answer)| !answer.unsafe_settings.is_empty()) {
            all.push(format!("{} is not crash-safe: {}", answer.arm, answer.unsafe_settings));
        }
        // A search says it of each limit.
        if self.limits.is_none() {
            all.extend(self.suspects());
            all.extend(self.excluded());
        }
        let few = self.answer.lines.iter().filter_map(|line| line.estimate).any(|own| matches!(own.n, 1 | 2));
        all.extend(few.then(|| "one or two rounds say little about how much runs vary".to_owned()));
        all.extend(next::looked(&self.data.course, self.data.experiment.planned_looks()));
        let aging = aging::sentences(self.data.base().unwrap_or_default(), &self.answer.aging);
        all.extend(aging.into_iter().map(|(head, _)| head).take(MOST_ALIKE));
        all.extend(self.trends().into_iter().take(MOST_ALIKE));
        all.extend(self.overload());
        all.extend(self.groups().map(|(head, _)| head.replacen("Runs of", "runs of", 1)));
        all
    }

    /// `24 of 24 runs are suspect (other programs), which used 53 % of the CPUs`, if it is a third or more.
    fn suspects(&self) -> Option<String> {
        let own = self.answer.lines.iter().find_map(|line| line.suspect).or(self.answer.doubts.most);
        let own: SuspectRuns = own?;
        let used: Vec<f64> =
            self.data.grid_runs().filter_map(|run: &Run| run.figures.get(figures::CPU_OTHERS_PCT)).collect();
        let mean = used.iter().sum::<f64>() / used.len().max(1) as f64;
        let share = (own.reason == Some(Reason::OtherPrograms) && !used.is_empty())
            .then(|| format!("; they used {} of the CPUs", numbers::percent(mean.round() / 100.0)));
        Some(format!("doubtful: {}{}", own.words(), share.unwrap_or_default()))
    }

    /// Runs that do not count.
    fn excluded(&self) -> Option<String> {
        let invalid = &self.answer.doubts.invalid;
        let reasons = invalid.reasons.keys().map(|reason| reason.text()).collect::<Vec<_>>().join(", ");
        let all = numbers::counted(self.answer.doubts.runs, "run");
        (invalid.runs > 0).then(|| format!("{} of {all} are invalid ({reasons}) and left out", invalid.runs))
    }

    fn of_runs(&self) -> Conclusion {
        let ladders = ladders(self.data);
        if let (Uncompared::NothingToCompare { .. }, false) = (&self.answer.uncompared, ladders.is_empty()) {
            let said = ladders.iter().map(|ladder| ladder::answer(ladder, ladders.len() > 1));
            return Conclusion::new(said.collect::<Vec<_>>().join(" "));
        }
        uncompared::conclusion(self.data, &self.answer.uncompared)
    }
}

/// The two sides as the question names them ("Is new.sql faster than old.sql?"), and whether they are plurals.
fn asked(question: &str) -> Option<([&str; 2], bool)> {
    let are = question.strip_prefix("Are ");
    let (other, base) =
        are.or(question.strip_prefix("Is "))?.strip_suffix('?')?.split_once(" faster than ")?;
    Some(([other, base.trim_end_matches(", and at which zoom")], are.is_some()))
}

/// `69 times the throughput (95 % interval [61, 79])`; of jobs a factor of time.
fn measured_change(of: &Comparison, estimate: &Estimate, is_job: bool) -> String {
    let (pct, interval) = (estimate.change_pct(), estimate.interval_pct());
    if is_job {
        let said = numbers::as_long(pct, interval);
        return match said.split_once(" [") {
            Some((said, interval)) => format!("{said} (95 % interval [{interval})"),
            None => said,
        };
    }
    let (change, interval) = numbers::change_and_interval(pct, interval);
    let the = if numbers::is_factor(pct) { "the " } else { "" };
    let interval = interval.map(|interval| format!(" (95 % interval {interval})")).unwrap_or_default();
    format!("{change} {the}{}{interval}", of.noun())
}

fn with_unit(of: &Comparison, cell: &CellComparison, value: Option<f64>) -> String {
    let said = value_of(cell, of.metric, value);
    match of.metric {
        Metric::Tps if cell.job => said,
        Metric::Tps => format!("{said} tps"),
        Metric::P50 | Metric::P95 | Metric::P99 | Metric::Cpu => format!("{} {said}", of.noun()),
    }
}

fn short_verdict(verdict: Verdict, of: &Comparison) -> String {
    match verdict {
        Verdict::Inconclusive { .. } => "inconclusive".to_owned(),
        verdict => verdict_by(verdict, of),
    }
}

fn limited(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let more = rows.len().saturating_sub(MOST_ROWS);
    if more > 1 {
        rows.truncate(MOST_ROWS);
        rows.push(vec![format!("and {} more", more)]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_called_as_the_question_calls_them() {
        let cases = [
            (
                "Is select-only with jit = off faster than without?",
                Some((["select-only with jit = off", "without"], false)),
            ),
            ("Is new.sql faster than old.sql?", Some((["new.sql", "old.sql"], false))),
            (
                "Are tiles by a faster than those by b, and at which zoom?",
                Some((["tiles by a", "those by b"], true)),
            ),
            ("Does this index help?", None),
        ];
        for (question, wanted) in cases {
            assert_eq!(asked(question), wanted, "{question}");
        }
    }

    #[test]
    fn rows_beyond_a_screen_are_counted() {
        let rows = |many: usize| (0..many).map(|at| vec![at.to_string()]).collect::<Vec<_>>();
        assert_eq!(limited(rows(9)).len(), 9, "one more costs as much as its count");
        assert_eq!(limited(rows(12)).last().unwrap(), &["and 4 more"]);
    }
}
