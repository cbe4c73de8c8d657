//! pgbench's text reports, of every version since 9.0, one or many in a file, among any other text.

mod fill;
mod line;
pub(super) mod model;
pub(super) mod progress;

use std::io::Read;
use std::path::Path;

use spec::Error;

use self::line::{ReportKey, StatementColumns, recognise, without_stamp};
use self::model::{ParsedReport, ProgressLine, ReportScript};
use super::labels::{LabelReader, tell_apart};
use super::lines::Lines;
use crate::import::error::{at, of_file, unreadable};

/// Bytes of a report's text that are kept with it.
const MOST_TEXT: usize = 256 * 1024;
/// With more scripts, or statements of a script, a file is not a report.
const MOST_ITEMS: usize = 10_000;
/// Progress lines kept of one run: more than a week of seconds.
const MOST_PROGRESS: usize = 1_000_000;

/// Reads all reports in a text.
///
/// # Errors
/// When it has none, or one of them is cut off.
pub(super) fn read<R: Read>(file: &Path, lines: &mut Lines<R>) -> Result<Vec<ParsedReport>, Error> {
    let mut reader = Reader::default();
    while let Some(line) = lines.next().map_err(|error| unreadable(file, error))? {
        let number = line.number;
        let text = String::from_utf8_lossy(line.text);
        reader.take(number, without_stamp(&text)).map_err(|what| at(file, number, what))?;
    }
    reader.close().map_err(|(line, what)| at(file, line, what))?;
    if reader.done.is_empty() {
        let what = match reader.lonely_tps {
            Some(line) => format!(
                "no report of pgbench: line {line} has a rate, but \"transaction type: …\" is missing"
            ),
            None => "neither a report nor a log of pgbench, and no log of osm2pgsql".to_owned(),
        };
        return Err(of_file(file, what)
            .with_hint(
            "give what pgbench prints on standard output, the files that pgbench -l writes, or what osm2pgsql writes on standard error; \
             --table FILE reads a table of numbers",
        ));
    }
    Ok(reader.told_apart())
}

#[derive(Default)]
struct Before {
    banner: Option<(String, Option<String>)>,
    seed: Option<u64>,
    progress: Vec<ProgressLine>,
    aborted: u64,
}

#[derive(Default)]
struct Reader {
    before: Before,
    open: Option<OpenReport>,
    done: Vec<ParsedReport>,
    labels: LabelReader,
    lonely_tps: Option<u64>,
}

struct OpenReport {
    report: ParsedReport,
    statements: Option<StatementColumns>,
}

impl Reader {
    fn take(&mut self, number: u64, line: &str) -> Result<(), String> {
        if self.open.as_mut().is_some_and(|open| open.statement(number, line)) {
            return Ok(());
        }
        let Some((key, before, rest)) = recognise(line) else {
            // Within a report no lines of others come.
            if self.open.as_ref().is_none_or(|open| open.report.tps.is_some()) {
                self.labels.take(line);
            }
            return Ok(());
        };
        match key {
            ReportKey::Kind => {
                self.close().map_err(|(_, what)| what)?;
                self.begin(number, line, rest);
                return Ok(());
            }
            ReportKey::Banner => {
                if let Some(banner) = line::banner(rest) {
                    self.close().map_err(|(_, what)| what)?;
                    self.before.banner = Some(banner);
                }
                return Ok(());
            }
            ReportKey::Progress => {
                if let Some(progress) = line::progress(rest) {
                    self.close_if_whole();
                    if self.before.progress.len() < MOST_PROGRESS {
                        self.before.progress.push(progress);
                    }
                }
                return Ok(());
            }
            ReportKey::Seed => {
                self.close_if_whole();
                self.before.seed = line::parse_whole(rest);
                return Ok(());
            }
            ReportKey::Aborted => {
                self.before.aborted += u64::from(before.to_lowercase().contains("client "));
                return Ok(());
            }
            _ => {}
        }
        match &mut self.open {
            Some(open) => {
                // The number of a script's transactions precedes the word.
                let rest = if key == ReportKey::Total { before } else { rest };
                if open.take(key, rest)? {
                    open.report.lines.1 = number;
                    open.keep(line);
                }
            }
            None if key == ReportKey::Tps => self.lonely_tps = self.lonely_tps.or(Some(number)),
            None => {}
        }
        Ok(())
    }

    fn begin(&mut self, number: u64, line: &str, kind: &str) {
        let Before { banner, seed, progress, aborted } = std::mem::take(&mut self.before);
        let (pgbench, server) = banner.map_or((None, None), |(own, server)| (Some(own), server));
        let report = ParsedReport {
            lines: (number, number),
            kind: kind.to_owned(),
            pgbench,
            server,
            seed,
            progress,
            aborted,
            labels: self.labels.of_result(),
            ..ParsedReport::default()
        };
        let mut open = OpenReport { report, statements: None };
        open.keep(line);
        self.open = Some(open);
    }

    /// Ends the open report; one without its rate is cut off.
    fn close(&mut self) -> Result<(), (u64, String)> {
        let Some(OpenReport { report, .. }) = self.open.take() else { return Ok(()) };
        let whole = report.tps.is_some() || (report.processed.is_some() && report.succeeded() == 0);
        if !whole {
            let what =
                format!("the report that begins in line {} is cut off: it has no rate", report.lines.0);
            return Err((report.lines.1, what));
        }
        self.done.push(report);
        Ok(())
    }

    /// The reports, with levels by the lines between them that are not understood.
    fn told_apart(self) -> Vec<ParsedReport> {
        let mut reports = self.done;
        let mut labels: Vec<_> =
            reports.iter_mut().map(|report| std::mem::take(&mut report.labels)).collect();
        let cells: Vec<String> = reports.iter().map(ParsedReport::cell).collect();
        let note = tell_apart(&mut labels, &cells);
        for (report, labels) in reports.iter_mut().zip(labels) {
            (report.labels, report.between) = (labels, note.clone());
        }
        reports
    }

    fn close_if_whole(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.report.tps.is_some()) {
            let _ = self.close();
        }
    }
}

impl OpenReport {
    fn keep(&mut self, line: &str) {
        if self.report.text.len() + line.len() < MOST_TEXT {
            self.report.text.push_str(line.trim_end());
            self.report.text.push('\n');
        }
    }

    /// Takes a line of a list of statements; `false` at the end of the list.
    fn statement(&mut self, number: u64, line: &str) -> bool {
        let Some(columns) = self.statements else { return false };
        let Some(statement) = columns.parse(line) else {
            self.statements = None;
            return false;
        };
        if let Some(script) = self.report.scripts.last_mut().filter(|s| s.statements.len() < MOST_ITEMS) {
            script.statements.push(statement);
        }
        self.report.lines.1 = number;
        self.keep(line);
        true
    }

    /// Takes a line; `false` if it only resembles a line of the report.
    fn take(&mut self, key: ReportKey, rest: &str) -> Result<bool, String> {
        match key {
            ReportKey::Script => return self.script(rest),
            ReportKey::Statements => {
                if self.report.scripts.is_empty() {
                    self.report.scripts.push(ReportScript::default());
                }
                self.statements = Some(StatementColumns::of(rest));
                return Ok(true);
            }
            ReportKey::Incomplete => {
                self.report.incomplete = true;
                return Ok(true);
            }
            _ => {}
        }
        match self.report.scripts.last_mut() {
            Some(script) => Ok(!script.name.is_empty() && script.take(key, rest)),
            // After the rate only scripts follow; other lines are not pgbench's.
            None if self.report.tps.is_some() && key != ReportKey::Tps => Ok(false),
            None => self.report.take(key, rest).map(|()| true),
        }
    }

    fn script(&mut self, rest: &str) -> Result<bool, String> {
        let Some((_, name)) = rest.split_once(": ").filter(|(number, _)| line::parse_whole(number).is_some())
        else {
            return Ok(false);
        };
        if self.report.scripts.len() >= MOST_ITEMS {
            return Err("too many scripts for a report of pgbench".to_owned());
        }
        self.report.scripts.push(ReportScript { name: name.to_owned(), ..ReportScript::default() });
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
