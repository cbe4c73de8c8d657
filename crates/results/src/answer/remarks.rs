//! Remarks on an answer besides its verdicts.

use std::collections::{BTreeMap, BTreeSet};

use spec::figures::{self, Figure};
use spec::{Run, RunEvent, ScriptRecord};

use crate::cells::CellFigures;
use crate::data::{ReportData, levels};

/// Remarks on arms, workloads and runs.
#[derive(Debug, Clone, Default)]
pub struct Remarks {
    /// How answers of arms differ from the base's: shown before any speed.
    pub different: Vec<String>,
    /// Arms with the same answers as the base, each with the workloads for which that was verified.
    pub same: Vec<(String, Vec<String>)>,
    /// Questions of arms with other data that the base does not ask.
    pub own_choice: Vec<String>,
    /// Why arms should not have taken turns in slices, but did.
    pub sliced_all_the_same: Vec<String>,
    pub uncut: Vec<Uncut>,
    /// Compared workloads whose transactions are pipelines of several commands.
    pub pipelines: BTreeSet<String>,
    pub from_caches: Vec<FromCache>,
    pub noticed: Vec<String>,
}

/// Workloads with the same reason not to be cut into slices.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncut {
    /// Rounds without slices, and all of them; `None` if there were no slices at all.
    pub rounds: Option<(usize, usize)>,
    pub workloads: Vec<String>,
    pub why: String,
}

/// Tiles that came from a cache, not from the database.
#[derive(Debug, Clone, PartialEq)]
pub struct FromCache {
    pub of: String,
    /// Levels of the cell, if there are several cells.
    pub levels: Option<String>,
    pub hit_pct: f64,
}

impl Remarks {
    pub(super) fn of(data: &ReportData) -> Self {
        let sentences = |kind| data.remarks(kind).into_iter().map(str::to_owned).collect::<Vec<String>>();
        let searches = data.limits().is_some();
        let pipelines = data.grid_runs().filter(|run| run.commands_per_s().is_some());
        Self {
            different: sentences(RunEvent::OTHER_ANSWERS),
            same: same_answers(&data.remarks(RunEvent::SAME_ANSWERS)),
            own_choice: sentences(RunEvent::OWN_CHOICE),
            sliced_all_the_same: sentences(RunEvent::SLICED_ALL_THE_SAME),
            uncut: if searches { Vec::new() } else { uncut(data) },
            pipelines: pipelines.filter(|_| data.compares()).map(|run| run.workload.clone()).collect(),
            from_caches: data.grid().iter().filter_map(|own| from_cache(data, own)).collect(),
            noticed: once(data.remarks(RunEvent::REMARK)).into_iter().chain(lags(data)).collect(),
        }
    }
}

fn from_cache(data: &ReportData, figures: &CellFigures) -> Option<FromCache> {
    let is_cached = |run: &Run| {
        let part = |script: &ScriptRecord| script.part.as_ref().and_then(|part| part.cached);
        run.scripts.iter().any(|script| part(script).is_some())
    };
    let mut runs = data.runs_of(&figures.cell).filter(|run| run.arm == figures.arm);
    let hit_pct = figures.hit_pct.filter(|_| runs.any(is_cached))?;
    let several = data.grid().iter().any(|other| other.cell != figures.cell);
    Some(FromCache {
        of: figures.arm.as_ref().unwrap_or(&figures.cell.workload).clone(),
        levels: several.then(|| levels(&figures.cell)),
        hit_pct,
    })
}

/// How old the data of replicas were, by workload and arm: the greatest and the last lag of the replay, of all runs.
fn lags(data: &ReportData) -> Vec<String> {
    let mut worst: BTreeMap<(&str, Option<&str>), [Option<f64>; 4]> = BTreeMap::new();
    for run in data.measured_runs() {
        let own = LAGS.map(|of| run.figures.get(of));
        if own[0].is_some() {
            let known = worst.entry((&run.workload, run.arm.as_deref())).or_default();
            known
                .iter_mut()
                .zip(own)
                .for_each(|(known, own)| *known = own.into_iter().chain(*known).reduce(f64::max));
        }
    }
    let several = worst.keys().any(|(_, arm)| arm.is_some());
    let plan = data.experiment.plan.plan();
    let arm_words = |arm: &str| plan.map_or_else(|| arm.to_owned(), |plan| plan.content.arm_words(arm));
    let words = |((workload, arm), lags): ((&str, Option<&str>), [Option<f64>; 4])| {
        let [most, end, most_ms, end_ms] = lags;
        let of = arm.filter(|_| several).map(|arm| format!(", {}", arm_words(arm))).unwrap_or_default();
        let size = |size: Option<f64>| spec::bytes(size.unwrap_or_default() as u64);
        let time = |ms: Option<f64>| ms.map(|ms| format!(" or {ms:.1} ms")).unwrap_or_default();
        format!(
            "{workload}{of}: what replicas showed was at most {}{} old, {}{} at the end of runs (replay lag)",
            size(most),
            time(most_ms),
            size(end),
            time(end_ms)
        )
    };
    worst.into_iter().map(words).collect()
}

/// Greatest and last lag of the replay, bytes and ms.
const LAGS: [Figure; 4] = [
    figures::REPLAY_LAG_MAX_BYTES,
    figures::REPLAY_LAG_END_BYTES,
    figures::REPLAY_LAG_MAX_MS,
    figures::REPLAY_LAG_END_MS,
];

/// A sentence without its figures.
fn kind(said: &str) -> String {
    said.split(|letter: char| letter.is_ascii_digit() || letter == '.').collect()
}

/// Of sentences that differ in figures only the first one.
fn once(said: BTreeSet<&str>) -> Vec<String> {
    let mut kinds = BTreeSet::new();
    said.into_iter().filter(|said| kinds.insert(kind(said))).map(str::to_owned).collect()
}

/// Why arms did not take turns and, if they did in other rounds, in which rounds. Workloads with the same
/// reason are merged, as are reasons that differ in figures only; then the figures are from one of them.
fn uncut(data: &ReportData) -> Vec<Uncut> {
    let mut found: BTreeMap<(String, &str), (&str, BTreeSet<u32>)> = BTreeMap::new();
    for run in data.measured_runs() {
        for event in run.events.iter().filter(|event| event.kind == RunEvent::UNCUT) {
            let why = event.detail.strip_prefix(&format!("{}: ", run.workload)).unwrap_or(&event.detail);
            let (_, rounds) =
                found.entry((kind(why), &run.workload)).or_insert_with(|| (why, BTreeSet::new()));
            rounds.insert(run.round);
        }
    }
    let mut together: BTreeMap<(Option<(usize, usize)>, String), Uncut> = BTreeMap::new();
    for ((kind, workload), (why, uncut)) in found {
        let all = || data.measured_runs().filter(|run| run.workload == workload);
        let of = all().map(|run| run.round).collect::<BTreeSet<u32>>().len();
        let rounds = all().any(Run::is_sliced).then_some((uncut.len(), of));
        let empty = || Uncut { rounds, workloads: Vec::new(), why: why.to_owned() };
        together.entry((rounds, kind)).or_insert_with(empty).workloads.push(workload.to_owned());
    }
    together.into_values().collect()
}

/// From sentences that begin with the workload, by arm.
fn same_answers(said: &BTreeSet<&str>) -> Vec<(String, Vec<String>)> {
    let mut arms: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (workload, arm) in said.iter().filter_map(|said| said.split_once(": ")) {
        arms.entry(arm).or_default().push(workload.to_owned());
    }
    arms.into_iter().map(|(arm, workloads)| (arm.to_owned(), workloads)).collect()
}
