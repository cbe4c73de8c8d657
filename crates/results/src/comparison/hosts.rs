//! Experiments that several hosts measured: which of them, and which parts this file lacks.

use std::collections::{BTreeMap, BTreeSet};

use spec::{ExperimentPart, Host, Run};

use super::pairs::Cell;

/// All hosts that measured an experiment, its own first: those of its parts, and those of its runs.
pub(crate) fn hosts_of<'h>(
    own: &'h Host,
    parts: &'h [(ExperimentPart, Host)],
    runs: &'h [Run],
) -> Vec<&'h Host> {
    let others = parts.iter().map(|(_, host)| host).chain(runs.iter().filter_map(|run| run.host.as_deref()));
    let mut hosts: Vec<&Host> = Vec::new();
    for host in [own].into_iter().chain(others) {
        if hosts.iter().all(|known| known.machine() != host.machine()) {
            hosts.push(host);
        }
    }
    hosts
}

/// As in `bench-1 (Example CPU)`.
pub(crate) fn words(hosts: &[&Host]) -> String {
    let words: Vec<String> = hosts.iter().map(|host| format!("{} ({})", host.name, host.cpu)).collect();
    words.join(", ")
}

/// What a reader has to know before any figure, a sentence each: parts that are missing, runs that are shares of a
/// load, and several hosts.
pub(crate) fn notes(own: &Host, parts: &[(ExperimentPart, Host)], runs: &[Run]) -> Vec<String> {
    let mut notes = Vec::new();
    let of = parts.iter().map(|(part, _)| part.of).max().unwrap_or(0);
    let is_shared = parts.iter().any(|(part, _)| part.shared);
    let has: BTreeSet<u32> = parts.iter().map(|(part, _)| part.number).collect();
    let missing: Vec<String> =
        (1..=of).filter(|number| !has.contains(number)).map(|number| number.to_string()).collect();
    let what = if is_shared { "shares of each load" } else { "cells" };
    match missing.len() {
        0 => {}
        1 => {
            notes.push(format!("part {} of {of} is not in this file, and neither are its {what}", missing[0]))
        }
        _ => notes.push(format!(
            "parts {} of {of} are not in this file, and neither are their {what}",
            missing.join(", ")
        )),
    }
    if runs.iter().any(|run| !run.is_whole_load()) {
        notes.push(
            "runs are shares of a load that several generators made: throughput is that of one share, while the server had \
             the whole load; pgdyno merge adds them"
                .to_owned(),
        );
    }
    let hosts = hosts_of(own, parts, runs);
    if hosts.len() > 1 {
        let how = match (is_shared, mixed(own, runs)) {
            (true, _) => "together make each load".to_owned(),
            (false, None) => "measured, each cell on one of them".to_owned(),
            (false, Some(cell)) => format!("measured, and runs of several are in one cell ({})", cell.text()),
        };
        notes.push(format!("{} {how}: {}", spec::count(hosts.len() as u64, "host"), words(&hosts)));
    }
    notes
}

/// The first cell that has runs of several hosts.
fn mixed(own: &Host, runs: &[Run]) -> Option<Cell> {
    let mut cells: BTreeMap<Cell, (&str, &str)> = BTreeMap::new();
    runs.iter().filter(|run| run.is_measured()).find_map(|run| {
        let host = run.host.as_deref().unwrap_or(own).machine();
        let cell = Cell::of(run);
        let first = cells.entry(cell.clone()).or_insert(host);
        (*first != host).then_some(cell)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use spec::RunPart;

    use super::*;
    use crate::fixture::{host, run};

    fn other() -> Host {
        Host { uuid: "o".into(), name: "other".into(), ..host() }
    }

    fn part(number: u32, of: u32, shared: bool, host: Host) -> (ExperimentPart, Host) {
        (ExperimentPart { number, of, shared }, host)
    }

    #[test]
    fn one_host_is_not_worth_a_word() {
        assert_eq!(notes(&host(), &[], &[run("reads", 1, None, 1, 1.0)]), [""; 0]);
    }

    #[test]
    fn several_hosts_are_named_and_cells_in_which_they_meet() {
        let on = |clients, round, host: Option<Host>| Run {
            host: host.map(Arc::new),
            ..run("reads", clients, Some("A"), round, 100.0)
        };
        let parts = [part(1, 2, false, host()), part(2, 2, false, other())];
        let mut runs = vec![on(1, 1, None), on(2, 1, Some(other()))];
        let both = "here (a CPU), other (a CPU)";
        assert_eq!(
            notes(&host(), &parts, &runs),
            [format!("2 hosts measured, each cell on one of them: {both}")]
        );
        runs.push(on(2, 2, None));
        let wanted =
            format!("2 hosts measured, and runs of several are in one cell (reads, clients 2): {both}");
        assert_eq!(notes(&host(), &parts, &runs), [wanted]);
        let parts = [part(1, 2, true, host()), part(2, 2, true, other())];
        assert_eq!(notes(&host(), &parts, &[]), [format!("2 hosts together make each load: {both}")]);
    }

    #[test]
    fn cloned_machines_are_several() {
        let clone = Host { name: "clone".into(), ..host() };
        let own = host();
        let parts = [part(1, 2, false, host()), part(2, 2, false, clone.clone())];
        assert_eq!(hosts_of(&own, &parts, &[]), [&own, &clone]);
    }

    #[test]
    fn missing_parts_and_lone_shares_are_told() {
        let share = RunPart {
            load: String::new(),
            number: 2,
            of: 4,
            clock_offset_us: 0.0,
            clock_error_us: 0.0,
            late_us: 0.0,
        };
        let runs = [Run { parts: vec![share], ..run("reads", 1, None, 1, 1.0) }];
        let [missing, shares] = &notes(&host(), &[part(2, 4, true, host())], &runs)[..] else {
            panic!("two notes")
        };
        assert_eq!(
            missing,
            "parts 1, 3, 4 of 4 are not in this file, and neither are their shares of each load"
        );
        assert!(shares.starts_with("runs are shares of a load"), "{shares}");
        let missing = notes(&host(), &[part(1, 2, false, host())], &[]);
        assert_eq!(missing, ["part 2 of 2 is not in this file, and neither are its cells"]);
    }
}
