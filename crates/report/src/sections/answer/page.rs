//! The answer at the head of a page.

use maud::{Markup, html};
use results::comparison::{ArmComparison, Comparison};

use super::super::verdicts;
use super::Answer;
use super::words::{Said, cells_in_words};
use crate::compared::{Part, Tone, but, change, lacks, strong, verdict_with_need};
use crate::numbers;
use crate::sheet::{Cell, Sheet};

impl Answer {
    pub(crate) fn draw(&self) -> Markup {
        let doubt = self.suspect.runs + self.invalid.runs > 0;
        html! {
            @for different in &self.different { p.notice { strong { "The arms do not do the same: " } (different) "." } }
            @for same in &self.same { p.remark { (same) " (a sample of transactions, compared before any run)." } }
            @for burden in &self.sliced_all_the_same { p.notice { strong { "In slices all the same: " } (burden) "." } }
            @for own in &self.own_choice { p.notice { strong { "Chosen from its own data, by the same rule: " } (own) "." } }
            @if !self.notes.is_empty() { div.notice { ul { @for note in &self.notes { li { (note) } } } } }
            @if let Some(limit) = &self.limit {
                div.answer {
                    p.lead { "The highest rate at which " strong { (limit.promise()) } " holds:" }
                    @for line in limit.lines() { p.figures { (line) } }
                }
            }
            @if let Some(instead) = self.instead() { div.answer { p.lead { (instead) } } }
            @for (of, arm, said) in self.arms() {
                div.{ "answer " (box_class(said.tone)) } { (self.draw_arm(of, arm, &said)) }
            }
            @for trend in &self.trends { p.notice { (trend) } }
            @if let Some(looked) = &self.looked { p.remark { (verdicts::sentence(looked)) "." } }
            @if let Some(next) = &self.next {
                p.next { strong { "Next: " } (next.sentence()) }
                @if let Some(command) = &next.command { pre.next { code { (command) } } }
            }
            @if let Some(overload) = self.overload() { p.notice { (overload) } }
            @if let Some(taste) = &self.taste {
                p.notice { strong { "A taste, not a measurement." } " " (taste) }
            }
            @for not_run in &self.not_run { p.notice { strong { "Not run: " (not_run.what) } ": " (not_run.why) "." } }
            @for unit in &self.units { p.remark { (unit) } }
            @for why in &self.uncut { p.remark { (why) } }
            p.validity.doubt[doubt] { (self.validity()) }
            @if let Some((head, lines)) = self.groups() {
                div.notice {
                    p { (head) }
                    ul { @for line in &lines { li { (line) } } }
                }
            }
        }
    }

    fn draw_arm(&self, of: &Comparison, arm: &ArmComparison, said: &Said) -> Markup {
        let by_latency = self.latency.iter().flat_map(|of| &of.arms).find(|other| other.arm == arm.arm);
        let p99 = by_latency.filter(|_| arm.workloads.len() == 1).and_then(|other| other.grid);
        let is_unsafe = !said.unsafe_settings.is_empty();
        html! {
            @for line in &said.lines {
                p.lead {
                    strong { (line.head) } ": " (line.verdict)
                    @if is_unsafe { ", and " strong.unsafe { "not crash-safe" } }
                }
                p.figures {
                    (line.figures)
                    @if let Some(figure) = p99.filter(|_| said.lines.len() == 1) {
                        "; p99 response time " (change(&figure.grid.estimate))
                        @if let Some(lacks) = lacks(&figure) { " (" (lacks) ")" }
                    }
                    @if is_unsafe { "; weakens crash safety: " code { (said.unsafe_settings) } }
                    "."
                }
            }
            @if arm.workload_names().len() > 1 || said.lines.len() > 1 { (by_workload(of, arm, by_latency)) }
            @for (workload, told) in self.besides(of, arm) {
                p.remark { "What differs most besides" @if arm.workload_names().len() > 1 { " in " (workload) } ":" }
                ul.besides { @for phrase in &told { li { (phrase) } } }
            }
            p.remark { (cells_in_words(of, arm)) }
            @for remark in &said.remarks { p.remark { (remark) } }
        }
    }
}

fn box_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Better => "is-better",
        Tone::Worse => "is-worse",
        Tone::Same => "is-same",
        Tone::Unclear => "is-unclear",
    }
}

fn by_workload(of: &Comparison, arm: &ArmComparison, latency: Option<&ArmComparison>) -> Sheet {
    let mut sheet = Sheet::new(format_args!("{} against {}, per workload; 95 % intervals", arm.arm, of.base))
        .stacked()
        .text(["workload"])
        .numbers([of.noun()])
        .text(["verdict"])
        .numbers(latency.map(|_| "p99 response time"));
    let parts = |arm| Part::workloads(arm).into_iter().chain([Part::whole(arm)]);
    for part in parts(arm).filter(|part| part.workload.is_some() || part.averaged > 0) {
        let verdict = match part.figure {
            Some(figure) => Cell::classed(
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
        sheet.row([part.name().into(), part.change().into(), verdict].into_iter().chain(by_latency));
    }
    sheet
}
