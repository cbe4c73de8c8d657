//! The cells of a table: CSV with any of the usual separators, or a table of Markdown.

use std::borrow::Cow;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder, Trim};
use spec::Error;

use super::HINT;
use crate::import::error::{at, of_file};

/// The line of a row, and its cells.
pub(super) type Row = (u64, Vec<String>);

/// With more it is not a table of single results.
const MOST_ROWS: usize = 20_000;
const MOST_COLUMNS: usize = 256;
/// Bytes of a cell, and of a row, at most.
const LONGEST_CELL: usize = 1024;
const LONGEST_ROW: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Cells {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Row>,
    pub(super) notes: Vec<String>,
}

impl Cells {
    /// The header, and the rows with their lines.
    pub(super) fn of(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            let hint = "iconv -f UTF-16 -t UTF-8 FILE > numbers.csv";
            return Err(of_file(path, "UTF-16 text, as spreadsheets write it").with_hint(hint));
        }
        let mut notes = Vec::new();
        let text = decoded(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), &mut notes);
        // Line ends of one kind, so that lines are counted as editors do.
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = without_frame(&text).map_or(text, |plain| plain);
        let mut rows = rows(path, text.as_bytes())?;
        if rows.is_empty() {
            return Err(of_file(path, "empty").with_hint(HINT));
        }
        let (line, names) = rows.remove(0);
        if names.len() < 2 || names.iter().any(String::is_empty) {
            return Err(at(path, line, "each column needs a name, and at least two columns are needed")
                .with_hint(HINT));
        }
        Ok(Self { names, rows, notes })
    }
}

fn rows(path: &Path, bytes: &[u8]) -> Result<Vec<Row>, Error> {
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
            return Ok(rows);
        }
        let line = record.position().map_or(line, csv::Position::line);
        let too_large =
            |what: String| at(path, line, format!("{what}: not a table of single results")).with_hint(HINT);
        if record.len() > MOST_COLUMNS {
            return Err(too_large(format!("more than {MOST_COLUMNS} columns")));
        }
        if let Some(longest) = record.iter().map(<[u8]>::len).max().filter(|length| *length > LONGEST_CELL) {
            return Err(too_large(format!("a cell of {longest} bytes, above {LONGEST_CELL}")));
        }
        if record.as_slice().len() > LONGEST_ROW {
            return Err(too_large(format!(
                "a row of {} bytes, above {LONGEST_ROW}",
                record.as_slice().len()
            )));
        }
        if rows.len() > MOST_ROWS {
            return Err(too_large(format!("more than {MOST_ROWS} rows")));
        }
        let row = record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect::<Vec<_>>();
        if row.iter().any(|cell| !cell.is_empty()) {
            rows.push((line, row));
        }
    }
}

/// The text of UTF-8, or of Windows-1252, which includes Latin-1.
fn decoded<'a>(bytes: &'a [u8], notes: &mut Vec<String>) -> Cow<'a, str> {
    const FROM_80: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    notes.push("not UTF-8: taken for Windows-1252 (Latin-1)".to_owned());
    let letter = |byte: &u8| match byte {
        0x80..=0x9f => FROM_80[usize::from(byte - 0x80)],
        byte => char::from(*byte),
    };
    Cow::Owned(bytes.iter().map(letter).collect())
}

/// A table of Markdown without its outer bars and the line below its header; `None` for another text. Lines
/// keep their numbers.
fn without_frame(text: &str) -> Option<String> {
    let header = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'))?;
    if !header.trim().starts_with('|') {
        return None;
    }
    let is_rule = |line: &str| {
        line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | '+' | ' ' | '\t'))
    };
    let plain = |line: &str| match line.trim() {
        line if is_rule(line) => String::new(),
        line => {
            let line = line.strip_prefix('|').unwrap_or(line);
            line.strip_suffix('|').unwrap_or(line).to_owned()
        }
    };
    Some(text.lines().map(plain).collect::<Vec<_>>().join("\n"))
}

/// The one of the usual separators that is most frequent in the header.
fn delimiter(bytes: &[u8]) -> u8 {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let header =
        lines.find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#")).unwrap_or_default();
    let count = |separator: &u8| header.iter().filter(|byte| *byte == separator).count();
    [b',', b';', b'\t', b'|'].into_iter().rev().max_by_key(count).unwrap_or(b',')
}
