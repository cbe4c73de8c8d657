//! What an interrupted run left, and what is missing.

use super::ACCOUNTS;
use super::fault::Fault;
use super::options::{InitOptions, PartitionMethod};
use super::rows::{ACCOUNTS_ROWS, BRANCHES, TELLERS_TABLE, Table};
use super::stretch::Stretch;
use super::tables::{Key, is_large};
use crate::jobs::Runtime;
use protocol::postgres::sql::{Sql, SqlError, long, quote_literal};

/// What is in the database.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No tables, or empty ones.
    Nothing,
    /// Branches, tellers, and accounts except for these stretches.
    Rows(Vec<Stretch>),
}

const TABLES: &str = "select count(pg_catalog.to_regclass(name)) from (values ('pgbench_accounts'), \
     ('pgbench_branches'), ('pgbench_history'), ('pgbench_tellers')) as t(name)";

const ACCOUNTS_SHAPE: &str = "select coalesce(p.partstrat::text, ''), \
     (select count(*) from pg_catalog.pg_inherits i where i.inhparent = c.oid), \
     pg_catalog.format_type(a.atttypid, null) \
     from pg_catalog.pg_class c left join pg_catalog.pg_partitioned_table p on p.partrelid = c.oid \
     join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'aid' \
     where c.oid = pg_catalog.to_regclass('pgbench_accounts')";

/// A connection brings a branch's accounts in in order, and no other one works at that branch: what is there of a branch
/// is its beginning.
const ACCOUNTS_THERE: &str = "select bid, count(*), min(aid), max(aid), bool_and(abalance = 0) \
     from pgbench_accounts group by bid order by bid";

/// Questions about what is in the database.
pub(super) struct Survey<'a> {
    pub(super) options: &'a InitOptions,
    pub(super) sql: &'a mut dyn Sql,
    pub(super) runtime: &'a dyn Runtime,
}

impl Survey<'_> {
    /// Looks at what is there, and refuses what is not the beginning of what was asked for.
    pub(super) fn look(&mut self) -> Result<Found, Fault> {
        match self.number(TABLES)? {
            0 => return Ok(Found::Nothing),
            4 => {}
            _ => return Err(refused("only some of pgbench's tables exist")),
        }
        self.check_shape()?;
        let accounts = self.ask(ACCOUNTS_THERE)?;
        let (branches, tellers) = (self.numbered(&BRANCHES)?, self.numbered(&TELLERS_TABLE)?);
        if branches == 0 && tellers == 0 && accounts.is_empty() {
            return Ok(Found::Nothing);
        }
        self.check_count(&BRANCHES, branches)?;
        self.check_count(&TELLERS_TABLE, tellers)?;
        if self.number("select count(*) from (select 1 from pgbench_history limit 1) as h")? > 0 {
            return Err(refused("pgbench_history has rows: scripts were run on these tables"));
        }
        self.missing_accounts(&accounts).map(Found::Rows)
    }

    fn check_shape(&mut self) -> Result<(), Fault> {
        let rows = self.ask(ACCOUNTS_SHAPE)?;
        let Some([Some(strategy), Some(count), Some(kind)]) = rows.first().map(Vec::as_slice) else {
            return Err(refused("pgbench_accounts has no column aid"));
        };
        let wanted = match (self.options.partitions, self.options.partition_method) {
            (0, _) => ("", 0),
            (count, PartitionMethod::Range) => ("r", count),
            (count, PartitionMethod::Hash) => ("h", count),
        };
        if (strategy.as_str(), count.parse()) != (wanted.0, Ok(wanted.1)) {
            let words = |strategy: &str, count: &str| match strategy {
                "" => "no partitions".to_owned(),
                "r" => format!("{count} partitions by range"),
                "h" => format!("{count} partitions by hash"),
                _ => format!("{count} partitions of another kind"),
            };
            let (found, wanted) = (words(strategy, count), words(wanted.0, &wanted.1.to_string()));
            return Err(refused(&format!("pgbench_accounts has {found}, and {wanted} are asked for")));
        }
        let type_wanted = if is_large(self.options.scale) { "bigint" } else { "integer" };
        if kind != type_wanted {
            let scale = self.options.scale;
            return Err(refused(&format!("aid is of type {kind}, and {type_wanted} at scale {scale}")));
        }
        Ok(())
    }

    /// Rows of a small table, if they are numbered from 1 on.
    fn numbered(&mut self, table: &Table) -> Result<u64, Fault> {
        let (name, column) = (table.name, table.columns[0].0);
        let rows = self.ask(&format!(
            "select count(*), coalesce(min({column}), 1), coalesce(max({column}), 0) from {name}"
        ))?;
        match numbers(rows.first()).as_deref() {
            Some([count, 1, last]) if count == last => Ok(*count),
            _ => Err(refused(&format!("the rows of {name} are not numbered from 1 on"))),
        }
    }

    fn check_count(&self, table: &Table, count: u64) -> Result<(), Fault> {
        let scale = self.options.scale;
        let wanted = table.per_branch * u64::from(scale);
        if count == wanted {
            return Ok(());
        }
        Err(refused(&format!(
            "{} has {}, and {wanted} at scale {scale}",
            table.name,
            record::count(count, "row")
        )))
    }

    /// The stretches between what is there, neighbours joined.
    fn missing_accounts(&self, rows: &[Vec<Option<String>>]) -> Result<Vec<Stretch>, Fault> {
        let mut missing: Vec<Stretch> = Vec::new();
        // The first account that is neither known to be there nor known to be missing.
        let mut next = 1;
        for row in rows {
            let last = self.checked_branch(row)?;
            let first = numbers(Some(row)).map_or(next, |numbers| numbers[2]);
            if next < first {
                missing.push(Stretch { first: next, last: first - 1 });
            }
            next = last + 1;
        }
        let total = ACCOUNTS_ROWS.per_branch * u64::from(self.options.scale);
        if next <= total {
            missing.push(Stretch { first: next, last: total });
        }
        Ok(missing)
    }

    /// The last account of a branch, if those that are there are its beginning.
    fn checked_branch(&self, row: &[Option<String>]) -> Result<u64, Fault> {
        let odd = || refused("the rows of pgbench_accounts are not those of an interrupted initialization");
        let found = numbers(Some(row)).ok_or_else(odd)?;
        let [branch, count, first, last] = found[..] else { return Err(odd()) };
        if row.last().and_then(|value| value.as_deref()) != Some("t") {
            return Err(refused("accounts have balances: scripts were run on these tables"));
        }
        let scale = u64::from(self.options.scale);
        let fits = (1..=scale).contains(&branch)
            && first == (branch - 1) * ACCOUNTS + 1
            && (first..=branch * ACCOUNTS).contains(&last)
            && count == last - first + 1;
        if fits { Ok(last) } else { Err(odd()) }
    }

    pub(super) fn has_key(&mut self, key: &Key, primary: bool) -> Result<bool, Fault> {
        let which = match primary {
            true => "contype = 'p'".to_owned(),
            false => format!("conname = {}", quote_literal(key.constraint)),
        };
        let question = format!(
            "select count(*) from pg_catalog.pg_constraint where conrelid = pg_catalog.to_regclass({}) and {which}",
            quote_literal(key.table)
        );
        Ok(self.number(&question)? > 0)
    }

    fn ask(&mut self, question: &str) -> Result<Vec<Vec<Option<String>>>, Fault> {
        if self.runtime.stopped() {
            return Err(Fault::Stopped);
        }
        long(self.sql).rows(question).map_err(|error| Fault::query(question, error, self.runtime))
    }

    fn number(&mut self, question: &str) -> Result<u64, Fault> {
        let rows = self.ask(question)?;
        numbers(rows.first()).and_then(|numbers| numbers.first().copied()).ok_or_else(|| {
            let text = "the server's answer is not a number".to_owned();
            Fault::Query { sql: question.to_owned(), error: SqlError { sqlstate: None, text } }
        })
    }
}

/// The numbers a row begins with, as many as there are.
fn numbers(row: Option<impl AsRef<[Option<String>]>>) -> Option<Vec<u64>> {
    let row = row?;
    let numbers: Vec<u64> =
        row.as_ref().iter().map_while(|value| value.as_ref().and_then(|text| text.parse().ok())).collect();
    (!numbers.is_empty()).then_some(numbers)
}

fn refused(reason: &str) -> Fault {
    Fault::CannotResume(reason.to_owned())
}
