//! A load while its lines are read: which of them are its own, and how it ended.

use osm::log::{LoadLog, LogParser, is_progress};
use sha2::{Digest, Sha256};
use spec::hex;

use super::command::CommandLine;
use super::ended;
use super::prefix::Prefix;
use super::resources::Resources;
use super::stream::Stream;
use super::words::{self, at_work_at};
use crate::import::moment::{Form, LogClock, Moment};

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
    /// The container that wrote it, if its lines name one.
    pub(super) container: Option<String>,
    /// How the system ended it.
    pub(super) ended_by: Option<String>,
    /// Whether a table was completed: before 0.81 nothing is printed at the end.
    pub(super) completes_tables: bool,
    pub(super) command: Option<CommandLine>,
    pub(super) resources: Resources,
    pub(super) server: Option<String>,
    pub(super) postgis: Option<String>,
}

#[derive(Debug)]
pub(super) struct OpenLoad {
    parser: LogParser,
    hash: Sha256,
    prefix: Prefix,
    pub(super) stream: Stream,
    /// It prints nothing more itself; following lines may be about it.
    pub(super) ended: bool,
    /// After its last line osm2pgsql went on: two loads are mixed.
    goes_on: bool,
    /// There is more than a version.
    pub(super) works: bool,
    /// It has said how long it took.
    has_total: bool,
    failed_for: u32,
    pub(super) load: LoggedLoad,
}

impl OpenLoad {
    pub(super) fn new(line: u64, from_the_start: bool, prefix: &str, command: Option<CommandLine>) -> Self {
        let stream = Stream::of(prefix);
        let load = LoggedLoad {
            line,
            log: LoadLog::default(),
            sha256: String::new(),
            clock: LogClock::default(),
            times: Times::None,
            from_the_start,
            container: stream.container().map(str::to_owned),
            ended_by: None,
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
            stream,
            ended: false,
            goes_on: false,
            works: false,
            has_total: false,
            failed_for: 0,
            load,
        }
    }

    pub(super) fn take(&mut self, line: &str, own: Option<&str>, kept: Option<Moment>) {
        if own.is_none() {
            self.load.resources.take(line);
        }
        if self.ended {
            let is_at_work = at_work_at(line).is_some();
            if self.has_total {
                self.goes_on |= own.is_some() && is_at_work;
                return;
            }
            // What seemed to be its end was of another program.
            if !is_at_work {
                return;
            }
            (self.ended, self.load.ended_by) = (false, None);
        }
        let is_text = own.is_none() && !line.contains("SQL: ");
        let ended_by = is_text.then(|| ended::how(line, self.stream.container())).flatten();
        self.own_line(line, own, kept);
        self.ended |= ended_by.is_some();
        self.load.ended_by = ended_by;
    }

    /// Whether lines of another load are among its own.
    pub(super) fn is_mixed_with(&self, before: &LoggedLoad) -> bool {
        self.goes_on && before.log.overall_s.is_none() && before.container == self.load.container
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
            if own.len() == line.len() {
                // Only its first line had something before it.
                self.prefix = Prefix::default();
            }
            return Some((own, Moment::at_start(own, Form::Date).map(|(moment, _)| moment)));
        }
        // A progress display is overwritten without what is before other lines.
        let cut = self.prefix.cut(line);
        let (text, moment) = cut.unwrap_or((line, None));
        let is_of_others = cut.is_none() && !line.trim_start_matches(['\x1b']).starts_with("Processing: ")
            || self.load.times == Times::Own && Moment::at_start(text, Form::Date).is_some();
        let is_own = match self.load.times {
            Times::Own => is_progress(text),
            _ => cut.is_some() || is_progress(text) || at_work_at(text) == Some(0),
        };
        if !is_own && (is_of_others || !self.is_about_an_error(text)) {
            return None;
        }
        let moment = moment.or(kept).filter(|_| self.load.times != Times::Own);
        if moment.is_some() {
            self.load.times = Times::Kept;
        }
        Some((text, moment))
    }

    fn is_about_an_error(&mut self, line: &str) -> bool {
        if line.contains("ERROR:") || line.contains("rror:") {
            self.failed_for = LINES_ABOUT_AN_ERROR;
        }
        self.failed_for = self.failed_for.saturating_sub(1);
        self.failed_for > 0
            && (line.contains("rror:")
                || line.contains("ERROR:")
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
        let failed = has_failed(text);
        self.load.completes_tables |= text.starts_with("Completed ");
        self.has_total |= took;
        self.ended = took || failed && self.load.times != Times::Own;
        self.works |= took || failed || works(text);
    }

    pub(super) fn finish(self) -> LoggedLoad {
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

/// Whether osm2pgsql gives up with these words.
fn has_failed(text: &str) -> bool {
    text.starts_with("ERROR: ")
        || text.contains("failed due to ERROR: ")
        || text == "Error occurred, cleaning up"
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
