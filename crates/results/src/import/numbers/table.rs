//! A table of numbers (CSV): columns of factors, a figure, and optionally the number of the repeat.

mod cells;
mod columns;

use std::collections::BTreeMap;
use std::path::Path;

use spec::figures::{self, Figures};
use spec::{Doubt, Error, OfferedLoad, Reason, RunKind, Validity};

use self::cells::{Cells, Row};
use self::columns::{Column, FigureUnit, column, is_missing, known_figure, repeat, time_us, unit_of, value};
use super::{FoundParts, artifact, found, not_watched, plain};
use crate::import::error::{at, of_file, unreadable};
use crate::import::found::FoundRun;
use crate::import::lines::sha256;

/// Larger files are not tables of single results.
const LARGEST: u64 = 32 << 20;
/// Bytes kept of a row's text.
const KEPT: usize = 2048;
/// Lines that a note lists.
const MOST_LINES: usize = 8;
/// Name of the workload of a table without a column for it.
const WORKLOAD: &str = "numbers";

/// What columns are, where their names do not say it.
#[derive(Debug, Clone, Copy, Default)]
pub struct TableColumns<'a> {
    /// The compared column by its name, with a unit or without: `score`, `load=min`.
    pub figure: Option<&'a str>,
    /// The column that numbers the repeats.
    pub round: Option<&'a str>,
}

struct NumberTable {
    names: Vec<String>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// The figure that is compared.
    figure: usize,
    notes: Vec<String>,
}

/// The runs in a table.
///
/// # Errors
/// When the file cannot be read, or a cell is not what its column needs.
pub fn read_table(path: &Path, given: TableColumns<'_>) -> Result<Vec<FoundRun>, Error> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    if metadata.len() > LARGEST {
        return Err(of_file(path, "larger than 32 MiB: not a table of single results"));
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, error))?;
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let changed_us = changed.and_then(|since| i64::try_from(since.as_micros()).ok()).unwrap_or(0);
    let table = NumberTable::of(path, &bytes, given)?;
    table.runs(path, changed_us)
}

impl NumberTable {
    fn of(path: &Path, bytes: &[u8], given: TableColumns<'_>) -> Result<Self, Error> {
        let TableColumns { figure, round } = given;
        let Cells { names, rows, mut notes } = Cells::of(path, bytes)?;
        if rows.is_empty() {
            return Err(of_file(path, "no rows below its header").with_hint(HINT));
        }
        let (asked, unit) = match figure.map(|figure| figure.split_once('=').unwrap_or((figure, ""))) {
            Some((name, unit)) => (Some(position(path, &names, name, "--figure")?), unit),
            None => (None, ""),
        };
        let unit = match unit {
            "" => None,
            text => Some(unit_of(text).ok_or_else(|| unknown_unit(path, text))?),
        };
        let mut columns: Vec<Column> = (0..names.len()).map(|at| column(&names[at], at, &rows)).collect();
        if let Some(name) = round {
            columns[position(path, &names, name, "--round")?] = Column::Repeat;
        }
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
        let kind = match columns[at] {
            // A column of times such as 1:35:20 is one whatever it is called.
            Column::Figure(kind) => unit.or(Some(kind)),
            _ => unit.or(known_figure(&names[at])),
        };
        let kind = kind.unwrap_or_else(|| {
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
        let (mut missing, mut twice, mut again) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen: BTreeMap<Vec<&str>, &[String]> = BTreeMap::new();
        for (line, cells) in &self.rows {
            if is_missing(&cells[self.figure]) {
                missing.push(*line);
                continue;
            }
            if self.columns.contains(&Column::Repeat) {
                match seen.insert(self.place(cells), cells) {
                    Some(before) if before == cells.as_slice() => {
                        twice.push(*line);
                        continue;
                    }
                    Some(_) => again.push(*line),
                    None => {}
                }
            }
            runs.push(self.run(path, *line, cells, changed_us)?);
        }
        let hint = self.may_number_repeats();
        let Some(first) = runs.first_mut() else {
            return Err(of_file(path, format!("no value in its column {}", self.names[self.figure])));
        };
        let name = &self.names[self.figure];
        for (lines, what) in [
            (missing, format!("without a value in {name}, left out")),
            (twice, "the same as another row with its repeat, left out".to_owned()),
            (again, "with a repeat that another row of the cell has, counted as a further one".to_owned()),
        ] {
            if !lines.is_empty() {
                first.notes.push(format!(
                    "{} {what}: {}",
                    spec::count(lines.len() as u64, "row"),
                    in_words(&lines)
                ));
            }
        }
        first.notes.extend(hint);
        Ok(runs)
    }

    /// The levels and the repeat of a row.
    fn place<'a>(&self, cells: &'a [String]) -> Vec<&'a str> {
        let is_place = |at: &usize| matches!(self.columns[*at], Column::Factor | Column::Repeat);
        (0..cells.len()).filter(is_place).map(|at| cells[at].as_str()).collect()
    }

    /// A note for a table without two rows of one cell, if a column may number the repeats: it counts from 1, and
    /// has each number as often.
    fn may_number_repeats(&self) -> Option<String> {
        let places: std::collections::BTreeSet<Vec<&str>> =
            self.rows.iter().map(|(_, cells)| self.place(cells)).collect();
        if self.columns.contains(&Column::Repeat) || places.len() < self.rows.len() || self.rows.len() < 4 {
            return None;
        }
        let counts = |at: &usize| {
            let mut times: BTreeMap<u64, usize> = BTreeMap::new();
            for (_, cells) in &self.rows {
                *times.entry(cells[*at].parse().ok()?).or_default() += 1;
            }
            let most = u64::try_from(times.len()).ok()?;
            let is_one =
                most > 1 && times.keys().copied().eq(1..=most) && times.values().all(|count| *count > 1);
            is_one.then_some(*at)
        };
        let at = (0..self.columns.len())
            .filter(|at| self.columns[*at] == Column::Factor)
            .find_map(|at| counts(&at))?;
        let name = &self.names[at];
        Some(format!("no two rows are of one cell: if {name} numbers the repeats, say --round \"{name}\""))
    }

    fn run(&self, path: &Path, line: u64, cells: &[String], changed_us: i64) -> Result<FoundRun, Error> {
        let (name, text) = (&self.names[self.figure], &cells[self.figure]);
        let no_number =
            |name: &str, text: &str| at(path, line, format!("invalid number in column {name}: \"{text}\""));
        let value_of = |text: &str| value(text).filter(|value| *value >= 0.0);
        let value = value_of(text).ok_or_else(|| no_number(name, text))?;
        let (mut factors, mut figures, mut round, mut started_us) =
            (BTreeMap::new(), Figures::default(), None, None);
        for (at, column) in self.columns.iter().enumerate().filter(|(at, _)| !cells[*at].is_empty()) {
            let (name, cell) = (&self.names[at], &cells[at]);
            match column {
                Column::Factor => drop(factors.insert(name.to_lowercase(), cell.clone())),
                Column::Repeat | Column::Figure(_) | Column::OtherFigure if is_missing(cell) => {}
                Column::Repeat => round = Some(repeat(cell).ok_or_else(|| no_number(name, cell))?),
                Column::Started => started_us = time_us(cell),
                Column::Figure(_) | Column::OtherFigure => {
                    let value = columns::value(cell).ok_or_else(|| no_number(name, cell))?;
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
                false
            }
            Column::Figure(FigureUnit::Rate(per_s)) => {
                run.figures.set(figures::REPORTED_PER_S, value * per_s);
                true
            }
            _ => return Err(no_number(name, text)),
        };
        if value == 0.0 {
            run.validity = Validity::Invalid;
            run.doubts.push(Doubt { reason: Reason::Errors, detail: format!("{name} is 0: the run failed") });
        }
        let row = format!("{}\n{}\n", self.names.join(","), cells.join(","));
        let kept = (0..=KEPT.min(row.len())).rev().find(|at| row.is_char_boundary(*at)).unwrap_or(0);
        run.artifacts = vec![artifact(&row[..kept])];
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

fn position(path: &Path, names: &[String], wanted: &str, option: &str) -> Result<usize, Error> {
    let found = names.iter().position(|name| name.to_lowercase() == wanted.trim().to_lowercase());
    found.ok_or_else(|| {
        let what = format!("no column \"{wanted}\": the columns are {}", names.join(", "));
        of_file(path, what)
            .with_hint(format!("{option} COLUMN, as in {option} \"{}\"", names[names.len() - 1]))
    })
}

fn unknown_unit(path: &Path, text: &str) -> Error {
    let what = format!("invalid unit \"{text}\" of --figure");
    of_file(path, what).with_hint("s, ms, us, min or h for a time; per_s, per_min or per_h for a rate")
}

/// The name under which a figure of a column is stored.
fn figure_name(column: &str) -> String {
    let plain = column.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("table_{}", plain.trim_matches('_'))
}

/// `line 3`, `lines 3, 4, 7 and 2 more`.
fn in_words(lines: &[u64]) -> String {
    let shown: Vec<String> = lines.iter().take(MOST_LINES).map(u64::to_string).collect();
    let more = lines.len().saturating_sub(MOST_LINES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} {}{more}", if lines.len() == 1 { "line" } else { "lines" }, shown.join(", "))
}

#[cfg(test)]
mod tests;
