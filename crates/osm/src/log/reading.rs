//! The reading of nodes, ways and relations.
//!
//! They follow one another. With `--log-sql` the middle's `ANALYZE` of its node, way and relation tables marks
//! where one ends and the next begins. Otherwise osm2pgsql's whole seconds are used. A log that ends before
//! they are printed has the rates of the progress display.

use spec::Phase;

use super::event::{Event, OBJECTS, Progress, sets_up};
use super::line::LogLine;
use super::{SECOND, reported, stamped, without_overlap};

/// Seconds by which a time stamp and osm2pgsql's figure differ by rounding.
const ROUNDING_US: u64 = 2 * SECOND;
/// Ends of the names of the middle's tables, by kind.
const MIDDLE: [&str; 3] = ["_nodes", "_ways", "_rels"];

#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The last line before the first object.
    set_up_us: Option<u64>,
    began: bool,
    /// Ends of nodes, ways, relations.
    ends: [Option<u64>; 3],
    /// (count, seconds) as reported.
    totals: [Option<(u64, Option<u64>)>; 3],
    /// Of all files.
    seconds: Option<u64>,
    progress: Progress,
    last_us: Option<u64>,
}

impl Reading {
    /// Takes a line; `true` if it is one of those at the end of reading.
    pub(super) fn take(&mut self, at_us: u64, line: &LogLine<'_>, event: Option<&Event<'_>>) -> bool {
        if let Some(table) = line.analyzed() {
            self.began = true;
            let kind = MIDDLE.iter().position(|end| table.ends_with(end));
            if let Some(kind) = kind.filter(|kind| self.ends[*kind].is_none()) {
                self.ends[kind] = Some(at_us);
            }
        }
        self.began |= line.copies();
        match event {
            Some(Event::Objects { kind, count, seconds }) => {
                self.totals[*kind] = Some((*count, *seconds));
                self.last_us = Some(at_us);
                return true;
            }
            Some(Event::Read { seconds, of_file }) => {
                self.progress = Progress::of(line.text).unwrap_or(self.progress);
                let before = self.seconds.filter(|_| *of_file).unwrap_or(0);
                self.seconds = Some(before.saturating_add(*seconds));
                self.last_us = Some(at_us);
                return true;
            }
            Some(Event::Progress(progress)) => {
                self.began = true;
                self.progress = *progress;
            }
            Some(Event::ReadFile) if !self.began => self.set_up_us = Some(at_us),
            _ if !self.began && self.last_us.is_none() && sets_up(line.text) => self.set_up_us = Some(at_us),
            _ => {}
        }
        false
    }

    pub(super) fn progress(&self) -> Option<Progress> {
        (self.last_us.is_none() && self.progress.counts != [0; 3]).then_some(self.progress)
    }

    /// The setup before it, one phase for the whole, and one for each kind.
    pub(super) fn finish(self, from_us: u64) -> Vec<Phase> {
        let mut phases = Vec::new();
        let ready_us = self.set_up_us.unwrap_or(from_us);
        let Some(end_us) = self.last_us else {
            phases.extend(self.set_up(ready_us, from_us));
            phases.extend(self.kinds_in_progress(ready_us));
            return phases;
        };
        let start_us = self.start_us(end_us);
        phases.extend(self.set_up(start_us.min(ready_us), from_us));
        let counts = self.totals.map(|total| total.map(|(count, _)| count));
        let total: Option<u64> = counts.iter().any(Option::is_some).then(|| counts.iter().flatten().sum());
        phases.push(match self.seconds.filter(|_| start_us == end_us || self.set_up_us.is_none()) {
            Some(seconds) => reported("read", "", end_us, seconds.saturating_mul(SECOND), total),
            None => stamped("read", "", start_us, end_us, total),
        });
        match self.ends {
            [Some(nodes), Some(ways), _] => {
                let bounds = [start_us, nodes, ways, end_us];
                let kind = |kind| stamped(OBJECTS[kind], "", bounds[kind], bounds[kind + 1], counts[kind]);
                phases.extend((0..3).map(kind));
            }
            _ => phases.extend(self.kinds_in_seconds(end_us)),
        }
        phases
    }

    fn set_up(&self, until_us: u64, from_us: u64) -> Option<Phase> {
        let known = self.set_up_us.is_some() && until_us > from_us;
        known.then(|| stamped("set up", "", from_us, until_us, None))
    }

    /// After the last line of the setup, unless osm2pgsql's own figure begins clearly elsewhere.
    fn start_us(&self, end_us: u64) -> u64 {
        let in_kinds = || {
            let seconds = self.totals.iter().flatten().map(|(_, seconds)| *seconds);
            seconds.sum::<Option<u64>>()
        };
        let by_itself = self.seconds.or_else(in_kinds).map(|seconds| micros_before(end_us, seconds));
        match (self.set_up_us, by_itself) {
            (Some(ready), Some(own)) if own.abs_diff(ready) > ROUNDING_US => own,
            (Some(ready), _) => ready,
            (None, own) => own.unwrap_or(end_us),
        }
    }

    fn kinds_in_seconds(&self, end_us: u64) -> Vec<Phase> {
        let mut phases = Vec::new();
        for (kind, total) in self.totals.iter().enumerate() {
            let Some((count, seconds)) = total else { continue };
            let in_progress = || self.progress.seconds(kind).map(|seconds| (seconds * SECOND as f64) as u64);
            let took = seconds.map(|seconds| seconds.saturating_mul(SECOND)).or_else(in_progress);
            phases.extend(took.map(|took| reported(OBJECTS[kind], "", end_us, took, Some(*count))));
        }
        without_overlap(&mut phases, end_us);
        phases
    }

    /// The kinds as far as the progress display got.
    fn kinds_in_progress(&self, start_us: u64) -> Vec<Phase> {
        let mut phases = Vec::new();
        let mut at_us = start_us;
        for (kind, count) in self.progress.counts.into_iter().enumerate() {
            let Some(seconds) = self.progress.seconds(kind).filter(|_| count > 0) else { continue };
            let took_us = (seconds * SECOND as f64) as u64;
            at_us = at_us.saturating_add(took_us);
            phases.push(reported(OBJECTS[kind], "", at_us, took_us, Some(count)));
        }
        phases
    }
}

fn micros_before(end_us: u64, seconds: u64) -> u64 {
    end_us.saturating_sub(seconds.saturating_mul(SECOND))
}
