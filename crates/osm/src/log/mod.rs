//! What osm2pgsql says while it works, as phases.
//!
//! Its own durations are whole seconds, so lines are stamped with our clock when they arrive and phases are taken from
//! the stamps where the log marks their ends; else the program's own figure is used and marked as *reported*. Rates are
//! never read: at 0 s osm2pgsql prints the count as the rate.
//!
//! Two formats: with time stamps from 1.4 on (`stamped`), without before (`plain`).

mod line;
mod plain;
mod stamped;

use spec::{Phase, PhaseSource};

/// Most bytes of the log that are kept.
const KEPT: usize = 256 * 1024;
/// Phases beyond which a log is none of osm2pgsql: each table has about five.
const MOST_PHASES: usize = 10_000;

/// What a load's log told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Told {
    pub phases: Vec<Phase>,
    pub version: Option<String>,
    /// Largest address space osm2pgsql says it used, bytes.
    pub peak_memory_bytes: Option<u64>,
    /// osm2pgsql's own figure for the whole, seconds.
    pub overall_s: Option<u64>,
    /// The last line that tells of an error.
    pub error: Option<String>,
    /// The log without statements and progress, cut after its first 256 KiB.
    pub text: String,
}

/// Reads a log line by line as it is written.
#[derive(Debug, Default)]
pub struct LogParser {
    told: Told,
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
        let line = line::Line::parse(raw);
        // Data that a statement holds may have any words in it.
        let statement = line.text.starts_with("SQL: ");
        let error = if statement { None } else { error_in(line.text) };
        if error.is_some() || !(statement || line.text.starts_with("Processing: ")) {
            self.keep(raw);
        }
        if self.told.version.is_none() {
            self.told.version = version_in(raw).map(str::to_owned);
        }
        if let Some(error) = error {
            self.told.error = Some(error.to_owned());
        }
        if let Some(megabytes) = line.number_after("Overall memory usage: peak=") {
            self.told.peak_memory_bytes = Some(megabytes << 20);
        }
        if let Some(seconds) =
            line.number_after("osm2pgsql took ").or_else(|| line.number_after("Osm2pgsql took "))
        {
            self.told.overall_s = Some(seconds);
        }
        if line.stamped { self.stamped.line(at_us, &line) } else { self.plain.line(at_us, &line) }
    }

    /// What was told, the program having ended after `end_us`.
    #[must_use]
    pub fn finish(self, end_us: u64) -> Told {
        let Self { mut told, stamped, plain } = self;
        let mut phases = stamped.finish(end_us);
        phases.extend(plain.finish());
        phases.sort_by_key(|phase| phase.start_us);
        told.phases = phases;
        told
    }

    fn keep(&mut self, raw: &str) {
        if self.told.text.len() + raw.len() < KEPT {
            self.told.text.push_str(raw.trim_end());
            self.told.text.push('\n');
        }
    }
}

/// The error that a line tells of, without the progress display that may stand before it.
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

/// The table that a line says is made now, as it is written in SQL: `Setting up table 'planet_osm_nodes'`, and with
/// `--log-level=debug` `- TABLE "osm"."roads"` of output flex and, from 1.9 on, the table of properties.
#[must_use]
pub fn table_made(raw: &str) -> Option<String> {
    let line = line::Line::parse(raw);
    if let Some(name) = line.quoted_after("Setting up table ") {
        return Some(quoted(name));
    }
    if let Some(name) = line.quoted_after("Storing properties to table ") {
        return Some(name.to_owned());
    }
    // Already as SQL has it, and nothing but names.
    let name = line.text.strip_prefix("- TABLE ")?;
    let whole = name.starts_with('"') && name.ends_with('"') && name.len() > 2;
    whole.then(|| name.to_owned())
}

/// A name as an identifier of SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A phase whose end is known and whose length the program says.
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

/// A phase between two lines.
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

/// Puts phases that ran one after the other, the last of them ending at `end_us`, into their places.
fn one_after_the_other(phases: &mut [Phase], mut end_us: u64) {
    for phase in phases.iter_mut().rev() {
        phase.start_us = end_us.saturating_sub(phase.duration_us);
        end_us = phase.start_us;
    }
}

#[cfg(test)]
mod tests;
