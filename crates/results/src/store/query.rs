//! Questions in SQL: one statement, that only reads.

use rusqlite::ErrorCode;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use spec::{Class, Error};

use super::Store;
use crate::table::{Table, Value};

/// Bytes of memory that a value takes besides its content, in our table and in what is printed of it.
const VALUE_BYTES: u64 = 128;

impl Store {
    /// Runs one reading statement of pgdyno's own.
    ///
    /// # Errors
    /// SQLite's words, when it is wrong, several, or would write.
    pub fn query(&self, sql: &str) -> Result<Table, Error> {
        self.query_at_most(sql, u64::MAX)
    }

    /// Runs one reading statement of the user. Its result, each value, and what SQLite needs in memory for all of this
    /// process have `limit` bytes at most.
    ///
    /// # Errors
    /// As [`Store::query`]; or beyond the limit.
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
        // What answers nothing (BEGIN, ATTACH) changes the connection, though SQLite says it only reads.
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

/// A query of the user needs more bytes than it may.
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

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}
