//! Arms that cannot be compared because another factor differs wherever they do.

use std::collections::{BTreeMap, BTreeSet};

use results::StoredRun;

use crate::print::warning;

/// Levels of a factor that are shown.
const MOST_LEVELS: usize = 3;

pub(super) fn say_apart(stored: &[StoredRun]) {
    if let Some(what) = apart(stored) {
        warning(&what);
    }
}

/// What keeps arms apart that have no cell in common; `None` if two of them have one.
fn apart(stored: &[StoredRun]) -> Option<String> {
    let mut cells: BTreeMap<&str, BTreeSet<&BTreeMap<String, String>>> = BTreeMap::new();
    for run in stored {
        cells.entry(run.arm.as_deref()?).or_default().insert(&run.factors);
    }
    let arms: Vec<_> = cells.values().collect();
    let share =
        arms.iter().enumerate().any(|(at, one)| arms[at + 1..].iter().any(|other| !one.is_disjoint(other)));
    if arms.len() < 2 || share {
        return None;
    }
    let names: BTreeSet<&String> = stored.iter().flat_map(|run| run.factors.keys()).collect();
    let keeps_apart = |name: &&&String| {
        let levels: Vec<BTreeSet<Option<&String>>> =
            arms.iter().map(|cells| cells.iter().map(|factors| factors.get(**name)).collect()).collect();
        let all_differ = levels
            .iter()
            .enumerate()
            .all(|(at, one)| levels[at + 1..].iter().all(|other| one.is_disjoint(other)));
        all_differ || levels.iter().map(BTreeSet::len).sum::<usize>() >= stored.len().max(4)
    };
    let factors: Vec<&String> = names.iter().filter(keeps_apart).copied().collect();
    let (Some(first), true) = (factors.first(), !factors.is_empty()) else {
        return Some("no two arms are in one cell: their other factors differ".to_owned());
    };
    let levels: BTreeSet<&str> =
        stored.iter().filter_map(|run| run.factors.get(*first).map(String::as_str)).collect();
    let more = if levels.len() > MOST_LEVELS { ", …" } else { "" };
    let levels: Vec<&str> = levels.into_iter().take(MOST_LEVELS).collect();
    let names: Vec<&str> = factors.iter().map(|name| name.as_str()).collect();
    let differ = if names.len() == 1 { "differs" } else { "differ" };
    let options: Vec<String> = names.iter().map(|name| format!("--level \"{name}=any\"")).collect();
    Some(format!(
        "no two arms are in one cell, so that they cannot be compared: {} {differ} between them ({first}: {}{more}); {} takes it for the same, \
         under another --name",
        names.join(", "),
        levels.join(", "),
        options.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of an arm, with its factors.
    fn run(arm: &str, factors: &[(&str, &str)]) -> StoredRun {
        let factors = factors.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
        StoredRun { place: 0, run_id: 1, arm: Some(arm.to_owned()), round: 1, factors }
    }

    #[test]
    fn the_factor_that_keeps_arms_apart_is_named() {
        let two = [run("a", &[("rank", "7"), ("cpu", "x")]), run("b", &[("rank", "9"), ("cpu", "x")])];
        let what = apart(&two).unwrap();
        assert!(what.contains("rank differs between them (rank: 7, 9); --level \"rank=any\""), "{what}");
        let each =
            [("a", "1"), ("a", "2"), ("b", "3"), ("b", "4")].map(|(arm, rows)| run(arm, &[("rows", rows)]));
        assert!(apart(&each).unwrap().contains("rows differs"));
        assert_eq!(apart(&[run("a", &[("cpu", "x")]), run("b", &[("cpu", "x")])]), None);
        assert_eq!(apart(&[run("a", &[("cpu", "x")])]), None);
    }
}
