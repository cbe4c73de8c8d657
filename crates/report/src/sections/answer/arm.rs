//! The answer for one arm.

use results::comparison::{ArmComparison, Comparison, Metric};
use results::{CellValue, Table};

use super::words::{ArmAnswer, extremes};
use super::{AnswerBlocks, AnswerPlace};
use crate::block::{Block, Paragraph};
use crate::compared::{
    ComparedPart, Tone, but, change, lacks, strong, tally, verdict_by, verdict_with_need, with_doubt,
};
use crate::numbers;

impl AnswerBlocks<'_> {
    pub(super) fn of_arm(
        &self,
        (of, arm): (&Comparison, &ArmComparison),
        answer: &ArmAnswer,
        output: AnswerPlace,
    ) -> Vec<Block> {
        let risk = (!answer.unsafe_settings.is_empty()).then(|| {
            let said =
                Paragraph::new("figures").plain(format!("{} is ", answer.arm)).warning("not crash-safe");
            said.plain(": ").code(&answer.unsafe_settings).into()
        });
        let work = crate::work::words(self.data, of, arm);
        let mut blocks = self.lines(of, arm, answer, output);
        blocks.extend(self.parts(of, arm, answer, output));
        blocks.extend(risk);
        blocks.extend(work.map(Block::text));
        blocks.push(Block::remark(format!("cells: {}", tally(of, arm))));
        blocks.extend(extremes(of, arm).filter(|_| output == AnswerPlace::Page).map(Block::remark));
        blocks.extend(answer.remarks.iter().map(Block::remark));
        blocks
    }

    /// The lines of the answer, each workload's with its differences besides speed.
    fn lines(
        &self,
        of: &Comparison,
        arm: &ArmComparison,
        answer: &ArmAnswer,
        output: AnswerPlace,
    ) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut lines = answer.lines.iter().peekable();
        while let Some(line) = lines.next() {
            let verdict = with_doubt(line.verdict.clone(), line.suspect.as_ref());
            let lead = Paragraph::new("lead").strong(&line.head).plain(format!(": {verdict}"));
            if output == AnswerPlace::Page {
                let lead = match answer.unsafe_settings.is_empty() {
                    true => lead,
                    false => lead.plain(", and ").warning("not crash-safe"),
                };
                let p99 = self.p99(of, arm).filter(|_| answer.lines.len() == 1).unwrap_or_default();
                let figures = Paragraph::new("figures").plain(format!("{}{p99}", line.figures));
                blocks.extend([lead.into(), figures.into()]);
            } else {
                blocks.push(lead.plain(format!(": {}", line.figures)).into());
            }
            if let Some((head, levels)) = &line.levels {
                let list = Block::List(levels.clone());
                blocks.extend(Block::group("besides", [Block::remark(head), list]));
            }
            let is_last = lines.peek().is_none_or(|next| next.workload != line.workload);
            if let Some(workload) = line.workload.as_deref().filter(|_| is_last) {
                blocks.extend(self.differences_of(of, arm, workload, output));
            }
        }
        blocks
    }

    /// Workloads without a line of the answer. If others have one, the mean over all is a detail.
    fn parts(
        &self,
        of: &Comparison,
        arm: &ArmComparison,
        answer: &ArmAnswer,
        output: AnswerPlace,
    ) -> Vec<Block> {
        let workloads = ComparedPart::workloads(arm);
        let is_split = answer.lines.iter().any(|line| line.workload.is_some());
        let is_several = workloads.len() > 1 || is_split;
        let has_line = |part: &ComparedPart<'_>| {
            answer.lines.iter().any(|line| line.workload.as_deref() == part.workload)
        };
        let mut blocks = Vec::new();
        if is_several && output == AnswerPlace::Page {
            let latency = self.data.latency().filter(|_| of.metric == Metric::Tps);
            let latency = latency.iter().flat_map(|of| &of.arms).find(|other| other.arm == arm.arm);
            blocks.push(by_workload(of, arm, latency).into());
        }
        let others = workloads.into_iter().filter(|part| !has_line(part));
        for part in others.chain(is_split.then(|| ComparedPart::whole(arm))) {
            if is_several && output != AnswerPlace::Page {
                blocks.push(Block::List(vec![workload(of, &part)]));
            }
            blocks.extend(self.differences_of(of, arm, part.name(), output));
        }
        blocks
    }

    fn differences_of(
        &self,
        of: &Comparison,
        arm: &ArmComparison,
        workload: &str,
        output: AnswerPlace,
    ) -> Vec<Block> {
        let found = self.differences(of, arm).into_iter().find(|(name, _)| *name == workload);
        let Some((_, phrases)) = found else { return Vec::new() };
        let is_several = arm.workload_names().len() > 1;
        if output != AnswerPlace::Page {
            let indent = if is_several { "  " } else { "" };
            return vec![Block::List(phrases.iter().map(|phrase| format!("{indent}{phrase}")).collect())];
        }
        let of_it = if is_several { format!(" in {workload}") } else { String::new() };
        let head = Block::remark(format!("What differs most besides{of_it}:"));
        [head].into_iter().chain(Block::group("besides", [Block::List(phrases)])).collect()
    }

    /// `; p99 response time +114 % [-55.0, +920]`, for an arm of one workload.
    fn p99(&self, of: &Comparison, arm: &ArmComparison) -> Option<String> {
        let latency = self.data.latency().filter(|_| of.metric == Metric::Tps && arm.workloads.len() == 1)?;
        let figure = latency.arms.iter().find(|other| other.arm == arm.arm)?.grid?;
        let lacks = lacks(&figure).map(|lacks| format!(" ({lacks})")).unwrap_or_default();
        Some(format!("; p99 response time {}{lacks}", change(&figure.grid.estimate)))
    }
}

impl Tone {
    /// The class of the box of an answer.
    pub(super) fn box_class(self) -> &'static str {
        match self {
            Self::Better => "answer is-better",
            Self::Worse => "answer is-worse",
            Self::Same => "answer is-same",
            Self::Unclear => "answer is-unclear",
        }
    }
}

fn workload(of: &Comparison, part: &ComparedPart<'_>) -> String {
    let said = match part.figure {
        Some(figure) => format!("{}, {}{}", verdict_by(figure.verdict, of), part.change(), but(figure)),
        None => part.no_figure(of),
    };
    format!("{}: {said}", part.name())
}

fn by_workload(of: &Comparison, arm: &ArmComparison, latency: Option<&ArmComparison>) -> Table {
    let mut sheet =
        Table::captioned(format_args!("{} against {}, per workload; 95 % intervals", arm.arm, of.base))
            .text(["workload"])
            .numbers([of.noun()])
            .text(["verdict"])
            .numbers(latency.map(|_| "p99 response time"));
    sheet.stacked = true;
    let parts = |arm| ComparedPart::workloads(arm).into_iter().chain([ComparedPart::whole(arm)]);
    for part in parts(arm).filter(|part| part.workload.is_some() || part.averaged > 0) {
        let verdict = match part.figure {
            Some(figure) => CellValue::marked(
                format!(
                    "{}{}",
                    verdict_with_need(figure.verdict, of, if of.paired { figure.grid.estimate.n } else { 0 }),
                    but(figure)
                ),
                Tone::of(figure.verdict).cell_class(figure.grid.estimate.change_pct(), strong(of)),
            ),
            None => part.no_figure(of).into(),
        };
        let by_latency = latency.map(|arm| {
            let same = parts(arm).find(|other| other.workload == part.workload);
            same.map_or(numbers::ABSENT.to_owned(), |other| other.change()).into()
        });
        sheet.push([part.name().into(), part.change().into(), verdict].into_iter().chain(by_latency));
    }
    sheet
}
