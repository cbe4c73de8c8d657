//! Which lines of a file belong to which load.

use osm::log::{LoadLog, LogParser};
use sha2::{Digest, Sha256};
use spec::hex;

use super::command::CommandLine;
use super::resources::Resources;
use super::stamp::{StampClock, stamped};

/// With more loads a file is not a log.
const MOST_LOADS: usize = 10_000;
/// Lines of a failed load that are searched for the reason.
const LINES_ABOUT_AN_ERROR: u32 = 8;

#[derive(Debug)]
pub(super) struct LoggedLoad {
    /// Line of its first words, from 1.
    pub(super) line: u64,
    pub(super) log: LoadLog,
    pub(super) sha256: String,
    pub(super) clock: StampClock,
    pub(super) stamped: bool,
    /// Whether its first line is the one with the version.
    pub(super) from_the_start: bool,
    pub(super) command: Option<CommandLine>,
    pub(super) resources: Resources,
    pub(super) server: Option<String>,
    pub(super) postgis: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Reader {
    command: Option<CommandLine>,
    unfinished: String,
    open: Option<OpenLoad>,
    done: Vec<LoggedLoad>,
}

#[derive(Debug)]
struct OpenLoad {
    parser: LogParser,
    hash: Sha256,
    /// It prints nothing more itself; following lines may be about it.
    ended: bool,
    /// There is more than a version.
    works: bool,
    failed_for: u32,
    load: LoggedLoad,
}

pub(super) fn begins(line: &str) -> bool {
    let text = own_text(line).unwrap_or_else(|| line.trim_start_matches('\u{feff}').trim());
    text.strip_prefix("osm2pgsql version ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether only osm2pgsql at work writes such a line; lines without time stamps are too similar to other
/// programs'.
pub(super) fn is_of_a_load(line: &str) -> bool {
    const WORDS: [&str; 9] = [
        "Setting up table ",
        "Reading input files done in ",
        "Clustering table ",
        "Creating geometry index on table ",
        "Done postprocessing on table ",
        "All postprocessing on table ",
        "Going over pending ways",
        "Initializing properties table ",
        "osm2pgsql took ",
    ];
    own_text(line).is_some_and(|text| WORDS.iter().any(|words| text.starts_with(words)))
}

/// The text after time stamp and thread; `None` without a stamp.
fn own_text(line: &str) -> Option<&str> {
    let text = stamped(line)?.get(STAMP..)?.trim();
    let behind_thread = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    Some(behind_thread.map_or(text, |(_, text)| text.trim()))
}

const STAMP: usize = "0000-00-00 00:00:00".len();

impl Reader {
    /// Takes a line, or a piece of one.
    ///
    /// # Errors
    /// Why the file is not osm2pgsql's.
    pub(super) fn take(&mut self, number: u64, line: &str) -> Result<(), String> {
        let line = line.trim_end();
        if line.is_empty() {
            return Ok(());
        }
        if line.trim_start().starts_with("transaction type: ") {
            return Err(
                "a report of pgbench among logs of osm2pgsql: give each in a file of its own".to_owned()
            );
        }
        let first = begins(line);
        if first || self.open.is_none() && self.done.is_empty() && is_of_a_load(line) {
            self.close()?;
            self.open = Some(OpenLoad::new(number, first, self.command.take()));
        }
        let own = stamped(line);
        if own.is_none() && self.is_command(line) {
            return Ok(());
        }
        if let Some(open) = &mut self.open {
            open.take(line, own);
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Vec<LoggedLoad> {
        let _ = self.close();
        self.done
    }

    /// Whether a line is a command, or a part of one; it is kept for the next load, or belongs to the load
    /// before it.
    fn is_command(&mut self, line: &str) -> bool {
        if let Some(begun) = line.strip_suffix('\\')
            && (line.contains("osm2pgsql") || !self.unfinished.is_empty())
            && self.unfinished.len() < 64 * 1024
        {
            self.unfinished.push_str(begun);
            return true;
        }
        let whole = std::mem::take(&mut self.unfinished) + line;
        let Some(command) = CommandLine::of(&whole) else { return false };
        match &mut self.open {
            Some(open) if line.trim_start().starts_with("Command being timed: ") => {
                open.load.command.get_or_insert(command);
            }
            _ => self.command = Some(command),
        }
        true
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(open) = self.open.take() else { return Ok(()) };
        if open.works {
            if self.done.len() >= MOST_LOADS {
                return Err("too many loads for a log of osm2pgsql".to_owned());
            }
            self.done.push(open.finish());
        } else if self.command.is_none() {
            // `osm2pgsql --version` before a load.
            self.command = open.load.command;
        }
        Ok(())
    }
}

impl OpenLoad {
    fn new(line: u64, from_the_start: bool, command: Option<CommandLine>) -> Self {
        let load = LoggedLoad {
            line,
            log: LoadLog::default(),
            sha256: String::new(),
            clock: StampClock::default(),
            stamped: false,
            from_the_start,
            command,
            resources: Resources::default(),
            server: None,
            postgis: None,
        };
        Self {
            parser: LogParser::new(),
            hash: Sha256::new(),
            ended: false,
            works: false,
            failed_for: 0,
            load,
        }
    }

    fn take(&mut self, line: &str, own: Option<&str>) {
        if own.is_none() {
            self.load.resources.take(line);
        }
        if self.ended {
            return;
        }
        let text = match own {
            Some(own) => {
                self.load.stamped = true;
                own
            }
            // Among lines with stamps, others are osm2pgsql's only if they report an error.
            None if self.load.stamped && !self.is_about_an_error(line) => return,
            None => line,
        };
        self.hash.update(text);
        self.hash.update("\n");
        let at_us = self.load.clock.at_us(own.unwrap_or_default());
        let statement = text.contains(" SQL: ");
        self.parser.line(at_us, text);
        if !statement {
            self.notice(own_text(line).unwrap_or(text).trim());
        }
    }

    fn is_about_an_error(&mut self, line: &str) -> bool {
        if line.contains("ERROR") || line.contains("rror:") {
            self.failed_for = LINES_ABOUT_AN_ERROR;
        }
        self.failed_for = self.failed_for.saturating_sub(1);
        self.failed_for > 0
            && (line.contains("rror:")
                || line.contains("ERROR")
                || line.contains("DETAIL: ")
                || line.contains("HINT: "))
    }

    /// Handles versions and the end; [`LogParser`] does the rest.
    fn notice(&mut self, text: &str) {
        if let Some(version) = text.strip_prefix("Database version: ") {
            self.load.server = Some(version.trim().to_owned());
        } else if let Some(version) = text.strip_prefix("PostGIS version: ") {
            self.load.postgis = Some(version.trim().to_owned());
        }
        let took = text.to_ascii_lowercase().starts_with("osm2pgsql took ");
        let failed = text.contains("ERROR: ");
        self.ended = took || failed && !self.load.stamped;
        self.works |= took || failed || works(text);
    }

    fn finish(self) -> LoggedLoad {
        let Self { parser, hash, mut load, .. } = self;
        load.log = parser.finish(load.clock.span_us());
        load.sha256 = hex(&hash.finalize());
        load
    }
}

fn works(text: &str) -> bool {
    const WORDS: [&str; 10] = [
        "Database version: ",
        "PostGIS version: ",
        "Setting up table",
        "Using ",
        "Mid: ",
        "Allocating ",
        "Reading ",
        "Processing: ",
        "Processed ",
        "SQL: ",
    ];
    WORDS.iter().any(|words| text.starts_with(words))
}
