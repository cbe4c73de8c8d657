//! The answer at the head of a page.

use results::comparison::{ArmComparison, Comparison, Metric};
use results::{Table, Value};

use super::super::{limit, verdicts};
use super::Told;
use super::words::{Said, cells_in_words};
use crate::block::{Block, Paragraph};
use crate::compared::{Part, Tone, but, change, lacks, strong, verdict_with_need};
use crate::{next, numbers};

impl Told<'_> {
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let remarks = &self.answer.remarks;
        let warned =
            |head: &str, said: &str| Paragraph::new("notice").strong(head).plain(format!(" {said}.")).into();
        let mut blocks: Vec<Block> =
            remarks.different.iter().map(|said| warned("The arms do not do the same:", said)).collect();
        blocks.extend(self.same().map(|same| {
            Block::remark(format!("{same} (a sample of transactions, compared before any run)."))
        }));
        blocks.extend(remarks.sliced_all_the_same.iter().map(|why| warned("In slices all the same:", why)));
        let chosen = "Chosen from its own data, by the same rule:";
        blocks.extend(remarks.own_choice.iter().map(|own| warned(chosen, own)));
        let notes = self.notes();
        if !notes.is_empty() {
            blocks.extend(Block::group("notice", [Block::List(notes)]));
        }
        if let Some(limits) = &self.limits {
            let head =
                Paragraph::new("lead").plain("The highest rate at which ").strong(limits.asked.words());
            let lines =
                limit::lines(limits).into_iter().map(|line| Paragraph::new("figures").plain(line).into());
            blocks.extend(Block::group("answer", [head.plain(" holds:").into()].into_iter().chain(lines)));
        }
        let instead = self.instead().map(|instead| Paragraph::new("lead").plain(instead).into());
        blocks.extend(Block::group("answer", instead));
        blocks.extend(
            self.arms().into_iter().filter_map(|(of, arm, said)| {
                Block::group(box_class(said.tone), self.of_arm(of, arm, &said))
            }),
        );
        blocks.extend(self.trends().into_iter().map(Block::notice));
        blocks.extend(
            next::looked(&self.data.course)
                .iter()
                .map(|looked| Block::remark(format!("{}.", verdicts::sentence(looked)))),
        );
        blocks.extend(self.next_blocks());
        blocks.extend(self.overload().map(Block::notice));
        blocks.extend(self.remark_blocks());
        blocks
    }

    fn next_blocks(&self) -> Option<Block> {
        let next = self.answer.next.as_ref()?;
        let said = Paragraph::new("next").strong("Next: ").plain(next::sentence(self.data, next)).into();
        Block::group(
            "next",
            [said]
                .into_iter()
                .chain(next::command(self.data, next).map(|command| Block::Code(command.to_string()))),
        )
    }

    fn remark_blocks(&self) -> Vec<Block> {
        let taste = self.data.experiment.taste.iter().map(|taste| {
            Paragraph::new("notice").strong("A taste, not a measurement.").plain(format!(" {taste}")).into()
        });
        let not_run = self.data.not_run();
        let not_run = not_run.iter().map(|own| {
            let head = Paragraph::new("notice").strong(format!("Not run: {}", own.what));
            head.plain(format!(": {}.", own.why)).into()
        });
        let doubt = self.answer.doubts.suspect.runs + self.answer.doubts.invalid.runs > 0;
        let class = if doubt { "validity doubt" } else { "validity" };
        let validity = Paragraph::new(class).plain(self.validity()).into();
        let groups = self.groups();
        let groups =
            groups.and_then(|(head, lines)| Block::group("notice", [Block::text(head), Block::List(lines)]));
        taste
            .chain(not_run)
            .chain(self.units().into_iter().chain(self.uncut()).map(Block::remark))
            .chain([validity])
            .chain(groups)
            .collect()
    }

    fn of_arm(&self, of: &Comparison, arm: &ArmComparison, said: &Said) -> Vec<Block> {
        let latency = self.data.latency.as_ref().filter(|_| of.metric == Metric::Tps);
        let by_latency = latency.iter().flat_map(|of| &of.arms).find(|other| other.arm == arm.arm);
        let p99 = by_latency.filter(|_| arm.workloads.len() == 1).and_then(|other| other.grid);
        let is_unsafe = !said.unsafe_settings.is_empty();
        let mut blocks = Vec::new();
        for line in &said.lines {
            let mut lead = Paragraph::new("lead").strong(&line.head).plain(format!(": {}", line.verdict));
            let mut figures = line.figures.clone();
            if let Some(figure) = p99.filter(|_| said.lines.len() == 1) {
                let lacks = lacks(&figure).map(|lacks| format!(" ({lacks})")).unwrap_or_default();
                figures += &format!("; p99 response time {}{lacks}", change(&figure.grid.estimate));
            }
            let mut figures = Paragraph::new("figures").plain(figures);
            if is_unsafe {
                lead = lead.plain(", and ").warning("not crash-safe");
                figures = figures.plain("; weakens crash safety: ").code(&said.unsafe_settings);
            }
            blocks.extend([lead.into(), figures.plain(".").into()]);
        }
        let several = arm.workload_names().len() > 1;
        if several || said.lines.len() > 1 {
            blocks.push(by_workload(of, arm, by_latency).into());
        }
        for (workload, told) in self.besides(of, arm) {
            let of_it = if several { format!(" in {workload}") } else { String::new() };
            blocks.push(Block::remark(format!("What differs most besides{of_it}:")));
            blocks.extend(Block::group("besides", [Block::List(told)]));
        }
        blocks.push(Block::remark(cells_in_words(of, arm)));
        blocks.extend(said.remarks.iter().map(Block::remark));
        blocks
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

fn by_workload(of: &Comparison, arm: &ArmComparison, latency: Option<&ArmComparison>) -> Table {
    let mut sheet =
        Table::captioned(format_args!("{} against {}, per workload; 95 % intervals", arm.arm, of.base))
            .text(["workload"])
            .numbers([of.noun()])
            .text(["verdict"])
            .numbers(latency.map(|_| "p99 response time"));
    sheet.stacked = true;
    let parts = |arm| Part::workloads(arm).into_iter().chain([Part::whole(arm)]);
    for part in parts(arm).filter(|part| part.workload.is_some() || part.averaged > 0) {
        let verdict = match part.figure {
            Some(figure) => Value::marked(
                format!(
                    "{}{}",
                    verdict_with_need(
                        figure.verdict,
                        of.margin,
                        if of.paired { figure.grid.estimate.n } else { 0 }
                    ),
                    but(figure)
                ),
                Tone::of(figure.verdict).cell_class(figure.grid.estimate.change_pct(), strong(of)),
            ),
            None => part.no_figure(of.margin).into(),
        };
        let by_latency = latency.map(|arm| {
            let same = parts(arm).find(|other| other.workload == part.workload);
            same.map_or(numbers::ABSENT.to_owned(), |other| other.change()).into()
        });
        sheet.push([part.name().into(), part.change().into(), verdict].into_iter().chain(by_latency));
    }
    sheet
}
