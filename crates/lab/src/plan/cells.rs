//! The cells of the grid: every combination of the levels of all factors but the compared one, whose levels are the arms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use workloads::Spec;

use super::restarts::arms_need_restart;
use super::{Content, PlannedRun, PlannedWorkload, jobs_of};
use crate::factors::{self, Known, SETTINGS, factor, of_a_workload};

/// One cell of the grid: levels by the keys of their factors.
pub(super) type Cell = BTreeMap<String, String>;

pub(super) fn label(cell: &Cell) -> String {
    let parts: Vec<_> = cell.iter().map(|(name, level)| format!("{name}={level}")).collect();
    parts.join(" ")
}

impl Content {
    /// Key of the factor whose levels are the arms.
    pub(crate) fn compared(&self) -> &str {
        self.compare.as_ref().map_or(SETTINGS, |compare| &compare.factor)
    }

    /// The arms, base first; one without a name where nothing is compared.
    pub(crate) fn arm_names(&self) -> Vec<Option<String>> {
        match self.compare.as_ref().filter(|compare| compare.factor != SETTINGS) {
            None => self.arms.iter().map(|arm| arm.name.clone()).collect(),
            Some(compare) => {
                let levels = self.factors.get(&compare.factor).into_iter().flatten();
                let (base, others): (Vec<_>, Vec<_>) = levels.partition(|level| **level == compare.base);
                base.into_iter().chain(others).cloned().map(Some).collect()
            }
        }
    }

    /// An arm in words: a name says by itself what it is, `4` does not, nor does `with`.
    pub(crate) fn arm_words(&self, arm: &str) -> String {
        match self.compared() {
            SETTINGS | "workload" => arm.to_owned(),
            factor => format!("{factor} {arm}"),
        }
    }

    /// What the arms are called together where they are workloads: `exists / join`.
    pub(super) fn compared_workloads(&self) -> String {
        self.arm_names().into_iter().flatten().collect::<Vec<_>>().join(" / ")
    }

    /// Levels of what is varied and not compared, in the list's order of factors.
    pub(super) fn varied(&self) -> Vec<(&str, Vec<&str>)> {
        let listed = self
            .factors
            .iter()
            .map(|(key, levels)| (key.as_str(), levels.iter().map(String::as_str).collect::<Vec<_>>()));
        let settings: Vec<&str> = self.arms.iter().filter_map(|arm| arm.name.as_deref()).collect();
        let settings = Some((SETTINGS, settings)).filter(|(_, names)| names.len() > 1);
        let mut varied: Vec<_> = listed.chain(settings).filter(|(key, _)| *key != self.compared()).collect();
        let known = self.known();
        varied.sort_by_key(|(key, _)| factors::place(key, &known));
        varied
    }

    /// Every combination of the levels of all factors but the compared one; the first varies slowest. A factor that is no
    /// difference to a cell's workload is not in the cell, and levels that a workload has for itself stand for those of all.
    pub(super) fn grid(&self) -> Vec<Cell> {
        let known = self.known();
        self.varied().into_iter().fold(vec![Cell::new()], |cells, (key, levels)| {
            let own = of_a_workload(key, &known);
            let concerns = |cell: &Cell| {
                let workload = cell.get("workload");
                match (own, workload) {
                    (Some((of, _)), workload) => workload.is_some_and(|name| name == of),
                    (None, Some(name)) if self.factors.contains_key(&format!("{name}.{key}")) => false,
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

    pub(super) fn cells_beside(&self) -> Vec<Cell> {
        let clients = &self.beside.clients;
        let cells = self.beside.workloads.iter();
        let of = |workload: &String, clients: &u32| {
            with(&with(&Cell::new(), "workload", workload), "clients", &clients.to_string())
        };
        cells.flat_map(|workload| clients.iter().map(move |clients| of(workload, clients))).collect()
    }

    /// What names of levels stand for.
    pub(crate) fn known(&self) -> Known<'_> {
        let spec = |planned: &PlannedWorkload| Some(Cow::Owned(Spec::of(&planned.spec).ok()?));
        let workloads =
            self.workloads.iter().filter_map(|(name, planned)| Some((name.as_str(), spec(planned)?)));
        Known {
            preparation: Some(Cow::Owned(jobs_of(&self.prepare))),
            workloads: workloads.collect(),
            arms: &self.arms,
            named: &self.named,
        }
    }

    /// Whether going from one cell to another may cost so much (a restart, one's own change) that the cells of one
    /// level stand together.
    pub(crate) fn blocked(&self) -> bool {
        let known = self.known();
        let dear = |key: &str| factor(key, &known).is_some_and(|factor| factor.is_dear());
        let varied = self.varied();
        let restarts = varied.iter().any(|(key, _)| *key == SETTINGS) && arms_need_restart(&self.arms);
        restarts || varied.iter().any(|(key, levels)| dear(key) && levels.len() > 1)
    }

    /// Whether the levels of this factor are states that the server is brought to.
    pub(super) fn is_state(&self, key: &str) -> bool {
        key == SETTINGS || self.named.changes.contains_key(key)
    }

    /// The state that a run needs the server in: levels, in words; empty where any will do.
    pub(crate) fn state_of(&self, run: &PlannedRun) -> String {
        let arm = run.arm.iter().map(|arm| (self.compared(), arm));
        let cell = run.factors.iter().map(|(key, level)| (key.as_str(), level));
        let levels = cell.chain(arm).filter(|(key, _)| self.is_state(key));
        levels.map(|(_, level)| level.as_str()).collect::<Vec<_>>().join(", ")
    }
}

fn with(cell: &Cell, key: &str, level: &str) -> Cell {
    let mut cell = cell.clone();
    cell.insert(key.to_owned(), level.to_owned());
    cell
}
