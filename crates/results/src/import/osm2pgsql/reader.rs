//! Which lines of a file belong to which load.

use osm::log::{LoadLog, LogParser, is_progress};
use sha2::{Digest, Sha256};
use spec::hex;

use super::command::CommandLine;
use super::docker;
use super::ended;
use super::moment::{Form, LogClock, Moment};
use super::prefix::Prefix;
use super::resources::Resources;
use super::stamp::stamped;
use super::words::{self, at_work_at, begins_without_version, first_words_at};

/// With more loads a file is not a log.
const MOST_LOADS: usize = 10_000;
/// Lines of a failed load that are searched for the reason.
const LINES_ABOUT_AN_ERROR: u32 = 8;
/// Start of the clock of a log whose beginning is missing: phases may have begun before its first line, µs.
const LATE_START_US: u64 = 1 << 50;
const SECOND: u64 = 1_000_000;

/// Where the times of a load's lines are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    Own,
    /// Of the program that kept the log.
    Kept,
    None,
}

#[derive(Debug)]
pub(super) struct LoggedLoad {
    /// Line of its first words, from 1.
    pub(super) line: u64,
    pub(super) log: LoadLog,
    pub(super) sha256: String,
    pub(super) clock: LogClock,
    pub(super) times: Times,
    /// Whether its first line is the one with the version, or what comes after it.
    pub(super) from_the_start: bool,
    /// Whether the system ended it.
    pub(super) killed: bool,
    /// Whether a table was completed: before 0.81 nothing is printed at the end.
    pub(super) completes_tables: bool,
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
    prefix: Prefix,
    /// It prints nothing more itself; following lines may be about it.
    ended: bool,
    /// There is more than a version.
    works: bool,
    failed_for: u32,
    load: LoggedLoad,
}

impl Reader {
    /// Takes a line, or a piece of one.
    ///
    /// # Errors
    /// Why the file is not osm2pgsql's.
    pub(super) fn take(&mut self, number: u64, line: &str) -> Result<(), String> {
        match docker::line(line) {
            Some((inside, moment)) => {
                inside.split(['\r', '\n']).try_for_each(|piece| self.piece(number, piece.trim_end(), moment))
            }
            None => self.piece(number, line.trim_end(), None),
        }
    }

    fn piece(&mut self, number: u64, line: &str, kept: Option<Moment>) -> Result<(), String> {
        let line = line.trim_start_matches('\u{feff}');
        if line.is_empty() {
            return Ok(());
        }
        if line.trim_start().starts_with("transaction type: ") {
            return Err(
                "a report of pgbench among logs of osm2pgsql: give each in a file of its own".to_owned()
            );
        }
        let first = first_words_at(line);
        let is_new = self.open.is_none() && self.done.is_empty();
        let begins = || if is_new { words::of_a_part_at(line) } else { None };
        if let Some(at) = first.or_else(begins) {
            self.close()?;
            let is_start = first.is_some() || begins_without_version(&line[at..]);
            let prefix = stamped(line).map_or(at, |own| line.len() - own.len());
            self.open = Some(OpenLoad::new(number, is_start, &line[..prefix], self.command.take()));
        }
        let own = stamped(line);
        if own.is_none() && self.is_command(line) {
            return Ok(());
        }
        if let Some(open) = &mut self.open {
            open.take(line, own, kept);
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
            Some(open) if ended::was_killed(line) => {
                open.take(line, None, None);
                open.load.command.get_or_insert(command);
            }
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
    fn new(line: u64, from_the_start: bool, prefix: &str, command: Option<CommandLine>) -> Self {
        let load = LoggedLoad {
            line,
            log: LoadLog::default(),
            sha256: String::new(),
            clock: LogClock::default(),
            times: Times::None,
            from_the_start,
            killed: false,
            completes_tables: false,
            command,
            resources: Resources::default(),
            server: None,
            postgis: None,
        };
        Self {
            parser: LogParser::new(),
            hash: Sha256::new(),
            prefix: Prefix::of(prefix),
            ended: false,
            works: false,
            failed_for: 0,
            load,
        }
    }

    fn take(&mut self, line: &str, own: Option<&str>, kept: Option<Moment>) {
        if own.is_none() {
            self.load.resources.take(line);
        }
        if self.ended {
            return;
        }
        let killed = own.is_none() && !line.contains("SQL: ") && ended::was_killed(line);
        self.load.killed |= killed;
        self.own_line(line, own, kept);
        self.ended |= killed;
    }

    fn own_line(&mut self, line: &str, own: Option<&str>, kept: Option<Moment>) {
        let Some((text, moment)) = self.own_text(line, own, kept) else { return };
        if text.trim().is_empty() {
            return;
        }
        if own.is_some() || self.load.times != Times::Own || !is_progress(text) {
            self.hash.update(text);
            self.hash.update("\n");
        }
        let late_us = if self.load.from_the_start { 0 } else { LATE_START_US };
        let at_us = late_us.saturating_add(self.load.clock.at_us(moment));
        let statement = text.contains("SQL: ");
        self.parser.line(at_us, text);
        if !statement {
            let text = own.map_or(text, |own| words::behind_stamp(own));
            self.notice(words::behind_thread(text.trim()));
        }
    }

    /// The line as osm2pgsql wrote it, and its time; `None` for a line of another program.
    fn own_text<'a>(
        &mut self,
        line: &'a str,
        own: Option<&'a str>,
        kept: Option<Moment>,
    ) -> Option<(&'a str, Option<Moment>)> {
        if let Some(own) = own {
            self.load.times = Times::Own;
            return Some((own, Moment::at_start(own, Form::Date).map(|(moment, _)| moment)));
        }
        // A progress display is overwritten without what is before other lines.
        let cut = self.prefix.cut(line);
        let (text, moment) = cut.unwrap_or((line, None));
        let is_own = match self.load.times {
            Times::Own => is_progress(text),
            _ => cut.is_some() || is_progress(text) || at_work_at(text) == Some(0),
        };
        if !is_own && !self.is_about_an_error(text) {
            return None;
        }
        let moment = moment.or(kept).filter(|_| self.load.times != Times::Own);
        if moment.is_some() {
            self.load.times = Times::Kept;
        }
        Some((text, moment))
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
        let failed = text.contains("ERROR: ") || text == "Error occurred, cleaning up";
        self.load.completes_tables |= text.starts_with("Completed ");
        self.ended = took || failed && self.load.times != Times::Own;
        self.works |= took || failed || works(text);
    }

    fn finish(self) -> LoggedLoad {
        let Self { parser, hash, mut load, .. } = self;
        let during = (load.times != Times::None && load.clock.has_times()).then(|| {
            let span_us = load.clock.span_us();
            let whole_us = parser.overall_s().map_or(span_us, |seconds| seconds.saturating_mul(SECOND));
            if load.from_the_start {
                0..whole_us
            } else {
                let end_us = LATE_START_US.saturating_add(span_us);
                end_us.saturating_sub(whole_us.max(span_us))..end_us
            }
        });
        load.log = parser.finish(during);
        load.sha256 = hex(&hash.finalize());
        load
    }
}

fn works(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "Going over ",
        "Left to process: ",
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
