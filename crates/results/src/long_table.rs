//! Tables whose rows are made one after the other: they may be too many to be in memory together.

use std::borrow::Cow;
use std::fmt;

use crate::table::{CellValue, Column, Table};

type EachRow<'a> = dyn Fn(&mut dyn FnMut(&[CellValue])) + 'a;

/// Named columns, and rows that are made again each time they are read.
pub struct LongTable<'a> {
    pub columns: Cow<'a, [Column]>,
    rows: Box<EachRow<'a>>,
}

impl fmt::Debug for LongTable<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LongTable").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl<'a> LongTable<'a> {
    /// A table with these columns. `rows` passes every row, as long as the columns, to what it is given.
    pub fn new(columns: Vec<Column>, rows: impl Fn(&mut dyn FnMut(&[CellValue])) + 'a) -> Self {
        Self { columns: columns.into(), rows: Box::new(rows) }
    }

    /// Passes every row in order.
    pub fn each(&self, mut take: impl FnMut(&[CellValue])) {
        (self.rows)(&mut |row| {
            debug_assert_eq!(row.len(), self.columns.len(), "a row has one value per column");
            take(row);
        });
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let mut is_empty = true;
        self.each(|_| is_empty = false);
        is_empty
    }

    /// The same with all rows in memory.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table { columns: self.columns.to_vec(), ..Table::default() };
        self.each(|row| table.push(row.to_vec()));
        table
    }
}

impl<'a> From<&'a Table> for LongTable<'a> {
    fn from(table: &'a Table) -> Self {
        let rows = |take: &mut dyn FnMut(&[CellValue])| table.rows.iter().for_each(|row| take(row));
        Self { columns: Cow::Borrowed(&table.columns), rows: Box::new(rows) }
    }
}

impl From<Table> for LongTable<'_> {
    fn from(Table { columns, rows, .. }: Table) -> Self {
        Self::new(columns, move |take| rows.iter().for_each(|row| take(row)))
    }
}
