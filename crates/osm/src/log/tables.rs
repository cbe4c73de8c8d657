//! The work on tables after reading: each is clustered, indexed and analyzed by one thread while others work
//! on other tables.
//!
//! Every step ends where the next step of the same table begins. The last one ends with the table, at the
//! thread's `Done task in 374ms` (`--log-level=debug`). Without it, a table ends its whole seconds after its
//! first step: osm2pgsql prints these only after all threads have ended. If its first step may be missing in
//! the log, only its whole seconds are known. If the clock contradicts these, they count.

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
    /// When the first line came.
    begun_us: Option<u64>,
    /// Whether another line came at another time: else the log has no times.
    has_times: bool,
}

#[derive(Debug)]
struct OpenTable {
    first_us: u64,
    /// Since when its current step works.
    since_us: u64,
    step: Option<(&'static str, String)>,
    /// The steps that have ended.
    steps: Vec<Phase>,
    /// Whether its first step may be missing in the log.
    begins_late: bool,
}

/// Seconds by which a time stamp and osm2pgsql's figure differ by rounding.
const ROUNDING_US: u64 = 2 * SECOND;

/// The current work of a thread.
#[derive(Debug)]
struct Task {
    start_us: u64,
    table: Option<String>,
}

impl Tables {
    /// Takes a line; `begins_late` if the log may lack lines of tables before it.
    pub(super) fn take(&mut self, at_us: u64, thread: Option<u32>, event: &Event<'_>, begins_late: bool) {
        self.has_times |= *self.begun_us.get_or_insert(at_us) != at_us;
        match event {
            Event::TaskStarts => {
                self.threads.insert(thread.unwrap_or(0), Task { start_us: at_us, table: None });
            }
            Event::TaskDone { milliseconds } => {
                self.end_task(at_us, thread, milliseconds.saturating_mul(1000));
            }
            Event::TableStarts(table) => {
                self.table(at_us, table, false);
            }
            Event::Step(step) => self.begin(at_us, thread, step, begins_late),
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
        for mut table in std::mem::take(&mut self.open).into_values() {
            table.end_step(end_us);
            self.phases.append(&mut table.steps);
        }
        self.phases
    }

    /// Ends the open steps, each where the next one began: until now one thread worked on all tables. `false` if
    /// they took no time by the clock.
    pub(super) fn end_one_by_one(&mut self, at_us: u64) -> bool {
        let mut tables: Vec<OpenTable> = std::mem::take(&mut self.open).into_values().collect();
        tables.sort_by_key(|table| table.since_us);
        let mut end_us = at_us;
        for table in tables.iter_mut().rev() {
            table.end_step(end_us);
            end_us = table.first_us;
            self.phases.append(&mut table.steps);
        }
        end_us < at_us
    }

    fn table(&mut self, at_us: u64, table: &str, begins_late: bool) -> &mut OpenTable {
        self.open.entry(table.to_owned()).or_insert_with(|| OpenTable {
            first_us: at_us,
            since_us: at_us,
            step: None,
            steps: Vec::new(),
            begins_late,
        })
    }

    fn begin(&mut self, at_us: u64, thread: Option<u32>, step: &Step<'_>, begins_late: bool) {
        let mut begins_late = begins_late && !step.is_first();
        if let Some(task) = thread.and_then(|thread| self.threads.get_mut(&thread)) {
            task.table = Some(step.table.to_owned());
            begins_late = false;
        }
        let open = self.table(at_us, step.table, begins_late);
        open.end_step(at_us);
        open.step = Some((step.name, step.item.clone()));
    }

    fn end_step(&mut self, at_us: u64, table: &str, name: Option<&'static str>) {
        let Some(open) = self.open.get_mut(table) else { return };
        if let Some(name) = name {
            open.step = Some((name, table.to_owned()));
        }
        open.end_step(at_us);
    }

    fn end_task(&mut self, at_us: u64, thread: Option<u32>, duration_us: u64) {
        let Some(task) = thread.and_then(|thread| self.threads.remove(&thread)) else { return };
        let Some(table) = task.table else { return };
        if let Some(mut open) = self.open.remove(&table) {
            open.end_step(at_us);
            self.phases.append(&mut open.steps);
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
        self.phases.extend(open.ended(table, at_us, took_us, self.has_times));
    }
}

impl OpenTable {
    fn end_step(&mut self, at_us: u64) {
        let step = self.step.take();
        self.steps.extend(step.map(|(name, item)| stamped(name, &item, self.since_us, at_us, None)));
        self.since_us = at_us;
    }

    /// The phases of a table that has ended at `at_us` at the latest.
    fn ended(mut self, table: &str, at_us: u64, took_us: Option<u64>, has_times: bool) -> Vec<Phase> {
        let first_us = self.first_us;
        let Some(took_us) = took_us else {
            self.end_step(at_us);
            self.steps.push(stamped("table", table, first_us, at_us, None));
            return self.steps;
        };
        if self.begins_late {
            // Its last step ended at an unknown time, after it began.
            let start_us = self.since_us.saturating_sub(took_us).min(first_us);
            self.steps.push(reported("table", table, start_us.saturating_add(took_us), took_us, None));
            return self.steps;
        }
        let end_us = first_us.saturating_add(took_us);
        let is_late = end_us > at_us.saturating_add(ROUNDING_US);
        let is_early = end_us.saturating_add(ROUNDING_US) < self.since_us;
        let is_apart = has_times && (is_late || is_early);
        if !is_apart {
            self.end_step(end_us.clamp(self.since_us, at_us.max(self.since_us)));
        } else if self.steps.is_empty() {
            let step = self.step.take();
            self.steps.extend(step.map(|(name, item)| reported(name, &item, end_us, took_us, None)));
        } else {
            // The clock was set while it was worked on: no step is known.
            self.steps.clear();
        }
        self.steps.push(reported("table", table, end_us, took_us, None));
        self.steps
    }
}

/// From 2.1 on the middle's tables are called `ways` and `rels` while they are indexed, and by their whole
/// names at the end.
fn key_of(table: &str) -> &str {
    table.rsplit('_').next().filter(|end| matches!(*end, "ways" | "rels")).unwrap_or(table)
}
