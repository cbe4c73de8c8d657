//! Results that are single numbers: tables of them, and the last lines of other load testers.

mod benchbase;
mod hammerdb;
mod sysbench;
pub(super) mod table;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use spec::figures::{self, Figures};
use spec::{
    Artifact, Counts, Doubt, OfferedLoad, Reason, Run, RunKey, RunKind, ScriptRecord, Setting, Validity,
};
use stats::Histogram;

use self::benchbase::BenchBase;
use self::hammerdb::HammerDb;
use self::sysbench::Sysbench;
use super::ImportProgress;
use super::error::{at, of_file, unreadable};
use super::found::{FoundRun, events};
use super::judge::judge;
use super::labels::{LabelReader, Labels, tell_apart};
use super::lines::{Lines, sha256};
use super::log::stored;
use crate::spool::Spool;

/// A load tester whose results are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    HammerDb,
    Sysbench,
    BenchBase,
}

impl Tool {
    /// The program that wrote a text, by its beginning.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        const WORDS: [(Tool, &str); 9] = [
            (Tool::HammerDb, "TEST RESULT : System achieved "),
            (Tool::HammerDb, "HammerDB CLI v"),
            (Tool::HammerDb, "Active Virtual Users configured"),
            (Tool::Sysbench, "sysbench 0."),
            (Tool::Sysbench, "sysbench 1."),
            (Tool::Sysbench, "SQL statistics:"),
            (Tool::BenchBase, "com.oltpbenchmark"),
            (Tool::BenchBase, "requests/sec (throughput)"),
            (Tool::BenchBase, "\"Throughput (requests/second)\""),
        ];
        let head = String::from_utf8_lossy(head);
        if head.contains("transaction type: ") {
            return None;
        }
        WORDS.into_iter().find(|(_, words)| head.contains(words)).map(|(tool, _)| tool)
    }

    fn name(self) -> &'static str {
        match self {
            Self::HammerDb => "HammerDB",
            Self::Sysbench => "sysbench",
            Self::BenchBase => "BenchBase",
        }
    }

    fn reader(self) -> Box<dyn ToolReader> {
        match self {
            Self::HammerDb => Box::new(HammerDb::default()),
            Self::Sysbench => Box::new(Sysbench::default()),
            Self::BenchBase => Box::new(BenchBase::default()),
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Self::HammerDb => "give its output with \"TEST RESULT : System achieved … NOPM from … TPM\"",
            Self::Sysbench => "give its whole output, with \"transactions: … per sec.\" and \"total time\"",
            Self::BenchBase => "give its output with \"requests/sec (throughput)\", or its summary.json",
        }
    }
}

/// Reads the output of a program line by line.
trait ToolReader {
    /// Takes a line; returns a result that it completes. `false` if the line is not the program's own.
    fn line(&mut self, line: &str) -> (Option<Number>, bool);
    /// A result that the end of the text completes.
    fn end(&mut self) -> Option<Number>;
}

/// A result; what its source does not say is absent.
#[derive(Debug, Clone, Default, PartialEq)]
struct Number {
    /// Version of the program.
    version: Option<String>,
    workload: String,
    /// Transactions per second, as printed.
    tps: f64,
    /// What succeeded, where it is counted.
    done: Option<u64>,
    failed: u64,
    length_s: Option<f64>,
    clients: Option<u32>,
    scale: Option<String>,
    figures: Figures,
    server: Option<String>,
    notes: Vec<String>,
    /// Lines that say that a part of the load failed.
    errors: Vec<String>,
    /// Its lines.
    text: String,
}

/// All results in the output of a program.
///
/// # Errors
/// When it cannot be read, or has none.
pub(super) fn read(
    tool: Tool,
    path: &Path,
    input: impl Read,
    changed_us: i64,
    progress: &mut ImportProgress<'_>,
) -> Result<Vec<FoundRun>, spec::Error> {
    let (mut lines, mut reader, mut labels) = (Lines::new(input), tool.reader(), LabelReader::default());
    let mut found: Vec<(u64, Number, Labels)> = Vec::new();
    let mut last = 0;
    while let Some(line) = lines.next().map_err(|error| unreadable(path, error))? {
        last = line.number;
        let text = String::from_utf8_lossy(line.text);
        let (number, is_own) = reader.line(text.trim_end());
        if !is_own && !text.trim().is_empty() {
            // Labels are of what follows them.
            found.extend(reader.end().map(|number| (line.number, number, labels.of_result())));
            labels.take(&text);
        }
        found.extend(number.map(|number| (line.number, number, labels.of_result())));
        if found.len() > MOST_RESULTS {
            return Err(at(path, line.number, "too many results"));
        }
    }
    progress.show(0, lines.bytes());
    progress.done();
    found.extend(reader.end().map(|number| (last, number, labels.of_result())));
    if found.is_empty() {
        return Err(
            of_file(path, format!("{} wrote it, and it has no result", tool.name())).with_hint(tool.wanted())
        );
    }
    note_lines_between(&mut found);
    let several = found.len() > 1;
    let of = |(line, number, labels): (u64, Number, Labels)| {
        let source = match several {
            true => format!("{} line {line}", path.display()),
            false => path.display().to_string(),
        };
        number.run(tool.name(), source, labels, changed_us)
    };
    Ok(found.into_iter().map(of).collect())
}

/// Gives results levels of the lines between them, or says that they are repeats of one cell.
fn note_lines_between(found: &mut [(u64, Number, Labels)]) {
    let cell = |number: &Number| format!("{} {:?} {:?}", number.workload, number.clients, number.scale);
    let cells: Vec<String> = found.iter().map(|(_, number, _)| cell(number)).collect();
    let mut labels: Vec<Labels> = found.iter_mut().map(|(.., labels)| std::mem::take(labels)).collect();
    let note = tell_apart(&mut labels, &cells);
    for ((_, number, own), labels) in found.iter_mut().zip(labels) {
        *own = labels;
        number.notes.extend(note.clone());
    }
}

/// With more results, a text is not of a person's runs.
const MOST_RESULTS: usize = 100_000;

impl Number {
    fn run(self, program: &str, source: String, labels: Labels, changed_us: i64) -> FoundRun {
        let driver = match &self.version {
            Some(version) => format!("{program} {version}"),
            None => program.to_owned(),
        };
        let counts = Counts { ok: self.done.unwrap_or(0), failed: self.failed, ..Counts::default() };
        let (mut validity, mut doubts) = match self.done {
            Some(_) => judge(&counts, None, 0, false, &driver),
            None => (Validity::Suspect, vec![not_watched(&driver)]),
        };
        if let Some(first) = self.errors.first() {
            let errors = spec::count(self.errors.len() as u64, "line");
            validity = Validity::Invalid;
            let detail = format!("{errors} of users that failed, so that fewer were at work: {first}");
            doubts.push(Doubt { reason: Reason::Errors, detail });
        }
        let mut factors = labels.levels;
        factors.insert("workload".to_owned(), self.workload.clone());
        let known = [("clients", self.clients.map(|clients| clients.to_string())), ("scale", self.scale)];
        factors.extend(known.into_iter().filter_map(|(name, level)| Some((name.to_owned(), level?))));
        let mut figures = self.figures;
        figures.set(figures::REPORTED_PER_S, self.tps);
        let name = || "server_version".to_owned();
        let setting = |value| Setting { name: name(), value, source: driver.clone(), is_initial: None };
        let run = Run {
            validity,
            doubts,
            clients: self.clients.unwrap_or(0),
            measured_s: self.length_s.or(self.done.map(|done| done as f64 / self.tps)).unwrap_or(0.0),
            figures,
            counts: stored(&counts),
            settings: self.server.clone().map(setting).into_iter().collect(),
            artifacts: vec![artifact(&self.text)],
            ..plain(&self.workload, factors, driver.clone(), changed_us)
        };
        let hash = sha256(&format!("{driver}\n{:?}\n{}", run.factors, self.text));
        found(run, FoundParts { source, hash, notes: self.notes, server: self.server, round: labels.round })
    }
}

struct FoundParts {
    source: String,
    hash: String,
    notes: Vec<String>,
    server: Option<String>,
    round: Option<u32>,
}

fn found(run: Run, parts: FoundParts) -> FoundRun {
    let FoundParts { source, hash, mut notes, server, round } = parts;
    notes.push("when it ran is not known: the time of the file is used".to_owned());
    let is_job = run.kind == RunKind::Job;
    let mut found = FoundRun {
        run,
        seconds: Spool::default(),
        source,
        hashes: vec![hash],
        notes,
        no_percentiles: (!is_job).then_some("a single number has no distribution"),
        pgbench: None,
        server,
        uuid: None,
        round,
    };
    found.run.events = events(&found);
    found
}

/// A run of clients without figures. Its script is added when it is stored ([`script`]): thousands of rows may
/// be read before the first is stored, and a script has two distributions.
fn plain(workload: &str, factors: BTreeMap<String, String>, driver: String, changed_us: i64) -> Run {
    let key = RunKey { workload: workload.to_owned(), factors, arm: None, round: 1 };
    Run {
        load: OfferedLoad::Closed,
        started_at: jiff::Timestamp::from_microsecond(changed_us).unwrap_or_default().to_string(),
        driver,
        ..Run::new(RunKind::Client, key)
    }
}

/// The script of a run of clients that has none: its rate is of one.
pub(crate) fn script(workload: &str) -> ScriptRecord {
    ScriptRecord {
        name: workload.to_owned(),
        text_hash: String::new(),
        weight: 1,
        part: None,
        counts: figures::Counters::default(),
        response: Histogram::new(),
        service: Histogram::new(),
    }
}

fn not_watched(by: &str) -> Doubt {
    Doubt {
        reason: Reason::Imported,
        detail: format!("a number from {by}; neither its load nor its machine was watched"),
    }
}

fn artifact(text: &str) -> Artifact {
    Artifact {
        name: "report.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        caption: "the report, as it was printed".to_owned(),
        bytes: text.as_bytes().to_vec(),
    }
}

/// The number at the start of a text, with or without a unit behind it.
fn number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\t', '(', ':']);
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    text[..end].parse::<f64>().ok().filter(|value| value.is_finite())
}

/// The number behind some words.
fn after(text: &str, words: &str) -> Option<f64> {
    number(text.split_once(words)?.1)
}

#[cfg(test)]
mod tests;
