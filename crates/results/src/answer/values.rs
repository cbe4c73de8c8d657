//! What distinguishes an arm from the base, in the user's words.

use std::collections::BTreeSet;

use spec::{ArmRecord, ExperimentRecord, Run};

/// Settings listed by name; the others are counted.
const NAMED: usize = 2;
const UNKNOWN: &str = "not set";

pub(super) fn values(experiment: &ExperimentRecord, runs: &[Run], base: &str, arm: &str) -> String {
    let named = |name: &str| experiment.arms.iter().find(|arm| arm.name == name);
    let factor = experiment.compare_factor.as_deref().unwrap_or_default();
    if let (Some(of_base), Some(of_arm), "settings") = (named(base), named(arm), factor) {
        let changes = settings(of_base, of_arm, runs);
        if !changes.is_empty() {
            return changes;
        }
    }
    // A level that is only a number needs its factor.
    let is_number = |level: &str| level.starts_with(|c: char| c.is_ascii_digit());
    let factor = if is_number(base) && is_number(arm) { format!("{factor} ") } else { String::new() };
    format!("{factor}{base} → {arm}")
}

fn settings(base: &ArmRecord, arm: &ArmRecord, runs: &[Run]) -> String {
    let names: BTreeSet<&String> = base.settings.keys().chain(arm.settings.keys()).collect();
    let differing = || names.iter().filter(|name| base.settings.get(**name) != arm.settings.get(**name));
    let value = |of: &ArmRecord, name: &str| {
        of.settings
            .get(name)
            .cloned()
            .or_else(|| in_force(runs, &of.name, name))
            .unwrap_or(UNKNOWN.to_owned())
    };
    let mut changes: Vec<String> = differing()
        .take(NAMED)
        .map(|name| format!("{name} {} → {}", value(base, name), value(arm, name)))
        .collect();
    let more = differing().count().saturating_sub(NAMED);
    changes.extend((more > 0).then(|| format!("and {more} more")));
    changes.join(", ")
}

/// The value on the server of an arm, if the arm itself does not set it.
fn in_force(runs: &[Run], arm: &str, name: &str) -> Option<String> {
    let own = runs.iter().filter(|run| run.arm.as_deref() == Some(arm));
    own.flat_map(|run| run.settings.iter()).find(|known| known.name == name).map(|known| known.value.clone())
}
