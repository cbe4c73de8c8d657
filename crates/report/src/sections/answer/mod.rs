//! The answer below the question: verdict with interval, effects on safety, and validity. One list of blocks,
//! for the head of a page and for the lines at the end of a run.

pub(crate) mod aging;
mod arm;
mod conclusion;
mod in_mail;
pub mod summary;
mod uncompared;
mod validity;
mod words;

use results::ReportData;
use results::answer::{Answer, Next, Verdicts};
use results::comparison::Comparison;
use results::limits::Limits;

use self::uncompared::words;
use super::worth;
use super::{limit, verdicts};
use crate::block::{Block, Paragraph};
use crate::{explained, next, zooms};

/// The answer with the data for its details.
pub(crate) struct AnswerBlocks<'a> {
    pub(crate) data: &'a ReportData,
    pub(crate) answer: Answer,
    /// What the answer is about.
    compared: Option<&'a Comparison>,
    limits: Option<Limits<'a>>,
}

/// Where the blocks are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerPlace {
    /// Its sections below show the details.
    Page,
    /// The sections in short.
    Summary,
}

impl<'a> AnswerBlocks<'a> {
    pub(crate) fn of(data: &'a ReportData) -> Self {
        Self { data, answer: Answer::of(data), compared: data.compared(), limits: data.limits() }
    }

    /// The answer by another metric than the experiment's, or against another base.
    pub(crate) fn by(data: &'a ReportData, compared: &'a Comparison) -> Self {
        let lines = Verdicts::of(compared, &data.experiment, &data.runs).lines;
        let whole = Answer::of(data);
        let next = whole.failure.is_none().then(|| Next::of(data, compared, &lines)).flatten();
        let answer = Answer { lines, next, is_answered: true, ..whole };
        Self { data, answer, compared: Some(compared), limits: None }
    }

    pub(crate) fn blocks(&self, output: AnswerPlace) -> Vec<Block> {
        let mut blocks = self.found(output);
        blocks.extend(self.next());
        blocks
    }

    fn found(&self, output: AnswerPlace) -> Vec<Block> {
        let mut blocks: Vec<Block> = self.crashes().collect();
        blocks.extend(self.before_figures());
        blocks.extend(self.limits());
        blocks.extend(self.uncompared());
        for (of, arm, answer) in self.arms() {
            blocks.extend(Block::group(answer.tone.box_class(), self.of_arm((of, arm), &answer, output)));
        }
        blocks.extend(self.aging());
        blocks.extend(self.kept_sessions());
        blocks.extend(self.trends().into_iter().map(Block::notice));
        if output == AnswerPlace::Summary {
            let zooms = zooms::summary(self.data).into_iter().chain(explained::layer_summary(self.data));
            let zooms = zooms.chain(explained::summary(self.data));
            let sections =
                worth::worth(self.data).iter().flat_map(worth::summary).chain(zooms).collect::<Vec<_>>();
            blocks.extend(sections.into_iter().map(Block::text));
        }
        blocks.extend(self.looked());
        match output {
            AnswerPlace::Page => blocks.extend(self.overload().map(Block::notice)),
            AnswerPlace::Summary => blocks.extend(self.in_time().into_iter().map(Block::text)),
        }
        blocks.extend(self.remarks());
        blocks
    }

    /// Crashes of servers, each with the server's own lines, or why an arm cannot run the workload.
    fn crashes(&self) -> impl Iterator<Item = Block> {
        let is_crash = self.answer.crashes.iter().any(|crash| crash.worse_than.is_some());
        let failure = self.answer.failure.as_ref().filter(|_| !is_crash).map(|failure| {
            Paragraph::new("notice").strong(failure.clone()).plain(": worse, whatever its speed.").into()
        });
        let failure = Block::group("notice", failure);
        self.answer
            .crashes
            .iter()
            .flat_map(|crash| {
                let end = match (&crash.worse_than, crash.lines.is_empty()) {
                    (Some(_), _) => ": worse, whatever its speed.",
                    (None, false) => ":",
                    (None, true) => ".",
                };
                let said = Paragraph::new("notice").strong(crash.words()).plain(end).into();
                Block::group("notice", [said, Block::List(crash.lines.clone())])
            })
            .chain(failure)
    }

    fn before_figures(&self) -> Vec<Block> {
        let remarks = &self.answer.remarks;
        let warn =
            |head: &str, said: &str| Paragraph::new("notice").strong(head).plain(format!(" {said}.")).into();
        let different = remarks.different.iter().map(|said| warn("The arms do not do the same:", said));
        let same = self.same().map(Block::remark);
        let nevertheless = remarks.sliced_all_the_same.iter().map(|why| warn("In slices nevertheless:", why));
        let chosen = "Chosen from its own data, by the same rule:";
        let own_choice = remarks.own_choice.iter().map(|own| warn(chosen, own));
        let notes = self.notes().map(|note| Block::text(format!("{note}.")));
        different
            .chain(same)
            .chain(nevertheless)
            .chain(own_choice)
            .chain(Block::group("notice", notes))
            .collect()
    }

    fn limits(&self) -> Option<Block> {
        let limits = self.limits.as_ref()?;
        let head = Paragraph::new("lead")
            .plain(crate::sections::limit::highest(&limits.asked))
            .strong(limits.asked.words());
        let lines = limit::lines(limits).into_iter().map(|line| Paragraph::new("figures").plain(line).into());
        Block::group("answer", [head.plain(" holds:").into()].into_iter().chain(lines))
    }

    fn uncompared(&self) -> Option<Block> {
        let doubt = self.answer.doubts.most;
        let doubt = doubt.map(|doubt| format!(" Doubtful: {}.", doubt.words())).unwrap_or_default();
        let said = (!self.answer.is_answered).then(|| words(&self.answer.uncompared) + &doubt);
        Block::group("answer", said.map(|said| Paragraph::new("lead").plain(said).into()))
    }

    fn looked(&self) -> Option<Block> {
        let looked = next::looked(&self.data.course, self.data.experiment.planned_looks());
        looked.map(|looked| Block::remark(format!("{}.", verdicts::sentence(&looked))))
    }

    /// What was not measured as the plan has it.
    fn exceptions(&self) -> Vec<Block> {
        let notice = |head: String, said: String| Paragraph::new("notice").strong(head).plain(said).into();
        let taste = self.data.experiment.taste.iter();
        let taste = taste.map(|taste| {
            notice("A taste, not a measurement.".to_owned(), format!(" {}", verdicts::sentence(taste)))
        });
        let not_run = self.data.not_run().into_iter();
        let not_run =
            not_run.map(|part| notice(format!("Not run: {}", part.what), format!(": {}.", part.why)));
        taste.chain(not_run).collect()
    }

    fn remarks(&self) -> Vec<Block> {
        let noticed = self.answer.remarks.noticed.iter().cloned();
        let is_doubtful = self.answer.doubts.suspect.runs + self.answer.doubts.invalid.runs > 0;
        let class = if is_doubtful { "validity doubt" } else { "validity" };
        let validity = [Paragraph::new(class).plain(self.validity()).into()];
        let groups = self.groups();
        let groups = groups.and_then(|(head, lines)| {
            Block::group("notice", [Block::text(format!("{head}:")), Block::List(lines)])
        });
        let units = self.units().chain(noticed).chain(self.uncut()).map(Block::remark);
        self.exceptions().into_iter().chain(units).chain(validity).chain(groups).collect()
    }

    fn next(&self) -> Option<Block> {
        let next = self.answer.next.as_ref()?;
        let said = Paragraph::new("next").strong("Next: ").plain(next::sentence(self.data, next)).into();
        let command = next::command(self.data, next).map(|command| Block::Code(command.to_string()));
        Block::group("next", [said].into_iter().chain(command))
    }
}
