//! The work on tables after reading: each is clustered, indexed and analyzed by one thread while others work
//! on other tables.
//!
//! Every step ends where the next step of the same table begins. The last one ends with the table, at the
//! thread's `Done task in 374ms` (`--log-level=debug`). Without it, a table ends its whole seconds after its
//! first step: osm2pgsql prints these only after all threads have ended.

use std::collections::{BTreeMap, BTreeSet};

use spec::Phase;

use super::event::{Event, Step};
use super::{SECOND, reported, stamped};

#[derive(Debug, Default)]
pub(super) struct Tables {
    phases: Vec<Phase>,
    open: BTreeMap<String, OpenTable>,
    threads: BTreeMap<u32, Task>,
    timed: BTreeSet<String>,
}

#[derive(Debug)]
struct OpenTable {
    first_us: u64,
    /// Since when its current step works.
    since_us: u64,
    step: Option<(&'static str, String)>,
}

/// The current work of a thread.
#[derive(Debug)]
struct Task {
    start_us: u64,
    table: Option<String>,
}

impl Tables {
    pub(super) fn take(&mut self, at_us: u64, thread: Option<u32>, event: &Event<'_>) {
        match event {
            Event::TaskStarts => {
                self.threads.insert(thread.unwrap_or(0), Task { start_us: at_us, table: None });
            }
            Event::TaskDone { milliseconds } => {
                self.end_task(at_us, thread, milliseconds.saturating_mul(1000));
            }
            Event::TableStarts(table) => {
                self.table(at_us, table);
            }
            Event::Step(step) => self.begin(at_us, thread, step),
            Event::StepDone { name, table } => self.end_step(at_us, table, *name),
            Event::TableDone { table, seconds } => self.end_table(at_us, table, *seconds),
            _ => {}
        }
    }

    pub(super) fn len(&self) -> usize {
        self.phases.len() + self.open.len() + self.threads.len()
    }

    /// All phases; what is open ends with the log.
    pub(super) fn finish(mut self, end_us: u64) -> Vec<Phase> {
        for table in std::mem::take(&mut self.open).into_values() {
            self.push(table.step, table.since_us, end_us);
        }
        self.phases
    }

    fn table(&mut self, at_us: u64, table: &str) -> &mut OpenTable {
        let new = || OpenTable { first_us: at_us, since_us: at_us, step: None };
        self.open.entry(table.to_owned()).or_insert_with(new)
    }

    fn push(&mut self, step: Option<(&'static str, String)>, start_us: u64, end_us: u64) {
        self.phases.extend(step.map(|(name, item)| stamped(name, &item, start_us, end_us, None)));
    }

    fn begin(&mut self, at_us: u64, thread: Option<u32>, step: &Step<'_>) {
        if let Some(task) = thread.and_then(|thread| self.threads.get_mut(&thread)) {
            task.table = Some(step.table.to_owned());
        }
        let open = self.table(at_us, step.table);
        let before = open.step.replace((step.name, step.item.clone()));
        let since_us = std::mem::replace(&mut open.since_us, at_us);
        self.push(before, since_us, at_us);
    }

    fn end_step(&mut self, at_us: u64, table: &str, name: Option<&'static str>) {
        let Some(open) = self.open.get_mut(table) else { return };
        let begun = open.step.take();
        let since_us = std::mem::replace(&mut open.since_us, at_us);
        let named = name.map(|name| (name, table.to_owned()));
        self.push(named.or(begun), since_us, at_us);
    }

    fn end_task(&mut self, at_us: u64, thread: Option<u32>, duration_us: u64) {
        let Some(task) = thread.and_then(|thread| self.threads.remove(&thread)) else { return };
        let Some(table) = task.table else { return };
        if let Some(open) = self.open.remove(&table) {
            self.push(open.step, open.since_us, at_us);
        }
        let end_us = task.start_us.saturating_add(duration_us);
        self.phases.push(reported("table", &table, end_us, duration_us, None));
        self.timed.insert(key_of(&table).to_owned());
    }

    fn end_table(&mut self, at_us: u64, table: &str, seconds: Option<u64>) {
        let took_us = seconds.map(|seconds| seconds.saturating_mul(SECOND));
        let key = if self.open.contains_key(table) { table } else { key_of(table) };
        let Some(open) = self.open.remove(key) else {
            if let Some(took_us) = took_us.filter(|_| !self.timed.contains(key_of(table))) {
                self.phases.push(reported("table", table, at_us, took_us, None));
            }
            return;
        };
        let first_us = open.first_us;
        let end_us = took_us.map_or(at_us, |took_us| {
            first_us.saturating_add(took_us).clamp(open.since_us, at_us.max(open.since_us))
        });
        self.push(open.step, open.since_us, end_us);
        self.phases.push(match took_us {
            Some(took_us) => reported("table", table, first_us.saturating_add(took_us), took_us, None),
            None => stamped("table", table, first_us, end_us, None),
        });
    }
}

/// From 2.1 on the middle's tables are called `ways` and `rels` while they are indexed, and by their whole
/// names at the end.
fn key_of(table: &str) -> &str {
    table.rsplit('_').next().filter(|end| matches!(*end, "ways" | "rels")).unwrap_or(table)
}
