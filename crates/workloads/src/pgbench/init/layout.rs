//! The layout of the tables to fill, and the fastest way that it allows.

use super::rows::{self, TableRows, Width, Writer};
use protocol::postgres::sql::{Sql, SqlError};

/// First version whose COPY marks pages as all-visible when it freezes.
const FREEZES: u32 = 140_000;

const QUESTION: &str = "select c.relname, c.relkind, \
     pg_catalog.string_agg(pg_catalog.format('%s %s', a.attname, a.atttypid), ',' order by a.attnum) \
     from pg_catalog.pg_class c \
     join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped \
     where c.oid in (pg_catalog.to_regclass('pgbench_branches'), pg_catalog.to_regclass('pgbench_tellers'), \
     pg_catalog.to_regclass('pgbench_accounts')) group by 1, 2";

/// The tables to fill, from the catalog.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    freezes: bool,
    tables: Vec<Layout>,
}

#[derive(Debug)]
struct Layout {
    name: String,
    kind: String,
    /// Name and type of each column.
    columns: Vec<(String, u32)>,
}

impl Layouts {
    /// Asks the catalog. A server that refuses the query is filled in the plainest way.
    pub(super) fn ask(sql: &mut dyn Sql) -> Result<Self, SqlError> {
        let answers = sql
            .scalar("show server_version_num")
            .and_then(|version| sql.rows(QUESTION).map(|rows| (version, rows)));
        match answers {
            Ok((version, rows)) => Ok(Self {
                freezes: version
                    .and_then(|version| version.parse().ok())
                    .is_some_and(|found: u32| found >= FREEZES),
                tables: rows.iter().filter_map(|row| Layout::read(row)).collect(),
            }),
            Err(error) if error.sqlstate.is_some() => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Whether rows may be frozen as they are copied, while nobody else can see the table.
    pub(super) fn may_freeze(&self, table: &TableRows) -> bool {
        self.freezes && self.find(table).is_some_and(|layout| layout.kind == "r")
    }

    /// How rows up to this number are written.
    pub(super) fn writer(&self, table: &'static TableRows, rows: u64) -> Writer {
        let widths = self.find(table).and_then(|layout| layout.widths(table));
        let fits = rows <= i32::MAX as u64;
        let usable = widths.filter(|widths| fits || widths.first() == Some(&Width::Eight));
        Writer::new(table, usable.as_deref())
    }

    fn find(&self, table: &TableRows) -> Option<&Layout> {
        self.tables.iter().find(|layout| layout.name == table.name)
    }
}

impl Layout {
    fn read(row: &[Option<String>]) -> Option<Self> {
        let [Some(name), Some(kind), Some(columns)] = row else { return None };
        let column = |text: &str| {
            let (name, oid) = text.rsplit_once(' ')?;
            Some((name.to_owned(), oid.parse().ok()?))
        };
        let columns = columns.split(',').map(column).collect::<Option<_>>()?;
        Some(Self { name: name.clone(), kind: kind.clone(), columns })
    }

    /// Widths of the columns, if they match the table's in order.
    fn widths(&self, table: &rows::TableRows) -> Option<Vec<Width>> {
        let same = |((name, _), (known, _)): (&(String, u32), &(&str, rows::ColumnValue))| name == known;
        if self.columns.len() != table.columns.len() || !self.columns.iter().zip(table.columns).all(same) {
            return None;
        }
        self.columns.iter().map(|(_, oid)| width(*oid)).collect()
    }
}

/// Of the types integer, bigint, text, char(n) and varchar.
fn width(oid: u32) -> Option<Width> {
    match oid {
        23 => Some(Width::Four),
        20 => Some(Width::Eight),
        25 | 1042 | 1043 => Some(Width::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::rows::{ACCOUNTS_ROWS, BRANCHES};
    use super::*;
    use crate::testing::sql::FakeSql;

    fn layouts(version: &str, accounts: [&str; 2]) -> Layouts {
        let mut sql = FakeSql::new();
        sql.answer("server_version_num", &[&[version]]);
        sql.answer("relkind", &[&["pgbench_accounts", accounts[0], accounts[1]]]);
        Layouts::ask(&mut sql).unwrap()
    }

    #[test]
    fn the_usual_tables() {
        let found = layouts("180006", ["r", "aid 23,bid 23,abalance 23,filler 1042"]);
        assert!(found.may_freeze(&ACCOUNTS_ROWS));
        assert!(found.writer(&ACCOUNTS_ROWS, 2_147_483_647).is_binary());
        // The server refuses numbers that are too large for the column.
        assert!(!found.writer(&ACCOUNTS_ROWS, 2_147_483_648).is_binary());
        assert!(!found.may_freeze(&BRANCHES) && !found.writer(&BRANCHES, 1).is_binary());
    }

    #[test]
    fn what_differs_is_left_to_text() {
        for columns in [
            "aid 20,bid 23,abalance 23",
            "bid 23,aid 23,abalance 23,filler 1042",
            "aid 1700,bid 23,abalance 23,filler 1042",
            "nonsense",
        ] {
            let found = layouts("180006", ["r", columns]);
            assert!(!found.writer(&ACCOUNTS_ROWS, 1).is_binary(), "{columns}");
        }
        let found = layouts("180006", ["p", "aid 20,bid 23,abalance 23,filler 1042"]);
        assert!(!found.may_freeze(&ACCOUNTS_ROWS));
        assert!(found.writer(&ACCOUNTS_ROWS, 3_000_000_000).is_binary());
        assert!(!layouts("130022", ["r", "aid 23"]).may_freeze(&ACCOUNTS_ROWS));
    }

    #[test]
    fn servers_that_do_not_know_the_question() {
        let mut sql = FakeSql::new();
        sql.refuse("server_version_num", "42704", "ERROR:  unrecognized configuration parameter");
        assert!(!Layouts::ask(&mut sql).unwrap().may_freeze(&ACCOUNTS_ROWS));
    }
}
