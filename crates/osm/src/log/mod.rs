//! Splits osm2pgsql's log into phases.
//!
//! Its own durations are whole seconds. So lines are stamped with our clock when they arrive, and phases come
//! from the stamps where the log marks their ends; otherwise osm2pgsql's own figure is used and marked as
//! *reported*. Time that no line explains is a phase of that name.
//!
//! `event` knows the words of every version, `timeline` puts them on the clock, `estimate` places what a log
//! without times has.

mod estimate;
mod event;
mod gaps;
mod line;
mod reading;
mod tables;
mod timeline;

use std::ops::Range;

use spec::{Phase, PhaseSource};

pub use self::event::Progress;
use self::event::{Event, OBJECTS};
use self::timeline::Timeline;

/// Most bytes of the log that are kept.
const KEPT: usize = 256 * 1024;
/// Beyond this many phases it is not a log of osm2pgsql: each table has about five.
const MOST_PHASES: usize = 10_000;
const SECOND: u64 = 1_000_000;

/// The contents of a load's log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadLog {
    pub phases: Vec<Phase>,
    pub version: Option<String>,
    /// Largest address space as reported by osm2pgsql, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Total time as reported by osm2pgsql, seconds.
    pub overall_s: Option<u64>,
    /// The last error line.
    pub error: Option<String>,
    /// Whether the log shows that changes were added to tables of an earlier load (`--append`).
    pub appends: bool,
    /// The last progress display, if the log ends before the input was read.
    pub progress: Option<Progress>,
    /// The first 256 KiB of the log without statements and progress.
    pub text: String,
}

/// Parses a log line by line while it is written.
#[derive(Debug, Default)]
pub struct LogParser {
    log: LoadLog,
    timeline: Timeline,
    /// The line before the last, without progress.
    before: String,
}

impl LogParser {
    /// A parser at the start of a log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a line that arrived `at_us` after the start of the clock.
    pub fn line(&mut self, at_us: u64, raw: &str) {
        let line = line::LogLine::parse(raw);
        // Data in a statement may contain any words.
        let statement = line.text.starts_with("SQL: ");
        let error = if statement { None } else { self.error_in(line.text) };
        if error.is_some() || !(statement || is_progress(line.text)) {
            self.keep(raw);
        }
        if self.log.version.is_none() {
            self.log.version = version_in(raw).map(str::to_owned);
        }
        self.log.error = error.or(self.log.error.take());
        if let Some(megabytes) = line.number_after("Overall memory usage: peak=") {
            self.log.peak_memory_bytes = Some(megabytes << 20);
        }
        if let Some(seconds) =
            line.number_after("osm2pgsql took ").or_else(|| line.number_after("Osm2pgsql took "))
        {
            self.log.overall_s = Some(seconds);
        }
        let event = Event::of(&line);
        self.log.appends |= !statement && (appends(line.text) || event.as_ref().is_some_and(is_of_append));
        self.timeline.take(at_us, &line, event.as_ref());
    }

    /// Total time as reported by osm2pgsql, seconds, if the log has come to its end.
    #[must_use]
    pub fn overall_s(&self) -> Option<u64> {
        self.log.overall_s
    }

    /// The parsed log. Phases are those from the load's start to its end on the clock; `None` for lines without
    /// times.
    #[must_use]
    pub fn finish(self, during: Option<Range<u64>>) -> LoadLog {
        let Self { mut log, timeline, .. } = self;
        log.progress = timeline.progress();
        let overall_us = log.overall_s.map(|seconds| seconds.saturating_mul(SECOND));
        log.phases = match during {
            Some(during) => {
                let length_us = during.end.saturating_sub(during.start);
                gaps::filled(timeline.finish(during), length_us)
            }
            None => {
                let phases = estimate::placed(timeline.finish(0..0), overall_us);
                gaps::filled(phases, overall_us.unwrap_or(0))
            }
        };
        log
    }

    fn keep(&mut self, raw: &str) {
        if self.log.text.len() + raw.len() < KEPT {
            self.log.text.push_str(raw.trim_end());
            self.log.text.push('\n');
        }
    }

    /// The error in a line; before 0.90 it is in the line before.
    fn error_in(&mut self, text: &str) -> Option<String> {
        if text == "Error occurred, cleaning up" && self.log.error.is_none() {
            return Some(std::mem::take(&mut self.before)).filter(|before| !before.is_empty());
        }
        if !text.is_empty() && !is_progress(text) {
            self.before = text.chars().take(LONGEST_REASON).collect();
        }
        error_in(text).map(str::to_owned)
    }
}

/// Characters kept of a line that may be the reason of an error.
const LONGEST_REASON: usize = 500;

/// Whether a line is of a display that is overwritten while osm2pgsql works.
#[must_use]
pub fn is_progress(text: &str) -> bool {
    text.starts_with("Processing: ") || text.starts_with("Left to process: ")
}

/// Whether only a load with `--append` prints this.
fn appends(text: &str) -> bool {
    text.starts_with("Loading properties from table ")
        || text.ends_with("(same as on import).")
        || (text.starts_with("Reading in file: ") || text.starts_with("Reading file: "))
            && text.contains(".osc")
}

/// From 1.3 on objects are pending in an append only; before, ways were in any load.
fn is_of_append(event: &Event<'_>) -> bool {
    match event {
        Event::ParentsOfMarked { .. } | Event::Pending { count: Some(_), .. } => true,
        Event::PendingCount { kind, count } => OBJECTS[*kind] == "relation" && *count > 0,
        _ => false,
    }
}

/// The error in a line, without a progress display before it.
fn error_in(text: &str) -> Option<&str> {
    // Not `ERROR 1: …` of GDAL, which goes on.
    let at = text.find("ERROR:").or_else(|| text.find("rror:"))?;
    let start = if text.starts_with("Processing: ") {
        text.find("sm2pgsql failed").map_or(at, |at| at - 1)
    } else {
        0
    };
    text.get(start.min(at)..).map(str::trim)
}

/// The version in a line such as `osm2pgsql version 1.2.1 (64 bit id space)`, stamped or not; until 0.89
/// `osm2pgsql SVN version 0.88.1 (64bit id space)`.
#[must_use]
pub fn version_in(line: &str) -> Option<&str> {
    let (_, rest) =
        line.split_once("osm2pgsql version ").or_else(|| line.split_once("osm2pgsql SVN version "))?;
    rest.split_whitespace().next()
}

/// The table that a line reports as being made, in SQL form: `Setting up table 'planet_osm_nodes'`, and with
/// `--log-level=debug` `- TABLE "osm"."roads"` of output flex and, from 1.9 on, the table of properties.
#[must_use]
pub fn table_made(raw: &str) -> Option<String> {
    let line = line::LogLine::parse(raw);
    if let Some(name) = line.quoted_after("Setting up table ") {
        return Some(quoted(name));
    }
    if let Some(name) = line.quoted_after("Storing properties to table ") {
        return Some(name.to_owned());
    }
    // Already in SQL form, names only.
    let name = line.text.strip_prefix("- TABLE ")?;
    let whole = name.starts_with('"') && name.ends_with('"') && name.len() > 2;
    whole.then(|| name.to_owned())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn reported(name: &str, item: &str, end_us: u64, duration_us: u64, count: Option<u64>) -> Phase {
    Phase {
        name: name.to_owned(),
        item: item.to_owned(),
        start_us: end_us.saturating_sub(duration_us),
        duration_us,
        count,
        source: PhaseSource::Reported,
    }
}

fn stamped(name: &str, item: &str, start_us: u64, end_us: u64, count: Option<u64>) -> Phase {
    Phase {
        name: name.to_owned(),
        item: item.to_owned(),
        start_us,
        duration_us: end_us.saturating_sub(start_us),
        count,
        source: PhaseSource::Stamped,
    }
}

/// Places phases that ran one after the other, the last of them ending at `end_us`.
fn without_overlap(phases: &mut [Phase], mut end_us: u64) {
    for phase in phases.iter_mut().rev() {
        phase.start_us = end_us.saturating_sub(phase.duration_us);
        end_us = phase.start_us;
    }
}

#[cfg(test)]
mod tests;
