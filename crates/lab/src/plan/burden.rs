//! What is done in the background for one arm in the other arm's time.

use server::settings::in_the_background;

use super::{Content, Facts};
use crate::factors::SETTINGS;

/// Settings that a connection can carry, and whose effect stays when it is gone.
pub(super) const LEAVE_SOMETHING: [&str; 2] = ["synchronous_commit", "default_toast_compression"];

/// Why workloads that write keep arms with other settings of the background apart.
pub(super) fn because_of_background(workloads: &[String], settings: &[String]) -> String {
    let write = if workloads.len() == 1 { "writes" } else { "write" };
    format!(
        "{} {write} and the arms differ in {}: what is still done in the background for one arm would fall into the other \
         one's time",
        workloads.join(", "),
        settings.join(", ")
    )
}

/// What is done in the background for an arm in the other arm's time under this workload, in words.
pub(super) fn burden_of(content: &Content, workload: &str, facts: &Facts) -> Option<String> {
    let background = match content.compared() {
        SETTINGS => background_settings(content),
        _ => Vec::new(),
    };
    (!background.is_empty() && facts.writes.contains(workload))
        .then(|| because_of_background(&[workload.to_owned()], &background))
}

/// Settings that arms differ in and that decide what a server does when nobody asks it anything.
pub(super) fn background_settings(content: &Content) -> Vec<String> {
    content.differing_settings().into_iter().filter(|name| in_the_background(name)).collect()
}
