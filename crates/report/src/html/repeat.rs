//! How to repeat the experiment: the command and the file.

use crate::data::ReportData;
use crate::markup::Markup;

pub(super) fn write(data: &ReportData, out: &mut Markup) {
    let experiment = &data.experiment;
    if !experiment.is_interleaved() {
        out.tag("p")
            .text("These results were imported; how to repeat them is known to those who measured them.");
    } else if experiment.file_text.trim().is_empty() {
        out.tag("p")
            .text("This was measured from the command line, without an experiment file; its plan is below.");
    } else {
        out.tag("p").with(|out| {
            out.text("Save the text below as ");
            out.tag("code").text(format_args!("{}.toml", experiment.name));
            out.text(" and run it with pgdyno; the seed ");
            out.tag("code").text(experiment.seed);
            out.text(" gives the same order and the same random numbers:");
        });
        out.tag("pre").with(|out| {
            out.tag("code").text(format_args!("pgdyno run {}.toml", experiment.name));
        });
        out.tag("details").attr("open", "").with(|out| {
            out.tag("summary").text("The experiment file");
            out.tag("pre").with(|out| out.tag("code").text(&experiment.file_text));
        });
    }
    if !experiment.plan_json.trim().is_empty() {
        out.tag("details").with(|out| {
            out.tag("summary").text("The plan it expanded to");
            out.tag("pre").with(|out| out.tag("code").text(indented(&experiment.plan_json)));
        });
    }
}

/// JSON indented for reading; as it is where it is not JSON.
fn indented(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| json.to_owned())
}
