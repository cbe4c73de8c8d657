//! Background work for one arm during the other arm's slices.

use server::settings::in_the_background;
use spec::plan::{Content, Facts};

use crate::factors::SETTINGS;

/// Session settings whose effect remains after the connection.
pub(super) const LEAVE_SOMETHING: [&str; 2] = ["synchronous_commit", "default_toast_compression"];

/// Why workloads that write separate arms with different background settings.
pub(super) fn because_of_background(workloads: &[String], settings: &[String]) -> String {
    let write = if workloads.len() == 1 { "writes" } else { "write" };
    format!(
        "{} {write} and the arms differ in {}: what is still done in the background for one arm would fall into the other \
         one's time",
        workloads.join(", "),
        settings.join(", ")
    )
}

/// Background work for an arm during the other arm's slices under this workload, as text.
pub(super) fn burden_of(content: &Content, workload: &str, facts: &Facts) -> Option<String> {
    let background = match content.compared() {
        SETTINGS => background_settings(content),
        _ => Vec::new(),
    };
    (!background.is_empty() && facts.writes(workload))
        .then(|| because_of_background(&[workload.to_owned()], &background))
}

/// Settings that differ between arms and control the work of an idle server.
pub(super) fn background_settings(content: &Content) -> Vec<String> {
    content.differing_settings().into_iter().filter(|name| in_the_background(name)).collect()
}
