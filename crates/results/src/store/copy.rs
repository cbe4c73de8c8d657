//! Copies rows of another results file, with numbers of this one.

use std::collections::{HashMap, HashSet};

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Transaction, params_from_iter};
use spec::plan::of_former;

use super::import::ImportFailure;
use super::schema::{self, ADDED};
use super::{Sqlite, Store};
use crate::error::damaged;

/// Tables whose rows several experiments or files share: an equal existing row replaces the other file's.
const SHARED: [&str; 4] = ["host", "settings", "text", "cell"];

/// Row numbers in the copied file and in this one, by the column that holds them.
type Numbers = HashMap<String, HashMap<i64, i64>>;

/// Copies from one file. Rows that refer to a row which was not copied are left out.
pub(super) struct Copier<'a> {
    from: &'a Store,
    transaction: &'a Transaction<'a>,
    numbers: Numbers,
    /// Of the tables that were found to be tables; empty for those that the file does not have.
    columns: HashMap<String, Vec<String>>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(from: &'a Store, transaction: &'a Transaction<'a>) -> Self {
        Self { from, transaction, numbers: Numbers::new(), columns: HashMap::new() }
    }

    /// Row numbers in this file, by those in the other.
    pub(super) fn numbers(&self, column: &str) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.numbers.get(column).into_iter().flatten().map(|(before, now)| (*before, *now))
    }

    /// Sets the numbers of rows that are in this file already.
    pub(super) fn set_numbers(&mut self, column: &str, numbers: HashMap<i64, i64>) {
        self.numbers.insert(column.to_owned(), numbers);
    }

    /// Copies a table.
    pub(super) fn table(&mut self, table: &str) -> Result<(), ImportFailure> {
        self.rows(table, "", &HashSet::new())
    }

    /// Copies the rows of an experiment, by its number in the other file.
    pub(super) fn of_experiment(&mut self, table: &str, experiment: i64) -> Result<(), ImportFailure> {
        let only = match table {
            "target" | "target_build" => format!(
                " WHERE target_id = (SELECT target_id FROM experiment WHERE experiment_id = {experiment})"
            ),
            _ => format!(" WHERE experiment_id = {experiment}"),
        };
        self.rows(table, &only, &HashSet::new())
    }

    /// Copies a table without the rows of these numbers.
    pub(super) fn without(&mut self, table: &str, left_out: &HashSet<i64>) -> Result<(), ImportFailure> {
        self.rows(table, "", left_out)
    }

    fn rows(&mut self, table: &str, only: &str, left_out: &HashSet<i64>) -> Result<(), ImportFailure> {
        let unreadable = |error: rusqlite::Error| self.from.error(&error);
        if !self.columns.contains_key(table) {
            self.columns.insert(table.to_owned(), self.columns_of(table)?);
        }
        let columns = &self.columns[table];
        let Some(first) = columns.first() else { return Ok(()) };
        let is_numbered = *first == format!("{table}_id");
        let mut insert = self.transaction.prepare_cached(&insert_statement(table, columns, is_numbered))?;
        let mut copied = HashMap::new();
        let select = format!("SELECT {} FROM {table}{only}", columns.join(", "));
        let mut select = self.from.connection.prepare_cached(&select).map_err(unreadable)?;
        let mut rows = select.query([]).map_err(unreadable)?;
        let plan = columns.iter().position(|column| column == "plan_json");
        while let Some(row) = rows.next().map_err(unreadable)? {
            let values: Sqlite<Vec<Value>> = (0..columns.len()).map(|column| row.get(column)).collect();
            let Some(mut values) = self.renumbered(columns, values.map_err(unreadable)?, is_numbered) else {
                continue;
            };
            if let Some(plan) = plan
                && let Value::Text(text) = &mut values[plan]
                && let Some(present) = of_former(text)
            {
                *text = present;
            }
            if !is_numbered {
                insert.execute(params_from_iter(values))?;
            } else if let Value::Integer(before) = values.remove(0)
                && !left_out.contains(&before)
            {
                let now = insert.query_row(params_from_iter(values), |row| row.get(0)).optional()?;
                copied.extend(now.map(|now| (before, now)));
            }
        }
        if is_numbered {
            self.numbers.entry(first.clone()).or_default().extend(copied);
        }
        Ok(())
    }

    /// The row with the numbers of this file; `None` if it refers to a row that is not copied. The first column of a
    /// numbered table is its own number.
    fn renumbered(&self, columns: &[String], values: Vec<Value>, is_numbered: bool) -> Option<Vec<Value>> {
        let renumber = |(at, value): (usize, Value)| match (self.numbers.get(&columns[at]), value) {
            (Some(numbers), Value::Integer(before)) if at > 0 || !is_numbered => {
                numbers.get(&before).copied().map(Value::Integer)
            }
            (_, value) => Some(value),
        };
        values.into_iter().enumerate().map(renumber).collect()
    }

    /// The columns of a table, if the file has it, or has to have it.
    fn columns_of(&self, table: &str) -> Result<Vec<String>, ImportFailure> {
        let unreadable = |error: rusqlite::Error| self.from.error(&error);
        let is_there = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = ?1";
        let is_there = self.from.connection.query_row(is_there, [table], |row| row.get::<_, bool>(0));
        if !is_there.map_err(unreadable)? && ADDED.contains(&table) {
            return Ok(Vec::new());
        }
        // A view in place of a table could compute anything.
        if !schema::computes_nothing(&self.from.connection, "table", table).map_err(unreadable)? {
            let detail = format!("{table} is not a table as pgdyno makes it");
            return Err(damaged(&self.from.path, &detail).into());
        }
        let columns = self
            .transaction
            .prepare_cached("SELECT name FROM pragma_table_info(?1)")?
            .query_map([table], |row| row.get(0))?
            .collect::<Sqlite<_>>()?;
        Ok(columns)
    }
}

/// SQL that returns the number of an equal existing row if it is shared, else inserts.
fn insert_statement(table: &str, columns: &[String], is_numbered: bool) -> String {
    let stored = &columns[usize::from(is_numbered)..];
    let conflict = match SHARED.contains(&table) {
        true => format!("DO UPDATE SET {0} = {0}", stored[0]),
        false => "DO NOTHING".to_owned(),
    };
    let returning = if is_numbered { format!(" RETURNING {}", columns[0]) } else { String::new() };
    let places = vec!["?"; stored.len()].join(", ");
    format!("INSERT INTO {table} ({}) VALUES ({places}) ON CONFLICT {conflict}{returning}", stored.join(", "))
}
