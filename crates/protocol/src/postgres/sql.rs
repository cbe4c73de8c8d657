//! Blocking control connections for workloads: simple protocol, text values.

use std::fmt;

/// Rows and tag of one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// Empty for a statement that returns no rows.
    pub columns: Vec<String>,
    /// OIDs; empty if the connection does not report them.
    pub types: Vec<u32>,
    /// As text, NULL as `None`.
    pub rows: Vec<Vec<Option<String>>>,
    /// E.g. `SELECT 3`; empty for an empty statement.
    pub tag: String,
}

/// An error of the server or the connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SqlError {
    /// `None` when the connection failed.
    pub sqlstate: Option<String>,
    /// As libpq prints it, without a final newline: `ERROR:  relation "x" does not exist` …
    pub text: String,
}

impl SqlError {
    /// Whether the server answered with this SQLSTATE.
    #[must_use]
    pub fn is(&self, sqlstate: &str) -> bool {
        self.sqlstate.as_deref() == Some(sqlstate)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for SqlError {}

/// Whether a source of COPY data has more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supply {
    More,
    End,
    /// Abort the copy; the server keeps none of its rows.
    GiveUp,
}

/// A blocking control connection.
///
/// Workloads use it outside the timed part of a run. After an error without SQLSTATE the connection is
/// unusable.
///
/// Queries with fast answers (catalogs, settings, counters) have a timeout. Statements that may take long
/// (the user's SQL, VACUUM, indexes) go through [`long`].
pub trait Sql {
    /// Runs one or more statements with a timeout, and returns the results in order.
    ///
    /// # Errors
    /// The first error; later statements are not run. Also when the timeout expires.
    fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError>;

    /// As [`Sql::query`], without a timeout while the server lives. Call it through [`long`].
    ///
    /// # Errors
    /// As [`Sql::query`]; instead of the timeout, when the server or its process is dead.
    fn query_long(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        self.query(sql)
    }

    /// Runs a `COPY … FROM STDIN` without a timeout. `fill` appends data to the (empty) buffer and returns
    /// whether more will come. Returns the number of rows copied.
    ///
    /// # Errors
    /// When the server refuses the command or the data, or `fill` aborted.
    fn copy_in(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError>;

    /// The server's notices and warnings since the last call, as libpq prints them.
    fn take_notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Rows of the last statement that returned any.
    ///
    /// # Errors
    /// As [`Sql::query`].
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        let results = self.query(sql)?;
        let last = results.into_iter().rev().find(|set| !set.columns.is_empty());
        Ok(last.map(|set| set.rows).unwrap_or_default())
    }

    /// First value of the first row; `None` without rows or for NULL.
    ///
    /// # Errors
    /// As [`Sql::query`].
    fn scalar(&mut self, sql: &str) -> Result<Option<String>, SqlError> {
        Ok(self.rows(sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    /// Runs statements and drops their results.
    ///
    /// # Errors
    /// As [`Sql::query`].
    fn execute(&mut self, sql: &str) -> Result<(), SqlError> {
        self.query(sql).map(|_| ())
    }
}

/// The connection without a timeout: `long(sql).execute("VACUUM")`.
pub fn long(sql: &mut dyn Sql) -> Long<'_> {
    Long(sql)
}

/// A connection whose statements have no timeout; see [`long`].
pub struct Long<'a>(&'a mut dyn Sql);

impl Sql for Long<'_> {
    fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        self.0.query_long(sql)
    }

    fn query_long(&mut self, sql: &str) -> Result<Vec<ResultSet>, SqlError> {
        self.0.query_long(sql)
    }

    fn copy_in(&mut self, sql: &str, fill: &mut dyn FnMut(&mut Vec<u8>) -> Supply) -> Result<u64, SqlError> {
        self.0.copy_in(sql, fill)
    }

    fn take_notices(&mut self) -> Vec<String> {
        self.0.take_notices()
    }
}

/// An identifier, quoted.
#[must_use]
pub fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A quoted string literal, valid for both values of `standard_conforming_strings`.
#[must_use]
pub fn quote_literal(value: &str) -> String {
    let quoted = value.replace('\'', "''");
    if quoted.contains('\\') {
        format!(" E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting() {
        assert_eq!(quote_identifier("a\"b"), "\"a\"\"b\"");
        assert_eq!(quote_literal("it's"), "'it''s'");
        assert_eq!(quote_literal("a\\'b"), " E'a\\\\''b'");
    }
}
