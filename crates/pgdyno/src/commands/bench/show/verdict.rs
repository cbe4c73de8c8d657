//! The verdict of a run, with its doubts.

use std::fmt::Write;

use lab::execute::OneRun;
use report::visible::line;
use spec::{Doubt, Reason, Run};

pub(super) fn text(out: &mut String, OneRun { run, measured, .. }: &OneRun) {
    let words = |doubt: &Doubt| match measured.aborts.len() {
        // The error after the report has the cause.
        gave_up @ 1.. if doubt.reason == Reason::Errors => {
            format!("{}: {} gave up", doubt.reason.text(), lab::words::count(gave_up, "client"))
        }
        _ => doubt_words(doubt),
    };
    let doubts: Vec<String> = run.doubts.iter().map(words).collect();
    let because = if doubts.is_empty() { String::new() } else { format!(": {}", doubts.join("; ")) };
    let _ = writeln!(out, "verdict = {}{because}", validity(run));
}

pub(super) fn validity(run: &Run) -> String {
    format!("{:?}", run.validity).to_lowercase()
}

pub(super) fn doubts(run: &Run) -> String {
    run.doubts.iter().map(doubt_words).collect::<Vec<_>>().join("; ")
}

fn doubt_words(doubt: &Doubt) -> String {
    line(&doubt.to_string()).into_owned()
}
