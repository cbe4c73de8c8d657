//! How to repeat the experiment: the command, the file, and the texts it used.

use maud::{Markup, html};
use serde::Serialize;
use spec::OrderScheme;
use spec::plan::Recorded;

use super::View;
use crate::data::ReportData;
use crate::repeat::{COMMANDS, Kit};
use crate::visible;

#[derive(Debug, Serialize)]
pub(super) struct Repeat {
    /// Nothing for what was imported, or is two experiments.
    kit: Option<Kit>,
    /// Names of the two.
    apart: Vec<String>,
    /// JSON, indented for reading; empty where two are compared.
    plan: String,
}

/// A plan as JSON, its keys sorted.
fn indented(plan: &Recorded) -> String {
    let sorted = serde_json::to_value(plan).and_then(|plan| serde_json::to_string_pretty(&plan));
    sorted.expect("plans are plain data")
}

impl View for Repeat {
    fn of(data: &ReportData) -> Option<Self> {
        let experiment = &data.experiment;
        let is_apart = experiment.order_scheme == OrderScheme::Apart;
        let apart = experiment.arms.iter().filter(|_| is_apart).map(|arm| arm.name.clone()).collect();
        Some(Self {
            kit: Kit::of(data),
            apart,
            plan: if is_apart { String::new() } else { indented(&experiment.plan) },
        })
    }

    fn draw(&self) -> Markup {
        html! {
            @match &self.kit {
                Some(kit) => (kit_drawn(kit)),
                None if !self.apart.is_empty() => p {
                    "These are two experiments, " (self.apart.join(" and "))
                    ": each is repeated by itself. To have drift cancelled, make them the arms of one experiment."
                },
                None => p { "These results were imported; how to repeat them is known to those who measured them." },
            }
            @if !self.plan.trim().is_empty() {
                details {
                    summary { "The plan it expanded to" }
                    pre { code { (self.plan) } }
                }
            }
        }
    }
}

fn kit_drawn(kit: &Kit) -> Markup {
    html! {
        @match (&kit.experiment, kit.files.is_empty()) {
            (Some(_), _) => p {
                "With the results file at hand, " code { "pgdyno export experiment " (kit.called) " DIR" }
                " writes what is below into a folder; without it, save each text under its name. Order and random numbers \
                 come from the seed " code { (kit.seed) } ", which is made from the plan unless the file has one (each \
                 " code { "--again" } " has its own):"
            },
            (None, false) => p { "This was measured from the command line, with the scripts below:" },
            (None, true) => p { "This was measured from the command line:" },
        }
        pre { code { (kit.command) } }
        @if !kit.commands.is_empty() {
            p { (COMMANDS) }
            ul { @for command in &kit.commands { li { code { (visible::line(&command.words())) } } } }
        }
        @if !kit.notes.is_empty() { ul { @for note in &kit.notes { li { (note) } } } }
        @for file in &kit.files {
            @if let Some(text) = &file.text {
                details open[file.sha256.is_none()] {
                    summary {
                        (file.path)
                        @if file.sha256.is_none() { ", the experiment file" } @else { " (" (file.used_by.join(", ")) ")" }
                    }
                    pre { code { (text) } }
                }
            }
        }
        @for asked in &kit.asked {
            @if let Some(text) = &asked.text {
                details {
                    summary { (asked.name) " (" (asked.used_by) ")" }
                    pre { code { (text) } }
                }
            }
        }
    }
}
