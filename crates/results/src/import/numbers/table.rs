//! A table of numbers (CSV): columns of factors, a figure, and optionally the number of the repeat.

use std::collections::BTreeMap;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder, Trim};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use spec::figures::{self, Figures};
use spec::{Error, OfferedLoad, RunKind, Validity};

use super::{FoundParts, artifact, found, not_watched, plain};
use crate::import::error::{at, of_file, unreadable};
use crate::import::found::FoundRun;
use crate::import::labels::REPEATS;
use crate::import::lines::sha256;

/// Larger files are not tables of single results.
const LARGEST: u64 = 256 << 20;
/// Name of the workload of a table without a column for it.
const WORKLOAD: &str = "numbers";

/// What a figure is, and by what its values are multiplied to be per second, or seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FigureUnit {
    Rate(f64),
    Time(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    Factor,
    Repeat,
    Figure(FigureUnit),
    /// Of numbers that are not compared.
    OtherFigure,
    Started,
}

/// The line of a row, and its cells.
type Row = (u64, Vec<String>);

struct NumberTable {
    names: Vec<String>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// The figure that is compared.
    figure: usize,
    notes: Vec<String>,
}

/// The runs in a table. `figure` is the compared column, by its name, with a unit or without: `score`,
/// `load=min`.
///
/// # Errors
/// When the file cannot be read, or a cell is not what its column needs.
pub fn read_table(path: &Path, figure: Option<&str>) -> Result<Vec<FoundRun>, Error> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if metadata.len() > LARGEST {
        return Err(of_file(path, "larger than 256 MiB: not a table of single results"));
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, error))?;
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let changed_us = changed.and_then(|since| i64::try_from(since.as_micros()).ok()).unwrap_or(0);
    let table = NumberTable::of(path, &bytes, figure)?;
    table.runs(path, changed_us)
}

impl NumberTable {
    fn of(path: &Path, bytes: &[u8], figure: Option<&str>) -> Result<Self, Error> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let (names, rows) = cells(path, bytes)?;
        if rows.is_empty() {
            return Err(of_file(path, "no rows below its header").with_hint(HINT));
        }
        let (asked, unit) = match figure.map(|figure| figure.split_once('=').unwrap_or((figure, ""))) {
            Some((name, unit)) => (Some(position(path, &names, name)?), unit),
            None => (None, ""),
        };
        let unit = match unit {
            "" => None,
            text => Some(unit_of(text).ok_or_else(|| unknown_unit(path, text))?),
        };
        let mut columns: Vec<Column> = (0..names.len()).map(|at| column(&names[at], at, &rows)).collect();
        let figures = |rates: bool| {
            let fits = move |column: &Column| match column {
                Column::Figure(FigureUnit::Rate(_)) => rates,
                Column::Figure(FigureUnit::Time(_)) => !rates,
                _ => false,
            };
            columns.iter().position(fits)
        };
        let numbers = || columns.iter().position(|column| *column == Column::OtherFigure);
        let Some(at) = asked.or_else(|| figures(true)).or_else(|| figures(false)).or_else(numbers) else {
            let what = format!("no column of a figure among {}", names.join(", "));
            return Err(of_file(path, what).with_hint(HINT));
        };
        let mut notes = Vec::new();
        let kind = unit.or(known_figure(&names[at])).unwrap_or_else(|| {
            notes.push(format!(
                "{} is taken for a rate, of which more is better: --figure {}=s says that it is a time",
                names[at], names[at]
            ));
            FigureUnit::Rate(1.0)
        });
        columns[at] = Column::Figure(kind);
        Ok(Self { names, columns, rows, figure: at, notes })
    }

    fn runs(&self, path: &Path, changed_us: i64) -> Result<Vec<FoundRun>, Error> {
        let mut runs = Vec::with_capacity(self.rows.len());
        let mut empty = 0;
        for (line, cells) in &self.rows {
            if cells[self.figure].is_empty() {
                empty += 1;
                continue;
            }
            runs.push(self.run(path, *line, cells, changed_us)?);
        }
        let Some(first) = runs.first_mut() else {
            return Err(of_file(path, format!("no value in its column {}", self.names[self.figure])));
        };
        if empty > 0 {
            first.notes.push(format!("{} without a value left out", spec::count(empty, "row")));
        }
        Ok(runs)
    }

    fn run(&self, path: &Path, line: u64, cells: &[String], changed_us: i64) -> Result<FoundRun, Error> {
        let (name, text) = (&self.names[self.figure], &cells[self.figure]);
        let no_number =
            |name: &str, text: &str| at(path, line, format!("invalid number in column {name}: \"{text}\""));
        let value = number(text).filter(|value| *value > 0.0).ok_or_else(|| no_number(name, text))?;
        let (mut factors, mut figures, mut round, mut started_us) =
            (BTreeMap::new(), Figures::default(), None, None);
        for (at, column) in self.columns.iter().enumerate().filter(|(at, _)| !cells[*at].is_empty()) {
            let (name, cell) = (&self.names[at], &cells[at]);
            match column {
                Column::Factor => drop(factors.insert(name.to_lowercase(), cell.clone())),
                Column::Repeat => round = Some(repeat(cell).ok_or_else(|| no_number(name, cell))?),
                Column::Started => started_us = time_us(cell),
                Column::Figure(_) | Column::OtherFigure => {
                    let value = number(cell).ok_or_else(|| no_number(name, cell))?;
                    figures.set_named(figure_name(name), value);
                }
            }
        }
        let workload = factors.entry("workload".to_owned()).or_insert_with(|| WORKLOAD.to_owned()).clone();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut run =
            plain(&workload, factors, format!("a table ({file})"), started_us.unwrap_or(changed_us));
        (run.validity, run.doubts) = (Validity::Suspect, vec![not_watched(&run.driver)]);
        run.figures = figures;
        let is_rate = match self.columns[self.figure] {
            Column::Figure(FigureUnit::Time(seconds)) => {
                (run.kind, run.load, run.measured_s) = (RunKind::Job, OfferedLoad::Job, value * seconds);
                run.scripts.clear();
                false
            }
            Column::Figure(FigureUnit::Rate(per_s)) => {
                run.figures.set(figures::REPORTED_PER_S, value * per_s);
                true
            }
            _ => return Err(no_number(name, text)),
        };
        let row = format!("{}\n{}\n", self.names.join(","), cells.join(","));
        run.artifacts = vec![artifact(&row)];
        let shown = if is_rate { "tps" } else { "seconds" };
        let mut notes = vec![format!("{name} is compared, as {shown}")];
        notes.extend(self.notes.iter().cloned());
        let source = format!("{} line {line}", path.display());
        Ok(found(
            run,
            FoundParts { source, hash: sha256(&format!("{line}\n{row}")), notes, server: None, round },
        ))
    }
}

const HINT: &str = "give a header, columns of factors, and a column of a figure such as tps, nopm, seconds or latency_ms; --figure COLUMN names it";

/// The header, and the rows with their lines.
fn cells(path: &Path, bytes: &[u8]) -> Result<(Vec<String>, Vec<Row>), Error> {
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter(bytes))
        .comment(Some(b'#'))
        .trim(Trim::All)
        .has_headers(false)
        .from_reader(bytes);
    let mut rows = Vec::new();
    let mut record = ByteRecord::new();
    loop {
        let line = reader.position().line();
        let more = reader.read_byte_record(&mut record);
        if !more.map_err(|error| at(path, line, format!("not a table: {error}")).with_hint(HINT))? {
            break;
        }
        let line = record.position().map_or(line, csv::Position::line);
        let row = record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect::<Vec<_>>();
        if row.iter().any(|cell| !cell.is_empty()) {
            rows.push((line, row));
        }
    }
    if rows.is_empty() {
        return Err(of_file(path, "empty").with_hint(HINT));
    }
    let (line, names) = rows.remove(0);
    if names.len() < 2 || names.iter().any(String::is_empty) {
        return Err(
            at(path, line, "each column needs a name, and at least two columns are needed").with_hint(HINT)
        );
    }
    Ok((names, rows))
}

/// The one of the usual separators that is most frequent in the header.
fn delimiter(bytes: &[u8]) -> u8 {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let header =
        lines.find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#")).unwrap_or_default();
    let count = |separator: &u8| header.iter().filter(|byte| *byte == separator).count();
    [b',', b';', b'\t', b'|'].into_iter().rev().max_by_key(count).unwrap_or(b',')
}

fn position(path: &Path, names: &[String], wanted: &str) -> Result<usize, Error> {
    let found = names.iter().position(|name| name.eq_ignore_ascii_case(wanted.trim()));
    found.ok_or_else(|| {
        let what = format!("no column \"{wanted}\": the columns are {}", names.join(", "));
        of_file(path, what).with_hint("--figure COLUMN, as in --figure tps")
    })
}

fn unknown_unit(path: &Path, text: &str) -> Error {
    let what = format!("invalid unit \"{text}\" of --figure");
    of_file(path, what).with_hint("s, ms, us, min or h for a time; per_s, per_min or per_h for a rate")
}

fn column(name: &str, at: usize, rows: &[Row]) -> Column {
    let lower = name.to_lowercase();
    let filled = || rows.iter().map(|(_, cells)| cells[at].as_str()).filter(|cell| !cell.is_empty());
    let are_numbers = filled().all(|cell| number(cell).is_some());
    if REPEATS.contains(&lower.as_str()) && filled().all(|cell| repeat(cell).is_some()) {
        return Column::Repeat;
    }
    let some_are_numbers = filled().any(|cell| number(cell).is_some());
    if let Some(unit) = known_figure(name).filter(|_| some_are_numbers) {
        return Column::Figure(unit);
    }
    if !are_numbers {
        let is_time = filled().next().is_some() && filled().all(|cell| time_us(cell).is_some());
        return if is_time { Column::Started } else { Column::Factor };
    }
    // Measured numbers have a fraction, levels of a factor rarely; numbers that repeat are levels.
    let is_measured = filled().any(|cell| cell.contains(['.', ','])) && are_different(filled());
    if is_measured { Column::OtherFigure } else { Column::Factor }
}

fn are_different<'a>(cells: impl Iterator<Item = &'a str>) -> bool {
    let all: Vec<&str> = cells.collect();
    let distinct: std::collections::BTreeSet<&&str> = all.iter().collect();
    all.len() > 1 && distinct.len() * 2 > all.len()
}

/// Units by the last part of a name: `load_s`, `p95 (ms)`, `orders_per_min`.
fn unit_of(text: &str) -> Option<FigureUnit> {
    Some(match text {
        "us" | "usec" | "µs" => FigureUnit::Time(1e-6),
        "ms" | "msec" | "milliseconds" => FigureUnit::Time(1e-3),
        "s" | "sec" | "secs" | "seconds" => FigureUnit::Time(1.0),
        "min" | "minutes" => FigureUnit::Time(60.0),
        "h" | "hours" => FigureUnit::Time(3600.0),
        "per_s" | "per_second" | "/s" => FigureUnit::Rate(1.0),
        "per_min" | "per_minute" | "/min" => FigureUnit::Rate(1.0 / 60.0),
        "per_h" | "per_hour" | "/h" => FigureUnit::Rate(1.0 / 3600.0),
        _ => return None,
    })
}

/// The unit of a figure, by its column's name.
fn known_figure(name: &str) -> Option<FigureUnit> {
    let name = name.to_lowercase().replace(['(', ')', '[', ']'], " ");
    let words: Vec<&str> = name.split([' ', '_', '-', '.']).filter(|word| !word.is_empty()).collect();
    let known = match *words.first()? {
        "tps" | "qps" | "rps" | "ops" | "iops" | "throughput" | "rate" | "score" => {
            Some(FigureUnit::Rate(1.0))
        }
        "nopm" | "tpm" | "tpmc" => Some(FigureUnit::Rate(1.0 / 60.0)),
        _ => None,
    };
    let last = *words.last()?;
    let ending = match words.len().checked_sub(2).map(|at| words[at]) {
        Some("per") => unit_of(&format!("per_{last}")),
        _ if last.ends_with("/s") || last.ends_with("/sec") => Some(FigureUnit::Rate(1.0)),
        _ if last.ends_with("/min") => Some(FigureUnit::Rate(1.0 / 60.0)),
        Some(_) => unit_of(last),
        None => unit_of(last).filter(|_| last.len() > 1),
    };
    let times = || {
        matches!(*words.first()?, "latency" | "time" | "duration" | "elapsed" | "runtime" | "took")
            .then_some(FigureUnit::Time(1.0))
    };
    known.or(ending).or_else(times)
}

/// The name under which a figure of a column is stored.
fn figure_name(column: &str) -> String {
    let plain = column.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("table_{}", plain.trim_matches('_'))
}

/// `1234.5`, `1,234.5`, `1234,5`, `1 234`.
fn number(text: &str) -> Option<f64> {
    let text: String = text.chars().filter(|c| !matches!(c, ' ' | '\u{a0}' | '_')).collect();
    let plain = match (text.rfind(','), text.rfind('.')) {
        (Some(comma), Some(point)) if comma < point => text.replace(',', ""),
        (Some(_), Some(_)) => text.replace('.', "").replace(',', "."),
        (Some(comma), None) if text.len() - comma == 4 && text.matches(',').count() > 1 => {
            text.replace(',', "")
        }
        (Some(comma), None) if text.len() - comma == 4 && comma <= 3 && !text.starts_with('0') => {
            text.replace(',', "")
        }
        (Some(_), None) => text.replace(',', "."),
        _ => text,
    };
    plain.parse::<f64>().ok().filter(|value| value.is_finite())
}

fn repeat(text: &str) -> Option<u32> {
    text.trim_start_matches('#').parse().ok().filter(|round| *round > 0)
}

/// A date with a time, taken as UTC where it has no zone.
fn time_us(text: &str) -> Option<i64> {
    let zoned = text.parse::<jiff::Timestamp>().ok();
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    Some(zoned.or_else(civil)?.as_microsecond())
}

#[cfg(test)]
mod tests;
