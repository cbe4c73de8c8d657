//! Questions of users in SQL: one statement, that only reads.

use rusqlite::types::ValueRef;

use super::Store;
use crate::error::StoreError;
use crate::table::{Table, Value};

impl Store {
    /// Runs one reading statement.
    ///
    /// # Errors
    /// [`StoreError::Query`] with SQLite's words, when it is wrong, several, or would write.
    pub fn query(&self, sql: &str) -> Result<Table, StoreError> {
        let wrong = |error: rusqlite::Error| StoreError::Query { message: error.to_string() };
        if sql.trim().is_empty() {
            return Err(StoreError::Query { message: "no statement given; try SELECT * FROM v_run".into() });
        }
        let mut statement = self.connection.prepare(sql).map_err(wrong)?;
        // What answers nothing (BEGIN, ATTACH) changes the connection, though SQLite says it only reads.
        if !statement.readonly() || statement.column_count() == 0 {
            let message = "only statements that read are run here; the results file is a record".into();
            return Err(StoreError::Query { message });
        }
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = Vec::new();
        let mut found = statement.query([]).map_err(wrong)?;
        while let Some(row) = found.next().map_err(wrong)? {
            let values = (0..columns.len()).map(|index| row.get_ref(index).map(value));
            rows.push(values.collect::<Result<_, _>>().map_err(wrong)?);
        }
        Ok(Table { columns, rows, ..Table::default() })
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}
