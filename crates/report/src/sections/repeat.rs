//! How to repeat the experiment: the command and the file.

use maud::{Markup, html};
use serde::Serialize;

use super::View;
use crate::data::ReportData;

#[derive(Debug, Serialize)]
pub(super) struct Repeat {
    name: String,
    seed: u64,
    imported: bool,
    /// Empty for what was measured from the command line.
    file: String,
    /// JSON, indented for reading; as it was stored where it is not JSON.
    plan: String,
}

impl View for Repeat {
    fn of(data: &ReportData) -> Option<Self> {
        let experiment = &data.experiment;
        let plan = serde_json::from_str::<serde_json::Value>(&experiment.plan_json);
        let indented = plan.and_then(|plan| serde_json::to_string_pretty(&plan));
        Some(Self {
            name: experiment.name.clone(),
            seed: experiment.seed,
            imported: !experiment.is_interleaved(),
            file: experiment.file_text.clone(),
            plan: indented.unwrap_or_else(|_| experiment.plan_json.clone()),
        })
    }

    fn draw(&self) -> Markup {
        html! {
            @if self.imported {
                p { "These results were imported; how to repeat them is known to those who measured them." }
            } @else if self.file.trim().is_empty() {
                p { "This was measured from the command line, without an experiment file; its plan is below." }
            } @else {
                p {
                    "Save the text below as " code { (self.name) ".toml" } " and run it with pgdyno; the seed "
                    code { (self.seed) } " gives the same order and the same random numbers:"
                }
                pre { code { "pgdyno run " (self.name) ".toml" } }
                details open="" {
                    summary { "The experiment file" }
                    pre { code { (self.file) } }
                }
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
