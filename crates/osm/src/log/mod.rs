//! Splits osm2pgsql's log into phases.
//!
//! Its own durations are whole seconds. So lines are stamped with our clock when they arrive, and phases come
//! from the stamps where the log marks their ends; otherwise osm2pgsql's own figure is used and marked as
//! *reported*. Rates are never read: at 0 s osm2pgsql prints the count as the rate.
//!
//! Two formats: with time stamps from 1.4 on (`stamped`), without before (`plain`).

mod line;
mod plain;
mod stamped;

use spec::{Phase, PhaseSource};

/// Most bytes of the log that are kept.
const KEPT: usize = 256 * 1024;
/// Beyond this many phases it is not a log of osm2pgsql: each table has about five.
const MOST_PHASES: usize = 10_000;

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
    /// The first 256 KiB of the log without statements and progress.
    pub text: String,
}

/// Parses a log line by line while it is written.
#[derive(Debug, Default)]
pub struct LogParser {
    log: LoadLog,
    stamped: stamped::Stamped,
    plain: plain::Plain,
}

impl LogParser {
    /// A parser at the start of a log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a line that arrived `at_us` after the start of the program.
    pub fn line(&mut self, at_us: u64, raw: &str) {
        let line = line::LogLine::parse(raw);
        // Data in a statement may contain any words.
        let statement = line.text.starts_with("SQL: ");
        let error = if statement { None } else { error_in(line.text) };
        if error.is_some() || !(statement || line.text.starts_with("Processing: ")) {
            self.keep(raw);
        }
        if self.log.version.is_none() {
            self.log.version = version_in(raw).map(str::to_owned);
        }
        if let Some(error) = error {
            self.log.error = Some(error.to_owned());
        }
        if let Some(megabytes) = line.number_after("Overall memory usage: peak=") {
            self.log.peak_memory_bytes = Some(megabytes << 20);
        }
        if let Some(seconds) =
            line.number_after("osm2pgsql took ").or_else(|| line.number_after("Osm2pgsql took "))
        {
            self.log.overall_s = Some(seconds);
        }
        if line.stamped { self.stamped.line(at_us, &line) } else { self.plain.line(at_us, &line) }
    }

    /// The parsed log, when the program has ended after `end_us`.
    #[must_use]
    pub fn finish(self, end_us: u64) -> LoadLog {
        let Self { mut log, stamped, plain } = self;
        let mut phases = stamped.finish(end_us);
        phases.extend(plain.finish());
        phases.sort_by_key(|phase| phase.start_us);
        log.phases = phases;
        log
    }

    fn keep(&mut self, raw: &str) {
        if self.log.text.len() + raw.len() < KEPT {
            self.log.text.push_str(raw.trim_end());
            self.log.text.push('\n');
        }
    }
}

/// The error in a line, without a progress display before it.
fn error_in(text: &str) -> Option<&str> {
    let at = text.find("ERROR").or_else(|| text.find("rror:"))?;
    let start = if text.starts_with("Processing: ") {
        text.find("sm2pgsql failed").map_or(at, |at| at - 1)
    } else {
        0
    };
    text.get(start.min(at)..).map(str::trim)
}

/// The version in a line such as `osm2pgsql version 1.2.1 (64 bit id space)`, stamped or not.
#[must_use]
pub fn version_in(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("osm2pgsql version ")?;
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

fn stamped_phase(name: &str, item: &str, start_us: u64, end_us: u64, count: Option<u64>) -> Phase {
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
