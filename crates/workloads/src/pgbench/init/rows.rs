//! The rows: branches, tellers and accounts with balance 0; the history is empty.

use std::io::Write;

use super::tables::ACCOUNTS_TABLE;
use super::{ACCOUNTS, TELLERS};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnValue {
    /// The row's number.
    Number,
    /// Number of the branch it belongs to.
    Branch,
    Zero,
    /// An empty filler, padded to its full width.
    Empty,
    Null,
}

#[derive(Debug)]
pub(super) struct TableRows {
    pub(super) name: &'static str,
    /// Rows per unit of scale.
    pub(super) per_branch: u64,
    pub(super) columns: &'static [(&'static str, ColumnValue)],
}

pub(super) const BRANCHES: TableRows = TableRows {
    name: "pgbench_branches",
    per_branch: 1,
    columns: &[("bid", ColumnValue::Number), ("bbalance", ColumnValue::Zero), ("filler", ColumnValue::Null)],
};

pub(super) const TELLERS_TABLE: TableRows = TableRows {
    name: "pgbench_tellers",
    per_branch: TELLERS,
    columns: &[
        ("tid", ColumnValue::Number),
        ("bid", ColumnValue::Branch),
        ("tbalance", ColumnValue::Zero),
        ("filler", ColumnValue::Null),
    ],
};

pub(super) const ACCOUNTS_ROWS: TableRows = TableRows {
    name: ACCOUNTS_TABLE,
    per_branch: ACCOUNTS,
    columns: &[
        ("aid", ColumnValue::Number),
        ("bid", ColumnValue::Branch),
        ("abalance", ColumnValue::Zero),
        ("filler", ColumnValue::Empty),
    ],
};

/// Width of a column in COPY's binary format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Four,
    Eight,
    Text,
}

#[derive(Debug)]
pub(super) enum Writer {
    Text(&'static TableRows),
    Binary(Binary),
}

/// Rows in COPY's binary format: a template, and the positions of its numbers.
#[derive(Debug)]
pub(super) struct Binary {
    per_branch: u64,
    row: Vec<u8>,
    number: (usize, Width),
    branch: Option<(usize, Width)>,
}

impl Writer {
    /// Writes the binary format if the columns' widths are known.
    pub(super) fn new(table: &'static TableRows, widths: Option<&[Width]>) -> Self {
        widths.and_then(|widths| Binary::new(table, widths)).map_or(Self::Text(table), Self::Binary)
    }

    pub(super) fn is_binary(&self) -> bool {
        matches!(self, Self::Binary(_))
    }

    pub(super) fn begin(&self, out: &mut Vec<u8>) {
        if self.is_binary() {
            out.extend_from_slice(b"PGCOPY\n\xff\r\n\0");
            // No flags, no extension.
            out.extend_from_slice(&[0; 8]);
        }
    }

    pub(super) fn end(&self, out: &mut Vec<u8>) {
        if self.is_binary() {
            out.extend_from_slice(&(-1_i16).to_be_bytes());
        }
    }

    #[inline]
    pub(super) fn row(&self, number: u64, out: &mut Vec<u8>) {
        match self {
            Self::Text(table) => text_row(table, number, out),
            Self::Binary(binary) => binary.row(number, out),
        }
    }
}

fn branch(number: u64, per_branch: u64) -> u64 {
    (number - 1) / per_branch + 1
}

fn text_row(table: &TableRows, number: u64, out: &mut Vec<u8>) {
    for (index, (_, value)) in table.columns.iter().enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        // Writing to a vector cannot fail.
        let _ = match value {
            ColumnValue::Number => write!(out, "{number}"),
            ColumnValue::Branch => write!(out, "{}", branch(number, table.per_branch)),
            ColumnValue::Zero => out.write_all(b"0"),
            ColumnValue::Empty => Ok(()),
            ColumnValue::Null => out.write_all(b"\\N"),
        };
    }
    out.push(b'\n');
}

impl Binary {
    fn new(table: &TableRows, widths: &[Width]) -> Option<Self> {
        if widths.len() != table.columns.len() {
            return None;
        }
        let mut row = u16::try_from(widths.len()).ok()?.to_be_bytes().to_vec();
        let (mut number, mut branch) = (None, None);
        for ((_, value), width) in table.columns.iter().zip(widths) {
            let length = match (value, width) {
                (ColumnValue::Null, _) => -1_i32,
                (ColumnValue::Empty, Width::Text) => 0,
                (ColumnValue::Empty, _) | (_, Width::Text) => return None,
                (_, Width::Four) => 4,
                (_, Width::Eight) => 8,
            };
            row.extend_from_slice(&length.to_be_bytes());
            match value {
                ColumnValue::Number => number = Some((row.len(), *width)),
                ColumnValue::Branch => branch = Some((row.len(), *width)),
                _ => {}
            }
            row.resize(row.len() + usize::try_from(length).unwrap_or(0), 0);
        }
        Some(Self { per_branch: table.per_branch, row, number: number?, branch })
    }

    #[inline]
    fn row(&self, number: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.row);
        put(&mut out[start..], self.number, number);
        if let Some(place) = self.branch {
            put(&mut out[start..], place, branch(number, self.per_branch));
        }
    }
}

#[inline]
fn put(row: &mut [u8], (at, width): (usize, Width), value: u64) {
    match width {
        Width::Eight => row[at..at + 8].copy_from_slice(&value.to_be_bytes()),
        // Larger numbers are written as text, for the server to refuse.
        _ => row[at..at + 4].copy_from_slice(&(value as u32).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: &'static TableRows, widths: Option<&[Width]>, numbers: &[u64]) -> Vec<u8> {
        let writer = Writer::new(table, widths);
        let mut out = Vec::new();
        numbers.iter().for_each(|number| writer.row(*number, &mut out));
        out
    }

    #[test]
    fn text() {
        let text = |table, numbers: &[u64]| String::from_utf8(rows(table, None, numbers)).unwrap();
        assert_eq!(text(&BRANCHES, &[1, 2]), "1\t0\t\\N\n2\t0\t\\N\n");
        assert_eq!(text(&TELLERS_TABLE, &[10, 11]), "10\t1\t0\t\\N\n11\t2\t0\t\\N\n");
        assert_eq!(text(&ACCOUNTS_ROWS, &[100_000, 100_001]), "100000\t1\t0\t\n100001\t2\t0\t\n");
    }

    #[test]
    fn binary() {
        use Width::{Eight, Four, Text};
        let row = rows(&ACCOUNTS_ROWS, Some(&[Four, Four, Four, Text]), &[200_001]);
        let wanted = [
            &[0_u8, 4][..],
            &[0, 0, 0, 4, 0, 3, 0x0d, 0x41],
            &[0, 0, 0, 4, 0, 0, 0, 3],
            &[0, 0, 0, 4, 0, 0, 0, 0],
            &[0, 0, 0, 0],
        ]
        .concat();
        assert_eq!(row, wanted);
        let row = rows(&ACCOUNTS_ROWS, Some(&[Eight, Four, Four, Text]), &[1]);
        assert_eq!(&row[..14], [0, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]);
        let row = rows(&BRANCHES, Some(&[Four, Four, Text]), &[7]);
        assert_eq!(&row[row.len() - 4..], [0xff; 4]);
        assert_eq!(row.len(), 2 + 8 + 8 + 4);
    }

    #[test]
    fn unfamiliar_columns_are_written_as_text() {
        use Width::{Four, Text};
        for widths in [&[Four, Four, Four][..], &[Text, Four, Four, Text], &[Four, Four, Four, Four]] {
            assert!(!Writer::new(&ACCOUNTS_ROWS, Some(widths)).is_binary());
        }
    }
}
