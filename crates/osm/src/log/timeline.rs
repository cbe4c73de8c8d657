//! Puts the lines of a log on the clock they arrived by.
//!
//! Until tables are worked on, osm2pgsql does one thing after another. It sets up, reads, ends its copies and
//! goes over pending objects (append). Then it reprocesses marked ones (the second stage of output flex).
//! Each ends where the next line begins something else.

use std::ops::Range;

use spec::Phase;

use super::event::{Event, OBJECTS, Progress};
use super::line::LogLine;
use super::reading::Reading;
use super::tables::Tables;
use super::{MOST_PHASES, SECOND, reported, stamped};

/// A longer wait has another cause than pending copies, of which few megabytes may wait.
const LONGEST_FLUSH_US: u64 = 60 * SECOND;
const FLUSH: &str = "flush";
/// Finding the relations of marked ways.
const STAGE_ONE_C: &str = "find parents of marked objects (stage 1c)";
/// Analyzing tables before their ids are indexed, which no line names.
const STAGE_TWO: &str = "begin stage 2";

#[derive(Debug, Default)]
pub(super) struct Timeline {
    reading: Reading,
    phases: Vec<Phase>,
    open: Option<OpenPhase>,
    /// Between the beginning of the second stage and its first object: its indexes are made one by one.
    indexes_stage_two: bool,
    parents_of_marked: bool,
    /// The kind whose pending objects were done last: 0.87 to 1.2 say it twice.
    pending_done: Option<usize>,
    /// Whether a line was seen that comes before the work on tables.
    before_tables: bool,
    tables: Tables,
}

#[derive(Debug)]
struct OpenPhase {
    name: String,
    item: String,
    start_us: u64,
    count: Option<u64>,
}

impl OpenPhase {
    fn new(name: impl Into<String>, item: &str, start_us: u64, count: Option<u64>) -> Self {
        Self { name: name.into(), item: item.to_owned(), start_us, count }
    }
}

impl Timeline {
    pub(super) fn take(&mut self, at_us: u64, line: &LogLine<'_>, event: Option<&Event<'_>>) {
        if self.reading.take(at_us, line, event) {
            self.open = Some(OpenPhase::new(FLUSH, "", at_us, None));
            self.before_tables = true;
            return;
        }
        let Some(event) = event else { return };
        self.before_tables |= !is_of_tables(event);
        if self.phases.len() + self.tables.len() > MOST_PHASES {
            return;
        }
        match event {
            Event::SetUp | Event::ReadFile | Event::Progress(_) => {}
            Event::PendingCount { count, .. } => {
                self.open.iter_mut().for_each(|open| open.count = Some(*count));
            }
            Event::Pending { kind, count } => {
                self.end(at_us);
                self.pending_done = None;
                self.open = Some(OpenPhase::new(pending(*kind), self.pending_item(), at_us, *count));
            }
            Event::PendingDone { kind, count, seconds } => self.end_pending(at_us, *kind, *count, *seconds),
            Event::Reprocess { kind, count } => {
                self.tables.end_one_by_one(at_us);
                self.end(at_us);
                self.indexes_stage_two = false;
                let name = format!("reprocess {}s (stage 2)", OBJECTS[*kind]);
                self.open = Some(OpenPhase::new(name, "", at_us, Some(*count)));
            }
            Event::Step(step) if self.indexes_stage_two => {
                self.end(at_us);
                self.open = Some(OpenPhase::new(step.name, &step.item, at_us, None));
            }
            Event::IndexesOfStageTwo { seconds } => {
                let took_us = seconds.saturating_mul(SECOND);
                let were_named = self.tables.end_one_by_one(at_us);
                let none_open = self.open.as_ref().is_none_or(|open| open.start_us == at_us);
                if !were_named && none_open && took_us > 0 {
                    self.phases.push(reported("index", "ids (stage 2)", at_us, took_us, None));
                }
                self.end(at_us);
            }
            Event::ParentsOfMarked { count } => {
                self.end(at_us);
                self.parents_of_marked = true;
                self.open = count.map(|count| OpenPhase::new(STAGE_ONE_C, "", at_us, Some(count)));
            }
            Event::StageTwo => {
                self.end(at_us);
                self.indexes_stage_two = true;
                self.open = Some(OpenPhase::new(STAGE_TWO, "", at_us, None));
            }
            event => {
                self.end(at_us);
                self.indexes_stage_two = false;
                let begins_late = !self.before_tables;
                self.tables.take(at_us, line.thread, event, begins_late);
            }
        }
    }

    pub(super) fn progress(&self) -> Option<Progress> {
        self.reading.progress()
    }

    /// All phases in a log that lasted so long.
    pub(super) fn finish(mut self, during: Range<u64>) -> Vec<Phase> {
        self.end(during.end);
        let mut phases = self.reading.finish(during.start);
        phases.extend(self.phases);
        phases.extend(self.tables.finish(during.end));
        for phase in &mut phases {
            phase.start_us = phase.start_us.saturating_sub(during.start);
        }
        phases
    }

    fn pending_item(&self) -> &'static str {
        if self.parents_of_marked { "parents of marked objects (stage 1c)" } else { "" }
    }

    fn end(&mut self, at_us: u64) {
        let Some(OpenPhase { name, item, start_us, count }) = self.open.take() else { return };
        let took_us = at_us.saturating_sub(start_us);
        let is_short = [STAGE_ONE_C, STAGE_TWO].contains(&name.as_str()) && took_us == 0;
        if !is_short && (name != FLUSH || took_us <= LONGEST_FLUSH_US) {
            self.phases.push(stamped(&name, &item, start_us, at_us, count));
        }
    }

    /// By the clock where it agrees with osm2pgsql's whole seconds.
    fn end_pending(&mut self, at_us: u64, kind: usize, count: Option<u64>, seconds: u64) {
        let name = pending(kind);
        let took_us = seconds.saturating_mul(SECOND);
        let begun = self.open.take_if(|open| open.name == name);
        let is_known = begun.is_none() && self.pending_done == Some(kind);
        self.pending_done = Some(kind);
        if count == Some(0) || is_known {
            return;
        }
        let Some(open) = begun else {
            self.end(at_us.saturating_sub(took_us));
            self.phases.push(reported(&name, self.pending_item(), at_us, took_us, count));
            return;
        };
        let (by_clock_us, count) = (at_us.saturating_sub(open.start_us), count.or(open.count));
        self.phases.push(if by_clock_us > 0 && by_clock_us.abs_diff(took_us) <= 2 * SECOND {
            stamped(&name, &open.item, open.start_us, at_us, count)
        } else {
            reported(&name, &open.item, at_us, took_us, count)
        });
    }
}

fn is_of_tables(event: &Event<'_>) -> bool {
    use Event::{Step, StepDone, TableDone, TableStarts, TaskDone, TaskStarts};
    matches!(
        event,
        TaskStarts | TaskDone { .. } | TableStarts(_) | Step(_) | StepDone { .. } | TableDone { .. }
    )
}

fn pending(kind: usize) -> String {
    format!("pending {}s", OBJECTS[kind])
}
