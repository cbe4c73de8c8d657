//! What a gate says: a headline, a summary in Markdown, JSON, and its history over commits.

mod history;
mod json;

use results::ReportData;
use results::comparison::{Comparison, Metric};
use results::gate::{GateAnswer, GateHistory};
use spec::plan::WorkMetric;
use spec::{GateRecord, Judgement};

pub use self::history::{chart, table as history_table};
use crate::builds;
use crate::compared::change;
use crate::format::{TableFormat, blocks, markdown_text};
use crate::numbers::counted;
use crate::{Block, numbers, summary, tables, visible};

/// All that a gate found.
#[derive(Debug)]
pub struct GateReport<'a> {
    pub record: &'a GateRecord,
    pub answer: &'a GateAnswer,
    /// What was measured now; `None` if both arms are the same, and nothing was.
    pub data: Option<&'a ReportData>,
    /// The same with a base that was measured before.
    pub against: Option<&'a ReportData>,
    /// Looks at the answer that were taken, and planned.
    pub looks: (u32, u32),
    pub history: &'a GateHistory,
    /// Remarks for the reader, a sentence each.
    pub notes: &'a [String],
    /// Names of the files that are written next to the summary.
    pub files: &'a [String],
    pub exit_code: u8,
}

/// Characters of a commit that are printed.
const SHORT: usize = 12;

pub(crate) fn short(commit: &str) -> &str {
    let is_hex = commit.len() > SHORT && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { &commit[..SHORT] } else { commit }
}

pub(crate) fn noun(metric: WorkMetric) -> &'static str {
    results::comparison::Metric::from(metric).noun()
}

/// Words of the judgement: `worse: v2 against v1: throughput -8.9 % [-10.1, -7.6]`.
fn words(answer: &GateAnswer) -> String {
    let GateAnswer { judgement, arm, base, change: estimate, metric, failure, .. } = answer;
    let figure = estimate.as_ref().map(|of| format!(": {} {}", noun(*metric), change(of)));
    // Its speed is not why it is worse.
    let figure = figure.filter(|_| failure.is_none());
    let failure = failure.as_ref().map(|failure| format!(": {}", failure.lines().next().unwrap_or_default()));
    format!("{}: {arm} against {base}{}", judgement.word(), failure.or(figure).unwrap_or_default())
}

impl GateReport<'_> {
    /// One line: the judgement with its figure.
    #[must_use]
    pub fn headline(&self) -> String {
        visible::line(&format!("{}: {}", self.record.name, words(self.answer))).into_owned()
    }

    /// Sentences below the headline.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let GateAnswer { judgement, failure, hindrance, control, change: estimate, metric, .. } = self.answer;
        // The first line is in the headline.
        let failure =
            failure.iter().flat_map(|failure| failure.lines().skip(1)).map(str::trim).map(str::to_owned);
        let speed = estimate.as_ref().filter(|_| self.answer.failure.is_some());
        let speed = speed.map(|of| format!("where it ran: {} {}", noun(*metric), change(of)));
        let rounds = self.data.and_then(|data| data.compared().map(|of| of.rests_on()));
        let (taken, planned) = self.looks;
        let looked = (planned > 1).then(|| {
            format!(
                "looked at {taken} of {planned} times that were planned: the intervals allow for all of them"
            )
        });
        let control = control.as_ref().and_then(|control| {
            let moved = change(control.change.as_ref()?);
            Some(format!(
                "the base was measured before; the control {} changed by {moved} since, which is taken out",
                control.arm
            ))
        });
        let undecided = (*judgement == Judgement::Undecided && hindrance.is_none())
            .then(|| "a larger budget (--budget), more rounds or longer runs would decide".to_owned());
        let rests = rounds.map(|rounds| format!("it rests on {rounds}"));
        let all = [speed, hindrance.clone(), rests, looked, control, undecided].into_iter().flatten();
        failure
            .chain(all)
            .chain(self.answer.notes.iter().cloned())
            .chain(self.notes.iter().cloned())
            .chain(history::changes(self.history))
            .collect()
    }

    /// Headline and remarks as lines of a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let remarks: Vec<String> = self.remarks().iter().map(|remark| capital(remark)).collect();
        summary::paragraph(&self.headline(), &remarks)
    }

    /// The page of a pull request or a job: the judgement first.
    #[must_use]
    pub fn markdown(&self) -> String {
        let judged = self.answer;
        let mark = match judged.judgement {
            Judgement::Better | Judgement::Same => "✅",
            Judgement::Worse => "❌",
            Judgement::Undecided | Judgement::Invalid => "⚠️",
        };
        let mut page = format!("## {mark} {}\n\n", escaped(&words(judged)));
        let commit = [Some(short(&self.record.commit).to_owned()), self.record.subject.clone()];
        let commit: Vec<String> = commit.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        if !commit.is_empty() {
            page += &format!("Commit {}\n\n", escaped(&commit.join(" ")));
        }
        page += &self
            .remarks()
            .iter()
            .map(|remark| format!("- {}\n", escaped(&capital(remark))))
            .collect::<String>();
        let compared =
            |data: &ReportData| Comparison::of(&data.experiment, &data.runs, Metric::from(judged.metric));
        if let Some((data, compared)) = self.against.and_then(|data| Some((data, compared(data)?))) {
            page += &format!("\n{}", blocks(&tables::compared_for_people(data, &compared), TableFormat::Md));
        }
        if let Some(data) = self.data {
            if let Some(compared) = data.compared() {
                let of = tables::compared_for_people(data, compared);
                page += &format!("\n{}", blocks(&of, TableFormat::Md));
            }
            let details = summary::below(&data.experiment.question, data, TableFormat::Md);
            page += &format!("\n<details><summary>Details</summary>\n\n{details}\n</details>\n");
            let builds = builds::lines(data);
            if data.experiment.arms.iter().any(|arm| arm.target.is_some()) && !builds.is_empty() {
                page += "\n<details><summary>Builds</summary>\n\n";
                page += &builds.iter().map(|line| format!("- {}\n", escaped(line))).collect::<String>();
                page += "\n</details>\n";
            }
        }
        if self.history.points.len() > 1 {
            let of = counted(self.history.points.len(), "commit");
            page += &format!("\n<details><summary>History of {of}</summary>\n\n");
            page += &blocks(&[Block::Table(history::table(self.history))], TableFormat::Md);
            page += "\n</details>\n";
        }
        page += &format!("\nExit code {}. Files: {}\n", self.exit_code, escaped(&self.files.join(", ")));
        visible::lines(&page).into_owned()
    }
}

fn escaped(text: &str) -> String {
    markdown_text(&visible::line(text))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

pub(crate) fn signed_pct(value: Option<f64>) -> String {
    value.map_or_else(|| numbers::ABSENT.to_owned(), numbers::change)
}

#[cfg(test)]
mod tests;
