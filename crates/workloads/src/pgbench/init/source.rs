//! A source of a table's rows: COPY from here, or an INSERT whose rows the server makes.

use super::event::InitEvent;
use super::fault::InitFault;
use super::layout::Layouts;
use super::rows::{ColumnValue, TableRows, Writer};
use super::stretch::RowRange;
use crate::jobs::Runtime;
use protocol::postgres::sql::{Sql, Supply, long};

/// Bytes per piece of COPY data.
const PIECE: usize = 64 * 1024;

/// Reports of loading connections.
#[derive(Debug)]
pub(super) enum Note {
    /// Rows sent to the server; negative where they are lost again.
    Rows(i64),
    /// Rows that are committed.
    Committed(u64),
    Event(InitEvent),
}

/// A source of one table's rows.
#[derive(Debug)]
pub(super) struct RowSource {
    table: &'static TableRows,
    /// `None`: the server makes the rows.
    writer: Option<Writer>,
    freeze: bool,
}

impl RowSource {
    /// Rows made here. With `alone` the table was emptied in the same transaction, so that they may be
    /// frozen.
    pub(super) fn here(table: &'static TableRows, layouts: &Layouts, rows: u64, alone: bool) -> Self {
        let freeze = alone && layouts.may_freeze(table);
        Self { table, writer: Some(layouts.writer(table, rows)), freeze }
    }

    pub(super) fn on_server(table: &'static TableRows) -> Self {
        Self { table, writer: None, freeze: false }
    }

    /// Loads all stretches from `next`.
    pub(super) fn load(
        &self,
        sql: &mut dyn Sql,
        next: &mut dyn FnMut() -> Option<RowRange>,
        runtime: &dyn Runtime,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), InitFault> {
        match &self.writer {
            Some(writer) => self.copy(writer, sql, next, runtime, note),
            None => {
                while let Some(stretch) = next() {
                    run(sql, &self.insert_statement(stretch), runtime)?;
                    note(Note::Rows(stretch.rows().cast_signed()));
                }
                Ok(())
            }
        }
    }

    fn copy(
        &self,
        writer: &Writer,
        sql: &mut dyn Sql,
        next: &mut dyn FnMut() -> Option<RowRange>,
        runtime: &dyn Runtime,
        note: &mut dyn FnMut(Note),
    ) -> Result<(), InitFault> {
        if runtime.stopped() {
            return Err(InitFault::Stopped);
        }
        let text = self.copy_statement(writer);
        let mut supplier = Supplier { writer, begun: false, rest: None };
        let result = sql.copy_in(&text, &mut |piece| {
            if runtime.stopped() {
                return Supply::GiveUp;
            }
            let (supply, rows) = supplier.fill(piece, next);
            if rows > 0 {
                note(Note::Rows(rows));
            }
            supply
        });
        result.map(drop).map_err(|error| InitFault::query(text, error, runtime))
    }

    fn copy_statement(&self, writer: &Writer) -> String {
        let name = self.table.name;
        let options = match (writer.is_binary(), self.freeze) {
            (false, false) => "",
            (false, true) => " with (freeze on)",
            (true, false) => " with (format binary)",
            (true, true) => " with (format binary, freeze on)",
        };
        format!("copy {name} from stdin{options}")
    }

    fn insert_statement(&self, stretch: RowRange) -> String {
        let number = self.table.columns[0].0;
        let given: Vec<_> =
            self.table.columns.iter().filter(|(_, value)| *value != ColumnValue::Null).collect();
        let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
        let values: Vec<String> = given
            .iter()
            .map(|(_, value)| match value {
                ColumnValue::Number => number.to_owned(),
                ColumnValue::Branch => format!("({number} - 1) / {} + 1", self.table.per_branch),
                ColumnValue::Empty => "''".to_owned(),
                ColumnValue::Zero | ColumnValue::Null => "0".to_owned(),
            })
            .collect();
        format!(
            "insert into {}({}) select {} from generate_series({}, {}) as {number}",
            self.table.name,
            names.join(","),
            values.join(", "),
            stretch.first,
            stretch.last
        )
    }
}

/// Rows in pieces.
struct Supplier<'a> {
    writer: &'a Writer,
    begun: bool,
    rest: Option<RowRange>,
}

impl Supplier<'_> {
    /// Appends a piece; returns its number of rows, too.
    fn fill(&mut self, piece: &mut Vec<u8>, next: &mut dyn FnMut() -> Option<RowRange>) -> (Supply, i64) {
        if !std::mem::replace(&mut self.begun, true) {
            self.writer.begin(piece);
        }
        let mut rows = 0;
        while piece.len() < PIECE {
            let Some(stretch) = self.rest.take().or_else(&mut *next) else {
                self.writer.end(piece);
                return (Supply::End, rows);
            };
            let mut number = stretch.first;
            while number <= stretch.last && piece.len() < PIECE {
                self.writer.row(number, piece);
                number += 1;
            }
            rows += (number - stretch.first).cast_signed();
            self.rest = (number <= stretch.last).then_some(RowRange { first: number, ..stretch });
        }
        (Supply::More, rows)
    }
}

/// Runs one statement, unless stopped.
pub(super) fn run(sql: &mut dyn Sql, text: &str, runtime: &dyn Runtime) -> Result<(), InitFault> {
    if runtime.stopped() {
        return Err(InitFault::Stopped);
    }
    long(sql).execute(text).map_err(|error| InitFault::query(text, error, runtime))
}

#[cfg(test)]
mod tests {
    use super::super::rows::{ACCOUNTS_ROWS, BRANCHES, TELLERS_TABLE};
    use super::*;

    #[test]
    fn inserts_are_pgbenchs() {
        let text = |table, last| RowSource::on_server(table).insert_statement(RowRange::up_to(last));
        assert_eq!(
            text(&BRANCHES, 3),
            "insert into pgbench_branches(bid,bbalance) select bid, 0 from generate_series(1, 3) as bid"
        );
        assert_eq!(
            text(&TELLERS_TABLE, 30),
            "insert into pgbench_tellers(tid,bid,tbalance) select tid, (tid - 1) / 10 + 1, 0 from \
             generate_series(1, 30) as tid"
        );
        assert_eq!(
            text(&ACCOUNTS_ROWS, 300_000),
            "insert into pgbench_accounts(aid,bid,abalance,filler) select aid, (aid - 1) / 100000 + 1, 0, '' from \
             generate_series(1, 300000) as aid"
        );
    }

    #[test]
    fn pieces_hold_every_row_once() {
        let writer = Writer::new(&ACCOUNTS_ROWS, None);
        let mut stretches = vec![RowRange { first: 70_001, last: 70_002 }, RowRange::up_to(60_000)];
        let mut supplier = Supplier { writer: &writer, begun: false, rest: None };
        let (mut all, mut rows, mut pieces) = (Vec::new(), 0, 0);
        loop {
            let mut piece = Vec::new();
            let (supply, made) = supplier.fill(&mut piece, &mut || stretches.pop());
            assert!(piece.len() < PIECE + 100);
            all.extend(piece);
            rows += made;
            pieces += 1;
            if supply == Supply::End {
                break;
            }
        }
        let mut wanted = Vec::new();
        (1..=60_000).chain(70_001..=70_002).for_each(|number| writer.row(number, &mut wanted));
        assert_eq!(rows, 60_002);
        assert!(pieces > 5);
        assert_eq!(all, wanted);
    }
}
