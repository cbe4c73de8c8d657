//! SQL queries: one read-only statement.

use rusqlite::ErrorCode;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use spec::{Class, Error};

use super::Store;
use crate::table::{CellValue, Table};

/// Bytes of memory of a value besides its content, in the table and in its printed form.
const VALUE_BYTES: u64 = 128;

impl Store {
    /// Runs one read-only statement of pgdyno.
    ///
    /// # Errors
    /// SQLite's message, if it is invalid, several statements, or would write.
    pub fn query(&self, sql: &str) -> Result<Table, Error> {
        self.query_at_most(sql, u64::MAX)
    }

    /// Runs one read-only statement of the user. Its result, each value, and SQLite's memory in this
    /// process are limited to `limit` bytes.
    ///
    /// # Errors
    /// As [`Store::query`]; or above the limit.
    pub fn query_within(&self, sql: &str, limit: u64) -> Result<Table, Error> {
        let value = i32::try_from(limit).unwrap_or(i32::MAX);
        self.connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, value)
            // A sort would fill the disk with temporary files instead.
            .and_then(|_| self.connection.pragma_update(None, "temp_store", "MEMORY"))
            .and_then(|()| {
                let limit = i64::try_from(limit).unwrap_or(i64::MAX);
                self.connection.pragma_update_and_check(None, "hard_heap_limit", limit, |_| Ok(()))
            })
            .map_err(|error| self.error(&error))?;
        self.query_at_most(sql, limit)
    }

    fn query_at_most(&self, sql: &str, limit: u64) -> Result<Table, Error> {
        let wrong = |error: rusqlite::Error| match error.sqlite_error_code() {
            Some(ErrorCode::OutOfMemory) => too_much("needs", limit),
            Some(ErrorCode::TooBig) => too_much("makes a value of", limit),
            _ => Error::new(Class::Usage, error.to_string()),
        };
        if sql.trim().is_empty() {
            return Err(Error::new(Class::Usage, "no statement given; try SELECT * FROM v_run"));
        }
        let mut statement = self.connection.prepare(sql).map_err(wrong)?;
        // Statements without result (BEGIN, ATTACH) change the connection, though SQLite reports them as
        // read-only.
        if !statement.readonly() || statement.column_count() == 0 {
            let what = "only statements that read are run here; the results file is a record";
            return Err(Error::new(Class::Usage, what));
        }
        let mut table = Table::new(statement.column_names());
        let mut kept = 0_u64;
        let mut found = statement.query([]).map_err(wrong)?;
        while let Some(row) = found.next().map_err(wrong)? {
            let mut values = Vec::with_capacity(table.columns.len());
            for index in 0..table.columns.len() {
                let value = row.get_ref(index).map_err(wrong)?;
                kept = kept.saturating_add(VALUE_BYTES + length(value));
                if kept > limit {
                    return Err(too_much("returns", limit));
                }
                values.push(owned(value));
            }
            table.push(values);
        }
        Ok(table)
    }
}

fn too_much(what: &str, limit: u64) -> Error {
    let limit = spec::bytes(limit);
    let what = format!("the query {what} more than {limit}; select less, or raise the limit with --max-size");
    Error::new(Class::Usage, what)
}

fn length(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
        _ => 0,
    }
}

fn owned(value: ValueRef<'_>) -> CellValue {
    match value {
        ValueRef::Null => CellValue::Null,
        ValueRef::Integer(number) => CellValue::Int(number),
        ValueRef::Real(number) => CellValue::Real(number),
        ValueRef::Text(text) => CellValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => CellValue::Blob(bytes.to_vec()),
    }
}
