//! The cells of the grid: every combination of the levels of all factors except the compared one, whose
//! levels are the arms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use spec::plan::{Content, PlannedWorkload};
use workloads::Spec;

use super::jobs_of;
use super::restarts::arms_need_restart;
use crate::factors::{self, LevelNames, SETTINGS, factor, of_a_workload};

pub(super) type Cell = BTreeMap<String, String>;

pub(crate) fn label(cell: &Cell) -> String {
    text(cell.iter())
}

/// Levels as text, for hashes.
pub(super) fn text<'c>(levels: impl Iterator<Item = (&'c String, &'c String)>) -> String {
    let parts: Vec<_> = levels.map(|(name, level)| format!("{name}={level}")).collect();
    parts.join(" ")
}

fn with(cell: &Cell, key: &str, level: &str) -> Cell {
    let mut cell = cell.clone();
    cell.insert(key.to_owned(), level.to_owned());
    cell
}

/// Levels of all varied factors except the compared one, in the order of the list.
pub(super) fn varied(content: &Content) -> Vec<(&str, Vec<&str>)> {
    let listed = content
        .factors
        .iter()
        .map(|(key, levels)| (key.as_str(), levels.iter().map(String::as_str).collect::<Vec<_>>()));
    let settings: Vec<&str> = content.arms.iter().filter_map(|arm| arm.name.as_deref()).collect();
    let settings = Some((SETTINGS, settings)).filter(|(_, names)| names.len() > 1);
    let mut varied: Vec<_> = listed.chain(settings).filter(|(key, _)| *key != content.compared()).collect();
    let known = known(content);
    varied.sort_by_key(|(key, _)| factors::position(key, &known));
    varied
}

/// Every combination of the levels of all factors except the compared one; the first varies slowest. A cell
/// omits factors that do not matter for its workload, and a workload's own levels replace the general ones.
pub(super) fn grid(content: &Content) -> Vec<Cell> {
    combinations(content, varied(content))
}

/// The cells of an experiment without a workload: nothing is measured in them, and each is a server.
pub(super) fn of_servers(content: &Content) -> Vec<Cell> {
    let of_runs = ["workload", "clients"];
    let servers = varied(content).into_iter().filter(|(key, _)| !of_runs.contains(key));
    combinations(content, servers.collect())
}

fn combinations(content: &Content, varied: Vec<(&str, Vec<&str>)>) -> Vec<Cell> {
    let known = known(content);
    varied.into_iter().fold(vec![Cell::new()], |cells, (key, levels)| {
        let own = of_a_workload(key, &known);
        let concerns = |cell: &Cell| {
            let workload = cell.get("workload");
            match (own, workload) {
                (Some((of, _)), workload) => workload.is_some_and(|name| name == of),
                (None, Some(name)) if content.factors.contains_key(&format!("{name}.{key}")) => false,
                _ => factor(key, &known)
                    .zip(workload)
                    .is_none_or(|(factor, name)| factor.concerns(key, name, &known)),
            }
        };
        let key = own.map_or(key, |(_, own)| own);
        let with = |cell: &Cell| match concerns(cell) {
            false => vec![cell.clone()],
            true => levels.iter().map(|level| with(cell, key, level)).collect(),
        };
        cells.iter().flat_map(with).collect()
    })
}

pub(super) fn cells_beside(content: &Content) -> Vec<Cell> {
    let clients = &content.beside.clients;
    let cells = content.beside.workloads.iter();
    let of = |workload: &String, clients: &u32| {
        with(&with(&Cell::new(), "workload", workload), "clients", &clients.to_string())
    };
    cells.flat_map(|workload| clients.iter().map(move |clients| of(workload, clients))).collect()
}

pub(crate) fn known(content: &Content) -> LevelNames<'_> {
    let preparation = Some(Cow::Owned(jobs_of(&content.prepare)));
    LevelNames { preparation, ..known_of(content, content.workloads.keys().map(String::as_str)) }
}

/// What the levels of one cell and arm mean: only their workloads are read, of which there may be a thousand.
pub(super) fn known_in<'c>(content: &'c Content, cell: &Cell, arm: Option<&str>) -> LevelNames<'c> {
    let of_options = cell.keys().filter_map(|key| Some(key.split_once('.')?.0));
    known_of(content, cell.values().map(String::as_str).chain(of_options).chain(arm))
}

/// The same of these workloads, without the preparation.
fn known_of<'c, 'n>(content: &'c Content, names: impl Iterator<Item = &'n str>) -> LevelNames<'c> {
    let spec = |planned: &PlannedWorkload| Some(Cow::Owned(Spec::of(&planned.spec).ok()?));
    let workloads = names.filter_map(|name| content.workloads.get_key_value(name));
    let workloads = workloads.filter_map(|(name, planned)| Some((name.as_str(), spec(planned)?)));
    LevelNames {
        preparation: None,
        workloads: workloads.collect(),
        arms: &content.arms,
        named: &content.named,
        cpus: content.cpus.as_ref(),
    }
}

/// Whether a change of cell may be so expensive (a restart, a user's change) that the cells of one level are
/// grouped.
pub(crate) fn blocked(content: &Content) -> bool {
    let known = known(content);
    let dear = |key: &str| factor(key, &known).is_some_and(|factor| factor.is_dear());
    let varied = varied(content);
    let restarts = varied.iter().any(|(key, _)| *key == SETTINGS) && arms_need_restart(&content.arms);
    restarts || varied.iter().any(|(key, levels)| dear(key) && levels.len() > 1)
}

pub(super) fn workload_of(content: &Content, cell: &Cell) -> String {
    cell.get("workload").cloned().unwrap_or_else(|| content.compared_workloads())
}
