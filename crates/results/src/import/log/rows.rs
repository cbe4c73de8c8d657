//! Rows of one file of a log, with a look-ahead.

use std::collections::VecDeque;
use std::io::Read;
use std::path::PathBuf;

use spec::Error;

use super::row::LogRow;
use crate::import::error::{at, unreadable};
use crate::import::lines::Lines;

/// Rows read before anything is decided.
const AHEAD: usize = 256;

pub(super) struct Rows<R> {
    pub(super) file: PathBuf,
    lines: Lines<R>,
    ahead: VecDeque<LogRow>,
    /// The next row; `None` at the end.
    pub(super) current: Option<LogRow>,
    columns: Option<u8>,
    /// Whether the last line was incomplete, and left out.
    pub(super) cut_off: bool,
}

impl<R: Read> Rows<R> {
    pub(super) fn open(file: PathBuf, input: R) -> Result<Self, Error> {
        let (lines, ahead) = (Lines::new(input), VecDeque::with_capacity(AHEAD));
        let mut rows = Self { file, lines, ahead, current: None, columns: None, cut_off: false };
        while rows.ahead.len() < AHEAD {
            let Some(row) = rows.read()? else { break };
            rows.ahead.push_back(row);
        }
        rows.current = rows.ahead.pop_front();
        Ok(rows)
    }

    /// The first rows, up to 256.
    pub(super) fn first(&self) -> impl Iterator<Item = &LogRow> {
        self.current.iter().chain(&self.ahead)
    }

    pub(super) fn columns(&self) -> Option<u8> {
        self.columns
    }

    pub(super) fn advance(&mut self) -> Result<(), Error> {
        self.current = match self.ahead.pop_front() {
            Some(row) => Some(row),
            None => self.read()?,
        };
        Ok(())
    }

    fn read(&mut self) -> Result<Option<LogRow>, Error> {
        loop {
            let line = self.lines.next().map_err(|error| unreadable(&self.file, error))?;
            let Some(line) = line else { return Ok(None) };
            if !line.whole {
                self.cut_off = true;
                continue;
            }
            if line.text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let number = line.number;
            let row = LogRow::parse(line.text).map_err(|what| at(&self.file, number, what))?;
            if *self.columns.get_or_insert(row.columns) != row.columns {
                let (now, before) = (row.columns + 6, self.columns.unwrap_or(0) + 6);
                let what = format!("{now} columns, where the lines before have {before}");
                return Err(at(&self.file, number, what));
            }
            return Ok(Some(row));
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    pub(super) fn sha256(&self) -> String {
        self.lines.sha256()
    }
}
